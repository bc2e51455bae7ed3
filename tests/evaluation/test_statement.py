"""Estimates in plain words."""

import dataclasses
import math
import re
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import special

from evalsampling import Evaluation
from evalsampling.evaluation.statement import stated, statement
from evalsampling.inference.intervals import Interval
from evalsampling.inference.outlook import Outlook
from evalsampling.inference.results import Estimate, Target, census, undefined
from evalsampling.inference.significance import Significance
from evalsampling.inference.unsearched import Unsearched
from tests.docs.prose import MOST_WORDS, sentences, words
from tests.jobs import call

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"

MODEL, DESIGN = ("model-based", "calibration-curve"), ("design-based", "korn-graubard")
NUMBER = r"(\d[\d,]*(?:\.\d+)?)"

SENTENCES = (
    (r"(?:F1|Precision|Recall) # \(# to #\)\.", ("value", "low", "high")),
    (
        r"(?:F1|Precision|Recall) is exactly #: every row that it depends on has a label\.",
        ("value",),
    ),
    (
        r"(?:F1|Precision|Recall) #, but the labels allow no claim yet: it may be far off\.",
        ("value",),
    ),
    (r"The (?:low|high) end allows for positives that score lower than .*\.", ()),
    (r"For ± # expect # to # labels\.", ("outlook.half_width", "outlook.labels", "outlook.most")),
    (
        r"For ± # label the # other rows? that it depends on: then it is exact\.",
        ("outlook.half_width", "outlook.rows"),
    ),
    (r"For ± # expect # labels or more\.", ("outlook.half_width", "outlook.labels")),
    (r"No affordable number of labels makes it ± #: .*\.", ("outlook.half_width",)),
    (
        r"By the labels alone it may be #: # of the # rows(?: that score lower than every labelled "
        r"positive)? may be positive \(# ha(?:ve|s) a label\)\.",
        tuple(f"unsearched.{name}" for name in ("value", "positives", "rows", "labelled")),
    ),
)
"""What an estimate may say, `#` for a number, and the fields of `estimate --json` it shows."""

POOLS = (
    "clinc-bill-mnb", "coil2000-gnb", "compas-decile", "lawschool-lr", "letter-Q-rf",
    "magellan-dblpscholar-knn", "mammography-svm", "mnist-sgd", "nasa-mc1-gnb",
    "shoppers-shift-knn",
)  # fmt: skip


def of(  # type: ignore[no-untyped-def]
    value: float, low: float, high: float, kind=MODEL, target: Target | None = None, **keys
) -> Estimate:
    return Estimate(
        target or Target("f1"), value, 0.05, 0.95, (Interval(low, high, *kind),), **keys
    )


def test_positives_that_were_not_met_are_named_where_they_make_the_width() -> None:
    estimate = of(
        0.704,
        0.384,
        0.801,
        without_unmet=Interval(0.612, 0.801, *MODEL),
        outlook=Outlook(0.05, 4987, 9974),
        unsearched=Unsearched(9, 971_234, 310, 9_385, 0.0912),
    )
    assert statement(estimate) == (
        "F1 0.70 (0.38 to 0.80). The low end allows for positives that score lower than every "
        "labelled positive. For ± 0.05 expect 5,000 to 10,000 labels. By the labels alone it may "
        "be 0.091: 9,385 of the 971,234 rows that score lower than every labelled positive may be "
        "positive (310 have a label)."
    )


def test_no_labels_are_forecast_where_they_make_the_width() -> None:
    """Nobody knows how many there are."""
    wide = of(1.0, 0.45, 1.0, without_unmet=Interval(0.999, 1.0, *MODEL))
    told = stated(wide, 100, goal=0.2)
    assert told.outlook is None
    assert "labels" not in told.statement.replace("labelled", "")
    other = dataclasses.replace(wide, without_unmet=Interval(0.5, 1.0, *MODEL))
    assert stated(other, 100, goal=0.2).outlook is not None


def test_nothing_is_said_of_them_where_they_do_not() -> None:
    estimate = of(
        0.704,
        0.604,
        0.801,
        without_unmet=Interval(0.65, 0.801, *MODEL),
        outlook=Outlook(0.05, 1987, 3974),
        unsearched=Unsearched(9, 971_234, 31_000, 93, 0.62),
    )
    assert statement(estimate) == "F1 0.70 (0.60 to 0.80). For ± 0.05 expect 2,000 to 4,000 labels."


