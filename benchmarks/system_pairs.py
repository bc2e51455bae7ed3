"""Pairs of systems of the same rows: real models, and second systems made from those of pools.

A kind says what a second system is; see `KINDS`. Pools, sorted by group and name, have the kinds in
turn. All is seeded, so a pair is the same in every run.
"""

import csv
import dataclasses
import functools
import itertools
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from blocks import Block
from pools import find
from scipy import special, stats
from trials import Trial

from evalsampling import EvaluationSpec
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.truth import KnownPool

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

MOST_NEGATIVES = 250_000
"""Of larger pools a pair has all positives, and so many negatives, drawn at random."""

FEWEST_SCORES = 50
"""A pool with fewer distinct scores has no other threshold: its second system is `thinned`."""

BUDGETS = (300, 600)
REPORTED = ("f1", "precision", "recall", {"ratio": "f1"})

DRAWN_FOR: Mapping[str, list[Any]] = {
    "f1": ["f1", "precision", "recall"],
    "precision": ["precision", "f1"],
    "difference": [{"difference": "f1"}, "f1"],
}
"""What a spec lists, by what is first: see docs/comparisons.md."""


@dataclasses.dataclass(frozen=True)
class Second:
    """How a second system is made from the first.

    Attributes:
        kept: share of the hits of the first that noise in its log-odds leaves; None for no noise.
        seen: share of the rows of which the second knows something that the first does not.
        signal: standard deviations between the means of positives and negatives in what it knows.
        by_rank: whether the noise is in ranks, and the score no probability.
        factor: rows that it predicts to be positive, over those of the first.
    """

    kept: float | None = None
    seen: float = 0.0
    signal: float = 3.0
    by_rank: bool = False
    factor: float = 1.0


KINDS: Mapping[str, Second] = {
    "thinned": Second(kept=0.6),
    "other": Second(kept=0.25, seen=0.6),
    "threshold": Second(factor=2.0),
    "ranks": Second(kept=0.7, by_rank=True),
    "knows": Second(kept=0.6, seen=0.3),
    "weak": Second(kept=0.2),
    "near": Second(kept=0.95),
}
"""Kinds of second systems; `other` and `knows` have seen what the first has not."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """What one system says of the rows of a pool: arrays of shape (n,)."""

    score: FloatArray
    probability: FloatArray
    prediction: BoolArray

    @classmethod
    def predicting(cls, score: FloatArray, probability: FloatArray, rows: int) -> "Rows":
        """Return a system that predicts as many rows to be positive as are asked for, or more."""
        least = np.partition(score, -rows)[-rows]
        return cls(score, probability, score >= least)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two systems of the same rows, `a` and `b`.

    Attributes:
        name: of the pair.
        kind: of its second system, or ``models`` where both were trained.
        group: pairs of one group share data.
        make: returns both systems and the labels.
    """

    name: str
    kind: str
    group: str
    make: Callable[[], tuple[Rows, Rows, BoolArray]]


def pairs(folder: Path, kept: Path) -> dict[str, Pair]:
    """Return all pairs by name: one a pool of a folder, and those of real models.

    Args:
        folder: of pools; groups are in its ``catalog.tsv``, if it has one.
        kept: folder where the scores of real models are kept.
    """
    groups, catalog = {}, folder / "catalog.tsv"
    if catalog.exists():
        with catalog.open(encoding="utf-8", newline="") as file:
            groups = {one["name"]: one["group"] for one in csv.DictReader(file, delimiter="\t")}
    names = sorted(find(folder), key=lambda name: (groups.get(name, name), name))
    found = {}
    for name, kind in zip(names, itertools.cycle(KINDS), strict=False):
        make = functools.partial(from_pool, folder, name, kind)
        found[name] = Pair(name, kind, groups.get(name, name), make)
    for name, train in MODELS.items():
        found[name] = Pair(name, "models", name, functools.partial(_kept, kept, name, train))
    return found


