"""`simulate` in words, and of a stochastic oracle from files of rates."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs import Job, call, make_rich_pool


def write_rates(one: Job, columns: dict[str, Any]) -> Path:
    path = one.directory / "rates.parquet"
    pq.write_table(pa.table({"id": list(one.pool.truth), **columns}), path)
    return path


def test_simulate_a_stochastic_oracle(job: Any) -> None:
    """Probabilities of the positive class, or of all classes, are the same truth."""
    one: Job = job(labels={"oracle": "stochastic", "votes": 2}, sampler="poisson")
    label = np.array(list(one.pool.truth.values()))
    rate = np.where(label == 1, 0.8, np.where(np.arange(len(label)) % 3, 0.0, 0.1))
    options = ["--budgets", "40", "--repeats", 2, "--json"]
    whole = write_rates(one, {"label": rate})
    first = call("simulate", one.spec, "--truth", whole, *options).json
    parts = write_rates(one, {"label.0": 1 - rate, "label.1": rate})
    second = call("simulate", one.spec, "--truth", parts, *options).json
    assert first["truth"]["f1"] == pytest.approx(second["truth"]["f1"])
    assert first["results"][0]["rmse"] == pytest.approx(second["results"][0]["rmse"])
    assert first["results"][0]["divergence"] is None


def test_a_measure_that_no_repeat_can_estimate_has_no_errors(job: Any) -> None:
    """Its errors were those of 0, and its coverage was 1: that of the whole range."""
    one: Job = job(labels={}, sampler="ais", measure=["precision", "recall"])
    options = ["--truth", one.write_truth(), "--budgets", "40", "--repeats", 2]
    precision, recall = call("simulate", one.spec, *options, "--json").json["results"]
    assert (precision["defined"], precision["undefined"]) == (2, 0)
    assert precision["rmse"] > 0
    assert (recall["defined"], recall["undefined"]) == (0, 2)
    for key in ("rmse", "bias", "coverage", "median_width", "interval_score"):
        assert recall[key] is None
    assert recall["wald"]["coverage"] is None
    assert recall["intervals"] == {}
    out = call("simulate", one.spec, *options).out
    (line,) = [line for line in out.splitlines() if line.strip().startswith("recall ")]
    assert line.split() == ["recall", "40", "-", "-", "-", "-", "-", "2"]


def test_the_wrong_choices_of_a_system_have_a_table(job: Any) -> None:
    systems = {f"s{n}": {"score": f"s{n}.score", "prediction": f"s{n}.prediction"} for n in (0, 1)}
    one: Job = job(make_rich_pool(200), pool={"systems": systems}, measure="accuracy")
    options = ["--truth", one.write_truth(), "--budgets", "20", "--repeats", 2]
    told = call("simulate", one.spec, *options, "--json").json
    *alone, compared = told["results"]
    assert {(each["selection_error"], each["regret"]) for each in alone} == {(None, None)}
    wrong, regret = compared["selection_error"], compared["regret"]
    assert regret == pytest.approx(wrong * abs(told["truth"]["accuracy of s0 against s1"]))
    text = call("simulate", one.spec, *options).out
    assert text.startswith("truth: accuracy of s0 0.")
    assert f"{wrong:.3f}  {regret:.5f}" in text[text.index("wrong system   regret") :]


@pytest.mark.parametrize(
    ("oracle", "columns", "words"),
    [
        ("stochastic", {"label": 1}, "rates.parquet: all labels are certain; labels.oracle: stoch"),
        ("stochastic", {"label": 1.5}, "'label', row 0: a probability lies in [0, 1], got 1.5"),
        ("stochastic", {"label.0": 0.5}, "label.1"),
        ("stochastic", {"label.0": 0.5, "label.1": 0.6}, "sum to 1.1, not 1"),
        ("deterministic", {"label": 0.5}, "probabilities of labels need labels.oracle: stochastic"),
        ("deterministic", {"label.0": 0.5, "label.1": 0.5}, "need labels.oracle: stochastic"),
    ],
)
def test_rates_that_simulate_refuses(
    job: Any, oracle: str, columns: dict[str, float], words: str
) -> None:
    one: Job = job(labels={"oracle": oracle}, sampler="passive")
    n = len(one.pool.truth)
    path = write_rates(one, {name: np.full(n, value) for name, value in columns.items()})
    result = call("simulate", one.spec, "--truth", path, "--repeats", 1)
    assert (result.status, words in result.err) == (1, True), result.err
