"""Beam gives what the in-memory path gives, however the pool is cut and merged."""

import itertools
import json
from collections import Counter
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from evalsampling.evaluation.evaluation import Evaluation
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.inference.results import as_json
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.formats import registry as formats
from evalsampling.preparation.assignment import assign_cells
from evalsampling.preparation.local import stratify_pool
from evalsampling.preparation.reserve import ReserveBuilder
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import PoolSummary, Wanted, summarize
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.transforms import SumFn
from evalsampling.workspace.manifest import Run
from evalsampling.workspace.workspace import Workspace
from pipelines import prepare as prepare_pipeline
from pipelines.running import parse_options
from tests.contracts import assert_mergeable
from tests.jobs import Job, Pool, call, make_pool, make_rich_pool

SHARDINGS = [
    pytest.param(1, 1 << 20, 1, id="one-group"),
    pytest.param(1, 100, 2, id="one-file-20-groups"),
    pytest.param(2, 333, 2, id="two-files"),
    pytest.param(7, 50, 4, id="seven-files-four-threads"),
]
THREADS = "--direct_running_mode=multi_threading"


def reference(job: Job) -> MemoryPool:
    spec = EvaluationSpec.load(job.spec)
    return MemoryPool.prepare(spec, PoolBatch(job.pool.table.combine_chunks().to_batches()[0]))


def reserve_of(workspace: Path) -> dict[int, list[Any]]:
    """Ids of the reserve by cell, in order."""
    table = pq.read_table(workspace / "reserve").sort_by(
        [("cell", "ascending"), ("rank", "ascending")]
    )
    by_cell: dict[int, list[Any]] = {}
    for cell, rank, id in zip(*(table[c].to_pylist() for c in ("cell", "rank", "id")), strict=True):
        held = by_cell.setdefault(cell, [])
        assert rank == len(held)
        held.append(id)
    return by_cell


def assert_same_tables(here: CellTable, there: CellTable) -> None:
    for name in ("code", "leaf", "count", "prior", "kind_cell", "kind_share"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name), err_msg=name)
    for name in ("prediction", "score", "probability"):
        np.testing.assert_array_equal(
            getattr(here.outputs, name), getattr(there.outputs, name), err_msg=name
        )
    assert here.leaves == there.leaves


def assert_same(workspace: Path, expected: MemoryPool, budget: int) -> None:
    """Check stratification, cell table, slices and reserve, all exactly."""
    found = Workspace(workspace)
    table = found.table
    assert_same_tables(table, expected.table)
    assert found.stratification.to_mapping() == expected.stratification.to_mapping()
    assert (found.slices.names, found.slices.values) == (
        expected.slices.names,
        expected.slices.values,
    )
    for here, there in zip(found.slices.counts, expected.slices.counts, strict=True):
        np.testing.assert_array_equal(here, there)
    held = reserve_of(workspace)
    assert set(held) == set(table.code.tolist())
    for index, code in enumerate(table.code.tolist()):
        size = min(int(table.count[index]), budget)
        ids = expected.ids(np.full(size, index), np.arange(size)).tolist()
        assert held[code] == ids
    assert_same_rows(workspace, expected)


def assert_same_rows(workspace: Path, expected: MemoryPool) -> None:
    """Check outputs, slices and payload of the rows of the reserve."""
    assert expected.reserve.rows is not None
    told = [n for n in expected.reserve.rows.column_names if n not in ("cell", "file", "row")]
    held = pq.read_table(workspace / "reserve", columns=told)
    rows = expected.reserve.rows.select(told)
    rows = rows.filter(pc.is_in(rows["id"], value_set=held["id"].combine_chunks()))
    there = {row["id"]: repr(row) for row in rows.to_pylist()}  # NaN equals itself as text
    assert len(there) == len(held)
    for row in held.to_pylist():
        assert repr({name: row[name] for name in told}) == there[row["id"]]


