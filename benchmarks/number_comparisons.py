"""Which of two systems that predict numbers is better: labels, power and errors of the test.

    python benchmarks/number_comparisons.py --abalone abalone.data

prints the tables of docs/studies/number-comparisons.md: the axes are those of C. Sawade, *Active
Evaluation of Predictive Models*, 2012, section 5.4.2. Gaussian processes with a linear and with a
Matern kernel are fitted to 500 rows; the rest is the pool. The Abalone data (UCI, 4,177 rows) are
no part of the project: without the file, made-up data take their place. Needs scikit-learn.
"""

import argparse
import csv
import dataclasses
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import special

from evalsampling import EvaluationSpec
from evalsampling.measures.build import build_driver
from evalsampling.measures.comparisons import Difference
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers import Compare, Passive, ReplacementSampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.history import History

FloatArray = npt.NDArray[np.float64]

FITTED, LEVEL = 500, 0.05
"""Rows that models are fitted to, and the level of the test that ends an evaluation."""

LOOKS = tuple(range(50, 801, 50))
"""Numbers of draws at which evaluations are looked at."""

SIZES = (100, 200, 400, 800)
"""Those that are told of one by one."""

LEVELS = (0.1, 0.05, 0.01, 0.001)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--abalone", type=Path, metavar="FILE", help="abalone.data of UCI")
    parser.add_argument("--repeats", type=int, default=400, metavar="N", help="of each pair")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="pairs of models")
    arguments = parser.parse_args()
    features, label = made_up() if arguments.abalone is None else read_abalone(arguments.abalone)
    runs: dict[str, list[Runs]] = {}
    for pair in range(arguments.pairs):
        columns = fit_pair(features, label, pair)
        for name, pool in (("real", columns), ("alike", both_ways(columns))):
            for way, told in evaluate(pool, arguments.repeats, seed=pair).items():
                runs.setdefault(f"{name},{way}", []).append(told)
        print(f"pair {pair + 1} done", file=sys.stderr, flush=True)
    report(runs)


@dataclasses.dataclass(frozen=True)
class Runs:
    """What the evaluations of one pool say after each number of draws in `LOOKS`.

    Attributes:
        student: shape (repeats, looks): p-value of Student's test, as the package makes it.
        wald: shape (repeats, looks): that of Wald's, as the thesis has it (eq. 3.24).
        right: shape (repeats, looks): whether the better system looked better.
        labels: shape (repeats, looks): rows labelled.
    """

    student: FloatArray
    wald: FloatArray
    right: npt.NDArray[np.bool_]
    labels: npt.NDArray[np.int64]


def read_abalone(path: Path) -> tuple[FloatArray, FloatArray]:
    """Return the ten measurements, sex as three of them, and the rings."""
    with path.open() as file:
        rows = [row for row in csv.reader(file) if row and row[0] in "MFI"]
    sex = np.array([[row[0] == one for one in "MFI"] for row in rows], dtype=float)
    numbers = np.array([[float(x) for x in row[1:]] for row in rows])
    return np.column_stack([sex, numbers[:, :-1]]), numbers[:, -1]


