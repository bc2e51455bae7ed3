"""Which of two systems is better: labels to equal power, error rates, and stopping early.

    python benchmarks/comparisons.py            # prints the tables of docs/studies/comparisons.md

Without the pools it says so and does the simulated part alone.
"""

import argparse
import dataclasses
import functools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pools
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling import EvaluationSpec
from evalsampling.inference.anytime import Gamble
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.significance import required_draws_of_student, two_sided_p_value
from evalsampling.measures import Difference
from evalsampling.measures.build import build_measures
from evalsampling.measures.comparisons import Comparison
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers import Compare, Passive, ReplacementSampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.simulation.urns import Urns
from evalsampling.stats.history import History

ALPHA, POWER = 0.05, 0.8
ROUND, LOOKS = 50, 16
"""As table 5.1 of the thesis: at most 800 draws, looked at every 50."""

MORE = 3
"""Positives that the second system predicts, by those of the first."""

EFFECTS = (0.0, 0.1, 0.2)
"""Shares of the disagreements by which the one system is right more often than the other."""

TESTS = 200
"""Simulated tests for each number of draws: the standard error of a share is 3.5 % or less."""

MOST_DRAWS = 2000
"""Most draws of simulated tests; beyond, the formula is accurate, and simulations are slow."""

STEP = 1.4
"""Factor by which draws grow, or shrink, in search of a power."""


@dataclasses.dataclass(frozen=True)
class PowerPlanner:
    """Tests of one comparison under a sampler's first proposal, on pools whose labels are known.

    Attributes:
        measure: the comparison.
        sampler: a sampler that draws with replacement.
        pool: returns the pool of each test, by its number.
        confidence: 1 minus the level of the test.
        seed: seed of the draws.
    """

    measure: Comparison
    sampler: ReplacementSampler
    pool: Callable[[int], KnownPool]
    confidence: float
    seed: int

    def power(self, draws: int) -> float:
        """Return the share of simulated tests of a number of draws that are significant."""
        sampler = dataclasses.replace(self.sampler, draws=draws)
        return float(np.mean([self.rejects(sampler, repeat) for repeat in range(TESTS)]))

    def draws(self, start: int, wanted: float) -> int | None:
        """Return the draws that give tests a power, to 5 %; None if `MOST_DRAWS` are too few.

        Args:
            start: first guess, at least 2.
            wanted: the power.
        """
        few, many = (0, start) if self.power(start) >= wanted else (start, 0)
        while True:
            if not many:
                if few >= MOST_DRAWS:
                    return None
                n = min(math.ceil(few * STEP), MOST_DRAWS)
            elif not few:
                if many == 2:
                    return many
                n = max(math.floor(many / STEP), 2)
            elif many - few <= max(0.05 * few, 1):
                return many
            else:
                n = max(math.isqrt(few * many), few + 1)
            few, many = (few, n) if self.power(n) >= wanted else (n, many)

    def rejects(self, sampler: ReplacementSampler, repeat: int) -> bool:
        """Tell whether the test of one round on one pool is significant."""
        pool = self.pool(repeat)
        table, history = pool.table, History.start(len(pool.systems), pool.table.classes)
        rng = np.random.Generator(np.random.PCG64([self.seed, repeat]))
        history = Urns(pool, repeat).answer(sampler.design(table, history, table.rows, rng))
        scope = ReportedDomains(systems=pool.systems, anytime=False)
        (estimate,) = sampler.estimate(table, history, [self.measure], self.confidence, scope)
        p_value = None if estimate.significance is None else estimate.significance.p_value
        return p_value is not None and p_value <= 1 - self.confidence


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    pools.add_option(parser)
    parser.add_argument("--repeats", type=int, default=1000, metavar="N")
    arguments = parser.parse_args()
    stopping(arguments.repeats)
    print("\n| pool | measure | difference | drawn by | draws | labels | power found |")
    print("| --- | --- | ---: | --- | ---: | ---: | ---: |")
    for name in pools.find(arguments.pools):
        if (arguments.pools / f"{name}-features.parquet").exists():
            labels_to_power(arguments.pools, name)


def stopping(repeats: int) -> None:
    """Print how often tests that are looked at after each round find a difference."""
    print("| right more often by | test | significant | wrong system | draws |")
    print("| --- | --- | ---: | ---: | ---: |")
    rng = np.random.default_rng(1)
    for effect in EFFECTS:
        draws = rng.choice(
            [-1.0, 1.0], p=[(1 - effect) / 2, (1 + effect) / 2], size=(repeats, ROUND * LOOKS)
        )
        for test in ("fixed, once", "fixed, each round", "anytime, each round"):
            found = [_stopped(one, test) for one in draws]
            significant = np.mean([sign != 0 for sign, _ in found])
            wrong = np.mean([sign < 0 for sign, _ in found])
            used = np.mean([used for _, used in found])
            shown = "-" if effect == 0 else f"{100 * wrong:.1f} %"
            print(f"| {effect:g} | {test} | {100 * significant:.1f} % | {shown} | {used:.0f} |")


