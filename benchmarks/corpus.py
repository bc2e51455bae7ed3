"""Measures samplers on a folder of pools with known truth: errors, coverage, interval scores.

    python benchmarks/corpus.py run --pools=DIR --samplers calibrated ais    # continues
    python benchmarks/corpus.py report                                # writes docs/real-pools.md

Every sampler labels every pool, each repeat with seeds of its own, with rounds that begin with 50
rows and grow by 1.3. A folder holds NAME.parquet (columns id, score, probability, prediction) and
NAME-truth.parquet (id, label). The page compares `calibrated` with a baseline kept as CSV.
"""

import csv
import functools
import itertools
from collections.abc import Iterator
from pathlib import Path

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


def names(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield pool and sampler of all trials."""
    return itertools.product(pools.find(options.pools), SAMPLERS)


def trial(options: Options, pool: str, sampler: str) -> runner.Trial:
    """Return a trial of the measures of the page."""
    return trial_of(options.pools, pool, sampler, MEASURES, PLAN)


def trial_of(
    folder: Path, pool: str, sampler: str, measures: tuple[str, ...], plan: Plan
) -> runner.Trial:
    """Return a trial of a pool in a folder."""
    ground = _read(folder, pool, measures)
    return runner.Trial(ground.known, ground.sampler(sampler), ground.measures, plan)


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


STUDY = runner.Study("corpus", PLAN, names, trial)

if __name__ == "__main__":
    runner.main(__doc__, (), STUDY, then=write_page)
