"""Trials: samplers on pools with known truth, simulated in blocks with a file of results each."""

import argparse
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from blocks import Block, run_missing
from threadpoolctl import threadpool_limits

from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.samplers import Sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

SEED = 53

SCHEMA = pa.schema(
    {
        "pool": pa.string(),
        "sampler": pa.string(),
        "repeat": pa.int64(),
        "budget": pa.int64(),
        "measure": pa.string(),
        "system": pa.string(),
        "against": pa.string(),
        "truth": pa.float64(),
        "value": pa.float64(),
        "claims": pa.bool_(),
        "warned": pa.bool_(),
        "beyond": pa.bool_(),
        "kind": pa.string(),
        "low": pa.float64(),
        "high": pa.float64(),
        "design_low": pa.float64(),
        "design_high": pa.float64(),
        "seconds": pa.float64(),
        "made": pa.string(),
        "group": pa.string(),
        "order": pa.string(),
        "first": pa.string(),
    }
)
"""A row for each repeat, budget and number: the default interval, and the design's.

`beyond` is `Estimate.claims_more_than_labels`.
The last four columns are of pairs of systems: see `system_pairs`.
"""


def run(
    options: argparse.Namespace,
    names: Sequence[str],
    trials: Callable[[Block], Iterator["Trial"]],
    budgets: tuple[int, ...],
) -> None:
    """Simulate whatever has no results yet; a file of results is there whole or not at all."""
    todo = [
        Block(pool, sampler, first, min(first + options.block, options.repeats))
        for first in range(0, options.repeats, options.block)
        for sampler in options.samplers
        for pool in names
    ]
    each = functools.partial(simulate, results=options.results, trials=trials, budgets=budgets)
    run_missing(todo, options.results, options.workers, each)


@dataclasses.dataclass(frozen=True)
class Trial:
    """An evaluation that is simulated: a known pool, a sampler, what is reported.

    Attributes:
        known: the pool with its truth.
        sampler: driven by what it was built for.
        measures: what is estimated.
        told: columns of its rows of results beside those of `SCHEMA`.
    """

    known: KnownPool
    sampler: Sampler
    measures: Sequence[Measure]
    told: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def simulate(
    block: Block,
    results: Path,
    trials: Callable[[Block], Iterator[Trial]],
    budgets: tuple[int, ...],
) -> None:
    """Simulate the trials of a block and write its file."""
    plan = Plan(
        budgets,
        RoundSize(50, 1.3),
        1,
        SEED,
        0.95,
        divergence=False,
        hidden=HiddenPrior(),
    )
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for trial in trials(block):
            truths = [float(trial.known.value(measure)[0]) for measure in trial.measures]
            for repeat in range(block.first, block.end):
                points = run_repeat(trial.known, trial.sampler, trial.measures, plan, repeat)
                for budget, of_budget in zip(budgets, points, strict=True):
                    at = {"pool": block.pool, "sampler": block.sampler, "repeat": repeat}
                    at |= {"budget": budget, **trial.told}
                    for truth, point in zip(truths, of_budget, strict=True):
                        told = {"truth": truth, "seconds": point.seconds}
                        rows.append(at | told | told_of(point.estimates[0]))
    block.write(rows, SCHEMA, results)


def told_of(one: Estimate) -> dict[str, Any]:
    """Return the columns of an estimate."""
    default = one.intervals[0]
    design = next((i for i in one.intervals if i.kind == "design-based"), None)
    return {
        "measure": one.target.measure,
        "system": one.target.system,
        "against": one.target.against,
        "value": one.value,
        "claims": one.claims,
        "warned": bool(one.warnings),
        "beyond": one.claims_more_than_labels,
        "kind": default.kind,
        "low": default.low,
        "high": default.high,
        "design_low": None if design is None else design.low,
        "design_high": None if design is None else design.high,
    }
