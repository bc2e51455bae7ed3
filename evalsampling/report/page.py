"""The page of a report: one HTML file that fetches nothing and runs nothing."""

import importlib.resources

from evalsampling.report import accuracy, effort, summary
from evalsampling.report.facts import Facts
from evalsampling.report.markup import Section, escape
from evalsampling.report.provenance import provenance
from evalsampling.report.svg import MARKS, variables

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may do for the page: apply its styles, and fetch nothing."""


def sections(facts: Facts) -> list[Section]:
    """Return the sections of the page, in order, without those that would be empty."""
    first = [summary.summary(facts), summary.warnings(facts)]
    parts = (
        # What is doubtful about the answers stands before any number.
        *(reversed(first) if facts.estimate.get("doubts") else first),
        summary.what_if(facts),
        accuracy.systems(facts),
        accuracy.differences(facts),
        accuracy.curves(facts),
        accuracy.slices(facts),
        accuracy.convergence(facts),
        effort.effort(facts),
        effort.calibration(facts),
        effort.annotators(facts),
        effort.quality(facts),
        summary.all_intervals(facts),
        provenance(facts),
    )
    return [part for part in parts if part is not None]


def page(facts: Facts) -> str:
    """Return the page of a report as HTML."""
    parts = sections(facts)
    style = importlib.resources.files("evalsampling.report").joinpath("page.css").read_text("utf-8")
    dark = f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(True)}}}}}"
    links = "".join(f'<li><a href="#{part.anchor}">{escape(part.title)}</a></li>' for part in parts)
    as_of = facts.as_of and facts.as_of[:16].replace("T", " ")
    when = f", state of {escape(as_of)} UTC" if as_of else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">'
        f"<title>{escape(facts.title)}: evaluation report</title>"
        f"<style>:root{{{variables(False)}}}{dark}{MARKS}{style}</style></head><body>"
        '<a class="skip" href="#content">Skip to the numbers</a>'
        f"<header><h1>{escape(facts.title)}</h1>"
        f"<p>Evaluation report{when}. {facts.spent}, "
        f"{facts.rows:,} rows.</p></header>"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>'
        f'<main id="content" tabindex="-1">{"".join(part.element() for part in parts)}</main>'
        "<footer><p>Made by evalsampling. This page loads nothing and runs nothing.</p></footer>"
        "</body></html>\n"
    )
