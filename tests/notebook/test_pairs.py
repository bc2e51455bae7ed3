"""Rows known by two columns in notebooks: fields of an array, columns of tables, tuples."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evalsampling import Evaluation, InputError

IDS = ["left", "right"]


def frame(rows: int = 900) -> pd.DataFrame:
    number = np.arange(rows)
    score = (number * 7919 % rows) / rows
    names = [f"r{i % 30}" for i in number]
    columns = {"left": number // 30, "right": names, "score": score, "prediction": score > 0.6}
    return pd.DataFrame(columns)


def truth(ids: Any) -> np.ndarray[Any, Any]:
    return np.array([(left + len(right)) % 2 for left, right in ids.tolist()])


@pytest.fixture
def drawn() -> tuple[Evaluation, Any]:
    one = Evaluation.from_frame(frame(), id=IDS, seed=4)
    return one, one.sample(40)


def test_ids_have_a_field_for_each_column(drawn: tuple[Evaluation, Any]) -> None:
    _, ids = drawn
    assert ids.dtype.names == ("left", "right")
    assert (ids["left"].dtype, ids["right"].dtype) == (np.int64, object)
    assert len(pd.DataFrame(ids).merge(frame(), on=IDS)) == len(ids) == 40


def shuffled(ids: Any, labels: Any) -> Any:
    series = pd.Series(labels, pd.MultiIndex.from_frame(pd.DataFrame(ids)))
    return series.sample(frac=1, random_state=1)


FORMS: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "array": lambda ids, labels: (ids, labels),
    "tuples": lambda ids, labels: (ids.tolist(), list(labels)),
    "frame beside labels": lambda ids, labels: (pd.DataFrame(ids), labels),
    "frame": lambda ids, labels: (pd.DataFrame(ids).assign(label=labels),),
    "polars": lambda ids, labels: (
        pl.DataFrame({name: ids[name].tolist() for name in IDS} | {"label": labels}),
    ),
    "arrow": lambda ids, labels: (
        pa.table({"label": labels, **{name: pa.array(ids[name].tolist()) for name in IDS}}),
    ),
    "mapping": lambda ids, labels: (dict(zip(ids.tolist(), labels, strict=True)),),
    "series": lambda ids, labels: (shuffled(ids, labels),),
    "series beside array": lambda ids, labels: (ids, shuffled(ids, labels)),
}


@pytest.mark.parametrize("form", FORMS)
def test_labels_are_taken_in_every_form(drawn: tuple[Evaluation, Any], form: str) -> None:
    one, ids = drawn
    one.label(*FORMS[form](ids, truth(ids)))
    assert one.history.label.tolist() == truth(ids).tolist()


def test_the_pasted_id_draws_the_same_rows(drawn: tuple[Evaluation, Any]) -> None:
    table = frame()
    pasted = [f'[{left},"{right}"]' for left, right in zip(table.left, table.right, strict=True)]
    flat = Evaluation.from_frame(table.assign(id=pasted), seed=4)
    assert flat.sample(40).tolist() == [f'[{a},"{b}"]' for a, b in drawn[1].tolist()]


def test_a_table_of_ids_beside_arrays(drawn: tuple[Evaluation, Any]) -> None:
    table = frame()
    one = Evaluation.from_arrays(table.score, table.prediction, id=table[IDS], seed=4)
    np.testing.assert_array_equal(one.sample(40), drawn[1])
    single = Evaluation.from_frame(table.assign(name=range(900)), id=["name"], seed=4)
    assert single.sample(5).dtype == np.int64


def test_pairs_in_both_orders_are_told(tmp_path: Path) -> None:
    one = Evaluation.from_frame(frame().assign(right=np.arange(900) % 30), id=IDS)
    told = "435 of 465 pairs are in the pool in both orders"
    assert told in one.estimate().warnings[0]
    one.save(tmp_path / "saved")
    assert told in (tmp_path / "saved" / "evaluation.json").read_text()


def test_a_workspace_gives_and_takes_the_same(
    drawn: tuple[Evaluation, Any], tmp_path: Path
) -> None:
    one, ids = drawn
    one.label(ids, truth(ids))
    one.save(tmp_path / "saved")
    opened = Evaluation.open(tmp_path / "saved")
    assert str(opened.estimate()) == str(one.estimate())
    more, same = opened.sample(10), one.sample(10)
    assert sorted(more.tolist()) == sorted(same.tolist())
    assert more.dtype == ids.dtype
    opened.label(pd.DataFrame(more).assign(label=truth(more)))
    assert len(opened.history.labelled) == 40 + len(more)


def test_what_goes_wrong_is_said(drawn: tuple[Evaluation, Any]) -> None:
    one, ids = drawn
    for given, words in [
        ([("x", "y")], r"""id '\["x","y"]' was not drawn"""),
        ([("x",)], r"id: has 2 values, of left, right, got \('x',\)"),
        (["x"], r"id: has 2 values, of left, right, got \('x',\)"),
        (pd.DataFrame({"left": [1]}), r"column 'right' is missing; there are: left"),
        (pd.DataFrame({"left": [1], "right": [None]}), r"column 'right', row 0: null"),
    ]:
        with pytest.raises(InputError, match=words):
            one.label(given, [1])
    with pytest.raises(InputError, match="column 'nope' is missing"):
        Evaluation.from_frame(frame(), id=["left", "nope"])
    with pytest.raises(InputError, match=r"pool\.id: left is listed twice"):
        Evaluation.from_frame(frame(), id=["left", "left"])
    twice = pd.concat([frame(), frame().iloc[[7]]], ignore_index=True)
    with pytest.raises(InputError, match=r"""row 900: duplicate id '\[0,"r7"]', also in row 7"""):
        Evaluation.from_frame(twice, id=IDS)
    assert one.history.labelled.tolist() == []
    assert len(ids) == 40
