"""The page of a report: one HTML file that fetches nothing and runs nothing."""

import functools

import jinja2
from markupsafe import Markup

from evalsampling.report import accuracy, effort, summary
from evalsampling.report.facts import Facts
from evalsampling.report.provenance import provenance
from evalsampling.report.section import Section
from evalsampling.report.svg import MARKS, variables


@functools.cache
def _templates() -> jinja2.Environment:
    """Return the templates of the page and of its sections."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("evalsampling.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


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


def element(part: Section) -> Markup:
    """Return a section as HTML."""
    template = _templates().get_template("section.html")
    return Markup(template.render(part.content, anchor=part.anchor, title=part.title))


def page(facts: Facts) -> str:
    """Return the page of a report as HTML."""
    parts = sections(facts)
    return _templates().get_template("page.html").render(
        facts=facts,
        as_of=facts.as_of and facts.as_of[:16].replace("T", " "),
        rows=f"{facts.rows:,}",
        parts=parts,
        elements=map(element, parts),
        light=variables(False),
        dark=variables(True),
        marks=MARKS,
    )  # fmt: skip
