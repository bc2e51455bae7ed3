"""How often the wrong system looks best, by labels and by how rows are drawn, beside the thesis.

    python benchmarks/model_selection.py     # prints the tables of docs/studies/model-selection.md

The tasks of figures 5.2, 5.3 and 6.3 of [AE] (C. Sawade, *Active Evaluation of Predictive Models*,
2012), whose data are not here: classifiers of made-up rows, fitted to some of them. Two of linear
and RBF kernel; five of polynomial kernels of degree 1 to 5; thirteen of three noisy views of the
rows, in four sizes, and one of a kernel. Proposals are those of the samplers; of draws with
replacement the system with the least weighted sum of losses is chosen. Rankers are those of
benchmarks/rankings.py. Budgets are draws; of rankings grades. IWAL is algorithm 1 with
"loss-weighting" of A. Beygelzimer, S. Dasgupta and J. Langford, *Importance weighted active
learning*, ICML 2009.
"""

import argparse
import csv
import dataclasses
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import rankings
from scipy import special

from evalsampling.measures import Accuracy, Joint
from evalsampling.samplers import Compare, Passive, ReplacementSampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BUDGETS = np.unique(np.round(np.geomspace(2, 800, 30)).astype(int))
"""Draws at which a system is chosen."""

FURTHER = np.unique(np.append(BUDGETS, np.round(np.geomspace(800, 6400, 12)).astype(int)))
"""Draws at which one is chosen if rows are drawn evenly."""

LEVELS = (0.3, 0.2, 0.1, 0.05)
"""Errors for which draws are told."""

TRAINED = 500
"""Rows that two or five models are fitted to, as in the thesis."""

CONFIDENCE = 0.05
"""delta of IWAL, as in the thesis."""

THESIS = {"two": "70 to 90 %", "five": "60 to 85 %", "thirteen": "about 70 %",
          "thirteen, noisier": "about 70 %"}  # fmt: skip
"""What the thesis says `active` saves."""

CHUNK = 50
"""Repeats that are drawn at a time."""


@dataclasses.dataclass(frozen=True)
class Systems:
    """Rows with the predictions of some systems.

    Attributes:
        prediction: shape (rows, systems), 0 or 1.
        probability: shape (rows, systems), of class 1.
        label: shape (rows,).
    """

    prediction: IntArray
    probability: FloatArray
    label: IntArray

    @property
    def loss(self) -> FloatArray:
        """Whether each system is wrong, shape (rows, systems)."""
        return (self.prediction != self.label[:, None]).astype(np.float64)

    @property
    def table(self) -> CellTable:
        """The rows, each a cell of its own."""
        rows = np.arange(len(self.label))
        both = np.stack([1 - self.probability, self.probability], axis=2)
        outputs = Outputs(self.prediction, self.probability, both)
        return CellTable(
            rows, rows, np.ones_like(rows), both.mean(axis=1), len(rows), rows,
            np.ones(len(rows)), outputs,
        )  # fmt: skip


def _fit(kernel: FloatArray, label: IntArray, penalty: float) -> FloatArray:
    """Return the coefficients of kernel logistic regression, by Newton's method."""
    alpha = np.zeros(len(label))
    for _ in range(25):
        p = special.expit(kernel @ alpha)
        weight = np.maximum(p * (1 - p), 1e-6)
        working = kernel @ alpha + (label - p) / weight
        alpha = np.linalg.solve(kernel + penalty * np.diag(1 / weight), working)
    return alpha


def _systems(
    kernels: list[Callable[[FloatArray, FloatArray], FloatArray]],
    seen: list[FloatArray],
    label: IntArray,
    trained: int,
) -> Systems:
    """Return models of the rows behind those they are fitted to.

    Args:
        kernels: of the models.
        seen: what each model sees of all rows, shape (rows, features).
        label: shape (rows,).
        trained: rows that models are fitted to, the first.
    """
    chances = []
    for kernel, x in zip(kernels, seen, strict=True):
        alpha = _fit(kernel(x[:trained], x[:trained]), label[:trained], 1.0)
        chances.append(special.expit(kernel(x[trained:], x[:trained]) @ alpha))
    chance = np.clip(np.stack(chances, axis=1), 0.001, 0.999)
    return Systems((chance > 0.5).astype(np.int64), chance, label[trained:])


