"""A first spec from a look at the pool."""

import string
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling.evaluation import load_spec
from tests.jobs import call, make_pool, make_rich_pool
from tests.slow import slowly

EACH = {name: f"p_{name}" for name in "abc"}


def of_table(folder: Path, columns: Any, right: bool = True) -> tuple[Any, str]:
    """What `init` says of a table and the spec that it writes, in which `check` finds nothing."""
    if not isinstance(columns, Path):
        pq.write_table(pa.table(columns), folder / "pool.parquet")
    spec = folder / "mine.yaml"
    pool = columns if isinstance(columns, Path) else folder / "pool.parquet"
    told = call("init", pool, "--output", spec).done
    assert not right or call("prepare", "--check", spec).status == 0
    return told, spec.read_text()


@pytest.mark.parametrize("suffix", ["csv", *slowly("parquet", "jsonl")])
def test_a_spec_that_runs(tmp_path: Path, monkeypatch: Any, suffix: str) -> None:
    """Without a change: from the files to a round."""
    monkeypatch.chdir(tmp_path)
    pool, folder = make_pool(rows=300), tmp_path / "pool"
    pool.write(folder) if suffix == "parquet" else pool.write_as(suffix, folder)
    done = call("init", f"pool/*.{suffix}").done
    assert done.out.startswith("evaluation.yaml: a spec for 1 file\n")
    spec = load_spec("evaluation.yaml")
    assert (spec.pool.id, spec.pool.score) == ("id", "score")
    assert (spec.pool.systems[0].prediction, spec.pool.payload) == ("prediction", ("name",))
    checked = call("prepare", "--check", "evaluation.yaml").done
    assert "nothing wrong found; 300 rows in 1 file" in checked.out
    assert call("prepare", "evaluation.yaml", "--in-process").status == 0
    assert call("sample", "run", "--json").json["rows"] == 100


def test_what_columns_look_like(tmp_path: Path) -> None:
    make_rich_pool(rows=200, classes=3).write(tmp_path / "pool")
    _, text = of_table(tmp_path, tmp_path / "pool" / "*.parquet", right=False)
    assert "#   city: text; Bern, Genève, Zürich; " in text
    assert "of 200 missing" in text
    content = yaml.safe_load(text)
    assert content["labels"] == {"classes": [0, 1, 2]}
    assert content["pool"]["slices"] == ["city", "year", "new"]
    assert Path(content["pool"]["path"]).is_absolute()


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"score": [-1.0, 2.0], "match_prob": [0.1, 0.9]}, ("score", "match_prob")),
        ({"score": [-1.0, 2.0], "match_prob": [0.1, 1.9]}, ("score", None)),
        ({"probability": [0.1, 0.9]}, ("probability", None)),
        ({"prob_cat": [0.1, 0.9], "prob_dog": [0.9, 0.1]}, ("prob_cat", None)),
        ({"p_0": [0.9, 0.3], "p_1": [0.1, 0.7]}, ("p_1", None)),
        ({"p_1": [0.1, 0.7], "p_0": [0.9, 0.3]}, ("p_1", None)),
        ({"ham": [0.9, 0.3], "spam": [0.1, 0.7], "prediction": ["ham", "spam"]}, ("spam", None)),
        ({"p_0": [0.9, 0.3], "p_1": [0.1, 0.7], "prediction": [True, False]}, ("p_0", None)),
        ({"score": [0.1, 0.9], "share": [0.1, 0.9]}, ("score", None)),
        ({"amount": [3.5, 80.0], "rf": [0.1, 0.9], "hgb": [0.2, 0.8]}, ("rf", None)),
        ({"amount": [3.5, 80.0]}, ("amount", None)),
    ],
)
def test_probabilities_beside_the_score(tmp_path: Path, columns: Any, expected: Any) -> None:
    """The one that is high where positives are predicted is theirs, of two that sum to 1."""
    _, text = of_table(tmp_path, {"id": [1, 2], "prediction": [0, 1], **columns})
    pool = yaml.safe_load(text)["pool"]
    assert (pool["score"], pool.get("probability")) == expected
    assert ("# is hgb another system's?" in text) == ("hgb" in columns)
    if "ham" in columns:  # The score of the other class would be low where it is predicted.
        named = ("--output", tmp_path / "other.yaml", "--positive", "ham")
        assert call("init", tmp_path / "pool.parquet", *named).status == 0
        assert "score: ham" in (tmp_path / "other.yaml").read_text()


