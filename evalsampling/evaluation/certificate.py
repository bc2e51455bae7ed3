"""Certificates: thresholds of a score for which a promise of a measure holds, as labels prove it.

A promise is tested at one threshold after the other, in a sequence that is fixed before the labels
which decide, until the first that fails. So the chance that any threshold is certified wrongly is
that of a single test (W. Maurer, L. A. Hothorn and W. Lehmacher, *Multiple comparisons in drug
clinical trials and preclinical assays: a-priori ordered hypotheses*, 1995). A test is a bet
(`inference.bets`), so all of it holds at every look. A promise of several measures, or for each
slice, holds at a threshold if each part is proved there, which costs no confidence (R. L. Berger,
*Multiparameter hypothesis testing and acceptance sampling*, Technometrics 24, 1982).

The sequence of recall alone begins at the lowest score. Others go down from a *start*, and share
the error (`_SHARES`). One starts where the promise is expected to be easiest to prove by scores.
The others prove by the labels after the first round. They start where the labels of that make it
easiest, and where twice and four times as many rows are. So a few negatives on top of all scores
end the first of them, but not all.
"""

import dataclasses
import functools
import hashlib
import json
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.bets import (
    Block,
    Hypotheses,
    Outlook,
    blocks_of,
    log_wealth,
    term,
    terms_of_cells,
)
from evalsampling.inference.domains import Domain
from evalsampling.inference.unsearched import chances_of_labels, most_positives
from evalsampling.report.numbers import shown
from evalsampling.spec.labels_at_hand import RANDOM
from evalsampling.spec.promise import BELOW, Promise
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.finite import finite
from evalsampling.stats.history import SAMPLER
from evalsampling.version import __version__

LABELS, MODEL = "labels", "model"
"""What a certificate rests on: labels alone, or also on the calibration curve."""

_SHARES = {0: 0.2, 1: 0.5, 2: 0.15, 4: 0.15}
"""Share of the error of the sequence that starts by the scores (0), and of those that start where
labels make the promise easiest to prove, or so many times more rows are."""

_STEP = 1.01
"""Least factor between the numbers of rows above two thresholds that are tested."""

_AT_A_TIME = 16
"""Thresholds tested together."""

