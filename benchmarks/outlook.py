"""How well it is said how many labels a narrower interval takes: "for ± 0.05 expect about N".

    python benchmarks/outlook.py --pools=DIR --repeats 4     # some fifteen minutes on a core

`calibrated` labels every pool of a folder with known truth, as `benchmarks/corpus.py` does. At each
number of labels it is written down what `inference.outlook` expects for the next round half-width,
and then how many labels it took in the same run: where the half-width fell to that, on a line
between two looks in logarithms. An expectation is right within a factor of `RIGHT`; beyond the last
look it is right if it is beyond that by the factor, too. The tables are in docs/studies/outlook.md.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pools
from corpus import SEED, read
from threadpoolctl import threadpool_limits

from evalsampling.inference.model_based import KIND as MODEL_BASED
from evalsampling.inference.outlook import OF_DESIGN, OF_MODEL, outlook
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_measures
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

LOOKS = (150, 225, 340, 500, 750, 1100, 1700, 2500, 3800)
MEASURES = ("f1", "precision", "recall", "accuracy")
POWERS = (1.2, 1.4, 1.6, 1.8, 2.0)
RIGHT = 1.5
LEAST_WIDTH = 0.004
"""Half-width below which nobody asks for a narrower interval."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One expectation beside what came.

    Attributes:
        pool: the pool.
        measure: name of the measure.
        labels: labels when it was said.
        is_model_based: whether the interval was.
        narrower: half-width then over the one that was expected, above 1.
        took: labels that it took, infinite if more than at the last look.
    """

    pool: str
    measure: str
    labels: int
    is_model_based: bool
    narrower: float
    took: float

    def is_right(self, power: float) -> bool:
        """Return whether a power of the ratio of widths says what it took."""
        said = self.labels * self.narrower**power
        if math.isinf(self.took):
            return said > LOOKS[-1] / RIGHT
        return abs(math.log(said / self.took)) <= math.log(RIGHT)


def cases_of(folder: Path, repeats: int, pool: str) -> list[Case]:
    """Return the cases of a pool."""
    spec, ranges, known = read(folder, pool, MEASURES)
    sampler = build_sampler(spec, ranges, "calibrated")
    measures = [each for each in build_measures(spec, ranges) if isinstance(each, Measure)]
    plan = Plan(
        LOOKS,
        RoundSize(50, 1.3),
        1,
        SEED + 1,
        0.95,
        divergence=False,
        hidden=HiddenPrior(),
    )
    cases = []
    with threadpool_limits(1):
        for repeat in range(repeats):
            looks = run_repeat(known, sampler, measures, plan, repeat)
            for place, measure in enumerate(measures):
                estimates = [look[place].estimates[0] for look in looks]
                widths = [estimate.half_width for estimate in estimates]
                for look, estimate in enumerate(estimates[:-2]):
                    if not (estimate.claims and estimate.reliable and widths[look] > LEAST_WIDTH):
                        continue
                    aim = outlook(widths[look], LOOKS[look], known.table.rows, None, OF_MODEL)
                    cases.append(
                        Case(
                            pool,
                            measure.name,
                            LOOKS[look],
                            estimate.intervals[0].kind == MODEL_BASED,
                            widths[look] / aim.half_width,
                            _taken(widths, look, aim.half_width),
                        )
                    )
    return cases


def _taken(widths: Sequence[float], look: int, aim: float) -> float:
    """Return the labels after a look at which the half-width was at most so large."""
    for after in range(look + 1, len(LOOKS)):
        if widths[after] <= aim:
            fall = math.log(widths[after - 1] / max(widths[after], 1e-9))
            part = min(math.log(widths[after - 1] / aim) / fall, 1.0) if fall > 0 else 1.0
            return float(LOOKS[after - 1] * (LOOKS[after] / LOOKS[after - 1]) ** max(part, 0.0))
    return math.inf


def tables(cases: Sequence[Case]) -> Iterator[str]:
    """Yield the lines of the tables: by labels and measure, by power, with families left out."""
    yield "| labels | " + " | ".join(MEASURES) + " |"
    yield "| ---: |" + " ---: |" * len(MEASURES)
    for labels in LOOKS[:-2]:
        part = [case for case in cases if case.labels == labels]
        shares = (_right([case for case in part if case.measure == name]) for name in MEASURES)
        yield f"| {labels:,} | " + " | ".join(f"{share:.2f}" for share in shares) + " |"
    yield f"\nall {len(cases):,}: {_right(cases):.3f}"
    models = [case for case in cases if case.is_model_based]
    by_power = ", ".join(f"{power:g}: {_right(models, power):.3f}" for power in POWERS)
    yield f"of {len(models):,} model-based intervals, by power: {by_power}"
    families = sorted({_family(case.pool) for case in models})
    chosen = []
    for family in families:
        others = [case for case in models if _family(case.pool) != family]
        best = max(POWERS, key=lambda power: _right(others, power))
        chosen += [(case, best) for case in models if _family(case.pool) == family]
    share = np.mean([case.is_right(power) for case, power in chosen])
    powers = sorted({power for _, power in chosen})
    yield f"power chosen with each of {len(families)} families left out: {powers}, {share:.3f}"


def _family(pool: str) -> str:
    return pool.partition("-")[0]


def _right(cases: Sequence[Case], power: float | None = None) -> float:
    """Return the share of cases that are right, NaN of none."""
    if not cases:
        return math.nan
    usual = {True: OF_MODEL, False: OF_DESIGN}
    return float(np.mean([case.is_right(power or usual[case.is_model_based]) for case in cases]))


def main() -> None:
    """Simulate all pools and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    default = pools.PROJECT.parent / "shared" / "corpus"
    parser.add_argument("--pools", type=Path, default=default, metavar="DIR")
    parser.add_argument("--repeats", type=int, default=4, metavar="N", help="default: 4")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default: 1")
    parser.add_argument("--only", nargs="*", default=[], metavar="POOL")
    options = parser.parse_args()
    names = pools.chosen(options.only, pools.find(options.pools))
    work = functools.partial(cases_of, options.pools, options.repeats)
    with concurrent.futures.ProcessPoolExecutor(options.workers) as executor:
        cases = [case for part in executor.map(work, names) for case in part]
    print("\n".join(tables(cases)))


if __name__ == "__main__":
    main()
