"""Pairs of systems, as benchmarks make, run and report them."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import special

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
ROWS = 4_000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of two pools of one group."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import pools

    rng = np.random.default_rng(3)
    for name in ("one", "two"):
        score = rng.normal(-3, 2, ROWS)
        label = (rng.random(ROWS) < special.expit(score)).astype(np.int8)
        columns = {"score": score, "probability": special.expit(score), "label": label}
        pools.write(tmp_path, name, columns | {"prediction": (score > 0).astype(np.int8)})
    (tmp_path / "catalog.tsv").write_text("name\tgroup\ntwo\ttwins\none\ttwins\n")
    return tmp_path


def hits(system: Any, label: Any) -> int:
    return int((system.prediction & label).sum())


def test_noise_leaves_the_share_of_hits_that_its_kind_says(folder: Path) -> None:
    import system_pairs

    for kind in ("thinned", "ranks", "weak", "near"):
        first, made, label = system_pairs.systems_of(folder, "one", kind)
        assert made.prediction.sum() == first.prediction.sum()
        kept = system_pairs.KINDS[kind].kept
        assert hits(made, label) == pytest.approx(kept * hits(first, label), abs=2)


def test_a_second_system_knows_more_or_has_another_threshold(folder: Path) -> None:
    import system_pairs

    first, knows, label = system_pairs.systems_of(folder, "one", "knows")
    _, thinned, _ = system_pairs.systems_of(folder, "one", "thinned")
    missed = label & ~first.prediction
    assert hits(knows, missed) > 1.3 * hits(thinned, missed)
    _, lower, _ = system_pairs.systems_of(folder, "one", "threshold")
    np.testing.assert_array_equal(lower.score, first.score)
    assert lower.prediction.sum() == 2 * first.prediction.sum()


@pytest.mark.slow
def test_a_pair_is_run_in_both_orders_and_told_with_its_truth(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import runner
    import system_pairs

    def main(*argv: str) -> None:
        folders = [f"--pools={folder}", f"--results={folder / 'results'}", f"--output={folder}"]
        monkeypatch.setattr(sys, "argv", ["system_pairs.py", *argv, *folders])
        runner.main(system_pairs.__doc__, system_pairs.TABLES, system_pairs.STUDY)

    main("run", "--repeats=1", "--only=two")
    assert system_pairs.kinds(folder) == {"one": "thinned", "two": "other"}
    a, b, label = system_pairs.systems_of(folder, "two", "other")
    truth = {
        name: 2 * hits(one, label) / (one.prediction.sum() + label.sum())
        for name, one in {"a": a, "b": b}.items()
    }
    files = [*(folder / "results" / "runs" / "two").glob("*/*/calibrated/*.parquet")]
    assert len(files) == 2 * len(system_pairs.DRAWN_FOR)
    rows = [row for file in files for row in pq.read_table(file).to_pylist()]
    for row in rows:
        if row["measure"] == "f1":
            other = truth.get(row["against"], 0.0)
            assert row["truth"] == pytest.approx(truth[row["system"]] - other)
    with pytest.raises(SystemExit, match=r"^0$"):
        main("report")
    lines = (folder / "pairs.csv").read_text("utf-8").splitlines()
    found = {row["number"]: row for row in csv.DictReader(lines)}
    assert int(found["difference of f1"]["evaluations"]) == len(system_pairs.DRAWN_FOR)
    held = [r["low"] <= r["truth"] <= r["high"] for r in rows if r["claims"] and not r["against"]]
    assert float(found["all of one system"]["coverage"]) == pytest.approx(np.mean(held), abs=0.001)
    assert found["all differences"]["disagree"] == "0"