def test_of_several_systems_it_says_whose_scores_order_the_rows() -> None:
    """In one order, whatever that of the spec."""
    estimate = of(
        0.704, 0.384, 0.801,
        without_unmet=Interval(0.612, 0.801, *MODEL),
        unsearched=Unsearched(9, 971_234, 310, 9_385, 0.0912),
    )  # fmt: skip
    told = statement(estimate, scored=("old", "new"))
    assert told == statement(estimate, scored=("new", "old"))
    assert told == (
        "F1 0.70 (0.38 to 0.80). The low end allows for positives that score lower than every "
        "labelled positive, by the greater of the scores of new and old. By the labels alone it "
        "may be 0.091: 9,385 of the 971,234 rows that score lower than every labelled positive may "
        "be positive (310 have a label)."
    )
    narrow = statement(dataclasses.replace(estimate, without_unmet=None), scored=("old", "new"))
    assert "it may be 0.091. By the greater of the scores of new and old, 9,385 of" in narrow
    assert "the greatest of the scores of a, b and c" in statement(estimate, scored="cab")
    assert "the greatest of all systems' scores" in statement(estimate, scored="abcd")
    assert statement(estimate, scored=("only",)) == statement(estimate)


def test_what_labels_leave_open_is_said_where_the_interval_claims_more() -> None:
    low = of(0.7, 0.6, 0.8, unsearched=Unsearched(9, 500, 1, 60, 0.599))
    assert "By the labels alone it may be 0.6: 60 of the 500 rows" in statement(low)
    assert statement(low).endswith("(1 has a label).")
    none = of(0.98, 0.97, 0.99, unsearched=Unsearched(0, 500, 20, 60, 0.88))
    assert "60 of the 500 rows may be positive (20 have a label)" in statement(none)
    assert "alone" in statement(of(0.02, 0.01, 0.03, unsearched=Unsearched(9, 500, 3, 60, 0.14)))
    assert "alone" not in statement(of(0.7, 0.6, 0.8, unsearched=Unsearched(9, 500, 1, 60, 0.6)))


def test_where_no_affordable_number_of_labels_helps_it_says_what_would() -> None:
    estimate = stated(of(0.7, 0.5, 0.9), 500, goal=0.01)
    assert estimate.outlook == Outlook(0.01, None)
    assert "No affordable number of labels makes it ± 0.01" in estimate.statement
    assert "a second score or a machine's labels would" in estimate.statement


@pytest.mark.parametrize(
    ("estimate", "words"),
    [
        (census(Target("recall"), 0.9125, 0.95, "positives"), "Recall is exactly 0.912: every row"),
        (
            undefined(Target("recall"), 0.95, "no labels", "no labelled row where a=b"),
            "Recall cannot be estimated: no labelled row where a=b.",
        ),
        (
            of(1.5, 0.9, math.inf, DESIGN, Target("log_loss", (0.0, math.inf))),
            "Log loss 1.500; how far off it is, is not known.",
        ),
        (of(0.8, 0.0, 1.0, DESIGN), "F1 0.80, but the labels allow no claim yet"),
        (
            of(0.8, 0.7, 0.9, DESIGN, Target("f1", system="new", slice="country=DE")),
            "F1 of new where country=DE 0.80 (0.70 to 0.90).",
        ),
        (
            of(-3.25, -5.0, -1.5, DESIGN, Target("mean_error", (-math.inf, math.inf))),
            "Mean error \N{MINUS SIGN}3.25 (\N{MINUS SIGN}5.00 to \N{MINUS SIGN}1.50).",
        ),
    ],
)
def test_other_estimates(estimate: Estimate, words: str) -> None:
    assert statement(estimate).startswith(words)


@pytest.mark.parametrize(
    ("p_value", "above", "words"),
    [
        (0.0123, 0.987, "is 0.99, the p-value of no difference is 0.012."),
        (1e-12, 0.99998, "is above 0.99, the p-value of no difference is below 0.0001."),
    ],
)
def test_a_comparison_has_its_test_and_its_chance(p_value: float, above: float, words: str) -> None:
    """Near their ends they are not called certain."""
    target = Target("difference(f1)", (-1.0, 1.0), system="new", against="old")
    tested = Significance(p_value, chance_above=above)
    estimate = of(0.052, 0.011, 0.093, DESIGN, target, significance=tested)
    assert statement(estimate) == (
        "Difference in F1 of new against old 0.052 (0.011 to 0.093): new is higher. The chance "
        f"that new is higher {words}"
    )


@pytest.mark.parametrize(
    ("low", "high", "measure", "verdict"),
    [
        (0.1, 0.3, "difference(f1)", "new is higher"),
        (-0.3, -0.1, "difference(f1)", "old is higher"),
        (-0.1, 0.3, "difference(f1)", "not decided"),
        (0.5, 0.9, "ratio(f1)", "old is higher"),
        (0.9, 1.2, "ratio(f1)", "not decided"),
    ],
)
def test_a_comparison_has_a_verdict(low: float, high: float, measure: str, verdict: str) -> None:
    bounds = (0.0, math.inf) if measure.startswith("ratio") else (-1.0, 1.0)
    target = Target(measure, bounds, system="new", against="old")
    assert statement(of((low + high) / 2, low, high, DESIGN, target)).endswith(f"): {verdict}.")


def test_intervals_that_are_not_reliable_have_no_outlook() -> None:
    assert stated(of(0.7, 0.6, 0.8), 500, None).outlook is not None
    assert stated(of(0.7, 0.6, 0.8, reliable=False), 500, None).outlook is None
    point = of(0.7, 0.6, 0.8, target=Target("precision", threshold=1.0))
    assert stated(point, 500, None).outlook is None


