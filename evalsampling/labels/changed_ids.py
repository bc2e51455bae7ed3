"""Ids that a program which reads numbers may have changed into the id of another row.

Spreadsheets, and other programs that guess the types of columns, rewrite text that looks like a
number: ``007`` becomes ``7``, ``1E3`` becomes ``1000``, ``1.0`` becomes ``1``, and of
``1234567890123456`` they keep fifteen digits. Numbers are written differently by country: ``1.000``
is one or a thousand, ``1 000`` and ``1'000`` are a thousand, ``1,50`` is one and a half.
"""

import decimal
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from evalsampling.labels.vote import Pair, Vote
from evalsampling.pool.row_ids import parts_of, text_of

DIGITS = 15
"""Digits that a spreadsheet keeps of a number."""

INEXACT_FROM = 10**DIGITS
"""Least number of a spreadsheet that may stand for several whole numbers."""

Name = str | Pair
"""Name of a row where no task is given: its id, or its two records."""

_NUMBER = re.compile(
    r"\s*(?P<sign>[+-]?)(?P<whole>\d{1,3}(?:,\d{3})+|\d*)(?P<fraction>\.\d*)?"
    r"(?P<exponent>[eE][+-]?\d{1,3})?(?P<percent>\s*%)?\s*",
    re.ASCII,
)
_GROUPED = re.compile(
    r"\s*[+-]?\d{1,3}(?P<mark>[\s'\u2019])\d{3}(?:(?P=mark)\d{3})*(?!(?P=mark)?\d)"
)
"""A number with thousands grouped by blanks or apostrophes."""

_SWAPPED = str.maketrans(",.", ".,")
_DATE = re.compile(r"\d{1,4}([/.-])\d{1,2}\1\d{1,4}|\d{1,4}(:\d{1,2}){1,2}", re.ASCII)
"""A date or a time in digits, whose leading zeros programs add or remove."""

_MOST_CHARACTERS = 400
_EXACT = decimal.Context(prec=2 * _MOST_CHARACTERS + 2_000)
_KEPT = [
    decimal.Context(prec=DIGITS, rounding=rounding)
    for rounding in (decimal.ROUND_HALF_UP, decimal.ROUND_DOWN)
]

_UNTOUCHED = re.compile(r"[+-]?0+\d|[+-]?[\d.]+[eE]\d", re.ASCII)
"""Beginning of a number that no program writes: leading zeros, or an exponent without a sign."""

BY_TASK = "deliver by task name"
"""Advice in messages about ambiguous ids."""


class Lookalikes:
    """Rows that were drawn, by the names that a program which reads numbers may make of theirs."""

    def __init__(
        self, drawn: Iterable[Name], votes: Sequence[Vote], of_parts: bool = False
    ) -> None:
        """Index the rows that were drawn, and see whether a delivery kept its ids unchanged.

        Args:
            drawn: ids or pairs of all rows that were drawn.
            votes: votes of one delivery. Ids in it that such a program would have changed show
                that none has.
            of_parts: whether an id is made of several columns.
        """
        self._of_parts = of_parts
        self._alike: dict[Name, list[Name]] = {}
        self._shortened: dict[Name, list[Name]] = {}
        names = set()
        for name in drawn:
            names.add(name)
            spellings = {*self._spelled(name, _as_read)}
            for spelling in spellings:
                self._alike.setdefault(spelling, []).append(name)
            for shortened in {*self._spelled(name, _as_kept)} - spellings:
                self._shortened.setdefault(shortened, []).append(name)
        self._has_text = self._has_digits = False
        for vote in votes:
            given = vote.id if vote.pair is None else vote.pair
            if vote.task is not None or given is None or given not in names:
                continue
            texts = self._texts(given)
            if any(map(_has_more_digits, texts)):
                self._has_digits = True
                self._has_text |= not vote.has_number
            elif not vote.has_number:
                self._has_text |= any(map(_is_untouched, texts))

    def other(self, name: Name, has_number: bool) -> Name | None:
        """Return another drawn row that a delivered name may mean, None if there is none.

        Args:
            name: name of a row as delivered.
            has_number: whether it came as a number, so that its original spelling is unknown.
        """
        if self._has_text and not has_number:
            return None
        indexes = [self._alike] if self._has_digits else [self._alike, self._shortened]
        spellings = [*self._spelled(name, _as_read)]
        others = (other for index in indexes for text in spellings for other in index.get(text, ()))
        return next((other for other in others if other != name), None)

    def _texts(self, name: Name) -> Sequence[str]:
        """Return the texts of a name that a program may change: each column of an id its own."""
        if not isinstance(name, str):
            return [id for _, id in name]
        return [*map(str, parts_of(name))] if self._of_parts else [name]

    def _spelled(self, name: Name, spell: Callable[[str], Sequence[str]]) -> Iterator[Name]:
        """Yield a name in each combination of the spellings of its texts."""
        for texts in itertools.product(*map(spell, self._texts(name))):
            if isinstance(name, str):
                yield text_of(texts) if self._of_parts else texts[0]
            else:
                sources = (source for source, _ in name)
                lesser, greater = sorted(zip(sources, texts, strict=True))
                yield lesser, greater