def assert_same_evaluation(job: Job, rounds: int = 2, size: int = 20) -> list[Any]:
    """Check that rounds drawn from the workspace are those drawn in memory; return estimates."""
    pool = reference(job)
    assert_same(job.workspace, pool, pool.spec.budget)
    evaluation = Evaluation.from_spec(pool.spec, pool.table, pool.stratification, pool.slices)
    evaluation.pool = pool
    rng = np.random.default_rng(1)
    for number in range(1, rounds + 1):
        sampled = job.sample().json
        ids = evaluation.sample(size)
        asked = job.asked(number)
        assert sampled["rows"] == len(ids)
        assert [id for _, id in asked] == ids.tolist()
        draws = pq.read_table(job.round_directory(number) / "draws.parquet")
        drawn = evaluation.history.rounds[-1]
        np.testing.assert_array_equal(draws["q"].to_numpy(), drawn.probability)
        np.testing.assert_array_equal(draws["question"].to_numpy() - 1, drawn.question)
        labels = np.array([job.pool.truth[id] for id in ids.tolist()])
        if pool.spec.labels.oracle == "stochastic":
            labels = np.where(rng.random(len(labels)) < 0.2, 1 - labels, labels)
        evaluation.label(ids, labels)
        rows = [(task, str(label)) for (task, _), label in zip(asked, labels, strict=True)]
        path = job.deliver(rows, f"labels-{number}.csv")
        told = job.estimate("--labels", path).json
        assert (told["labels"], told["rejects"]) == (len(evaluation.history), 0)
        expected = [as_json(estimate) for estimate in evaluation.estimate()]
        assert told["measures"] == json.loads(json.dumps(expected))
    return expected


@pytest.fixture
def merged(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many accumulators each merge of Beam's was given."""
    sizes: list[int] = []
    merge = SumFn.merge_accumulators

    def counting(self: SumFn, accumulators: Any) -> Any:
        known = list(accumulators)
        sizes.append(len(known))
        return merge(self, iter(known))

    monkeypatch.setattr(SumFn, "merge_accumulators", counting)
    return sizes


@pytest.mark.parametrize("text_ids", [False, True], ids=["integers", "text"])
@pytest.mark.parametrize(("files", "group_rows", "workers"), SHARDINGS)
def test_prepare_equals_memory(
    job: Any, files: int, group_rows: int, workers: int, text_ids: bool
) -> None:
    one = job(make_pool(text_ids=text_ids), files, group_rows, budget=30)
    assert one.prepare("--runner=FnApiRunner", f"--direct_num_workers={workers}").status == 0
    assert_same(one.workspace, reference(one), budget=30)


def test_merging_is_forced_and_changes_nothing(job: Any, merged: list[int]) -> None:
    one = job(files=5, group_rows=40, budget=30)
    spec = EvaluationSpec.load(one.spec)
    options = parse_options(["--runner=FnApiRunner", "--direct_num_workers=4", THREADS])
    prepare_pipeline.prepare(spec, options)
    assert max(merged) > 1, "no accumulators met: the test would prove nothing"
    assert_same(one.workspace, reference(one), budget=30)


CLASSES = {"classes": [0, 1, 2], "positive": 2}
BY_CLASS = {"probability": {y: f"s0.p{y}" for y in range(3)}}
SCORED = {"score": "s0.score", "prediction": "s0.prediction"}
CASES: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "csf": ({}, {"pool": SCORED, "measure": ["f1", "brier", "accuracy"]}),
    "geometric": (
        {},
        {
            "pool": {"score": "size", "prediction": {"threshold": 3}},
            "strata": {"method": "geometric", "leaves": 12},
        },
    ),
    "equal width": (
        {},
        {
            "pool": {**SCORED, "score": "s0.chance"},
            "strata": {"method": "equal_width", "leaves": 9, "branching": 3},
            "measure": ["recall", "log_loss"],
        },
    ),
    "equal count": (
        {},
        {"pool": SCORED, "strata": {"method": "equal_count", "leaves": 20}, "measure": "mcc"},
    ),
    "edges": (
        {},
        {
            "pool": {**SCORED, "probability": "s0.chance"},
            "strata": {"edges": [-2.5, -1, 0.25, 1, 99]},
        },
    ),
    "kd": (
        {},
        {
            "pool": {"features": ["x", "y"], "prediction": "s0.prediction", "slices": ["new"]},
            "strata": {"method": "kd", "leaves": 12},
            "measure": ["f1", "accuracy"],
        },
    ),
    "kd beside a score": (
        {},
        {
            "pool": {**SCORED, "features": ["x", "size"]},
            "strata": {"method": "kd", "leaves": 7},
            "measure": ["f1", "brier"],
        },
    ),
    "systems": (
        {"systems": 3},
        {
            "pool": {
                "systems": {
                    "old": {"score": "s0.score", "prediction": {"threshold": 0.5}},
                    "new": {
                        "score": "s1.chance",
                        "prediction": "s1.prediction",
                        "probability": {0: "s1.p0", 1: "s1.p1"},
                    },
                    "rules": {"prediction": "s2.prediction"},
                },
                "slices": ["year"],
            },
            "measure": [
                "f1",
                {"name": "brier", "system": "new"},
                {"name": "log_loss", "system": "old"},
                {"name": "roc_auc", "system": "new", "thresholds": 9},
            ],
        },
    ),
    "systems and a score of their own": (
        {"systems": 2},
        {
            "pool": {
                "score": "size",
                "probability": "s0.chance",
                "systems": {
                    "old": {"score": "s0.score", "prediction": "s0.prediction"},
                    "new": {"score": "s1.score", "prediction": "s1.prediction"},
                },
            },
            "measure": [{"joint": [{"name": "f1", "system": "new"}, "recall"]}, "brier"],
        },
    ),
    "pooled signatures": (
        {"systems": 10},
        {
            "pool": {
                "score": "s0.score",
                "systems": {f"s{n}": {"prediction": f"s{n}.prediction"} for n in range(10)},
            },
            "strata": {"leaves": 300},
            "measure": ["f1", {"name": "accuracy", "system": "s4"}],
        },
    ),
    "slices": (
        {},
        {
            "pool": {**SCORED, "slices": ["city", "year", "new"]},
            "measure": ["f1", {"name": "precision", "calibrate": True}],
        },
    ),
    "curve": (
        {},
        {
            "pool": {**SCORED, "slices": ["new"]},
            "strata": {"leaves": 6},
            "measure": [{"name": "pr_curve", "thresholds": 40}, "f1", "average_precision"],
        },
    ),
    "classes": (
        {"classes": 3},
        {
            "pool": {"score": "s0.chance", "prediction": "s0.prediction", **BY_CLASS},
            "labels": CLASSES,
            "measure": ["macro_f1", "accuracy", {"name": "micro_f1", "over": [1, 2]}, "brier"],
        },
    ),
    "classes of systems": (
        {"classes": 3, "systems": 2},
        {
            "pool": {
                "systems": {
                    f"s{n}": {
                        "score": f"s{n}.chance",
                        "prediction": f"s{n}.prediction",
                        "probability": {y: f"s{n}.p{y}" for y in range(3)},
                    }
                    for n in range(2)
                }
            },
            "labels": CLASSES,
            "measure": ["f1_of_macro_averages", "log_loss"],
        },
    ),
    "stochastic oracle": (
        {},
        {
            "pool": {**SCORED, "slices": ["city"]},
            "labels": {"oracle": "stochastic"},
            "strata": {"leaves": 8},
        },
    ),
}


