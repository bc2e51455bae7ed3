"""A run of `estimate` on a workspace, as receivers of results get it."""

import datetime
import os
import time

from evalsampling.commands.estimate_result import EstimateResult
from evalsampling.receivers.run import Run
from evalsampling.storage import is_url
from evalsampling.workspace.snapshot import Snapshot


def run_of(snapshot: Snapshot, result: EstimateResult, started: float) -> Run:
    """Return the run that made a result of what a workspace holds."""
    pool = snapshot.pool
    path = pool.workspace.path
    workspace = path.rstrip("/") if is_url(path) else os.path.abspath(path)
    return Run(
        name=workspace.rpartition("/")[2],
        workspace=workspace,
        spec=pool.spec,
        pool=pool.marker["pool"],
        rows=pool.table.rows,
        started=_utc(started),
        time=_utc(time.time()),
        round=result.round,
        labels=result.labels,
        open=result.open,
        warnings=result.warnings,
        numbers=result.measures,
        gates=result.gates,
        page=lambda: _page(snapshot),
    )


def _page(snapshot: Snapshot) -> bytes:
    """Return the report; annotators have numbers for names, since others read it."""
    # Few receivers want it.
    from evalsampling.commands.report_facts import report_facts
    from evalsampling.report.facts import Facts
    from evalsampling.report.page import page

    return page(Facts.from_json(report_facts(snapshot, anonymous=True))).encode()


def _utc(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
