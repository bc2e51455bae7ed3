"""Taking deliveries of labels into a workspace, and estimating."""

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalsampling.commands.certify import certificates_of
from evalsampling.commands.deliveries import take
from evalsampling.commands.estimate_result import EstimateResult, curve_of, result_of
from evalsampling.commands.labels_at_hand import take_labels_at_hand
from evalsampling.commands.options import WorkspaceOptions, flag, many, numbers
from evalsampling.commands.outputs import OVERWRITE, check_outputs
from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.gates import check_gates
from evalsampling.inference.interval_methods import check_names
from evalsampling.labels.delivery import LabelFile, look_in
from evalsampling.measures.base import Measure
from evalsampling.receivers.registry import read_addresses
from evalsampling.spec.gates import GatesSpec
from evalsampling.spec.promise import Promise
from evalsampling.telemetry.logs import LOG
from evalsampling.version import __version__
from evalsampling.workspace.manifest import HERE, ExecutionContext
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.rounds import CLOSES
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace

_COUNTS = ("round", "labels", "open", "rejects")
"""Of a result, for the record."""


@dataclasses.dataclass(frozen=True)
class EstimateOptions(WorkspaceOptions):
    """What a call of `estimate` asks for."""

    labels: tuple[str, ...] = many("deliveries of labels, or folders of them", "FILE")
    replace: tuple[str, ...] = many("deliveries whose labels replace earlier ones", "FILE")
    measure: tuple[str, ...] = many("measures to report (default: the spec's)", "NAME")
    interval: tuple[str, ...] = many("interval methods to show beside the default", "NAME")
    close: bool = flag("close the open round")
    strict: bool = flag("take nothing of a delivery with a rejected row")
    at_least: tuple[str, ...] = many("gates: least values, as recall=0.9 (default: the spec's)",
                                     "NAME=VALUE")  # fmt: skip
    at_most: tuple[str, ...] = many("gates: greatest values, as mse=0.1", "NAME=VALUE")
    certify: tuple[str, ...] = many(
        "promises to prove of a threshold, as 'precision >= 0.95' (default: the spec's)", "PROMISE"
    )
    at: tuple[int, ...] = numbers("ranks of the curve of adastrat and logstrat to show", ())
    report_to: tuple[str, ...] = many(
        "receivers of the result: table:FOLDER, dagster, mlflow", "RECEIVER"
    )
    overwrite: bool = flag(OVERWRITE)


def estimate(
    options: EstimateOptions,
    context: ExecutionContext = HERE,
    shown: Callable[[EstimateResult], None] | None = None,
) -> EstimateResult:
    """Take deliveries of labels and estimate; waits for other commands on the workspace.

    All files of the call are taken or, as where one cannot be read, none. ``shown`` gets the result
    before it is sent to any receiver.
    """
    started = time.time()
    pool = PreparedPool.read(Workspace(options.workspace))
    analysis = Analysis.of_pool(pool, pool.spec.analysis)
    gates = GatesSpec.parse(options.at_least, options.at_most) or pool.spec.gates
    measures = _single(options.measure, analysis.measures) or None
    asked = analysis.measures if measures is None else analysis.chosen(measures)
    intervals, receivers = check_names(options.interval), read_addresses(options.report_to)
    promises = [Promise.read(text) for text in options.certify]
    if not promises and pool.spec.analysis.promise is not None:
        promises = [pool.spec.analysis.promise]
    if gates:
        check_gates(gates, analysis.scope.all_targets([*asked, *analysis.measures]))
    outputs = [each.output for each in receivers if each.output is not None]
    given = {*options.labels, *options.replace}
    check_outputs(pool, outputs, options.overwrite, "--report-to", given)
    # Before others are locked out: a file may be slow to come.
    listing = look_in(options.labels, options.replace, pool.spec.labelling)
    if listing.without and options.close:
        raise InputError(f"{listing.without[0]}: nothing is closed")
    files = [LabelFile.read(file, pool.spec.labelling) for file in listing.files]
    take_labels_at_hand(pool, context)
    with Snapshot.held(pool) as snapshot:
        messages = [*listing.without, *listing.links, *take(files, snapshot, options.strict)]
        snapshot = snapshot.reread() if files else snapshot
        if options.close:
            messages += filter(None, [snapshot.awaited.given_up])
            snapshot = snapshot.with_open_closed("estimate --close")
        result = result_of(snapshot, measures, intervals, gates)
        certificates = certificates_of(snapshot, promises) if promises else ()
        result = dataclasses.replace(result, messages=tuple(messages), certificates=certificates)
        wanted = {"measures": options.measure, "intervals": options.interval, **gates.to_mapping()}
        wanted |= {"certify": [str(promise) for promise in promises]} if promises else {}
        taking = {"close": options.close, "strict": options.strict}
        _keep(result, snapshot, files, wanted, taking, context, started)
        result = dataclasses.replace(result, curve=curve_of(snapshot, options.at))
    LOG.info("estimated", extra={key: getattr(result, key) for key in _COUNTS})
    if not receivers:
        return result
    from evalsampling.commands.report_facts import run_of  # Few calls report.

    if shown is not None:
        shown(result)
    run = run_of(snapshot, result)
    return dataclasses.replace(result, reports=tuple(each.send(run) for each in receivers))


def _single(names: Sequence[str], own: Sequence[Measure]) -> list[str]:
    """Return the names of measures; each text is one, or several with commas between them."""
    with_commas = {name for each in own for name in (each.name, each.components[0].name)}
    single = [
        part for name in names for part in ([name] if name in with_commas else name.split(","))
    ]
    return [name for name in map(str.strip, single) if name]


def _keep(
    result: EstimateResult,
    snapshot: Snapshot,
    files: Sequence[LabelFile],
    asked: Mapping[str, Any],
    taking: Mapping[str, bool],
    context: ExecutionContext,
    started: float,
) -> None:
    """Keep an estimate that is new, with its manifest."""
    workspace = snapshot.pool.workspace
    state = {
        **asked,
        "deliveries": sorted(delivery.name for delivery in snapshot.deliveries),
        "rounds": len(snapshot.rounds),
        "closed": snapshot.closed,
        "budget": snapshot.pool.spec.budget.to_mapping(),
        "version": __version__,
    }
    name = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
    if workspace.has_estimate(name):
        return
    manifest = context.manifest(
        f"estimate-{name}",
        snapshot.pool.spec,
        snapshot.pool.marker["pool"],
        started=started,
        options={**asked, **taking},
        counts={key: getattr(result, key) for key in _COUNTS},
        deliveries=[{**file.details, "bytes": file.bytes, "sha256": file.sha256} for file in files],
    )
    by_hand = [files.number for files in snapshot.rounds if files.closed]
    workspace.add_estimate(name, result.to_json(), {**manifest, CLOSES: by_hand})
