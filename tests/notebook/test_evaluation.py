"""Notebooks and workspaces: the same evaluation in both."""

import inspect
import json
import pydoc
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import evalsampling
from evalsampling import Evaluation, InputError
from evalsampling.workspace.snapshot import Snapshot
from tests.jobs import call, make_pool
from tests.slow import slowly

POOL = make_pool(rows=600)


def make(**changes: Any) -> Evaluation:
    keys = {"id": "id", "measure": ["f1", "recall"], "strata": {"leaves": 8}, "seed": 3, **changes}
    return Evaluation.from_frame(POOL.table, **keys)


def truth(ids: Any) -> list[int]:
    return [POOL.truth[id] for id in ids.tolist()]


def same(one: Evaluation, other: Evaluation) -> None:
    """Equal histories and estimates."""
    for name in ("cell", "rank", "label", "slice"):
        np.testing.assert_array_equal(getattr(one.history, name), getattr(other.history, name))
    assert one.history.corrected == other.history.corrected
    assert one.estimate().to_dict() == other.estimate().to_dict()


@pytest.mark.parametrize(
    "name", ["from_frame", "from_arrays", "sample", "label", "estimate", "plot", "open", "save"]
)
def test_signatures_can_be_read(name: str) -> None:
    signature = str(inspect.signature(getattr(Evaluation, name)))
    assert not {"ndarray", "Mapping"} & set(re.findall(r"\w+", signature))
    assert len(signature) < (400 if name == "from_arrays" else 200)


def test_help_begins_with_the_public_names() -> None:
    told = pydoc.plain(pydoc.render_doc(evalsampling))
    names, *_ = told.partition("PACKAGE CONTENTS")
    assert [name for name in evalsampling.__all__ if name not in names] == ["__version__"]
    assert dir(evalsampling) == sorted(evalsampling.__all__)


def several_rounds() -> Evaluation:
    """Late labels, a correction, a round that was not finished."""
    evaluation = make()
    first = evaluation.sample(30)
    evaluation.label(first[:20], truth(first[:20]))
    second = evaluation.sample(30)
    evaluation.label(second, truth(second))
    evaluation.label(first[20:25], truth(first[20:25]))
    evaluation.label(first[:1], [1 - truth(first[:1])[0]], replace=True)
    return evaluation


def test_a_saved_evaluation_is_opened_as_it_was(tmp_path: Path) -> None:
    evaluation = several_rounds()
    evaluation.save(tmp_path / "run")
    opened = Evaluation.open(tmp_path / "run")
    same(opened, evaluation)
    assert evaluation.history.corrected == {0: 2}
    assert Snapshot.at(tmp_path / "run").late == 5
    assert repr(opened) == repr(evaluation)
    assert opened.sample(20).tolist() == evaluation.sample(20).tolist(), "both go on alike"
    assert call("status", "--verify", tmp_path / "run").status == 0
    assert " s on this process\n" in call("status", tmp_path / "run").out


def own_model(cells: Any, labels: Any) -> Any:
    shares = 4 * cells.prior + labels
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "keys",
    [
        {"sampler": {"name": "ais", "model": own_model, "epsilon": 1e-6}},
        {"sampler": {"name": "importance", "calibration": own_model, "epsilon": 1e-6}},
        {"sampler": "ais",
         "strata": {"leaves": 2000, "columns": ["prediction", "name"]}},
        {"sampler": "ais", "features": ["score"],
         "strata": {"method": "kd", "hierarchy": "own", "leaves": 9}},
        *slowly({"sampler": {"name": "ais", "alpha": 1.5, "beta": 0.5}},
                {"sampler": "ais",
                 "strata": {"method": "divisive", "hierarchy": "own", "leaves": 9}}),
    ],
    ids=["model", "calibration", "partition", "kd", "constants", "divisive"],
)  # fmt: skip
def test_a_model_and_a_partition_of_ones_own_are_saved(keys: Any, tmp_path: Path) -> None:
    evaluation = make(**keys)
    for _ in range(2):
        ids = evaluation.sample(25)
        evaluation.label(ids, truth(ids))
    evaluation.save(tmp_path / "run")
    opened = Evaluation.open(tmp_path / "run")
    same(opened, evaluation)
    assert opened.sample(20).tolist() == evaluation.sample(20).tolist()


