"""Dagster, as the process that started this one: asset checks and metadata by Dagster Pipes."""

import contextlib
import re
from typing import Any

from evalsampling.errors import InputError, from_extra
from evalsampling.evaluation.gates import GateResult
from evalsampling.receivers.run import Run


def check(where: str | None) -> None:
    """Check that Dagster started this process, and that its package is here."""
    if where is not None:
        raise InputError("--report-to dagster: takes no place; Dagster itself says where it is")
    pipes = _package()
    loader = pipes.PipesEnvVarParamsLoader()
    if not (pipes.PipesContext.is_initialized() or loader.is_dagster_pipes_process()):
        raise InputError(
            "--report-to dagster: Dagster Pipes has not started this process: use "
            "PipesSubprocessClient in an asset"
        )


def send(run: Run, where: str | None) -> str:
    """Report a check for each gate, and the estimates as metadata of the asset of the run.

    A context that is open already stays open.
    """
    pipes = _package()
    is_open = pipes.PipesContext.is_initialized()
    context = pipes.PipesContext.get() if is_open else pipes.open_dagster_pipes()
    with contextlib.nullcontext() if is_open else context:
        for gate in run.gates.gates if run.gates else ():
            numbers = {name: getattr(gate, name) for name in ("target", "value", "low", "high")}
            numbers |= {"labels_to_decide": gate.labels, "statement": gate.statement}
            context.report_asset_check(
                check_name=check_name(gate),
                passed=gate.reached is True,
                severity="WARN" if gate.reached is None else "ERROR",
                metadata=_metadata(numbers),
            )
        context.report_asset_materialization(_metadata(_told(run)), data_version=run.id)
        return f"the asset of Dagster's run {context.run_id}"


def _package() -> Any:
    with from_extra("dagster", "dagster-pipes", "--report-to dagster"):
        import dagster_pipes
    return dagster_pipes


def check_name(gate: GateResult) -> str:
    """Return the name of a gate's check, which stays the same when the target changes."""
    return re.sub(r"\W+", "_", f"{gate.number}_{gate.bound}", flags=re.ASCII).strip("_")


def _told(run: Run) -> dict[str, Any]:
    """Return the counts of a run, and its numbers on the whole pool, points of curves apart."""
    told: dict[str, Any] = {**run.counts}
    for title, number in run.whole.items():
        told |= {title: number.value, f"{title}, low": number.low, f"{title}, high": number.high}
    told |= {f"{title}, in words": number.statement for title, number in run.whole.items()}
    return told | {name: run.origin[name] for name in ("run_id", "pool", "workspace")}


def _metadata(values: dict[str, Any]) -> dict[str, Any]:
    """Return numbers and texts as Dagster wants them."""
    kinds = {str: "text", int: "int", float: "float"}
    return {
        name: {"raw_value": value, "type": kinds.get(type(value), "float")}
        for name, value in values.items()
        if value is not None
    }