def _rows(count: int, features: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Return rows and their classes, which are linear in some features and curved in others."""
    x = rng.normal(size=(count, features)) / math.sqrt(features)
    z = x * math.sqrt(features)
    score = z[:, 0] + 0.7 * z[:, 1] + 0.6 * (z[:, 2] ** 2 - 1) + 0.6 * z[:, 3] * z[:, 4]
    return x, (rng.random(count) < special.expit(3 * score)).astype(np.int64)


def two(rng: np.random.Generator) -> Systems:
    """Return a linear and an RBF kernel model."""
    x, label = _rows(TRAINED + 8000, 10, rng)
    return _systems([_polynomial(1), _radial(1.0)], [x, x], label, TRAINED)


def five(rng: np.random.Generator) -> Systems:
    """Return models of polynomial kernels of degree 1 to 5."""
    x, label = _rows(TRAINED + 8000, 10, rng)
    return _systems([_polynomial(d) for d in range(1, 6)], [x] * 5, label, TRAINED)


def thirteen(rng: np.random.Generator, noise: float = 0.05) -> Systems:
    """Return models of three noisy views in four sizes, and one of a kernel.

    There are as many rows as in the thesis, a tenth of which the models are fitted to.

    Args:
        rng: of rows and views.
        noise: of each view, per feature.
    """
    x, label = _rows(4560, 30, rng)
    seen = []
    for _ in range(3):
        view = x + noise * rng.normal(size=x.shape)
        for size in (50, 100, 500, 1000):
            waves = 0.5 * rng.normal(size=(x.shape[1], size))
            seen.append(np.sqrt(2 / size) * np.cos(view @ waves + rng.uniform(0, 6.28, size)))
    seen.append(x + noise * rng.normal(size=x.shape))
    kernels = [lambda a, b: 4.0 * a @ b.T] * 12
    return _systems([*kernels, _radial(1.0)], seen, label, 456)


def thirteen_noisier(rng: np.random.Generator) -> Systems:
    """Return thirteen models of views with more noise, which differ on more rows."""
    return thirteen(rng, noise=0.2)


def _polynomial(degree: int) -> Callable[[FloatArray, FloatArray], FloatArray]:
    return lambda a, b: (a @ b.T + 1) ** degree


def _radial(width: float) -> Callable[[FloatArray, FloatArray], FloatArray]:
    def kernel(a: FloatArray, b: FloatArray) -> FloatArray:
        squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
        return 4.0 * np.exp(-squares / (2 * width**2))

    return kernel


TASKS: dict[str, Callable[[np.random.Generator], Systems]] = {
    "two": two,
    "five": five,
    "thirteen": thirteen,
    "thirteen, noisier": thirteen_noisier,
}


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
    """Return the model selection error at each budget, and the regret: shape (2, budgets)."""
    weighted = np.divide(
        systems.loss, q[:, None], out=np.zeros_like(systems.loss), where=q[:, None] > 0
    )
    ends = np.cumsum(q)
    found = np.zeros((2, len(budgets)))
    for _ in range(repeats // CHUNK):
        drawn = np.searchsorted(ends, rng.random((CHUNK, budgets[-1])) * ends[-1])
        drawn = np.minimum(drawn, len(q) - 1)
        sums = np.cumsum(weighted[drawn], axis=1)[:, budgets - 1]
        found += lost(systems, sums)
    return found / (repeats // CHUNK)


def lost(systems: Systems, sums: FloatArray) -> FloatArray:
    """Return mean error and regret of choosing the least sum, each of several as likely.

    Args:
        systems: with their true losses.
        sums: shape (repeats, budgets, systems).

    Returns:
        Shape (2, budgets).
    """
    worse = systems.loss.mean(axis=0)
    worse = worse - worse.min()
    chosen = sums <= sums.min(axis=2, keepdims=True) + 1e-9
    share = chosen / chosen.sum(axis=2, keepdims=True)
    return np.stack([(share @ (worse > 1e-12)).mean(axis=0), (share @ worse).mean(axis=0)])


def iwal(systems: Systems, repeats: int, rng: np.random.Generator) -> tuple[FloatArray, float]:
    """Return error and regret of IWAL at each of `BUDGETS`, and systems that it drops on average.

    A row is asked about if any two of the systems left differ on it; a system is dropped once its
    mean loss is above the least by sqrt(8 / t ln(2 t (t + 1) k^2 / delta)) after t rows.
    """
    sums = np.zeros((repeats, len(BUDGETS), systems.prediction.shape[1]))
    dropped = 0
    for repeat in range(repeats):
        sums[repeat], left = _iwal_once(systems, rng)
        dropped += int((~left).sum())
    return lost(systems, sums), dropped / repeats


def _iwal_once(systems: Systems, rng: np.random.Generator) -> tuple[FloatArray, npt.NDArray]:
    """Return the losses on the rows asked about at each budget, and which systems are left."""
    loss, said = systems.loss, systems.prediction
    rows, k = loss.shape
    left, total, seen, asked = np.ones(k, dtype=bool), np.zeros(k), 0, 0
    at = np.full((len(BUDGETS), k), np.inf)
    while asked < BUDGETS[-1]:
        stream = rng.integers(0, rows, 4000)
        differs = np.ptp(said[:, left], axis=1)[stream] > 0
        own = total + np.cumsum(loss[stream] * differs[:, None], axis=0)
        t = seen + np.arange(1, len(stream) + 1)
        bound = np.sqrt(8 / t * np.log(2 * t * (t + 1) * k**2 / CONFIDENCE))
        excess = own[:, left] / t[:, None]
        out = np.any(excess - excess.min(axis=1, keepdims=True) > bound[:, None], axis=1)
        stop = int(np.argmax(out)) + 1 if out.any() else len(stream)
        labels = asked + np.cumsum(differs[:stop])
        for place in np.flatnonzero((asked < BUDGETS) & (labels[-1] >= BUDGETS)):
            first = int(np.searchsorted(labels, BUDGETS[place]))
            at[place, left] = own[first, left]
        total, seen, asked = own[stop - 1], seen + stop, int(labels[-1])
        if out.any():
            mean = total / seen
            left &= mean - mean[left].min() <= bound[stop - 1]
    return at, left


@dataclasses.dataclass(frozen=True)
class Errors:
    """How often the wrong system is chosen, and how much worse it is on average.

    Attributes:
        budgets: shape (budgets,), increasing.
        found: shape (2, budgets): model selection error and regret.
    """

    budgets: FloatArray | IntArray
    found: FloatArray

    def budget(self, level: float) -> float:
        """Return the least budget with an error, NaN if none has it or the first one has.

        By straight lines between budgets on their logarithmic scale.
        """
        falling = np.minimum.accumulate(self.found[0])
        if falling[-1] > level or falling[0] <= level:
            return math.nan
        return math.exp(np.interp(-level, -falling, np.log(self.budgets)))


def rows_of(task: str, found: dict[str, Errors], thesis: str) -> Iterator[list[str]]:
    """Yield the rows of the table for a task: budgets for each level, and what they save."""
    even = [found["passive"].budget(level) for level in LEVELS]
    for name, errors in found.items():
        needed = [errors.budget(level) for level in LEVELS]
        cells = ["" if math.isnan(one) else f"{one:.0f}" for one in needed]
        shares = [1 - one / other for one, other in zip(needed, even, strict=True)]
        cells += ["" if math.isnan(one) else f"{100 * one:.0f}" for one in shares]
        yield [task, name, *cells, thesis if name == "active" else ""]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", type=int, default=4, help="sets of models of a task")
    parser.add_argument("--repeats", type=int, default=500, metavar="N")
    parser.add_argument("--queries", type=int, default=400, metavar="N", help="of the rankings")
    parser.add_argument("--only", nargs="+", choices=TASKS, help="some tasks of classifiers")
    arguments = parser.parse_args()
    lines = csv.writer(sys.stdout, lineterminator="\n")
    levels = [f"for an error of {level:g}" for level in LEVELS]
    saved = [f"saved at {level:g} (%)" for level in LEVELS]
    lines.writerow(["task", "drawn by", *levels, *saved, "thesis"])
    for task, make in TASKS.items():
        if arguments.only is not None and task not in arguments.only:
            continue
        found, dropped, differ = study(make, arguments.sets, arguments.repeats)
        lines.writerows(rows_of(task, found, THESIS[task]))
        words = (
            f"# {task}: two systems differ on {differ:.3f} of the rows; within {BUDGETS[-1]} labels"
        )
        print(words, f"iwal drops {dropped:.2f}", file=sys.stderr, flush=True)
        sys.stdout.flush()
    if arguments.only is not None:
        return
    for task, found in of_rankings(arguments.queries, arguments.repeats):
        lines.writerows(rows_of(task, found, "30 to 55 %"))


def study(
    make: Callable[[np.random.Generator], Systems], sets: int, repeats: int
) -> tuple[dict[str, Errors], float, float]:
    """Return error and regret at each budget, by the way rows are drawn, on average over sets.

    And how many systems IWAL drops, and the share of rows on which two systems differ.
    """
    found: dict[str, list[FloatArray]] = {}
    dropped, differ = [], []
    for number in range(sets):
        systems = make(np.random.default_rng([17, number]))
        rng = np.random.default_rng([18, number])
        for name, q in proposals(systems).items():
            found.setdefault(name, []).append(
                errors(systems, q, FURTHER if name == "passive" else BUDGETS, repeats, rng)
            )
        by_iwal, gone = iwal(systems, max(repeats // 5, CHUNK), rng)
        found.setdefault("iwal", []).append(by_iwal)
        dropped.append(gone)
        said, k = systems.prediction.mean(axis=1), systems.prediction.shape[1]
        differ.append(2 * np.mean(said * (1 - said)) * k / (k - 1))
    means = {
        name: Errors(FURTHER if name == "passive" else BUDGETS, np.mean(each, axis=0))
        for name, each in found.items()
    }
    return means, float(np.mean(dropped)), float(np.mean(differ))


def of_rankings(queries: int, repeats: int) -> Iterator[tuple[str, dict[str, Errors]]]:
    """Yield, for each gain, the errors of choosing the better of two rankers.

    Budgets are of grades, what a query costs being the number of its documents.
    """
    with tempfile.TemporaryDirectory() as folder:
        task = "the better of two"
        rankings.write_pool(Path(folder), task, queries, 119)
        for gain in ("dcg", "err"):
            found: dict[str, Errors] = {}
            rng, costs = np.random.default_rng(19), np.geomspace(200, 200_000, 28)
            for name, one in rankings.proposals(Path(folder), task, gain).items():
                draws = np.maximum((costs / one.cost).astype(int), 1)
                picked = rng.choice(len(one.chance), (repeats, draws[-1]), p=one.chance)
                sums = np.cumsum((one.ratio * one.gain)[picked], axis=1)[:, draws - 1]
                truth = float(one.share @ one.gain)
                wrong = np.where(sums == 0, 0.5, sums * truth < 0).mean(axis=0)
                found[name] = Errors(costs, np.stack([wrong, wrong * abs(truth)]))
            yield f"two rankers by {gain}@10", found


if __name__ == "__main__":
    main()
