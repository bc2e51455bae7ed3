"""The facts of a report: its JSON file, typed."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.inference.results import said_of_labels
from evalsampling.parts.records import read_record
from evalsampling.report.charts import LabelledBands
from evalsampling.report.numbers import Number
from evalsampling.stats.counted import counted

VERSION = 1
"""Version of the format of the JSON file beside the page."""


@dataclasses.dataclass(frozen=True)
class RoundNumbers:
    """The estimates after one round, on the whole pool and without points of curves."""

    round: int
    labels: int
    measures: tuple[Number, ...]


@dataclasses.dataclass(frozen=True)
class SlicePart:
    """Rows and labels of a slice of the pool, ``column=value``."""

    slice: str
    rows: int
    labels: int

    @property
    def column(self) -> str:
        """The column whose value defines the slice."""
        return self.slice.partition("=")[0]

    @property
    def value(self) -> str:
        """The value of that column."""
        return self.slice.partition("=")[2]


@dataclasses.dataclass(frozen=True)
class Facts:
    """All that a report says about an evaluation: ``numbers`` are the measures of ``estimate``.

    What there is none of is None, and so is the name of a single system.
    """

    title: str
    workspace: str
    as_of: str | None
    rows: int
    budget: int | None
    systems: tuple[str | None, ...]
    sampler: str
    oracle: str
    estimate: Mapping[str, Any]
    numbers: tuple[Number, ...]
    rounds: tuple[RoundNumbers, ...]
    bands: tuple[LabelledBands, ...]
    slices: tuple[SlicePart, ...]
    annotators: tuple[Mapping[str, Any], ...]
    quality: Mapping[str, int]
    provenance: Mapping[str, Any]
    money: float | None = None
    classes: tuple[str, ...] = ()
    positive: str | None = None

    @property
    def about(self) -> str:
        """Which class numbers are about, in a sentence; empty if they are of all, or of 1."""
        of_one = len(self.classes) == 2 or {"f1", "precision", "recall"} & {
            number.measure for number in self.numbers
        }
        is_plain = self.classes == ("0", "1") and self.positive == "1"
        return f"Positive is {self.positive}." if of_one and not is_plain else ""

    @property
    def said(self) -> str | None:
        """What was said of labels that rows had before, as a sentence; None without such labels."""
        return next(iter(said_of_labels(self.estimate["notes"])), None)

    @property
    def spent(self) -> str:
        """The part of the budget that is spent, in words."""
        cost, of = self.estimate.get("cost"), f"{self.labels:,} of " * (self.budget is not None)
        labels = of + counted(self.budget or self.labels, "label")
        limit = "" if self.money is None else f" of {self.money:,.2f}"
        return labels if cost is None else f"{labels} for {cost:,.2f}{limit}"

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Facts":
        """Return the facts in the content of a report's JSON file."""
        measures = content["estimate"]["measures"]
        return read_record(cls, {**content, **content["evaluation"], "numbers": measures})

    @property
    def labels(self) -> int:
        """Number of questions with a label."""
        return int(self.estimate["labels"])

    @property
    def level(self) -> str:
        """Confidence level of the intervals in words: ``95 %``."""
        return f"{100 * self.numbers[0].confidence:g} %"

    @property
    def by(self) -> str:
        """What bands are of: a score, or strata where none is known."""
        scored = any((band.low, band.high) != (None, None) for band in self.bands[0].bands)
        return "score" if scored else "stratum"

    @property
    def headline(self) -> tuple[Number, ...]:
        """Numbers on the whole pool that are neither points of curves nor differences."""
        return tuple(each for each in self.numbers if each.is_of_pool and each.against is None)

    @property
    def differences(self) -> tuple[Number, ...]:
        """Comparisons of two systems on the whole pool, without points of curves."""
        return tuple(each for each in self.numbers if each.is_of_pool and each.against is not None)
