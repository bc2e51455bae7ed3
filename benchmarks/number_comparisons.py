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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling import EvaluationSpec
from evalsampling.inference.domains import ReportedDomains
from evalsampling.measures.build import build_driver
from evalsampling.measures.comparisons import Difference
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers import Compare, Passive, ReplacementSampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.simulation.urns import Urns
from evalsampling.stats.history import History

FloatArray = npt.NDArray[np.float64]

FITTED, LEVEL = 500, 0.05
"""Rows that models are fitted to, and the level of the test that ends an evaluation."""

LOOKS = tuple(range(100, 801, 100))
"""Numbers of draws at which evaluations are looked at."""

SIZES = (100, 200, 400, 800)
"""Those at which systems that are alike are looked at."""

LEVELS = (0.1, 0.05, 0.01, 0.001)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--abalone", type=Path, metavar="FILE", help="abalone.data of UCI")
    parser.add_argument("--repeats", type=int, default=40, metavar="N", help="of each pair")
    parser.add_argument("--pairs", type=int, default=5, metavar="N", help="pairs of models")
    arguments = parser.parse_args()
    features, label = made_up() if arguments.abalone is None else read_abalone(arguments.abalone)
    runs: dict[str, list[Look]] = {}
    for pair in range(arguments.pairs):
        columns = fit_pair(features, label, pair)
        pools = {"real": (columns, LOOKS), "alike": (both_ways(columns), SIZES)}
        for name, (pool, sizes) in pools.items():
            told = evaluate(pool, sizes, arguments.repeats, seed=pair)
            for variant, looks in told.items():
                runs.setdefault(f"{name},{variant}", []).extend(looks)
        print(f"pair {pair + 1} done", file=sys.stderr, flush=True)
    report(runs)


@dataclasses.dataclass(frozen=True)
class Look:
    """What the tests of one evaluation said, look by look.

    Attributes:
        p_value: shape (looks,): 1 where the labels allowed no claim.
        right: shape (looks,): whether the better system looked better.
        labels: shape (looks,): rows labelled.
    """

    p_value: FloatArray
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
        **{f"{name}, no floor": sampler for name, sampler in published.items()},
        "active_risk": Compare(measure, variant="active_risk"),
        "passive": Passive(measure),
    }


def evaluate(
    columns: dict[str, Any], sizes: Sequence[int], repeats: int, seed: int
) -> dict[str, list[Look]]:
    """Return what the evaluations of one pool say at some numbers of draws, by way of drawing."""
    known = {variant: known_pool(columns, variant) for variant in ("rescaled", "active_risk")}
    _, spec = known["rescaled"]
    measure = build_driver(spec, [None, None])
    assert isinstance(measure, Difference)
    sign = float(np.sign(known["rescaled"][0].value(measure)[0]))
    told = {}
    for name, sampler in samplers_for(measure).items():
        pool, _ = known["active_risk" if name == "active_risk" else "rescaled"]
        told[name] = [
            _look(pool, sampler, sizes, sign, (seed, repeat)) for repeat in range(repeats)
        ]
    return told


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


def _look(
    known: KnownPool,
    sampler: ReplacementSampler,
    sizes: Sequence[int],
    sign: float,
    seed: tuple[int, int],
) -> Look:
    """Return what one evaluation says after each round."""
    rng, history = np.random.default_rng(seed), History.start(2, known.table.classes)
    urns, scope = Urns(known, seed[1]), ReportedDomains(systems=known.systems, anytime=False)
    p_values, right, labels = [], [], []
    for draws in np.diff(sizes, prepend=0).tolist():
        a_round = dataclasses.replace(sampler, draws=draws)
        history = urns.answer(a_round.design(known.table, history, known.table.rows, rng))
        (said,) = sampler.estimate(known.table, history, [sampler.measure], 1 - LEVEL, scope)
        p_value = None if said.significance is None else said.significance.p_value
        p_values.append(1.0 if p_value is None else p_value)
        right.append(said.value is not None and said.value * sign > 0)
        labels.append(len(history.labelled))
    return Look(np.array(p_values), np.array(right), np.array(labels))


def report(runs: dict[str, list[Look]]) -> None:
    """Print what stopping early, fixed sizes and alike systems give."""
    ways = list(dict.fromkeys(key.split(",", 1)[1] for key in runs))
    print("drawn until significant,draws,labels,significant,wrong system")
    for way in ways:
        print(f"{way},{','.join(_stopping(runs[f'real,{way}']))}")
    print("\nafter so many draws,way,wrong system,mean p,rejected at " + " ".join(map(str, LEVELS)))
    for size in SIZES:
        for way in ways:
            told = _after(runs[f"real,{way}"], LOOKS.index(size))
            print(f"{size},{way},{','.join(told)}")
    print("\nalike,way,rejected at " + " ".join(map(str, LEVELS)))
    for size in SIZES:
        for way in ways:
            print(f"{size},{way},{_after(runs[f'alike,{way}'], SIZES.index(size))[-1]}")


def _stopping(looks: list[Look]) -> list[str]:
    """Return draws, labels, significant and falsely significant evaluations of the protocol."""
    used, labels, found, wrong = [], [], 0, 0
    for look in looks:
        below = np.flatnonzero(look.p_value <= LEVEL)
        end = int(below[0]) if len(below) else len(LOOKS) - 1
        used.append(LOOKS[end])
        labels.append(look.labels[end])
        found += len(below) > 0
        wrong += len(below) > 0 and not look.right[end]
    shares = [f"{100 * count / len(looks):.1f} %" for count in (found, wrong)]
    return [f"{np.mean(used):.0f}", f"{np.mean(labels):.0f}", *shares]


def _after(looks: list[Look], place: int) -> list[str]:
    """Return how often the worse system looked better, the mean p-value, shares of rejections."""
    p_values = np.array([look.p_value[place] for look in looks])
    wrong = np.mean([not look.right[place] for look in looks])
    rejected = " ".join(f"{100 * np.mean(p_values <= level):.1f}" for level in LEVELS)
    return [f"{100 * wrong:.1f} %", f"{p_values.mean():.3f}", rejected]


if __name__ == "__main__":
    main()
