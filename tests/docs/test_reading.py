"""Users' pages, and what the program prints, are easy to read."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.prose import (
    HARDEST_GRADE,
    MOST_WORDS,
    ROOT,
    USERS_PAGES,
    grade,
    longest,
    plain_text,
    prose_of,
    sentences,
    words,
)

FRONT_PAGE_WORDS = 300
"""The front page of the site has fewer words, code and what it prints included."""

OUR_OWN_WORDS = re.compile(r"\b(?:met|told|tell|tells|telling)\b", re.I)
"""Words that readers did not understand: say found, shown, known."""

NO_SENTENCES = {"report/svg.py"}
"""Modules whose long texts are styles."""


@pytest.mark.parametrize("page", USERS_PAGES)
def test_page_is_easy_to_read(page: str) -> None:
    found = list(sentences(prose_of(page)))
    reached = grade(found)
    worst = "\n".join(longest(found))
    assert reached <= HARDEST_GRADE, f"{page}: grade {reached:.1f}; longest sentences:\n{worst}"


@pytest.mark.parametrize("page", USERS_PAGES)
def test_sentences_of_a_page_are_short(page: str) -> None:
    found = [one for one in sentences(prose_of(page)) if words(one) > MOST_WORDS]
    assert found == [], f"{page}: more than {MOST_WORDS} words"


@pytest.mark.parametrize("page", USERS_PAGES)
def test_page_has_none_of_our_own_words(page: str) -> None:
    text = plain_text((ROOT / page).read_text("utf-8"))
    assert [line for line in text.splitlines() if OUR_OWN_WORDS.search(line)] == []


def test_front_page_is_short() -> None:
    text = (ROOT / "docs/index.md").read_text("utf-8")
    shown = re.sub(r"^```\{toctree\}.*?^```$", "", text, flags=re.M | re.S)
    assert words(re.sub(r"\]\([^)]*\)", "]", shown)) < FRONT_PAGE_WORDS


def written(module: Path) -> Iterator[str]:
    """The texts of a module that are no docstrings; what is put into one counts as a word."""
    nodes = [*ast.walk(ast.parse(module.read_text("utf-8")))]
    parts: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts.update(node.values)
        elif isinstance(node, ast.Expr):
            parts.add(node.value)
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(v.value if isinstance(v, ast.Constant) else "X" for v in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            yield node.value


def shown(template: Path) -> str:
    """The text of a template; what is put into it counts as a word, each element apart."""
    text = re.sub(r"\{%.*?%\}|\{#.*?#\}", " ", template.read_text("utf-8"), flags=re.S)
    text = re.sub(r"<(?!/?(?:b|strong|span)\b)[^>]*>", "\n\n", text)
    return re.sub(r"\{\{.*?\}\}", "X", re.sub(r"<[^>]*>", "", text), flags=re.S)


def texts_of(value: Any) -> Iterator[str]:
    """The texts of an object of JSON, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_of(part)


def too_long(texts: Iterator[str]) -> set[str]:
    long = (text for text in texts if len(text) > 2 * MOST_WORDS)
    found = {sentence for text in long for sentence in sentences(text)}
    return {one for one in found if words(one) > MOST_WORDS}


def test_sentences_that_the_package_may_print_are_short() -> None:
    modules = sorted((ROOT / "evalsampling").rglob("*.py"))
    assert len(modules) > 200
    found = {
        str(module.relative_to(ROOT / "evalsampling")): too_long(written(module))
        for module in modules
        if str(module.relative_to(ROOT / "evalsampling")) not in NO_SENTENCES
    }
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_sentences_of_templates_are_short() -> None:
    templates = sorted((ROOT / "evalsampling/report/templates").glob("*.html"))
    templates += sorted((ROOT / "evalsampling/labels/templates").glob("*.txt"))
    assert len(templates) > 10
    assert too_long(map(shown, templates)) == set()


def test_sentences_that_commands_printed_are_short() -> None:
    golden = ROOT / "tests" / "golden"
    files = [*(golden / "said").glob("*.json"), *(golden / "estimates").glob("*.json")]
    assert len(files) > 100
    texts = (text for file in files for text in texts_of(json.loads(file.read_text("utf-8"))))
    assert too_long(texts) == set()


def test_prose_is_what_is_read() -> None:
    text = (
        "# A heading\n\nSee [the page](other.md#part), or `a b c`. `x` is 0.5: no end.\n\n"
        "```sh\nrun. This.\n```\n\n| a | b |\n| --- | --- |\n\n- One item\n- (Another!) Last.\n"
    )
    assert list(sentences(plain_text(text, tables=False))) == [
        "See the page, or Code.",
        "Code is 0.5: no end.",
        "One item",
        "(Another!",
        "Last.",
    ]


def test_words_are_counted_without_signs() -> None:
    assert words("It is 0.70 (0.38 to 0.80) - or ± 0.05 / more.") == 9
    assert longest(["a b", "a", "a b c"], 2) == ["3 words: a b c", "2 words: a b"]


def test_grade_is_that_of_the_formula() -> None:
    # Two sentences of three words each, with 4 and 3 syllables.
    assert grade(["Cats purr loudly", "It is so"]) == pytest.approx(
        0.39 * 6 / 2 + 11.8 * 7 / 6 - 15.59
    )
    assert grade(["The scikitly frobnicated"]) > grade(["The cat sat"])
