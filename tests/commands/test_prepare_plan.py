"""Every engine makes the same of a plan: the workspace, and the sample without one."""

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.commands.prepare import PrepareResult
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.pool.batch import PoolBatch
from evalsampling.spec import EvaluationSpec
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.bad_pools import BAD
from tests.cases import CASES
from tests.drawn_by_row import poisson_sample
from tests.engines import ENGINES, KEEPING, WITHOUT_BEAM, Case, StartSpark, on_engines, pairs
from tests.jobs import Job, Pool, make_pool, make_rich_pool
from tests.many_labels import Tagged
from tests.pairs import IDS, nested_pool, pair_pool
from tests.reference import assert_same, reference

SOME = ("systems", "slices", "pooled signatures", "kd with its own tree", "hierarchy of columns",
        "weights and costs")  # fmt: skip
"""Cases of which other engines make what shares make of all."""

SCORER = """\
import pathlib, numpy as np, pyarrow as pa
def score(batch):
    with (pathlib.Path(__file__).parent / 'calls').open('a') as calls:
        calls.write(f'{len(batch)}\\n')
    return batch.append_column('chance', pa.array(1 / (1 + np.exp(-batch['score'].to_numpy()))))
"""


@pytest.mark.parametrize(
    ("engine", "case"),
    on_engines([(case,) for case in CASES], [(case,) for case in SOME], WITHOUT_BEAM),
)
def test_the_same_workspace(job: Any, start_spark: StartSpark, engine: Case, case: str) -> None:
    shape, keys = CASES[case]
    one = job(make_rich_pool(**shape), files=3, group_rows=150, budget=300, **keys)
    engine.prepare(EvaluationSpec.load(one.spec), start_spark, False)
    assert_same(one.workspace, reference(one), budget=300)


@pytest.mark.parametrize(
    ("engine", "score"), on_engines([(None,), ("score",)], [("score",)], by_beam=0)
)
def test_many_labels(job: Any, start_spark: StartSpark, engine: Case, score: str | None) -> None:
    """With strata cut from a score, or from the numbers of labels expected right and wrong."""
    one = job_of_tags(job, score)
    engine.prepare(EvaluationSpec.load(one.spec), start_spark, False)
    assert_same(one.workspace, reference(one), budget=90)


@pytest.mark.parametrize(
    ("engine", "score"), on_engines([(None,), ("score",)], [("score",)], KEEPING, 0)
)
def test_a_poisson_sample_of_many_labels(job: Any, engine: Case, score: str | None) -> None:
    one = job_of_tags(job, score)
    path, spec = one.directory / "pool.parquet", EvaluationSpec.load(one.spec)
    pq.write_table(one.pool.table, path, row_group_size=300)
    kept = engine.keep(path, spec, False)
    assert 60 < len(kept) < 120
    assert kept == pairs(poisson_sample(spec.analysis, False))


def job_of_tags(job: Any, score: str | None) -> Job:
    """A job whose rows have any number of twenty labels."""
    tagged = Tagged.make(600, 20)
    keys = tagged.spec()
    keys["pool"] |= {"payload": [], "score": score}
    keys["strata"] = {"leaves": 16}
    return job(Pool(pa.table(tagged.columns()), {}), files=3, group_rows=150, budget=90, **keys)


@pytest.mark.parametrize(
    ("engine", "suffix"), on_engines([("csv",), ("jsonl",)], [("csv",)], by_beam=0)
)
def test_rows_of_text(job: Any, start_spark: StartSpark, engine: Case, suffix: str) -> None:
    pool = make_pool().with_text_ids() if suffix == "csv" else make_pool()
    one = job(pool, budget=30)
    pattern = pool.write_as(suffix, one.directory / "text", files=3)
    one.spec.write_text(one.spec.read_text().replace("pool/*.parquet", f"text/{pattern.name}"))
    engine.prepare(EvaluationSpec.load(one.spec), start_spark, False)
    assert_same(one.workspace, reference(one), budget=30)


@pytest.mark.parametrize(
    ("engine", "strata"),
    on_engines(
        [({"leaves": 16},), ({"edges": [0.02, 0.1, 0.5]},)], [({"edges": [0.02, 0.1, 0.5]},)]
    ),
)
def test_scored_once_and_read_from_there(
    job: Any, start_spark: StartSpark, engine: Case, strata: dict[str, Any]
) -> None:
    """Also where the strata are given, so that scoring is all that there is to the first pass."""
    module = f"logistic_{uuid.uuid4().hex}"  # A module is loaded once by a process.
    keys = {"scorer": f"{module}:score", "score": "chance", "probability": "chance"}
    one = job(make_pool(), files=3, group_rows=150, budget=30, strata=strata, pool=keys)
    (one.directory / f"{module}.py").write_text(SCORER)
    engine.prepare(EvaluationSpec.load(one.spec), start_spark, True)
    assert sum(map(int, (one.directory / "calls").read_text().split())) == 2000
    chance = 1 / (1 + np.exp(-one.pool.table["score"].to_numpy()))
    scored = one.pool.table.append_column("chance", [chance])
    batch = PoolBatch(scored.combine_chunks().to_batches()[0])
    assert_same(one.workspace, MemoryPool.prepare(EvaluationSpec.load(one.spec), batch), budget=30)


