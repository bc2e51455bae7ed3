"""Names of tasks with their check characters; what a batch shows, and what it hides."""

import string
from typing import Any

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.labels.tasks import check_problem, masked, opaque_name, task_name, with_check
from evalsampling.spec.pool import Mask
from evalsampling.spec.sink import SINKS
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Job, Jobs, Pool, csv_rows, make_pool, text_of

LETTERS = string.digits + string.ascii_lowercase
NAMES = [with_check(opaque_name(b"k" * 16, 1, id)) for id in range(30)]


def test_names_cannot_be_told_from_spec_and_id(job: Jobs) -> None:
    """Whoever knows the spec and all ids of the pool finds no task; the key is kept."""
    one, other = job(seed=0), job(seed=0)
    for each in (one, other):
        each.drawn()
    assert set(one.batch(1)["id"]) == set(other.batch(1)["id"])
    assert not set(one.batch(1)["task"]) & set(other.batch(1)["task"])
    pool = PreparedPool.read(Workspace(one.workspace))
    tasks = set(one.batch(1)["task"])
    ids = one.pool.table["id"].to_pylist()
    by_seed = {task_name(pool.spec.labelling, (0).to_bytes(8, "little"), 1, id, 1) for id in ids}
    assert not tasks & by_seed
    assert tasks <= {task_name(pool.spec.labelling, pool.task_key, 1, id, 1) for id in ids}
    assert len(bytes.fromhex(pool.marker["key"])) == 16


def test_standard_example() -> None:
    """ISO/IEC 7064, MOD 37,36: the examples of the Global Release Identifier standard."""
    assert with_check("t_a12425gabc1234002") == "t_a12425gabc1234002m"


def test_one_wrong_character_is_told() -> None:
    for name in NAMES[:5]:
        assert check_problem(name) == ""
        for place in range(2, len(name)):
            for letter in LETTERS:
                wrong = name[:place] + letter + name[place + 1 :]
                assert (check_problem(wrong) == "") is (wrong == name)


def test_nearly_all_that_changed_places_are_told() -> None:
    told = same = 0
    for name in NAMES:
        for place in range(2, len(name) - 1):
            wrong = name[:place] + name[place + 1] + name[place] + name[place + 2 :]
            same += wrong == name
            told += check_problem(wrong) != ""
    assert told >= 0.98 * (len(NAMES) * 16 - same)


@pytest.mark.parametrize(
    "name", ["t_", "x", "t_short", "T_ABC", opaque_name(b"", 1, 2), "t_" + "é" * 17]
)
def test_other_names_are_none_of_ours(name: str) -> None:
    assert check_problem(name) == ""


# --- what annotators see of the payload, and what they do not, in every format


def test_masks() -> None:
    values = pa.array(["abcdef", "", None, "é" * 9, "abcdef"])
    assert masked(values, Mask("redact"), b"").to_pylist() == [
        "[redacted]", "", None, "[redacted]", "[redacted]",
    ]  # fmt: skip
    assert masked(values, Mask("truncate", 6), b"").to_pylist()[3] == "é" * 6 + "…"
    hashed = masked(values, Mask("hash"), b"one").to_pylist()
    assert hashed[0] == hashed[4] != hashed[3]
    assert hashed[1:3] == ["", None]
    assert masked(values, Mask("hash"), b"other")[0].as_py() != hashed[0]
    assert masked(pa.array([7]), Mask("hash"), b"one")[0].as_py().startswith("h_")


def texts(job: Job, number: int) -> str:
    """All that goes out of a round, as text."""
    folder = job.round_directory(number)
    kept = {"design.json", "draws.parquet", "batch.parquet", "controls.parquet"}
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name not in kept]
    assert paths
    told = []
    for path in paths:
        if path.suffix == ".parquet":
            told.append(str(pq.read_table(path).to_pylist()))
        elif path.suffix == ".xlsx":
            book = openpyxl.load_workbook(path)
            told += [str(cell.value) for sheet in book for row in sheet for cell in row]
        else:
            told.append(text_of(path))
    return "\n".join(told)


def private_pool() -> Pool:
    texts = {"email": "mail-{}@x", "phone": "phone-{}", "note": "n" * 30 + "{}", "city": "Bern",
             "withheld": "withheld-text"}  # fmt: skip
    columns = {name: map(text.format, range(2000)) for name, text in texts.items()}
    return make_pool(text_ids=True).with_columns(**columns)


@pytest.mark.parametrize("format", SINKS.own)
def test_nothing_leaks(job: Jobs, format: str) -> None:
    """No column that is not listed, no masked text, no id, score or prediction, no order."""
    payload: list[Any] = ["city", {"email": "hash"}, {"phone": "redact"}, {"note": {"truncate": 9}}]
    sink: dict[str, Any] = {"format": format}
    if format == "splink":
        sink["records"] = {"left": "email", "right": "city"}
    one = job(private_pool(), pool={"payload": payload}, sink=sink, round_size=30).drawn()
    told = texts(one, 1).replace("clerical_match_score", "")
    rows = {row["id"]: row for row in one.pool.table.to_pylist()}
    for word in ("withheld", "mail-", "phone-", "n" * 10, "score", "prediction", "stratum"):
        assert word not in told, word
    for id in one.batch(1)["id"]:
        assert id not in told
        assert repr(rows[id]["score"])[:10] not in told
    tasks = one.batch(1)["task"]
    places = [told.index(task) for task in tasks]
    assert places == sorted(places)
    assert tasks == sorted(tasks), "an order at random: that of the names"
    asked = [task for task, _ in one.asked(1)]
    assert asked != tasks


def test_batches_cannot_be_joined(job: Jobs) -> None:
    """The same values in two batches have other hashes, and names tell nothing of rows."""
    payload: list[Any] = [{"city": "hash"}]
    one = job(private_pool(), pool={"payload": payload}, labels={"repeats": 5}).prepared()
    shown = []
    for number in (1, 2):
        one.sample("--next")
        rows = csv_rows(one.round_directory(number) / "batch.csv")
        assert len({row["city"] for row in rows}) == 1, "equal within a batch"
        shown.append(({row["city"] for row in rows}, {row["task"] for row in rows}))
    assert len(shown[1][1]) == 25
    assert not shown[0][0] & shown[1][0]
    assert not shown[0][1] & shown[1][1]


def test_a_batch_of_disputes_cannot_be_joined_to_its_round(job: Jobs) -> None:
    one = job(private_pool(), pool={"payload": [{"city": "hash"}]}, labels={"votes": 2}).drawn()
    rows = [f"{task},{name},{said}" for task, _ in one.asked(1) for name, said in ("a0", "b1")]
    votes = one.directory / "votes.csv"
    votes.write_text("\n".join(["task,annotator,label", *rows]))
    one.estimate("--labels", votes)
    batches = [one.round_directory(1) / "batch.csv", one.sample("--adjudicate").json["batch"]]
    of_round, of_disputes = ({row["city"] for row in csv_rows(path)} for path in batches)
    assert len(of_round) == len(of_disputes) == 1
    assert not of_round & of_disputes
