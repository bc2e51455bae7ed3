"""The CSV file of a report: a line for each number, ready for a dashboard."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

COLUMNS = (
    "round", "labels", "latest", "measure", "system", "against", "slice", "threshold", "value",
    "standard_error", "low", "high", "confidence", "method", "reason", "effective_size",
    "design_effect", "largest_share", "largest_weight", "light_low", "light_high",
)  # fmt: skip
"""Columns of the table. The last two are the ends of the assumption-light interval."""


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
    estimate = content["estimate"]
    for earlier in content["rounds"][:-1]:
        for number in earlier["measures"]:
            line = _line(number, earlier["round"], earlier["labels"], latest=False)
            writer.writerow({name: cell(value) for name, value in line.items()})
    for number in estimate["measures"]:
        line = _line(number, estimate["round"], estimate["labels"], latest=True)
        writer.writerow({name: cell(value) for name, value in line.items()})
    return text.getvalue()


def _line(number: Mapping[str, Any], round: int, labels: int, latest: bool) -> dict[str, Any]:
    return {"round": round, "labels": labels, "latest": str(latest).lower()} | flat(number)


def flat(number: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a number of `estimate --json`: its fields, and two from intervals."""
    light = [item for item in number["intervals"] if item["kind"] == "assumption-light"]
    return {
        **{name: number[name] for name in COLUMNS if name in number},
        "light_low": light[0]["low"] if light else None,
        "light_high": light[0]["high"] if light else None,
    }
