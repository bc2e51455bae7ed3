"""Manifests of jobs: options, inputs, versions, and counts of results."""

import dataclasses
import datetime
import functools
import hashlib
import json
import platform
import time
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.spec import EvaluationSpec
from evalsampling.spec.pool import PoolSpec
from evalsampling.storage.commits import uncommitted
from evalsampling.storage.filesystems import at_once
from evalsampling.workspace.workspace import Workspace

_PACKAGES = ("evalsampling", "apache-beam", "numpy", "scipy", "pyarrow")
_KEYS = ("started", "seconds", "runner", "counts")


@dataclasses.dataclass(frozen=True)
class ExecutionContext:
    """Beam runner of a job, None without Beam, and its options without credentials."""

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
        """Return the manifest of a job, as it is written at the job's end."""
        began = datetime.datetime.fromtimestamp(started, datetime.UTC)
        return {
            "job": job,
            "runner": self.runner,
            "beam": dict(self.beam),
            "options": dict(options),
            "seed": spec.seed,
            "spec": digest(spec.to_mapping()),
            "input": {"pool": pool_digest(pool, spec.pool), "deliveries": list(deliveries)},
            "counts": dict(counts),
            "started": began.isoformat(timespec="milliseconds"),
            "seconds": round(time.time() - started, 3),
            "versions": versions(),
        }


HERE = ExecutionContext()
"""In this process, without Beam."""


def read_jobs(workspace: Workspace) -> dict[str, Mapping[str, Any]]:
    """Return the manifests of all jobs of a workspace, in the order they were started."""
    store = workspace.store
    names = [name for name in store.sizes("jobs/") if name.endswith(".json")]
    loose = uncommitted(store) if names else set()
    counted = [name for name in names if name not in loose]
    manifests = at_once(functools.partial(store.read_json, keys=_KEYS), counted)
    stems = [name.rpartition("/")[2].removesuffix(".json") for name in counted]
    jobs = zip(stems, manifests, strict=True)
    return dict(sorted(jobs, key=lambda job: (job[1]["started"], job[0])))


@functools.cache
def versions() -> Mapping[str, str]:
    """Return the versions of Python and of the packages that results may depend on."""
    import importlib.metadata  # It imports the package `email`, and only jobs need it.

    packages = {name: importlib.metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **packages}


def pool_digest(pool: Sequence[Mapping[str, Any]], spec: PoolSpec) -> dict[str, Any]:
    """Return number and total bytes of a pool's files, and the SHA-256 of their list.

    Table, version and condition are there too, and in the SHA-256, where the spec has them.
    """
    size, chosen = sum(file["size"] for file in pool), spec.selection
    content = {"files": pool, **chosen} if chosen else pool
    return {"files": len(pool), "bytes": size, "sha256": digest(content), **chosen}


def digest(content: Any) -> str:
    """Return the SHA-256 of an object as JSON with sorted keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
