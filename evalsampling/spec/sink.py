"""The section ``sink`` of a spec: the batches that are sent to annotators."""

from collections.abc import Sequence
from typing import Any

import msgspec

from evalsampling.errors import InputError
from evalsampling.parts.registry import Registry
from evalsampling.spec.id_columns import IdColumns
from evalsampling.spec.sections import Section, given, nearest
from evalsampling.spec.values import Count, Text

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


class Sides(msgspec.Struct, frozen=True):
    """Prefixes or suffixes of the columns of the two records of a row."""

    left: Text
    right: Text


class RecordColumns(msgspec.Struct, frozen=True, omit_defaults=True):
    """Columns that name the two records of a row: of its id, or of the payload."""

    left: Text  # column of the left record's id
    right: Text  # column of the right record's id
    # column of the left record's data set, None if there is only one data set
    left_source: Text | None = None
    right_source: Text | None = None  # column of the right record's data set, None likewise

    @property
    def in_order(self) -> tuple[str | None, ...]:
        """Data set and id of the left record, then of the right one."""
        return self.left_source, self.left, self.right_source, self.right


class SinkSpec(msgspec.Struct, frozen=True):
    """How batches are sent to annotators."""

    format: str = "csv"  # name in `SINKS`, or ``module:object``
    question: Text | None = None  # the question to annotators, in a sentence
    # prefixes or suffixes of the columns of the left and of the right record, None if rows are no
    # pairs
    pairs: Sides | None = None
    # columns that name the two records, None if there are none
    records: RecordColumns | None = None
    chunk: Count = 1000  # most tasks in one file of Label Studio
    # whether text that a spreadsheet may mistake for a formula gets an apostrophe
    escape: bool = False

    @classmethod
    def read(
        cls, section: Section, payload: Sequence[str], mistaken: Sequence[str], id: IdColumns
    ) -> "SinkSpec":
        """Return the section ``sink``, checked."""
        chosen = section.part("format", SINKS, "csv")
        sink = section.read(cls)
        if sink.escape and chosen not in _CSV:
            formats = ", ".join(_CSV)
            raise InputError(f"sink.escape: is of {formats}, which are CSV; {chosen} is not")
        _check_columns(chosen, payload, mistaken)
        for affix in () if sink.pairs is None else (sink.pairs.left, sink.pairs.right):
            if not any(name.startswith(affix) or name.endswith(affix) for name in payload):
                raise InputError(
                    f"sink.pairs: no column of pool.payload begins or ends with {affix!r}"
                )
        return msgspec.structs.replace(
            sink,
            records=_records(sink, payload, id),
            escape=section.get("escape", chosen == "vendor"),
        )

    def to_mapping(self) -> dict[str, Any]:
        """Return the section as a mapping, without unused keys."""
        keys = {
            "chunk": None if self.chunk == SinkSpec().chunk else self.chunk,
            "escape": None if self.escape == (self.format == "vendor") else self.escape,
        }
        return given(msgspec.to_builtins(self) | keys)


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
    # Label Studio's deliveries have answers in files of their own, without the payload columns.
    for name in () if chosen == "label-studio" else payload:
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


def _records(sink: SinkSpec, payload: Sequence[str], id: IdColumns) -> RecordColumns | None:
    """Return the columns of the two records; by default Splink's, if they are the id.

    They are among ``payload``, or ids unless the records have to be shown.
    """
    must_show, records = sink.format == "splink", sink.records
    known = payload if must_show or isinstance(id, str) else (*payload, *id)
    if records is None:
        sides, origins = ({f"{name}_l", f"{name}_r"} for name in ("unique_id", "source_dataset"))
        if not isinstance(id, str) and sides <= {*id} & {*known}:
            return RecordColumns(*sorted(sides), *(sorted(origins) if origins <= {*known} else ()))
        if must_show:
            raise InputError(
                "sink.records: missing, a table of Splink names two records a row, of columns in "
                "pool.payload"
            )
        return None
    for key, name in msgspec.to_builtins(records).items():
        if name not in known:
            raise InputError(
                f"sink.records.{key}: {name} is no column of pool.payload{nearest(name, known)}"
            )
    if (records.left_source is None) != (records.right_source is None):
        raise InputError("sink.records: name a source of both records or of none")
    return records
