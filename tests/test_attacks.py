"""Pools that were built to break the default hide positives where they say."""

from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def test_attacks_hide_positives_where_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import attacks

    pools = {
        name: make(np.random.default_rng([57, place]))
        for place, (name, make) in enumerate(attacks.ATTACKS.items())
    }

    def positives(name: str, low: float, high: float) -> float:
        """Share of the positives between two shares of the ranks from the top."""
        pool = pools[name]
        order = np.argsort(-pool["score"], kind="stable")
        ordered = pool["label"][order]
        first, end = (round(share * len(order)) for share in (low, high))
        return ordered[first:end].sum() / ordered.sum()

    assert positives("flat below 1.5 %", 0, 0.015) == pytest.approx(0.5, abs=0.01)
    assert positives("flat below 1.5 %", 0.5, 1) == pytest.approx(0.25, abs=0.05)
    assert positives("island in mid-rank", 0.39, 0.42) == pytest.approx(140 / 300, abs=0.01)
    assert positives("second mode at the bottom", 0.99, 1) == pytest.approx(0.25, abs=0.01)
    assert positives("even below the top 5 %", 0.5, 1) > 0.15
    saturated = pools["a tenth saturated"]
    assert np.mean(saturated["score"] == saturated["score"].max()) == pytest.approx(0.1, abs=0.01)
    for name, pool in pools.items():
        assert 0.0029 < pool["label"].mean() < 0.03, name
        assert (pool["label"] & pool["prediction"]).sum() > 100, name