def test_a_model_that_no_other_program_can_import_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Held:
        def __call__(self, cells: Any, labels: Any) -> Any:
            return cells.prior

    for model in (Held(), lambda cells, labels: cells.prior):
        evaluation = make(sampler={"name": "ais", "model": model})
        evaluation.label(ids := evaluation.sample(25), truth(ids))
        with pytest.raises(InputError, match="name functions and measures as module:object"):
            evaluation.save(tmp_path / "run")
    program = sys.modules["__main__"]
    monkeypatch.setattr(program, "mine", own_model, raising=False)
    here = make(sampler={"name": "ais", "model": "__main__:mine"})
    with pytest.raises(InputError, match="__main__:mine, which no other program can import"):
        here.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_commands_and_notebooks_take_turns(tmp_path: Path) -> None:
    run = tmp_path / "run"
    several_rounds().save(run)
    notebook = Evaluation.open(run)
    batch = call("sample", run, "--size", 10, "--json").json
    assert (batch["round"], batch["rows"]) == (3, 10)
    ids = notebook.sample(99)  # the open round again
    assert len(ids) == 10
    notebook.label(dict(zip(ids[:4].tolist(), truth(ids[:4]), strict=True)))
    labels = tmp_path / "labels.csv"
    rows = [f"{id},{label}" for id, label in zip(ids[4:9], truth(ids[4:9]), strict=True)]
    labels.write_text("\n".join(["id,label", *rows]))
    assert call("estimate", run, "--labels", labels).status == 0
    assert notebook.sample(5).tolist() == [ids[9]], "labels of others came along"
    other = [1 - one for one in truth(ids[:1])]
    with pytest.raises(InputError, match=r"already, not '.'; replace=True takes the new one"):
        notebook.label(ids[:1], other)
    notebook.label(ids[:1], other, replace=True)
    told = call("estimate", run, "--json").json
    assert told["labels"] == 64
    assert notebook.estimate()["f1"].value == told["measures"][0]["value"]
    same(Evaluation.open(run), notebook)


def test_nothing_is_saved_where_a_file_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    for path in (tmp_path / "mine", tmp_path / "mine" / "run"):
        with pytest.raises(InputError, match=r"/mine: a file, where a directory is wanted"):
            several_rounds().save(path)
    assert (tmp_path / "mine").read_text() == "precious"


def test_saved_again_after_a_further_round(tmp_path: Path) -> None:
    evaluation, run = make(), tmp_path / "run"
    evaluation.save(run)
    assert len(Evaluation.open(run).history) == 0
    ids = evaluation.sample(10)
    evaluation.save(run)
    evaluation.label(ids, truth(ids))
    evaluation.sample(10)
    evaluation.save(run)
    before = sorted(path.name for path in run.rglob("*"))
    evaluation.save(run)
    assert sorted(path.name for path in run.rglob("*")) == before
    same(Evaluation.open(run), evaluation)