@pytest.mark.parametrize(("files", "group_rows"), [(1, 1 << 20), (2, 333), (7, 50)])
@pytest.mark.parametrize("case", CASES)
def test_whole_evaluations_equal_memory(
    job: Any, merged: list[int], case: str, files: int, group_rows: int
) -> None:
    """Cells, reserve, two rounds and their estimates, for every kind of spec."""
    shape, keys = CASES[case]
    one = job(make_rich_pool(**shape), files, group_rows, budget=300, **keys)
    several = files > 2
    options = ["--direct_num_workers=4", THREADS] if several else ["--direct_num_workers=2"]
    assert one.prepare("--runner=FnApiRunner", *options).status == 0
    assert not several or max(merged) > 1, "no accumulators met: the test would prove nothing"
    assert_same_evaluation(one)


def test_the_cases_are_what_they_are_called(job: Any) -> None:
    """So that the comparisons above are about something."""
    pools = {
        case: reference(job(make_rich_pool(**shape), budget=300, **keys))
        for case, (shape, keys) in CASES.items()
    }
    stratifications = {case: pool.stratification for case, pool in pools.items()}
    assert stratifications["kd"].tree is not None
    assert (stratifications["kd"].prior, stratifications["kd"].rules) == ("even", ("none",))
    assert np.all(pools["kd"].table.prior == 0.5)
    assert stratifications["kd beside a score"].prior == "expit(score)"
    assert stratifications["systems"].rules == ("expit(score)", "column", "none")
    assert stratifications["systems and a score of their own"].prior == "column"
    assert not stratifications["systems and a score of their own"].binned_by_score
    assert len(stratifications["curve"].bin_edges) > 40 > len(stratifications["curve"].edges)
    assert stratifications["equal width"].prior == "score"
    pooled = pools["pooled signatures"]
    assert pooled.spec.needs_signature_counts
    assert len(stratifications["pooled signatures"].signatures.pooled) > 1
    assert len(pooled.table.kind_cell) > len(pooled.table)
    assert pooled.stratification.grid.cells <= 4096
    assert pools["slices"].slices.values == (
        ("Bern", "Genève", "Zürich", "null"),
        ("2019", "2020", "2021", "null"),
        ("false", "null", "true"),
    )
    for counts in pools["slices"].slices.counts:
        np.testing.assert_array_equal(counts.sum(axis=0), pools["slices"].table.count)
    assert pools["classes of systems"].table.outputs.probability.shape[1:] == (2, 3)