def from_pool(folder: Path, name: str, kind: str) -> tuple[Rows, Rows, BoolArray]:
    """Return the system of a pool, one made from it, and the labels."""
    rng = np.random.default_rng([57, zlib.crc32(name.encode())])
    pool = pq.read_table(folder / f"{name}.parquet")
    label = pq.read_table(folder / f"{name}-truth.parquet")["label"].to_numpy() == 1
    negatives = np.flatnonzero(~label)
    if len(negatives) > MOST_NEGATIVES:
        chosen = rng.choice(negatives, MOST_NEGATIVES, replace=False)
        rows = np.sort(np.concatenate([np.flatnonzero(label), chosen]))
        pool, label = pool.take(rows), label[rows]
    score, probability = (pool[c].to_numpy().astype(np.float64) for c in ("score", "probability"))
    first = Rows(score, probability, pool["prediction"].to_numpy() == 1)
    if kind == "threshold" and len(np.unique(score)) < FEWEST_SCORES:
        kind = "thinned"
    return first, second(first, label, KINDS[kind], rng), label


def second(first: Rows, label: BoolArray, how: Second, rng: np.random.Generator) -> Rows:
    """Return a system made from another.

    Args:
        first: the other.
        label: shape (n,): whether a row is positive.
        how: what is to be made.
        rng: source of the noise.
    """
    rows = max(round(how.factor * int(first.prediction.sum())), 1)
    if how.kept is None:
        return Rows.predicting(first.score, first.probability, min(rows, len(label) // 2))
    known = special.logit(np.clip(first.probability, 1e-9, 1 - 1e-9))
    if how.by_rank:
        known = stats.rankdata(first.score) / len(label)
    known = with_noise(known, label, rows, how.kept, rng)
    if how.by_rank:
        probability = stats.rankdata(known) / (len(label) + 1)
        return Rows.predicting(probability, probability, rows)
    # What the second has seen is a normal number; its log-odds add to those of the rest.
    seen = rng.random(len(label)) < how.seen
    number = how.signal * label + rng.normal(size=len(label))
    known = known + seen * how.signal * (number - how.signal / 2)
    return Rows.predicting(known, special.expit(known), rows)


def with_noise(
    known: FloatArray, label: BoolArray, rows: int, kept: float, rng: np.random.Generator
) -> FloatArray:
    """Return numbers with normal noise, so much that the top rows keep a share of their hits.

    They vary as much as they did without.
    """
    noise = rng.normal(size=len(known)) * max(float(np.std(known)), 1e-9)

    def hits(size: float) -> int:
        top = np.argpartition(known + size * noise, -rows)[-rows:]
        return int(label[top].sum())

    least, most = np.log(1e-6), np.log(1e2)
    wanted = kept * hits(1e-6)
    for _ in range(30):
        middle = (least + most) / 2
        least, most = (middle, most) if hits(np.exp(middle)) > wanted else (least, middle)
    noisy = known + np.exp(most) * noise
    return noisy * (np.std(known) / max(float(np.std(noisy)), 1e-9))


def trials(block: Block, folder: Path, kept: Path) -> Iterator[Trial]:
    """Yield the trials of a pair: in both orders, for each of `DRAWN_FOR`."""
    pair = pairs(folder, kept)[block.pool]
    a, b, label = pair.make()
    columns: dict[str, Any] = {"id": np.arange(len(label))}
    for name, one in {"a": a, "b": b}.items():
        columns |= {f"{name}_{part}": values for part, values in vars(one).items()}
        columns[f"{name}_prediction"] = one.prediction.astype(np.int8)
    with tempfile.TemporaryDirectory() as place:
        truth = Path(place) / "truth.parquet"
        pq.write_table(pa.table(columns), Path(place) / "pool.parquet")
        labels = {"id": columns["id"], "label": label.astype(np.int8)}
        pq.write_table(pa.table(labels), truth)
        for order, (first, listed) in itertools.product(("ab", "ba"), DRAWN_FOR.items()):
            drawn, reported = (_spec(Path(place), order, each) for each in (listed, REPORTED))
            cut = stratify_pool(drawn)
            known = KnownPool.read(reported, cut, truth)
            wanted = [
                one for one in build_measures(reported, cut.ranges) if isinstance(one, Measure)
            ]
            told = {"made": pair.kind, "group": pair.group, "order": order, "first": first}
            yield Trial(known, build_sampler(drawn, cut.ranges, block.sampler), wanted, told)


def _spec(place: Path, order: str, measures: Sequence[Any]) -> EvaluationSpec:
    parts = ("score", "probability", "prediction")
    systems = {name: {part: f"{name}_{part}" for part in parts} for name in order}
    content = {"pool": {"path": "pool.parquet", "systems": systems}, "seed": 1}
    return EvaluationSpec.from_mapping(content | {"measure": list(measures)}, place)


def _kept(
    kept: Path, name: str, train: Callable[[], tuple[Rows, Rows, BoolArray]]
) -> tuple[Rows, Rows, BoolArray]:
    """Return trained models and the labels, from a file if they were trained before."""
    path = kept / f"{name.replace(' ', '-')}.npz"
    if not path.exists():
        a, b, label = train()
        parts = {
            f"{n}_{part}": v for n, one in (("a", a), ("b", b)) for part, v in vars(one).items()
        }
        kept.mkdir(parents=True, exist_ok=True)
        np.savez(path, label=label, **parts)
    with np.load(path) as found:
        a, b = (
            Rows(*(found[f"{name}_{part}"] for part in ("score", "probability", "prediction")))
            for name in "ab"
        )
        return a, b, found["label"]


def _trained(
    features: FloatArray, label: BoolArray, rows: int, least: float, *models: Any
) -> tuple[Rows, Rows, BoolArray]:
    """Return two models, trained on the first rows, of the others.

    Args:
        features: shape (n, features).
        label: shape (n,): whether a row is positive.
        rows: to train on.
        least: probability from which they predict a row to be positive.
        *models: two of scikit-learn.
    """
    said = []
    for model in models:
        model.fit(features[:rows], label[:rows])
        probability = model.predict_proba(features[rows:])[:, 1]
        said.append(Rows(probability, probability, probability > least))
    return said[0], said[1], label[rows:]


def _weak() -> tuple[Rows, Rows, BoolArray]:
    """Two weak models of 200,000 rows, one of 600 positive, in ten features."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    rng = np.random.default_rng(571)
    x = rng.normal(size=(235_000, 10))
    logit = 1.5 * x[:, 0] + x[:, 1] * x[:, 2] + 0.9 * x[:, 3] + rng.normal(size=len(x)) - 8.9
    label = rng.random(len(x)) < special.expit(logit)
    trees = HistGradientBoostingClassifier(max_iter=80, random_state=1)
    forest = RandomForestClassifier(60, min_samples_leaf=2, random_state=1)
    return _trained(x, label, 35_000, 0.15, trees, forest)


def _transactions() -> tuple[Rows, Rows, BoolArray]:
    """Two good models of 200,000 transactions, .4 % fraud; the trees give most rows one score."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    rng = np.random.default_rng(572)
    n = 260_000
    fraud = rng.random(n) < 0.004
    kind = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 12))
    for of_kind, columns in enumerate(((0, 1, 2), (2, 3, 4), (4, 5, 6))):
        hit = np.flatnonzero(fraud & (kind == of_kind))
        shift = np.where(rng.random(len(hit)) < 0.8, 3.2, 0.8)
        x[hit[:, None], list(columns)] += shift[:, None]
    x[:, 7:10] = np.exp(x[:, 7:10])
    trees = HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=4, random_state=1)
    forest = RandomForestClassifier(25, min_samples_leaf=2, random_state=1)
    return _trained(x, fraud, 60_000, 0.5, trees, forest)


def _different() -> tuple[Rows, Rows, BoolArray]:
    """Naive Bayes, over-sure, and the share of 25 neighbours, of 40,000 rows with 5 % positives."""
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(573)
    common = rng.normal(size=(50_000, 1))
    x = 0.6 * common + rng.normal(size=(50_000, 8))
    logit = x[:, :5].sum(axis=1) + 1.2 * np.abs(x[:, 5]) * (x[:, 6] > 0) - 7.5
    label = rng.random(len(x)) < special.expit(logit)
    return _trained(x, label, 10_000, 0.4, GaussianNB(), KNeighborsClassifier(25))


MODELS: Mapping[str, Callable[[], tuple[Rows, Rows, BoolArray]]] = {
    "weak trees and forest": _weak,
    "transactions": _transactions,
    "Bayes and neighbours": _different,
}
"""Pairs of real models, trained on made-up rows."""
