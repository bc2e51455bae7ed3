"""The parts of the pool that measures are reported for, and values on their labels alone."""

import dataclasses
from collections.abc import Iterable

import numpy as np

from evalsampling.inference.results import Target
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History

MOST_IN_SLICES = 96
"""Most components of a measure that is reported for slices; curves may have more."""


@dataclasses.dataclass(frozen=True)
class Domain:
    """The whole pool, or the rows with one value of a slice column."""

    title: str | None = None  # ``column=value``, None for the whole pool
    column: int = 0  # index of the slice column
    value: int = 0  # code of the value in that column
    # (cells,): rows of the domain in each cell; None for the whole pool
    count: IntArray | None = None

    def holds(self, history: History, question: IntArray) -> BoolArray:
        """Return whether each question is about a row of the domain, shape (n,)."""
        if self.count is None:
            return np.ones(len(question), dtype=bool)
        return history.slice[question, self.column] == self.value

    def labelled(self, history: History) -> IntArray:
        """Return the indices of the answered questions about rows of the domain, shape (n,)."""
        labelled = history.labelled
        return labelled[self.holds(history, labelled)]

    def rows(self, table: CellTable) -> IntArray:
        """Return the number of rows of the domain in each cell, shape (cells,)."""
        return table.count if self.count is None else self.count


@dataclasses.dataclass(frozen=True)
class ReportedDomains:
    """The domains, systems and intervals that each measure is reported with."""

    domains: tuple[Domain, ...] = (Domain(),)  # parts of the pool, at least one
    # names of the systems, None for a system that needs no name
    systems: tuple[str | None, ...] = (None,)
    # seed of the simultaneous bands of curves; None for no bands, which is faster
    bands_seed: int | None = None
    anytime: bool = True  # whether anytime-valid tests are made, which takes time
    # names of further interval methods, reported beside the default ones
    methods: tuple[str, ...] = ()

    def domains_of(self, measure: Measure) -> tuple[Domain, ...]:
        """Return the domains of a measure: of long curves and measures of slices the pool alone."""
        if len(measure.components) <= MOST_IN_SLICES and not measure.has_slices:
            return self.domains
        return tuple(domain for domain in self.domains if domain.count is None)

    def all_targets(self, measures: Iterable[Measure]) -> list[Target]:
        """Return the targets that measures are reported for, each once, in order."""
        targets = [
            target
            for measure in measures
            for domain in self.domains_of(measure)
            for target in self.targets(measure, domain)
        ]
        return list(dict.fromkeys(targets))

    def targets(self, measure: Measure, domain: Domain) -> list[Target]:
        """Return the target of estimation of each component of a measure on a domain."""
        return [
            Target(
                measure=component.name,
                bounds=component.bounds,
                system=self.systems[component.system],
                threshold=component.threshold,
                slice=domain.title,
                against=None if component.against is None else self.systems[component.against],
                of_pairs=component.of_pairs,
            )
            for component in measure.components
        ]


WHOLE_POOL = ReportedDomains()
"""Reports on the whole pool alone, for one system, without bands."""


def known_value(measure: Measure, table: CellTable, history: History, domain: Domain) -> FloatArray:
    """Return the value of a measure all of whose rows in a domain have labels, shape (m,)."""
    return value_among(measure, history, domain, int(domain.rows(table).sum()))


def value_among(
    measure: Measure, history: History, domain: Domain, rows: int | None = None
) -> FloatArray:
    """Return the value of a measure on the labels of a domain alone, (m,), of ``rows`` in all."""
    labelled = domain.labelled(history)
    weight = np.full(len(labelled), 1 / max(len(labelled) if rows is None else rows, 1))
    return measure.value(
        measure.mean_loss(history.outputs.take(labelled), history.label[labelled], weight)
    )
