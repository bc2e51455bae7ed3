"""Labels of any type as the texts of classes, the form in which they are compared."""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.spec.yes_no import plain, yes_and_no


def class_texts(labels: pa.Array, codes: Collection[str]) -> list[str | None]:
    """Return labels as texts, None for a null or a NaN.

    A column is what it is as a whole: truth values are 0 and 1 unless classes are words for
    them (``True``, ``yes``), floats (or texts of them: ``1.0``) that are all whole are whole
    numbers. Case and blanks around a text do not matter, and words for yes and no are understood
    (`meant_texts`). What is no class then is told as it was given.

    Args:
        labels: of rows; dictionaries decoded.
        codes: texts of the classes.
    """
    if pa.types.is_boolean(labels.type) and not _are_words(codes):
        labels = labels.cast(pa.int8())
    if pa.types.is_floating(labels.type):
        labels = _whole(pc.if_else(pc.is_nan(labels), None, labels))
    texts = [None if label is None else str(label) for label in labels.to_pylist()]
    meant = meant_texts({text for text in texts if text is not None}, codes)
    return [None if text is None else meant.get(text, text) for text in texts]


def _are_words(codes: Collection[str]) -> bool:
    """Tell whether classes are words for truth values, as ``True`` or ``yes``."""
    words = yes_and_no(codes).keys() | {"True", "False"}
    return any(name in words or plain(name) in words for name in codes)


def meant_texts(texts: Collection[str], codes: Collection[str]) -> dict[str, str]:
    """Return the class of each text that spells the name of a class in another way.

    `` Yes`` is ``yes``, unless two classes differ in nothing but case and blanks. Of classes that
    are a yes and a no, as 1 and 0, every word for these is understood (`yes_and_no`); see
    `whole_texts` for floats.

    Args:
        texts: all labels of a column.
        codes: texts of the classes.
    """
    classes: dict[str, list[str]] = {}
    for name in codes:
        classes.setdefault(plain(name), []).append(name)
    alike = {text: classes.get(plain(text), []) for text in {*texts} - {*codes}}
    spelled = {text: names[0] for text, names in alike.items() if len(names) == 1}
    words = yes_and_no(codes)
    said = {text: words[plain(text)] for text in alike if plain(text) in words}
    return {**whole_texts(texts, codes), **said, **spelled}


def whole_texts(texts: Collection[str], codes: Collection[str]) -> dict[str, str]:
    """Return what floats like ``1.0`` are as whole numbers, if all texts are such and no class.

    Args:
        texts: all labels of a column.
        codes: texts of the classes.
    """
    if {*texts} & {*codes} or not all(map(_is_whole_float, texts)):
        return {}
    return {text: text.partition(".")[0] for text in texts}


def _whole(labels: pa.Array) -> pa.Array:
    try:
        return labels.cast(pa.int64())
    except pa.ArrowInvalid:
        return labels


def _is_whole_float(text: str) -> bool:
    """Tell whether a text is one of a whole number with a fraction of zeros."""
    whole, dot, fraction = text.partition(".")
    is_number = whole.removeprefix("-").isdecimal() and whole.isascii()
    return bool(dot) and is_number and set(fraction) == {"0"}
