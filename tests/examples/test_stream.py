"""The example of a stream by day: recall falls on the right day."""

from pathlib import Path
from typing import Any

import pytest

from tests.docs.examples import blocks_of
from tests.examples.streams import daily, events

FEW_DAYS = events.Stream(days=4, payments=2000, fall=2, empty=3)


def flagged(estimates: list[dict[str, Any]], measure: str) -> list[str]:
    """The days whose change excludes 0."""
    return [
        estimate["window_start"][8:10]
        for estimate in estimates
        for change in estimate["changes"]
        if change["measure"] == measure and not change["low"] <= 0 <= change["high"]
    ]


@pytest.mark.slow
def test_the_fall_is_found_on_its_day(tmp_path: Path) -> None:
    """Two days that are alike but for the fall, one without payments, and another."""
    estimates = daily.run(FEW_DAYS, tmp_path / "stream")
    assert [estimate["window_start"][8:10] for estimate in estimates] == ["01", "02", "04"]
    assert flagged(estimates, "recall") == flagged(estimates, "f1") == ["02"]
    for estimate, number in zip(estimates, (1, 2, 4), strict=True):
        recall = estimate["measures"][0]
        assert recall["low"] <= FEW_DAYS.recall(number) <= recall["high"]
        assert 0 < estimate["labels"] <= estimate["drawn"]


@pytest.mark.slow
def test_other_files_of_events_give_the_same_estimates(tmp_path: Path) -> None:
    one, other = (daily.run(FEW_DAYS, tmp_path / str(parts), parts) for parts in (1, 5))
    assert one == other


def test_answers_come_late_and_twice(tmp_path: Path) -> None:
    (tmp_path / "tasks-1.csv").write_text(
        "task,text,at,label\n"
        + "".join(f"t{n},payment 01-{n:05d},2026-06-01T00:00:00+00:00,\n" for n in range(400))
    )
    late, later = (list(events.answers(FEW_DAYS, tmp_path, until=day)) for day in (3, 60))
    assert late == later[: len(late)]
    assert 100 < len({answer["task"] for answer in late}) < 350
    assert len({answer["task"] for answer in later}) == 400 < len(later)
    assert {answer["label"] for answer in later} == {"0", "1"}


@pytest.mark.slow
def test_guide_shows_the_example_and_what_it_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = Path(daily.__file__).read_text("utf-8")
    blocks = blocks_of("docs/guides/streams.md")
    shown = [block["text"] for block in blocks if block["language"] == "py"]
    assert len(shown) >= 4
    assert [text for text in shown if text not in program] == []
    [lines] = [block["text"] for block in blocks if block["text"].startswith("day ")]
    assert daily.main(["--folder", str(tmp_path / "stream")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in lines.splitlines() if line not in printed] == ["..."] * 2
    assert next(line for line in printed if line.startswith("2026-06-17")).count("fell") == 2