def test_slices_counted_by_hand(job: Any) -> None:
    shape, keys = CASES["slices"]
    rows = make_rich_pool(**shape)
    one = job(rows, files=3, budget=300, **keys)
    one.prepare()
    found = Workspace(one.workspace).slices
    for name, values, counts in zip(found.names, found.values, found.counts, strict=True):
        column = rows.table[name].to_pylist()
        texts = ["null" if v is None else str(v).replace("False", "false").replace("True", "true")
                 for v in column]  # fmt: skip
        assert dict(zip(values, counts.sum(axis=1).tolist(), strict=True)) == Counter(texts)


SAMPLERS: dict[str, Any] = {
    "passive": "passive",
    "stratified": "stratified",
    "importance": {"name": "importance", "delta": 0.1},
    "oasis": {"name": "oasis", "epsilon": 0.05, "draws": 25},
    "ais": {"name": "ais", "model": "scores", "delta": 0.2},
    "given": {"name": "given", "weights": "own_weights:by_leaf"},
}


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_samplers_through_the_workspace_equal_memory(job: Any, sampler: str) -> None:
    """Three rounds, each started from the files alone, the second growing."""
    one = job(
        make_rich_pool(),
        files=2,
        pool={**SCORED, "slices": ["city"]},
        measure=["f1", "precision", "recall"],
        sampler=SAMPLERS[sampler],
    )
    (one.directory / "own_weights.py").write_text(
        "def by_leaf(table, history):\n    return 1.0 + table.leaf + len(history.rounds)\n"
    )
    assert one.prepare().status == 0
    estimates = assert_same_evaluation(one, rounds=3)
    design = json.loads((one.round_directory(3) / "design.json").read_text())
    assert design["sampler"]["name"] == sampler
    assert {told["slice"] for told in estimates} >= {None, "city=Zürich", "city=null"}


@pytest.mark.parametrize("case", CASES)
def test_summaries_merge(job: Any, case: str) -> None:
    """Whatever the first pass looks for, its parts add up in any order and grouping."""
    shape, keys = CASES[case]
    rows = make_rich_pool(**shape)
    spec = EvaluationSpec.load(job(rows, budget=300, **keys).spec)
    if not Wanted.of(spec).anything:
        assert case == "edges"
        assert Stratification.given(spec) is not None
        return
    batch = rows.table.combine_chunks().to_batches()[0]
    cuts = [0, 1, 1, 500, 503, 1200, 1500]
    parts = [
        summarize(PoolBatch(batch.slice(begin, end - begin)), spec)
        for begin, end in itertools.pairwise(cuts)
    ]
    zero = summarize(PoolBatch(batch.slice(0, 0)), spec)

    def same(one: PoolSummary, other: PoolSummary) -> bool:
        return one.to_bytes() == other.to_bytes()

    assert_mergeable(parts, zero, same)
    whole = summarize(PoolBatch(batch), spec)
    assert same(sum(parts, start=zero), whole)
    assert whole.rows == 1500
    for kind, wanted in [
        (whole.histogram, Wanted.of(spec).histogram_bins > 0),
        (whole.signatures, Wanted.of(spec).signatures),
        (whole.features, Wanted.of(spec).features),
    ]:
        assert (kind is not None) == wanted


