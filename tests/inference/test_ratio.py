"""What estimates of the ratio estimator carry beside those of every sampler."""

from evalsampling.inference.intervals import Interval
from evalsampling.inference.ratio import PLAIN, RatioOptions
from evalsampling.inference.ratio_bias import Bias
from evalsampling.inference.results import Estimate, Target

WALD = Interval(0.2, 0.6, "design-based", "wald")


def one(value: float | None, error: float | None, bounds: tuple[float, float]) -> Estimate:
    return Estimate(Target("f1", bounds), value, error, 0.9, (WALD,))


def test_beta_stands_beside_where_there_is_one() -> None:
    options = RatioOptions(beta=True)
    cases = [
        (one(0.4, 0.1, (0.0, 1.0)), ["wald", "beta"]),
        (one(0.4, 0.0, (0.0, 1.0)), ["wald"]),
        (one(None, None, (0.0, 1.0)), ["wald"]),
        (one(0.4, 0.1, (-1.0, 1.0)), ["wald"]),
    ]
    for estimate, methods in cases:
        (found,) = options.completed([estimate], [0.1], [None])
        assert [interval.method for interval in found.intervals] == methods


def test_bias_is_told_of_every_sampler() -> None:
    bias = Bias(-0.05, -0.1, 0.05)
    (found,) = PLAIN.completed([one(0.4, 0.1, (0.0, 1.0))], [0.1], [bias])
    assert found.bias == bias
    assert [interval.method for interval in found.intervals] == ["wald"]
