"""Active risk estimation against rows drawn alike: skew, bias and variance, wrong scores, numbers.

    python benchmarks/active_risk.py            # prints the tables of docs/studies/active-risk.md

The axes are those of the thesis (C. Sawade, *Active Evaluation of Predictive Models*, 2012, section
4.4). Its pools were not at hand, though most are public: data of the same description are made up.
Without the pools of other benchmarks it says so and does the made-up part alone.
"""

import argparse
import dataclasses
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pools
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import special

from evalsampling import EvaluationSpec
from evalsampling.label_spaces.numbers import Numbers
from evalsampling.measures import Accuracy, FBeta, MeanSquaredError, Measure, TableRisk
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers import (
    ActiveError,
    ActiveRisk,
    ModelStratified,
    OnlineStratified,
    Passive,
    ReplacementSampler,
    Sampler,
)
from evalsampling.simulation.truth import KnownPool
from evalsampling.simulation.urns import Urns
from evalsampling.stats.history import History

FloatArray = npt.NDArray[np.float64]

ROWS = 33_296
"""As the thesis's pool of e-mails."""

SPAM, APART = 0.05, 2.8
"""Share of positives there, and distance of the classes that gives its error rate of .0245."""

SHARES = (0.5, 0.2, 0.1, 0.05, 0.02)
RIVAL_SHARES = (0.5, 0.2, 0.05, 0.02)
SIZES = (50, 100, 200, 400, 800)
MEASURES: dict[str, Measure] = {
    "error rate": TableRisk(),
    "recall (eta 0)": FBeta(alpha=0.0),
    "F1 (eta 0.5)": FBeta(alpha=0.5),
    "precision (eta 1)": FBeta(alpha=1.0),
}
FACTORS = (0.25, 1.0, 4.0)
"""By which log-odds are too small or too large."""