SHARE = np.random.default_rng(0).permutation(np.linspace(0.001, 0.9, 300))
LIKELY = SHARE > 0.5
RAW, LOGITS = np.stack([9 * SHARE, 6 - 9 * SHARE, 3.5 + SHARE / 9]), ["l_a", "l_b", "l_c"]
SAID, BY_HALF = {"prediction": LIKELY}, {"threshold": 0.5}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"score": SHARE.astype(np.float16), **SAID}, {"score": "score"}),
        ({"score": ["-inf", *map(str, 9 * SHARE[1:] - 4)], **SAID}, {"score": "score"}),
        ({"result": [{"label": "YN"[int(p < 0.5)], "score": max(p, 1 - p)} for p in SHARE]},
         {"score": "result.score", "score_is": "confidence", "prediction": "result.label"}),
        ({"guesses": [f"[{{'label': 'a', 'score': {p}}}]" for p in SHARE], **SAID},
         {"prediction": "prediction", "payload": None}),
        ({"probability": [[1 - p, p] for p in SHARE], **SAID}, {"score": "FILL-IN"}),
        ({"weight": 9 * SHARE[::-1], "p_spam": SHARE, **SAID}, {"score": "p_spam"}),
        ({"label": np.arange(300) % 2, "p": SHARE, "two": [1, None, 0] * 100},
         {"prediction": BY_HALF, "slices": None}),
        ({"label": LIKELY.astype(int), "p": SHARE}, {"prediction": "label"}),
        ({"y_true": [0, 1] * 150, "score": SHARE}, {"prediction": BY_HALF}),
        ({"a_score": SHARE, "a_pred": LIKELY, "b_score": 1 - SHARE / 2, "b_pred": ~LIKELY},
         {"systems": {n: {"score": f"{n}_score", "prediction": f"{n}_pred"} for n in "ab"}}),
        ({"bad": SHARE, "ok": 1 - SHARE, "mood": np.where(LIKELY, "BAD", "OK")},
         {"score": "bad", "prediction": "mood"}),
        ({"a": SHARE / 2, "b": SHARE / 2, "c": 1 - SHARE, "kind": ["a", "b", "c"] * 100},
         {"prediction": "FILL-IN", "probability": {name: name for name in "abc"}}),
        ({"cats": [{"BAD": 1 - p, "OK": p} for p in SHARE[:200]] + [{"BAD": 0.1, "OK": 0.9}] * 100},
         {"score": "cats.BAD", "prediction": BY_HALF}),
        ({"p_no": SHARE, "p_yes": 1 - SHARE}, {"score": "p_yes", "prediction": BY_HALF}),
        ({"a": SHARE / 2, "b": SHARE / 2, "c": 1 - SHARE},
         {"prediction": "FILL-IN", "probability": {name: name for name in "abc"}}),
        ({"out_no": -9 * SHARE, "out_yes": 9 * SHARE - 9, "said": np.where(LIKELY, "yes", "no")},
         {"score": "out_yes", "prediction": "said"}),
        ({**dict(zip(LOGITS, RAW, strict=True)), "said": np.array(list("abc"))[RAW.argmax(0)]},
         {"logits": dict(zip("abc", LOGITS, strict=True)), "features": LOGITS, "score": None}),
        ({"label_1": np.where(LIKELY, "Y", "N"), "score_1": np.maximum(SHARE, 1 - SHARE),
          "label_2": np.where(LIKELY, "N", "Y"), "score_2": np.minimum(SHARE, 1 - SHARE)},
         {"score": "score_1", "score_is": "confidence", "prediction": "label_1"}),
    ],
)  # fmt: skip
def test_columns_as_other_programs_write_them(tmp_path: Path, columns: Any, expected: Any) -> None:
    """Fields and lists, labels of people beside probabilities, the second likeliest class."""
    _, text = of_table(tmp_path, {"id": range(300), **columns}, "FILL-IN" not in str(expected))
    pool = yaml.safe_load(text)["pool"]
    assert {key: pool.get(key) for key in expected} == expected
    is_label = {"label", "y_true"} & {*columns} and expected["prediction"] == BY_HALF
    assert ("# are these labels?" in text) == bool("kind" in columns or is_label)


