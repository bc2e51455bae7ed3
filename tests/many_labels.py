"""Pools whose rows have any number of many labels, seeded: probabilities, predictions, truth."""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tests.jobs import Pool

Flags = npt.NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Tagged:
    """Rows with labels, each of its own rate: probability, predicted and held: (rows, labels)."""

    p: npt.NDArray[np.float64]
    f: Flags
    y: Flags

    @classmethod
    def make(cls, rows: int, labels: int, seed: int = 1) -> "Tagged":
        """Make rows whose labels are drawn from the probabilities."""
        rng = np.random.default_rng(seed)
        logit = rng.uniform(-5, -3, labels) + rng.normal(0, 1, (rows, 1))
        logit = logit + rng.normal(0, 1.6, (rows, labels))
        p = 1 / (1 + np.exp(-logit))
        return cls(p, p > 0.3, rng.random((rows, labels)) < p)

    @property
    def names(self) -> list[str]:
        """The labels."""
        return [f"tag {number}" for number in range(self.p.shape[1])]

    @property
    def doubt(self) -> npt.NDArray[np.float64]:
        """Number of labels of each row that are expected to be wrong, shape (rows,)."""
        return np.where(self.f, 1 - self.p, self.p).sum(axis=1)

    def lists(self, flags: Flags) -> list[list[str]]:
        """Return flags as lists of labels."""
        names = self.names
        return [[names[place] for place in np.flatnonzero(row)] for row in flags]

    def columns(self) -> dict[str, Any]:
        """Return the columns of a pool, with a score that strata are cut from."""
        columns: dict[str, Any] = {"id": np.arange(len(self.p)), "score": self.doubt}
        columns["tags"] = self.lists(self.f)
        return columns | {f"p {name}": self.p[:, i] for i, name in enumerate(self.names)}

    def spec(self) -> dict[str, Any]:
        """Return the sections ``pool`` and ``labels`` of a spec, without a path."""
        probability = {name: f"p {name}" for name in self.names}
        return {
            "pool": {"prediction": "tags", "probability": probability},
            "labels": {"multilabel": self.names},
        }


def make_many_labels_pool(rows: int = 700, labels: int = 12) -> Pool:
    """Make a pool of the golden evaluations; what is true of a row is a list of labels."""
    tagged = Tagged.make(rows, labels, seed=5)
    return Pool(pa.table(tagged.columns()), dict(enumerate(tagged.lists(tagged.y))))
