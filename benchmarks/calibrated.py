"""Measures the calibrated design, and the intervals of its model, against published samplers.

    python benchmarks/calibrated.py run --results=DIR     # continues where it stopped
    python benchmarks/calibrated.py report --results=DIR  # writes docs/studies/calibrated-study.md

Every sampler labels the same pools of known truth, each repeat with seeds of its own. Rounds of all
begin with 50 rows and grow by 1.3.
"""

import argparse
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import calibrated_pools
import pools
import pyarrow as pa
import study_pages
from blocks import Block, run_missing

from evalsampling.inference.results import Estimate
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

SAMPLERS = ("calibrated", "ais", "importance", "oasis", "stratified")
BUDGETS = (100, 300, 1000, 2000, 5000)

SCHEMA = pa.schema(
    {
        "repeat": pa.int64(),
        "budget": pa.int64(),
        "measure": pa.string(),
        "truth": pa.float64(),
        "value": pa.float64(),
        "warned": pa.bool_(),
        "seconds": pa.float64(),
        "interval": pa.string(),
        "low": pa.float64(),
        "high": pa.float64(),
    }
)
"""A row for each repeat, budget, measure and interval; `value` is null where undefined."""


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    page = "studies/calibrated-study.md"
    parser = pools.study_parser(__doc__, "calibrated", page, repeats=300, block=5)
    study_pages.add_note(parser)
    parser.add_argument("--samplers", nargs="*", default=SAMPLERS, metavar="NAME")
    options = parser.parse_args(argv)
    if options.action == "run":
        run(options)
    else:
        from calibrated_report import report  # it needs matplotlib

        report(options.results, options.output, options.note)
        print(f"{options.output}: written")
    return 0


def run(options: argparse.Namespace) -> None:
    """Simulate whatever has no results yet; a file of results is there whole or not at all."""
    names = pools.chosen(options.only, calibrated_pools.names(options.pools))
    todo = [
        Block(pool, sampler, first, min(first + options.block, options.repeats))
        for first in range(0, options.repeats, options.block)
        for pool in names
        for sampler in options.samplers
        if pool != "four-classes" or sampler != "oasis"  # which is for two classes
    ]
    each = functools.partial(simulate, shared=options.pools, results=options.results)
    run_missing(todo, options.results, options.workers, each)


def simulate(block: Block, shared: Path, results: Path) -> None:
    """Simulate a block and write its file."""
    ground = calibrated_pools.read(shared, results / "pools", block.pool)
    measures, known = ground.measures(), ground.known
    plan = Plan(BUDGETS, RoundSize(50, 1.3), 1, 29, 0.95, divergence=False, hidden=HiddenPrior())
    truths = [float(known.value(measure)[0]) for measure in measures]
    rows: list[dict[str, Any]] = []
    for repeat in range(block.first, block.end):
        points = run_repeat(known, ground.sampler(block.sampler), measures, plan, repeat)
        for budget, of_budget in zip(BUDGETS, points, strict=True):
            for measure, truth, point in zip(measures, truths, of_budget, strict=True):
                one = point.estimates[0]
                row = {"repeat": repeat, "budget": budget, "measure": measure.name, "truth": truth}
                row |= {"value": one.value, "warned": bool(one.warnings), "seconds": point.seconds}
                rows += [row | told for told in intervals(one)]
    block.write(rows, SCHEMA, results)


def intervals(one: Estimate) -> Iterator[dict[str, Any]]:
    """Yield the intervals that are compared: the default, the first of each kind, Korn-Graubard."""
    yield {"interval": "default", "low": one.intervals[0].low, "high": one.intervals[0].high}
    for kind in ("model-based", "design-based", "assumption-light"):
        first = next((i for i in one.intervals if i.kind == kind), None)
        if kind == "model-based" and one.intervals[0].kind != kind:
            continue  # it is no claim there
        if first is not None:
            yield {"interval": kind, "low": first.low, "high": first.high}
    # What was the default before any rule of evidence; the normal one if the variance is 0.
    by_method = {interval.method: interval for interval in one.intervals}
    old = by_method.get("korn-graubard") or by_method.get("wald") or one.intervals[-1]
    yield {"interval": "korn-graubard", "low": old.low, "high": old.high}


if __name__ == "__main__":
    sys.exit(main())
