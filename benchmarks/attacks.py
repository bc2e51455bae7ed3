"""Measures the default where scores mislead: made-up pools that were built to break it.

    python benchmarks/attacks.py run --results=DIR --repeats 30    # continues where it stopped
    python benchmarks/attacks.py report --results=DIR              # prints the table

A pool passes with coverage of at least .90 among claims, or where most runs have a warning or say
that the interval claims more than the labels can.
"""

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pools
import trials
from corpus import PLAN, SAMPLERS, study_of
from corpus_settings import Key, Setting, settings
from coverage_situations import Columns, FloatArray, positives, scored, write_made_up
from scipy import special

IntArray = npt.NDArray[np.int64]

MEASURES = ("f1", "recall")
BUDGETS = (300, 1000)
LEAST = 0.90
SHOWN = ("coverage", "claims", "warned", "beyond", "width")
ROWS = 100_000


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = trials.parser(__doc__, "attacks", repeats=30, block=10)
    parser.add_argument("--samplers", nargs="*", default=SAMPLERS, metavar="NAME")
    options = parser.parse_args(argv)
    names = pools.chosen(options.only, [*ATTACKS])
    if options.action == "report":
        for sampler in options.samplers:
            print("\n".join(table(settings(options.results, sampler, names), sampler)))
        return 0
    folder = options.results / "pools"
    write_made_up(folder, ATTACKS, seed=57)
    todo = trials.blocks(
        [*itertools.product(names, options.samplers)], options.repeats, options.block
    )
    plan = dataclasses.replace(PLAN, budgets=BUDGETS)
    trials.run(options, study_of(folder, MEASURES, plan), todo, plan)
    return 0


def table(found: Mapping[Key, Setting], sampler: str) -> Iterator[str]:
    """Yield the lines of the table of a sampler; a star is where it fails."""
    columns = " | ".join(f"{measure} {budget:,}" for measure in MEASURES for budget in BUDGETS)
    yield f"\n{sampler}: coverage among claims / claims / warned / beyond labels / width\n"
    yield f"| attack | truth | {columns} |"
    yield "| --- | --- |" + " --- |" * len(MEASURES) * len(BUDGETS)
    for name in ATTACKS:
        keys = [(name, measure, budget) for measure in MEASURES for budget in BUDGETS]
        told = [found[key] for key in keys if key in found]
        if len(told) < len(keys):
            continue
        truth = " ".join(f"{one.truth:.2f}" for one in told[:: len(BUDGETS)])
        cells = [
            " / ".join(f"{getattr(one, name):.2f}" for name in SHOWN)
            + " *" * (one.coverage < LEAST and max(one.warned, one.beyond) <= 0.5)
            for one in told
        ]
        yield f"| {name} | {truth} | {' | '.join(cells)} |"


def _ordinary(rng: np.random.Generator, mean: float = -10.0) -> tuple[FloatArray, IntArray]:
    """Return right log-odds of all rows, with the default mean for 1.2 % positives, and labels."""
    logit = rng.normal(mean, 4.0, ROWS)
    return logit, (rng.random(ROWS) < special.expit(logit)).astype(np.int64)


def _put(rng: np.random.Generator, label: IntArray, rows: IntArray, positives: int) -> None:
    """Make some of the rows positive, at random."""
    label[rng.choice(rows, positives, replace=False)] = 1


def _flat_below(rng: np.random.Generator) -> Columns:
    """Scores inform in the top 1.5 %; half of the positives are anywhere below."""
    label = np.zeros(ROWS, dtype=np.int64)
    _put(rng, label, np.arange(1_500), 400)
    _put(rng, label, np.arange(1_500, ROWS), 400)
    score = rng.normal(-5, 0.5, ROWS)
    score[:1_500] = np.maximum(rng.normal(-1.5, 1, 1_500) + 3.5 * label[:1_500], -2.9)
    return scored(score, label, 0.0)


def _island(rng: np.random.Generator) -> Columns:
    """An island of 140 positives in 1,400 rows of middle ranks; 160 have high scores."""
    label = positives(ROWS, 160)
    score = np.sort(rng.normal(-6, 1.5, ROWS))[::-1]
    score[:160] = rng.normal(2.5, 1.5, 160)
    _put(rng, label, np.arange(40_000, 41_400), 140)
    return scored(score, label, 0.0)


def _imputed(rng: np.random.Generator) -> Columns:
    """A tenth of the scores are missing and replaced by the mean."""
    logit, label = _ordinary(rng)
    return scored(np.where(rng.random(ROWS) < 0.1, logit.mean(), logit), label, 0.0)


def _bottom(rng: np.random.Generator) -> Columns:
    """A quarter of the positives are among the thousand lowest scores."""
    logit, label = _ordinary(rng)
    _put(rng, label, np.argsort(logit)[:1_000], int(label.sum()) // 3)
    return scored(logit, label, 0.0)


def _saturated(rng: np.random.Generator) -> Columns:
    """Scores are saturated, at probability 1, for a tenth of the rows."""
    logit, label = _ordinary(rng)
    score = np.minimum(special.expit(logit - np.quantile(logit, 0.9) + 12), special.expit(12.0))
    pool = scored(score, label, special.expit(11.99))
    return pool | {"probability": np.where(pool["prediction"] == 1, 1.0, score)}


def _two_populations(rng: np.random.Generator) -> Columns:
    """Scores of a third of the rows are six log-odds too low."""
    logit, label = _ordinary(rng)
    return scored(logit - 6.0 * (rng.random(ROWS) < 1 / 3), label, 0.0)


def _duplicates(rng: np.random.Generator) -> Columns:
    """One positive of a middle rank is there two hundred times."""
    logit, label = _ordinary(rng, mean=-12.0)
    copies = rng.choice(np.flatnonzero(label == 0), 200, replace=False)
    logit[copies], label[copies] = np.quantile(logit, 0.6), 1
    return scored(logit, label, 0.0)


def _capped(rng: np.random.Generator) -> Columns:
    """A rule caps the scores of a fifth of the rows far below the threshold."""
    logit, label = _ordinary(rng)
    return scored(np.where(rng.random(ROWS) < 0.2, np.minimum(logit, -6.0), logit), label, 0.0)


def _even_below(rng: np.random.Generator) -> Columns:
    """A third of the positives are spread evenly below the top 5 %."""
    logit, label = _ordinary(rng)
    _put(rng, label, np.argsort(logit)[: ROWS * 19 // 20], int(label.sum()) // 2)
    return scored(logit, label, 0.0)


ATTACKS: Mapping[str, Callable[[np.random.Generator], Columns]] = {
    "flat below 1.5 %": _flat_below,
    "island in mid-rank": _island,
    "imputed at the mean": _imputed,
    "second mode at the bottom": _bottom,
    "a tenth saturated": _saturated,
    "two populations": _two_populations,
    "one positive 200 times": _duplicates,
    "a rule caps scores": _capped,
    "even below the top 5 %": _even_below,
}

if __name__ == "__main__":
    sys.exit(main())
