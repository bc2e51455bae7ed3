"""`evalsampling annotators`."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.commands.annotators import AnnotatorsResult, annotators
from evalsampling.commands.options import WorkspaceOptions, add_to_command, read_options
from evalsampling.stats.agreement import Share


def _run(arguments: argparse.Namespace) -> AnnotatorsResult:
    return annotators(read_options(WorkspaceOptions, arguments))


def _text(_: argparse.Namespace, result: AnnotatorsResult) -> str:
    level = f"{100 * result.confidence:g} %"
    rows = ", ".join(f"{count:,} {state}" for state, count in result.rows.items() if count)
    lines = [f"rows: {rows or 'none'}; {result.votes} votes wanted for each"]
    agreement = result.agreement
    if agreement.alpha is None:
        lines.append("agreement: cannot be told")
    else:
        lines.append(
            f"agreement: Krippendorff's alpha {agreement.alpha:.3f}, {level} "
            f"{agreement.low:.3f} to {agreement.high:.3f}, {agreement.rows:,} rows"
        )
    names = [person.annotator or "-" for person in result.annotators]
    width = max(map(len, ["annotator", *names]))
    lines.append(
        f"{'annotator':<{width}} {'labels':>7} {'skipped':>8} {'unsure':>7}"
        f"  {'gold right':<26}{'same again':<26}"
    )
    for name, person in zip(names, result.annotators, strict=True):
        lines.append(
            f"{name:<{width}} {person.labels:>7} {person.skipped:>8} {person.unsure:>7}"
            f"  {_share(person.gold):<26}{_share(person.repeats):<26}"
        )
    return "\n".join(line.rstrip() for line in lines)


def _share(share: Share) -> str:
    if share.share is None:
        return "-"
    return f"{share.hits}/{share.trials} ({share.low:.2f} to {share.high:.2f})"


COMMAND = Command(functools.partial(add_to_command, options=WorkspaceOptions), _run, _text)
