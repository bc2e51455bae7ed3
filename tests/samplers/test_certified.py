"""Rounds for a promise: where they aim, and how they spread."""

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.measures import Precision
from evalsampling.notebook.evaluation import Evaluation
from evalsampling.samplers.calibrated import EVEN_SHARE, CalibratedDesign
from evalsampling.samplers.certified import CertifyingDesign
from tests.samplers.pools import make_pool

POOL = make_pool(4000, 40, seed=3, positive=0.2, strength=6)
SCORE = POOL.table.kinds.score[POOL.table.kinds.first, 0]
RATE = POOL.truth[:, 1] / POOL.table.count


def design(planned: int = 400, **goals: float) -> CertifyingDesign:
    return CertifyingDesign(Precision(), goals=goals, planned=planned)


def precision(threshold: float) -> float:
    above = threshold <= SCORE
    return float(POOL.truth[above, 1].sum() / POOL.table.count[above].sum())


def test_it_aims_lower_the_more_labels_there_are_and_never_where_the_promise_is_false() -> None:
    aims = [design(precision=0.8).aim(POOL.table, RATE, labels) for labels in (100, 400, 2000)]
    assert aims == sorted(aims, reverse=True)
    assert aims[0] > aims[-1]
    assert precision(aims[-1]) > 0.8
    lower = SCORE[aims[-1] > SCORE].max()
    assert precision(lower) < 0.82


def test_of_recall_alone_the_highest_threshold_is_wanted() -> None:
    aim = design(recall=0.5).aim(POOL.table, RATE, 2000)
    positives = POOL.truth[:, 1]
    assert positives[aim <= SCORE].sum() / positives.sum() > 0.5
    assert aim > design(recall=0.9).aim(POOL.table, RATE, 2000)


def test_where_no_threshold_will_do_it_aims_at_as_many_rows_as_there_are_positives() -> None:
    aim = design(precision=0.999999).aim(POOL.table, np.full(len(RATE), 0.3), 100)
    above = POOL.table.count[aim <= SCORE].sum()
    step = POOL.table.count[aim == SCORE].sum()
    assert above - step < 0.3 * 4000 <= above


def test_the_first_round_is_the_calibrated_one_then_rows_above_are_drawn_at_random() -> None:
    sampler = design(precision=0.8)
    history, _ = POOL.run(sampler, 2, 200, seed=1)
    plain, _ = POOL.run(CalibratedDesign(Precision()), 1, 200, seed=1)
    first, second = history.rounds
    assert np.array_equal(first.probability, plain.rounds[0].probability)
    chance = second.cell_probability
    assert len(np.unique(chance.round(12))) == 2
    above = chance == chance.max()
    inside = above[history.cell[second.question]]
    assert inside.sum() == (1 - EVEN_SHARE) * 200
    assert np.array_equal(second.stratum, inside)
    assert 0.7 < inside[:50].mean() < 1  # They come in a random order.
    assert SCORE[above].min() >= SCORE[~above].max()
    assert (POOL.table.count - first_drawn(history)) @ chance == pytest.approx(200)


def first_drawn(history):  # type: ignore[no-untyped-def]
    return history.first(1).drawn_by_cell(len(POOL.table))


def test_accuracy_is_about_all_rows_and_recall_by_the_calibrated_design() -> None:
    history, _ = POOL.run(design(accuracy=0.8), 2, 200, seed=1)
    chance = history.rounds[1].cell_probability
    assert np.ptp(chance) == pytest.approx(0, abs=1e-12)
    history, _ = POOL.run(design(precision=0.8, recall=0.5), 2, 200, seed=1)
    chance = history.rounds[1].cell_probability
    assert len(np.unique(chance.round(12))) > 10


def test_only_the_calibrated_sampler_draws_for_a_promise() -> None:
    pool = {"id": [1, 2], "score": [0.1, 0.9], "prediction": [0, 1]}
    entry = [{"certify": {"precision": 0.9}}]
    with pytest.raises(InputError) as error:
        Evaluation.from_frame(pool, measure=entry, sampler="ais")
    assert str(error.value) == "measure.certify: sampler calibrated draws for it, not ais"
    two = {name: {"score": "score", "prediction": "prediction"} for name in ("a", "b")}
    for spec, problem in (
        ({"pool": {"systems": two}}, "it is of the score of one system"),
        ({"labels": {"classes": [0, 1, 2]}}, "it is about two classes"),
        ({"strata": {"method": "predictions"}}, "it needs a score"),
        ({"pool": {"weight": "score"}}, "rows have weights"),
    ):
        with pytest.raises(InputError, match=f"measure.certify: {problem}"):
            Evaluation.from_frame(pool, measure=entry, **spec)
    with pytest.raises(InputError, match=r"measure\.certify: is there twice"):
        Evaluation.from_frame(pool, measure=[*entry, {"certify": {"recall": 0.9}}])
    with pytest.raises(InputError, match=r"measure\.each: shop: none of pool\.slices"):
        Evaluation.from_frame(pool, measure=[{"certify": {"precision": 0.9}, "each": "shop"}])