def is_shortened(text: str) -> bool:
    """Tell whether a text is a number that a spreadsheet may have rounded to fifteen digits.

    That is a number of 10^15 or more with a point or an exponent; digits alone are complete.
    """
    number = _number(text)
    return number is not None and not text.strip(" +-").isdecimal() and abs(number) >= INEXACT_FROM


def with_zeros(given: str, drawn: str) -> bool:
    """Tell whether a given id is a drawn one without its leading zeros."""
    return drawn[:1] == "0" and drawn.lstrip("0") == given


def _number(text: str) -> decimal.Decimal | None:
    """Return the number that a program reads in a text, None if it reads none."""
    match = _NUMBER.fullmatch(text) if len(text) <= _MOST_CHARACTERS else None
    if match is None or not (match["whole"] or (match["fraction"] or ".") != "."):
        return None
    digits = f"{match['sign']}{match['whole'].replace(',', '')}{match['fraction'] or ''}"
    number = decimal.Decimal(digits + (match["exponent"] or ""))
    return _EXACT.scaleb(number, -2) if match["percent"] else number


def _numbers(text: str) -> list[decimal.Decimal]:
    """Return the numbers, at most two, that programs of different countries read in a text."""
    grouped = _GROUPED.match(text)
    bare = text if grouped is None else text.replace(grouped["mark"], "")
    numbers = (_number(bare), _number(bare.translate(_SWAPPED)))
    return list(dict.fromkeys(number for number in numbers if number is not None))


def _as_read(text: str) -> Sequence[str]:
    """Return the common spellings of all texts with the same number, date, time or truth value."""
    if _is_plain(text):
        return [text]
    if _DATE.fullmatch(text):
        return [re.sub(r"0*(\d+)", r"\1", text), *map(_plain, _numbers(text))]
    if text.casefold() in ("true", "false"):
        return [text.casefold()]
    return [*map(_plain, _numbers(text))] or [text]


def _as_kept(text: str) -> Sequence[str]:
    """Return the spellings of a text's numbers with fifteen digits, rounded or truncated."""
    numbers = [] if _is_plain(text) else _numbers(text)
    return [_plain(context.plus(number)) for context in _KEPT for number in numbers] or [text]


def _is_plain(text: str) -> bool:
    """Tell whether a text is a whole number in the spelling of all programs, as most ids are."""
    return text.isdecimal() and text.isascii() and len(text) <= DIGITS and text[0] != "0"


def _plain(number: decimal.Decimal) -> str:
    number = _EXACT.normalize(_EXACT.add(number, 0))
    return f"{number:f}" if abs(number) < INEXACT_FROM else str(number)


def _is_untouched(text: str) -> bool:
    """Tell whether a text is a number in a spelling that a program which reads numbers changes."""
    return _UNTOUCHED.match(text) is not None and _number(text) is not None


def _has_more_digits(text: str) -> bool:
    """Tell whether a text is a whole number with more digits than a spreadsheet keeps."""
    return text.isascii() and text.isdecimal() and len(text.strip("0")) > DIGITS
