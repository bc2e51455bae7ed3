"""What labels tell: estimates, what to know before they are trusted, and whether gates hold."""

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from evalsampling.evaluation.analysis import Analysis, Measures, Pool
from evalsampling.evaluation.cautions import cautions
from evalsampling.evaluation.gates import Gates, judge
from evalsampling.evaluation.labels_at_hand import FILE, contradictions, scope_of_labels
from evalsampling.evaluation.missing_labels import (
    MORE_THAN_A_FEW,
    MissingBounds,
    missing_beside_labels,
    missing_bounds,
    more_than_a_few,
    seldom_at_random,
)
from evalsampling.evaluation.odd_answers import AnswerGroup, odd_answers
from evalsampling.evaluation.people import PeopleAgreement, people_agree
from evalsampling.inference.results import Estimate
from evalsampling.labels.register import answers_of
from evalsampling.labels.tally import Awaited
from evalsampling.spec.gates import GatesSpec
from evalsampling.workspace.deliveries import Delivery, commonest_reason
from evalsampling.workspace.snapshot import NEVER, REJECTED, Snapshot


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


@dataclasses.dataclass(frozen=True)
class MissingLabels:
    """Rows drawn without a label, by why, and what they may do to each number of the whole pool.

    Rows that are ``late`` have one: it came after a later round had been drawn.
    """

    open: int
    closed: int
    disputed: int
    skipped: int
    unsure: int
    late: int
    bounds: tuple[MissingBounds, ...]
    rejected: int = 0


@dataclasses.dataclass(frozen=True)
class MostlyRejected:
    """A delivery with more rejects, for which no later one made up, than answers that count."""

    file: str
    rejected: int
    taken: int


def mostly_rejected(snapshot: Snapshot) -> list[MostlyRejected]:
    """Return the deliveries of which most answers are rejected, in the order they came in."""
    return [
        MostlyRejected(delivery.file or delivery.name, delivery.rejects, len(delivery.votes))
        for delivery, count in snapshot.rejections
        if _are_most(delivery, count)
    ]


def _are_most(delivery: Delivery, count: int) -> bool:
    """Tell whether rejects that rows still want for are most answers, and not the last few."""
    return count > len(delivery.votes) and count >= min(delivery.rejects, MORE_THAN_A_FEW)


def missing_labels(snapshot: Snapshot, bounds: Sequence[MissingBounds]) -> MissingLabels | None:
    """Return the rows without a label, with bounds of numbers; None if all have one."""
    counts = {why: len(questions) for why, questions in snapshot.undecided.items()}
    if not any(counts.values()) and not snapshot.late:
        return None
    return MissingLabels(
        open=counts["open"],
        closed=counts[NEVER],
        disputed=counts["disputed"],
        skipped=counts["skipped"],
        unsure=counts["unsure"],
        late=snapshot.late,
        bounds=tuple(bounds),
        rejected=counts[REJECTED],
    )


def rejection(snapshot: Snapshot, delivery: Delivery, rejected: int) -> str:
    """Return that answers of a delivery were rejected, and why; empty if they are few."""
    file, taken = delivery.file or delivery.name, len(delivery.votes)
    reason, alike = "", 0
    if delivery.file is not None:
        reason, alike = commonest_reason(snapshot.pool.workspace, delivery)
    alike = min(alike, rejected)
    why = f"{reason}." if alike == rejected else f"{alike} as: {reason}."
    why = why[:1].upper() + why[1:] if alike else ""
    if _are_most(delivery, rejected):
        mend = (
            "Mend them before you trust any number: their reasons are in the folder labels of the "
            "workspace"
        )
        counts = f"{delivery.rejects} of {delivery.rejects + taken}"
        told = f"most answers of {file} were rejected: {counts}."
        return " ".join(filter(None, [told, why, mend]))
    if not more_than_a_few(alike or rejected, rejected + taken):
        return ""
    return f"{rejected} of {rejected + taken} answers of {file} were rejected. {why}".rstrip()


def findings_of(
    snapshot: Snapshot, measures: Measures | None = None, intervals: Sequence[str] = ()
) -> Findings:
    """Return what the labels of a workspace tell of measures, by default those of its spec."""
    return Findings.of(
        snapshot.pool,
        snapshot.analysis,
        measures,
        intervals,
        silent=snapshot.silent,
        groups=_groups(snapshot),
        answers=snapshot.tally.answers,
        rejections=[text for each in snapshot.rejections if (text := rejection(snapshot, *each))],
        mostly_rejected=bool(mostly_rejected(snapshot)),
    )


def _groups(snapshot: Snapshot) -> list[AnswerGroup]:
    """Return the answers of each delivery, then of each annotator, but for those replaced since."""
    codes, at_hand = snapshot.pool.spec.labels.codes, snapshot.pool.spec.labels.at_hand
    groups: list[AnswerGroup] = []
    by_name: dict[str, list[tuple[int, int]]] = {}
    replaced: set[int] = set()
    for delivery in reversed(snapshot.deliveries):
        answers = [
            answer
            for answer in answers_of(delivery.votes, snapshot.subject_of_task, codes)
            if answer.subject < len(snapshot.tasks) and answer.code >= 0
        ]
        stands = [answer for answer in answers if answer.subject not in replaced]
        name = delivery.file or delivery.name
        if at_hand is not None and name == FILE:
            name = f"column {at_hand.column}"
        pairs = [(answer.subject, answer.code) for answer in stands]
        groups.insert(0, AnswerGroup.of_codes(f"of {name}", pairs))
        for answer, pair in zip(stands, pairs, strict=True):
            if answer.annotator is not None:
                by_name.setdefault(answer.annotator, []).append(pair)
        # What a correction confirms is of the correction too: the rest would be a choice.
        replaced |= {answer.subject for answer in answers if delivery.replace}
    # Warnings go where names are not to go; reports call annotators by the same numbers.
    names = {name for answers in snapshot.tally.answers.values() for name in answers}
    place = {name: number for number, name in enumerate(sorted(names - {None}, key=str), start=1)}
    return groups + [
        AnswerGroup.of_codes(f"of annotator {place[name]}, in the order of names,", pairs)
        for name, pairs in by_name.items()
        if len(place) > 1
    ]
