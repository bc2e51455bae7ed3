"""What an evaluation estimates, for notebooks: found by name, shown as a table, handed on."""

import collections
import html
import textwrap
from collections.abc import Iterable
from operator import attrgetter
from typing import Any, SupportsIndex, overload

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.people import PeopleAgreement
from evalsampling.inference.results import Estimate, as_json, brief, place_of, rested_on
from evalsampling.report.numbers import COLUMNS, decimals, flat, shown, shown_range

_TEXTS = ("measure", "system", "against", "slice", "method", "reason")

_WIDTH = 100
"""Columns of a line of text."""

_MOST_LINES = 40
"""Estimates that are shown of many."""


class Estimates(list[Estimate]):
    """Estimates in order; ``estimates["f1"]`` is the one of that measure, or of that title.

    Attributes:
        warnings: what to know before trusting them, as the command line says it. Some of the
            estimates alone have none.
        people: how well people agree with each other, where rows of a workspace have two answers.
    """

    def __init__(
        self,
        estimates: Iterable[Estimate] = (),
        warnings: Iterable[str] = (),
        people: PeopleAgreement | None = None,
    ) -> None:
        """Hold estimates with the warnings on all of them."""
        super().__init__(estimates)
        self.warnings, self.people = tuple(warnings), people

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Estimate: ...
    @overload
    def __getitem__(self, key: slice, /) -> "Estimates": ...
    @overload
    def __getitem__(self, key: str, /) -> Estimate: ...
    def __getitem__(self, key: Any, /) -> Any:
        """Return an estimate by its place or name (`results.place_of`), or several by a slice.

        Raises:
            KeyError: if there is no estimate of a name, or several.
        """
        if isinstance(key, str):
            titles, targets = self._titles, [estimate.target for estimate in self]
            key = titles.index(key) if titles.count(key) == 1 else place_of(key, targets)
        estimate = super().__getitem__(key)
        if isinstance(key, slice):
            return Estimates(estimate, self.warnings, self.people)
        return estimate

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return all numbers of each estimate by its title, as `estimate --json` tells them."""
        return dict(zip(self._titles, map(as_json, self), strict=True))

    @property
    def _titles(self) -> list[str]:
        """Titles; where several thresholds have one, it has all digits of each."""
        titles = [estimate.target.title for estimate in self]
        rows = collections.Counter(titles)
        at = (estimate.target.threshold or 0 for estimate in self)
        return [
            title if rows[title] == 1 else title.replace(f" at {each:.6g}", f" at {each!r}", 1)
            for title, each in zip(titles, at, strict=True)
        ]

    def to_arrow(self) -> pa.Table:
        """Return a table with a row for each estimate, which any library of data frames takes.

        The columns are those of the report's CSV from ``measure`` on, and ``reliable``.
        """
        rows = [{**flat(as_json(estimate)), "reliable": estimate.reliable} for estimate in self]
        names = [*COLUMNS[COLUMNS.index("measure") :], "reliable"]
        types = {name: pa.string() if name in _TEXTS else pa.float64() for name in names}
        types["reliable"] = pa.bool_()
        return pa.Table.from_pylist(rows, pa.schema(types))

    def to_frame(self) -> Any:
        """Return the table of `to_arrow` as a pandas DataFrame.

        Raises:
            InputError: if pandas is not installed.
        """
        try:
            return self.to_arrow().to_pandas()
        except ImportError as error:
            way_out = "to_arrow() gives a table that other libraries take"
            raise InputError(f"to_frame needs pandas, which is not installed; {way_out}") from error

    def __repr__(self) -> str:
        """Return a sentence for each estimate, and the assumptions of the intervals."""
        text = [line for estimate in self._shown for line in _wrapped(estimate.statement)]
        notes = [line for note in self._notes() for line in _wrapped(note)]
        return "\n".join([f"<{len(self)} estimate{'s' * (len(self) != 1)}>", *text, *notes])

    def _repr_html_(self) -> str:
        """Return a table, which a notebook shows."""
        heads = "".join(f"<th>{name}</th>" for name in ("", "value", "interval", "kind", "method"))
        rows = [
            f"<tr><th>{html.escape(estimate.target.title)}</th><td>{_value(estimate)}</td>"
            f"<td>{_interval(estimate)}</td><td>{html.escape(estimate.intervals[0].kind)}</td>"
            f"<td>{html.escape(estimate.intervals[0].method)}</td></tr>"
            for estimate in self._shown
        ]
        compared = [each.statement for each in self._shown if each.target.against is not None]
        more = "".join(f"<p>{html.escape(line)}</p>" for line in [*compared, *self._notes()])
        body = "".join(rows)
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"

    @property
    def _shown(self) -> list[Estimate]:
        """The estimates shown: all comparisons on the whole pool, then as many others as fit."""
        first = [each for each in self if each.target.compares_on_pool]
        others = [each for each in self if not each.target.compares_on_pool]
        return [*first, *others[: max(_MOST_LINES - len(first), 1)]]

    def _notes(self) -> Iterable[str]:
        """Return lines: the number of estimates left out, the assumptions of default intervals."""
        if left := len(self) - len(self._shown):
            yield f"and {left} more: to_frame() has them all"
        if self.people is not None:
            yield self.people.statement
        claimed = (estimate.intervals[0] for estimate in self if estimate.claims)
        yield from (f"{kind}: {words}" for kind, words in rested_on(claimed).items())
        yield from (f"warning: {words}" for words in self.warnings)
        yield from (f"note: {words}" for words in brief(self, attrgetter("notes")))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def _digits(estimate: Estimate) -> int:
    return decimals(estimate.low, estimate.high)


def _value(estimate: Estimate) -> str:
    return "undefined" if estimate.value is None else shown(estimate.value, _digits(estimate))


def _interval(estimate: Estimate) -> str:
    if not estimate.claims:
        return "no claim"
    ends = shown_range(estimate.low, estimate.high, _digits(estimate))
    return f"{100 * estimate.confidence:g} %: {ends}" + (
        "" if estimate.reliable else ", not reliable"
    )
