"""What `estimate` returns to a notebook."""

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError, measures
from evalsampling.inference.results import ASSUMES


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    rng = np.random.default_rng(2)
    truth = rng.random(3000) < 0.2
    pool = {name: rng.normal(size=3000) + 2 * truth for name in ("old", "new")}
    pool["region"] = np.where(rng.random(3000) < 0.5, "<a>", "b")
    systems = {name: {"score": name, "prediction": {"threshold": 1}} for name in ("old", "new")}
    one = Evaluation.from_frame(
        pool, pool={"systems": systems, "slices": ["region"]}, measure=["f1", "recall"], seed=1
    )
    ids = one.sample(200)
    one.label(ids, truth[ids])
    return one


@pytest.mark.slow
def test_measures_by_name(evaluation: Evaluation) -> None:
    told = evaluation.estimate(["precision", "recall"])
    assert [*dict.fromkeys(one.measure for one in told)] == ["precision", "recall"]
    assert {one.measure for one in evaluation.estimate("precision")} == {"precision"}
    [single] = [
        e for e in evaluation.estimate({"name": "npv", "system": "new"}) if not e.target.slice
    ]
    assert single.target.system == "new"
    by_object = evaluation.estimate([measures.Precision(system=0), "recall"])
    assert by_object["precision"].value == told["precision of old"].value
    with pytest.raises(InputError, match="unknown measure 'presicion'; did you mean precision"):
        evaluation.estimate(["presicion"])


@pytest.mark.slow
def test_estimates_by_name(evaluation: Evaluation) -> None:
    told = evaluation.estimate()
    one = told["f1 of new where region=<a>"]
    assert (one.target.system, one.target.slice) == ("new", "region=<a>")
    assert (one.low, one.high) == (one.intervals[0].low, one.intervals[0].high)
    assert one.half_width == pytest.approx((one.high - one.low) / 2)
    assert told["f1 of old"] is told[0]
    with pytest.raises(KeyError, match="2 estimates are called 'f1'; there are: 'f1 of old', 'f1"):
        told["f1"]
    with pytest.raises(KeyError, match="no estimate 'f2'; there are: 'f1 of old'"):
        told["f2"]
    assert type(told[:3]) is type(told)
    assert [e.measure for e in told[:3]] == ["f1"] * 3


@pytest.mark.slow
def test_tables(evaluation: Evaluation) -> None:
    told = evaluation.estimate()
    table = told.to_arrow()
    assert table["value"].to_pylist() == [one.value for one in told]
    assert table["low"].to_pylist() == [one.low for one in told]
    assert table["reliable"].to_pylist() == [one.reliable for one in told]
    by_title = told.to_dict()
    assert len(by_title) == len(told), "titles tell estimates apart"
    assert by_title["recall of new"]["high"] == told["recall of new"].high
    pd = pytest.importorskip("pandas")
    frame = told.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == table.column_names
    assert Evaluation.estimate(evaluation, ["f1"]).to_arrow().schema == table.schema


def test_all_points_of_a_curve_have_titles_though_six_digits_do_not_tell_them_apart() -> None:
    one = Evaluation.from_arrays(1e7 + np.arange(900), 1e7 + 600, measure="pr_curve")
    ids = one.sample(60)
    one.label(ids, ids > 500)
    told = one.estimate()
    assert [told[name] for name in told.to_dict()] == told
    [above_all, *_] = one.estimate({"name": "pr_curve", "thresholds": [2e7]})
    assert above_all.reason.endswith("the pool has no positives, or no rows at or above it")


def test_without_pandas(evaluation: Evaluation, monkeypatch: Any) -> None:
    from evalsampling.evaluation import estimates

    class NoPandas:
        def to_pandas(self) -> None:
            raise ModuleNotFoundError("No module named 'pandas'")

    monkeypatch.setattr(estimates.Estimates, "to_arrow", lambda self: NoPandas())
    with pytest.raises(InputError, match="to_frame needs pandas, which is not installed"):
        evaluation.estimate().to_frame()


def test_shown(evaluation: Evaluation) -> None:
    told = evaluation.estimate()
    text = " ".join(repr(told).split())
    kinds = {one.intervals[0].kind for one in told if one.claims}
    assert kinds
    notes = [f"{kind}: {words}" for kind, words in ASSUMES.items() if kind in kinds]
    ordered = sorted(told, key=lambda one: not one.target.compares_on_pool)
    said = [f"<{len(told)} estimates>", *(one.statement for one in ordered), *notes]
    assert text == " ".join(said)
    assert max(map(len, repr(told).splitlines())) <= 100
    assert repr(told[0]).startswith("<Estimate f1 of old: 0.")
    rows = ET.fromstring(f"<div>{told._repr_html_()}</div>").findall(".//tbody/tr")
    titles = ["".join(row[0].itertext()) for row in rows]
    assert titles == [one.target.title for one in ordered], "names are escaped"
    many = type(told)([*told] * 5)
    assert f"\nand {len(many) - 40} more: to_frame() has them all" in repr(many)
    assert " ".join(repr(many).split()).endswith(notes[-1])
    assert len(ET.fromstring(f"<div>{many._repr_html_()}</div>").findall(".//tbody/tr")) == 40


def test_an_evaluation_is_shown_in_a_line(evaluation: Evaluation) -> None:
    text = repr(evaluation)
    assert text.startswith("<Evaluation of f1, difference(f1), recall, difference(recall): 3,000 ")
    assert text.endswith("rounds 1, labels 200 of 200 rows drawn>")
    assert "\n" not in text


def test_what_the_command_line_warns_of_is_printed() -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(3000) < 0.1
    log_odds = rng.normal(size=3000) + 3 * truth - 3
    score = np.linspace(0, 1, 3000)
    evaluation = Evaluation.from_arrays(score, log_odds > 1, seed=1)
    ids = evaluation.sample(50)
    evaluation.label(ids[:30], truth[ids[:30]])
    told = evaluation.estimate()
    missing = (
        "20 of 50 rows drawn have no label; others of their round stand for them, as if missing at "
        "random"
    )
    assert told.warnings[0].startswith("20 of 50 rows drawn have no label, which is seldom at")
    assert told.warnings[1].startswith("pool.score: 'score' expects 1,500 positives where ")
    assert missing in told.warnings
    shown = " ".join(repr(told).split())
    assert f"warning: {missing}" in shown
    assert "warning: pool.score: 'score' expects 1,500" in shown
    assert missing in told._repr_html_()
    few = Evaluation.from_arrays(
        log_odds, log_odds > 0, seed=1, sampler="passive", measure="recall"
    )
    ids = few.sample(30)
    few.label(ids, truth[ids])
    [warning] = few.estimate().warnings
    assert " ".join(repr(few.estimate()).split()).endswith(f"warning: {warning}")
    assert f"{truth[ids].sum()} " in warning


def test_comparisons_show_test_and_chance(evaluation: Evaluation) -> None:
    told = evaluation.estimate(["f1"])
    compared = told["f1 of old against new"]
    assert compared.statement in " ".join(repr(told).split())
    p_value, chance = compared.significance.p_value, compared.significance.chance_above
    assert f"the p-value of no difference is {p_value:.2g}." in compared.statement
    assert f"The chance that old is higher is {chance:.2g}," in compared.statement
    assert compared.statement in "".join(
        ET.fromstring(f"<div>{told._repr_html_()}</div>").itertext()
    )