@pytest.mark.parametrize(("engine", "where"), on_engines([(None,), ("score < 9",)], [(None,)]))
def test_pairs_in_one_order(
    job: Any, start_spark: StartSpark, engine: Case, where: str | None
) -> None:
    """Of both orders the row stays whose left id comes first, in whatever files both are."""
    pool = pair_pool(600)
    again = pool.table.slice(0, 90)
    turned = again.set_column(0, IDS[0], again[IDS[1]]).set_column(1, IDS[1], again[IDS[0]])
    both = Pool(pa.concat_tables([turned, pool.table]), pool.truth)
    keys = {"id": IDS, "pairs": "unordered", "where": where}
    one = job(both, files=3, group_rows=150, budget=30, pool=keys)
    engine.prepare(EvaluationSpec.load(one.spec), start_spark, False)
    assert_same(one.workspace, reference(job(pool, budget=30, pool={"id": IDS})), budget=30)
    (warning,) = PrepareResult.of(PreparedPool.read(Workspace(one.workspace))).warnings
    assert warning.startswith("90 pairs were in the pool in both orders: of each the row stays")


@pytest.mark.parametrize(
    ("engine", "suffix"), on_engines([("parquet",), ("jsonl",)], [("jsonl",)], by_beam=0)
)
def test_fields_of_columns(job: Any, start_spark: StartSpark, engine: Case, suffix: str) -> None:
    flat, names = make_pool(), {"score": "result.score", "prediction": "result.said.label"}
    pool = job(nested_pool(flat), files=3, group_rows=150, budget=30, pool=names)
    if suffix != "parquet":
        pattern = pool.pool.write_as(suffix, pool.directory / "text", files=3)
        pool.spec.write_text(
            pool.spec.read_text().replace("pool/*.parquet", f"text/{pattern.name}")
        )
    engine.prepare(EvaluationSpec.load(pool.spec), start_spark, False)
    assert_same(pool.workspace, reference(job(flat, budget=30)), budget=30)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_all_ids_are_checked_on_request(job: Any, start_spark: StartSpark, engine: Case) -> None:
    rows = make_pool()
    ids = rows.table["id"].to_pylist()
    low = np.argsort(rows.table["score"].to_numpy())[:2]
    ids[low[1]] = ids[low[0]]
    doubled = rows.with_columns(id=ids)
    keys = {"files": 3, "budget": 1, "strata": {"leaves": 1}, "round_size": 1}
    engine.prepare(EvaluationSpec.load(job(doubled, **keys).spec), start_spark, False)
    with pytest.raises(InputError, match="duplicate id"):
        engine.prepare(EvaluationSpec.load(job(doubled, **keys).spec), start_spark, True)
    engine.prepare(EvaluationSpec.load(job(rows, **keys).spec), start_spark, True)


@pytest.mark.parametrize(
    ("engine", "name"),
    on_engines(
        [("missing column",), ("nan score",), ("duplicate id",), ("empty pool",)],
        [("duplicate id",), ("empty pool",)],
        WITHOUT_BEAM,
    ),
)
def test_a_bad_pool(job: Any, start_spark: StartSpark, engine: Case, name: str) -> None:
    make, words = BAD[name]
    one: Job = job(make(), files=2)
    with pytest.raises(InputError) as error:
        engine.prepare(EvaluationSpec.load(one.spec), start_spark, False)
    assert all(word in str(error.value) for word in words)
    assert len(str(error.value).splitlines()) == 1
    assert not one.workspace.exists()


# Of files that are all wrong, PySpark names the one whose task fails first.
BAD_PARTITIONS = [
    (["id"], "strata.columns: id: more than 16 leaves; coarser clusters, or a greater"),
    (["part", "fine"], "strata.columns: part, fine: more than 16 leaves; coarser clusters"),
    (
        ["score"],
        "column 'score', row 0: clusters are whole numbers, booleans, dates or text, got double: ",
    ),
    (["absent"], "column 'absent' is missing"),
]


@pytest.mark.parametrize(
    ("engine", "columns", "message"), on_engines(BAD_PARTITIONS, BAD_PARTITIONS[1:3], by_beam=0)
)
def test_a_bad_partition(
    job: Any, start_spark: StartSpark, engine: Case, columns: Any, message: str
) -> None:
    """Of `part` and `fine` each batch has few values, and the pool too many."""
    place = np.arange(2000)
    rows = make_pool().with_columns(part=place // 200, fine=place // 100)
    one = job(rows, files=5, strata={"leaves": 16, "columns": columns})
    with pytest.raises(InputError) as error:
        engine.prepare(EvaluationSpec.load(one.spec), start_spark, False)
    assert message in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert not one.workspace.exists()


SAMPLED = [
    (by_cell, strata)
    for by_cell in (False, True)
    for strata in ({"leaves": 16}, {"edges": [-1.0, 0.0, 1.0]})
]


@pytest.mark.parametrize(
    ("engine", "by_cell", "strata"), on_engines(SAMPLED, [SAMPLED[0], SAMPLED[3]], KEEPING)
)
def test_the_same_rows_of_a_poisson_sample(
    tmp_path: Path, engine: Case, by_cell: bool, strata: dict[str, Any]
) -> None:
    path = tmp_path / "pool.parquet"
    pq.write_table(make_pool().table, path, row_group_size=300)
    pool = {"path": str(path), "where": "score > -3"}
    content = {"pool": pool, "strata": strata, "budget": 200, "labels": {"classes": [0, 1]}}
    spec = EvaluationSpec.from_mapping(content, tmp_path)
    kept = engine.keep(path, spec, by_cell)
    assert kept == pairs(poisson_sample(spec.analysis, by_cell))
    assert len(kept) > 100
