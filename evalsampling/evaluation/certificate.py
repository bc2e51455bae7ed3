"""Certificates: proofs, by labels, of a promise of the rows above a threshold, in plain words."""

import dataclasses
import hashlib
import json
import math
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.proofs import Proof, Search
from evalsampling.inference.domains import Domain
from evalsampling.inference.unsearched import chances_of_labels, most_positives
from evalsampling.parts.records import finite
from evalsampling.report.numbers import shown
from evalsampling.spec.promise import BELOW, Promise
from evalsampling.stats.arrays import BoolArray
from evalsampling.version import __version__

LABELS, MODEL = "labels", "model"
"""What a certificate rests on: labels alone, or also on the calibration curve."""

_NAMES = {"f1": "F1"}


@dataclasses.dataclass(frozen=True)
class Certificate:
    """The proof of a promise: threshold, bounds, and the data and assumptions behind them."""

    promise: str  # in words
    confidence: float  # with which it is kept
    holds: bool  # whether there is a threshold for which it is proved
    threshold: float | None  # lowest one, of recall alone the highest; None if there is none
    highest: float | None  # the promise is proved for all tested thresholds up to this one
    rows: int | None  # number of rows that score at least the threshold
    of_rows: int  # rows of the pool
    rests_on: str  # ``labels`` alone, or ``model``: also on the calibration curve
    statement: str  # all of it in plain sentences
    nearest: float | None = None  # if it does not hold, the threshold at which the proof ended
    value: float | None = None  # estimate of the measure that failed there
    low: float | None = None  # what is proved of it there
    # labels more, about, that are expected to prove it; None if none are
    more_labels: int | None = None
    labels: int = 0  # labels so far
    rounds: int = 0  # rounds so far
    planned: int | None = None  # rows that the bets looked ahead to; None for no plan
    deliveries: int | None = None  # number of deliveries of the workspace by then
    pool: str = ""  # hash of the pool: of its files, or in memory of its cells
    design: str = ""  # hash of the rounds: which rows, and with which chances
    labels_hash: str = ""  # hash of the labels
    version: str = __version__  # of evalsampling

    def __repr__(self) -> str:
        """Return the sentences."""
        return textwrap.fill(f"<Certificate: {self.statement}>", 100, subsequent_indent="  ")

    def to_json(self) -> dict[str, Any]:
        """Return the object that the file of the certificate holds."""
        return dict(finite(dataclasses.asdict(self)))

    @property
    def name(self) -> str:
        """Hash of the certificate's content, which names its file."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


def certify(
    analysis: Analysis,
    promise: Promise,
    confidence: float | None = None,
    planned: int | None = None,
    pool: str | None = None,
) -> Certificate:
    """Return the threshold for which a promise is proved, or that there is none yet.

    ``planned`` rows are to be labelled in all, as was decided before the first label; None if it
    was not. The confidence is by default that of the intervals, the hash of the pool that of its
    cells.
    """
    if confidence is not None and not 0 < confidence < 1:
        raise InputError(f"confidence: must be between 0 and 1, got {confidence!r}")
    search = Search(analysis, promise, confidence or analysis.confidence, planned)
    search.check()
    history = analysis.history
    chances = ((drawn.probability, drawn.cell_probability) for drawn in history.rounds)
    known = (chance for both in chances for chance in both if chance is not None)
    return dataclasses.replace(
        _found(search),
        labels=len(history.labelled),
        rounds=len(history.rounds),
        planned=planned,
        pool=pool or _hash(analysis.table.code, analysis.table.count, search.score),
        design=_hash(history.cell, history.rank, *known),
        labels_hash=_hash(history.cell, history.rank, history.label),
    )


def _hash(*arrays: Any) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _found(search: Search) -> Certificate:
    """Return the certificate, without the digests of its inputs."""
    promise, table = search.promise, search.analysis.table
    blank = Certificate(
        str(promise), search.confidence, False, None, None, None,
        table.rows, MODEL if promise.by_model else LABELS, "",
    )  # fmt: skip
    if promise.by_model and search.model is None:
        why = ": there is no calibration curve that the labels fit"
        why *= bool(len(search.analysis.history.labelled))
        return dataclasses.replace(blank, statement=f"{_nothing(search)}{why}.")
    if search.best is None:
        return _not_found(search, blank)
    threshold, highest = search.best
    rows = search.rows_above(threshold)
    text = " ".join(_proved(search, threshold, highest, rows))
    return dataclasses.replace(
        blank, holds=True, threshold=threshold, highest=highest, rows=rows, statement=text
    )


def _named(names: Iterable[str]) -> str:
    return " and ".join(_NAMES.get(name, name) for name in names)


def _nothing(search: Search) -> str:
    labels = len(search.analysis.history.labelled)
    return f"No threshold is proved with {labels:,} labels for {search.promise}"


def _proved(search: Search, threshold: float, highest: float, rows: int) -> Iterator[str]:
    """Yield the sentences of a promise that holds."""
    promise = search.promise
    goals = " and ".join(f"{_named([name])} is at least {x:g}" for name, x in promise.goals.items())
    among = "" if promise.each is None else f" in each {promise.each}"
    yield (
        f"With {100 * search.confidence:g} % confidence, {goals}{among} for the {rows:,} rows "
        f"with a score of {_score(threshold)} or more."
    )
    if highest > threshold:
        yield f"So it is for all thresholds tested up to {_score(highest)}."
    if promise.by_model:
        yield from _assumption(search, threshold)
    else:
        yield "This rests on labels alone, at every look, and on no model."
        yield from _with_model(search, threshold)
    yield from _without_label(search)


def _without_label(search: Search) -> Iterator[str]:
    history = search.analysis.history
    missing = len(history) - len(history.labelled)
    if missing:
        yield f"{missing:,} rows without a label count as if they spoke against it."


def _with_model(search: Search, threshold: float | None) -> Iterator[str]:
    """Yield which threshold it would be by the model, if another."""
    if not {*BELOW} & {*search.promise.goals} or search.model is None:
        return
    promise = dataclasses.replace(search.promise, by_model=True)
    other = dataclasses.replace(search, promise=promise)
    if other.best is not None and other.best[0] != threshold:
        rows, first = search.rows_above(other.best[0]), _score(other.best[0])
        yield (
            f"By the calibration curve it is so for {rows:,} rows, from {first} on: add "
            "`by model` if you accept what it assumes."
        )


def _assumption(search: Search, threshold: float) -> Iterator[str]:
    """Yield sentences: the assumptions of a promise by the model, and doubts of labels alone."""
    yield (
        f"The {_named(search.parts[2])} part assumes that positives become rarer with the score as "
        "the calibration curve says."
    )
    table, history = search.analysis.table, search.analysis.history
    chance = chances_of_labels(table, history, search.analysis.sampler.with_replacement)
    if chance is None or search.promise.each is not None:
        return
    below = search.score < threshold
    labelled = np.bincount(history.cell[history.labelled], minlength=len(table))
    left = np.where(below, table.count - labelled, 0)
    alpha = 1 - search.confidence
    most = int(most_positives(chance, left, alpha).sum())
    met = search.positives(Domain()).mean(axis=0)
    goal = min(x for name, x in search.promise.goals.items() if name in BELOW)
    allowed = float(met @ ~below) * (1 - goal) / goal
    rows = int(left.sum())
    if not rows or most <= allowed:
        return
    taken = _about(min(rows * math.log(1 / alpha) / max(allowed, 1.0), rows))
    yield (
        f"By labels alone, {most:,} of the {rows:,} unlabelled rows below may be positive; "
        f"about {taken:,} labels spread evenly over them would show whether too many are."
    )


def _apart(search: Search, proof: Proof, allowed: BoolArray) -> str:
    """Return for which thresholds one part of a promise is proved, and for which the others."""
    above, goals = search.thresholds, search.promise.goals
    names, others = _named(proof.goals), _named(name for name in goals if name not in proof.goals)
    proved = above[[proof.order[0], proof.last]]
    first = f"{names} {'is' if len(proof.goals) == 1 else 'are'} proved {_range(*proved)}"
    rest = f"{others} at none"
    if allowed.any():
        ends = above[np.flatnonzero(allowed)[[0, -1]]]
        rest = f"{others} only {f'up to {ends[0]:.6g}' if allowed[-1] else _range(*ends)}"
    return f"No threshold keeps {'both' if len(goals) == 2 else 'all'}: {first}, {rest}."


def _not_found(search: Search, blank: Certificate) -> Certificate:
    labels, nothing = len(search.analysis.history.labelled), f"{_nothing(search)}."
    hint = [] if search.promise.by_model else [*_with_model(search, None)]
    sequences, allowed = search.proofs
    if not labels or not sequences:
        return dataclasses.replace(blank, statement=" ".join([nothing, *hint]))
    proved = [proof for proof in sequences if proof.proved]
    if proved:  # The other parts forbid what they prove.
        near = _apart(search, max(proved, key=lambda proof: proof.last), allowed)
        return dataclasses.replace(blank, statement=" ".join([nothing, near, *hint]))
    proof = max(sequences, key=lambda proof: proof.wealth / proof.level)
    threshold, goals = float(search.thresholds[proof.order[0]]), search.promise.goals
    name, part, value, low = min(
        search.at(threshold, proof), key=lambda each: each[3] - goals[each[0]]
    )
    more = None
    if value > goals[name] and proof.wealth > 0:
        more = _about(labels * (proof.level / proof.wealth - 1))
    near = (
        f"The nearest is {threshold:.6g} with {search.rows_above(threshold):,} rows: "
        f"{_named([name])}{f' where {part}' if part else ''} is estimated at "
        f"{shown(value, 3)}, and proved to be at least {shown(low, 3)}."
    )
    if more is None:
        near += " More labels are unlikely to help while the estimate is no higher."
    else:
        near += f" If it stays so, about {more:,} labels more are expected to do."
    text = " ".join([nothing, near, *hint, *_without_label(search)])
    return dataclasses.replace(
        blank, nearest=threshold, value=value, low=low, more_labels=more, statement=text
    )


def _score(value: float) -> str:
    """Return a threshold with all digits that it takes: another has other rows above it."""
    texts = (f"{value:.{digits}g}" for digits in range(6, 18))
    return next(text for text in texts if float(text) == value)


def _range(highest: float, lowest: float) -> str:
    return f"from {lowest:.6g} up to {highest:.6g}"


def _about(number: float) -> int:
    """Return a whole number rounded up to two digits."""
    unit = 10 ** max(math.floor(math.log10(max(number, 1.0))) - 1, 0)
    return math.ceil(number / unit) * unit