@pytest.mark.parametrize(
    ("name", "options"), [("y_true", ()), ("Price", ("--label", "Price", "--drawn", "random"))]
)
def test_labels_that_are_numbers_are_refused(tmp_path: Path, name: str, options: Any) -> None:
    pool = tmp_path / "pool"
    pq.write_table(pa.table({"id": range(300), "y_pred": SHARE - 0.4, name: SHARE}), pool)
    refused = call("init", pool, "--output", tmp_path / "spec.yaml", *options)
    assert f"column '{name}' holds numbers and no classes: docs/regression.md" in refused.err


def test_two_columns_of_shares_may_be_two_systems(tmp_path: Path, monkeypatch: Any) -> None:
    """The spec has the lines to put in."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": [1, 2], "gbm": [0.1, 0.9], "rf": [0.2, 0.8]}), "pool.parquet")
    call("init", "pool.parquet")
    lines = Path("evaluation.yaml").read_text().splitlines()
    [line] = [line for line in lines if "# systems" in line]
    assert yaml.safe_load(line.replace("#", ""))["systems"] == {
        name: {"score": name, "prediction": {"threshold": 0.5}} for name in ("gbm", "rf")
    }


def test_names_and_values_of_any_letters(tmp_path: Path) -> None:
    odd = "na\x7fme\u200b \x01é\U0001f600"
    columns = {
        "id": [1, 2, 3], "score": [0.1, 0.5, 0.9], "prediction": ["a", "b", "a"],
        odd: ["\x02\x80 x", "y", "z"],
    }  # fmt: skip
    many = {name: values * 30 for name, values in columns.items()}
    many |= {"id": list(range(90)), odd: [f"{one}{n}" for n, one in enumerate(many[odd])]}
    assert yaml.safe_load(of_table(tmp_path, many)[1])["pool"]["payload"] == [odd]


@pytest.mark.parametrize(
    "name", ["task", "label", "annotator", "skipped", "comment", "time", "id", "label.x"]
)
def test_no_column_of_answers_is_shown(tmp_path: Path, name: str) -> None:
    texts = [f"text {row // 2}" for row in range(90)]
    columns = {"pair_id": range(90), "score": np.linspace(0, 1, 90), "prediction": [0, 1] * 45}
    _, text = of_table(tmp_path, {**columns, name: texts, "more": texts})
    assert yaml.safe_load(text)["pool"]["payload"] == ["more"]


@pytest.mark.parametrize(("told", "shown"), [(1.0, ["text"]), (0.5, ["text", "top"])])
def test_no_column_that_names_the_class_predicted_is_shown(
    tmp_path: Path, told: float, shown: Any
) -> None:
    """As a list of the likeliest classes does, or the answer of a language model."""
    said = ["refund", "login", "a b"] * 300
    columns = {"id": range(900), "label": said, "text": [f"text {row}" for row in range(900)]}
    columns["top"] = [f"{row}: [{said[row] if row < told * 900 else '-'}]" for row in range(900)]
    assert yaml.safe_load(of_table(tmp_path, columns)[1])["pool"]["payload"] == shown


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("id_right", "id_left", ["id_left", "id_right"]),
        ("ltable_id", "rtable_id", ["ltable_id", "rtable_id"]),
        ("record_id_1", "record_id_2", ["record_id_1", "record_id_2"]),
        ("paid_1", "paid_2", "name"),
        ("from_id", "from_id_old", "name"),
    ],
)
def test_two_ids_that_differ_in_their_sides_name_a_pair(
    tmp_path: Path, left: str, right: str, expected: Any
) -> None:
    columns = {"name": [f"row {row}" for row in range(90)], "score": np.linspace(0, 1, 90)}
    columns |= {left: np.arange(90) // 3, right: np.arange(90) % 3 + 100}
    assert yaml.safe_load(of_table(tmp_path, columns)[1])["pool"]["id"] == expected


def test_two_ids_that_repeat_together_name_no_pair(tmp_path: Path) -> None:
    """As sender and receiver of messages do."""
    columns = {"name": [f"row {row}" for row in range(90)], "score": np.linspace(0, 1, 90)}
    columns |= {"from_id": np.arange(90) // 30, "to_id": np.arange(90) // 45}
    assert yaml.safe_load(of_table(tmp_path, columns)[1])["pool"]["id"] == "name"


def test_a_column_of_labels_is_no_slice(tmp_path: Path) -> None:
    labels = pa.array([None, 0, None, 1] * 25)
    columns = {"id": range(100), "score": np.linspace(0, 1, 100), "pred": [0, 1] * 50}
    columns["gold"] = ["yes", "yes", "no", "no"] * 25  # and not shown to annotators
    _, text = of_table(tmp_path, {**columns, "y_true": labels, "lang": ["en", "de"] * 50})
    pool = yaml.safe_load(text)["pool"]
    assert (pool["slices"], pool.get("payload")) == (["lang"], None)
    assert "  # column: gold  # are these labels?" in text


def test_what_cannot_be_guessed_is_to_be_filled_in(tmp_path: Path) -> None:
    columns: Any = {"id": range(50), "score": ["NULL", *map(str, range(49))]}
    told, _ = of_table(tmp_path, columns, right=False)
    assert "score has 'NULL', which is no number" in " ".join(told.out.split())
    columns = {"a": np.arange(50) % 7 / 9, "id": np.arange(50) % 7}
    pq.write_table(pa.table(columns), tmp_path / "pool.parquet")
    done = call("init", tmp_path / "pool.parquet", "--output", tmp_path / "e.yaml", "--json").json
    assert done["open"] == ["pool.id"]
    assert done["why"] == "no column or several look like it: id has 7 values in 50 rows"
    text = (tmp_path / "e.yaml").read_text()
    assert "id: FILL-IN  # names each row" in text
    assert "prediction: {threshold: 0.5}" in text
    assert "column 'FILL-IN' is missing" in call("prepare", "--check", tmp_path / "e.yaml").out


@pytest.mark.parametrize(
    ("said", "told", "expected"),
    [
        (["ham", "spam"] * 50, ["ham", "spam", "Spam", None] * 25, "told"),
        ([0, 1] * 50, ["Y", None, "n", None] * 25, "told"),
        (["ham", "spam"] * 50, ["ham", "spam", "ham", "ham"] * 25, "told"),
        (["ham", "spam"] * 50, ["spam", "ham"] * 50, None),
        (None, ["ok", None, "bad", None] * 25, "human"),
    ],
)
def test_what_may_be_labels_is_neither_slice_nor_shown(
    tmp_path: Path, said: Any, told: Any, expected: str | None
) -> None:
    """Annotators would see them; the second system says otherwise in most rows."""
    columns = {"id": range(100), "score": np.linspace(0, 1, 100), expected or "two": told}
    _, text = of_table(tmp_path, columns if said is None else {**columns, "prediction": said})
    pool = yaml.safe_load(text)["pool"]
    assert (f"  # column: {expected}  # are these labels?" in text) == (expected is not None)
    assert pool.get("slices") == (["two"] if expected is None else None)
    assert pool.get("payload") is None


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    make_pool(rows=20).write(tmp_path / "pool")
    spec = tmp_path / "evaluation.yaml"
    spec.write_text("mine")
    refused = call("init", tmp_path / "pool" / "*.parquet", "--output", spec).refused
    assert "is there already; --output names another file" in refused
    assert spec.read_text() == "mine"
    assert "no such file" in call("init", tmp_path / "none.parquet", "--output", "x.yaml").err


@pytest.mark.parametrize(
    "said", [("no", "yes"), *slowly(("No", "Yes"), ("0", "1"), ("false", "true"))]
)
@pytest.mark.parametrize("name", ["flagged", "is_fraud"])
def test_an_answer_of_yes_or_no_is_the_prediction(
    tmp_path: Path, said: tuple[str, str], name: str
) -> None:
    """Not a slice; and a score of whole numbers is one."""
    rows = [f"a{i},text {i},{i % 60 + 7},{said[i % 2]},{'ab'[i % 3 % 2]}" for i in range(300)]
    pool = tmp_path / "pool.csv"
    pool.write_text("\n".join([f"id,answer,judge_score,{name},model", *rows, ""]))
    content = yaml.safe_load(of_table(tmp_path, pool)[1])["pool"]
    assert (content["prediction"], content["score"]) == (name, "judge_score")
    assert (content["slices"], content["payload"]) == (["model"], ["answer"])


@pytest.mark.parametrize("shown", ["0,{:02}", "{} %", "{}%", "high {}"])
def test_annotators_see_no_score_in_whatever_form(tmp_path: Path, shown: str) -> None:
    rows = [f"a{i};text {i};{shown.format(i % 70 + 10)};{i % 2}" for i in range(300)]
    pool = tmp_path / "pool.csv"
    pool.write_text("\n".join(["id;answer;risk;prediction", *rows, ""]))
    told, text = of_table(tmp_path, pool, right=False)
    assert "fill in pool.score" in told.out
    assert yaml.safe_load(text)["pool"]["payload"] == ["answer"]
    assert ("write 0.93 for 0,93 or 93 %" in text) == (shown != "high {}")


@pytest.mark.parametrize(
    ("scores", "threshold", "said"),
    [
        (np.linspace(0, 1, 200), 0.5, "200 rows, probability of a positive"),
        (np.append(np.linspace(0, 0.9, 199), 1.0000054), 0.5, "1 row outside [0, 1] by rounding"),
        (np.linspace(-6, 6, 200), 0, "'score' is read as log-odds"),
        (np.linspace(0, 100, 200), None, None),
        (np.linspace(-90, -1, 200), None, None),
    ],
)
def test_what_is_made_of_scores_is_said(
    tmp_path: Path, scores: np.ndarray, threshold: float | None, said: str | None
) -> None:
    """And a threshold at even odds is suggested only where scores may have any."""
    told, text = of_table(tmp_path, {"id": np.arange(200), "score": scores}, right=False)
    prediction = yaml.safe_load(text)["pool"]["prediction"]
    assert prediction == ("FILL-IN" if threshold is None else {"threshold": threshold})
    out = " ".join(told.out.split())
    assert said is None or said in out
    assert ("scores of the first rows: " in out) == (said is not None)
    assert ("fill in pool.prediction" in out) == (threshold is None)


@pytest.mark.parametrize(
    ("least", "by_threshold", "is_one"), [(0.5, 0, 1), (0.5, 1, 0), (0.4, 0, 0)]
)
def test_the_confidence_in_a_prediction_is_called_so(
    tmp_path: Path, least: float, by_threshold: int, is_one: int
) -> None:
    """Unless a threshold of the score made the predictions: it may be of likely positives alone."""
    score = np.linspace(least, 1, 200)
    says = np.where(score > 0.9 if by_threshold else np.arange(200) % 3 == 0, "spam", "ham")
    columns = {"id": np.arange(200), "label": says, "score": score, "other": score}
    _, text = of_table(tmp_path, columns)
    assert ("confidence" in yaml.safe_load(text)["pool"].values()) == is_one
    assert ("{score: other, score_is: confidence, prediction: FILL-IN}" in text) == is_one


@pytest.mark.parametrize(
    ("names", "classes", "expected"),
    [
        ("confidence", 3, {"score": "confidence", "score_is": "confidence"}),
        ("confidence", 25, {"score": "confidence", "score_is": "confidence"}),
        ("score", 3, {}),
        ("p_a p_not_b p_b p_c confidence", 3, {"score": "confidence", "probability": EACH}),
        ("p_a p_b p_c", 3, {"probability": EACH, "features": ["p_a", "p_b", "p_c"]}),
        ("p_a p_not_b p_c", 3, {}),
        ("p_a p_b", 3, {}),
    ],
)
def test_of_several_classes_a_confidence_or_a_column_for_each_is_found(
    tmp_path: Path, names: str, classes: int, expected: Any
) -> None:
    """No score below 1/3 is the confidence in one of three, and no sum but 1 is of all classes."""
    said, sure = np.arange(1000) % classes, np.random.default_rng(0).uniform(0.5, 1, 1000)
    a, b, c = np.where(said == np.arange(3)[:, None], sure, (1 - sure) / 2)
    made = {"p_a": a, "p_b": b, "p_c": c, "p_not_b": 1 - b, "confidence": sure, "score": sure - 0.4}
    columns = {"id": range(1000), "label": np.array([*string.ascii_lowercase])[said]}
    columns |= {name: made[name] for name in names.split()}
    result, text = of_table(tmp_path, columns)
    assert "fill in" not in result.out
    content = yaml.safe_load(text)
    keys = [
        key for key in ("score", "score_is", "probability", "features") if key in content["pool"]
    ]
    assert {key: content["pool"][key] for key in keys} == expected
    assert len(content["labels"]["classes"]) == classes
    assert "positive" not in content["labels"]


@pytest.mark.parametrize(
    ("verdicts", "classes"),
    [
        (["pass", "fail", "pass", "pass"], ["fail", "pass"]),
        ([True, False, True, True], [0, 1]),
        (
            pa.array(["bug", "other", "question", "bug"]).dictionary_encode(),
            ["bug", "other", "question"],
        ),
    ],
)
def test_a_verdict_alone_makes_strata(tmp_path: Path, verdicts: Any, classes: Any) -> None:
    """Also of many classes, for which one column of scores would not do."""
    columns = {"id": list(range(4)), "verdict": verdicts}
    if len(classes) > 2:
        columns["score"] = [0.1, 0.2, 0.3, 0.4]
    told, text = of_table(tmp_path, columns, right=False)
    assert "fill in" not in told.out
    written = yaml.safe_load(text)
    assert "score" not in written["pool"]
    assert written["strata"] == {"method": "predictions"}
    assert written["labels"]["classes"] == classes
    assert load_spec(tmp_path / "mine.yaml").strata.by_predictions
    assert call("prepare", tmp_path / "mine.yaml").status == 0


def test_of_one_verdict_the_other_class_is_asked_for(tmp_path: Path) -> None:
    told, text = of_table(tmp_path, {"id": [1, 2], "verdict": ["pass"] * 2}, right=False)
    assert "fill in labels.classes" in told.out
    assert "FILL-IN" in text


@pytest.mark.parametrize(
    ("common", "rare", "positive"),
    [
        ("non-match", "match", "match"),
        ("legit", "fraud", "fraud"),
        ("no", "yes", "yes"),
        ("yes", "no", "yes"),
    ],
)
def test_the_rarer_verdict_is_what_measures_are_about(
    tmp_path: Path, common: str, rare: str, positive: str
) -> None:
    """By the alphabet it was the non-match; F1 of what nobody looks for is nearly 1."""
    columns = {"id": range(90), "verdict": [rare] * 9 + [common] * 81}
    _, text = of_table(tmp_path, columns)
    classes = sorted([common, rare])
    assert yaml.safe_load(text)["labels"] == {"classes": classes, "positive": positive}


def test_a_verdict_in_several_spellings_is_one_class(tmp_path: Path) -> None:
    verdicts = ["match", "MATCH", " match ", "other", "Other", "other"] * 20
    _, text = of_table(tmp_path, {"id": range(120), "verdict": verdicts})
    assert yaml.safe_load(text)["labels"]["classes"] == ["match", "other"]
    assert "120 rows in 2 cells" in call("prepare", tmp_path / "mine.yaml").out


@pytest.mark.parametrize("column", ["score", "verdict"])
def test_one_empty_cell_does_not_hide_what_a_column_is(tmp_path: Path, column: str) -> None:
    """Another column or threshold would take its place, and annotators would see the verdict."""
    columns: dict[str, Any] = {"id": range(90), "rank": np.linspace(0, 1, 90).tolist()}
    columns |= {"score": np.linspace(0, 1, 90).tolist(), "verdict": ["match", "other"] * 45}
    columns["note"] = [f"note {row // 2}" for row in range(90)]
    columns[column][7] = None
    _, text = of_table(tmp_path, columns, right=False)
    pool = yaml.safe_load(text)["pool"]
    assert (pool["score"], pool["prediction"], pool["payload"]) == ("score", "verdict", ["note"])
    said = call("prepare", "--check", tmp_path / "mine.yaml").out
    assert f"column '{column}', row 7: null" in said
    assert f"pool.where: {column} IS NOT NULL" in said


@pytest.mark.parametrize(
    ("name", "human", "taken"),
    [("prediction", False, True), ("is_link", True, True), ("is_link", False, False),
     ("is_vip", True, False)],
)  # fmt: skip
def test_links_written_down_alone_are_not_replaced_by_a_threshold(
    tmp_path: Path, name: str, human: bool, taken: bool
) -> None:
    """Of 12,000 pairs recall of the links was .59, and that of the threshold .97 (.91 to .98)."""
    columns = {"id": range(90), "score": np.linspace(0, 1, 90), name: [None, 1, None] * 30}
    columns |= {"human": [0, None, None, None, 1, None] * 15} if human else {}
    label = ["--label", "human", "--drawn", "random"] * human
    pq.write_table(pa.table(columns), tmp_path / "pool.parquet")
    call("init", tmp_path / "pool.parquet", "--output", tmp_path / "mine.yaml", *label)
    pool = yaml.safe_load((tmp_path / "mine.yaml").read_text())["pool"]
    assert pool["prediction"] == (name if taken else {"threshold": 0.5})
    said = call("prepare", "--check", tmp_path / "mine.yaml").out
    assert (f"column '{name}', row 0: null: give it one of [0, 1]" in said) == taken


@pytest.mark.parametrize("scores", [[0.0, 1.0], [0, 1], [1, 1]])
def test_a_score_of_two_values_is_none(tmp_path: Path, scores: list[float]) -> None:
    """As promptfoo gives it: of 40 intervals of recall 34 held the truth by it, and 39 without."""
    columns = {"id": range(90), "verdict": ["fail", "pass", "pass"] * 30, "score": scores * 45}
    pool = yaml.safe_load(of_table(tmp_path, columns)[1])["pool"]
    assert ("score" in pool, pool["prediction"], pool.get("slices")) == (False, "verdict", None)


def test_texts_of_a_short_table_are_no_slices(tmp_path: Path) -> None:
    columns = {"id": range(8), "prediction": [0, 1] * 4, "text": [*"abcdefgh"], "x": [*"pq"] * 4}
    pool = yaml.safe_load(of_table(tmp_path, columns)[1])["pool"]
    assert (pool["slices"], pool["payload"]) == (["x"], ["text"])


def test_annotators_do_not_see_a_verdict_that_half_the_rows_have(tmp_path: Path) -> None:
    columns = {"id": range(90), "score": np.linspace(0, 1, 90), "prediction": [0, 1] * 45}
    columns |= {"judge": ["good", None, "bad"] * 30, "text": [f"t {row // 2}" for row in range(90)]}
    assert yaml.safe_load(of_table(tmp_path, columns)[1])["pool"]["payload"] == ["text"]
