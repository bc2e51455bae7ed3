"""`evalsampling annotators`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.cli.wording import counted, wrapped
from evalsampling.commands.annotators import AnnotatorsResult, annotators
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.stats.agreement import Share

_BESIDE = 2
"""Shares that stand beside the counts; a further one has lines of its own."""


def _text(_: argparse.Namespace, result: AnnotatorsResult) -> str:
    level = f"{100 * result.confidence:g} %"
    rows = ", ".join(f"{count:,} {state}" for state, count in result.rows.items() if count)
    lines = [f"rows: {rows or 'none'}; {counted(result.votes, 'vote')} wanted for each"]
    agreement = result.agreement
    if agreement.alpha is None and agreement.rows:
        lines.append(f"agreement: all answers alike, {counted(agreement.rows, 'row')}")
    elif agreement.alpha is None:
        lines.append("agreement: not known")
    else:
        lines.append(
            f"agreement: Krippendorff's alpha {agreement.alpha:.3f}, {level} "
            f"{agreement.low:.3f} to {agreement.high:.3f}, {agreement.rows:,} rows"
        )
    names = [person.annotator or "-" for person in result.annotators]
    shares = {
        "gold right": [_share(person.gold) for person in result.annotators],
        "same again": [_share(person.repeats) for person in result.annotators],
        "as most others": [_share(person.others) for person in result.annotators],
    }
    shares = {head: cells for head, cells in shares.items() if {*cells} - {"-"}}
    beside, below = list(shares)[:_BESIDE], list(shares)[_BESIDE:]
    width = max(map(len, ["annotator", *names]))
    heads = "".join(f"{head:<26}" for head in beside)
    lines.append(f"{'annotator':<{width}} {'labels':>7} {'skipped':>8} {'unsure':>7}  {heads}")
    for place, (name, person) in enumerate(zip(names, result.annotators, strict=True)):
        cells = "".join(f"{shares[head][place]:<26}" for head in beside)
        lines.append(
            f"{name:<{width}} {person.labels:>7} {person.skipped:>8} {person.unsure:>7}  {cells}"
        )
    for head in below:
        lines.append(f"{'annotator':<{width}}  {head}")
        lines += [
            f"{name:<{width}}  {share}" for name, share in zip(names, shares[head], strict=True)
        ]
    for name, person in zip(names, result.annotators, strict=True):
        if person.contradicted:
            lines += wrapped(
                f"{name} gave two different answers on {counted(person.contradicted, 'row')}, "
                "and neither counts"
            )
    if result.annotators and not shares:
        lines += wrapped(
            "who errs is not known: no gold row, no repeat and no other answer about a row tells it"
        )
    return "\n".join(line.rstrip() for line in lines)


def _share(share: Share) -> str:
    if share.share is None:
        return "-"
    return f"{share.hits}/{share.trials} ({share.low:.2f} to {share.high:.2f})"


COMMAND = Command.of(WorkspaceOptions, annotators, _text)
