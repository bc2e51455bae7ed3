"""Pairs of systems, and pools that were built to break the default, as benchmarks have them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import special

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
ROWS = 4_000


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two pools of one group."""
    place, rng = tmp_path_factory.mktemp("pools"), np.random.default_rng(3)
    for name in ("one", "two"):
        score = rng.normal(-3, 2, ROWS)
        label = rng.random(ROWS) < special.expit(score)
        columns = {"score": score, "probability": special.expit(score)}
        columns |= {"id": np.arange(ROWS), "prediction": (score > 0).astype(np.int8)}
        pq.write_table(pa.table(columns), place / f"{name}.parquet")
        truth = {"id": np.arange(ROWS), "label": label.astype(np.int8)}
        pq.write_table(pa.table(truth), place / f"{name}-truth.parquet")
    (place / "catalog.tsv").write_text("name\tgroup\ntwo\ttwins\none\ttwins\n")
    return place


def hits(system, label) -> int:  # type: ignore[no-untyped-def]
    """Positives that a system finds."""
    return int((system.prediction & label).sum())


@pytest.mark.parametrize("kind", ["thinned", "ranks", "weak", "near"])
def test_noise_leaves_the_share_of_hits_that_its_kind_says(folder: Path, kind: str) -> None:
    import system_pairs

    first, made, label = system_pairs.from_pool(folder, "one", kind)
    assert made.prediction.sum() == first.prediction.sum()
    kept = system_pairs.KINDS[kind].kept
    assert hits(made, label) == pytest.approx(kept * hits(first, label), abs=2)


def test_a_second_system_that_knows_something_finds_what_the_first_does_not(folder: Path) -> None:
    import system_pairs

    first, knows, label = system_pairs.from_pool(folder, "one", "knows")
    _, thinned, _ = system_pairs.from_pool(folder, "one", "thinned")
    # Both have lost the same by noise; of rows that the first ranks alike one of them knows more.
    missed = label & ~first.prediction
    assert (knows.prediction & missed).sum() > 1.3 * (thinned.prediction & missed).sum()


def test_another_threshold_has_the_same_scores_and_more_rows(folder: Path) -> None:
    import system_pairs

    first, made, _ = system_pairs.from_pool(folder, "two", "threshold")
    np.testing.assert_array_equal(made.score, first.score)
    assert made.prediction.sum() == 2 * first.prediction.sum()


def test_pairs_have_groups_and_kinds_in_turn(folder: Path) -> None:
    import system_pairs

    found = system_pairs.pairs(folder, folder / "models")
    assert {name: pair.group for name, pair in found.items() if pair.kind != "models"} == {
        "one": "twins",
        "two": "twins",
    }
    assert [found[name].kind for name in ("one", "two")] == list(system_pairs.KINDS)[:2]
    again = system_pairs.pairs(folder, folder / "models")
    for each, same in zip(found["two"].make()[:2], again["two"].make()[:2], strict=True):
        np.testing.assert_array_equal(each.score, same.score)


@pytest.mark.slow
def test_a_pair_is_run_in_both_orders_and_for_each_list_of_measures(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import corpus
    import corpus_settings
    import system_pairs

    told = [f"--pools={folder}", f"--results={tmp_path}", "--pairs", "--repeats=1", "--only=one"]
    assert corpus.main(["run", *told]) == 0
    runs = tmp_path / "pairs" / "runs"
    rows = pq.read_table(runs / "one" / "calibrated").to_pylist()
    assert {(row["order"], row["first"], row["budget"]) for row in rows} == {
        (order, first, budget)
        for order in ("ab", "ba")
        for first in system_pairs.DRAWN_FOR
        for budget in system_pairs.BUDGETS
    }
    a, b, label = system_pairs.from_pool(folder, "one", rows[0]["made"])
    truth = {
        name: 2 * hits(one, label) / (one.prediction.sum() + label.sum())
        for name, one in {"a": a, "b": b}.items()
    }
    for row in rows:
        if row["measure"] == "f1":
            other = truth.get(row["against"], 0.0)
            assert row["truth"] == pytest.approx(truth[row["system"]] - other)
    assert corpus.main(["report", "--pairs", f"--results={tmp_path}"]) == 0
    printed = capsys.readouterr().out
    assert "| difference of f1 | difference | 600 |" in printed
    assert "Named in the other order" in printed
    settings = corpus_settings.by_columns(tmp_path / "pairs", "ais", ("order", "against"))
    assert {*settings} == {("ab", "None"), ("ab", "b"), ("ba", "None"), ("ba", "a")}


@pytest.mark.parametrize(("gap", "share"), [(0.0, "0.0%"), (0.1, "50.0%")])
def test_whether_the_order_of_names_matters_is_told(tmp_path: Path, gap: float, share: str) -> None:
    import pairs_report
    import trials
    from blocks import Block

    rows = []
    for system, against in (("a", None), ("a", "b")):
        row = {"pool": "one", "repeat": 0, "first": "f1", "budget": 300, "measure": "f1"}
        row |= {"system": system, "against": against, "order": "ab"}
        row |= {"value": 0.3, "low": 0.2, "high": 0.4}
        turned = row | {"order": "ba"}
        if against is not None:
            turned |= {"system": "b", "against": "a", "value": gap - 0.3}
            turned |= {"low": -0.4, "high": -0.2}
        rows += [row, turned]
    Block("one", "calibrated", 0, 1).write(rows, trials.SCHEMA, tmp_path)
    told = " ".join(pairs_report.order_matters(tmp_path))
    assert f"{share} of the estimates change" in told
    assert f"by {gap / 2 / 0.1:.2f} of the half-width" in told


def test_attacks_hide_positives_where_they_say() -> None:
    import attacks

    pools = {
        name: make(np.random.default_rng([57, place]))
        for place, (name, make) in enumerate(attacks.ATTACKS.items())
    }

    def positives(name: str, low: float, high: float) -> float:
        """Share of the positives between two shares of the ranks from the top."""
        pool = pools[name]
        order = np.argsort(-pool["score"], kind="stable")
        ordered = pool["label"][order]
        first, end = (round(share * len(order)) for share in (low, high))
        return ordered[first:end].sum() / ordered.sum()

    assert positives("flat below 1.5 %", 0, 0.015) == pytest.approx(0.5, abs=0.01)
    assert positives("flat below 1.5 %", 0.5, 1) == pytest.approx(0.25, abs=0.05)
    assert positives("island in mid-rank", 0.39, 0.42) == pytest.approx(140 / 300, abs=0.01)
    assert positives("second mode at the bottom", 0.99, 1) == pytest.approx(0.25, abs=0.01)
    assert positives("even below the top 5 %", 0.5, 1) > 0.15
    saturated = pools["a tenth saturated"]
    assert np.mean(saturated["score"] == saturated["score"].max()) == pytest.approx(0.1, abs=0.01)
    for name, pool in pools.items():
        assert 0.0029 < pool["label"].mean() < 0.03, name
        assert (pool["label"] & pool["prediction"]).sum() > 100, name
