"""Rankings from files: queries in, items out to be graded, gains back, in every format."""

import json
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from tests.jobs import call
from tests.queries import CUT, Queries, make_queries
from tests.slow import fast


@pytest.fixture
def queries() -> Queries:
    return make_queries()


def grades(workspace: Path, queries: Queries, number: int = 1) -> pa.Table:
    """Columns task and label of all items of a round."""
    batch = pq.read_table(workspace / f"rounds/{number:04d}/batch.parquet")
    label = [queries.grade_of[id] for id in batch["id"].to_pylist()]
    return pa.table({"task": batch["task"], "label": label})


def write(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, table.to_pylist())))
    else:
        pq.write_table(table.set_column(1, "label", table["label"].cast(pa.string())), path)
    return path


def expected(workspace: Path, queries: Queries, name: str, rounds: int = 1) -> float:
    """The mean of delta / (M q) over all draws, from the stored chances and the truth alone."""
    total = []
    for number in range(1, rounds + 1):
        draws = pq.read_table(workspace / f"rounds/{number:04d}/draws.parquet")
        for id, chance in zip(draws["id"].to_pylist(), draws["q"].to_pylist(), strict=True):
            query = queries.columns["query"].index(id)
            delta = queries.gain(query, "new", name) - queries.gain(query, "old", name)
            total.append(delta / (len(queries) * chance))
    return float(np.mean(total))


@pytest.mark.parametrize("suffix", fast(1, [".parquet", ".csv", ".jsonl"]))
def test_prepare_sample_and_estimate(tmp_path: Path, queries: Queries, suffix: str) -> None:
    spec, workspace = queries.write(tmp_path, files=2), tmp_path / "work"
    assert call("prepare", spec, "--in-process", "--json").json["rows"] == len(queries)
    drawn = call("sample", workspace, "--json").json
    shown = pyarrow.csv.read_csv(drawn["batch"])
    assert shown.column_names == ["task", "text", "title", "label"]
    assert len(shown) == drawn["rows"] > 20
    answers = write(grades(workspace, queries), tmp_path / f"answers{suffix}")
    told = call("estimate", workspace, "--labels", answers, "--json").json
    assert (told["labels"], told["open"], told["missing"]) == (20, 0, None)
    found = {(m["measure"], m["system"], m["against"], m["slice"]): m for m in told["measures"]}
    for name in ("dcg", "err"):
        one = found[f"{name}@{CUT}", "new", "old", None]
        assert one["value"] == pytest.approx(expected(workspace, queries, name))
        assert one["low"] < one["value"] < one["high"]
    assert found[f"dcg@{CUT}", "new", "old", "market=us"]["value"] is not None
    assert found[f"err@{CUT}", "new", None, None]["value"] is None
    call("sample", workspace)
    answers = write(grades(workspace, queries, 2), tmp_path / f"more{suffix}")
    told = call("estimate", workspace, "--labels", answers, "--json").json
    assert told["labels"] == 40
    assert told["measures"][0]["value"] == pytest.approx(expected(workspace, queries, "dcg", 2))


def as_format(queries: Queries, path: Path) -> None:
    """Write the pool with its lists as its format has them: arrays, or text with JSON."""
    table = pa.table(queries.columns)
    if path.suffix == ".csv":
        lists = [name for name in table.column_names if pa.types.is_list(table[name].type)]
        text = {name: list(map(json.dumps, table[name].to_pylist())) for name in lists}
        columns = {name: text.get(name, table[name]) for name in table.column_names}
        pyarrow.csv.write_csv(pa.table(columns), path)
    elif path.suffix == ".jsonl":
        path.write_text("\n".join(map(json.dumps, table.to_pylist())))
    else:
        numbers = {"type": "array", "items": ["null", "double"]}
        kinds = {"doc": {"type": "array", "items": "string"}, "new": numbers, "old": numbers,
                 "chances": {"type": "array", "items": numbers}, "cost": "double"}  # fmt: skip
        kinds["title"] = kinds["doc"]
        fields = [{"name": one, "type": kinds.get(one, "string")} for one in table.column_names]
        with path.open("wb") as file:
            fastavro.writer(file, {"type": "record", "name": "query", "fields": fields},
                            table.to_pylist())  # fmt: skip


