"""Rows that a filter kept, their labels, and the estimates: with no workspace in between."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.kept_rows import estimate_kept_rows
from evalsampling.inference.estimates import estimate_from_inclusion
from evalsampling.measures import FBeta
from evalsampling.preparation.poisson import INCLUSION
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.budget import Budget
from evalsampling.stats.outputs import Outputs
from tests.averages import EACH_F1, MACRO_F1
from tests.drawn_by_row import poisson_sample

ROWS = 1500
KEYS: dict[str, Any] = {"strata": {"leaves": 24}, "sampler": "poisson", "seed": 11}
KEYS["measure"] = ["f1", "recall", "brier"]
NAMES = ["toxic", "insult", "threat"]


def columns() -> tuple[pa.Table, np.ndarray]:
    """A pool of two classes, and the class of each row."""
    rng = np.random.default_rng(3)
    ids, score = np.arange(ROWS), rng.normal(-1.5, 1.5, ROWS)
    p = 1 / (1 + np.exp(-score))
    columns = {"id": ids, "score": score, "prediction": (score > 0) * 1, "doc": ids // 9}
    return pa.table({**columns, "probability": p}), (rng.random(ROWS) < p).astype(int)


@pytest.fixture
def spec(tmp_path: Any) -> EvaluationSpec:
    pq.write_table(columns()[0], tmp_path / "pool.parquet")
    pool = {"path": str(tmp_path / "pool.parquet"), "probability": "probability"}
    return EvaluationSpec.from_mapping({"pool": pool, "budget": 300, **KEYS}, tmp_path)


def changed(spec: EvaluationSpec, **keys: Any) -> EvaluationSpec:
    return EvaluationSpec.from_mapping({**spec.to_mapping(), **keys}, None)


@pytest.mark.parametrize("alike", [False, True])
def test_estimates_are_those_of_an_evaluation(spec: EvaluationSpec, alike: bool) -> None:
    table, label = columns()
    if alike:
        spec = changed(spec, pool={**spec.to_mapping()["pool"], "cluster": "doc"})
    kept = poisson_sample(spec.analysis, by_cell=True)
    ids = kept["id"].to_numpy()
    found = estimate_kept_rows(spec, kept, kept["id"], label[ids])
    evaluation = Evaluation.from_frame(
        table, probability="probability", cluster="doc" if alike else None, **KEYS
    )
    assert sorted(evaluation.sample(300)) == ids.tolist()
    evaluation.label(ids, label[ids])
    for one, other in zip(found, evaluation.estimate(), strict=True):
        assert one.measure == other.measure
        assert one.value == pytest.approx(other.value)
        assert one.standard_error == pytest.approx(other.standard_error)
        assert one.bias.total == pytest.approx(other.bias.total)


def test_answers_may_be_a_table_and_some_may_be_missing(spec: EvaluationSpec) -> None:
    """Rows with a label have their probability times the share of rows that have one."""
    _, label = columns()
    kept = poisson_sample(spec.analysis)
    there = np.arange(len(kept)) % 4 != 1
    ids = kept["id"].to_numpy()[there]
    order = np.argsort(-ids)
    answers = {"id": ids[order], "label": label[ids[order]]}
    found = estimate_kept_rows(spec, kept.to_pandas(), answers)[0]
    inclusion = kept[INCLUSION].to_numpy()[there] * there.mean()
    prediction = kept["prediction"].to_numpy()[there][:, None]
    outputs = Outputs(prediction, np.zeros(prediction.shape), np.zeros((len(ids), 1, 2)))
    (wanted,) = estimate_from_inclusion(FBeta(), outputs, label[ids], inclusion)
    assert found.value == pytest.approx(wanted.value)
    assert found.standard_error == pytest.approx(wanted.standard_error)
    for interval, other in zip(found.intervals, wanted.intervals, strict=True):
        assert interval.method == other.method
        assert [interval.low, interval.high] == pytest.approx([other.low, other.high])


def test_confidences_are_read_as_chances_of_positives(spec: EvaluationSpec) -> None:
    kept = poisson_sample(spec.analysis, by_cell=True)
    chance, says = (kept[name].to_numpy() for name in ("probability", "prediction"))
    label = columns()[1][kept["id"].to_numpy()]
    area = {"name": "average_precision", "thresholds": [0.05, 0.2, 0.5, 0.8]}
    found = []
    for score, keys in (
        (chance, {}),
        (np.where(says == 1, chance, 1 - chance), {"score_is": "confidence"}),
    ):
        rows = kept.set_column(kept.schema.get_field_index("score"), "score", pa.array(score))
        pool = {**spec.to_mapping()["pool"], **keys}
        asked = changed(spec, pool=pool, measure=[area])
        found.append(estimate_kept_rows(asked, rows, rows["id"], label)[0].value)
    assert found[0] == pytest.approx(found[1])


def test_sets_of_labels(tmp_path: Any) -> None:
    rng = np.random.default_rng(5)
    p = rng.beta(0.3, 2, (400, 3))
    f, y = p > 0.4, rng.random((400, 3)) < p
    listed = [[name for name, held in zip(NAMES, row, strict=True) if held] for row in f]
    table = {"id": np.arange(400), "score": p.max(axis=1), "tags": listed}
    pq.write_table(
        pa.table(table | {f"p_{name}": p[:, i] for i, name in enumerate(NAMES)}),
        tmp_path / "pool.parquet",
    )
    content = {
        "pool": {
            "path": str(tmp_path / "pool.parquet"),
            "prediction": "tags",
            "probability": {name: f"p_{name}" for name in NAMES},
        },
        "labels": {"multilabel": NAMES},
        "measure": [MACRO_F1, EACH_F1],
        "sampler": "poisson",
        "budget": 150,
    }
    spec = EvaluationSpec.from_mapping(content, tmp_path)
    kept = poisson_sample(dataclasses.replace(spec, budget=Budget(400)).analysis)
    whole = estimate_kept_rows(spec, kept, kept["id"], y)
    assert [one.measure for one in whole][1:] == [f"class_f1[{name}]" for name in NAMES]
    exact = [f1_score(y, f, average="macro"), *f1_score(y, f, average=None)]
    assert [one.value for one in whole] == pytest.approx(exact)
    spec = EvaluationSpec.from_mapping(content, tmp_path)
    kept = poisson_sample(spec.analysis)
    told = [[name for name, held in zip(NAMES, y[i], strict=True) if held] for i in
            kept["id"].to_pylist()]  # fmt: skip
    for one, true in zip(estimate_kept_rows(spec, kept, kept["id"], told), exact, strict=True):
        assert one.value == pytest.approx(true, abs=4 * one.standard_error)


def test_systems_are_compared(spec: EvaluationSpec) -> None:
    kept, label = poisson_sample(spec.analysis), columns()[1]
    kept = kept.append_column("bold", pa.array((kept["score"].to_numpy() > -1) * 1))
    found = []
    for given in (["prediction"], ["bold"], ["prediction", "bold"]):
        systems = {name: {"score": "score", "prediction": name} for name in given}
        asked = changed(spec, pool={"path": spec.pool.path, "systems": systems}, measure="f1")
        found += estimate_kept_rows(asked, kept, kept["id"], label[kept["id"].to_numpy()])
    first, second, *both = [one.value for one in found]
    assert both == pytest.approx([first, second, first - second])
    assert (found[-1].target.system, found[-1].target.against) == ("prediction", "bold")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"sampler": {"name": "poisson", "estimator": "difference"}}, "sampler.estimator: the tot"),
        ({"measure": "pr_curve"}, "list the thresholds"),
    ],
)
def test_what_rows_alone_cannot_tell_is_said(
    spec: EvaluationSpec, keys: dict[str, Any], words: str
) -> None:
    kept = poisson_sample(spec.analysis)
    with pytest.raises(InputError, match=words):
        estimate_kept_rows(changed(spec, **keys), kept, kept["id"], np.zeros(len(kept), int))


def test_bad_rows_and_answers_are_told(spec: EvaluationSpec) -> None:
    kept = poisson_sample(spec.analysis)
    ids, labels = kept["id"], np.zeros(len(kept), int)
    wrong = kept.set_column(
        kept.column_names.index(INCLUSION), INCLUSION, pa.array(np.zeros(len(kept)))
    )
    for rows, id, label, words in (
        (kept.drop_columns([INCLUSION]), ids, labels, "'inclusion_probability' is missing"),
        (wrong, ids, labels, r"row 0: an inclusion probability lies in \(0, 1\], got 0"),
        (kept, [-5], [1], "id -5 was not drawn"),
        (kept, ids, labels + 7, "label '7' of id"),
        (kept, [], [], "no row has a label"),
        (kept.drop_columns(["prediction"]), ids, labels, "column 'prediction' is missing"),
    ):
        with pytest.raises(InputError, match=words):
            estimate_kept_rows(spec, rows, id, label)
