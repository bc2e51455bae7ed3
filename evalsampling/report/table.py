"""The CSV twin: a line for each number, ready for a dashboard."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

COLUMNS = (
    "round", "labels", "latest", "measure", "system", "against", "slice", "threshold", "value",
    "standard_error", "low", "high", "confidence", "method", "reason", "effective_size",
    "design_effect", "largest_share", "largest_weight", "light_low", "light_high",
)  # fmt: skip
"""Of the table. The last two are the ends of the assumption-light interval."""


def as_csv(content: Mapping[str, Any], cell: Callable[[Any], Any] = lambda value: value) -> str:
    """Return the numbers of a JSON twin as CSV: the latest of all, those of earlier rounds.

    Of rounds before the last there are the numbers on the whole pool that are no points of curves.
    What is undefined is empty.

    Args:
        content: the twin.
        cell: what stands for a value in a file, so that no program takes a text for a formula.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    estimate = content["estimate"]
    for told in content["rounds"][:-1]:
        for one in told["measures"]:
            line = _line(one, told["round"], told["labels"], latest=False)
            writer.writerow({name: cell(value) for name, value in line.items()})
    for one in estimate["measures"]:
        line = _line(one, estimate["round"], estimate["labels"], latest=True)
        writer.writerow({name: cell(value) for name, value in line.items()})
    return text.getvalue()


def _line(one: Mapping[str, Any], round: int, labels: int, latest: bool) -> dict[str, Any]:
    told = {"round": round, "labels": labels, "latest": str(latest).lower()}
    return told | flat(one)


def flat(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain fields of a number of `estimate --json`, and its assumption-light ends."""
    light = next((each for each in one["intervals"] if each["kind"] == "assumption-light"), None)
    return {
        **{name: one[name] for name in COLUMNS if name in one},
        "light_low": None if light is None else light["low"],
        "light_high": None if light is None else light["high"],
    }
