"""Where labels were spent, what they say of the scores, and how far they can be trusted."""

from collections.abc import Mapping
from typing import Any

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
"""Annotators on the page."""


def effort(facts: Facts) -> Section | None:
    """Return the labels against the pool by score, None without any label or score."""
    if not facts.labels or not facts.bands:
        return None
    bands = facts.bands[0].bands
    rows = [
        [escape(band_name(band)), f"{band.rows:,}", percent(band.rows / facts.rows),
         f"{band.labelled:,}", percent(band.labelled / facts.labels)]
        for band in reversed(bands)
    ]  # fmt: skip
    head = ["score", "rows", "share of the pool", "labels", "share of the labels"]
    listed = table("Labels and rows by score", head, rows, range(1, 5))
    words = (
        "Rows were drawn at random, all with the same chance."
        if facts.sampler == "passive"
        else "Rows were drawn where a label tells most, with known chances, and are weighted so "
        "that the estimates hold for the whole pool."
    )
    caption = "Bands are narrower where more labels are."
    body = paragraph(words) + figure(effort_chart(bands), caption)
    return Section("effort", "Where labels were spent", body + folded("The numbers", listed))


def calibration(facts: Facts) -> Section | None:
    """Return observed rates against scores, None without any label or score."""
    if not facts.labels or not facts.bands:
        return None
    body = [
        paragraph(
            "Where the score says more or less than the labels do, its probabilities are off. "
            "That makes no estimate wrong, but more labels are needed."
        )
    ]
    level = f"{100 * facts.confidence:g} %"
    for one in facts.bands:
        caption = (
            f"The share of rows labelled {escape(one.label)}. "
            f"Dots: among the labels, with {level} intervals; "
            "ticks: what the score says; areas: what a model of both believes. On the right: "
            "labels met."
        )
        body.append(figure(calibration_chart(one), caption))
        rows = [
            [escape(band_name(band)), f"{band.met:,} of {band.labelled:,}",
             "-" if band.observed is None else data(band.observed.value),
             "-" if band.observed is None else interval(band.observed.low, band.observed.high),
             data(band.prior),
             "-" if band.model is None else interval(band.model.low, band.model.high)]
            for band in reversed(one.bands)
        ]  # fmt: skip
        head = ["score", "met", "labels say", "interval", "score says", "model"]
        listed = table(f"Share of {one.label} by score", head, rows, range(1, 6))
        body.append(folded("The numbers", listed))
    return Section("calibration", "Observed rate against score", "".join(body))


def annotators(facts: Facts) -> Section | None:
    """Return how annotators did, None if answers name nobody and nothing was checked."""
    told = facts.annotators
    people = told["annotators"]
    if not people or (len(people) == 1 and people[0]["annotator"] is None
                      and not people[0]["gold"]["trials"]):  # fmt: skip
        return None
    rows = [
        [escape(one["annotator"] or "not named"), f"{one['labels']:,}", f"{one['skipped']:,}",
         f"{one['unsure']:,}", _share(one["gold"]), _share(one["repeats"])]
        for one in people[:MOST_ANNOTATORS]
    ]  # fmt: skip
    head = ["annotator", "labels", "skipped", "unsure", "right on gold rows", "same on repeats"]
    body = [paragraph(_agreement(told)), table("Annotators", head, rows, range(1, 6))]
    return Section("annotators", "Annotators", "".join(body))


def _share(told: Mapping[str, Any]) -> str:
    if told["share"] is None:
        return "-"
    ends = interval(told["low"], told["high"], 2)
    return f"{told['hits']:,} of {told['trials']:,} ({ends})"


def _agreement(told: Mapping[str, Any]) -> str:
    agreement = told["agreement"]
    if agreement["alpha"] is None:
        return "How far annotators agree cannot be told: no two of them answered the same row."
    return (
        f"Krippendorff's alpha is <b>{data(agreement['alpha'], 2)}</b>, "
        f"{interval(agreement['low'], agreement['high'], 2)}, over {agreement['rows']:,} rows: "
        "1 if all agree, 0 if no more than by chance."
    )


def quality(facts: Facts) -> Section:
    """Return the counts of what may be wrong with the labels."""
    rows = [[escape(name), f"{count:,}"] for name, count in facts.quality.items()]
    body = [table("Labels and answers", ["what", "count"], rows, (1,))]
    missing = facts.estimate["missing"]
    bounds = [] if missing is None else [
        one for one in missing["bounds"] if one["threshold"] is None
    ]  # fmt: skip
    if bounds:
        head = ["number", "least", "greatest", "interval of all"]
        rows = [
            [escape(_title(one)), data(one["low"]), data(one["high"]),
             interval(one["interval_low"], one["interval_high"])]
            for one in bounds
        ]  # fmt: skip
        words = "What the numbers would be, were all rows without a label of one class:"
        body.append(paragraph(words) + table("If missing labels were all alike", head, rows,
                                             (1, 2, 3)))  # fmt: skip
    body.append(_wrong_labels(facts.estimate["label_error"]))
    return Section("quality", "Quality of the labels", "".join(body))


def _wrong_labels(told: Mapping[str, Any] | None) -> str:
    if told is None or not (told["measures"] or told["reason"]):
        return ""
    if not told["measures"]:
        return paragraph(f"Gold rows: {escape(told['reason'])}.")
    rows = [
        [escape(_title(one)), data(one["value"]), interval(one["low"], one["high"]),
         "labels" if one["dominates"] else "sampling"]
        for one in told["measures"]
    ]  # fmt: skip
    words = "What the numbers would be with right labels, by the gold rows:"
    head = ["number", "corrected", "band", "most of the error is from"]
    return paragraph(words) + table("Corrected for wrong labels", head, rows, (1, 2))


def _title(told: Mapping[str, Any]) -> str:
    return title(told["measure"], told["system"], told.get("against"))
