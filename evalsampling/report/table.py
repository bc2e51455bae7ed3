"""The CSV file of a report: a line for each number, ready for a dashboard."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

COLUMNS = (
    "round", "labels", "latest", "measure", "system", "against", "slice", "threshold", "value",
    "standard_error", "low", "high", "confidence", "method", "reason", "effective_size",
    "design_effect", "largest_share", "largest_weight",
)  # fmt: skip
"""Columns of the table: fields of a number of `estimate --json`."""


def as_csv(content: Mapping[str, Any], cell: Callable[[Any], Any] = lambda value: value) -> str:
    """Return the numbers of a report as CSV: those of earlier rounds, then all the latest ones.

    Earlier rounds have the numbers on the whole pool only, without points of curves. A value that
    is undefined is empty.

    Args:
        content: of the report's JSON file.
        cell: returns a value as it is written, so that no program takes a text for a formula.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for after in (*content["rounds"][:-1], content["estimate"]):
        latest = "true" if after is content["estimate"] else "false"
        moment = {"round": after["round"], "labels": after["labels"], "latest": latest}
        for number in after["measures"]:
            line = moment | flat(number)
            writer.writerow({name: cell(value) for name, value in line.items()})
    return text.getvalue()


def flat(number: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a number of `estimate --json`."""
    return {name: number[name] for name in COLUMNS if name in number}
