"""Several votes a row: decisions, disputes, permutations, and what is told of annotators."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.labels.tally import State
from evalsampling.workspace.snapshot import Snapshot
from tests.commands.votes import deliver, majority, votes
from tests.jobs import Job, Jobs, call, csv_rows


@pytest.fixture
def voted(job: Jobs) -> Job:
    """A job with an open round of 60 rows that are to have three votes each."""
    one = job(
        labels={"votes": 3},
        round_size=60,
        measure=["precision", "recall", "accuracy"],
        sampler={"name": "ais", "delta": 0.2},
    ).prepared()
    assert one.sample().json["rows"] == 60
    return one


def test_the_majority_decides_and_ties_stay_open(voted: Job) -> None:
    rows = votes(voted, 1)
    expected = majority(rows)
    result = voted.estimate("--labels", deliver(voted, rows, "all.csv")).json
    assert result["rejects"] == 0
    assert result["labels"] == len(expected) < 60
    assert result["open"] == 60 - len(expected)
    states = Snapshot.at(voted.workspace).states
    assert states.count(State.DECIDED) == len(expected)
    waiting = (State.DISPUTED, State.SKIPPED, State.OPEN)
    assert sum(map(states.count, waiting)) == 60 - len(expected)


def test_three_annotators_without_a_word_in_the_spec(drawn: Job) -> None:
    """One file or three: no first answer wins."""
    rows = votes(drawn, 1, skipped=0, wrong=0.3)
    expected = majority(rows)
    parts = [[row for row in rows if row[1] == name] for name in "abc"]
    for place, part in enumerate(parts):
        result = drawn.estimate("--labels", deliver(drawn, part, f"{place}.csv")).json
        assert result["rejects"] == 0
        if place == 1:
            agreed = sum(one[2] == other[2] for one, other in zip(parts[0], parts[1], strict=True))
            assert result["labels"] == agreed < 20
    assert result["labels"] == 20 == len(expected)
    again = drawn.estimate("--labels", deliver(drawn, rows, "all.csv")).json
    assert again["measures"] == result["measures"]


def test_rows_of_a_closed_round_are_not_open(voted: Job) -> None:
    rows = votes(voted, 1, wrong=0)
    some = {task for task, _ in voted.answers(1)[:6]}
    voted.estimate(
        "--labels", deliver(voted, [row for row in rows if row[0] not in some], "most.csv")
    )

    def told() -> tuple[int, int]:
        is_open = call("status", voted.workspace, "--json").json["open"]
        return is_open, len(Snapshot.at(voted.workspace).undecided["never answered"])

    before = told()
    assert before[0] >= 6
    assert before[1] == 0
    voted.estimate("--close")
    assert told() == (0, 6)


def test_disputes_go_to_a_batch_of_their_own(voted: Job) -> None:
    rows = votes(voted, 1, wrong=0.5, skipped=0.3)
    before = voted.estimate("--labels", deliver(voted, rows, "all.csv")).json
    disputed = call("status", voted.workspace, "--json").json["disputed"]
    assert disputed > 5
    batch = voted.sample("--adjudicate").json
    assert (batch["rows"], batch["round"]) == (disputed, 1)
    assert voted.sample("--adjudicate").json == batch, "while it is open it is returned again"
    shown = csv_rows(batch["batch"])
    assert list(shown[0]) == ["task", "name", "label"]
    assert not {row["task"] for row in shown} & set(voted.batch(1)["task"])
    names = dict(zip(voted.batch(1)["payload.name"], voted.batch(1)["id"], strict=True))
    settled = [(row["task"], str(voted.pool.truth[names[row["name"]]])) for row in shown]
    assert voted.take(settled[:3], "judge.csv").json["labels"] == before["labels"] + 3
    assert voted.sample("--adjudicate").json == batch
    after = voted.take(settled, "judge-2.csv").json
    assert after["labels"] == before["labels"] + disputed
    assert after["rejects"] == 0
    nothing = voted.sample("--adjudicate").json
    assert (nothing["rows"], nothing["reason"]) == (0, "no-disputes")
    assert call("status", "--verify", voted.workspace).status == 0


def test_a_batch_of_disputes_in_parquet_has_no_ids(job: Jobs) -> None:
    """The file for who settles them is another one than that which links tasks and ids."""
    disputed = job(labels={"votes": 2}, sink={"format": "parquet"}).drawn()
    rows = [(task, name, said, "", "") for task, _ in disputed.answers(1)
            for name, said in (("a", "0"), ("b", "1"))]  # fmt: skip
    assert disputed.estimate("--labels", deliver(disputed, rows, "all.csv")).json["open"] == 20
    batch = disputed.sample("--adjudicate").json
    assert disputed.sample("--adjudicate").json == batch
    shown = pq.read_table(batch["batch"])
    assert (shown.column_names, len(shown)) == (["task", "name", "label"], 20)
    linked = pq.read_table(disputed.workspace / "adjudications/0001/tasks.parquet").to_pydict()
    assert linked["task"] == shown["task"].to_pylist()
    truth = [str(disputed.pool.truth[int(id)]) for id in linked["id"]]
    settled = shown.set_column(2, "label", pa.array(truth))
    pq.write_table(settled, disputed.directory / "settled.parquet")
    done = disputed.estimate("--labels", disputed.directory / "settled.parquet").json
    assert (done["labels"], done["rejects"]) == (20, 0)
    assert call("status", "--verify", disputed.workspace).status == 0


def test_no_disputes_yet_is_no_agreement(voted: Job) -> None:
    """Two of three annotators have answered, all in two ways: nobody can tell yet."""
    rows = [(task, name, str(place), "", "") for task in voted.batch(1)["task"]
            for place, name in enumerate("ab")]  # fmt: skip
    assert voted.estimate("--labels", deliver(voted, rows, "ab.csv")).json["open"] == 60
    told = " ".join(call("sample", voted.workspace, "--adjudicate").out.split())
    assert told == (
        "nothing to label: no row that has all its answers is disputed. `evalsampling status` "
        "tells how many rows still wait for answers."
    )


@pytest.mark.slow
def test_missing_labels_are_told_and_bounded(voted: Job) -> None:
    rows = votes(voted, 1, wrong=0, skipped=0)
    kept = [row for row in rows if row[0] not in {one[0] for one in rows[:30]}]
    kept += [(rows[3 * i][0], name, "unsure", "", "") for i in range(2) for name in "abc"]
    kept += [(rows[6][0], name, "", "yes", "") for name in "abc"]
    kept += [(rows[9][0], name, label, "", "") for name, label in (("a", "0"), ("b", "1"))]
    kept += [(rows[9][0], "c", "", "yes", "")]
    result = voted.estimate("--labels", deliver(voted, kept, "some.csv")).json
    missing = result["missing"]
    assert missing.pop("bounds")
    assert missing == {
        "open": 6, "closed": 0, "rejected": 0, "disputed": 1, "skipped": 1, "unsure": 2, "late": 0,
    }  # fmt: skip
    result = voted.estimate().json
    words = "4 of 60 rows drawn have no label (1 skipped, 2 unsure, 1 disputed), which is seldom"
    assert result["doubts"][0].startswith(words)
    assert result["warnings"][0] == result["doubts"][0]
    for one, bound in zip(result["measures"], result["missing"]["bounds"], strict=True):
        assert bound["measure"] == one["measure"]
        assert bound["low"] <= one["value"] + 0.2
        assert bound["low"] <= bound["high"]
    predicted = dict(zip(voted.batch(1)["task"], predictions(voted), strict=True))
    tasks, met = [rows[3 * i][0] for i in range(4)], []
    for name, says in {
        "all 0": lambda _: 0,
        "all 1": lambda _: 1,
        "as predicted": int,
        "other": lambda code: 1 - code,
    }.items():
        fill = [(task, one, str(says(predicted[task])), "", "") for task in tasks for one in "xyz"]
        copy = voted.estimate("--replace", deliver(voted, fill, f"fill {name}.csv")).json
        met.append([one["value"] for one in copy["measures"]])
    for values, bound in zip(zip(*met, strict=True), result["missing"]["bounds"], strict=True):
        assert (min(values), max(values)) == pytest.approx((bound["low"], bound["high"]))


def predictions(job: Job) -> list[int]:
    """What the first system predicts of the tasks of the first round."""
    ids = job.batch(1)["id"]
    rows = job.pool.table.to_pydict()
    by_id = dict(zip(rows["id"], rows["prediction"], strict=True))
    return [by_id[id] for id in ids]


def test_late_labels_and_rows_that_were_given_up(voted: Job) -> None:
    rows = votes(voted, 1, wrong=0, skipped=0)
    voted.estimate("--labels", deliver(voted, rows[:150], "some.csv"))
    assert voted.sample("--next").json["round"] == 2
    result = voted.estimate("--labels", deliver(voted, rows[:165], "late.csv")).json
    assert result["missing"]["late"] == 5
    assert (result["missing"]["closed"], result["missing"]["open"]) == (5, 60)


def test_two_annotators_from_the_first_answer_to_the_decided_row(job: Jobs) -> None:
    """What waits for a second answer is not called open, and disputes have their way out."""
    one = job(labels={"votes": 2}, round_size=20)
    assert "answers: 400 for the whole budget" in call("prepare", one.spec, "--in-process").out
    assert "20 rows to label by 2 people each in" in call("sample", one.workspace).out
    answers = one.answers(1)
    first = one.deliver([(*each, "ann") for each in answers], "1.csv", "task,label,annotator")
    said = call("estimate", one.workspace, "--labels", first).out
    assert said == (
        "0 labels, 20 rows wait for a second answer, 0 rejected\n"
        "Nothing can be estimated before a row has its label.\n"
    )
    assert "20 rows wait for a second answer" in call("status", one.workspace).out
    other = [(task, str(1 - int(label)) if n < 3 else label) for n, (task, label) in
             enumerate(answers)]  # fmt: skip
    second = one.deliver([(*each, "bob") for each in other], "2.csv", "task,label,annotator")
    told = call("estimate", one.workspace, "--labels", second)
    assert "17 labels, 3 disputed, 0 rejected" in told.out
    assert "3 rows are disputed: one more answer decides each" in told.err
    again = " ".join(call("sample", one.workspace).out.split())
    assert "still open (3 disputed). 3 rows are disputed: one more answer decides each" in again
    assert call("sample", one.workspace, "--adjudicate").out.startswith("adjudication 1: 3 rows to")
    other_file = one.deliver([("t_of_another", "1", "dan")] * 30, "x.csv", "task,label,annotator")
    assert "most answers of" in call("estimate", one.workspace, "--labels", other_file).out
    third = one.deliver([(*each, "cid") for each in answers[:3]], "3.csv", "task,label,annotator")
    told = call("estimate", one.workspace, "--labels", third)
    assert "20 labels, 0 open" in told.out
    assert "most answers of" not in told.out, "no row wants for anything"


def test_one_person_settles_a_dispute_and_is_asked_so(job: Jobs) -> None:
    one = job(labels={"votes": 2}, round_size=10, sink={"format": "vendor"}).drawn()
    assert "by 2 people" in (one.round_directory(1) / "instructions.txt").read_text()
    answers = one.answers(1)
    for who, flip in (("ann", 0), ("bob", 1)):
        given = [(task, str(abs(flip - int(label))), who) for task, label in answers]
        one.take(given, f"{who}.csv", "task,label,annotator")
    assert call("sample", one.workspace, "--adjudicate").status == 0
    (sheet,) = one.workspace.glob("adjudications/**/instructions.txt")
    assert "people" not in sheet.read_text()
