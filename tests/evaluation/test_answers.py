"""Labels from notebooks: aligned by their index, or refused."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation, InputError
from tests.averages import MICRO_F1

pd = pytest.importorskip("pandas")

ROWS = 60
TRUTH = np.arange(ROWS) % 3 == 0


def drawn(**changes: Any) -> tuple[Evaluation, np.ndarray]:
    """An evaluation of rows whose ids are text, and ten that are to be labelled."""
    pool = {
        "id": np.array([f"r{row}" for row in range(ROWS)]),
        "score": np.linspace(0, 1, ROWS),
        "prediction": np.arange(ROWS) % 2,
    }
    evaluation = Evaluation.from_frame(pool, id="id", measure="accuracy", seed=3, **changes)
    return evaluation, evaluation.sample(10)


def truth(ids: Any) -> list[int]:
    return [int(TRUTH[int(id[1:])]) for id in ids]


def labels_of(evaluation: Evaluation) -> list[int]:
    return evaluation.history.label.tolist()


def forms(ids: np.ndarray) -> dict[str, tuple[Any, ...]]:
    """The same answers in many forms."""
    mixed, known = ids[::-1], truth(ids)
    frame = pd.DataFrame({"id": mixed, "label": truth(mixed)})
    everything = pd.Series(TRUTH.astype(int), index=[f"r{row}" for row in range(ROWS)])
    return {
        "arrays": (ids, np.array(known)),
        "lists": (list(ids), known),
        "bools": (ids, np.array(known, dtype=bool)),
        "floats": (ids, np.array(known, dtype=float)),
        "texts": (ids, [str(one) for one in known]),
        "texts of floats": (ids, [f"{one}.0" for one in known]),
        "one by one": (ids, map(int, known)),
        "nullable numbers": (ids, pd.array(known, dtype="Int64")),
        "arrow": (pa.array(ids), pa.chunked_array([known])),
        "columns of a frame": (frame["id"], frame["label"]),
        "columns in two orders": (frame["id"], frame["label"].sample(frac=1, random_state=1)),
        "index of ids": (ids, frame.set_index("id")["label"]),
        "index of all rows": (ids, everything),
        "index of all rows as bools": (ids, everything.astype(bool)),
        "categories": (ids, frame.set_index("id")["label"].astype("category")),
        "frame": (frame,),
        "frame with ids as its index": (frame.set_index("id"),),
        "series": (frame.set_index("id")["label"],),
        "arrow table": (pa.table({"label": truth(mixed), "id": mixed}),),
        "mapping": (dict(zip(mixed, truth(mixed), strict=True)),),
    }


@pytest.mark.parametrize("name", forms(np.array(["r1", "r2"])))
def test_forms(name: str) -> None:
    evaluation, ids = drawn()
    evaluation.label(*forms(ids)[name])
    assert labels_of(evaluation) == truth(ids)


@pytest.mark.parametrize(
    ("label", "message"),
    [
        (lambda ids: pd.Series(truth(ids)), "labels: their index does not hold 'r"),
        (
            lambda ids: pd.Series([*truth(ids), 1], index=[*ids, ids[2]]),
            "labels: their index holds 'r.*' more than once",
        ),
        (lambda ids: pd.Series([1.0, None] * 5, index=ids), "has no label; leave its row out"),
        (lambda ids: pd.array([1, None] * 5, dtype="Int64"), "has no label; leave its row out"),
        (lambda ids: 1, "1 labels for 10 ids"),
        (lambda ids: [1] * 9, "9 labels for 10 ids"),
        (lambda ids: [2] * 10, "label '2' of id 'r.*' is not one of"),
        (lambda ids: [0.5] * 10, "label '0.5' of id"),
        (lambda ids: np.zeros((10, 2)), "label: must have one dimension, got 2"),
    ],
)
def test_refused(label: Any, message: str) -> None:
    evaluation, ids = drawn()
    with pytest.raises(InputError, match=message):
        evaluation.label(ids, label(ids))
    assert labels_of(evaluation) == [-1] * 10


def test_a_row_at_a_time() -> None:
    evaluation, ids = drawn()
    for row in ids:
        evaluation.label(row, bool(*truth([row])))
    assert labels_of(evaluation) == truth(ids)
    pairs = {"left": ["a", "a"], "right": ["b", "c"], "score": [0.1, 0.9], "prediction": [0, 1]}
    linkage = Evaluation.from_frame(pairs, id=["left", "right"], seed=1)
    first, other = linkage.sample(2)
    linkage.label(first, "yes")
    linkage.label(tuple(other), 1)
    assert labels_of(linkage) == [1, 1]


def test_tables_without_their_columns() -> None:
    evaluation, ids = drawn()
    with pytest.raises(InputError, match="column 'label' is missing; there are: id, truth"):
        evaluation.label(pd.DataFrame({"id": ids, "truth": 1}))
    with pytest.raises(InputError, match="column 'id' is missing; there are: task, label"):
        evaluation.label(pa.table({"task": ids, "label": truth(ids)}))


def test_contradictions_take_nothing() -> None:
    evaluation, ids = drawn()
    evaluation.label(ids[:5], truth(ids[:5]))
    evaluation.label(ids[:1], truth(ids[:1]))  # the same again says nothing new
    with pytest.raises(InputError, match="id 'r-5' was not drawn"):
        evaluation.label([*ids, "r-5"], [*truth(ids), 1])
    other = [1 - one for one in truth(ids)]
    with pytest.raises(InputError, match="replace=True takes the new one"):
        evaluation.label(ids, truth(ids[:4]) + other[4:])
    assert labels_of(evaluation) == truth(ids[:5]) + [-1] * 5
    evaluation.label(ids, truth(ids[:4]) + other[4:], replace=True)
    assert labels_of(evaluation) == truth(ids[:4]) + other[4:]


def test_sets_of_labels() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random((ROWS, 2)) < 0.5
    guess = pd.DataFrame(truth ^ (rng.random((ROWS, 2)) < 0.2), columns=["spam", "rude"])
    chance = pd.DataFrame({"rude": 0.5, "spam": np.linspace(0.1, 0.9, ROWS)}, index=range(ROWS))
    keys = {"labels": {"multilabel": ["spam", "rude"]}, "measure": MICRO_F1, "seed": 1}
    evaluation = Evaluation.from_arrays(chance["spam"], guess, probability=chance, **keys)
    ids = evaluation.sample(20)
    answers = pd.DataFrame(truth, columns=["spam", "rude"])[["rude", "spam"]]  # another order
    evaluation.label(ids, answers)
    assert labels_of(evaluation) == [int(truth[id, 0]) + 2 * int(truth[id, 1]) for id in ids]
    lists = [[one for one, held in zip(guess, truth[id], strict=True) if held] for id in ids]
    evaluation.label(ids, lists)  # the same said otherwise
    with pytest.raises(InputError, match="must have a column for each of"):
        evaluation.label(ids, answers.rename(columns={"rude": "other"}))
