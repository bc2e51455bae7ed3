"""Labels of any type as texts, the form in which they are compared, and their other spellings."""

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

YES = frozenset({"yes", "y", "true", "t"})
NO = frozenset({"no", "n", "false", "f"})
"""Words for either, case-folded."""

YES_CLASS, _NO_CLASS = YES | {"1"}, NO | {"0"}
"""Names of classes that are either. A number is only the class that has its name: elsewhere it may
be anything, as the number of an annotator in a column that was shifted."""


def label_texts(values: Sequence[Any], codes: Collection[str]) -> list[str | None]:
    """Return labels as texts, None for a null or a NaN.

    A column is what it is as a whole: truth values are 0 and 1 unless classes are words for
    them (``True``, ``yes``), floats (or texts of them: ``1.0``) that are all whole are whole
    numbers. Case and blanks around a text do not matter, and words for yes and no are understood
    (`meant_texts`). What is no class then is reported as it was given.
    """
    given = [None if value is None or value != value else value for value in values]
    kinds = {type(value) for value in given if value is not None}
    kind: type = str
    if kinds == {bool}:
        truths = yes_and_no(codes).keys() | {"True", "False"}
        kind = str if any({name, plain(name)} & truths for name in codes) else int
    elif float in kinds and kinds <= {int, float}:
        kind = int if all(value is None or _is_whole(value) for value in given) else float
    texts = [None if value is None else str(kind(value)) for value in given]
    meant = meant_texts({text for text in texts if text is not None}, codes)
    return [None if text is None else meant.get(text, text) for text in texts]


def meant_texts(texts: Collection[str], codes: Collection[str]) -> dict[str, str]:
    """Return the class of each text that spells the name of a class in another way.

    `` Yes`` is ``yes``, unless two classes differ in nothing but case and blanks. See `yes_and_no`
    for words, `whole_texts` for floats.
    """
    classes: dict[str, list[str]] = {}
    for name in codes:
        classes.setdefault(plain(name), []).append(name)
    alike = {text: classes.get(plain(text), []) for text in {*texts} - {*codes}}
    spelled = {text: names[0] for text, names in alike.items() if len(names) == 1}
    words = yes_and_no(codes)
    said = {text: words[plain(text)] for text in alike if plain(text) in words}
    return {**whole_texts(texts, codes), **said, **spelled}


def yes_and_no(classes: Collection[str]) -> dict[str, str]:
    """Return the class of each word of `YES` and `NO`; none if the classes are no yes and no."""
    by_word = {plain(name): name for name in classes}
    yes, no = by_word.keys() & YES_CLASS, by_word.keys() & _NO_CLASS
    if len(classes) != 2 or len(yes) != 1 or len(no) != 1:
        return {}
    return dict.fromkeys(YES, by_word[yes.pop()]) | dict.fromkeys(NO, by_word[no.pop()])


def plain(text: str) -> str:
    """Return a text case-folded and without blanks around it, to compare it with others."""
    return text.strip().casefold()


def whole_texts(texts: Collection[str], codes: Collection[str]) -> dict[str, str]:
    """Return what floats like ``1.0`` are as whole numbers, if all texts but classes are such.

    Beside 0.5 they are scores, and no classes.
    """
    others = {*texts} - {*codes}
    are_whole = all(re.fullmatch(r"-?[0-9]+\.0+", text) for text in others)
    return {text: text.partition(".")[0] for text in others} if are_whole else {}


def _is_whole(value: float) -> bool:
    """Tell whether a number is a whole number of 64 bits."""
    return math.isfinite(value) and float(value).is_integer() and abs(value) < 2.0**63
