"""Measures samplers on a folder of pools with known truth: errors, coverage, interval scores.

Every sampler labels every pool, each repeat with seeds of its own, with rounds that begin with 50
rows and grow by 1.3. A folder holds NAME.parquet (columns id, score, probability, prediction) and
NAME-truth.parquet (id, label). The page compares `calibrated` with a baseline kept as CSV.
"""

import csv
import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import corpus_report
import pools
import runner
from runner import Options

from evalsampling.simulation.simulate import Plan
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

SAMPLERS = ("calibrated", "ais")
MEASURES = ("f1", "precision", "recall", "accuracy", "average_precision")
BASELINE = pools.PROJECT / "benchmarks" / "corpus_ais.csv"
PLAN = Plan(
    budgets=(100, 300, 1000, 2000),
    round_size=RoundSize(50, 1.3),
    repeats=1,
    seed=53,
    confidence=0.95,
    divergence=False,
    hidden=HiddenPrior(),
)


def names(further: Sequence[Sequence[str]], options: Options) -> Iterator[runner.Names]:
    """Yield the names of all trials: pools with all that is further in their names."""
    return itertools.product(pools.find(options.pools), *further)


def trial(
    measures: Sequence[str], plan: Plan, options: Options, pool: str, sampler: str
) -> runner.Trial:
    """Return a trial of a pool by a sampler."""
    ground = _read(options.pools, pool, tuple(measures))
    return runner.Trial(ground.known, ground.sampler(sampler), ground.measures, plan)


def study(
    name: str, plan: Plan, measures: Sequence[str], samplers: Sequence[str], **more: Any
) -> runner.Study:
    """Return a study of samplers on all pools of a folder."""
    of_pools = functools.partial(names, [samplers]), functools.partial(trial, measures, plan)
    return runner.Study(name, plan, *of_pools, **more)


@functools.lru_cache(maxsize=8)
def _read(folder: Path, name: str, measures: tuple[str, ...]) -> pools.Ground:
    return pools.Ground.read(folder, name, measure=list(measures), seed=1)


def write_page(options: Options) -> None:
    """Write the page and its picture beside the folder of studies, and the table by pool to it."""
    found = [one for one in STUDY.asked(options) if one[1] == "calibrated"]
    page = corpus_report.Page(
        corpus_report.settings(options.results, found), corpus_report.read_baseline(BASELINE)
    )
    docs = options.output.parent
    text = page.text(BASELINE.name, runner.commits(options.results))
    (docs / "real-pools.md").write_text(text, encoding="utf-8")
    page.draw(docs / "figures" / "real-pools.svg")
    with (options.output / "real-pools.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(page.by_pool())


STUDY = study("corpus", PLAN, MEASURES, SAMPLERS)

if __name__ == "__main__":
    runner.main(__doc__, (), STUDY, then=write_page)