def test_a_save_that_was_killed_is_run_again(tmp_path: Path, monkeypatch: Any) -> None:
    from evalsampling.notebook import saving

    evaluation, run = several_rounds(), tmp_path / "run"
    store, calls = saving.store, []

    def dies(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return store(*arguments, **options)

    monkeypatch.setattr(saving, "store", dies)
    with pytest.raises(KeyboardInterrupt):
        evaluation.save(run)
    evaluation.save(run)
    same(Evaluation.open(run), evaluation)


INTERRUPTED = ("notebook/states.py", "notebook/evaluation.py", "stats/history.py")
"""Modules at whose lines calls are interrupted."""


def interrupted(call: Callable[[], Any], at: int) -> bool:
    """Call something with an interrupt at the n-th line of some modules; tell whether it came."""
    left = at

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.endswith(INTERRUPTED):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_labels_of_a_call_that_was_interrupted_anywhere_are_saved(tmp_path: Path) -> None:
    evaluation, at, came = make(), 0, True
    ids = evaluation.sample(10)
    kept = evaluation.analysis
    while came:
        at, evaluation.state.analysis = at + 1, kept

        def label() -> None:
            evaluation.label(ids, truth(ids))

        came = interrupted(label, at)
        label()  # The cell is run again.
        assert [one.codes for one in evaluation.history.taken] == [
            dict(enumerate(evaluation.history.label.tolist()))
        ]
    assert at > 10
    evaluation.save(tmp_path / "run")
    same(Evaluation.open(tmp_path / "run"), evaluation)


@pytest.mark.slow
def test_a_call_of_sample_that_was_interrupted_anywhere_leaves_no_round() -> None:
    evaluation, at, came = make(), 0, True
    expected = make().sample(10).tolist()
    while came:
        at, got, kept = at + 1, [], evaluation.history

        def sample(got: list[Any] = got) -> None:
            got.extend(evaluation.sample(10).tolist())

        came = interrupted(sample, at)
        assert bool(got) == (not came)
        if came:
            assert evaluation.history is kept
    assert at > 10
    assert got == expected


def test_a_stochastic_oracle_in_both(tmp_path: Path) -> None:
    evaluation = make(labels={"oracle": "stochastic"}, measure="f1", strata={"leaves": 2})
    ids = evaluation.sample(40)
    evaluation.label(ids, np.arange(40) % 2)
    evaluation.save(tmp_path / "run")
    opened = Evaluation.open(tmp_path / "run")
    same(opened, evaluation)
    ids = opened.sample(15)
    assert len(ids) == 15
    opened.label(ids, [1] * 15)
    assert opened.history.label.tolist()[-15:] == [1] * 15


def test_labels_that_are_numbers_in_both(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    keys = {"labels": {"range": [-10, 10]}, "measure": "mse", "strata": {"leaves": 8}}
    columns = {"prediction": rng.normal(size=300), "variance": rng.gamma(1.0, size=300)}
    evaluation = Evaluation.from_arrays(None, None, id=np.arange(300), columns=columns, **keys)
    ids = evaluation.sample(10)
    evaluation.label(ids, np.round(rng.normal(size=10), 3))
    evaluation.save(tmp_path / "run")
    opened = Evaluation.open(tmp_path / "run")
    same(opened, evaluation)
    more = opened.sample(5)
    opened.label(more, [1.0, -2.5, 0.125, 10, -10])
    same(Evaluation.open(tmp_path / "run"), opened)
    told = opened.state.snapshot.reread().deliveries[-1].votes["label"].to_pylist()
    assert sorted(told) == ["-10", "-2.5", "0.125", "1", "10"]


def test_payload_is_there_for_annotators(tmp_path: Path) -> None:
    evaluation = make(pool={"payload": ["name"]})
    evaluation.save(tmp_path / "run")
    call("sample", tmp_path / "run", "--size", 5)
    [batch] = (tmp_path / "run").glob("rounds/0001/batch.csv")
    assert batch.read_text().splitlines()[0] == "task,name,label"
    assert "row " in batch.read_text()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 4}, "prepared with another seed; choose another workspace"),
        ({"frame": POOL.table.slice(0, 590)}, "prepared with another budget"),
        ({"frame": POOL.table.slice(0, 590), "budget": 600}, "an evaluation of another pool"),
    ],
)
def test_another_evaluation_is_there(tmp_path: Path, change: Any, message: str) -> None:
    make(budget=600).save(tmp_path / "run") if "budget" in change else make().save(tmp_path / "run")
    keys = {"frame": POOL.table, "id": "id", "measure": ["f1", "recall"], "seed": 3} | change
    other = Evaluation.from_frame(keys.pop("frame"), strata={"leaves": 8}, **keys)
    with pytest.raises(InputError, match=message):
        other.save(tmp_path / "run")


