"""Manifests: what a job was asked to do, with what, on what, and what came of it."""

import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import platform
import time
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.spec import EvaluationSpec

VERSION = 1
_PACKAGES = ("evalsampling", "apache-beam", "numpy", "scipy", "pyarrow")


@dataclasses.dataclass(frozen=True)
class Run:
    """What jobs run on.

    Attributes:
        runner: name of the Beam runner; None for a command that does the work itself.
        beam: Beam's options, without credentials.
    """

    runner: str | None = None
    beam: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def manifest(
        self,
        job: str,
        spec: EvaluationSpec,
        pool: Sequence[Mapping[str, Any]],
        *,
        options: Mapping[str, Any],
        counts: Mapping[str, int],
        started: float,
        deliveries: Sequence[Mapping[str, Any]] = (),
    ) -> dict[str, Any]:
        """Return the manifest of a job that is about to have done its work.

        Args:
            job: its name.
            spec: of the evaluation.
            pool: its fingerprint, see `io.catalog.Catalog.fingerprint`.
            options: what was asked.
            counts: of rows, and what else was counted.
            started: when, in seconds since 1970.
            deliveries: of labels, that it was given.
        """
        began = datetime.datetime.fromtimestamp(started, datetime.UTC)
        return {
            "version": VERSION,
            "job": job,
            "runner": self.runner,
            "beam": dict(self.beam),
            "options": dict(options),
            "seed": spec.seed,
            "spec": _digest(spec.to_mapping()),
            "input": {
                "pool": {
                    "files": len(pool),
                    "bytes": sum(file["size"] for file in pool),
                    "sha256": _digest(pool),
                },
                "deliveries": list(deliveries),
            },
            "counts": dict(counts),
            "started": began.isoformat(timespec="milliseconds"),
            "seconds": round(time.time() - started, 3),
            "versions": versions(),
        }


HERE = Run()
"""In this process, without Beam."""


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results may depend on."""
    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **packages}


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
