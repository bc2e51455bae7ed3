"""Sections on the labels: where they were spent, observed rates against scores, their quality."""

from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.inference.score_bands import ScoreBand
from evalsampling.report.bands_chart import LabelledBands, band_name, calibration_chart
from evalsampling.report.facts import Facts
from evalsampling.report.numbers import percent, title
from evalsampling.report.section import Section, data, interval

MOST_ANNOTATORS = 60
"""Most annotators that the page lists."""


def effort(facts: Facts) -> Section | None:
    """Return the section of labels and rows by score, None without any label or score."""
    if not facts.labels or not facts.bands:
        return None
    bands = facts.bands[0].bands
    rows = [
        (band_name(band), f"{band.rows:,}", percent(band.rows / facts.rows),
         f"{band.labelled:,}", percent(band.labelled / facts.labels))
        for band in reversed(bands)
    ]  # fmt: skip
    content = {
        "by": _by(bands), "rows": rows, "passive": facts.sampler == "passive", "said": facts.said,
    }  # fmt: skip
    return Section("effort", "Where labels were spent", content)


def calibration(facts: Facts) -> Section | None:
    """Return the section of observed rates against scores, None without any label or score."""
    if not facts.labels or not facts.bands:
        return None
    by = _by(facts.bands[0].bands)
    content = {
        "by": by,
        "by_order": facts.bands[0].bands[0].prior is None,
        "says": "score says" if by == "score" else "was expected before labels",
        "level": facts.level,
        "labels": [
            {"name": labelled.label, "picture": calibration_chart(labelled),
             "rows": _rates(labelled)}
            for labelled in facts.bands
        ],
    }  # fmt: skip
    title = "Observed rate against score" if by == "score" else "Observed rate by stratum"
    return Section("calibration", title, content)


def _rates(labelled: LabelledBands) -> list[tuple[str, ...]]:
    return [
        (band_name(band), f"{band.met:,} of {band.labelled:,}",
         *(("-", "-") if band.observed is None else
           (data(band.observed.value), interval(band.observed.low, band.observed.high))),
         data(band.prior),
         "-" if band.model is None else interval(band.model.low, band.model.high))
        for band in reversed(labelled.bands)
    ]  # fmt: skip


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
        (person["annotator"] or "not named",
         *(f"{person[name]:,}" for name in ("labels", "skipped", "unsure", "contradicted")),
         _among(person["right"], person["gold"]), _among(person["same"], person["repeats"]))
        for person in people[:MOST_ANNOTATORS]
    ]  # fmt: skip
    return Section("annotators", "Annotators", {"rows": rows})


def _among(count: int, answered: int) -> str:
    return f"{count:,} of {answered:,}" if answered else "-"


def quality(facts: Facts) -> Section:
    """Return the section of what may be wrong with the labels, as counts and as bounds."""
    missing, wrong = facts.estimate["missing"], facts.estimate["label_error"]
    content = {
        "counts": [(name, f"{count:,}") for name, count in facts.quality.items() if count],
        "bounds": [
            (_title(bound), data(bound["low"]), data(bound["high"]),
             interval(bound["interval_low"], bound["interval_high"]))
            for bound in (missing["bounds"] if missing else ()) if bound["threshold"] is None
        ],
        "corrected": [
            (_title(number), data(number["value"]), interval(number["low"], number["high"]),
             "labels" if number["dominates"] else "sampling")
            for number in (wrong["measures"] if wrong else ())
        ],
        "reason": wrong["reason"] if wrong else None,
        "people": facts.estimate.get("people", {}).get("statement"),
    }  # fmt: skip
    return Section("quality", "Quality of the labels", content)


def _title(number: Mapping[str, Any]) -> str:
    return title(number["measure"], number["system"], number.get("against"))