def test_few_rows_make_a_number_exact_and_it_says_how_many() -> None:
    """Of 90 rows that are predicted positive 15 have no label: as many decide precision."""
    score = np.linspace(3, -3, 5000)
    truth = np.random.default_rng(3).random(5000) < special.expit(3 * (score - 2.1))
    pool = {"score": score, "prediction": np.arange(5000) < 90}
    evaluation = Evaluation.from_frame(pool, measure="precision", seed=1)
    left = 90
    for _ in range(3):
        rows = np.asarray(evaluation.sample(28), dtype=np.int64)
        evaluation.label(rows, truth[rows])
        left -= np.count_nonzero(rows < 90)
    (estimate,) = evaluation.estimate()
    assert 0 < left < 30
    told = estimate.statement
    assert f"label the {left} other rows that it depends on: then it is exact." in told


def test_numbers_of_a_statement_are_fields() -> None:
    """Every number in a sentence is one of the estimate's, rounded."""
    estimate = of(
        0.704, 0.384, 0.801, without_unmet=Interval(0.612, 0.808, *MODEL),
        outlook=Outlook(0.05, 4987, 9974),
    )  # fmt: skip
    numbers = re.findall(r"\d+\.\d+|\d[\d,]*", statement(estimate).replace("F1", "", 1))
    fields = {0.70, 0.38, 0.80, 0.05, 5000.0, 10000.0}
    assert {float(number.replace(",", "")) for number in numbers} == fields


def fields_of(sentence: str) -> list[tuple[str, str]]:
    """The numbers of a sentence as they are shown, each with its field of `estimate --json`."""
    for form, fields in SENTENCES:
        found = re.fullmatch(form.replace("#", NUMBER), sentence)
        if found:
            return list(zip(found.groups(), fields, strict=True))
    raise AssertionError(f"no known sentence: {sentence}")


def as_shown(value: float, text: str, field: str) -> Decimal:
    """A field rounded as the sentence shows it: percents, counts of two digits, decimals."""
    name = field.rpartition(".")[2]
    if name in ("confidence", "share"):
        value *= 100
    if name in ("labels", "most"):
        return Decimal(f"{value:.2g}")
    if name == "least":
        return Decimal(math.floor(100 * value)) / 100
    places = Decimal(1).scaleb(-len(text.partition(".")[2]))
    return Decimal(value).quantize(places, ROUND_HALF_EVEN)


def check_statement(estimate: dict[str, Any]) -> int:
    """Compares all numbers of a statement with the fields they show, and counts them."""
    numbers = [pair for one in sentences(estimate["statement"]) for pair in fields_of(one)]
    for text, field in numbers:
        value: Any = estimate
        for key in field.split("."):
            value = value[key]
        shown = Decimal(text.replace(",", ""))
        assert shown == as_shown(value, text, field), (field, value, estimate["statement"])
    assert all(words(one) <= MOST_WORDS for one in sentences(estimate["statement"]))
    return len(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("pool", POOLS)
def test_numbers_of_statements_on_real_pools_are_fields(pool: str, tmp_path: Path) -> None:
    if not CORPUS.exists():
        pytest.skip("no corpus of pools beside the project")
    spec, workspace, labels = (tmp_path / name for name in ("spec.yaml", "run", "labels.csv"))
    spec.write_text(
        f"pool: {{path: {CORPUS / pool}.parquet}}\nmeasure: [f1, precision, recall]\n"
        "budget: 300\nround_size: 100\nseed: 5\nworkspace: run\n"
    )
    truth = pq.read_table(CORPUS / f"{pool}-truth.parquet").to_pydict()
    label = dict(zip(truth["id"], truth["label"], strict=True))
    assert call("prepare", spec, "--in-process").status == 0
    checked = 0
    for number in (1, 2, 3):
        assert call("sample", workspace).status == 0
        batch = pq.read_table(workspace / f"rounds/{number:04d}/batch.parquet").to_pydict()
        lines = [f"{task},{label[id]}" for task, id in zip(batch["task"], batch["id"], strict=True)]
        labels.write_text("\n".join(["task,label", *lines, ""]))
        result = call("estimate", workspace, "--labels", labels, "--json").done
        checked += sum(map(check_statement, result.json["measures"]))
    assert checked >= 27, "a value and two ends of three measures, three times"


def test_a_number_that_is_no_field_is_noticed() -> None:
    shown = {"statement": "F1 0.70 (0.38 to 0.80).", "value": 0.704, "low": 0.384, "high": 0.801}
    assert check_statement(shown) == 3
    with pytest.raises(AssertionError, match="high"):
        check_statement(shown | {"high": 0.81})
    with pytest.raises(AssertionError, match="no known sentence"):
        check_statement(shown | {"statement": "F1 0.70, in 3 of 4 runs."})
