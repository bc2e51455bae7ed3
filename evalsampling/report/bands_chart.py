"""Charts by band of scores: where labels were spent, and how many of them were positive."""

import dataclasses
from collections.abc import Sequence

from evalsampling.inference.score_bands import ScoreBand
from evalsampling.report.numbers import percent
from evalsampling.report.svg import Picture, Scale, axis, bar, dot, line, tag, words

_ROW, _TOP, _FOOT, _WIDTH = 34, 30, 20, 720
_LABELS = 150


@dataclasses.dataclass(frozen=True)
class LabelledBands:
    """Bands of scores with the class whose rates they hold."""

    label: str
    bands: tuple[ScoreBand, ...]


def band_name(band: ScoreBand) -> str:
    """Return the name of a band: its range of scores, what is predicted in it, or its leaves."""
    if band.title is not None:
        return band.title
    if band.low is None and band.high is None:
        if band.first_leaf == band.last_leaf:
            return f"leaf {band.first_leaf}"
        return f"leaves {band.first_leaf} to {band.last_leaf}"
    if band.low is None or band.high is None:
        return f"below {_end(band.high)}" if band.low is None else f"{_end(band.low)} and above"
    return f"{_end(band.low)} to {_end(band.high)}"


def _end(score: float | None) -> str:
    return "?" if score is None else f"{score:.3g}".replace("-", "\N{MINUS SIGN}")


def effort_chart(bands: Sequence[ScoreBand]) -> Picture:
    """Return a chart of each band's share of the pool and of the labels, highest scores on top.

    Args:
        bands: from the lowest score to the highest.
    """
    rows = max(sum(band.rows for band in bands), 1)
    labels = max(sum(band.labelled for band in bands), 1)
    shares = [(band.rows / rows, band.labelled / labels) for band in bands]
    most = max(max(pair) for pair in shares)
    scale = Scale(0, most, _LABELS + 12, _WIDTH - 170)
    body = [
        words(0, 14, _heading(bands), "t-soft small"),
        bar(scale.first, scale.first + 14, 10, 8, "f-accent"),
        words(scale.first + 20, 14, "labels", "t-soft small"),
        bar(scale.first + 80, scale.first + 94, 10, 8, "f-grey"),
        words(scale.first + 100, 14, "rows of the pool", "t-soft small"),
    ]
    for place, (band, (pool, spent)) in enumerate(zip(bands[::-1], shares[::-1], strict=True)):
        y = _TOP + _ROW * place + _ROW / 2
        body += [
            words(0, y + 4, band_name(band), most=24),
            bar(scale.first, scale(spent), y - 5, 9, "f-accent"),
            bar(scale.first, scale(pool), y + 6, 9, "f-grey"),
            words(_WIDTH, y - 1, f"{band.labelled:,} labels, {percent(spent)}", "t-accent small",
                  "end"),
            words(_WIDTH, y + 12, f"{band.rows:,} rows, {percent(pool)}", "t-soft small", "end"),
        ]  # fmt: skip
    top = bands[-1]
    description = f"The highest band, {band_name(top)}, has {percent(top.rows / rows)} of the rows"
    description += f" and {percent(top.labelled / labels)} of the labels"
    height = _TOP + _ROW * len(bands) + 8
    return Picture(f"Labels and rows by {_of(bands)}", description, _WIDTH, height, "".join(body))


def calibration_chart(labelled: LabelledBands) -> Picture:
    """Return a chart of observed, expected and modelled rates of a class, top scores first."""
    bands = labelled.bands
    scale = Scale(0, 1, _LABELS + 12, _WIDTH - 130)
    bottom = _TOP + _ROW * len(bands)
    body = [words(0, 14, _heading(bands), "t-soft small"), *_legend(scale.first, bands)]
    body += axis(scale, _TOP, bottom)
    for place, band in enumerate(reversed(bands)):
        y = _TOP + _ROW * place + _ROW / 2
        body.append(words(0, y + 4, band_name(band), most=24))
        if band.model is not None:
            body.append(_area(scale(band.model.low), scale(band.model.high), y))
        if band.observed is not None:
            ends = (scale(band.observed.low), scale(band.observed.high))
            body.append(bar(*ends, y, 2, "f-accent"))
            body.append(dot(scale(band.observed.value), y))
        if band.prior is not None:
            x = scale(band.prior)
            body.append(line(x, y - 9, x, y + 9, "s-ink", 2))
        counts = f"{band.met:,} of {band.labelled:,}" if band.labelled else "no labels"
        body.append(words(_WIDTH, y + 4, counts, "t-ink" if band.labelled else "t-soft", "end"))
    body.append(words(_WIDTH, 14, f"labelled {labelled.label}", "t-soft small", "end", most=20))
    description = "; ".join(
        f"{band_name(band)}: {band.met} of {band.labelled} labels"
        + ("" if band.prior is None else f", expected {percent(band.prior)}")
        for band in reversed(bands)
    )
    name = f"Share of {labelled.label} by {_of(bands)}"
    return Picture(name, description, _WIDTH, bottom + _FOOT, "".join(body))


def _of(bands: Sequence[ScoreBand]) -> str:
    """Return what bands are of."""
    return "stratum" if any(band.title is not None for band in bands) else "score"


def _legend(x: float, bands: Sequence[ScoreBand]) -> list[str]:
    marks = [dot(x + 6, 10), words(x + 16, 14, "labels say", "t-soft small")]
    if any(band.prior is not None for band in bands):
        says = "score says" if _of(bands) == "score" else "expected"
        tick = line(x + 98, 3, x + 98, 17, "s-ink", 2)
        marks += [tick, words(x + 106, 14, says, "t-soft small")]
    if any(band.model is not None for band in bands):
        marks += [_area(x + 186, x + 206, 10), words(x + 212, 14, "model of both", "t-soft small")]
    return marks


def _area(low: float, high: float, y: float) -> str:
    """Return the bar of the model's interval: tinted, with an edge."""
    return tag("rect", x=low, y=y - 7, width=max(high - low, 1.5), height=14.0,
               class_="f-tint edge")  # fmt: skip


def _heading(bands: Sequence[ScoreBand]) -> str:
    if _of(bands) == "stratum":
        return "stratum"
    unknown = any(band.low is None and band.high is None for band in bands)
    return "leaves by score" if unknown else "score"
