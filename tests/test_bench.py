"""Limits of `make bench`, and its page."""

import datetime
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(BENCHMARKS))
    patch.setitem(sys.modules, "bench_ratios", ModuleType("bench_ratios"))  # nothing to measure
    import bench

RATIOS = st.dictionaries(st.sampled_from("abcd"), st.floats(1e-6, 1e6))


@given(RATIOS, RATIOS)
def test_limits_never_rise(before: dict[str, float], ratios: dict[str, float]) -> None:
    after = bench.tightened(before, ratios)
    assert {*after} == {*before, *ratios}
    assert all(after[name] <= limit for name, limit in before.items())
    for name, ratio in ratios.items():
        assert after[name] <= before.get(name, float("inf"))
        assert after[name] >= min(ratio, before.get(name, ratio))
    assert bench.tightened(after, ratios) == after


def test_a_limit_is_what_was_measured_with_a_margin() -> None:
    before = {"prepare": 4.0, "csv": 2.0, "jsonl": 3.0}
    after = bench.tightened(before, {"prepare": 2.0, "csv": 1.9, "avro": 0.5})
    assert after == {"prepare": 2.3, "csv": 2.0, "jsonl": 3.0, "avro": 0.575}


def test_what_is_too_slow() -> None:
    ratios = {"prepare": 5.7, "csv": 2.7, "new": 100.0}
    assert bench.too_slow({"prepare": 4.0, "csv": 2.0}, ratios) == ["prepare"]


class Measured:
    """A group whose ratios are given."""

    def __init__(self, *runs: dict[str, float]) -> None:
        self.runs = list(runs)

    def ratios(self) -> dict[str, float]:
        return self.runs.pop(0)


@pytest.mark.parametrize(
    ("runs", "status"),
    [
        ([{"a": 1.3, "b": 1.0}], 0),
        ([{"a": 1.5, "b": 1.0}, {"a": 1.3, "b": 9.0}], 0),
        ([{"a": 1.5, "b": 1.0}, {"a": 1.6, "b": 1.0}], 1),
    ],
)
def test_it_fails_where_one_is_too_slow_twice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs: list[dict[str, float]],
    status: int,
) -> None:
    file = tmp_path / "limits.json"
    file.write_text('{"a": 1.0, "b": 1.0}')
    monkeypatch.setattr(bench, "LIMITS", file)
    group = Measured(*runs)

    monkeypatch.setattr(bench.bench_ratios, "groups", lambda *_: [group], raising=False)
    assert bench.main(["--directory", str(tmp_path)]) == status
    assert not group.runs
    assert ("too slow" in capsys.readouterr().out) == bool(status)
    assert json.loads(file.read_text()) == {"a": 1.0, "b": 1.0}


def test_a_line_is_added_to_the_page(tmp_path: Path) -> None:
    page = tmp_path / "bench.md"
    page.write_text(
        "# Page\n\n| date | commit | csv | start: status |\n| --- | --- | ---: | ---: |\n"
    )
    day = datetime.date(2026, 1, 2)
    bench.record(page, {"start: status": 3.4567, "csv": 1.0}, day, "abc1234")
    bench.record(page, {"csv": 12.0}, day, "def5678+")
    assert page.read_text().splitlines()[-2:] == [
        "| 2026-01-02 | abc1234 | 1 | 3.46 |",
        "| 2026-01-02 | def5678+ | 12 | - |",
    ]
    with pytest.raises(ValueError, match="no column jsonl"):
        bench.record(page, {"jsonl": 1.0}, day, "abc1234")


def test_every_limit_has_a_column_of_the_page() -> None:
    head = next(line for line in bench.PAGE.read_text().splitlines() if line.startswith("| date "))
    assert {*json.loads(bench.LIMITS.read_text())} <= {cell.strip() for cell in head.split("|")}
