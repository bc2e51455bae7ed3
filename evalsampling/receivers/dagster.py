"""Dagster, as the process that started this one: asset checks and metadata by Dagster Pipes."""

import contextlib
import re
from typing import Any

from evalsampling.errors import InputError, from_extra
from evalsampling.evaluation.gates import GateResult
from evalsampling.receivers.run import Run, title_of


class Dagster:
    """Reports a check for each gate, and the estimates as metadata of the asset."""

    def output(self, where: str | None) -> None:
        """Return None: no file is written here."""

    def check(self, where: str | None) -> None:
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

    def send(self, run: Run, where: str | None) -> str:
        """Report to the asset of the run; a context that is open already stays open."""
        pipes = _package()
        is_open = pipes.PipesContext.is_initialized()
        context = pipes.PipesContext.get() if is_open else pipes.open_dagster_pipes()
        with contextlib.nullcontext() if is_open else context:
            for gate in run.gates.gates if run.gates else ():
                context.report_asset_check(
                    check_name=check_name(gate),
                    passed=gate.reached is True,
                    severity="WARN" if gate.reached is None else "ERROR",
                    metadata=_of_gate(gate),
                )
            context.report_asset_materialization(_of_run(run), data_version=run.id)
            return f"the asset of Dagster's run {context.run_id}"


DAGSTER = Dagster()


def _package() -> Any:
    with from_extra("dagster", "dagster-pipes", "--report-to dagster"):
        import dagster_pipes
    return dagster_pipes


def check_name(gate: GateResult) -> str:
    """Return the name of a gate's check: of letters, digits and underscores, as Dagster wants it.

    The target is not in it, so that it stays the same when the target changes.
    """
    return re.sub(r"\W+", "_", f"{gate.number}_{gate.bound}", flags=re.ASCII).strip("_")


def _of_gate(gate: GateResult) -> dict[str, Any]:
    numbers = {name: getattr(gate, name) for name in ("target", "value", "low", "high")}
    numbers["labels_to_decide"] = gate.labels
    return _metadata(numbers) | {"statement": _text(gate.statement)}


def _of_run(run: Run) -> dict[str, Any]:
    """Return the counts of a run, and its numbers on the whole pool, points of curves apart."""
    numbers: dict[str, Any] = {"labels": run.labels, "open": run.open, "round": run.round}
    statements = {}
    for number in run.numbers:
        if number.is_of_pool:
            title = title_of(number)
            ends = {f"{title}, low": number.low, f"{title}, high": number.high}
            numbers |= {title: number.value, **ends}
            statements[f"{title}, in words"] = _text(number.statement)
    names = {"run_id": run.id, "pool": run.pool_name, "workspace": run.workspace}
    texts = {name: _text(text) for name, text in names.items() if text is not None}
    return _metadata(numbers) | statements | texts


def _metadata(numbers: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {"raw_value": value, "type": "int" if isinstance(value, int) else "float"}
        for name, value in numbers.items()
        if value is not None
    }


def _text(text: str) -> dict[str, str]:
    return {"raw_value": text, "type": "text"}
