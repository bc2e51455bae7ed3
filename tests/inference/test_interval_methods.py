"""Interval methods by name: of which numbers each has an interval, and which."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from evalsampling.errors import InputError
from evalsampling.inference.interval_methods import BY_NAME, SampledNumber, check_names
from evalsampling.inference.intervals import Interval, beta
from evalsampling.inference.results import Target

SHARE = SampledNumber(Target("recall", (0.0, 1.0)), 0.4, 0.1, np.full(50, 0.0002), 50, 0.95)


def number(bounds: tuple[float, float], against: str | None = None, **told: float) -> SampledNumber:
    return dataclasses.replace(SHARE, target=Target("a", bounds, against=against), **told)


@pytest.mark.parametrize(
    ("of", "names"),
    [
        (SHARE, ["korn-graubard", "logit", "wilson", "student", "wald", "beta"]),
        (number((0.0, 1.0), error=0.0), ["wald"]),
        (number((-1.0, 1.0)), ["logit", "student", "wald"]),
        (number((-1.0, 1.0), against="b"), ["student", "wald"]),
        (number((0.0, math.inf)), ["log-student", "student", "wald"]),
        (number((0.0, math.inf), value=0.0), ["student", "wald"]),
        (number((0.0, 1.0), latest_error=0.2),
         ["korn-graubard", "logit", "wilson", "student", "wald", "wald-latest-proposal", "beta"]),
    ],
)  # fmt: skip
def test_which_numbers_a_method_has_an_interval_of(of: SampledNumber, names: list[str]) -> None:
    assert [name for name in BY_NAME if BY_NAME[name](of) is not None] == names


def test_the_latest_proposal_has_walds_interval_with_its_error() -> None:
    latest = BY_NAME["wald-latest-proposal"](dataclasses.replace(SHARE, latest_error=0.2))
    reach = stats.norm.ppf(0.975) * 0.2
    assert latest == Interval(
        pytest.approx(0.4 - reach),
        pytest.approx(0.4 + reach),
        "design-based",
        "wald-latest-proposal",
    )


def test_beta_takes_the_cautious_error() -> None:
    """Student's quantile over the normal one, and no less than what is expected."""
    factor = stats.t.ppf(0.975, 49) / stats.norm.ppf(0.975)
    found, wanted = BY_NAME["beta"](SHARE), beta(0.4, 0.1 * factor, 0.95)
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
    expected = dataclasses.replace(SHARE, expected_error=0.3)
    assert BY_NAME["beta"](expected) == beta(0.4, 0.3, 0.95)


@pytest.mark.parametrize(("rows", "labels"), [(60, 45), (60, 55), (200, 100), (300, 290)])
def test_korn_graubard_holds_in_every_population_that_is_nearly_known(
    rows: int, labels: int
) -> None:
    """Enumerated: all samples without replacement of all populations of so many rows."""
    open_share = 1 - labels / rows
    coverage, widths = np.zeros(rows), {open_share: 0.0, 1.0: 0.0}
    for hits in range(1, rows):
        seen = np.arange(max(0, labels - rows + hits), min(labels, hits) + 1)
        chances = stats.hypergeom(rows, hits, labels).pmf(seen)
        for chance, value in zip(chances, seen / labels, strict=True):
            error = math.sqrt(value * (1 - value) / (labels - 1) * open_share)
            for share in widths:
                told = {"value": value, "error": error, "draws": labels, "open_share": share}
                found = BY_NAME["korn-graubard"](dataclasses.replace(SHARE, **told))
                if found is not None:
                    widths[share] += chance * (found.high - found.low)
                is_held = found is None or found.low <= hits / rows <= found.high
                coverage[hits] += chance * is_held * (share < 1)
    assert coverage[1:].min() >= 0.95
    assert widths[open_share] <= 0.75 * widths[1.0]


def test_names_are_checked() -> None:
    assert check_names(["wilson", "beta", "wilson"]) == ("wilson", "beta")
    with pytest.raises(InputError, match=r"no interval method 'wilsn': there are korn-graubard, "):
        check_names(["beta", "wilsn"])
