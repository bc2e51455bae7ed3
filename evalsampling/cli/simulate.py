"""`evalsampling simulate`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.cli.wording import grouped_table, table, wrapped
from evalsampling.commands.simulate import SimulateOptions, SimulateResult, simulate


def _text(_: argparse.Namespace, result: SimulateResult) -> str:
    scalars = {m: value for m, value in result.truth.items() if isinstance(value, float)}
    truth = ", ".join(f"{measure} {value:.4f}" for measure, value in scalars.items())
    lines = wrapped(f"truth: {truth}", "  ") if scalars else []
    unit = "money" if result.by_cost else "labels"
    rows = []
    for row in result.results:
        errors = (row.rmse, 4), (row.bias, 4)
        intervals = (row.coverage, 2), (row.median_width, 3), (row.interval_score, 3)
        cells = [
            "-" if number is None else f"{number:.{digits}f}"
            for number, digits in (*errors, *intervals)
        ]
        names = row.sampler, row.measure, f"{row.budget:,.10g}"
        rows.append([*names, *cells, str(row.undefined)])
    head = [
        "sampler, measure", unit, "rmse", "bias", "coverage", "width", "score", "undefined"
    ]  # fmt: skip
    lines += grouped_table(head, rows)
    return "\n".join([*lines, *_choices(result, unit), *_promises(result, unit)])


def _promises(result: SimulateResult, unit: str) -> list[str]:
    """Return the table of a promise; nothing if none was made."""
    rows = [
        [row.sampler, f"{row.budget:,.10g}", f"{row.proved:.3f}", f"{row.broken:.3f}",
         "-" if row.rows is None else f"{row.rows:.3f}"]
        for row in result.promises
    ]  # fmt: skip
    if not rows:
        return []
    title = (
        f"how often {result.promise} is proved, how often it is broken then, and the rows above "
        "the threshold as a share of the best one's:"
    )
    return [*wrapped(title, "  "), *table(["sampler", unit, "proved", "broken", "rows"], rows)]


def _choices(result: SimulateResult, unit: str) -> list[str]:
    """Return the table of wrong choices among systems; nothing if none are compared."""
    rows = [
        [row.sampler, row.measure, f"{row.budget:,.10g}", f"{row.selection_error:.3f}",
         f"{row.regret:.5f}"]
        for row in result.results
        if row.selection_error is not None and row.regret is not None
    ]  # fmt: skip
    if not rows:
        return []
    title = "how often the system that looks best is not, and how much worse it is on average:"
    head = ["sampler, measure", unit, "wrong system", "regret"]
    return [*wrapped(title, "  "), *grouped_table(head, rows)]


COMMAND = Command.of(SimulateOptions, simulate, _text, reads_pools=lambda _: True)
