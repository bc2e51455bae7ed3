"""Pools with known truth: where they are, how benchmarks write and read them."""

import contextlib
import dataclasses
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling import Evaluation, EvaluationSpec
from evalsampling.evaluation.analysis import Analysis
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_measures
from evalsampling.preparation.plan import stratify_pool
from evalsampling.preparation.stratification import Stratification
from evalsampling.samplers import ReplacementSampler, Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import AnalysisPlan, RoundSize
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.history import History

PROJECT = Path(__file__).resolve().parents[1]
SHARED = PROJECT.parent / "shared" / "pools"
CORPUS = SHARED.with_name("corpus")


def find(directory: Path) -> list[str]:
    """Return the names of the pools whose truth is there; say so if there are none."""
    found = directory.glob("*-truth.parquet")
    names = sorted(path.name.removesuffix("-truth.parquet") for path in found)
    if not names:
        print(f"{directory}: no pools (NAME-truth.parquet), nothing measured", file=sys.stderr)
    return names


def chosen(only: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the pools that are asked for, all if none is; end with a line if one is not known."""
    unknown = [name for name in only if name not in known]
    if unknown:
        sys.exit(f"--only: no pool {unknown[0]!r}; there are {', '.join(known)}")
    return list(only or known)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a draft that becomes a file in the end: the file is there whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    yield draft
    os.replace(draft, path)


def write(directory: Path, name: str, columns: Mapping[str, Any]) -> None:
    """Write the columns of a pool, with the id that they lack, and apart from them its labels."""
    columns = {"id": pa.array(range(len(columns["label"]))), **columns}
    truth = {"id": columns["id"], "label": columns.pop("label")}
    for file, content in ((f"{name}.parquet", columns), (f"{name}-truth.parquet", truth)):
        with whole(directory / file) as draft:
            pq.write_table(pa.table(content), draft)


@dataclasses.dataclass(frozen=True)
class Draws:
    """Draws with replacement by a sampler's first proposal; arrays are of shape (kinds,)."""

    count: IntArray  # rows of each kind
    chance: FloatArray  # that a draw is of each kind
    ratio: FloatArray  # weight of a draw: an even chance over that of its row, 0 if never drawn
    loss: FloatArray  # what a row adds to the numerator of the measure
    weight: FloatArray  # what it adds to the denominator

    @classmethod
    def of(
        cls, known: KnownPool, sampler: ReplacementSampler, measure: Measure | None = None
    ) -> "Draws":
        """Return the draws, of the measure that they are made for unless another one is given."""
        table, systems = known.table, known.outputs.prediction.shape[1]
        proposal = sampler.proposal(table, History.start(systems, table.classes))
        q = proposal.cell_probability[known.cell]
        ratio = np.divide(1 / table.rows, q, out=np.zeros(len(q)), where=q > 0)
        loss = (measure or sampler.measure).loss(known.outputs, known.label)
        weight = loss[:, 1] if loss.shape[1] == 2 else np.ones(len(loss))
        return cls(known.count, q * known.count, ratio, loss[:, 0], weight)

    @property
    def truth(self) -> float:
        """Value of the measure on the whole pool."""
        return float((self.count @ self.loss) / (self.count @ self.weight))

    def estimates(self, size: int, repeats: int) -> FloatArray:
        """Return self-normalised estimates of samples of a size (eq. 3.31 of Sawade's thesis).

        Of shape (repeats,), NaN where a sample has no weight; rows alike are taken together.
        """
        rng = np.random.default_rng(size)
        terms = self.ratio[:, None] * np.stack([self.loss, self.weight], 1)
        total, chance = np.zeros((repeats, 2)), self.chance / self.chance.sum()
        for begin in range(0, repeats, 200):
            taken = rng.multinomial(size, chance, size=min(200, repeats - begin))
            total[begin : begin + 200] = taken.astype(np.float64) @ terms
        value = np.full(repeats, np.nan)
        return np.divide(total[:, 0], total[:, 1], out=value, where=total[:, 1] > 0)

    @property
    def variance(self) -> float:
        """Variance of the estimate of one draw, in the limit, but for a factor of the pool."""
        return float(self.count @ (self.ratio * (self.loss - self.truth * self.weight) ** 2))


def places(evaluation: Evaluation) -> tuple[IntArray, IntArray, IntArray]:
    """Return cell, rank and number of the rows of an evaluation in memory, in order of cells."""
    count = evaluation.analysis.table.count
    cell = np.repeat(np.arange(len(count)), count)
    rank = np.arange(len(cell)) - (np.cumsum(count) - count)[cell]
    return cell, rank, evaluation.state.pool.ids(cell, rank)


def begin(known: KnownPool, sampler: Sampler, measures: Sequence[Measure], seed: int) -> Analysis:
    """Return the analysis of a pool of one system before the first round."""
    outputs = known.table.kinds.no_rows
    history = dataclasses.replace(History.start(1, known.table.classes), outputs=outputs)
    return Analysis(known.table, sampler, measures, seed, 0.95, history, hidden=HiddenPrior())


def rounds(
    analysis: Analysis, answer: Callable[[History], History], size: RoundSize, budget: int
) -> Iterator[Analysis]:
    """Yield an evaluation after each round, all of whose rows have labels, until it has no more."""
    while (left := budget - len(analysis.history)) > 0:
        before = len(analysis.history)
        drawn = analysis.with_round(size.after(len(analysis.history.rounds)), left)
        analysis = drawn.with_history(answer(drawn.history))
        if len(analysis.history) == before:
            return
        yield analysis


@dataclasses.dataclass(frozen=True)
class Ground:
    """A pool that is cut for a spec, with its truth."""

    spec: EvaluationSpec
    cut: Stratification
    known: KnownPool

    @classmethod
    def read(cls, directory: Path, name: str, **content: Any) -> "Ground":
        """Read a pool; content is that of the spec, whose pool has a probability by default."""
        pool = {"path": f"{name}.parquet", **content.pop("pool", {"probability": "probability"})}
        spec = EvaluationSpec.from_mapping({"pool": pool, **content}, directory.resolve())
        cut = stratify_pool(spec.reading)
        return cls(spec, cut, KnownPool.read(cut, directory / f"{name}-truth.parquet"))

    @classmethod
    def of(cls, columns: Mapping[str, Any], **content: Any) -> "Ground":
        """Return a pool of columns with labels, read as `read` does."""
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), "pool", columns)
            return cls.read(Path(folder), "pool", **content)

    @property
    def asked(self) -> AnalysisPlan:
        """The analysis that the spec asks for, with what the scores are."""
        return self.cut.decided(self.spec.analysis)

    @property
    def measures(self) -> list[Measure]:
        """The measures of the spec."""
        return [one for one in build_measures(self.asked.reading) if isinstance(one, Measure)]

    def sampler(self, name: str | None = None) -> Sampler:
        """Return the sampler of the spec, or another with its usual parameters."""
        return build_sampler(self.asked, name)