def _stopped(draws: np.ndarray, test: str) -> tuple[int, int]:
    """Return the sign of what is significant, 0 if nothing is, and the draws until then."""
    looks = [len(draws)] if test == "fixed, once" else range(ROUND, len(draws) + 1, ROUND)
    for size in looks:
        seen = draws[:size]
        if test.startswith("fixed"):
            error = seen.std(ddof=1) / np.sqrt(size)
            p_value = two_sided_p_value(seen.mean() / error, size - 1) if error else 1.0
        else:
            p_value = Gamble(seen, np.ones(size)).p_value()
        if p_value <= ALPHA:
            return int(np.sign(seen.mean())), size
    return 0, len(draws)


def write_systems(directory: Path, name: str, folder: Path) -> Path:
    """Write a pool with a second system, and its truth; return the file of the truth.

    The second system is a weighted least-squares fit of the features on half the rows; it predicts
    `MORE` times as many positives as the first.
    """
    pool = pq.read_table(directory / f"{name}.parquet").to_pandas()
    features = pq.read_table(directory / f"{name}-features.parquet").to_pandas()
    label = pq.read_table(directory / f"{name}-truth.parquet")["label"].to_numpy()
    x = features.drop(columns=["id", "probability_platt"], errors="ignore").to_numpy(float)
    x = np.column_stack([np.ones(len(x)), (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-12)])
    fitted = np.random.default_rng(2).random(len(x)) < 0.5
    weight = np.where(label == 1, 20.0, 1.0)[fitted]
    gram = x[fitted].T @ (weight[:, None] * x[fitted]) + np.eye(x.shape[1])
    second = x @ np.linalg.solve(gram, x[fitted].T @ (weight * label[fitted]))
    given = pool["prediction"].to_numpy()
    cut = np.sort(second)[-MORE * int(given.sum())]
    columns = {
        "id": np.arange(len(x)),
        "score": pool["score"].to_numpy(),
        "given": given,
        "fitted": (second >= cut).astype(int),
        "given chance": pool["probability"].to_numpy(),
        "fitted chance": np.clip(second, 0.001, 0.999),
    }
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    truth = folder / "truth.parquet"
    pq.write_table(pa.table({"id": columns["id"], "label": label}), truth)
    return truth


def labels_to_power(directory: Path, name: str) -> None:
    """Print the labels that a test of 5 % needs for a power of 80 %, way of sampling by way.

    By simulated tests; of more than `MOST_DRAWS` draws by the variance of a draw, all labels being
    known.
    """
    with tempfile.TemporaryDirectory() as folder:
        truth = write_systems(directory, name, Path(folder))
        for measure in ("accuracy", "f1"):
            content = {
                "pool": {
                    "path": "pool.parquet",
                    "score": "score",
                    "probability": "given chance",
                    "systems": {
                        system: {"prediction": system, "probability": f"{system} chance"}
                        for system in ("given", "fitted")
                    },
                },
                "measure": {"difference": measure},
                "strata": {"leaves": 64},
            }
            spec = EvaluationSpec.from_mapping(content, folder)
            stratification = stratify_pool(spec)
            known = KnownPool.read(spec, stratification, truth)
            (compared,) = build_measures(spec, stratification.ranges)
            assert isinstance(compared, Difference)
            for sampler in samplers_for(compared):
                print(row(name, known, compared, sampler), flush=True)


def samplers_for(measure: Difference) -> list[ReplacementSampler]:
    """Return the ways to sample that are compared."""
    variants = ("rescaled", "active", "active_risk")
    return [Passive(measure), *(Compare(measure, variant=variant) for variant in variants)]


def row(name: str, known: KnownPool, measure: Difference, sampler: ReplacementSampler) -> str:
    """Return the line of the table for one pool, measure and way of sampling."""
    table = known.table
    start = History.start(2, table.classes)
    q = sampler.proposal(table, start).cell_probability
    share = known.count / table.rows
    risk = measure.mean_loss(known.outputs, known.label, share)
    value = float(measure.value(risk)[0])
    influence = measure.influence(known.outputs, known.label, risk)[:, 0]
    centre = float(share @ influence)
    self_normalised = sampler.inputs(table, start, 0.95).self_normalised
    ratio = np.divide(1 / table.rows, q, out=np.zeros(len(q)), where=q > 0)[known.cell]
    if self_normalised:
        variance = float(share @ (ratio * (influence - centre) ** 2))
    else:
        variance = float(share @ (ratio * influence**2)) - centre**2
    draws = required_draws_of_student(value, float(np.sqrt(variance)), POWER, ALPHA)
    needed, power = draws, "-"
    if draws <= MOST_DRAWS:
        pool = functools.partial(_always, known)
        planner = PowerPlanner(measure, sampler, pool, 1 - ALPHA, seed=1)
        needed = planner.draws(draws, POWER) or 0
        power = f"{planner.power(needed):.2f}" if needed else "-"
    labels = float(table.count @ -np.expm1(needed * np.log1p(-np.minimum(q, 1 - 1e-12))))
    told = f"{needed:,} | {labels:,.0f}" if needed else f"more than {MOST_DRAWS:,} | -"
    way = sampler.name if isinstance(sampler, Passive) else getattr(sampler, "variant", "")
    return f"| {name} | {measure.first.name} | {value:+.5f} | {way} | {told} | {power} |"


def _always(known: KnownPool, repeat: int) -> KnownPool:
    """Return the same pool for every test."""
    return known


if __name__ == "__main__":
    main()
