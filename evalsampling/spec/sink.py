"""The section ``sink`` of a spec: the batches that are sent to annotators."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.parts.registry import Registry
from evalsampling.spec.id_columns import IdColumns
from evalsampling.spec.sections import Section, given, nearest

SINKS: Registry[Any] = Registry(
    "sinks",
    {
        "csv": "evalsampling.labels.sinks:CSV",
        "jsonl": "evalsampling.labels.sinks:JSON_LINES",
        "parquet": "evalsampling.labels.sinks:PARQUET",
        "vendor": "evalsampling.labels.sinks:VENDOR",
        "xlsx": "evalsampling.labels.sinks:WORKBOOK",
        "label-studio": "evalsampling.labels.sinks:LABEL_STUDIO",
        "splink": "evalsampling.labels.sinks:SPLINK",
    },
    "evalsampling.labels.sinks:Sink",
)
"""Formats of batches, by name."""

_CSV = ("csv", "vendor", "splink")
"""Formats in which a spreadsheet may mistake text for a formula."""

_SIDES = ("left", "right")
_RECORD_KEYS = ("left", "right", "left_source", "right_source")


@dataclasses.dataclass(frozen=True)
class RecordColumns:
    """Columns that name the two records of a row: of its id, or of the payload.

    Attributes:
        left: column of the left record's id.
        right: column of the right record's id.
        left_source: column of the left record's data set, None if there is only one data set.
        right_source: column of the right record's data set, None likewise.
    """

    left: str
    right: str
    left_source: str | None = None
    right_source: str | None = None

    @property
    def in_order(self) -> tuple[str | None, ...]:
        """Data set and id of the left record, then of the right one."""
        return self.left_source, self.left, self.right_source, self.right


@dataclasses.dataclass(frozen=True)
class SinkSpec:
    """How batches are sent to annotators.

    Attributes:
        format: name in `SINKS`, or ``module:object``.
        question: the question to annotators, in a sentence.
        sides: prefixes or suffixes of the columns of the left and of the right record, None if
            rows are no pairs.
        records: columns that name the two records, None if there are none.
        chunk: most tasks in one file of Label Studio.
        escape: whether text that a spreadsheet may mistake for a formula gets an apostrophe.
    """

    format: str = "csv"
    question: str | None = None
    sides: tuple[str, str] | None = None
    records: RecordColumns | None = None
    chunk: int = 1000
    escape: bool = False

    @classmethod
    def read(
        cls,
        section: Section,
        payload: Sequence[str],
        mistaken: Sequence[str] = (),
        id: IdColumns = "id",
    ) -> "SinkSpec":
        """Return the section ``sink``, checked."""
        section.check_keys("format", "question", "pairs", "records", "chunk", "escape")
        chosen = section.part("format", SINKS, cls.format)
        escape = section.flag("escape", chosen == "vendor")
        if escape and chosen == "xlsx":
            raise InputError("sink.escape: the cells of an xlsx file are text and need none")
        if escape and chosen not in _CSV:
            formats = ", ".join(_CSV)
            raise InputError(f"sink.escape: is of {formats}, which are CSV; {chosen} is not")
        _check_columns(chosen, payload, mistaken)
        sink = cls(
            format=chosen,
            question=section.text("question"),
            sides=_sides(section.section("pairs"), payload),
            records=_records(section.section("records"), payload, id, chosen == "splink"),
            chunk=section.integer("chunk", cls.chunk, least=1),
            escape=escape,
        )
        if sink.format == "splink" and sink.records is None:
            raise InputError(
                "sink.records: missing, a table of Splink names two records a row, of columns in "
                "pool.payload"
            )
        return sink

    def to_mapping(self) -> dict[str, Any]:
        """Return the section as a mapping, without unused keys."""
        sides, records = self.sides, self.records
        return given(
            {
                "format": self.format,
                "question": self.question,
                "pairs": None if sides is None else dict(zip(_SIDES, sides, strict=True)),
                "records": None if records is None else given(dataclasses.asdict(records)),
                "chunk": None if self.chunk == SinkSpec.chunk else self.chunk,
                "escape": None if self.escape == (self.format == "vendor") else self.escape,
            }
        )


_ANSWERED_ELSEWHERE = ("label-studio",)
"""Formats whose deliveries have answers in files of their own, without the payload columns."""

EVERY_BATCH = ("task", "label")
"""Columns of every batch, whose names no payload column can have."""

ID = "id"
"""Name that a delivery may use for a single column of ids, whatever its name in the pool."""

_READ = ("annotator", "skipped", "comment", "time", "clerical_match_score")
"""Columns of a delivery that are read, beside those that every batch has."""


def is_taken(name: str) -> bool:
    """Tell whether a column name has another meaning in a batch or a delivery of some format."""
    return name in (*EVERY_BATCH, ID) or _is_answer(name)


def check_id_columns(id: IdColumns) -> None:
    """Check that a delivery can name rows by several columns of ids."""
    for name in () if isinstance(id, str) else id:
        if name in EVERY_BATCH or _is_answer(name):
            raise InputError(f"pool.id: {name} is a column of every delivery, rename it")


def _is_answer(name: str) -> bool:
    return name in _READ or name.startswith("label.")


def _check_columns(chosen: str, payload: Sequence[str], mistaken: Sequence[str]) -> None:
    """Raise an `InputError` for payload columns that would be mistaken for others in a delivery."""
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
            problem = f"no column of pool.payload begins or ends with {affix!r}"
            raise InputError(f"{section.name}: {problem}")
    return left, right


def _records(
    section: Section, payload: Sequence[str], id: IdColumns, shown: bool
) -> RecordColumns | None:
    """Return the columns of the two records; by default those of Splink, if they are the id.

    They are among ``payload``, or ids unless the records have to be shown.
    """
    known = payload if shown or isinstance(id, str) else (*payload, *id)
    if not section.content:
        sides, origins = ({f"{name}_l", f"{name}_r"} for name in ("unique_id", "source_dataset"))
        if isinstance(id, str) or not sides <= {*id} & {*known}:
            return None
        has_sources = origins <= {*known}
        return RecordColumns(*sorted(sides), *(sorted(origins) if has_sources else ()))
    section.check_keys(*_RECORD_KEYS)
    named = {key: section.text(key, required=key in _SIDES) for key in _RECORD_KEYS}
    for key, name in named.items():
        if name is not None and name not in known:
            raise InputError(
                f"sink.records.{key}: {name} is no column of pool.payload{nearest(name, known)}"
            )
    sources = (named["left_source"], named["right_source"])
    if sources.count(None) == 1:
        raise InputError("sink.records: name a source of both records or of none")
    return RecordColumns(str(named["left"]), str(named["right"]), *sources)
