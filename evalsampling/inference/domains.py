"""What is reported: the whole pool or slices of it, for each system."""

import dataclasses

import numpy as np
import numpy.typing as npt

from evalsampling.arrays import IntArray
from evalsampling.inference.results import Target
from evalsampling.measures.calibrated import Requested
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class Domain:
    """The whole pool, or the rows with one value of a slice column.

    Attributes:
        title: ``column=value``, None for the whole pool.
        column: number of the slice column.
        value: code of the value in it.
        count: shape (cells,): rows of the domain in each cell; None for the whole pool.
    """

    title: str | None = None
    column: int = 0
    value: int = 0
    count: IntArray | None = None

    def holds(self, history: History, question: IntArray) -> npt.NDArray[np.bool_]:
        """Return which questions are about a row of the domain, shape (n,)."""
        if self.count is None:
            return np.ones(len(question), dtype=bool)
        return history.slice[question, self.column] == self.value

    def labelled(self, history: History) -> IntArray:
        """Return the questions with an answer that are about a row of the domain, shape (n,)."""
        known = history.labelled
        return known[self.holds(history, known)]

    def rows(self, table: CellTable) -> IntArray:
        """Return the rows of the domain in each cell, shape (cells,)."""
        return table.count if self.count is None else self.count


@dataclasses.dataclass(frozen=True)
class ReportedDomains:
    """What is reported of each measure.

    Attributes:
        domains: at least one.
        systems: names of the systems, None for one that needs no name.
        bands_seed: of the simultaneous bands of curves; None for none, which is faster.
        assumption_light: whether assumption-light intervals are made, which takes time.
        anytime: whether anytime-valid tests are made, which takes time too.
        methods: names of the interval methods that are to stand beside the default ones.
    """

    domains: tuple[Domain, ...] = (Domain(),)
    systems: tuple[str | None, ...] = (None,)
    bands_seed: int | None = None
    assumption_light: bool = False
    anytime: bool = True
    methods: tuple[str, ...] = ()

    def domains_of(self, requested: Requested) -> tuple[Domain, ...]:
        """Return the domains that a measure is reported for."""
        if len(requested.components) <= MOST_IN_SLICES:
            return self.domains
        return tuple(domain for domain in self.domains if domain.count is None)

    def targets(self, requested: Requested, domain: Domain) -> list[Target]:
        """Return what a measure's components are on a domain."""
        return [
            Target(
                measure=component.name,
                bounds=component.bounds,
                system=self.systems[component.system],
                threshold=component.threshold,
                slice=domain.title,
                against=None if component.against is None else self.systems[component.against],
            )
            for component in requested.components
        ]


WHOLE_POOL = ReportedDomains()
"""One system, no slices, no bands."""


MOST_IN_SLICES = 64
"""Components beyond which a measure is reported for the whole pool alone: curves."""