def test_labels_are_no_votes(tmp_path: Path) -> None:
    evaluation = make(labels={"votes": 2})
    ids = evaluation.sample(5)
    evaluation.save(tmp_path / "run")
    with pytest.raises(InputError, match=r"labels\.votes: a row is to have 2 votes"):
        evaluation.label(ids, truth(ids))
    assert len(evaluation.history.labelled) == 0
    same(Evaluation.open(tmp_path / "run"), evaluation)


def test_other_rounds_are_there(tmp_path: Path) -> None:
    make().save(tmp_path / "run")
    call("sample", tmp_path / "run", "--size", 7)
    with pytest.raises(InputError, match="rounds or labels of another evaluation"):
        several_rounds().save(tmp_path / "run")


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    weights = {"name": "given", "weights": lambda table, history: np.ones(len(table))}
    with pytest.raises(InputError, match=r"the spec cannot be written: .*; name functions and"):
        make(sampler=weights).save(tmp_path / "run")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/plan.txt").write_text("mine")
    with pytest.raises(InputError, match="notes: "):
        make().save(tmp_path / "notes")
    assert (tmp_path / "notes/plan.txt").read_text() == "mine"
    make().save(tmp_path / "run")
    with pytest.raises(InputError, match=r"it is in a workspace already: .*run"):
        Evaluation.open(tmp_path / "run").save(tmp_path / "other")
    with pytest.raises(InputError, match="not a prepared workspace"):
        Evaluation.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match="whole number of at least 1"):
        Evaluation.open(tmp_path / "run").sample(0)


def test_a_label_that_was_changed_back_and_forth_is_saved(tmp_path: Path) -> None:
    """The same labels come twice, as deliveries of one content."""
    evaluation, run = make(), tmp_path / "run"
    ids = evaluation.sample(10)
    evaluation.label(ids, truth(ids))
    first = truth(ids[:1])[0]
    for label in (1 - first, first, 1 - first):
        evaluation.label(ids[:1], [label], replace=True)
    evaluation.save(run)
    assert [one.rounds for one in Snapshot.at(run).deliveries] == [1] * 4
    same(Evaluation.open(run), evaluation)
    evaluation.save(run)
    assert call("status", "--verify", run).status == 0


def test_ids_are_typed_as_in_the_pool(tmp_path: Path) -> None:
    text = make_pool(rows=300, text_ids=True)
    evaluation = Evaluation.from_frame(text.table, id="id", strata={"leaves": 4})
    evaluation.save(tmp_path / "run")
    ids = Evaluation.open(tmp_path / "run").sample(5)
    assert all(isinstance(id, str) for id in ids.tolist())
    assert pa.array(ids).type in (pa.string(), pa.large_string())


def test_a_report_is_the_same_from_memory_and_from_a_workspace(tmp_path: Path) -> None:
    evaluation = make()
    ids = evaluation.sample(80)
    evaluation.label(ids, truth(ids))
    evaluation.save(tmp_path / "run")
    opened = Evaluation.open(tmp_path / "run")
    claim = "recall >= 0.1 and f1 >= 0.1"
    numbers = []
    for name, one in (("memory", evaluation), ("stored", opened)):
        page = one.report(tmp_path / f"{name}.html", claim, short=True, title="Rows")
        assert page == str(tmp_path / f"{name}.html")
        text = Path(page).read_text()
        assert "What may be claimed" in text
        assert "Reproduce" not in text
        told = json.loads(Path(page).with_suffix(".json").read_text())
        numbers.append(told["estimate"])
        assert told["workspace"] == ("WORKSPACE" if name == "memory" else str(tmp_path / "run"))
        assert [gate["number"] for gate in told["estimate"]["gates"]["gates"]] == ["recall", "f1"]
    assert numbers[0] == numbers[1]
    assert '/evaluation"' not in (tmp_path / "memory.json").read_text(), "it is removed"
    assert len(Path(evaluation.report(tmp_path / "long.html")).read_text()) > 2 * len(text)
    with pytest.raises(InputError, match=r"claims: must be like 'recall >= 0\.7'"):
        evaluation.report(tmp_path / "bad.html", "recall > 0.7")
    assert not (tmp_path / "bad.html").exists()
