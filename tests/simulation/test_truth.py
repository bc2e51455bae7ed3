"""Pools read with their truth, against the rows themselves."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling.errors import InputError
from evalsampling.evaluation.specs import load_spec
from evalsampling.measures.build import build_measures
from evalsampling.preparation.plan import read_table, stratify_pool
from evalsampling.simulation.truth import KnownPool, _Grades
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import SliceCodes
from tests.queries import CUT, make_queries

ROWS = 3000


def make_rows() -> tuple[pa.Table, Outputs, np.ndarray]:
    """Two systems with scores and predictions; the probabilities are the scores."""
    rng = np.random.default_rng(0)
    label = (rng.random(ROWS) < 0.2).astype(int)
    score = 1 / (1 + np.exp(-rng.normal(3 * label[:, None] - 2, 1.5, (ROWS, 2))))
    prediction = (score > 0.5).astype(int)
    table = pa.table(
        {
            "id": np.arange(ROWS),
            "s0": score[:, 0],
            "s1": score[:, 1],
            "p0": prediction[:, 0],
            "p1": prediction[:, 1],
            "part": np.arange(ROWS) % 3,
        }
    )
    probability = np.stack([1 - score, score], axis=2)
    slices = SliceCodes({"part": ("1",)}, (table["part"].to_numpy() == 1)[:, None].astype(int))
    return table, Outputs(prediction, score, probability, slices=slices), label


def read(directory: Path, files: int, seed: int) -> tuple[KnownPool, EvaluationSpec]:
    """Write the rows, in some order, to some files; read them with their labels."""
    table, _, label = make_rows()
    order = np.random.default_rng(seed).permutation(ROWS) if seed else np.arange(ROWS)
    directory.mkdir()
    for number, part in enumerate(np.array_split(order, files)):
        pq.write_table(table.take(pa.array(part)), directory / f"part-{number}.parquet")
    pq.write_table(pa.table({"id": np.arange(ROWS), "label": label}), directory / "truth.parquet")
    spec = {
        "pool": {
            "path": str(directory / "part-*.parquet"),
            "id": "id",
            "score": "s0",
            "systems": {
                "old": {"prediction": "p0", "score": "s0"},
                "new": {"prediction": "p1", "score": "s1"},
            },
        },
        "measure": [
            "f1",
            "accuracy",
            {"name": "pr_curve", "thresholds": [0.3, 0.62]},
            {"name": "roc_auc", "thresholds": 20},
            "brier",
            {"name": "recall", "system": "new", "where": {"part": 1}},
        ],
        "strata": {"leaves": 8},
    }
    (directory / "spec.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    loaded = EvaluationSpec.load(directory / "spec.yaml")
    stratification = stratify_pool(loaded.reading)
    return KnownPool.read(stratification, directory / "truth.parquet"), loaded


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> tuple[KnownPool, EvaluationSpec]:
    return read(tmp_path_factory.mktemp("known") / "pool", 3, seed=0)


@pytest.mark.parametrize(
    "kind",
    [
        pa.bool_(),
        pa.float64(),
        pa.int8(),
        pa.string(),
        pa.large_string(),
        "codes",
        "text of floats",
    ],
)
def test_labels_of_every_type(tmp_path: Path, kind: Any) -> None:
    known, spec = read(tmp_path / "pool", 1, seed=0)
    path = tmp_path / "pool" / "truth.parquet"
    label = pq.read_table(path)["label"].combine_chunks()
    if kind == "text of floats":
        label = pa.array([f"{one}.0" for one in label.to_pylist()])
    else:
        label = label.cast(pa.string()).dictionary_encode() if kind == "codes" else label.cast(kind)
    pq.write_table(pa.table({"id": np.arange(ROWS), "label": label}), path)
    again = KnownPool.read(stratify_pool(spec.reading), path)
    np.testing.assert_array_equal(again.labels, known.labels)


def test_true_values_are_those_of_the_rows(known: tuple[KnownPool, EvaluationSpec]) -> None:
    """Exactly, but for probabilities, which are told apart to one part in 1,024: Brier scores are
    then right to the square of that."""
    pool, spec = known
    _, outputs, label = make_rows()
    measures = build_measures(stratify_pool(spec.reading).scores.stated(spec.reading))
    assert len(measures) == 16
    for measure in measures:
        truth = measure.value(measure.loss(outputs, label).mean(axis=0))
        tolerance = 1 / 1024**2 if "brier" in measure.name else 1e-12
        np.testing.assert_allclose(pool.value(measure), truth, rtol=0, atol=tolerance)


def test_kinds_are_cells_of_rows_alike(known: tuple[KnownPool, EvaluationSpec]) -> None:
    pool, spec = known
    assert pool.count.sum() == ROWS
    assert np.all(np.diff(pool.cell) >= 0)
    assert pool.systems == ("old", "new")
    np.testing.assert_array_equal(pool.labels.sum(axis=1), pool.table.count)
    _, _, label = make_rows()
    assert pool.labels.sum(axis=0).tolist() == np.bincount(label).tolist()
    np.testing.assert_array_equal(pool.outputs.prediction, pool.table.kinds.prediction[pool.cell])
    own = read_table(stratify_pool(spec.reading))
    np.testing.assert_array_equal(own.code, pool.table.code)
    np.testing.assert_array_equal(own.count, pool.table.count)
    np.testing.assert_array_equal(own.prior, pool.table.prior)


@pytest.mark.parametrize(("files", "seed"), [(1, 0), (5, 1)])
def test_kinds_do_not_depend_on_files_or_order(
    known: tuple[KnownPool, EvaluationSpec], tmp_path: Path, files: int, seed: int
) -> None:
    pool, _ = known
    other, _ = read(tmp_path / "pool", files, seed)
    np.testing.assert_array_equal(other.cell, pool.cell)
    np.testing.assert_array_equal(other.label, pool.label)
    np.testing.assert_array_equal(other.count, pool.count)
    np.testing.assert_array_equal(other.outputs.prediction, pool.outputs.prediction)
    np.testing.assert_allclose(other.outputs.score, pool.outputs.score, rtol=1e-12)
    np.testing.assert_allclose(other.outputs.probability, pool.outputs.probability, rtol=1e-12)


def test_equal_scores_reach_the_threshold_that_they_are_at(tmp_path: Path) -> None:
    """The mean of ten scores of .1 is below .1 by rounding; the truth is that of the rows."""
    rng = np.random.default_rng(0)
    score = np.round(rng.integers(1, 10, ROWS) / 10, 1)
    label = (rng.random(ROWS) < score).astype(int)
    columns = {"id": np.arange(ROWS), "score": score, "prediction": (score >= 0.5).astype(int)}
    pq.write_table(pa.table(columns), tmp_path / "pool.parquet")
    pq.write_table(pa.table({"id": np.arange(ROWS), "label": label}), tmp_path / "truth.parquet")
    thresholds = np.round(np.arange(1, 10) / 10, 1)
    content = {
        "pool": {"path": str(tmp_path / "pool.parquet")},
        "measure": [{"name": "pr_curve", "thresholds": thresholds.tolist()}],
        "budget": 100,
    }
    spec = EvaluationSpec.from_mapping(content, str(tmp_path))
    stratification = stratify_pool(spec.reading)
    known = KnownPool.read(stratification, tmp_path / "truth.parquet")
    [curve] = build_measures(stratification.scores.stated(spec.reading))
    reached = score >= thresholds[:, None]
    precision = [label[one].mean() for one in reached]
    recall = [label[one].sum() / label.sum() for one in reached]
    f1 = 2 / (1 / np.array(precision) + 1 / np.array(recall))
    np.testing.assert_allclose(known.value(curve), [*precision, *recall, *f1])


def test_an_id_that_is_there_twice_is_named(tmp_path: Path) -> None:
    ids = {"id": ["a", "b", "c", "b"]}
    pq.write_table(pa.table({**ids, "score": [0.1, 0.2, 0.3, 0.4]}), tmp_path / "pool.parquet")
    pq.write_table(pa.table({**ids, "label": [0, 1, 0, 1]}), tmp_path / "truth.parquet")
    pool = {"path": str(tmp_path / "pool.parquet"), "prediction": {"threshold": 0.2}}
    spec = EvaluationSpec.from_mapping({"pool": pool, "budget": 2}, str(tmp_path))
    with pytest.raises(InputError, match="'id', row 3: duplicate id 'b', also in row 1"):
        KnownPool.read(stratify_pool(spec.reading), tmp_path / "truth.parquet")


QUERIES = make_queries(60, seed=7)


def test_the_truth_is_that_of_all_queries(tmp_path: Path) -> None:
    spec = load_spec(QUERIES.write(tmp_path, files=2))
    stratification = stratify_pool(spec.reading)
    known = KnownPool.read(stratification, tmp_path / "truth.parquet")
    assert known.count.tolist() == [1] * len(QUERIES)
    assert np.bincount(known.cell, minlength=len(known.table)).tolist() == (
        known.table.count.tolist()
    )
    own = {name: [QUERIES.mean(ranker, name) for ranker in ("new", "old")]
           for name in ("dcg", "err")}  # fmt: skip
    expected = {
        f"difference(dcg@{CUT})": own["dcg"][0] - own["dcg"][1],
        f"difference(err@{CUT})": own["err"][0] - own["err"][1],
    }
    for requested in build_measures(spec.reading):
        measure = requested
        value = known.value(measure)[0]
        wanted = expected.get(measure.name, own["err"][measure.system])
        assert value == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"grade": [[1, 2], [0]]}, "column 'grade', row 1: 1 grades for 2 items"),
        ({"grade": [[1, 2], [0, 9]]}, "column 'grade', row 1: 9 is no grade"),
        ({"grade": [1, 2]}, "column 'grade', row 0: must be a list, got type int64"),
        ({"grade": [None, [1, 2]]}, "column 'grade', row 0: null; leave such rows out"),
    ],
)
def test_what_is_wrong_with_the_truth(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    spec = load_spec(QUERIES.write(tmp_path))
    path = tmp_path / "wrong.parquet"
    good = {"query": ["q0", "q1"], "doc": [["d0", "d1"], ["d0", "d1"]], "grade": [[0, 1], [2, 0]]}
    pq.write_table(pa.table(good | columns), path)
    with pytest.raises(InputError) as caught:
        _Grades.read(path, spec.reading)
    assert str(caught.value) == f"{path}: {message}"


def test_an_item_without_a_grade_is_named(tmp_path: Path) -> None:
    spec = load_spec(QUERIES.write(tmp_path))
    truth = pq.read_table(tmp_path / "truth.parquet").slice(1)
    pq.write_table(truth, tmp_path / "short.parquet")
    with pytest.raises(InputError, match=r"item 'q0/d[0-9]' has no grade"):
        KnownPool.read(stratify_pool(spec.reading), tmp_path / "short.parquet")
