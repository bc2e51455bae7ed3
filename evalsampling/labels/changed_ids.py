"""Ids that a program which reads numbers may have changed into the id of another row.

A spreadsheet, and whatever guesses the types of columns, takes text that looks like a number for
one: of ``007`` it leaves ``7``, of ``1E3`` ``1000``, of ``1.0`` ``1``, and of the digits of
``1234567890123456`` the first fifteen. What counts as a number differs by country: ``1.000`` is one
or a thousand, ``1 000`` and ``1'000`` are a thousand, ``1,50`` is one and a half.
"""

import decimal
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from evalsampling.labels.vote import Pair, Vote

DIGITS = 15
"""That a spreadsheet keeps of a number."""

INEXACT_FROM = 10**DIGITS
"""From here on a number of a spreadsheet stands for several whole numbers."""

Name = str | Pair
"""How a row is told where no task is named: by its id, or by two records."""

_NUMBER = re.compile(
    r"\s*(?P<sign>[+-]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d*)(?P<fraction>\.\d*)?"
    r"(?P<exponent>[eE][+-]?\d{1,3})?(?P<percent>\s*%)?\s*",
    re.ASCII,
)
_GROUPED = re.compile(
    r"\s*[+-]?\d{1,3}(?P<mark>[\s'\u2019])\d{3}(?:(?P=mark)\d{3})*(?!(?P=mark)?\d)"
)
"""Thousands told apart by blanks or apostrophes."""

_SWAPPED = str.maketrans(",.", ".,")
_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}|\d{1,4}(:\d{1,2}){1,2}", re.ASCII)
"""A date or a time in digits, in which zeros come and go."""

_MOST_CHARACTERS = 400
_EXACT = decimal.Context(prec=2 * _MOST_CHARACTERS + 2_000)
_KEPT = [
    decimal.Context(prec=DIGITS, rounding=rounding)
    for rounding in (decimal.ROUND_HALF_UP, decimal.ROUND_DOWN)
]

_UNTOUCHED = re.compile(r"[+-]?0+\d|[+-]?[\d.]+[eE]\d", re.ASCII)
"""How a number begins that no program has written: by zeros, or with an exponent without a sign."""

BY_TASK = "deliver by task name"
"""What to do about rows that their ids do not tell."""


class Lookalikes:
    """Rows that were drawn, and those whose names a program that reads numbers confounds."""

    def __init__(self, drawn: Iterable[Name], votes: Sequence[Vote]) -> None:
        """Take what there is to know.

        Args:
            drawn: ids or pairs of all rows that were drawn.
            votes: of one delivery. Ids in it that such a program would have changed tell that none
                has.
        """
        self._alike: dict[Name, list[Name]] = {}
        self._shortened: dict[Name, list[Name]] = {}
        known = set()
        for name in drawn:
            known.add(name)
            read = {*_spelled(name, _as_read)}
            for one in read:
                self._alike.setdefault(one, []).append(name)
            for kept in {*_spelled(name, _as_kept)} - read:
                self._shortened.setdefault(kept, []).append(name)
        self._has_text = self._has_digits = False
        for vote in votes:
            given = name_of(vote)
            if vote.task is not None or given is None or given not in known:
                continue
            if any(map(_has_more_digits, _texts(given))):
                self._has_digits = True
                self._has_text |= not vote.has_number
            elif not vote.has_number:
                self._has_text |= any(map(_is_untouched, _texts(given)))

    def other(self, name: Name, has_number: bool) -> Name | None:
        """Return another row that was drawn and may be meant by a name, None if there is none.

        Args:
            name: as a delivery gives it.
            has_number: whether it came as a number, of which nobody knows how it was written.
        """
        if self._has_text and not has_number:
            return None
        read = [*_spelled(name, _as_read)]
        others = [other for one in read for other in self._alike.get(one, ())]
        if not self._has_digits:
            others += [other for one in read for other in self._shortened.get(one, ())]
        return next((one for one in others if one != name), None)


def name_of(vote: Vote) -> Name | None:
    """Return how a vote tells its row where it names no task: by two records, or by an id."""
    return vote.id if vote.pair is None else vote.pair


def is_shortened(text: str) -> bool:
    """Tell whether a text is that of a number which a spreadsheet has cut to fifteen digits.

    That is one of 10^15 or more with a point or an exponent; digits alone are whole.
    """
    number = _number(text)
    return number is not None and not text.strip(" +-").isdecimal() and abs(number) >= INEXACT_FROM


def with_zeros(given: str, drawn: str) -> bool:
    """Tell whether an id is another one without the zeros before it."""
    return drawn[:1] == "0" and drawn.lstrip("0") == given


def _number(text: str) -> decimal.Decimal | None:
    """Return the number that a program makes of a text, None if it makes none."""
    found = _NUMBER.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if found is None or not (found["whole"] or (found["fraction"] or ".") != "."):
        return None
    digits = f"{found['sign']}{found['whole'].replace(',', '')}{found['fraction'] or ''}"
    number = decimal.Decimal(digits + (found["exponent"] or ""))
    return _EXACT.scaleb(number, -2) if found["percent"] else number


def _numbers(text: str) -> list[decimal.Decimal]:
    """Return the numbers, at most two, that programs of any country make of a text."""
    found = _GROUPED.match(text)
    bare = text if found is None else text.replace(found["mark"], "")
    numbers = (_number(bare), _number(bare.translate(_SWAPPED)))
    return list(dict.fromkeys(number for number in numbers if number is not None))


def _as_read(text: str) -> Sequence[str]:
    """Return a text as all spell it that are the same number, date, time or truth value."""
    if _is_plain(text):
        return [text]
    if _DATE.fullmatch(text):
        return [re.sub(r"0*(\d+)", r"\1", text), *map(_plain, _numbers(text))]
    if text.casefold() in ("true", "false"):
        return [text.casefold()]
    return [*map(_plain, _numbers(text))] or [text]


def _as_kept(text: str) -> Sequence[str]:
    """Return a text as it is where a spreadsheet keeps fifteen digits, rounded or cut."""
    numbers = [] if _is_plain(text) else _numbers(text)
    return [_plain(context.plus(one)) for context in _KEPT for one in numbers] or [text]


def _is_plain(text: str) -> bool:
    """Tell whether a text is spelled as all programs spell its number, as most ids are."""
    return text.isdecimal() and text.isascii() and len(text) <= DIGITS and text[0] != "0"


def _plain(number: decimal.Decimal) -> str:
    number = _EXACT.normalize(_EXACT.add(number, 0))
    return f"{number:f}" if abs(number) < INEXACT_FROM else str(number)


def _is_untouched(text: str) -> bool:
    """Tell whether a text is of a number, and spelled as a program that reads numbers would not."""
    return _UNTOUCHED.match(text) is not None and _number(text) is not None


def _has_more_digits(text: str) -> bool:
    """Tell whether a text has more digits than a spreadsheet would have kept."""
    return text.isascii() and text.isdecimal() and len(text.strip("0")) > DIGITS


def _texts(name: Name) -> Sequence[str]:
    return [name] if isinstance(name, str) else [id for _, id in name]


def _spelled(name: Name, spell: Callable[[str], Sequence[str]]) -> Iterator[Name]:
    """Yield a name in all spellings of its texts."""
    if isinstance(name, str):
        yield from spell(name)
        return
    (one, first), (two, second) = name
    for left in spell(first):
        for right in spell(second):
            lesser, greater = sorted([(one, left), (two, right)])
            yield lesser, greater
