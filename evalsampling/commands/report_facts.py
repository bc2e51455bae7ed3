"""All that a report tells, as one object: its JSON twin; and what receivers get of a run."""

import dataclasses
import itertools
import operator
import os
from typing import Any

import numpy as np

from evalsampling.commands.certify import certificate_of
from evalsampling.commands.estimate_result import EstimateResult, result_of
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.pictures import convergence, labelled_bands
from evalsampling.inference.results import as_json
from evalsampling.labels.controls import records
from evalsampling.labels.tally import State
from evalsampling.parts.records import finite
from evalsampling.receivers.run import TITLE, Run
from evalsampling.report.facts import VERSION, Facts
from evalsampling.spec.gates import GatesSpec
from evalsampling.storage import is_url
from evalsampling.workspace.manifest import digest, pool_digest, read_jobs, versions
from evalsampling.workspace.snapshot import Snapshot

MOST_CLASSES = 6
"""Classes whose rates are shown, of more than two."""

_key = operator.itemgetter(*TITLE)
"""Returns what tells the estimates of a moment apart."""


def report_facts(
    snapshot: Snapshot,
    title: str | None = None,
    anonymous: bool = False,
    gates: GatesSpec | None = None,
) -> dict[str, Any]:
    """Return the JSON twin of a report: the object of `estimate --json`, and all else it tells."""
    spec, workspace = snapshot.pool.spec, snapshot.pool.workspace
    analysis, estimated = snapshot.analysis, result_of(snapshot, gates=gates)
    if (promise := spec.analysis.promise) is not None:
        proved = (certificate_of(snapshot, promise),)
        estimated = dataclasses.replace(estimated, certificates=proved)
    jobs = read_jobs(workspace)
    classes, space = list(spec.labels.codes), spec.labels.space
    rates = itertools.islice(space.rates.items() if space.has_classes else (), MOST_CLASSES)
    bands = labelled_bands(analysis, {name: list(codes) for name, codes in rates})
    content = {
        "version": VERSION,
        "title": title or workspace.path.rstrip("/").rpartition("/")[2],
        "workspace": workspace.path,
        "as_of": max((job["started"] for job in jobs.values()), default=None),
        "evaluation": {
            "rows": snapshot.pool.table.rows,
            "budget": spec.budget.planned,
            "classes": classes,
            "positive": classes[spec.labels.positive] if classes else None,
            "systems": [system.name for system in spec.pool.systems],
            "sampler": spec.sampler.name,
            "oracle": spec.labels.oracle,
            "hidden_share": spec.hidden.share,
            "money": spec.budget.money,
        },
        "estimate": estimated.to_json(),
        "rounds": _rounds(analysis, estimated),
        "bands": [dataclasses.asdict(band) for band in bands],
        "slices": _slices(analysis),
        "annotators": _annotators(snapshot, anonymous),
        "quality": _quality(snapshot, estimated),
        "provenance": _provenance(snapshot),
    }
    facts: dict[str, Any] = finite(content)
    return facts


def _rounds(analysis: Analysis, estimated: EstimateResult) -> list[dict[str, Any]]:
    """Return the numbers after each round; after the last they are the estimate's."""
    latest = estimated.to_json()["measures"]
    rounds = []
    for moment in convergence(analysis):
        estimates = [as_json(estimate) for estimate in moment.estimates]
        if moment.round == estimated.round:
            wanted = {_key(entry) for entry in estimates}
            estimates = [entry for entry in latest if _key(entry) in wanted]
        rounds.append({"round": moment.round, "labels": moment.labels, "measures": estimates})
    return rounds


def _slices(analysis: Analysis) -> list[dict[str, Any]]:
    """Return rows and labels of every value of every slice column."""
    return [
        {
            "slice": domain.title,
            "rows": int(domain.rows(analysis.table).sum()),
            "labels": len(domain.labelled(analysis.history)),
        }
        for domain in analysis.scope.domains
        if domain.count is not None
    ]


def _annotators(snapshot: Snapshot, anonymous: bool) -> list[dict[str, Any]]:
    """Return the counts of each annotator's answers; answers that name nobody stay so."""
    people = [*map(dataclasses.asdict, records(snapshot.tally, snapshot.control_subjects))]
    named = [record for record in people if record["annotator"] is not None]
    for number, record in enumerate(named if anonymous else (), start=1):
        record["annotator"] = f"annotator {number}"
    return people


def _quality(snapshot: Snapshot, estimated: EstimateResult) -> dict[str, int]:
    """Return the counts of what may be wrong with the labels, by what they count."""
    states = [state.value for state in snapshot.states]
    gold = np.asarray(snapshot.gold)
    return {
        "rows asked about": len(states),
        "with a label": states.count(State.DECIDED.value),
        **{f"rows {state.value}": states.count(state.value)
           for state in State if state is not State.DECIDED},
        "answers that came late": snapshot.late,
        "labels corrected later": len(snapshot.history.corrected),
        "rejected rows of deliveries": estimated.rejects,
        "rounds withdrawn": len(snapshot.withdrawn),
        "gold rows labelled": int(gold.sum()),
        "of these wrong": int(gold.sum() - np.trace(gold)),
    }  # fmt: skip


def _provenance(snapshot: Snapshot) -> dict[str, Any]:
    """Return the seed, spec, pool, rounds, deliveries and versions behind the numbers."""
    pool, marker = snapshot.pool, snapshot.pool.marker
    return {
        "seed": pool.spec.seed,
        "spec": pool.spec.to_mapping(),
        "spec_sha256": digest(pool.spec.to_mapping()),
        "pool": pool_digest(marker["pool"], pool.spec.pool),
        "prior": pool.stratification.scores.prior,
        "leaves": len(pool.table.leaves),
        "cells": len(pool.table),
        "rounds": [
            {
                "round": files.number,
                "sampler": files.design["sampler"]["name"],
                "draws": len(files.draws),
                "new_rows": len(files.asked),
                "closed": files.number in snapshot.closed,
            }
            for files in snapshot.standing
        ],
        "deliveries": [
            {"sha256": delivery.digest, "rejects": delivery.rejects}
            for delivery in snapshot.deliveries
            if delivery.withdraws is None
        ],
        "versions": versions(),
        "command": f"evalsampling estimate {pool.workspace.path} --json",
    }


def run_of(snapshot: Snapshot, result: EstimateResult) -> Run:
    """Return a result of `estimate` as receivers get it, with its workspace and pool."""
    pool, path = snapshot.pool, snapshot.pool.workspace.path
    workspace = path.rstrip("/") if is_url(path) else os.path.abspath(path)
    return Run(
        name=workspace.rpartition("/")[2],
        workspace=workspace,
        spec=pool.spec.to_mapping(),
        source=pool.spec.pool,
        pool=pool.marker["pool"],
        rows=pool.table.rows,
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
    from evalsampling.report.page import page  # Few receivers want it.

    return page(Facts.from_json(report_facts(snapshot, anonymous=True))).encode()
