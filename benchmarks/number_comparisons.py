"""Which of two systems that predict numbers is better: labels, power and errors of the test.

The axes are those of C. Sawade, *Active Evaluation of Predictive Models*, 2012, section 5.4.2. A
Gaussian process with a linear and one with a Matern kernel are fitted to 500 rows; the rest is the
pool. The Abalone data (UCI, 4,177 rows) are no part of the project. Needs scikit-learn.
"""

import collections
import functools
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pools
import runner
from runner import Options, Row, Table
from scipy import special

from evalsampling.measures.build import build_driver
from evalsampling.measures.comparisons import Difference
from evalsampling.samplers import Compare, Passive, ReplacementSampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.history import History

FITTED, LEVEL = 500, 0.05  # rows that models are fitted to, and level of the test that ends it
LOOKS = tuple(range(50, 801, 50))  # numbers of draws at which evaluations are looked at
SIZES = (100, 200, 400, 800)  # those that are told of one by one
LEVELS = (0.1, 0.05, 0.01, 0.001)
TESTS = ("wald", "student")

Runs = dict[str, npt.NDArray[np.generic]]
"""What evaluations say after each number of draws, of shape (repeats, looks).

`student` and `wald`: p-values of Student's test, as the package makes it, and of Wald's, as the
thesis has it (eq. 3.24); `right`: whether the better system looked better; `labels`: rows labelled.
"""