@pytest.mark.parametrize("case", CASES)
def test_rows_known_from_the_first_pass_are_in_their_cells(job: Any, case: str) -> None:
    """What it says of the rows of a cell is never too much, and all if edges are cut from it.

    Of k-d trees and of more than eight signatures it says nothing.
    """
    shape, keys = CASES[case]
    rows = make_rich_pool(**shape)
    spec = EvaluationSpec.load(job(rows, budget=300, **keys).spec)
    if Stratification.given(spec) is not None:
        return
    batch = PoolBatch(rows.table.combine_chunks().to_batches()[0])
    summary = summarize(batch, spec)
    stratification = Stratification.from_summary(summary, spec)
    count = assign_cells(batch, spec, stratification).sums().count.astype(np.int64)
    least = stratification.known_rows(summary)
    assert (least <= count).all()
    if case in ("csf", "equal count", "slices", "classes"):
        np.testing.assert_array_equal(least, count)
    unknown = ("kd", "kd beside a score", "pooled signatures", "classes of systems")
    assert least.sum() == 0 if case in unknown else least.sum() > 0.8 * count.sum()


def test_limits_from_the_first_pass_change_nothing(job: Any, monkeypatch: Any) -> None:
    """Most rows fall at once, and the reserve is what it is without limits."""
    one = job(make_pool(20_000), files=3, group_rows=1000, budget=15)
    taken: list[int] = []
    add = ReserveBuilder.add

    def counting(self: ReserveBuilder, cells: Any) -> int:
        taken.append(add(self, cells))
        return taken[-1]

    monkeypatch.setattr(ReserveBuilder, "add", counting)
    assert one.prepare().status == 0
    with_limits, taken = sum(taken), []
    assert_same(one.workspace, reference(one), budget=15)
    assert with_limits < 0.6 * 20_000


@pytest.mark.usefixtures("one_key")
def test_same_seed_same_batch_whatever_the_sharding(job: Any) -> None:
    pool = make_pool(seed=3)
    batches = []
    for files, group_rows in [(1, 1 << 20), (4, 100), (7, 33)]:
        one = job(pool, files, group_rows)
        assert one.prepare().status == 0
        for number in (1, 2):
            assert one.sample().json["round"] == number
            assert one.estimate("--labels", one.deliver(one.answers(number))).status == 0
        draws = [pq.read_table(one.round_directory(n) / "draws.parquet") for n in (1, 2)]
        batches.append((one.batch(1), one.batch(2), *(table.to_pydict() for table in draws)))
    assert batches[0] == batches[1] == batches[2]


def test_another_seed_another_batch(job: Any) -> None:
    chosen = []
    for seed in (1, 2):
        one = job(seed=seed)
        one.prepare()
        one.sample()
        chosen.append(set(one.batch(1)["id"]))
    assert chosen[0] != chosen[1]


def test_sample_and_estimate_as_pipelines_give_the_same(job: Any) -> None:
    results = []
    for runner in ([], ["--runner=FnApiRunner"]):
        one = job(measure=["f1", "recall", "accuracy"])
        one.prepare()
        seen = []
        for number in (1, 2, 3):
            sampled = one.sample(*runner).json
            delivery = one.deliver(one.answers(number)[: 20 - number], f"{number}.csv")
            estimated = one.estimate("--labels", delivery, "--close", *runner)
            draws = pq.read_table(one.round_directory(number) / "draws.parquet").to_pydict()
            seen.append((sampled["rows"], sampled["reason"], draws, estimated.json))
        results.append(seen)
    assert results[0] == results[1]


@pytest.mark.parametrize("probability", ["column", "by class", "score"])
def test_probabilities(job: Any, probability: str) -> None:
    pool = make_pool()
    p = 1 / (1 + np.exp(-pool.table["score"].to_numpy()))
    table = pool.table.append_column("p", pa.array(p)).append_column("n", pa.array(1 - p))
    if probability == "score":
        table = table.set_column(1, "score", pa.array(p))
    given = {"column": {"probability": "p"}, "by class": {"probability": {0: "n", 1: "p"}}}
    one = job(Pool(table, pool.truth), files=3, pool=given.get(probability, {}), budget=30)
    assert one.prepare().status == 0
    assert_same(one.workspace, reference(one), budget=30)
    kept = Workspace(one.workspace).table
    assert kept.prior[:, 1] @ kept.count == pytest.approx(p.sum(), rel=1e-6)
    assert Workspace(one.workspace).stratification.prior == (
        "score" if probability == "score" else "column"
    )


