"""What a spec says of the batches that are sent out."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.parts.registry import Registry
from evalsampling.spec.sections import Section, nearest

SINKS: Registry[Any] = Registry(
    "sinks",
    {
        "csv": "evalsampling.labels.sinks:CSV",
        "jsonl": "evalsampling.labels.sinks:JSON_LINES",
        "parquet": "evalsampling.labels.sinks:PARQUET",
        "vendor": "evalsampling.labels.sinks:VENDOR",
        "xlsx": "evalsampling.labels.sinks:WORKBOOK",
        "label-studio": "evalsampling.labels.sinks:LABEL_STUDIO",
        "ground-truth": "evalsampling.labels.sinks:GROUND_TRUTH",
        "splink": "evalsampling.labels.sinks:SPLINK",
    },
    "evalsampling.labels.sinks:Sink",
)
"""Formats of the batches that go out, by name."""

_CSV = ("csv", "vendor", "splink")
"""Formats that a spreadsheet may open, and may take text in for a formula."""

_SIDES = ("left", "right")
_RECORD_KEYS = ("left", "right", "left_source", "right_source")


@dataclasses.dataclass(frozen=True)
class RecordColumns:
    """Payload columns that name the two records of a row.

    Attributes:
        left: id of the left one.
        right: id of the right one.
        left_source: data set of the left one, None if there is one only.
        right_source: likewise.
    """

    left: str
    right: str
    left_source: str | None = None
    right_source: str | None = None


@dataclasses.dataclass(frozen=True)
class SinkSpec:
    """How batches are sent out.

    Attributes:
        format: of `SINKS`, or ``module:object``.
        question: what annotators are asked, in a sentence.
        sides: what the names of the columns of the left and of the right record begin or end
            with, None if rows are no pairs.
        records: columns that name the two records, None if there are none.
        chunk: most tasks in one file of Label Studio.
        escape: whether text that a spreadsheet takes for a formula has an apostrophe before it.
    """

    format: str = "csv"
    question: str | None = None
    sides: tuple[str, str] | None = None
    records: RecordColumns | None = None
    chunk: int = 1000
    escape: bool = False

    @classmethod
    def read(
        cls, section: Section, payload: Sequence[str], mistaken: Sequence[str] = ()
    ) -> "SinkSpec":
        """Return what the section ``sink`` says, checked.

        Args:
            section: of the file.
            payload: columns that annotators are shown.
            mistaken: those that would be taken for the ids of the rows, and are not.

        Raises:
            InputError: naming the key that is wrong.
        """
        section.check_keys("format", "question", "pairs", "records", "chunk", "escape")
        chosen = section.part("format", SINKS, cls.format)
        escape = section.get("escape", chosen == "vendor")
        if not isinstance(escape, bool):
            raise InputError(f"sink.escape: must be true or false, got {escape!r}")
        if escape and chosen == "xlsx":
            raise InputError("sink.escape: the cells of an xlsx file are text and need none")
        if escape and chosen not in _CSV:
            known = ", ".join(_CSV)
            raise InputError(f"sink.escape: is of {known}, which are CSV; {chosen} is not")
        _check_columns(chosen, payload, mistaken)
        sink = cls(
            format=chosen,
            question=section.text("question"),
            sides=_sides(section.section("pairs"), payload),
            records=_records(section.section("records"), payload),
            chunk=section.integer("chunk", cls.chunk, least=1),
            escape=escape,
        )
        if sink.format == "splink" and sink.records is None:
            raise InputError("sink.records: missing, a table of Splink names two records a row")
        return sink

    def to_mapping(self) -> dict[str, Any]:
        """Return the section; what is not used is left out, as in specs of older workspaces."""
        mapping: dict[str, Any] = {"format": self.format}
        if self.question is not None:
            mapping["question"] = self.question
        if self.sides is not None:
            mapping["pairs"] = dict(zip(_SIDES, self.sides, strict=True))
        if self.records is not None:
            named = dataclasses.asdict(self.records)
            mapping["records"] = {key: name for key, name in named.items() if name is not None}
        if self.chunk != SinkSpec.chunk:
            mapping["chunk"] = self.chunk
        if self.escape != (self.format == "vendor"):
            mapping["escape"] = self.escape
        return mapping


_ANSWERED_ELSEWHERE = ("label-studio", "ground-truth")
"""Formats whose files of tasks do not come back with the answers in them and the payload beside."""

EVERY_BATCH = ("task", "label")
"""Columns of every batch, which no column of the payload can be called."""

_ID = "id"
"""What a delivery may call the ids of the rows, whatever the pool calls them."""

_READ = ("annotator", "skipped", "comment", "time", "clerical_match_score")
"""Columns of a delivery that an answer is read from, beside those that every batch has."""


def is_taken(name: str) -> bool:
    """Tell whether a name stands for something else in a batch or a delivery, in some format."""
    return name in (*EVERY_BATCH, _ID) or _is_answer(name)


def mistaken_ids(payload: Sequence[str], id: str, as_it_is: bool) -> list[str]:
    """Return the columns of the payload that a delivery would take for the ids of its rows.

    Args:
        payload: columns that annotators are shown.
        id: column of the ids.
        as_it_is: whether annotators would be shown the ids of the tasks' rows in it.
    """
    return [name for name in payload if name in (_ID, id) and not (name == id and as_it_is)]


def _is_answer(name: str) -> bool:
    return name in _READ or name.startswith("label.")


def _check_columns(chosen: str, payload: Sequence[str], mistaken: Sequence[str]) -> None:
    """Refuse columns of the payload that would be taken for others when the file comes back."""
    for name in () if chosen in _ANSWERED_ELSEWHERE else payload:
        if name in mistaken:
            raise InputError(
                f"pool.payload: {name} cannot be shown as sink.format is {chosen}: what stands in "
                "it would be taken for the id of the row; rename it or leave it out"
            )
        if _is_answer(name):
            raise InputError(
                f"pool.payload: {name} is a column of answers, rename it: as sink.format is "
                f"{chosen}, what stands in it would be taken for one"
            )


def _sides(section: Section, payload: Sequence[str]) -> tuple[str, str] | None:
    if not section.content:
        return None
    section.check_keys(*_SIDES)
    left, right = (section.text(side, required=True) or "" for side in _SIDES)
    for affix in (left, right):
        if not any(name.startswith(affix) or name.endswith(affix) for name in payload):
            raise InputError(
                f"{section.name}: no column of pool.payload begins or ends with {affix!r}"
            )
    return left, right


def _records(section: Section, payload: Sequence[str]) -> RecordColumns | None:
    if not section.content:
        return None
    section.check_keys(*_RECORD_KEYS)
    named = {key: section.text(key, required=key in _SIDES) for key in _RECORD_KEYS}
    for key, name in named.items():
        if name is not None and name not in payload:
            raise InputError(
                f"sink.records.{key}: {name} is no column of pool.payload{nearest(name, payload)}"
            )
    sources = (named["left_source"], named["right_source"])
    if sources.count(None) == 1:
        raise InputError("sink.records: name a source of both records or of none")
    return RecordColumns(str(named["left"]), str(named["right"]), *sources)