@functools.cache
def all_runs(abalone: Path, repeats: int, pairs: int) -> dict[tuple[str, str], Runs]:
    """Return the runs of all pairs of models, on real and alike systems, by the way of drawing."""
    rows, runs = read_abalone(abalone), collections.defaultdict(list)
    for pair in range(pairs):
        columns = fit_pair(*rows, pair)
        for name, pool in (("real", columns), ("alike", both_ways(columns))):
            for way, told in evaluate(pool, repeats, seed=pair):
                runs[name, way].append(told)
    return {
        key: {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        for key, parts in runs.items()
    }


def read_abalone(path: Path) -> tuple[FloatArray, FloatArray]:
    """Return the ten measurements, sex as three of them, and the rings."""
    if not path.exists():
        sys.exit(f"{path}: not there, nothing measured; --abalone names the file")
    rows = pd.read_csv(path, header=None, float_precision="round_trip")
    sex = np.stack([rows[0] == one for one in "MFI"], axis=1).astype(float)
    return np.column_stack([sex, rows.iloc[:, 1:-1]]), rows.iloc[:, -1].to_numpy(float)


def fit_pair(features: FloatArray, label: FloatArray, seed: int) -> pd.DataFrame:
    """Return predictions and predictive variances of both models on all rows they do not know."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern, WhiteKernel

    fitted = np.zeros(len(label), dtype=bool)
    fitted[np.random.default_rng(seed).permutation(len(label))[:FITTED]] = True
    centre, spread = features[fitted].mean(axis=0), features[fitted].std(axis=0)
    x = (features - centre) / np.where(spread > 0, spread, 1.0)
    columns = pd.DataFrame({"label": label[~fitted]})
    kernels = {"linear": DotProduct(), "matern": ConstantKernel() * Matern(nu=1.5)}
    for name, kernel in kernels.items():
        model = GaussianProcessRegressor(kernel + WhiteKernel(), normalize_y=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # hyperparameters at the end of their range
            model.fit(x[fitted], label[fitted])
        columns[name], deviation = model.predict(x[~fitted], return_std=True)
        columns[f"{name} variance"] = deviation**2
    return columns


def both_ways(columns: pd.DataFrame) -> pd.DataFrame:
    """Return a pool in which both systems are exactly alike: each row twice, its systems swapped.

    A draw from it is one from the pool with the predictions swapped with probability 1/2.
    """
    other = {"linear": "matern", "matern": "linear"}
    other |= {f"{name} variance": f"{swapped} variance" for name, swapped in other.items()}
    return pd.concat([columns, columns.rename(columns=other)], ignore_index=True)


def samplers_for(measure: Difference) -> dict[str, ReplacementSampler]:
    """Return the ways to draw, `active` as published and with the floor that ours have."""
    variants = ("active", "active_inf", "active_0")
    return {
        "rescaled (default)": Compare(measure),
        "active": Compare(measure, variant="active"),
        **{f"{one} without floor": Compare(measure, variant=one, floor=0.0) for one in variants},
        "active_risk": Compare(measure, variant="active_risk"),
        "passive": Passive(measure),
    }


def evaluate(columns: pd.DataFrame, repeats: int, seed: int) -> Iterator[tuple[str, Runs]]:
    """Yield each way of drawing, and what the evaluations of one pool say by it."""
    systems = {
        name: {"prediction": name, "variance": f"{name} variance"} for name in ("linear", "matern")
    }
    ground = {
        variant: pools.Ground.of(
            columns,
            pool={"systems": systems},
            labels={"range": [columns["label"].min(), columns["label"].max()]},
            measure={"difference": "mse"},
            sampler={"name": "compare", "variant": variant},
        )
        for variant in ("rescaled", "active_risk")
    }
    measure = build_driver(ground["rescaled"].spec.reading)
    assert isinstance(measure, Difference)
    for place, (name, sampler) in enumerate(samplers_for(measure).items()):
        known = ground.get(name, ground["rescaled"]).known
        yield name, draw(known, sampler, repeats, np.random.default_rng((seed, place)))


def draw(
    known: KnownPool, sampler: ReplacementSampler, repeats: int, rng: np.random.Generator
) -> Runs:
    """Return what evaluations say whose rows are drawn by a sampler's proposal.

    Each row is a kind of its own in the known pool. Estimate, error and degrees of freedom are
    those of the package, with each draw as a term (`tests/samplers/test_compare_numbers.py`).
    """
    draws, start = pools.Draws.of(known, sampler), History.start(2, known.table.classes)
    row = rng.choice(len(draws.chance), (repeats, LOOKS[-1]), p=draws.chance / draws.chance.sum())
    weight, loss = draws.ratio[row], draws.loss[row]
    normalised = sampler.inputs(known.table, start, 1 - LEVEL).self_normalised
    found = []
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
        found.append(
            {
                "student": 2 * special.stdtr(degrees, statistic),
                "wald": 2 * special.ndtr(statistic * np.sqrt(n / (n - 1))),
                "right": value * draws.truth > 0,
                "labels": np.array([len(np.unique(one[:n])) for one in row]),
            }
        )
    return {name: np.stack([look[name] for look in found], axis=1) for name in found[0]}


def stopping(options: Options) -> Iterator[Row]:
    """Yield draws, labels, and shares that are significant and falsely so, of the protocol."""
    for test in TESTS:
        for (name, way), runs in all_runs(options.abalone, options.repeats, options.pairs).items():
            if name != "real":
                continue
            below = runs[test] <= LEVEL
            found = below.any(axis=1)
            end = np.where(found, below.argmax(axis=1), len(LOOKS) - 1)
            rows = np.arange(len(end))
            wrong = found & ~runs["right"][rows, end]
            used, labels = np.array(LOOKS)[end].mean(), runs["labels"][rows, end].mean()
            yield test, way, used, labels, _percent(found), _percent(wrong)


def after(systems: str, options: Options) -> Iterator[Row]:
    """Yield how often the worse system looked better, the mean p-value, shares of rejections."""
    for size in SIZES:
        place = LOOKS.index(size)
        for test in TESTS:
            runs = all_runs(options.abalone, options.repeats, options.pairs)
            for (name, way), one in runs.items():
                if name == systems:
                    p_value = one[test][:, place]
                    wrong = _percent(~one["right"][:, place]) if name == "real" else "-"
                    told = (_percent(p_value <= level) for level in LEVELS)
                    yield name, size, test, way, wrong, p_value.mean(), *told


def _percent(flags: BoolArray) -> str:
    return f"{100 * flags.mean():.2f} %"


STUDY = "number-comparisons"
STOPPING = "test,drawn by,draws,labels,significant,wrong system"
AFTER = "systems,draws,test,drawn by,wrong system,mean p," + ",".join(
    f"rejected at {level:g}" for level in LEVELS
)
TABLES = (
    Table(f"{STUDY}/stopping", STOPPING, stopping, 500, ".0f"),
    Table(f"{STUDY}/different", AFTER, functools.partial(after, "real"), 500, ".3f"),
    Table(f"{STUDY}/alike", AFTER, functools.partial(after, "alike"), 500, ".3f"),
)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, abalone=Path("abalone.data"), pairs=10)
