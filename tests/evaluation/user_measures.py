"""Measures as a user might write them."""

from typing import Any

from evalsampling import measures


class ErrorOdds(measures.Measure):
    """Errors for each correct row: a measure of the user's own, with nothing but the least."""

    name = "error_odds"
    bounds = (0.0, float("inf"))

    def loss(self, outputs: Any, label: Any) -> Any:
        return (outputs.prediction[:, [self.system]] != label[:, None]).astype(float)

    def value(self, risk: Any) -> Any:
        return risk / (1 - risk)
