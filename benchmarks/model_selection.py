"""How often the wrong system looks best, by labels and by how rows are drawn, beside the thesis.

The tasks of figures 5.2, 5.3 and 6.3 of [AE] (C. Sawade, *Active Evaluation of Predictive Models*,
2012), whose data are not here: classifiers are fitted to made-up rows, rankers are those of
rankings.py. Of draws with replacement the system with the least weighted sum of losses is chosen.
Budgets are draws; of rankings grades.
"""

import collections
import dataclasses
import functools
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import rankings
import runner
from runner import Options, Row, Table
from scipy import special

from evalsampling.measures import Accuracy, Joint
from evalsampling.samplers import Compare, Passive, ReplacementSampler
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable, Kinds, Leaves
from evalsampling.stats.history import History

BUDGETS = np.unique(np.round(np.geomspace(2, 800, 30)).astype(int))  # draws before a choice
FURTHER = np.unique(np.append(BUDGETS, np.round(np.geomspace(800, 6400, 12)).astype(int)))
"""Draws before a choice if rows are drawn evenly."""

LEVELS = (0.3, 0.2, 0.1, 0.05)  # errors for which draws are told
TRAINED = 500  # rows that two or five models are fitted to, as in the thesis
CHUNK = 50  # repeats that are drawn at a time

Kernel = Callable[[FloatArray, FloatArray], FloatArray]


@dataclasses.dataclass(frozen=True)
class Systems:
    """Rows with predictions and probabilities of some systems, of shape (rows, systems)."""

    prediction: IntArray
    probability: FloatArray
    label: IntArray

    @property
    def table(self) -> CellTable:
        """The rows, each a cell of its own."""
        rows = np.arange(len(self.label))
        both = np.stack([1 - self.probability, self.probability], axis=2)
        kinds = Kinds(self.prediction, self.probability, both, cell=rows, share=np.ones(len(rows)))
        prior, leaves = both.mean(axis=1), Leaves(len(rows))
        return CellTable(rows, rows, np.ones_like(rows), prior, leaves, kinds)


def _fit(kernel: FloatArray, label: IntArray) -> FloatArray:
    """Return the coefficients of kernel logistic regression, by Newton's method."""
    alpha = np.zeros(len(label))
    for _ in range(25):
        p = special.expit(kernel @ alpha)
        weight = np.maximum(p * (1 - p), 1e-6)
        working = kernel @ alpha + (label - p) / weight
        alpha = np.linalg.solve(kernel + np.diag(1 / weight), working)
    return alpha


def _systems(
    kernels: list[Kernel], seen: list[FloatArray], label: IntArray, trained: int
) -> Systems:
    """Return models fitted to the first rows, of the others; each sees (rows, features)."""
    chances = []
    for kernel, x in zip(kernels, seen, strict=True):
        alpha = _fit(kernel(x[:trained], x[:trained]), label[:trained])
        chances.append(special.expit(kernel(x[trained:], x[:trained]) @ alpha))
    chance = np.clip(np.stack(chances, axis=1), 0.001, 0.999)
    return Systems((chance > 0.5).astype(np.int64), chance, label[trained:])


