"""Sets of labels in deliveries: a list, the text of one, or a column of 0 and 1 for each label."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.label_spaces.base import FLAG
from evalsampling.labels.vote import field_text

_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}


def is_flag(name: str) -> bool:
    """Tell whether a column is that of one label."""
    return name.startswith(FLAG) and len(name) > len(FLAG)


def labels_of_row(row: Mapping[str, Any]) -> tuple[tuple[str, ...] | None, str]:
    """Return the labels that a row gives, None if it gives no set; and what is wrong with them.

    Of a row with columns of labels all are empty, or none.
    """
    flags = {name: row[name] for name in row if is_flag(name)}
    listed = row.get("label")
    if flags:
        if listed not in (None, ""):
            return None, "label is given, and columns of labels too"
        return _of_flags(flags)
    if not isinstance(listed, list):
        return None, ""
    if not all(isinstance(label, str) and label for label in listed):
        return None, "label is no text and no number"
    return tuple(listed), ""


def flags_of_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the labels that have a column of their own in a row."""
    return tuple(name.removeprefix(FLAG) for name in row if is_flag(name))


def given_label(row: Mapping[str, Any]) -> str | None:
    """Return the label or labels of a row as text for the list of rejects, valid or not."""
    flags = {name: row[name] for name in row if is_flag(name) and row[name] not in (None, "")}
    if not flags:
        return field_text(row.get("label"))
    fields = {"label": row["label"], **flags} if row.get("label") not in (None, "") else flags
    return ", ".join(f"{name}={field_text(value)}" for name, value in fields.items())


def missing_flag(flags: Sequence[str], labels: Sequence[str]) -> str:
    """Return what is wrong with a set given by columns, of which each label must have one."""
    missing = [label for label in labels if flags and label not in flags]
    if not missing:
        return ""
    return (
        f"column {FLAG}{missing[0]} is missing: "
        "a set of labels takes a column of 0 and 1 for each label"
    )


def _of_flags(flags: Mapping[str, Any]) -> tuple[tuple[str, ...] | None, str]:
    holds: dict[str, bool] = {}
    empty = [name for name, value in flags.items() if value is None or value in ("", "nan")]
    if len(empty) == len(flags):
        return None, ""
    if empty:
        return None, f"{empty[0]} is empty, and others are not"
    for name, value in flags.items():
        text = str(value).lower().removesuffix(".0")  # tables with empty fields hold floats
        if text not in _FLAGS:
            return None, f"{name} is {value!r}, which is none of: {', '.join(_FLAGS)}"
        holds[name.removeprefix(FLAG)] = _FLAGS[text]
    return tuple(label for label, is_set in holds.items() if is_set), ""