def main() -> None:
    """Print the tables, or one of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    pools.add_option(parser)
    parser.add_argument("--repeats", type=int, default=2000, metavar="N")
    parser.add_argument("--only", choices=TABLES, help="one table alone")
    arguments = parser.parse_args()
    for name, (table, share) in TABLES.items():
        if arguments.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                table(Path(folder), max(round(arguments.repeats * share), 1))
    if arguments.only is None:
        real_pools(arguments.pools, arguments.repeats)


def made_up(folder: Path, share: float, factor: float = 1.0, rows: int = ROWS) -> KnownPool:
    """Write and read a pool of two normal classes; log-odds are right but for a factor."""
    rng = np.random.default_rng(4)
    label = (rng.random(rows) < share).astype(np.int64)
    logit = APART * (rng.normal(size=rows) + APART * (label - 0.5)) + special.logit(share)
    columns = {
        "id": np.arange(rows),
        "score": logit,
        "prediction": (logit > 0).astype(np.int64),
        "probability": special.expit(factor * logit),
    }
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    pq.write_table(pa.table({"id": columns["id"], "label": label}), folder / "truth.parquet")
    return known_pool(folder / "pool.parquet", folder / "truth.parquet")


def known_pool(pool: Path, truth: Path) -> KnownPool:
    """Return a pool whose labels are known, in 256 leaves of its scores."""
    spec = EvaluationSpec.from_mapping(
        {"pool": {"path": str(pool), "probability": "probability"}}, pool.parent
    )
    return KnownPool.read(spec, stratify_pool(spec), truth)


@dataclasses.dataclass(frozen=True)
class Estimates:
    """Self-normalised estimates of one measure from many samples (eq. 3.31), and the truth.

    Attributes:
        value: shape (repeats,): NaN where a sample has no weight.
        truth: value on the whole pool.
    """

    value: FloatArray
    truth: float

    @classmethod
    def simulated(
        cls,
        known: KnownPool,
        sampler: ReplacementSampler,
        draws: int,
        repeats: int,
        measure: Measure | None = None,
    ) -> "Estimates":
        """Return the estimates from draws with replacement, rows alike taken together.

        Of the measure that they are drawn for, unless another one is given.
        """
        measure, rows = measure or sampler.measure, known.table.rows
        start = History.start(1, known.table.classes)
        q = sampler.proposal(known.table, start).cell_probability[known.cell]
        loss = measure.loss(known.outputs, known.label)
        numerator, weight = loss[:, 0], loss[:, -1] if loss.shape[1] == 2 else np.ones(len(q))
        ratio = np.divide(1 / rows, q, out=np.zeros(len(q)), where=q > 0)
        chance = q * known.count
        rng = np.random.default_rng(draws)
        total = np.zeros((repeats, 2))
        for begin in range(0, repeats, 200):
            taken = rng.multinomial(
                draws, chance / chance.sum(), size=min(200, repeats - begin)
            ).astype(np.float64)
            total[begin : begin + 200] = taken @ (ratio[:, None] * np.stack([numerator, weight], 1))
        value = np.full(repeats, np.nan)
        np.divide(total[:, 0], total[:, 1], out=value, where=total[:, 1] > 0)
        return cls(value, float((known.count @ numerator) / (known.count @ weight)))

    @property
    def error(self) -> float:
        """Mean absolute deviation from the truth, of the samples that give a value."""
        return float(np.nanmean(np.abs(self.value - self.truth)))

    @property
    def parts(self) -> tuple[float, float]:
        """Squared bias and variance."""
        return float(np.nanmean(self.value) - self.truth) ** 2, float(np.nanvar(self.value))


def labels_for_the_same_error(known: KnownPool, measure: Measure) -> float:
    """Return n_active / n_passive, with the true labels (lemma 3.4); NaN without an error."""
    start = History.start(1, known.table.classes)
    loss = measure.loss(known.outputs, known.label)
    hit, weight = loss[:, 0], loss[:, -1] if loss.shape[1] == 2 else np.ones(len(loss))
    value = (known.count @ hit) / (known.count @ weight)
    square = known.count * (hit - value * weight) ** 2
    variances = []
    for sampler in (ActiveRisk(measure), Passive(measure)):
        q = sampler.proposal(known.table, start).cell_probability[known.cell]
        variances.append(np.sum(np.divide(square, q, out=np.zeros(len(q)), where=q > 0)))
    return float(variances[0] / variances[1]) if variances[1] else float("nan")


def skew(folder: Path, repeats: int) -> None:
    """Print errors at 200 draws for pools of different shares of positives."""
    print("| positives | measure | true | passive | active | labels for the same error |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for share in SHARES:
        known = made_up(folder, share)
        for name, measure in MEASURES.items():
            passive, active = (
                Estimates.simulated(known, sampler, 200, repeats)
                for sampler in (Passive(measure), ActiveRisk(measure))
            )
            needed = labels_for_the_same_error(known, measure)
            print(
                f"| {share:.0%} | {name} | {active.truth:.4f} | {passive.error:.4f} "
                f"| {active.error:.4f} | {needed:.2f} |"
            )


def parts_of_the_error(folder: Path, repeats: int) -> None:
    """Print squared bias and variance of the error rate by the number of draws."""
    print("\n| draws | measure | passive: bias^2, variance | active: bias^2, variance |")
    print("| ---: | --- | ---: | ---: |")
    known = made_up(folder, SPAM)
    for name in ("error rate", "F1 (eta 0.5)"):
        measure = MEASURES[name]
        for draws in SIZES:
            told = [
                "{:.1e}, {:.1e}".format(*Estimates.simulated(known, one, draws, repeats).parts)
                for one in (Passive(measure), ActiveRisk(measure))
            ]
            print(f"| {draws} | {name} | {told[0]} | {told[1]} |")


def wrong_scores(folder: Path, repeats: int) -> None:
    """Print errors after four rounds of 50 rows where log-odds are wrong by a factor."""
    print("\n| log-odds times | measure | passive | scores | logistic | isotonic |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for factor in FACTORS:
        known = made_up(folder, 0.1, factor, 8000)
        for name in ("error rate", "F1 (eta 0.5)"):
            measure = MEASURES[name]
            samplers = [
                Passive(measure),
                *(ActiveRisk(measure, calibration=one) for one in (None, "logistic", "isotonic")),
            ]
            errors = [
                f"{errors_of_rounds(known, one, [measure], 4, repeats)[0]:.4f}" for one in samplers
            ]
            print(f"| {factor:g} | {name} | {' | '.join(errors)} |")


def rivals(folder: Path, repeats: int) -> None:
    """Print errors of 200 labels for the stratified rivals, by the share of positives."""
    names = ("passive", "strat", "strat_model", "active_err", "active_risk")
    print(f"\n| positives | measure | {' | '.join(names)} |")
    print(f"| ---: | --- |{' ---: |' * len(names)}")
    measures = [MEASURES[name] for name in ("error rate", "F1 (eta 0.5)")]
    for share in RIVAL_SHARES:
        known = made_up(folder, share)
        stratified = [
            errors_of_rounds(known, one, measures, rounds, repeats)
            for one, rounds in (
                (OnlineStratified(Accuracy()), 10),
                (ModelStratified(Accuracy()), 1),
            )
        ]
        for place, (name, measure) in enumerate(zip(("error rate", "F1"), measures, strict=True)):
            passive, error, active = (
                Estimates.simulated(known, one, 200, 2000, measure).error
                for one in (Passive(measure), ActiveError(measure), ActiveRisk(measure))
            )
            told = [passive, *(found[place] for found in stratified), error, active]
            print(f"| {share:.0%} | {name} | {' | '.join(f'{one:.4f}' for one in told)} |")


def errors_of_rounds(
    known: KnownPool, sampler: Sampler, measures: Sequence[Measure], rounds: int, repeats: int
) -> list[float]:
    """Return the mean absolute error of each measure after 200 labels in some rounds.

    Samples that leave a measure undefined are left out.
    """
    truths = [known.value(measure)[0] for measure in measures]
    errors = np.zeros((repeats, len(measures)))
    for repeat in range(repeats):
        history, oracle = History.start(1, known.table.classes), Urns(known, repeat)
        for number in range(rounds):
            rng = np.random.default_rng([repeat, number])
            history = oracle.answer(sampler.design(known.table, history, 200 // rounds, rng))
        values = [sampler.value(known.table, history, one, 0.95)[0] for one in measures]
        errors[repeat] = np.abs(np.subtract(values, truths))
    return np.nanmean(errors, axis=0).tolist()


def numbers(folder: Path, repeats: int) -> None:
    """Print errors of the mean squared error at 200 draws, by how much variances differ."""
    print(
        "\n| variances: deviation by mean | true | passive | active | labels for the same error |"
    )
    print("| ---: | ---: | ---: | ---: | ---: |")
    rng = np.random.default_rng(6)
    rows, labels = 8000, Numbers(-1000, 1000)
    for shape in (16.0, 4.0, 1.0, 0.25):
        variance = rng.gamma(shape, 5 / shape, rows)
        label = np.sqrt(variance) * rng.normal(size=rows)
        columns = {"id": np.arange(rows), "prediction": np.zeros(rows), "variance": variance}
        pq.write_table(pa.table(columns), folder / "numbers.parquet")
        truth = folder / "labels.parquet"
        pq.write_table(pa.table({"id": columns["id"], "label": label}), truth)
        content = {"pool": {"path": "numbers.parquet"}, "labels": {"range": [-1000, 1000]}}
        spec = EvaluationSpec.from_mapping(content, folder)
        known = KnownPool.read(spec, stratify_pool(spec), truth)
        measure = MeanSquaredError(labels)
        passive, active = (
            Estimates.simulated(known, sampler, 200, repeats)
            for sampler in (Passive(measure), ActiveRisk(measure))
        )
        needed = labels_for_the_same_error(known, measure)
        print(
            f"| {1 / np.sqrt(shape):g} | {active.truth:.3f} | {passive.error:.3f} "
            f"| {active.error:.3f} | {needed:.2f} |"
        )


def real_pools(directory: Path, repeats: int) -> None:
    """Print errors on the pools of other benchmarks, and what the scores expect."""
    print("\n| pool | measure | true | draws | passive | active | labels for the same error |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for pool in pools.find(directory):
        known = known_pool(directory / f"{pool}.parquet", directory / f"{pool}-truth.parquet")
        for name, measure in MEASURES.items():
            needed = labels_for_the_same_error(known, measure)
            for draws in (200, 800):
                passive, active = (
                    Estimates.simulated(known, sampler, draws, repeats)
                    for sampler in (Passive(measure), ActiveRisk(measure))
                )
                shown = f"{active.truth:.3g} | {draws} | {passive.error:.2g} | {active.error:.2g}"
                print(f"| {pool} | {name} | {shown} | {needed:.3g} |")


TABLES: Mapping[str, tuple[Callable[[Path, int], None], float]] = {
    "skew": (skew, 1),
    "parts": (parts_of_the_error, 1),
    "scores": (wrong_scores, 1 / 20),
    "rivals": (rivals, 1 / 10),
    "numbers": (numbers, 1 / 4),
}
"""The tables of made-up data, each with its share of the repeats."""


if __name__ == "__main__":
    main()