@pytest.mark.parametrize("suffix", fast(1, ["jsonl", "csv", "avro"]))
def test_pools_of_every_format_are_sampled_alike(
    tmp_path: Path, queries: Queries, suffix: str
) -> None:
    """Tasks show what those of the same pool in Parquet do."""
    batches = []
    for pattern in ("pool/*.parquet", f"pool.{suffix}"):
        folder = tmp_path / pattern.rpartition(".")[2]
        folder.mkdir()
        as_format(queries, folder / f"pool.{suffix}")
        spec = queries.write(folder, pool={"path": pattern})
        call("prepare", spec, "--in-process")
        drawn = call("sample", folder / "work", "--json").json
        shown = pyarrow.csv.read_csv(drawn["batch"]).select(["text", "title"])
        batches.append(shown.sort_by([("text", "ascending"), ("title", "ascending")]))
    assert batches[0] == batches[1]
    assert len(batches[0]) > 20


def test_annotators_see_items_and_neither_ranks_nor_scores(
    tmp_path: Path, queries: Queries
) -> None:
    spec, workspace = queries.write(tmp_path), tmp_path / "work"
    call("prepare", spec, "--in-process")
    call("sample", workspace)
    batch = pq.read_table(workspace / "rounds/0001/batch.parquet")
    assert batch.column_names == ["task", "id", "kind", "payload.text", "payload.title"]
    for row in batch.to_pylist():
        query, item = row["id"].split("/")
        assert row["payload.text"] == f"text {query[1:]}"
        assert row["payload.title"] == f"title {query[1:]}.{item[1:]}"
    drawn = pq.read_table(workspace / "rounds/0001/draws.parquet")
    asked = drawn.filter(drawn["new"])["id"].to_pylist()
    listed = {
        f"{id}/d{place}"
        for id in asked
        for query in [queries.columns["query"].index(id)]
        for ranker in ("new", "old")
        for place in queries.ranked(query, ranker)
    }
    assert sorted(listed) == sorted(batch["id"].to_pylist())


def test_a_query_counts_once_its_last_item_is_graded(tmp_path: Path, queries: Queries) -> None:
    spec, workspace = queries.write(tmp_path), tmp_path / "work"
    call("prepare", spec, "--in-process")
    call("sample", workspace)
    all_items = grades(workspace, queries)
    most = write(all_items.slice(1), tmp_path / "most.csv")
    told = call("estimate", workspace, "--labels", most, "--json").json
    assert (told["labels"], told["open"]) == (19, 1)
    assert told["missing"]["open"] == 1
    assert told["missing"]["bounds"] == []
    assert call("sample", workspace, "--json").json["round"] == 1
    last = write(all_items.slice(0, 1), tmp_path / "last.csv")
    told = call("estimate", workspace, "--labels", last, "--json").json
    assert (told["labels"], told["open"]) == (20, 0)
    assert told["measures"][0]["value"] == pytest.approx(expected(workspace, queries, "dcg"))
    wrong = write(pa.table({"task": [all_items["task"][0].as_py()], "label": [7]}),
                  tmp_path / "wrong.csv")  # fmt: skip
    assert "label '7' is none of: 0, 1, 2" in call("estimate", workspace, "--labels", wrong).err


def test_beam_prepares_what_one_process_prepares(tmp_path: Path, queries: Queries) -> None:
    found = []
    for name, files, flags in [("a", 1, ["--in-process"]), ("b", 3, [])]:
        folder = tmp_path / name
        folder.mkdir()
        spec = queries.write(folder, files)
        assert call("prepare", spec, *flags).status == 0
        call("sample", folder / "work")
        cells = pq.read_table(folder / "work/cells.parquet").to_pydict()
        batch = pq.read_table(folder / "work/rounds/0001/batch.parquet")["id"].to_pylist()
        found.append((cells, sorted(batch)))
    assert found[0] == found[1]


