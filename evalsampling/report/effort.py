"""Sections on the labels: where they were spent, observed rates against scores, their quality."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.inference.score_bands import ScoreBand
from evalsampling.report.bands_chart import band_name, calibration_chart, effort_chart
from evalsampling.report.facts import Facts
from evalsampling.report.markup import (
    Section,
    data,
    escape,
    figure,
    folded,
    interval,
    paragraph,
    table,
)
from evalsampling.report.numbers import percent, title

MOST_ANNOTATORS = 60
"""Most annotators that the page lists."""


def effort(facts: Facts) -> Section | None:
    """Return the section of labels and rows by score, None without any label or score."""
    if not facts.labels or not facts.bands:
        return None
    bands = facts.bands[0].bands
    rows = [
        [escape(band_name(band)), f"{band.rows:,}", percent(band.rows / facts.rows),
         f"{band.labelled:,}", percent(band.labelled / facts.labels)]
        for band in reversed(bands)
    ]  # fmt: skip
    head = [_by(bands), "rows", "share of the pool", "labels", "share of the labels"]
    listed = table(f"Labels and rows by {_by(bands)}", head, rows, range(1, 5))
    words = (
        "Rows were drawn at random, all with the same chance."
        if facts.sampler == "passive"
        else "Rows were drawn with known chances, and are weighted so that the estimates hold for "
        "the whole pool."
    )
    caption = "Bands are narrower where more labels are."
    body = paragraph(words) + figure(effort_chart(bands), caption)
    return Section("effort", "Where labels were spent", body + folded("The numbers", listed))


def calibration(facts: Facts) -> Section | None:
    """Return the section of observed rates against scores, None without any label or score."""
    if not facts.labels or not facts.bands:
        return None
    by = _by(facts.bands[0].bands)
    by_order = facts.bands[0].bands[0].prior is None
    says = "the score says" if by == "score" else "was expected before labels"
    if by != "score":
        about = "No score orders the rows. Strata are leaves, each with a rate of its own."
    elif by_order:
        about = "The scores are an order: they say which rows are more likely, not how likely."
    else:
        about = (
            "Where the score says more or less than the labels do, its probabilities are off. "
            "That makes no estimate wrong, but more labels are needed."
        )
    body = [paragraph(about)]
    ticks = "" if by_order else f"ticks: what {says}; "
    for labelled in facts.bands:
        caption = (
            f"The share of rows labelled {escape(labelled.label)}. "
            f"Dots: among the labels, with {facts.level} intervals; "
            f"{ticks}areas: what a model of both believes. On the right: labels."
        )
        body.append(figure(calibration_chart(labelled), caption))
        rows = [
            [escape(band_name(band)), f"{band.met:,} of {band.labelled:,}",
             "-" if band.observed is None else data(band.observed.value),
             "-" if band.observed is None else interval(band.observed.low, band.observed.high),
             "-" if band.prior is None else data(band.prior),
             "-" if band.model is None else interval(band.model.low, band.model.high)]
            for band in reversed(labelled.bands)
        ]  # fmt: skip
        head = [by, "met", "labels say", "interval", says.removeprefix("the "), "model"]
        listed = table(f"Share of {labelled.label} by {by}", head, rows, range(1, 6))
        body.append(folded("The numbers", listed))
    title = "Observed rate against score" if by == "score" else "Observed rate by stratum"
    return Section("calibration", title, "".join(body))


def _by(bands: Sequence[ScoreBand]) -> str:
    """Return what bands are of: a score, or strata where none is known."""
    scored = any(band.low is not None or band.high is not None for band in bands)
    return "score" if scored else "stratum"


def annotators(facts: Facts) -> Section | None:
    """Return the section of annotators, None if votes name nobody and no gold row was answered."""
    people = facts.annotators
    if not people or (
        len(people) == 1 and people[0]["annotator"] is None and not people[0]["gold"]
    ):
        return None
    rows = [
        [escape(person["annotator"] or "not named"), f"{person['labels']:,}",
         f"{person['skipped']:,}", f"{person['unsure']:,}", f"{person['contradicted']:,}",
         _among(person["right"], person["gold"]), _among(person["same"], person["repeats"])]
        for person in people[:MOST_ANNOTATORS]
    ]  # fmt: skip
    head = ["annotator", "labels", "skipped", "unsure", "two answers", "right on gold rows",
            "same on repeats"]  # fmt: skip
    return Section("annotators", "Annotators", table("Annotators", head, rows, range(1, 7)))


def _among(count: int, answered: int) -> str:
    return f"{count:,} of {answered:,}" if answered else "-"


def quality(facts: Facts) -> Section:
    """Return the section of what may be wrong with the labels, as counts and as bounds."""
    rows = [[escape(name), f"{count:,}"] for name, count in facts.quality.items()]
    body = [table("Labels and answers", ["what", "count"], rows, (1,))]
    missing = facts.estimate["missing"]
    bounds = [] if missing is None else [
        bound for bound in missing["bounds"] if bound["threshold"] is None
    ]  # fmt: skip
    if bounds:
        head = ["number", "least", "greatest", "interval of all"]
        rows = [
            [escape(_title(bound)), data(bound["low"]), data(bound["high"]),
             interval(bound["interval_low"], bound["interval_high"])]
            for bound in bounds
        ]  # fmt: skip
        words = "What the numbers may be, whatever the labels are that are not awaited any more:"
        body.append(paragraph(words) + table("Whatever the missing labels are", head, rows,
                                             (1, 2, 3)))  # fmt: skip
    body.append(_wrong_labels(facts.estimate["label_error"]))
    return Section("quality", "Quality of the labels", "".join(body))


def _wrong_labels(label_error: Mapping[str, Any] | None) -> str:
    if label_error is None or not (label_error["measures"] or label_error["reason"]):
        return ""
    if not label_error["measures"]:
        return paragraph(f"Gold rows: {escape(label_error['reason'])}.")
    rows = [
        [escape(_title(number)), data(number["value"]), interval(number["low"], number["high"]),
         "labels" if number["dominates"] else "sampling"]
        for number in label_error["measures"]
    ]  # fmt: skip
    words = "What the numbers would be with right labels, by the gold rows:"
    head = ["number", "corrected", "band", "most of the error is from"]
    return paragraph(words) + table("Corrected for wrong labels", head, rows, (1, 2))


def _title(number: Mapping[str, Any]) -> str:
    return title(number["measure"], number["system"], number.get("against"))