@pytest.mark.parametrize("prior", ["column", "score"])
def test_explicit_edges(job: Any, prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves as given, one of them empty; with prior probabilities given too, one pass."""
    pool = make_pool()
    p = 1 / (1 + np.exp(-pool.table["score"].to_numpy()))
    named = {"probability": "p"} if prior == "column" else {}
    edges = {"edges": [-3.0, -1.5, 0.0, 2.0, 900.0]}
    table = Pool(pool.table.append_column("p", pa.array(p)), pool.truth)
    one = job(table, files=3, pool=named, strata=edges, budget=300)
    read = []
    fetch = formats.read_batches

    def counting(item: Any, columns: Any, payload: Any) -> Any:
        read.append(item.rows)
        return fetch(item, columns, payload)

    monkeypatch.setattr("evalsampling.transforms.pool.read_batches", counting)
    assert one.prepare().json["leaves"] == 6
    assert sum(read) == (2000 if prior == "column" else 4000)
    assert_same(one.workspace, reference(one), budget=300)
    assert one.sample().json["rows"] == 20
    assert one.estimate("--labels", one.deliver(one.answers(1))).json["labels"] == 20
    assert one.sample().json["rows"] == 20


def test_scorer_runs_once_and_gives_the_same_cells(job: Any) -> None:
    pool = make_pool()
    bare = Pool(
        pool.table.rename_columns(["id", "raw", "unused", "name"]),
        pool.truth,
    )
    scorer = {"scorer": "my_scorer:score", "prediction": {"threshold": 1.0}}
    one = job(bare, files=3, group_rows=77, pool=scorer)
    (one.directory / "my_scorer.py").write_text(
        "import pathlib\n"
        "def score(batch):\n"
        "    calls = pathlib.Path(__file__).with_name('calls')\n"
        "    with calls.open('a') as file: file.write(f'{len(batch)}\\n')\n"
        "    return batch.append_column('score', batch.column('raw'))\n"
    )
    assert one.prepare().status == 0
    rows = [int(line) for line in (one.directory / "calls").read_text().split()]
    assert sum(rows) == len(pool.table)
    plain = job(pool, pool={"prediction": {"threshold": 1.0}})
    plain.prepare()
    assert_same_tables(Workspace(one.workspace).table, Workspace(plain.workspace).table)
    assert reserve_of(one.workspace) == reserve_of(plain.workspace)


def test_simulation_sees_the_same_cells(job: Any) -> None:
    one = job(files=3, group_rows=90)
    truth = one.directory / "truth.parquet"
    labels = {"id": list(one.pool.truth), "label": list(one.pool.truth.values())}
    pq.write_table(pa.table(labels), truth)
    spec = EvaluationSpec.load(one.spec)
    known = KnownPool.read(spec, stratify_pool(spec), truth)
    expected = reference(one)
    assert_same_tables(known.table, expected.table)
    for index, count in enumerate(known.labels):
        ids = expected.ids(np.full(count.sum(), index), np.arange(count.sum()))
        assert count[1] == sum(one.pool.truth[id] for id in ids.tolist())


def test_labels_of_transforms_are_verbs_in_camel_case(job: Any) -> None:
    from evalsampling.commands.prepare import Preparation

    names: set[str] = set()
    one = job()
    root = beam.Pipeline(options=parse_options([]))
    spec = EvaluationSpec.load(one.spec)
    prepare_pipeline.build(root, Preparation.of(spec, Run("none"), check_ids=True))

    class Visitor(beam.pipeline.PipelineVisitor):
        def enter_composite_transform(self, node: Any) -> None:
            names.add(node.full_label)

    root.visit(Visitor())
    ours = {part for name in names for part in name.split("/")[:2] if part}
    assert {"SummarizePool", "FetchCells", "DrawReserve", "CheckIds"} <= ours
    assert all(part[0].isupper() and " " not in part for part in ours)
    assert call("prepare", one.spec).status == 0
