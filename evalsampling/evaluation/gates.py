"""Gates: whether estimates reach their targets, surely do not, or cannot say so yet."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence

from evalsampling.errors import InputError
from evalsampling.evaluation.missing_labels import MissingBounds
from evalsampling.evaluation.statement import display_name, is_due_to_unmet
from evalsampling.inference.intervals import MODEL_BASED, Interval
from evalsampling.inference.outlook import OF_DESIGN, OF_MODEL, Outlook, outlook
from evalsampling.inference.results import TIE, Estimate, Target, full_name, place_of
from evalsampling.parts.records import finite
from evalsampling.report.numbers import MOST_DIGITS, OUTCOMES, shown, shown_range
from evalsampling.spec.gates import Gate, GatesSpec

EXIT_CODES = {True: 0, False: 10, None: 11}
"""Exit codes of a command by whether its gates are reached; 1 and 2 are failure and usage."""


@dataclasses.dataclass(frozen=True)
class GateResult:
    """What an interval says of one target.

    Attributes:
        number: title of the estimate.
        bound: ``at_least`` or ``at_most``.
        target: value to reach.
        reached: True if all of the interval reaches it, False if none of it does; else None.
        value: estimate, None where undefined.
        low: lower end of the interval, None if it is infinite.
        high: upper end, likewise.
        method: of the interval.
        labels: in all, about, that decide it if the value stays; None if decided or not known.
        statement: the same in plain sentences.
    """

    number: str
    bound: str
    target: float
    reached: bool | None
    value: float | None
    low: float | None
    high: float | None
    method: str
    labels: int | None
    statement: str


@dataclasses.dataclass(frozen=True, repr=False)
class Gates:
    """What the intervals say of all targets together.

    Attributes:
        reached: True if every target is reached, False if one is surely not; else None.
        confidence: level of the intervals.
        gates: each of them, in order.
    """

    reached: bool | None
    confidence: float
    gates: tuple[GateResult, ...]

    @property
    def exit_code(self) -> int:
        """Exit code of a job: 0 reached, 10 not reached, 11 cannot be said."""
        return EXIT_CODES[self.reached]

    @property
    def outcome(self) -> str:
        """``reached``, ``not reached`` or ``cannot be said``."""
        return OUTCOMES[self.reached]

    def __repr__(self) -> str:
        """Return the outcome, and a sentence for each gate."""
        return "\n".join([f"<Gates: {self.outcome}>", *(gate.statement for gate in self.gates)])


def check_gates(gates: GatesSpec, targets: Sequence[Target]) -> None:
    """Check that the numbers of gates are among targets, and that their own are possible values."""
    for gate, place in _places(gates, targets):
        low, high = targets[place].bounds
        if not low <= gate.target <= high:
            percent = gate.target / 100
            hint = f"; for {gate.target:g} % give {percent:g}" if low <= percent <= high else ""
            raise InputError(
                f"gates.{gate.bound}.{gate.number}: it lies between {low:g} and {high:g}, "
                f"so {gate.target:g} decides nothing{hint}"
            )


def judge(
    gates: GatesSpec,
    estimates: Sequence[Estimate],
    labels: int,
    bounds: Sequence[MissingBounds] = (),
    are_odd: bool = False,
) -> Gates:
    """Return whether each of one or more gates holds, by estimates from a number of labels.

    Where there are ``bounds`` over missing labels, it is to be so whatever these are; labels that
    ``are_odd``, not what they seem, decide nothing.
    """
    targets = [estimate.target for estimate in estimates]
    check_gates(gates, targets)
    judged = tuple(
        _judged(gate, estimates[place], labels, bounds, are_odd)
        for gate, place in _places(gates, targets)
    )
    return Gates(all_reached(judged), estimates[0].confidence, judged)


def all_reached(gates: Iterable[GateResult]) -> bool | None:
    """Return True if every target is reached, False if one is surely not; else None."""
    reached = {gate.reached for gate in gates}
    return False if False in reached else None if None in reached else True


def _places(gates: GatesSpec, targets: Sequence[Target]) -> Iterator[tuple[Gate, int]]:
    """Yield each gate with the place of its number; of a measure of several systems with each."""
    for gate in gates:
        number = full_name(gate.number, targets)
        whole = [
            place
            for place, target in enumerate(targets)
            if target.title == f"{number} of {target.system}" and target.against is None
        ]
        try:
            places = whole or [place_of(gate.number, targets)]
        except KeyError as error:
            raise InputError(f"gates.{gate.bound}: {error.args[0]}") from error
        yield from ((gate, place) for place in places)


def _judged(
    gate: Gate, estimate: Estimate, labels: int, bounds: Sequence[MissingBounds], are_odd: bool
) -> GateResult:
    interval, problem = estimate.intervals[0], estimate.distrusted_because
    reached = None if problem else _is_reached(gate, interval.low, interval.high)
    about_labels = ""
    if reached is not None and are_odd:
        about_labels = "But the labels may not be what they seem: see the warnings."
    for own in [each for each in bounds if each.is_of(estimate.target)]:
        ends = own.interval_low, own.interval_high
        if not about_labels and reached not in (None, _is_reached(gate, *ends)):
            may_be = shown_range(*ends, MOST_DIGITS)
            about_labels = f"But with the missing labels it may be {may_be}."
    reached = None if about_labels else reached
    verdict = (
        f"{display_name(estimate)} {gate.bound.replace('_', ' ')} {gate.target:g}: "
        f"{OUTCOMES[reached]}."
    )
    sentences, needed = [verdict, _because(problem, interval)], None
    if about_labels:
        sentences.append(about_labels)
    elif reached is None and estimate.value is not None:
        if problem:
            sentences.append("More labels may decide it.")
        else:
            needed = _labels_to_decide(gate.target, estimate, labels)
            sentences.append(_next_step(estimate, needed))
    return GateResult(
        number=estimate.target.title,
        bound=gate.bound,
        target=gate.target,
        reached=reached,
        value=estimate.value,
        low=finite(interval.low),
        high=finite(interval.high),
        method=interval.method,
        labels=None if needed is None else needed.labels,
        statement=" ".join(sentences),
    )


def _is_reached(gate: Gate, low: float, high: float) -> bool | None:
    target = gate.target
    if not gate.is_least:
        low, high, target = -high, -low, -target
    if low >= target - TIE:
        return True
    return False if high < target - TIE else None


def _labels_to_decide(target: float, estimate: Estimate, labels: int) -> Outlook | None:
    """Return how many labels move the nearer end of the interval to a target, if the value stays.

    Intervals of comparisons, of slices and of points of curves are expected to become narrower as
    those of a simple random sample do.
    """
    if estimate.value is None or not labels or estimate.unlabelled == 0:
        return None
    distance = abs(estimate.value - target)
    now = (
        estimate.value - estimate.low if estimate.value > target else estimate.high - estimate.value
    )
    if not distance:  # Only an exact number decides.
        now = estimate.half_width
    own = estimate.target
    is_plain = own.threshold is None and own.against is None and own.slice is None
    by_model = is_plain and estimate.intervals[0].kind == MODEL_BASED
    return outlook(now, labels, estimate.unlabelled, distance, OF_MODEL if by_model else OF_DESIGN)


def _because(problem: str | None, interval: Interval) -> str:
    """Return the interval in words, or the reason that it decides nothing."""
    if problem:
        return f"{problem[:1].upper()}{problem[1:]}."
    if interval.low == interval.high:
        return f"It is exactly {_four(interval.low)}."
    if math.isinf(interval.high):
        return f"The interval begins at {_four(interval.low)}."
    return f"The interval is {shown_range(interval.low, interval.high, MOST_DIGITS)}."


def _next_step(estimate: Estimate, needed: Outlook | None) -> str:
    """Return how many labels are likely to decide while the value stays."""
    assert estimate.value is not None
    stays = f"the value stays {_four(estimate.value)}"
    if needed is None or needed.labels is None:
        return f"No affordable number of labels decides it if {stays}."
    if is_due_to_unmet(estimate):
        needed = dataclasses.replace(needed, most=None)
    return f"If {stays}, {needed.in_words} to decide it."


def _four(value: float) -> str:
    return shown(value, MOST_DIGITS)
