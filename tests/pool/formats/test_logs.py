"""Logs of Inspect and promptfoo as pools."""

import csv
import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling import InputError
from evalsampling.pool.formats.logs import Logs
from evalsampling.pool.guesses import Guess
from evalsampling.pool.sampled_columns import look_at
from tests.jobs import call
from tests.pool.formats.reading import inspected, read_rows


def sample(id: Any, scores: Any, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """A sample as Inspect logs it."""
    chat = [{"role": "user", "content": [{"type": "text", "text": f"Question {id}?"}]}]
    return {
        "id": id, "epoch": epoch, "input": chat, "target": ["four", "4"], "messages": [],
        "metadata": {"topic": "sums", "task": "t", "nested": {"a": 1}},
        "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": "4"}}],
                   "completion": "4"},
        "scores": {name: {"value": value, "answer": "4", "explanation": "seems right"}
                   for name, value in scores.items()}, **more,
    }  # fmt: skip


def inspect_log(samples: list[Any]) -> dict[str, Any]:
    evaluation = {"task": "sums", "model": "openai/gpt", "run_id": "r"}
    return {"version": 2, "status": "success", "eval": evaluation, "samples": samples,
            "results": {"total_samples": len(samples), "scores": []}}  # fmt: skip


def result(test: int, passed: bool, score: float, **more: Any) -> dict[str, Any]:
    """A result as promptfoo writes it."""
    return {
        "id": f"r{test}", "testIdx": test, "promptIdx": 0, "promptId": "p", "latencyMs": 7,
        "provider": {"id": "openai:gpt", "label": ""}, "prompt": {"raw": f"Ask {test}"},
        "vars": {"question": f"Question {test}?", "id": test},
        "response": {"output": f"say {test}"},
        "success": passed, "failureReason": 0 if passed else 1, "score": score,
        "gradingResult": {"pass": passed, "score": score, "reason": "so"}, **more,
    }  # fmt: skip


def promptfoo(results: list[Any]) -> dict[str, Any]:
    summary = {"version": 3, "results": results, "prompts": [], "stats": {"successes": 1}}
    return {"evalId": "eval-x", "results": summary, "config": {}, "shareableUrl": None}


def warning_of(path: Path) -> str | None:
    warning: str | None = inspected(Logs(), path).warning
    return warning


def rows_of(path: Path, content: Any) -> list[dict[str, Any]]:
    path.write_text(json.dumps(content))
    return read_rows(Logs(), path)


def test_verdicts_of_inspect(tmp_path: Path) -> None:
    log = inspect_log([
        sample("a", {"graded": "C"}), sample("b", {"graded": "I"}), sample(3, {"graded": "N"}),
        sample("broken", {}, error={"message": "no"}), sample("late", {}),
    ])  # fmt: skip
    rows = rows_of(tmp_path / "log.json", log)
    assert [(row["id"], row["verdict"]) for row in rows] == [("a", "C"), ("b", "I"), ("3", "N")]
    assert rows[0] == {
        "id": "a", "epoch": 1, "model": "openai/gpt", "input": "user: Question a?",
        "target": '["four", "4"]', "response": "4", "topic": "sums", "metadata_task": "t",
        "verdict": "C",
    }  # fmt: skip
    warning = warning_of(tmp_path / "log.json")
    assert "log.json: 2 of its samples have no verdict and are left out" in warning
    guess = Guess.of(look_at(str(tmp_path / "log.json"))[1])
    assert (guess.prediction.name, guess.classes) == ("verdict", ("C", "I", "N"))
    assert [column.name for column in guess.id] == ["id"]


@pytest.mark.parametrize(
    ("scores", "columns"),
    [
        ({"exact": 1.0}, {"verdict": "C"}),
        ({"exact": True}, {"verdict": "C"}),
        ({"graded": 0.25}, {"score": 0.25}),
        ({"graded": "P", "exact": 0.5}, {"verdict_graded": "P", "score_exact": 0.5}),
        ({"graded": {"tone": 0.5, "right": "C"}},
         {"score_graded_tone": 0.5, "verdict_graded_right": "C"}),
    ],
)  # fmt: skip
def test_what_scorers_say(tmp_path: Path, scores: Any, columns: Any) -> None:
    (row,) = rows_of(tmp_path / "log.json", inspect_log([sample("a", scores)]))
    judged = {n: v for n, v in row.items() if n.startswith(("verdict", "score"))}
    assert judged == columns