@pytest.mark.parametrize("format", ["jsonl", "parquet", "vendor", "label-studio"])
def test_items_go_out_in_every_format(tmp_path: Path, queries: Queries, format: str) -> None:
    spec = queries.write(tmp_path, sink={"format": format})
    call("prepare", spec, "--in-process")
    drawn = call("sample", tmp_path / "work", "--json").json
    assert Path(drawn["batch"]).exists()
    if format == "label-studio":
        (tasks,) = Path(drawn["batch"]).glob("tasks-*.json")
        assert len(json.loads(tasks.read_text())) == drawn["rows"]


def test_other_commands(tmp_path: Path, queries: Queries) -> None:
    spec, workspace = queries.write(tmp_path), tmp_path / "work"
    call("prepare", spec, "--in-process")
    call("sample", workspace)
    answers = write(grades(workspace, queries), tmp_path / "answers.csv")
    call("estimate", workspace, "--labels", answers)
    assert call("status", workspace, "--json").json["labels"] == 20
    assert call("report", workspace, "--to", tmp_path / "report.html").status == 0
    assert f"dcg@{CUT}" in (tmp_path / "report.html").read_text()
    votes: Any = call("export", workspace, "--to", tmp_path / "votes.csv", "--json").json
    assert votes["rows"] == len(grades(workspace, queries))
    failed = call("sample", "--adjudicate", workspace)
    assert failed.status == 1
    assert "no such batches of items" in failed.err
    before = pq.read_table(workspace / "rounds/0001/batch.parquet")
    query = before["id"][0].as_py().partition("/")[0]
    assert call("forget", workspace, query).status == 0
    after = pq.read_table(workspace / "rounds/0001/batch.parquet").to_pylist()
    assert {row["payload.title"] is None for row in after if row["id"].startswith(f"{query}/")} == {
        True
    }
    assert f"title {query[1:]}." not in (workspace / "rounds/0001/batch.csv").read_text()
    assert call("status", "--verify", workspace).status == 0
    assert call("estimate", workspace).status == 0


def test_values_of_each_ranker_come_with_their_difference(tmp_path: Path) -> None:
    """All 40 queries of a pool are drawn in the end: then the values are the pool's own."""
    queries = make_queries(40, seed=9)
    measure = [{"name": "dcg", "cut": CUT}, {"name": "err", "cut": 2}]
    spec, workspace = queries.write(tmp_path, measure=measure, round_size=40), tmp_path / "work"
    call("prepare", spec, "--in-process")
    call("sample", workspace)
    answers = write(grades(workspace, queries), tmp_path / "answers.csv")
    told = call("estimate", workspace, "--labels", answers, "--json").json
    found = {(m["measure"], m["system"], m["against"]): m for m in told["measures"]
             if m["slice"] is None}  # fmt: skip
    for name, cut in [("dcg", CUT), ("err", 2)]:
        values = {ranker: queries.mean(ranker, name, cut) for ranker in ("new", "old")}
        for ranker, value in values.items():
            assert found[f"{name}@{cut}", ranker, None]["value"] == pytest.approx(value)
        difference = values["new"] - values["old"]
        assert found[f"{name}@{cut}", "new", "old"]["value"] == pytest.approx(difference)


@pytest.mark.slow
def test_money_pays_for_queries_by_what_they_cost(tmp_path: Path, queries: Queries) -> None:
    """Rounds go on until the next query is expected to cost more than is left."""
    spec = queries.write(tmp_path, budget={"cost": 200}, round_size=15)
    workspace, spent = tmp_path / "work", 0.0
    call("prepare", spec, "--in-process")
    cost = dict(zip(queries.columns["query"], queries.columns["cost"], strict=True))
    for number in range(1, 9):
        drawn = call("sample", workspace, "--json").json
        if not drawn["rows"]:
            break
        answers = write(grades(workspace, queries, number), tmp_path / f"money-{number}.csv")
        told = call("estimate", workspace, "--labels", answers, "--json").json
        batch = pq.read_table(workspace / f"rounds/{number:04d}/batch.parquet")
        asked = {name.partition("/")[0] for name in batch["id"].to_pylist()}
        spent += sum(cost[id] for id in asked)
        assert told["cost"] == pytest.approx(spent)
    assert number > 2
    assert 200 - max(cost.values()) < spent <= 200


