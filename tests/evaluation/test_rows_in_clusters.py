"""Whole evaluations of pools whose rows share clusters (`pool.cluster`)."""

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.cautions import cautions
from evalsampling.inference.results import Estimate
from tests.slow import slowly

ROWS = 4000


@functools.cache
def pool() -> dict[str, np.ndarray]:
    """Rows in 80 clusters, of which half are mostly positive, whatever the score of a row."""
    rng = np.random.default_rng(5)
    score, cluster = rng.random(ROWS), rng.integers(0, 80, ROWS)
    chance = np.where(cluster % 2, 0.9, 0.3) * (score > 0.3)
    return {
        "id": np.arange(ROWS), "score": score, "old": (score > 0.6).astype(int),
        "new": (score > 0.45).astype(int), "label": (rng.random(ROWS) < chance).astype(int),
        "cluster": cluster, "name": np.array([f"c{number}" for number in cluster]),
        "few": cluster % 6,
    }  # fmt: skip


def labelled(cluster: str | None, **keys: Any) -> Evaluation:
    """An evaluation of two systems after two rounds."""
    systems = {name: {"score": "score", "prediction": name} for name in ("old", "new")}
    if cluster is not None:
        keys["cluster"] = cluster
    measure = ["precision", "recall", {"difference": "precision"}]
    made = Evaluation.from_frame(pool(), systems=systems, measure=measure, seed=3, **keys)
    for size in (150, 250):
        ids = made.sample(size)
        made.label(ids, pool()["label"][ids])
    return made


def warned(made: Evaluation) -> list[str]:
    return cautions(made.analysis, made.estimate())


def numbers(estimates: Any) -> list[tuple[float, float]]:
    return [(one.low, one.high) for one in estimates]


@pytest.mark.parametrize("sampler", ["calibrated", "ais"])
def test_each_row_a_cluster_of_its_own_changes_nothing(sampler: str) -> None:
    alone, own = labelled(None, sampler=sampler), labelled("id", sampler=sampler)
    assert [*own.estimate()] == [*alone.estimate()]
    assert warned(own) == warned(alone)


@pytest.mark.parametrize("sampler", ["calibrated", *slowly("passive", "stratified")])
def test_intervals_of_labels_that_are_alike_are_wider(sampler: str) -> None:
    """The same rows are drawn; the name of a cluster may be text or a number."""
    alone = labelled(None, sampler=sampler).estimate()
    estimates = labelled("name", sampler=sampler).estimate()
    assert [one.cluster_effect for one in estimates] == pytest.approx(
        [one.cluster_effect for one in labelled("cluster", sampler=sampler).estimate()]
    )
    (clustered,) = (one for one in estimates if one.target.title == "precision of new")
    (single,) = (one for one in alone if one.target.title == "precision of new")
    assert clustered.cluster_effect > 1.3
    assert any("labels of a cluster are alike" in note for note in clustered.notes)
    ratio = clustered.half_width / single.half_width
    assert ratio == pytest.approx(np.sqrt(clustered.cluster_effect), rel=0.25)


@pytest.mark.slow
def test_interval_test_and_chance_of_a_comparison_agree() -> None:
    """At confidences between which the interval ceases to leave out 0."""
    said = set()
    for confidence in (0.5, 0.8, 0.95, 0.99, 0.999):
        for one in labelled("few", confidence=confidence).estimate():
            assert_agree(one)
        for one in labelled("cluster", confidence=confidence).estimate():
            said.add(assert_agree(one))
    assert said == {None, True, False}


def assert_agree(one: Estimate) -> bool | None:
    """Check a comparison; return whether it tells the systems apart, None of another number."""
    if one.target.null is None or one.significance is None or one.significance.p_value is None:
        return None
    apart = not one.low <= 0 <= one.high
    assert apart == (one.significance.p_value <= 1 - one.confidence)
    return apart


def test_few_clusters_are_no_evidence() -> None:
    made = labelled("few")
    assert all(not one.claims for one in made.estimate())
    told = "\n".join(warned(made))
    assert "clusters worth 5 equal ones, fewer than 10; the interval is the whole range" in told
    assert "the labels are of 6 clusters, worth 5 of equal size" in told


def test_a_saved_evaluation_knows_its_clusters(tmp_path: Path) -> None:
    made = labelled("name")
    made.save(tmp_path / "w")
    assert numbers(Evaluation.open(tmp_path / "w").estimate()) == numbers(made.estimate())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([*range(9), None], "column 'c', row 9: null"),
        ([0.5] * 10, "column 'c', row 0: ids must be integers or strings, got 0.5"),
    ],
)
def test_what_is_no_cluster(values: list[Any], message: str) -> None:
    frame = pa.table({"score": np.linspace(0, 1, 10), "prediction": [0, 1] * 5, "c": values})
    with pytest.raises(InputError, match=message):
        Evaluation.from_frame(frame, cluster="c")