_NAMES = {"f1": "F1"}


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What is proved of a promise, and what it rests on.

    Attributes:
        promise: in words.
        confidence: with which it is kept.
        holds: whether there is a threshold for which it is proved.
        threshold: lowest one, of recall alone the highest; None if there is none.
        highest: the promise is proved for all tested thresholds up to this one.
        rows: number of rows that score at least the threshold.
        of_rows: rows of the pool.
        rests_on: ``labels`` alone, or ``model``: also on the calibration curve.
        statement: all of it in plain sentences.
        nearest: if it does not hold, the threshold at which the proof ended.
        value: estimate of the measure that failed there.
        low: what is proved of it there.
        more_labels: labels more, about, that are expected to prove it; None if none are.
        labels: labels so far.
        rounds: rounds so far.
        planned: rows that the bets looked ahead to; None for no plan.
        deliveries: number of deliveries of the workspace by then.
        pool: hash of the pool: of its files, or in memory of its cells.
        design: hash of the rounds: which rows, and with which chances.
        labels_hash: hash of the labels.
        version: of evalsampling.
    """

    promise: str
    confidence: float
    holds: bool
    threshold: float | None
    highest: float | None
    rows: int | None
    of_rows: int
    rests_on: str
    statement: str
    nearest: float | None = None
    value: float | None = None
    low: float | None = None
    more_labels: int | None = None
    labels: int = 0
    rounds: int = 0
    planned: int | None = None
    deliveries: int | None = None
    pool: str = ""
    design: str = ""
    labels_hash: str = ""
    version: str = __version__

    def __repr__(self) -> str:
        """Return the sentences."""
        return textwrap.fill(f"<Certificate: {self.statement}>", 100, subsequent_indent="  ")

    def to_json(self) -> dict[str, Any]:
        """Return the object that the file of the certificate holds."""
        return dict(finite(dataclasses.asdict(self)))

    @property
    def name(self) -> str:
        """Hash of what it says, which its file is called by."""
        content = json.dumps(self.to_json(), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def certify(
    analysis: Analysis,
    promise: str | Promise,
    confidence: float | None = None,
    planned: int | None = None,
    pool: str | None = None,
) -> Certificate:
    """Return the threshold for which a promise is proved, or that there is none yet.

    Args:
        analysis: pool, rounds and labels.
        promise: as ``"precision >= 0.95"`` or ``"precision >= 0.9 and recall >= 0.8"``.
        confidence: by default that of the intervals.
        planned: rows that are to be labelled in all, decided before the first label; None if it
            was not.
        pool: hash of the pool; by default of its cells.

    Raises:
        InputError: if a promise cannot be read, or nothing can be proved on such a pool.
    """
    read = promise if isinstance(promise, Promise) else Promise.read(promise)
    if confidence is not None and not 0 < confidence < 1:
        raise InputError(f"confidence: must be between 0 and 1, got {confidence!r}")
    search = Search(analysis, read, confidence or analysis.confidence, planned)
    search.check()
    found = search.found
    history = analysis.history
    facts: dict[str, Any] = {
        "labels": len(history.labelled),
        "rounds": len(history.rounds),
        "planned": planned,
        "pool": pool or _hash(analysis.table.code, analysis.table.count, search.score),
        "design": _hash(history.cell, history.rank, *_chances(analysis)),
        "labels_hash": _hash(history.cell, history.rank, history.label),
    }
    return dataclasses.replace(found, **facts)


def _hash(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _chances(analysis: Analysis) -> Iterator[FloatArray]:
    for drawn in analysis.history.rounds:
        yield drawn.probability
        if drawn.cell_probability is not None:
            yield drawn.cell_probability


@dataclasses.dataclass(frozen=True)
class _Proof:
    """What a sequence of thresholds proves of some measures.

    Attributes:
        goals: least values by measure.
        order: places of its thresholds.
        proved: how many of these, from the first on.
        wealth: logarithm of the wealth at the one that failed, and the level it did not reach.
        blocks: what was bet on.
    """

    goals: Mapping[str, float]
    order: IntArray
    proved: int
    wealth: float
    level: float
    blocks: Sequence[Block]

    def holds(self, thresholds: int) -> BoolArray:
        """Return which of all thresholds are proved."""
        mask = np.zeros(thresholds, dtype=np.bool_)
        mask[self.order[: self.proved]] = True
        return mask


@dataclasses.dataclass(frozen=True)
class Search:
    """The search for a threshold; see `certify`."""

    analysis: Analysis
    promise: Promise
    confidence: float
    planned: int | None

    def check(self) -> None:
        """Check that bets can be made on the pool and its rounds.

        Raises:
            InputError: saying why not.
        """
        analysis, spec = self.analysis, self.analysis.spec
        sampler, table = analysis.sampler, analysis.table
        own = [drawn for drawn in analysis.history.rounds if drawn.origin == SAMPLER]
        reasons = {
            "labels must be of two classes": not analysis.has_classes or table.classes != 2,
            "rows have no score": table.exchangeable or not np.isfinite(self.score).any(),
            "scores of several systems": table.outputs.prediction.shape[1] > 1,
            "answers about a row differ": sampler.stochastic,
            "rows have weights": table.outputs.weight is not None,
            "whole clusters were drawn": analysis.history.together is not None,
            f"rows drawn by {sampler.name} have no known chances": sampler.has_atoms
            or not (sampler.with_replacement or sampler.by_row)
            or getattr(sampler, "cap", False)
            or any(r.cell_probability is None for r in own),
        }
        for reason, holds in reasons.items():
            if holds:
                raise InputError(f"certify: cannot be proved here: {reason}")
        columns = () if spec is None else spec.pool.slices
        if self.promise.each is not None and self.promise.each not in columns:
            known = ", ".join(columns) or "the spec has none"
            raise InputError(f"certify: in each {self.promise.each}: no slice; known: {known}")

    @property
    def positive(self) -> int:
        """Code of the positive class."""
        return 1 if self.analysis.spec is None else self.analysis.spec.labels.positive

    @functools.cached_property
    def score(self) -> FloatArray:
        """Least score of each cell, shape (cells,)."""
        table = self.analysis.table
        return np.asarray(table.outputs.score[table.first_kind, 0])

    @functools.cached_property
    def thresholds(self) -> FloatArray:
        """Thresholds that may be tested, descending."""
        scores, place = np.unique(-self.score, return_inverse=True)
        rows = np.cumsum(np.bincount(place, self.analysis.table.count))
        step = np.floor(np.log(rows) / math.log(_STEP))
        kept = np.append(np.diff(step) > 0, True)
        return np.asarray(-scores[kept])

    @functools.cached_property
    def domains(self) -> Sequence[Domain]:
        """The slices in each of which the promise is to hold, or the pool."""
        if self.promise.each is None:
            return [Domain()]
        start = f"{self.promise.each}="
        return [d for d in self.analysis.scope.domains if (d.title or "").startswith(start)]

    @functools.cached_property
    def blocks(self) -> Sequence[Block]:
        """What was drawn together, in order."""
        analysis, spec = self.analysis, self.analysis.spec
        at_hand = None if spec is None else spec.labels.at_hand
        blocks = blocks_of(
            analysis.table,
            analysis.history,
            self.planned,
            self.positive,
            analysis.sampler.with_replacement,
            at_hand is not None and at_hand.drawn == RANDOM,
        )
        return list(blocks)

    def above(self, threshold: FloatArray) -> FloatArray:
        """Return 1 where rows of a cell score at least each threshold, else 0: (m, cells)."""
        return (self.score >= threshold[:, None]).astype(np.float64)

    def rows_above(self, threshold: float) -> int:
        """Return the number of rows that score at least a threshold."""
        return int(self.analysis.table.count[self.score >= threshold].sum())

    # --- sequences

    def start(self, goals: Mapping[str, float], rate: FloatArray) -> int:
        """Return the place of the threshold at which goals are easiest to prove by rates.

        That is where the part that is hardest to prove is easiest.
        """
        count, won = self.analysis.table.count, []
        for name, goal in goals.items():
            outlook = Outlook.of(name, goal, self.score, rate, count)
            won.append(outlook.won[np.searchsorted(-outlook.threshold, -self.thresholds)])
        return int(np.argmax(np.min(won, axis=0)))

    def _falling(self, goals: Mapping[str, float], alpha: float) -> list[_Proof]:
        """Return what the sequences that go down from a start prove."""
        prior = self.analysis.table.prior[:, self.positive]
        later = [block for block in self.blocks if block.round > 0]
        starts = {0: self.start(goals, prior)}
        if later:
            starts[1] = self.start(goals, later[0].rate)
            rows = self.analysis.table.count @ self.above(self.thresholds).T
            for times in [times for times in _SHARES if times > 1]:
                starts[times] = int(np.searchsorted(rows, times * rows[starts[1]]))
        return [
            self._walk(
                goals,
                np.arange(start, len(self.thresholds)),
                later if times else self.blocks,
                alpha * _SHARES[times],
            )
            for times, start in starts.items()
            if start < len(self.thresholds)
        ]

    def _walk(
        self, goals: Mapping[str, float], order: IntArray, blocks: Sequence[Block], alpha: float
    ) -> _Proof:
        """Return what a sequence of thresholds proves."""
        level, proved = math.log(1 / alpha), 0
        for first in range(0, len(order), _AT_A_TIME):
            some = order[first : first + _AT_A_TIME]
            wealth = np.full(len(some), np.inf)
            for name, goal in goals.items():
                for domain in self.domains:
                    own = self.wealth(name, self.thresholds[some], goal, domain, blocks, level)
                    wealth = np.minimum(wealth, own)
            failed = np.flatnonzero(wealth < level)
            if len(failed):
                proved += int(failed[0])
                return _Proof(goals, order, proved, float(wealth[failed[0]]), level, blocks)
            proved += len(some)
        return _Proof(goals, order, proved, level, level, blocks)

    def wealth(
        self,
        name: str,
        threshold: FloatArray,
        goal: float | FloatArray,
        domain: Domain,
        blocks: Sequence[Block],
        level: float,
    ) -> FloatArray:
        """Return the log-wealth against a measure at most a goal, at each threshold: (m,)."""
        history = self.analysis.history
        inside = None
        if domain.count is not None:
            inside = domain.holds(history, np.arange(len(history)))
        asked = Hypotheses(terms_of_cells(name, self.score, threshold, goal), inside)
        return log_wealth(blocks, asked, history, self.positive, level)

    # --- the model

    @functools.cached_property
    def model(self) -> Any:
        """Draws of all labels; None where there are none, or labels contradict them."""
        model = self.analysis.label_model
        return None if model is None or model.contradiction else model

    def _positives(self, domain: Domain) -> FloatArray:
        """Return draws of the number of positives in each cell of a domain, (draws, cells)."""
        history, table = self.analysis.history, self.analysis.table
        known = domain.labelled(history)
        known = known[history.label[known] == self.positive]
        met = np.bincount(history.cell[known], minlength=len(table))
        return np.asarray(self.model.within(domain).unlabelled[:, :, self.positive] + met)

    def _posterior(
        self, name: str, threshold: FloatArray, domain: Domain, goal: float
    ) -> FloatArray:
        """Return the posterior probability that a measure is at least a goal: shape (m,)."""
        positives = self._positives(domain)
        above, rows = self.above(threshold), domain.rows(self.analysis.table)
        hits, total = positives @ above.T, positives.sum(axis=1)[:, None]
        whole = total if name == "recall" else (above @ rows + total) / 2
        return np.asarray(np.mean(hits >= goal * whole, axis=0))

    # --- what is said

    @functools.cached_property
    def parts(self) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """The goals that are proved upwards, downwards, and by the model."""
        goals = self.promise.goals
        model = {name: goals[name] for name in goals if self.promise.by_model and name in BELOW}
        tested = {name: goal for name, goal in goals.items() if name not in model}
        up = {name: goal for name, goal in tested.items() if name == "recall"}
        return up, {name: goal for name, goal in tested.items() if name not in up}, model

    @functools.cached_property
    def proofs(self) -> tuple[list[_Proof], BoolArray]:
        """The sequences that go down, and which thresholds the other parts allow.

        Parts share the error evenly.
        """
        up, down, model = self.parts
        alpha = (1 - self.confidence) / sum(map(bool, self.parts))
        allowed = np.ones(len(self.thresholds), dtype=np.bool_)
        if up:
            order = np.arange(len(allowed))[::-1]
            allowed &= self._walk(up, order, self.blocks, alpha).holds(len(allowed))
        for name, goal in model.items():
            for domain in self.domains:
                allowed &= self._posterior(name, self.thresholds, domain, goal) >= 1 - alpha
        return (self._falling(down, alpha) if down else []), allowed

    @functools.cached_property
    def best(self) -> tuple[float, float] | None:
        """The threshold that is wanted, and the highest one that is proved with it."""
        sequences, allowed = self.proofs
        masks = [proof.holds(len(allowed)) & allowed for proof in sequences] or [allowed]
        places = [np.flatnonzero(mask) for mask in masks if mask.any()]
        if not places:
            return None
        if self.promise.goes_up:
            place = int(places[0][0])
            return float(self.thresholds[place]), float(self.thresholds[place])
        chosen = max(places, key=lambda own: int(own[-1]))
        return float(self.thresholds[chosen[-1]]), float(self.thresholds[chosen[0]])

    @functools.cached_property
    def found(self) -> Certificate:
        """The certificate, without what it was made from."""
        by_model = self.promise.by_model
        if by_model and self.model is None:
            raise InputError("certify: by model: there is no calibration curve that labels fit")
        blank = Certificate(
            str(self.promise), self.confidence, False, None, None, None,
            self.analysis.table.rows, MODEL if by_model else LABELS, "",
        )  # fmt: skip
        if self.best is None:
            return self._not_found(blank)
        threshold, highest = self.best
        rows = self.rows_above(threshold)
        words = self._words(threshold, highest, rows)
        return dataclasses.replace(
            blank, holds=True, threshold=threshold, highest=highest, rows=rows, statement=words
        )

    def _words(self, threshold: float, highest: float, rows: int) -> str:
        goals = " and ".join(
            f"{_NAMES.get(name, name)} is at least {x:g}" for name, x in self.promise.goals.items()
        )
        among = "" if self.promise.each is None else f" in each {self.promise.each}"
        sentences = [
            f"With {100 * self.confidence:g} % confidence, {goals}{among} for the {rows:,} rows "
            f"with a score of {_score(threshold)} or more."
        ]
        if highest > threshold:
            sentences.append(f"So it is for all thresholds tested up to {_score(highest)}.")
        if self.promise.by_model:
            sentences += self._assumption(threshold)
        else:
            sentences.append("This rests on labels alone, at every look, and on no model.")
            sentences += self._with_model(threshold)
        return " ".join([*sentences, *self._without_label()])

    def _without_label(self) -> Iterator[str]:
        history = self.analysis.history
        missing = len(history) - len(history.labelled)
        if missing:
            yield f"{missing:,} rows without a label count as if they spoke against it."

    def _with_model(self, threshold: float | None) -> Iterator[str]:
        """Yield which threshold it would be by the model, if another."""
        if not {*BELOW} & {*self.promise.goals} or self.model is None:
            return
        other = dataclasses.replace(self, promise=dataclasses.replace(self.promise, by_model=True))
        if other.best is not None and other.best[0] != threshold:
            yield (
                f"By the calibration curve it is so for {self.rows_above(other.best[0]):,} rows, "
                f"from {_score(other.best[0])} on: add `by model` if you accept what it assumes."
            )

    def _assumption(self, threshold: float) -> Iterator[str]:
        """Yield what a promise by the model assumes, and what labels alone leave open."""
        names = " and ".join(_NAMES.get(name, name) for name in self.parts[2])
        yield (
            f"That of {names} assumes that positives become rarer with the score as the "
            "calibration curve says."
        )
        table, history = self.analysis.table, self.analysis.history
        replaced = self.analysis.sampler.with_replacement
        chance = chances_of_labels(table, history, replaced)
        if chance is None or self.promise.each is not None:
            return
        below = self.score < threshold
        labelled = np.bincount(history.cell[history.labelled], minlength=len(table))
        left = np.where(below, table.count - labelled, 0)
        alpha = 1 - self.confidence
        most = int(most_positives(chance, left, alpha).sum())
        met = self._positives(Domain()).mean(axis=0)
        goal = min(x for name, x in self.promise.goals.items() if name in BELOW)
        allowed = float(met @ ~below) * (1 - goal) / goal
        rows = int(left.sum())
        if not rows or most <= allowed:
            return
        taken = _about(min(rows * math.log(1 / alpha) / max(allowed, 1.0), rows))
        yield (
            f"By labels alone, {most:,} of the {rows:,} unlabelled rows below may be positive; "
            f"about {taken:,} labels spread evenly over them would show whether too many are."
        )

    def _not_found(self, blank: Certificate) -> Certificate:
        labels = len(self.analysis.history.labelled)
        nothing = f"No threshold is proved with {labels:,} labels for {self.promise}."
        hint = [] if self.promise.by_model else [*self._with_model(None)]
        sequences, allowed = self.proofs
        if not labels or not sequences:
            return dataclasses.replace(blank, statement=" ".join([nothing, *hint]))
        proof = max(sequences, key=lambda proof: (proof.proved, proof.wealth / proof.level))
        if proof.proved:  # The other parts forbid what it proves.
            names = " and ".join(_NAMES.get(each, each) for each in proof.goals)
            last = _score(float(self.thresholds[proof.order[proof.proved - 1]]))
            others = "none"
            if allowed.any():
                others = f"those up to {_score(float(self.thresholds[np.argmax(allowed)]))}"
            near = f"Its {names} is proved for thresholds from {last} on, the rest for {others}."
            return dataclasses.replace(blank, statement=" ".join([nothing, near, *hint]))
        threshold = float(self.thresholds[proof.order[0]])
        name, value, low = min(self._at(threshold, proof), key=lambda each: each[1] - each[2])
        goal = self.promise.goals[name]
        more = None
        if value > goal and proof.wealth > 0:
            more = _about(labels * (proof.level / proof.wealth - 1))
        near = (
            f"The nearest is {_score(threshold)} with {self.rows_above(threshold):,} rows: "
            f"{_NAMES.get(name, name)} is estimated at {shown(value, 3)}, and proved to be at "
            f"least {shown(low, 3)}."
        )
        if more is None:
            near += " More labels are unlikely to help while the estimate is no higher."
        else:
            near += f" If it stays so, about {more:,} labels more are expected to do."
        return dataclasses.replace(
            blank,
            nearest=threshold,
            value=value,
            low=low,
            more_labels=more,
            statement=" ".join([nothing, near, *hint, *self._without_label()]),
        )

    def _at(self, threshold: float, proof: _Proof) -> Iterator[tuple[str, float, float]]:
        """Yield each measure with its estimate and its lower bound at a threshold."""
        table, history = self.analysis.table, self.analysis.history
        sample = self.analysis.sampler.weigh(table, history)
        cell = history.cell[sample.question]
        a = self.score[cell] >= threshold
        y = history.label[sample.question] == self.positive
        for name in proof.goals:
            with np.errstate(divide="ignore", invalid="ignore"):
                # f is num - g den, so its sum for g of 0 and 1 gives both.
                zero = sample.weight @ term(name, a * 1.0, y * 1.0, 0.0)
                one = sample.weight @ term(name, a * 1.0, y * 1.0, 1.0)
                value = float(np.nan_to_num(zero / (zero - one)))
            goals = np.linspace(0.0, value, 102)[1:-1]
            wealth = self.wealth(
                name, np.full(100, threshold), goals, Domain(), proof.blocks, proof.level
            )
            proved = np.flatnonzero(wealth < proof.level)
            low = goals[proved[0] - 1] if len(proved) and proved[0] else 0.0
            yield name, value, float(low if len(proved) else value)


def _score(value: float) -> str:
    return f"{value:.6g}"


def _about(number: float) -> int:
    """Return a whole number rounded up to two digits."""
    unit = 10 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return math.ceil(number / unit) * unit
