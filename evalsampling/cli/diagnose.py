"""`evalsampling diagnose`."""

import argparse

from evalsampling.cli.command import Command
from evalsampling.commands.diagnose import DiagnoseResult, diagnose
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.inference.label_likelihood import WORTH_CHOOSING


def _text(_: argparse.Namespace, result: DiagnoseResult) -> str:
    if all(leaf.observed is None for leaf in result.leaves):
        return "nothing to compare: no row has a label yet"
    positive = result.positive
    order = ", from the lowest score to the highest" if result.by_score else ""
    lines = [f"share of {positive!r}, of leaves with labels{order}",
             f"{'leaf':>6}{'rows':>14}{'labels':>8}{'prior':>10}{'observed':>10}"
             f"{'posterior':>11}"]  # fmt: skip
    for leaf in result.leaves:
        if leaf.observed is not None:
            model = "-" if leaf.posterior is None else f"{leaf.posterior[positive]:.6f}"
            path = "  " + ", ".join(result.paths[leaf.leaf]) if result.paths else ""
            lines.append(
                f"{leaf.leaf:>6}{leaf.rows:>14,}{leaf.labelled:>8}"
                f"{leaf.prior[positive]:>10.6f}{leaf.observed[positive]:>10.4f}{model:>11}{path}"
            )
    if result.label_likelihood is not None:
        lines.append(
            f"label likelihood {result.label_likelihood:.2f}: rows are worth choosing by the "
            f"scores from {WORTH_CHOOSING:g} on"
        )
    lines += [f"  {name}: {value:.2f}" for name, value in result.label_likelihood_of.items()]
    return "\n".join(lines)


COMMAND = Command.of(WorkspaceOptions, diagnose, _text)