def made_up(rows: int = 4177) -> tuple[FloatArray, FloatArray]:
    """Return features and labels that are nearly linear."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(rows, 6))
    noise = rng.normal(size=rows) * (1 + np.abs(x[:, 1]))
    return x, 10 + x @ np.arange(1, 7) / 3 + 0.8 * np.sin(2 * x[:, 0]) + noise


def fit_pair(features: FloatArray, label: FloatArray, seed: int) -> dict[str, Any]:
    """Return predictions and predictive variances of both models on all rows they do not know."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern, WhiteKernel

    fitted = np.zeros(len(label), dtype=bool)
    fitted[np.random.default_rng(seed).permutation(len(label))[:FITTED]] = True
    centre, spread = features[fitted].mean(axis=0), features[fitted].std(axis=0)
    x = (features - centre) / np.where(spread > 0, spread, 1.0)
    columns: dict[str, Any] = {"id": np.arange(int((~fitted).sum())), "label": label[~fitted]}
    kernels = {"linear": DotProduct(), "matern": ConstantKernel() * Matern(nu=1.5)}
    for name, kernel in kernels.items():
        model = GaussianProcessRegressor(kernel + WhiteKernel(), normalize_y=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hyperparameters at the end of their range
            model.fit(x[fitted], label[fitted])
        columns[name], deviation = model.predict(x[~fitted], return_std=True)
        columns[f"{name} variance"] = deviation**2
    return columns


def both_ways(columns: dict[str, Any]) -> dict[str, Any]:
    """Return a pool in which both systems are exactly alike: each row twice, its systems swapped.

    A draw from it is one from the pool with the predictions swapped with probability 1/2.
    """
    other = {"linear": "matern", "matern": "linear"}
    other |= {f"{name} variance": f"{swapped} variance" for name, swapped in other.items()}
    twice = {
        name: np.concatenate([values, columns[other.get(name, name)]])
        for name, values in columns.items()
    }
    return twice | {"id": np.arange(len(twice["id"]))}


def samplers_for(measure: Difference) -> dict[str, ReplacementSampler]:
    """Return the ways to draw, `active` as published and with the floor that ours have."""
    variants = ("active", "active_inf", "active_0")
    published = {name: Compare(measure, variant=name, floor=0.0) for name in variants}
    return {
        "rescaled (default)": Compare(measure),
        "active": Compare(measure, variant="active"),
        **{f"{name} without floor": sampler for name, sampler in published.items()},
        "active_risk": Compare(measure, variant="active_risk"),
        "passive": Passive(measure),
    }


def evaluate(columns: dict[str, Any], repeats: int, seed: int) -> dict[str, Runs]:
    """Return what the evaluations of one pool say, by the way of drawing."""
    known = {variant: known_pool(columns, variant) for variant in ("rescaled", "active_risk")}
    _, spec = known["rescaled"]
    measure = build_driver(spec, [None, None])
    assert isinstance(measure, Difference)
    return {
        name: draw(known["active_risk" if name == "active_risk" else "rescaled"][0], sampler,
                   repeats, np.random.default_rng((seed, place)))
        for place, (name, sampler) in enumerate(samplers_for(measure).items())
    }  # fmt: skip


def known_pool(columns: dict[str, Any], variant: str) -> tuple[KnownPool, EvaluationSpec]:
    """Return a pool with its truth, in the strata that suit a variant, and its spec."""
    label = columns["label"]
    content = {
        "pool": {
            "path": "pool.parquet",
            "systems": {
                name: {"prediction": name, "variance": f"{name} variance"}
                for name in ("linear", "matern")
            },
        },
        "labels": {"range": [float(label.min()), float(label.max())]},
        "measure": {"difference": "mse"},
        "sampler": {"name": "compare", "variant": variant},
    }
    with tempfile.TemporaryDirectory() as folder:
        pool = {name: values for name, values in columns.items() if name != "label"}
        pq.write_table(pa.table(pool), Path(folder) / "pool.parquet")
        truth = Path(folder) / "truth.parquet"
        pq.write_table(pa.table({"id": columns["id"], "label": label}), truth)
        spec = EvaluationSpec.from_mapping(content, folder)
        return KnownPool.read(spec, stratify_pool(spec), truth), spec


def draw(
    known: KnownPool, sampler: ReplacementSampler, repeats: int, rng: np.random.Generator
) -> Runs:
    """Return what evaluations say whose rows are drawn by a sampler's proposal.

    Each row is a kind of its own in the known pool. Estimate, error and degrees of freedom are
    those of the package, with each draw as a term (`tests/samplers/test_compare_numbers.py`).
    """
    table, start = known.table, History.start(2, known.table.classes)
    proposal = sampler.proposal(table, start)
    assert proposal is not None
    chance = proposal.cell_probability[known.cell]
    own = sampler.measure.loss(known.outputs, known.label)[:, 0]
    row = rng.choice(len(chance), (repeats, LOOKS[-1]), p=chance / chance.sum())
    weight, loss = 1 / (table.rows * chance[row]), own[row]
    normalised = sampler.inputs(table, start, 1 - LEVEL).self_normalised
    student, wald, right = [], [], []
    for n in LOOKS:
        w, d = weight[:, :n], loss[:, :n]
        sum_of_weights = w.sum(axis=1) if normalised else np.full(repeats, n)
        value = (w * d).sum(axis=1) / sum_of_weights
        centre = w * value[:, None] if normalised else value[:, None]
        square = (w * d - centre) ** 2
        total = square.sum(axis=1)
        error = np.sqrt(total * n / (n - 1)) / sum_of_weights
        spread = (square**2).sum(axis=1) / total**2 - 1 / n
        degrees = np.clip(2 / np.maximum(spread, 2 / n) - 1, 1, n - 1)
        statistic = -np.abs(value) / error
        student.append(2 * special.stdtr(degrees, statistic))
        wald.append(2 * special.ndtr(statistic * np.sqrt(n / (n - 1))))
        right.append(value * own.mean() > 0)
    labels = [[len(np.unique(one[:n])) for n in LOOKS] for one in row]
    columns = (np.stack(one, axis=1) for one in (student, wald, right))
    return Runs(*columns, np.array(labels))


def report(runs: dict[str, list[Runs]]) -> None:
    """Print what stopping early, fixed sizes and alike systems give."""
    joined = {key: _joined(parts) for key, parts in runs.items()}
    ways = list(dict.fromkeys(key.split(",", 1)[1] for key in runs))
    print("test,drawn by,draws,labels,significant,wrong system")
    for test in ("wald", "student"):
        for way in ways:
            print(f"{test},{way},{','.join(_stopping(joined[f'real,{way}'], test))}")
    levels = ",".join(f"rejected at {level:g}" for level in LEVELS)
    for name in ("real", "alike"):
        print(f"\nsystems,draws,test,drawn by,wrong system,mean p,{levels}")
        for size in SIZES:
            for test in ("wald", "student"):
                for way in ways:
                    told = _after(joined[f"{name},{way}"], test, LOOKS.index(size))
                    told[0] = told[0] if name == "real" else "-"
                    print(f"{name},{size},{test},{way},{','.join(told)}")


def _joined(parts: list[Runs]) -> Runs:
    """Return the evaluations of all pairs of models."""
    names = [field.name for field in dataclasses.fields(Runs)]
    return Runs(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _stopping(runs: Runs, test: str) -> list[str]:
    """Return draws, labels, and shares that are significant and falsely so, of the protocol."""
    below = getattr(runs, test) <= LEVEL
    found = below.any(axis=1)
    end = np.where(found, below.argmax(axis=1), len(LOOKS) - 1)
    rows = np.arange(len(end))
    wrong = found & ~runs.right[rows, end]
    used, labels = np.array(LOOKS)[end].mean(), runs.labels[rows, end].mean()
    return [f"{used:.0f}", f"{labels:.0f}", _percent(found), _percent(wrong)]


def _after(runs: Runs, test: str, place: int) -> list[str]:
    """Return how often the worse system looked better, the mean p-value, shares of rejections."""
    p_value = getattr(runs, test)[:, place]
    rejected = [_percent(p_value <= level) for level in LEVELS]
    return [_percent(~runs.right[:, place]), f"{p_value.mean():.3f}", *rejected]


def _percent(flags: npt.NDArray[np.bool_]) -> str:
    return f"{100 * flags.mean():.2f} %"


if __name__ == "__main__":
    main()
