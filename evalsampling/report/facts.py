"""All that a page tells: the JSON twin, typed."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.inference.score_bands import Rate, ScoreBand
from evalsampling.report.bands_chart import LabelledBands
from evalsampling.report.numbers import Number

VERSION = 1
"""Of the JSON twin."""


@dataclasses.dataclass(frozen=True)
class RoundNumbers:
    """The numbers after a round.

    Attributes:
        round: its number.
        labels: by then.
        numbers: those of the whole pool that are no points of curves.
    """

    round: int
    labels: int
    numbers: tuple[Number, ...]


@dataclasses.dataclass(frozen=True)
class SlicePart:
    """A part of the pool.

    Attributes:
        slice: ``column=value``.
        rows: of the pool.
        labels: in it.
    """

    slice: str
    rows: int
    labels: int

    @property
    def column(self) -> str:
        """The column that the part is told by."""
        return self.slice.partition("=")[0]

    @property
    def value(self) -> str:
        """Its value there."""
        return self.slice.partition("=")[2]


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known of an evaluation.

    Attributes:
        title: name of the evaluation: that of its workspace.
        workspace: where it is.
        as_of: when the last job on it began, ISO 8601; None if none is kept.
        rows: of the pool.
        budget: labels wanted.
        classes: as text; none where labels are numbers.
        positive: the positive class; None where labels are numbers.
        systems: names of the systems, None for one that needs none.
        sampler: name of the sampler.
        oracle: ``deterministic`` or ``stochastic``.
        hidden_share: hidden positives by the others that the spec expects.
        estimate: the object of `estimate --json`.
        numbers: those of it.
        rounds: what was known after each.
        bands: of scores, for each class that is shown.
        prevalence: share of positives in the pool, estimated; None if that is not known.
        slices: parts of the pool.
        annotators: the object of `annotators --json`.
        quality: counts of what may be wrong with labels, by what they count.
        provenance: what it takes to make the same numbers again.
        money: that labels may cost, None if the budget is of labels.
    """

    title: str
    workspace: str
    as_of: str | None
    rows: int
    budget: int
    classes: tuple[str, ...]
    positive: str | None
    systems: tuple[str | None, ...]
    sampler: str
    oracle: str
    hidden_share: float
    estimate: Mapping[str, Any]
    numbers: tuple[Number, ...]
    rounds: tuple[RoundNumbers, ...]
    bands: tuple[LabelledBands, ...]
    prevalence: float | None
    slices: tuple[SlicePart, ...]
    annotators: Mapping[str, Any]
    quality: Mapping[str, int]
    provenance: Mapping[str, Any]
    money: float | None = None

    @property
    def spent(self) -> str:
        """How much of the budget is spent, in words."""
        cost = self.estimate.get("cost")
        if self.money is None or cost is None:
            return f"{self.labels:,} of {self.budget:,} labels"
        return f"{self.labels:,} labels for {cost:,.2f} of {self.money:,.2f}"

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Facts":
        """Return the facts that a JSON twin tells."""
        evaluation: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in content["evaluation"].items()
        }
        return cls(
            title=content["title"],
            workspace=content["workspace"],
            as_of=content["as_of"],
            **evaluation,
            estimate=content["estimate"],
            numbers=tuple(map(Number.from_json, content["estimate"]["measures"])),
            rounds=tuple(
                RoundNumbers(
                    one["round"], one["labels"], tuple(map(Number.from_json, one["measures"]))
                )
                for one in content["rounds"]
            ),
            bands=tuple(
                LabelledBands(one["label"], tuple(map(_band, one["bands"])))
                for one in content["bands"]
            ),
            prevalence=content["prevalence"],
            slices=tuple(SlicePart(**one) for one in content["slices"]),
            annotators=content["annotators"],
            quality=content["quality"],
            provenance=content["provenance"],
        )

    @property
    def labels(self) -> int:
        """Questions with a label."""
        return int(self.estimate["labels"])

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return self.numbers[0].confidence

    @property
    def headline(self) -> tuple[Number, ...]:
        """Numbers on the whole pool that are neither points of curves nor differences."""
        return tuple(
            one
            for one in self.numbers
            if one.slice is None and not one.is_point and one.against is None
        )

    @property
    def differences(self) -> tuple[Number, ...]:
        """Differences between systems, on the whole pool."""
        return tuple(
            one
            for one in self.numbers
            if one.against is not None and one.slice is None and not one.is_point
        )


def _band(told: Mapping[str, Any]) -> ScoreBand:
    rates = {
        name: None if told[name] is None else Rate(**told[name]) for name in ("observed", "model")
    }
    return ScoreBand(**{**told, **rates})
