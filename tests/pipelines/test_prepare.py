"""Beam gives what the in-memory path gives, however the pool is cut and merged."""

from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pool.formats import registry as formats
from evalsampling.preparation.reserve import ReserveBuilder
from evalsampling.spec import EvaluationSpec
from evalsampling.workspace.manifest import Run
from evalsampling.workspace.workspace import Workspace
from pipelines import prepare as prepare_pipeline
from pipelines.running import parse_options
from tests.cases import CASES
from tests.jobs import Pool, call, make_pool, make_rich_pool
from tests.reference import (
    assert_same,
    assert_same_evaluation,
    assert_same_tables,
    reference,
    reserve_of,
)

SHARDINGS = [
    pytest.param(1, 1 << 20, 1, id="one-group"),
    pytest.param(1, 100, 2, id="one-file-20-groups"),
    pytest.param(2, 333, 2, id="two-files"),
    pytest.param(7, 50, 4, id="seven-files-four-threads"),
]


THREADS = "--direct_running_mode=multi_threading"


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