def _rows(count: int, features: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Return rows and their classes, which are linear in some features and curved in others."""
    x = rng.normal(size=(count, features)) / math.sqrt(features)
    z = x * math.sqrt(features)
    score = z[:, 0] + 0.7 * z[:, 1] + 0.6 * (z[:, 2] ** 2 - 1) + 0.6 * z[:, 3] * z[:, 4]
    return x, (rng.random(count) < special.expit(3 * score)).astype(np.int64)


def few(kernels: list[Kernel], rng: np.random.Generator) -> Systems:
    """Return models of some kernels, which all see the same."""
    x, label = _rows(TRAINED + 8000, 10, rng)
    return _systems(kernels, [x] * len(kernels), label, TRAINED)


def thirteen(rng: np.random.Generator, noise: float = 0.05) -> Systems:
    """Return models of three noisy views in four sizes and one of a kernel, fitted to a tenth."""
    x, label = _rows(4560, 30, rng)
    seen = []
    for _ in range(3):
        view = x + noise * rng.normal(size=x.shape)
        for size in (50, 100, 500, 1000):
            waves = 0.5 * rng.normal(size=(x.shape[1], size))
            seen.append(np.sqrt(2 / size) * np.cos(view @ waves + rng.uniform(0, 6.28, size)))
    seen.append(x + noise * rng.normal(size=x.shape))
    kernels: list[Kernel] = [lambda a, b: 4.0 * a @ b.T] * 12
    return _systems([*kernels, _radial], seen, label, 456)


def _polynomial(degree: int) -> Kernel:
    return lambda a, b: (a @ b.T + 1) ** degree


def _radial(a: FloatArray, b: FloatArray) -> FloatArray:
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return 4.0 * np.exp(-squares / 2)


TASKS: dict[str, tuple[Callable[[np.random.Generator], Systems], str]] = {
    "two": (functools.partial(few, [_polynomial(1), _radial]), "70 to 90 %"),
    "five": (functools.partial(few, [_polynomial(d) for d in range(1, 6)]), "60 to 85 %"),
    "thirteen": (thirteen, "about 70 %"),
    "thirteen, noisier": (functools.partial(thirteen, noise=0.2), "about 70 %"),
}
"""What makes the systems of a task, and what the thesis says `active` saves."""


def proposals(systems: Systems) -> dict[str, FloatArray]:
    """Return the chance of each row by each way to draw, shape (rows,)."""
    table = systems.table
    measure = Joint(tuple(Accuracy(system=j) for j in range(systems.prediction.shape[1])))
    ways: dict[str, ReplacementSampler] = {
        "passive": Passive(measure),
        "active": Compare(measure, variant="active"),
        "rescaled": Compare(measure),
        "active_neq": Compare(measure, variant="active_neq"),
        "committee": Compare(measure, variant="committee"),
    }
    start = History.start(systems.prediction.shape[1], 2)
    return {name: one.proposal(table, start).cell_probability for name, one in ways.items()}


def errors(
    systems: Systems, q: FloatArray, budgets: IntArray, repeats: int, rng: np.random.Generator
) -> FloatArray:
    """Return how often the wrong system is chosen at each budget, each of several as likely."""
    loss = (systems.prediction != systems.label[:, None]).astype(np.float64)
    ends = np.cumsum(q)
    weighted = np.divide(loss, q[:, None], out=np.zeros_like(loss), where=q[:, None] > 0)
    is_worse = loss.mean(axis=0) - loss.mean(axis=0).min() > 1e-12
    found = np.zeros(len(budgets))
    for _ in range(repeats // CHUNK):
        drawn = np.searchsorted(ends, rng.random((CHUNK, budgets[-1])) * ends[-1])
        drawn = np.minimum(drawn, len(q) - 1)
        sums = np.cumsum(weighted[drawn], axis=1)[:, budgets - 1]
        chosen = sums <= sums.min(axis=2, keepdims=True) + 1e-9
        share = chosen / chosen.sum(axis=2, keepdims=True)
        found += (share @ is_worse).mean(axis=0)
    return found / (repeats // CHUNK)


Errors = tuple[FloatArray | IntArray, FloatArray]
"""Increasing budgets, and how often the wrong system is chosen."""


def budget_for(errors: Errors, level: float) -> float:
    """Return the least budget with an error, by straight lines on the log scale, else NaN."""
    budgets, found = errors
    falling = np.minimum.accumulate(found)
    if falling[-1] > level or falling[0] <= level:
        return math.nan
    return math.exp(np.interp(-level, -falling, np.log(budgets)))


def rows_of(task: str, found: dict[str, Errors], thesis: str) -> Iterator[Row]:
    """Yield the rows of the table for a task: budgets for each level, and what they save."""
    even = [budget_for(found["passive"], level) for level in LEVELS]
    for name, errors in found.items():
        needed = [budget_for(errors, level) for level in LEVELS]
        shares = [100 * (1 - one / other) for one, other in zip(needed, even, strict=True)]
        yield task, name, *needed, *shares, thesis if name == "active" else ""


def rows(options: Options) -> Iterator[Row]:
    """Yield the rows of all tasks."""
    for task, (make, thesis) in TASKS.items():
        yield from rows_of(task, of_classifiers(make, options.sets, options.repeats), thesis)
    with tempfile.TemporaryDirectory() as folder:
        task = "the better of two"
        rankings.write_pool(Path(folder), task, options.queries, 119)
        for gain in ("dcg", "err"):
            found = of_rankers(Path(folder), task, gain, options.repeats)
            yield from rows_of(f"two rankers by {gain}@10", found, "30 to 55 %")


def of_classifiers(
    make: Callable[[np.random.Generator], Systems], sets: int, repeats: int
) -> dict[str, Errors]:
    """Return errors by the way rows are drawn, on average over sets of classifiers."""
    found: dict[str, list[FloatArray]] = {}
    budgets = collections.defaultdict(lambda: BUDGETS, passive=FURTHER)
    for number in range(sets):
        systems = make(np.random.default_rng([17, number]))
        rng = np.random.default_rng([18, number])
        for name, q in proposals(systems).items():
            found.setdefault(name, []).append(errors(systems, q, budgets[name], repeats, rng))
    return {name: (budgets[name], np.mean(each, axis=0)) for name, each in found.items()}


def of_rankers(folder: Path, task: str, gain: str, repeats: int) -> dict[str, Errors]:
    """Return errors of choosing the better of two rankers, by the way of drawing, for grades."""
    found: dict[str, Errors] = {}
    rng, costs = np.random.default_rng(19), np.geomspace(200, 200_000, 28)
    for name, way in rankings.ways(folder, task, gain).items():
        draws, sizes = way.draws, np.maximum((costs / way.cost).astype(int), 1)
        picked = rng.choice(len(draws.chance), (repeats, sizes[-1]), p=draws.chance)
        sums = np.cumsum((draws.ratio * draws.loss)[picked], axis=1)[:, sizes - 1]
        wrong = np.where(sums == 0, 0.5, sums * (draws.count @ draws.loss) < 0)
        found[name] = (costs, wrong.mean(axis=0))
    return found


COLUMNS = ("for an error of {:g}", "saved at {:g} (%)")
LINES = ",".join(column.format(level) for column in COLUMNS for level in LEVELS)
HEADER = f"task,drawn by,{LINES},thesis"
TABLES = (Table("model-selection", HEADER, rows, 500, ".0f"),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, sets=4, queries=400)
