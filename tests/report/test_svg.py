"""Pictures as SVG."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from evalsampling.report.svg import (
    PALETTE,
    Picture,
    Scale,
    close_scale,
    even_scale,
    scale_for,
    tag,
    words,
)


def luminance(colour: str) -> float:
    """Relative luminance, as the Web Content Accessibility Guidelines 2.1 define it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("name", "least"), [("ink", 7), ("soft", 4.5), ("accent", 4.5), ("grey", 3)]
)
def test_colours_can_be_told_from_the_paper(name: str, least: float, dark: bool) -> None:
    assert contrast(PALETTE[name][dark], PALETTE["paper"][dark]) >= least


@pytest.mark.parametrize("dark", [False, True])
def test_the_accent_can_be_told_from_its_tint(dark: bool) -> None:
    assert contrast(PALETTE["accent"][dark], PALETTE["tint"][dark]) >= 3


def test_scales_map_ends_to_ends_and_keep_what_is_beyond_at_the_end() -> None:
    scale = Scale(0, 10, 100, 300)
    assert [scale(value) for value in (0, 5, 10, 99, -1)] == [100, 200, 300, 300, 100]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (-0.3, 0.3, [-0.2, 0, 0.2]),
     (0, 200, [0, 50, 100, 150, 200]), (0, 7, [0, 2, 4, 6])],
)  # fmt: skip
def test_ticks_are_round_numbers(low: float, high: float, ticks: list[float]) -> None:
    assert Scale(low, high, 0, 1).ticks() == ticks


def even(neutral: float) -> Any:
    return lambda values, first, last: even_scale(values, neutral, first, last)


@pytest.mark.parametrize(
    ("scale", "values", "ends"),
    [
        (scale_for, [0.4, None, 0.6], (0.0, 1.0)),
        (scale_for, [-0.12, 0.05], (-0.2, 0.2)),
        (scale_for, [0.5, 3.0], (0.0, 3.15)),
        # A part of the scale, where numbers lie close.
        (close_scale, [0.971, 0.996, None], (0.97, 1.0)),
        (close_scale, [0.52, 0.66], (0.5, 0.7)),
        (close_scale, [0.2, 0.5], (0.0, 1.0)),
        (close_scale, [-0.01, 0.01], (-0.01, 0.01)),
        (close_scale, [3.0, 3.1], (0.0, 3.255)),
        (close_scale, [], (0.0, 1.0)),
        # What is alike in the middle.
        (even(0), [0.01, 0.05, None], (-0.05, 0.05)),
        (even(0), [-0.31, 0.1], (-0.4, 0.4)),
        (even(0), [-1.0, 1.0], (-1.0, 1.0)),
        (even(1), [1.0015, 1.0023], (0.997, 1.003)),
        (even(1), [0.7, 3.0], (0.0, 3.15)),
        (even(0), [0.0], (0.0, 1.0)),
    ],
)
def test_ends_of_scales(scale: Any, values: list[float | None], ends: tuple[float, float]) -> None:
    made = scale(values, 0, 10)
    assert (made.low, made.high) == pytest.approx(ends)


def test_text_is_escaped_and_long_text_is_whole_on_hover() -> None:
    text = "<b>&\"'" + "x" * 100
    drawn = ET.fromstring(words(0, 0, text, most=20))
    title = drawn.find("title")
    assert title.text == text
    assert title.tail == text[:19] + "…"
    assert drawn.get("text-anchor") is None
    assert ET.fromstring(words(0, 0, text, anchor="end")).get("text-anchor") == "end"
    assert ET.fromstring(tag("g", aria_label=text)).get("aria-label") == text


def test_a_picture_brings_its_own_colours_unless_a_page_does() -> None:
    picture = Picture("Title", "words", 10, 20, "")
    assert "--ink" in picture.svg
    assert "--ink" not in picture.element()
    assert ET.fromstring(picture.element()).get("aria-label") == "Title. words"
