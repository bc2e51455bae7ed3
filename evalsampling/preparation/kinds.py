"""What the scores of a pool are, and where the probabilities of each system come from."""

import dataclasses
from collections.abc import Sequence

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import EVEN, NO_PROBABILITY, RANKS
from evalsampling.measures.build import OrderedScoreError, build_measures
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.score_kinds import ScoreSums


def kinds_of(spec: EvaluationSpec, scores: Sequence[ScoreSums]) -> list[str | None]:
    """Return what the scores of each system are, then the one that drives the strata.

    Returns:
        Kinds of `stats.score_kinds`; None where there is no score, or it need not be told.
    """
    return [
        None if part.score is None else part.score_is or sums.kind
        for part, sums in zip(spec.pool.scored, scores, strict=True)
    ]


def rules_of(spec: EvaluationSpec, scores: Sequence[ScoreSums]) -> tuple[tuple[str, ...], str]:
    """Return where the probabilities of each system come from, and the prior."""
    rule = spec.labels.space.prior_rule
    *rules, prior = (
        rule(part.probability, kind)
        for part, kind in zip(spec.pool.scored, kinds_of(spec, scores), strict=True)
    )
    # A score that is an order gives no probabilities, but where it is what the prior comes from,
    # this stands for them, so that a row has no second set.
    own = tuple(
        NO_PROBABILITY if one == RANKS and (prior, part.score) != (RANKS, spec.pool.score) else one
        for one, part in zip(rules, spec.pool.systems, strict=True)
    )
    return own, EVEN if prior == NO_PROBABILITY else prior


def decided(spec: EvaluationSpec, scores: Sequence[ScoreSums]) -> EvaluationSpec:
    """Return a spec that states what its scores are."""
    *kinds, driving = kinds_of(spec, scores)
    systems = tuple(
        dataclasses.replace(system, score_is=kind)
        for system, kind in zip(spec.pool.systems, kinds, strict=True)
    )
    pool = dataclasses.replace(spec.pool, systems=systems, score_is=driving)
    return dataclasses.replace(spec, pool=pool)


def check_probabilities(spec: EvaluationSpec, scores: Sequence[ScoreSums]) -> None:
    """Check that the measures of a spec need no probabilities of scores that are an order."""
    try:
        build_measures(decided(spec, scores), [sums.ends for sums in scores[:-1]])
    except OrderedScoreError as error:
        why = scores[error.system].why_order
        raise InputError(
            f"{error}: {why}. Name a column of probabilities, or say by score_is what it is"
        ) from error