@pytest.mark.slow
def test_queries_drawn_by_their_costs_alone(tmp_path: Path, queries: Queries) -> None:
    """The baseline active_lambda: both rankers and their difference, over the sum of weights."""
    spec, workspace = queries.write(tmp_path, sampler="active_lambda"), tmp_path / "work"
    call("prepare", spec, "--in-process")
    call("sample", workspace)
    draws = pq.read_table(workspace / "rounds/0001/draws.parquet")
    place = [queries.columns["query"].index(id) for id in draws["id"].to_pylist()]
    chance, cost = draws["q"].to_numpy(), np.array(queries.columns["cost"])[place]
    assert np.corrcoef(np.log(chance), np.log(cost))[0, 1] < -0.95
    answers = write(grades(workspace, queries), tmp_path / "answers.csv")
    told = call("estimate", workspace, "--labels", answers, "--json").json["measures"]
    by_name = {(one["measure"], one["system"]): one["value"] for one in told
               if one["slice"] is None and one["against"] is None}  # fmt: skip
    for system in ("new", "old"):
        gain = np.array([queries.gain(query, system, "err") for query in place])
        expected = np.sum(gain / chance) / np.sum(1 / chance)
        assert by_name["err@4", system] == pytest.approx(expected)


def test_costs_alone_need_costs(tmp_path: Path, queries: Queries) -> None:
    spec = queries.write(tmp_path, sampler="active_lambda", pool={"cost": None})
    told = call("prepare", "--check", spec)
    assert told.status == 1
    assert "active_lambda: it needs pool.cost" in told.out + told.err


def test_there_is_no_plan(tmp_path: Path, queries: Queries) -> None:
    told = call("plan", queries.write(tmp_path))
    assert told.status == 1
    assert "pool.lists: there is no plan for rankings: `simulate` says what to expect" in told.err


@pytest.mark.slow
def test_simulate(tmp_path: Path, queries: Queries) -> None:
    spec, name = queries.write(tmp_path), f"dcg@{CUT} of new against old"
    told = call("simulate", spec, "--truth", tmp_path / "truth.parquet", "--repeats", "5",
                "--budgets", "30", "--json").json  # fmt: skip
    truth = queries.mean("new", "dcg") - queries.mean("old", "dcg")
    assert told["truth"][name] == pytest.approx(truth)
    assert {one["budget"] for one in told["results"]} == {30}


@pytest.mark.parametrize(
    ("titles", "message"),
    [
        (lambda lists: [7] * len(lists), "row 0: must be a list, got type int64"),
        (lambda lists: ["a", *lists[1:]], "row 0: is no list in JSON"),
        (lambda lists: [*lists[:3], "[]", *lists[4:]], "row 3: 0 values for the"),
    ],
)
def test_a_bad_column_of_what_is_shown_of_items_is_told_before_any_round(
    tmp_path: Path, queries: Queries, titles: Any, message: str
) -> None:
    spec, pool = queries.write(tmp_path), tmp_path / "pool/part-0.parquet"
    table = pq.read_table(pool)
    lists = list(map(json.dumps, table["title"].to_pylist()))
    place = table.column_names.index("title")
    pq.write_table(table.set_column(place, "title", pa.array(titles(lists))), pool)
    expected = f"{pool}: column 'title', {message}"
    assert any(
        one.startswith(expected)
        for one in call("prepare", "--check", spec, "--json").json["problems"]
    )
    assert expected in call("prepare", spec, "--in-process").err
    assert not (tmp_path / "work/evaluation.json").exists()