def test_samples_that_were_run_several_times(tmp_path: Path) -> None:
    log = inspect_log([sample("a", {"s": "C"}, epoch) for epoch in (1, 2)])
    rows = rows_of(tmp_path / "log.json", log)
    assert [(row["id"], row["sample"]) for row in rows] == [("a-1", "a"), ("a-2", "a")]


def test_verdicts_and_scores_of_promptfoo(tmp_path: Path) -> None:
    errors = [result(7, False, 0, failureReason=2, error="429", response=None)]
    rows = rows_of(tmp_path / "out.json", promptfoo(
        [result(0, True, 0.8), result(1, False, 0.3), *errors]))  # fmt: skip
    assert rows == [
        {"id": f"r{test}", "test": test, "model": "openai:gpt", "input": f"Ask {test}",
         "response": f"say {test}", "question": f"Question {test}?", "vars_id": test,
         "verdict": verdict, "score": score}
        for test, verdict, score in ((0, "pass", 0.8), (1, "fail", 0.3))
    ]  # fmt: skip
    (tmp_path / "out.json.gz").write_bytes(gzip.compress((tmp_path / "out.json").read_bytes()))
    assert Guess.of(look_at(str(tmp_path / "out.json.gz"))[1]).classes == ("fail", "pass")


def test_a_score_that_says_no_more_than_the_verdict_is_none(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "out.json", promptfoo([result(0, True, 1), result(1, False, 0)]))
    assert [(row["verdict"], "score" in row) for row in rows] == [("pass", False), ("fail", False)]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a":\n 1}', "neither a log of Inspect ('eval', 'samples') nor results of promptfoo"),
        (b'[{"id": 1, "score": 0.5}]', "Give rows as JSON Lines"),
        (json.dumps(inspect_log([sample("a", {})])).encode(), "none of its samples has a verdict"),
        (
            b'{"id": {"0": 7, "1": 8}, "score": {"0": 0.5, "1": 0.1}}',
            "pandas by to_json(lines=True",
        ),
        (b"{", "cannot be read"),
    ],
)
def test_what_is_no_log(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        look_at(str(path))
    assert words in str(error.value)


def test_a_log_of_inspect_that_is_an_archive(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.eval", "w") as archive:
        archive.writestr("header.json", "{}")
    with pytest.raises(InputError, match="inspect log convert --to json"):
        look_at(str(tmp_path / "x.eval"))


def test_a_log_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a log of a judge to its precision, every row of it labelled."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(5)
    score = draw.random(300).round(3)
    truth = draw.random(300) < score
    results = [result(test, bool(s >= 0.5), float(s)) for test, s in enumerate(score)]
    Path("out.json").write_text(json.dumps(promptfoo(results)))
    assert call("init", "out.json").status == 0
    text = Path("evaluation.yaml").read_text()
    assert "score: score" in text
    assert "prediction: verdict" in text
    text = text.replace("budget: 1000", "budget: 300").replace("round_size: 100", "round_size: 300")
    Path("evaluation.yaml").write_text(text)
    assert call("prepare", "evaluation.yaml", "--in-process").status == 0
    assert call("sample", "run").status == 0
    with Path("run/rounds/0001/batch.csv").open() as file:
        rows = list(csv.DictReader(file))
    with Path("labels.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "label"])
        for row in rows:
            test = int(row["input"].removeprefix("Ask "))
            writer.writerow([row["task"], "pass" if truth[test] else "fail"])
    told = call("estimate", "run", "--labels", "labels.csv", "--json").json
    (precision,) = [one for one in told["measures"] if one["measure"] == "precision"]
    says = score >= 0.5
    assert precision["value"] == pytest.approx((truth & says).sum() / says.sum())
