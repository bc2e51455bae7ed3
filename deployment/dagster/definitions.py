"""One asset for each evaluation in evaluations.yaml: its estimates, with a check for each gate.

    dagster dev -f definitions.py

The asset takes the labels that have come and estimates. A check is passed if its gate is reached;
it fails if the gate is surely not, and warns if that cannot be said yet. A check that fails holds
back what is downstream of the asset.

The asset calls the command line of evalsampling by Dagster Pipes, so Dagster needs no evalsampling
in its own environment. The one of the command has the extra `dagster`.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster
import yaml

EVALUATIONS = Path(
    os.environ.get("EVALSAMPLING_EVALUATIONS", Path(__file__).with_name("evaluations.yaml"))
)


def evaluation(
    name: str,
    command: str,
    workspace: str,
    inbox: str | None = None,
    at_least: Mapping[str, float] | None = None,
    at_most: Mapping[str, float] | None = None,
    report_to: Sequence[str] = (),
) -> dagster.AssetsDefinition:
    """Make the asset of an evaluation.

    Args:
        name: of the asset.
        command: path of the program `evalsampling`.
        workspace: that `evalsampling prepare` made.
        inbox: folder of deliveries, which must not be empty; None to take none.
        at_least: the least value of each number.
        at_most: the greatest value of each number.
        report_to: further receivers, as `mlflow`.
    """
    bounds = {"at_least": at_least or {}, "at_most": at_most or {}}
    checks = [
        dagster.AssetCheckSpec(check_name(number, bound), asset=name, blocking=True)
        for bound, targets in bounds.items()
        for number in targets
    ]
    # Checks say what the gates say, so the exit code need not: Dagster would take it for a failure.
    line = [command, "estimate", workspace, "--exit-zero", "--report-to", "dagster", *report_to]
    line += ["--labels", inbox] if inbox else []
    for bound, targets in bounds.items():
        texts = [f"{number}={target}" for number, target in targets.items()]
        line += [f"--{bound.replace('_', '-')}", *texts] if texts else []

    @dagster.asset(name=name, check_specs=checks, kinds={"evalsampling"})
    def estimates(context: dagster.AssetExecutionContext, pipes: dagster.PipesSubprocessClient):
        return pipes.run(command=line, context=context).get_results()

    return estimates


def check_name(number: str, bound: str) -> str:
    """Return the name that evalsampling gives to the check of a gate."""
    return re.sub(r"\W+", "_", f"{number}_{bound}", flags=re.ASCII).strip("_")


defs = dagster.Definitions(
    assets=[
        evaluation(name, **settings)
        for name, settings in yaml.safe_load(EVALUATIONS.read_text(encoding="utf-8")).items()
    ],
    resources={"pipes": dagster.PipesSubprocessClient()},
)
