"""Reads specs and checks that all parts that they name can be built."""

import math
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from evalsampling.errors import InputError
from evalsampling.evaluation.gates import check_gates
from evalsampling.inference.domains import Domain, ReportedDomains
from evalsampling.measures.build import build_measures, build_reported, check_measures
from evalsampling.measures.comparisons import Comparison, MeanDifference
from evalsampling.pool.catalog import lacks_assumed_score
from evalsampling.pool.source import pinned
from evalsampling.samplers.base import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.sink import SINKS

_NO_ROWS = np.zeros(0, dtype=np.int64)
"""Rows of a slice in each cell, where only its name counts."""


def load_spec(path: str | Path) -> EvaluationSpec:
    """Return the spec of a YAML file, checked together with the parts that it names.

    If it names no score, its pool is looked into: see `pool.catalog`.
    """
    spec = EvaluationSpec.load(path)
    if lacks_assumed_score(spec.pool):
        spec = spec.of_verdicts
    try:
        check_buildable(spec)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return spec


def load_pinned(path: str | Path) -> EvaluationSpec:
    """Return the spec of a YAML file whose pool, if it is a table, is read at one version."""
    spec = load_spec(path)
    return spec.with_pool(pinned(spec.pool))


def check_buildable(spec: EvaluationSpec) -> None:
    """Check that the measures and the sampler of a spec can be built, and that its sink exists."""
    check_measures(spec.reading)
    if spec.sink.format not in SINKS.own:
        from evalsampling.labels.sinks import sink_of  # Only for sinks of other packages.

        sink_of(spec.labelling)
    sampler = build_sampler(spec.analysis)
    if spec.stop.significance is not None:
        _check_test(spec, sampler)
    if spec.gates:
        check_own_gates(spec, _gated_slices(spec))


def check_own_gates(spec: EvaluationSpec, slices: Mapping[str, Collection[str]]) -> None:
    """Check the gates of a spec: see `check_gates`."""
    titles = [f"{column}={value}" for column, values in slices.items() for value in values]
    scope = ReportedDomains(
        domains=(Domain(), *(Domain(title, count=_NO_ROWS) for title in titles)),
        systems=tuple(system.name for system in spec.pool.systems),
    )
    check_gates(spec.gates, scope.all_targets(build_measures(spec.reading)))


def _gated_slices(spec: EvaluationSpec) -> dict[str, list[str]]:
    """Return the values that gates name of each slice column: the pool is not read yet.

    Any text behind ``where column=`` may be a value; ``...`` stands for others in messages.
    """
    named = {
        column: [
            gate.number[mark.end() :]
            for gate in spec.gates
            for mark in re.finditer(re.escape(f" where {column}="), gate.number)
        ]
        for column in spec.pool.slices
    }
    return {column: [*values, "..."] for column, values in named.items()}


def _check_test(spec: EvaluationSpec, sampler: Sampler) -> None:
    """Check that the first measure has the test that ``stop.significance`` needs."""
    reported = build_reported(spec.measures[0], spec.reading)
    compared = [measure for measure in reported if isinstance(measure, Comparison)]
    if not compared:
        raise InputError("stop.significance: the first measure compares no systems")
    has_bets = sampler.with_replacement and not sampler.has_atoms
    has_bets &= all(isinstance(one, MeanDifference) for one in compared)
    has_bets &= all(math.isfinite(part.bounds[1]) for one in compared for part in one.components)
    if spec.stop.test == "fixed" or has_bets:  # See `inference.anytime`.
        return
    raise InputError(
        f"stop.test: {compared[0].name} drawn by {sampler.name} has no anytime-valid test; a "
        "difference of accuracies or losses drawn by compare has one, or ask for test: fixed"
    )
