"""What is doubtful about the answers of a workspace is said before any number."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.spec.gates import GatesSpec
from tests.jobs import Job, Jobs, Pool, call

ROWS = 3000


def mostly_phishing(seed: int = 0) -> tuple[Pool, set[int]]:
    """A pool of ham and spam, and the most of its spam, which annotators call phishing."""
    rng = np.random.default_rng(seed)
    score = rng.beta(0.4, 0.6, ROWS)
    truth = rng.random(ROWS) < score
    names = np.where(truth, "spam", "ham").tolist()
    table = pa.table({
        "id": np.arange(ROWS), "score": score, "name": [f"row {row}" for row in range(ROWS)],
        "prediction": np.where(score > 0.5, "spam", "ham"),
    })  # fmt: skip
    phishing = set(np.flatnonzero(truth & (rng.random(ROWS) < 0.57)).tolist())
    return Pool(table, dict(enumerate(names))), phishing


@pytest.fixture
def mail(job: Jobs) -> Job:
    """A job on that pool with a round of 150 rows."""
    one: Job = job(
        mostly_phishing()[0], labels={"classes": ["ham", "spam"]},
        measure=["precision", "recall"], budget=300, round_size=150,
    ).prepared()  # fmt: skip
    assert one.sample().json["rows"] == 150
    return one


def answered_phishing(job: Job, instead: str = "phishing") -> list[tuple[str, str]]:
    """The answers of the first round, of which some name another class."""
    _, phishing = mostly_phishing()
    ids = dict(zip(job.batch(1)["task"], job.batch(1)["id"], strict=True))
    return [(task, instead if ids[task] in phishing else name) for task, name in job.answers(1)]


def words(text: str) -> str:
    return " ".join(text.split())


def test_answers_of_an_unknown_class_come_first_with_bounds(mail: Job, tmp_path: Path) -> None:
    answers = answered_phishing(mail)
    count = sum(name == "phishing" for _, name in answers)
    told = call("estimate", mail.workspace, "--labels", mail.deliver(answers, "mail.csv"))
    assert words(told.out).startswith(
        f"{count} of 150 answers of mail.csv were rejected. Label 'phishing' is none of: ham, "
        f"spam. {count} of 150 rows drawn have no label ({count} rejected), which is seldom at "
        "random. Whatever they are: Precision 0."
    ), told.out
    assert "seldom at random" not in told.err, "it is said once"

    result = mail.estimate().json
    (doubt,) = result["doubts"]
    assert result["warnings"][0] == doubt
    assert (result["missing"]["rejected"], result["missing"]["open"]) == (count, 0)
    precision = result["missing"]["bounds"][0]

    rows = mail.pool.table.to_pydict()
    found = [
        mail.pool.truth[row] == "spam" for row, p in enumerate(rows["prediction"]) if p == "spam"
    ]
    assert precision["interval_low"] <= np.mean(found) <= precision["interval_high"]
    assert result["measures"][0]["value"] < np.mean(found) - 0.05

    assert Evaluation.open(mail.workspace).estimate().warnings[0] == doubt
    page = tmp_path / "report.html"
    assert call("report", mail.workspace, "--to", page).status == 0
    html = page.read_text()
    assert html.index("were rejected") < html.index("Precision")
    assert json.loads(page.with_suffix(".json").read_text())["estimate"]["doubts"] == [doubt]

    mended = mail.take(answered_phishing(mail, "spam"), "right.csv").json
    assert "doubts" not in mended
    assert mended["measures"][0]["low"] <= np.mean(found) <= mended["measures"][0]["high"]


def test_a_few_rejects_are_not_said_first(mail: Job) -> None:
    answers = [(task, "spma" if place < 2 else name)
               for place, (task, name) in enumerate(mail.answers(1))]  # fmt: skip
    result = mail.take(answers).json
    assert (result["rejects"], "doubts" in result) == (2, False)


def test_rejects_for_several_reasons_name_the_commonest(mail: Job) -> None:
    answers = [(task, {0: "a", 1: "b"}.get(place % 30, name))
               for place, (task, name) in enumerate(mail.answers(1))]  # fmt: skip
    answers += [("t_nobody", "ham")]
    (doubt,) = mail.take(answers).json["doubts"]
    assert doubt.startswith(
        "11 of 151 answers of labels.csv were rejected. 10 as: label 'a' is none of: ham, spam."
    )


@pytest.mark.parametrize("withdrawn", [False, True])
def test_rejects_that_no_row_wants_for_are_no_doubt(mail: Job, withdrawn: bool) -> None:
    answers = mail.answers(1)
    if withdrawn:
        mail.sample("--withdraw", 1)
    else:
        cut = mail.take([(task[:8], name) for task, name in answers], "cut.csv").json
        assert (cut["rejects"], len(cut["mostly_rejected"])) == (150, 1)
        mail.take([(answers[0][0], "unsure"), *answers[2:]])
    mail.sample("--next")
    if withdrawn:
        mail.take(answers, "late.csv")
    later = mail.estimate("--at-least", "precision=0", "--exit-zero").json
    assert (later["rejects"], later["mostly_rejected"], "doubts" in later) == (150, [], False)


def test_rejects_without_their_list_are_still_counted(mail: Job) -> None:
    mail.take(answered_phishing(mail))
    (listed,) = (mail.workspace / "labels").glob("*.rejects.csv")
    listed.unlink()
    (doubt,) = mail.estimate().json["doubts"]
    assert " answers of labels.csv were rejected. " in doubt
    assert "phishing" not in doubt


def test_a_gate_on_a_number_that_only_the_call_names_waits_for_labels(mail: Job) -> None:
    some = mail.deliver(sorted(mail.answers(1), key=lambda answer: answer[1])[:90], "ham.csv")
    asked = "--labels", some, "--measure", "npv", "--at-least", "npv=0.9"
    assert mail.estimate(*asked).json["gates"]["reached"] is None


def test_skips_and_unsure_answers_are_said_with_bounds(mail: Job) -> None:
    unsure = answered_phishing(mail, "unsure")
    count = sum(name == "unsure" for _, name in unsure)
    (doubt,) = mail.take(unsure).json["doubts"]
    assert doubt.startswith(
        f"{count} of 150 rows drawn have no label ({count} unsure), which is seldom at random. "
        "Whatever they are: Precision 0."
    )


def test_rows_that_are_awaited_are_not_doubtful_but_gates_are_not_decided(mail: Job) -> None:
    result = mail.take(sorted(mail.answers(1), key=lambda answer: answer[1])[:100]).json
    assert (result["missing"]["open"], result["missing"]["bounds"]) == (50, [])
    assert "doubts" not in result
    above = result["measures"][0]["high"] + 0.01
    assert call("estimate", mail.workspace, "--at-most", f"precision={above}").status == 11
    closed = mail.estimate("--close").json
    assert closed["doubts"][0].startswith("50 of 150 rows drawn have no label (50 never answered)")


def test_one_class_comes_first_and_goes_with_a_correction(mail: Job) -> None:
    """Also where the file of corrections confirms some of the answers."""
    answers = [(task, "spam") for task, _ in mail.answers(1)]
    told = call("estimate", mail.workspace, "--labels", mail.deliver(answers, "binary.csv"))
    assert told.out.startswith("All 150 answers of binary.csv are 'spam'; ")
    assert "of these rows are predicted 'ham'" in words(told.out)
    (doubt,) = mail.estimate().json["doubts"]
    assert Evaluation.open(mail.workspace).estimate().warnings[0] == doubt
    assert "doubts" not in mail.take(mail.answers(1), "right.csv", option="--replace").json


def test_an_annotator_with_one_answer_for_all_is_named(mail: Job) -> None:
    ids = dict(mail.asked(1))  # The order of tasks differs from run to run, the rows do not.
    by_row = sorted(mail.answers(1), key=lambda answer: ids[answer[0]])
    answers = [(task, "spam" if place % 2 else name, "bob" if place % 2 else "ann")
               for place, (task, name) in enumerate(by_row)]  # fmt: skip
    (doubt,) = mail.take(answers, header="task,label,annotator").json["doubts"]
    assert doubt.startswith("All 75 answers of annotator 2, in the order of names, are 'spam'; ")


def in_memory(**spec: Any) -> tuple[Evaluation, Any, list[str]]:
    """The same pool in memory, with its drawn rows and their answers."""
    pool, phishing = mostly_phishing()
    evaluation = Evaluation.from_frame(
        pool.table, labels={"classes": ["ham", "spam"]}, measure=["precision", "recall"], seed=5,
        **spec,
    )  # fmt: skip
    ids = evaluation.sample(150)
    return evaluation, ids, ["phishing" if i in phishing else pool.truth[i] for i in ids.tolist()]


def test_a_notebook_is_told_how_many_name_no_class() -> None:
    evaluation, ids, answers = in_memory()
    count = answers.count("phishing")
    with pytest.raises(InputError, match=f"{count} of 150 labels are none of these"):
        evaluation.label(ids, answers)
    known = [place for place, answer in enumerate(answers) if answer != "phishing"]
    evaluation.label(ids[known], [answers[place] for place in known])
    first = evaluation.estimate().warnings[0]
    assert first.startswith(
        f"{count} of 150 rows drawn have no label, which is seldom at random. Whatever they are: "
        "Precision 0."
    )
    (only,) = [text for text in [evaluation.estimate("recall").warnings[0]] if "Recall" in text]
    assert "Precision" not in only


def test_a_round_of_which_most_is_awaited_is_not_doubtful_in_a_notebook() -> None:
    evaluation, ids, answers = in_memory()
    evaluation.label(ids[:10], ["ham" if one == "phishing" else one for one in answers[:10]])
    assert not [text for text in evaluation.estimate().warnings if "seldom" in text]


def test_bounds_over_missing_labels_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    score, calls = rng.random(2000), []
    evaluation = Evaluation.from_arrays(score, (score > 0.5).astype(int), seed=1)
    rows = np.asarray(evaluation.sample(100))[:80]
    evaluation.label(rows, (score[rows] > rng.random(80)).astype(int))
    estimate = Analysis.estimate
    monkeypatch.setattr(
        Analysis, "estimate", lambda *args, **named: calls.append(1) or estimate(*args, **named)
    )
    found = evaluation.state.findings()
    assert "Whatever they are" in found.doubts[0]
    once = len(calls)
    [gate] = found.judge(GatesSpec(at_most={"f1": 0.8})).gates
    assert once > 1
    assert len(calls) == once
    assert "with the missing labels it may be" in gate.statement
