"""What labels tell: estimates, what to know before they are trusted, and whether gates hold."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from evalsampling.evaluation.analysis import Analysis, Pool
from evalsampling.evaluation.cautions import cautions
from evalsampling.evaluation.gates import Gates, judge
from evalsampling.evaluation.labels_at_hand import contradictions, scope_of_labels
from evalsampling.evaluation.missing_labels import (
    MissingBounds,
    missing_beside_labels,
    missing_bounds,
    more_than_a_few,
    seldom_at_random,
)
from evalsampling.evaluation.odd_answers import AnswerGroup, odd_answers
from evalsampling.evaluation.people import PeopleAgreement, people_agree
from evalsampling.inference.results import Estimate
from evalsampling.labels.tally import Awaited
from evalsampling.spec.gates import GatesSpec


@dataclasses.dataclass(frozen=True, eq=False)
class Findings:
    """The estimates of an evaluation, and what is said of them; each is worked out once."""

    pool: Pool
    own: Analysis  # with the evaluation's own measures
    analysis: Analysis  # the same with the measures that were asked for
    estimates: Sequence[Estimate]
    # questions with no label to wait for, by why; and answers that came together
    silent: Mapping[str, Sequence[int]]
    groups: Sequence[AnswerGroup]
    # code that each person gave, by question
    answers: Mapping[int, Mapping[str | None, int]] = dataclasses.field(default_factory=dict)
    rejections: Sequence[str] = ()  # sentences on rejected answers
    mostly_rejected: bool = False  # whether most answers of a delivery were rejected
    about_pairs: Sequence[str] = ()  # sentences on pairs that the pool has in both orders

    @classmethod
    def of(
        cls, pool: Pool, own: Analysis, measures: Any, intervals: Sequence[str], **labels: Any
    ) -> Self:
        """Return what labels tell of measures, by default the evaluation's own."""
        asked = own
        if measures is not None:
            asked = dataclasses.replace(own, measures=own.chosen(measures))
        return cls(pool, own, asked, own.estimate(measures, intervals), **labels)

    @functools.cached_property
    def doubts(self) -> tuple[str, ...]:
        """Sentences on doubtful labels, which stand before any number."""
        told, drawn = [*self.rejections], len(self.analysis.history)
        counts = {why: len(questions) for why, questions in self.silent.items()}
        if more_than_a_few(sum(counts.values()), drawn):
            text = seldom_at_random(counts, drawn, self.bounds)
            if told:  # One line says what was rejected and what that may do.
                text = f"{told.pop().removesuffix('.')}. {text}"
            told.append(text)
        return (*told, *scope_of_labels(self.analysis), *self._odd, *self.about_pairs)

    @functools.cached_property
    def _odd(self) -> list[str]:
        """Sentences on labels that are not what they seem."""
        return [*contradictions(self.analysis), *odd_answers(self.analysis, self.groups)]

    @functools.cached_property
    def bounds(self) -> list[MissingBounds]:
        """Bounds of each number over the labels that there is no waiting for."""
        silent = np.array([*itertools.chain(*self.silent.values())], dtype=np.int64)
        return missing_bounds(self.analysis, silent)

    @functools.cached_property
    def people(self) -> PeopleAgreement | None:
        """How well people agree with each other; None without second answers."""
        return people_agree(self.analysis, self.answers, self.own.reading.labels.votes)

    def warnings(
        self, awaited: Awaited | None = None, about_labels: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return all that is to be known before estimates are trusted, doubts of labels first."""
        of_scores = self.pool.stratification.about_scores(self.analysis.table)
        of_people = self.people.warnings if self.people else ()
        told = cautions(self.analysis, self.estimates, awaited, [*of_people, *about_labels])
        return (*self.doubts, *of_scores, *told)

    def judge(self, gates: GatesSpec) -> Gates:
        """Return whether gates hold, which may be about the evaluation's own measures too.

        Labels that are not what they seem decide nothing. Of many missing ones it is to be so
        whatever they are, and open ones are among them: positives may be answered last.
        """
        found, history = self._with_gated(gates), self.analysis.history
        missing, bounds = missing_beside_labels(history), []
        if more_than_a_few(len(missing), len(history)):
            are_silent = {*missing.tolist()} <= {*itertools.chain(*self.silent.values())}
            bounds = found.bounds if are_silent else missing_bounds(found.analysis, missing)
        are_odd = bool(self._odd) or self.mostly_rejected
        return judge(gates, found.estimates, len(history.labelled), bounds, are_odd)

    def _with_gated(self, gates: GatesSpec) -> Self:
        """Return the findings of the evaluation's own measures too, if gates are about those."""
        reported = {estimate.target for estimate in self.estimates}
        titles = {name for target in reported for name in (target.title, target.measure)}
        further = [each for each in self.own.measures if each not in self.analysis.measures]
        if not further or titles.issuperset(gate.number for gate in gates):
            return self
        others = [each for each in self.own.estimate(further) if each.target not in reported]
        both = dataclasses.replace(self.own, measures=[*self.analysis.measures, *further])
        return dataclasses.replace(self, analysis=both, estimates=[*self.estimates, *others])
