"""`evalsampling simulate`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.commands.simulate import SimulateOptions, SimulateResult, simulate


def _run(arguments: argparse.Namespace) -> SimulateResult:
    return simulate(read_options(SimulateOptions, arguments))


def _text(_: argparse.Namespace, result: SimulateResult) -> str:
    scalars = {m: value for m, value in result.truth.items() if isinstance(value, float)}
    lines = [f"truth: {', '.join(f'{m} {v:.4f}' for m, v in scalars.items())}"] if scalars else []
    name = max(12, *(len(one.sampler) + 2 for one in result.results))
    unit = "money" if result.by_cost else "labels"
    lines.append(f"{'sampler':<{name}}{'measure':<20}{unit:>7}{'rmse':>8}{'bias':>9}"
                 f"{'coverage':>10}{'width':>8}{'score':>8}{'undefined':>11}")  # fmt: skip
    for one in result.results:
        intervals = "".join(
            f"{'-' if number is None else format(number, f'.{digits}f'):>{width}}"
            for number, digits, width in (
                (one.coverage, 2, 10), (one.median_width, 3, 8), (one.interval_score, 3, 8)
            )
        )  # fmt: skip
        lines.append(
            f"{one.sampler:<{name}}{one.measure:<20}{one.budget:>7,.10g}{one.rmse:>8.4f}"
            f"{one.bias:>9.4f}{intervals}{one.undefined:>11}"
        )
    return "\n".join(lines)


COMMAND = Command(
    "simulate",
    "Repeat an evaluation on a pool whose truth is known.",
    functools.partial(add_to_command, options=SimulateOptions),
    _run,
    _text,
)
