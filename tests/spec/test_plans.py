"""What passes over a pool, batches and analyses know of a spec."""

from typing import Any

import pytest

from tests.spec.specs import parse


@pytest.mark.parametrize(
    ("keys", "most"),
    [
        ({"sampler": "passive"}, 200),
        ({"sampler": "poisson"}, 200 + 85),
        ({"sampler": {"name": "poisson", "cap": True}}, 200),
        ({"sampler": "clusters", "pool": {"path": "x", "cluster": "person"}}, 2 * 200),
    ],
)
def test_rows_that_rounds_may_draw(keys: dict[str, Any], most: int) -> None:
    """A Poisson sample is six standard deviations above the budget at most."""
    plan = parse(budget=200, **keys).reading
    assert plan.most_drawn == most
    assert plan.by_cluster == (keys["sampler"] == "clusters")


@pytest.mark.parametrize(
    ("sampler", "of_differences"),
    [
        ("compare", True),
        ({"name": "compare", "variant": "active_risk"}, False),
        ("calibrated", None),
    ],
)
def test_what_rounds_are_drawn_for(sampler: Any, of_differences: bool | None) -> None:
    assert parse(sampler=sampler).reading.of_differences is of_differences


def test_thresholds_are_those_of_systems_and_of_measures() -> None:
    measures = ["f1", {"name": "pr_curve", "thresholds": [0.9, 0.2]}]
    pool = {"path": "x", "prediction": {"threshold": 0.5}}
    assert parse(pool=pool, measure=measures).reading.thresholds == (0.2, 0.5, 0.9)


def test_rows_of_a_cluster_stand_together_where_whole_clusters_are_drawn() -> None:
    assert not parse().labelling.by_cluster
    spec = parse(sampler="clusters", pool={"path": "x", "cluster": "person"})
    assert spec.labelling.by_cluster
    assert spec.labelling.labels == spec.labels


def test_hidden_positives_have_a_prior_where_rows_have_classes() -> None:
    spec = parse(hidden={"share": 0.2})
    assert spec.analysis.label_prior == spec.hidden
    assert parse(labels={"range": [0, 5]}, measure="mae").analysis.label_prior is None
