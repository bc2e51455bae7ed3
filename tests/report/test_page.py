"""The page: what it says of which evaluation, and that it is sound HTML with nothing to fetch."""

import html.parser
import re
from typing import Any

import pytest

from evalsampling.report.facts import Facts
from evalsampling.report.page import element, page
from evalsampling.report.sections import sections
from tests.report.contents import band, number, twin

EMPTY = {"meta"}
WITHIN = {"b", "strong", "data", "span", "code", "em", "a"}
"""Elements within a line of text."""


class Reader(html.parser.HTMLParser):
    """Checks that tags are closed in order; keeps texts, numbers, links and ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.numbers: list[float] = []
        self.words: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tags.append(tag)
        if tag == "data":
            self.numbers.append(float(told["value"] or ""))
        if told.get("id"):
            self.ids.append(str(told["id"]))
        if told.get("href"):
            self.links.append(str(told["href"]))
        assert not {"src", "srcset", "onclick", "style"} & set(told)
        if tag not in WITHIN:
            self.words.append(" ")
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def read(*measures: dict[str, Any], **told: Any) -> Reader:
    return Reader(page(Facts.from_json(twin(*measures, **told))))


def section(anchor: str, *measures: dict[str, Any], **told: Any) -> str:
    """The text of one part of the page, empty if there is none."""
    facts = Facts.from_json(twin(*measures, **told))
    found = {one.anchor: one for one in sections(facts)}
    return Reader(element(facts, found[anchor])).text if anchor in found else ""


ALONE = "By the labels alone it may be 0.05: 27,436 of the 394,541 rows may be positive."
HIDES = number(
    "recall", statement=f"Recall 0.5 (0.2 to 0.8). {ALONE}",
    sensitivity=[{"share": share, "low": 0.1, "high": 0.9} for share in (0.5, 2.0)],
)  # fmt: skip
COMPARED = [
    number("f1"),
    number("ratio(f1)", 1.2, system="new", against="old", low=1.05, high=1.3),
    number("difference(f1)", 0.1, system="new", against="old", low=-0.1, high=0.3),
]
POINTS = [number(f"pr_curve.{word}", 0.5, threshold=0.2) for word in ("precision", "recall")]
BAND = {"low": 0.125, "high": 0.875, "kind": "design-based", "method": "logit, simultaneous"}
BANDED = [{**POINTS[0], "intervals": [*POINTS[0]["intervals"], BAND]}, POINTS[1]]
GUARANTEE = {"factor": 1.5, "confidence": 0.9, "settled": False}
ROUNDS = [{"round": n, "labels": 20 * n, "measures": [number("f1", n / 5)]} for n in (1, 2)]
PERSON = {"annotator": "<ann>", "labels": 12, "skipped": 1, "unsure": 0, "contradicted": 2,
          "gold": 4, "right": 3, "repeats": 0, "same": 0}  # fmt: skip
NOBODY = {**PERSON, "annotator": None, "gold": 0, "right": 0}
PROVENANCE = {
    **twin()["provenance"], "deliveries": [{"sha256": "d" * 64, "rejects": 7}],
    "rounds": [{"round": 3, "sampler": "ais", "draws": 1234, "new_rows": 99, "closed": True}],
}  # fmt: skip

SAID: list[tuple[str, list[dict[str, Any]], dict[str, Any], list[str]]] = [
    ("summary", [number("f1", statement="F1 0.77 (0.71 to 0.83). For ± 0.05 expect 70 labels.")],
     {}, ["F1 0.77 (0.71 to 0.83). For ± 0.05 expect 70 labels.",
          "40 labels out of a pool of 1,000 rows, after 2 rounds.",
          "Recall, and whatever depends on it, is within this pool"]),
    ("summary", [number("f1")], {}, ["not: Positive is"]),
    ("summary", [number("f1")], {"evaluation": {"classes": ["fraud", "ok"], "positive": "fraud"}},
     ["after 2 rounds. Positive is fraud."]),
    ("summary", [number("f1")], {"evaluation": {"positive": "0"}}, ["Positive is 0."]),
    ("summary", [number("recall")], {"evaluation": {"classes": ["a", "b", "c"], "positive": "c"}},
     ["Positive is c."]),
    ("summary", [number("macro_f1")], {"evaluation": {"classes": ["a", "b", "c"], "positive": "c"}},
     ["not: Positive is"]),
    ("summary", [], {"estimate": {"labels": 0, "open": 0}},
     ["The next step is to label a first batch"]),
    ("summary", [], {"estimate": {"labels": 0, "open": 300, "awaited": {"started": 300}}},
     ["300 rows were asked about, and 300 of them wait for further answers.",
      "not: The next step"]),
    ("summary", [HIDES], {}, ["not: 27,436"]),
    ("what-if", [HIDES], {}, [f"Recall: {ALONE}"]),
    ("differences", COMPARED, {},
     ["Ratio of F1 of new against old 1.20 1.05 to 1.30 new is higher",
      "Difference in F1 of new against old 0.10", "does not hold 0 can", "does not hold 1 can"]),
    ("intervals", [number("f1")], {"estimate": {"notes": ["f1: do not fit a curve <"]}},
     ["f1: do not fit a curve <"]),
    ("curves", POINTS, {"estimate": {"guarantee": GUARANTEE}},
     ["precision is within a factor of 1.50 of the truth, with 90 % confidence",
      "not: band of the whole curve"]),
    ("curves", POINTS, {"estimate": {"guarantee": {**GUARANTEE, "factor": None}}},
     ["No precision is guaranteed yet: more labels are needed"]),
    ("curves", POINTS, {"estimate": {"guarantee": {"factor": None, "settled": True}}},
     ["No precision is guaranteed: the warnings say why"]),
    ("curves", BANDED, {},
     ["recall interval precision interval band of the whole curve 0.2",
      "0.400 to 0.600 0.125 to 0.875"]),
    ("provenance", [], {"provenance": PROVENANCE},
     ["round sampler draws new rows closed early 3 ais 1,234 99 yes", f"{'d' * 64} 7"]),
    ("convergence", [number("f1", 0.4)], {"rounds": ROUNDS}, ["1 20 0.200"]),
    ("convergence", [], {"rounds": ROUNDS[:1]}, []),
    ("annotators", [], {"annotators": [PERSON]}, ["<ann> 12 1 0 2 3 of 4 -"]),
    ("annotators", [], {"annotators": [NOBODY]}, []),
    ("effort", [], {}, ["with known chances"]),
    ("effort", [], {"evaluation": {"sampler": "passive"}}, ["all with the same chance"]),
]  # fmt: skip
"""A section, numbers and parts of a twin, and what is said there; nothing if there is none."""


@pytest.mark.parametrize(("anchor", "measures", "told", "words"), SAID)
def test_what_a_section_says(
    anchor: str, measures: list[dict[str, Any]], told: dict[str, Any], words: list[str]
) -> None:
    text = section(anchor, *measures, **told)
    assert bool(text) == bool(words)
    for word in words:
        assert (word.removeprefix("not: ") in text) != word.startswith("not: "), text


def judged(*sentences: str, reached: bool | None = True) -> dict[str, Any]:
    return {"gates": {"reached": reached, "gates": [{"statement": each} for each in sentences]}}


def test_claims_stand_on_top_and_comparisons_before_numbers() -> None:
    said = "Recall at least 0.7: cannot be said. The interval is 0.21 to 0.89."
    numbers = (number("f1", system="a"), number("f1", system="b"),
               number("difference(f1)", system="a", against="b"))  # fmt: skip
    told = {"estimate": judged(said, reached=None), "evaluation": {"systems": ["a", "b"]}}
    parts = [part.anchor for part in sections(Facts.from_json(twin(*numbers, **told)))]
    assert parts[:3] == ["claims", "differences", "summary"]
    assert section("claims", *numbers, **told) == f"What may be claimed {said}"
    both = section("claims", estimate=judged(said, "F1 at least 0.5: reached.", reached=None))
    assert both.endswith("All claims together: cannot be said.")
    assert section("claims") == ""


def test_the_short_page_has_what_a_reader_decides_by() -> None:
    one = number("recall", statement="Recall 0.5 (0.2 to 0.8).")
    told = {"estimate": {**judged("Recall at least 0.7: cannot be said."), "warnings": ["Few."]}}
    facts = Facts.from_json(twin(one, **told))
    parts = [part.anchor for part in sections(facts, short=True)]
    assert parts == ["claims", "summary", "warnings", "basis"]
    short, long = Reader(page(facts, short=True)).text, Reader(page(facts)).text
    assert "Recall 0.5 (0.2 to 0.8)." in short
    assert "40 labels out of a pool of 1,000 rows, after 2 rounds; 0 rows still open." in short
    assert "but for a few that score like negatives" in short
    assert len(short) < len(long) / 2
    assert "basis" not in [part.anchor for part in sections(facts)]
    told = {"evaluation": {"classes": []}, "estimate": {"cost": 12.0}}  # Labels that are numbers.
    other = Reader(page(Facts.from_json(twin(number("mse"), **told)), short=True)).text
    assert ("Positives" in other, "40 of 100 labels for 12.00," in other) == (False, True)


def test_the_first_sentence_is_bold_and_text_is_escaped() -> None:
    one = number("recall", 0.9, statement="Recall where a=<b> 0.9 (0.8 to 1.0). More & more.")
    html = page(Facts.from_json(twin(one)))
    assert "<strong>Recall where a=&lt;b&gt; 0.9 (0.8 to 1.0).</strong> More &amp; more." in html


def test_without_labels_it_says_so_and_shows_nothing_else_of_them() -> None:
    nothing = number("f1", None, low=0.0, high=1.0, method="no labels", reason="no labels yet")
    facts = Facts.from_json(twin(nothing, estimate={"labels": 0, "round": 0}))
    anchors = [one.anchor for one in sections(facts)]
    assert anchors == ["summary", "quality", "provenance"]
    assert "none of the 1,000 rows of the pool has a label" in Reader(page(facts)).text


def test_what_if_positives_hid() -> None:
    one = number("recall", 0.8, low=0.7, high=0.9,
                 sensitivity=[{"share": 0.025, "low": 0.72, "high": 0.9},
                              {"share": 0.1, "low": 0.61, "high": 0.9}])  # fmt: skip
    prior = {"0.025": 0.003, "0.5": 0.05, "0.975": 0.95}
    hidden = {
        "label": "1",
        "prior": prior,
        "posterior": {"0.025": 0.002, "0.5": 0.04, "0.975": 0.5},
    }
    text = section("what-if", one, estimate={"hidden": [hidden]})
    assert (
        "Before the labels 5 % as many hidden positives as others were thought likely, 0.3 to 95 % "
        "possible. With the labels it is 0.2 to 50 %, 4 % in the middle."
    ) in text
    assert "interval half as many likely twice as many likely" in text
    assert "0.80 0.70 to 0.90 0.72 to 0.90 0.61 to 0.90" in text
    assert (
        "Recall: if twice as many were thought likely, it would be between 0.61 and 0.90 instead "
        "of between 0.70 and 0.90."
    ) in text
    others = [{"share": share, "low": 0.7001, "high": 0.9} for share in (0.025, 0.1)]
    alike = {**one, "sensitivity": others}
    told = section("what-if", alike)
    assert "if twice as many were thought likely, it would still be between 0.70 and 0.90." in told
    assert section("what-if", number("recall")) == ""


def test_warnings_of_the_whole_pool_come_before_those_of_slices_and_points() -> None:
    warnings = [
        "f1 where city=Bern: few",
        "f1: beware",
        "pr_curve.recall at 0.5: odd",
        "f1: beware",
    ]
    points = number("pr_curve.recall", threshold=0.5)
    part = {"slice": "city=Bern", "rows": 5, "labels": 1}
    text = section("warnings", points, estimate={"warnings": warnings}, slices=[part])
    assert text == (
        "Before you rely on this f1: beware 1 about slices f1 where city=Bern: few "
        "1 about points of curves pr_curve.recall at 0.5: odd"
    )
    assert section("warnings", number("f1")) == ""


def test_systems_stand_side_by_side_and_differences_have_a_verdict() -> None:
    several = {"evaluation": {"systems": ["old", "new"]}}
    pair = [number("f1", 0.5, system="old"), number("f1", 0.7, system="new")]
    text = section("systems", *pair, **several)
    assert "F1 of each system" in text
    assert "intervals that overlap do not mean that the systems are equal" in text
    assert section("differences", *pair, **several) == ""

    def verdict(low: float, high: float) -> str:
        one = number("f1", (low + high) / 2, low=low, high=high, system="new", against="old")
        assert "F1 of new against old" in section("differences", *pair, one, **several)
        assert "overlap" not in section("systems", *pair, one, **several)
        return section("differences", *pair, one, **several)

    assert "new is higher" in verdict(0.1, 0.3)
    assert "old is higher" in verdict(-0.3, -0.1)
    assert "cannot be distinguished" in verdict(-0.1, 0.3)


def test_an_interval_that_is_mostly_the_prior_is_in_brackets() -> None:
    design = {"low": 0.0, "high": 1.0, "kind": "design-based", "method": "no positives"}
    model = {"low": 0.2, "high": 0.4, "kind": "model-based", "method": "calibration-curve"}
    one = number("f1", method="no positives", intervals=[design, model])
    text = section("intervals", one)
    assert "In brackets: not the default, as labels or cells say too little" in text
    assert "design-based no positives 0.000 1.000" in text
    assert "model-based calibration-curve (0.200 0.400)" in text
    assert "brackets" not in section("intervals", number("f1"))


def test_curves_have_a_table_of_their_points() -> None:
    points = [
        number(f"pr_curve.{word}", value, threshold=threshold)
        for threshold, pair in ((0.2, (0.25, 1.0)), (0.8, (1.0, 0.6)))
        for word, value in zip(("precision", "recall"), pair, strict=True)
    ]
    text = section("curves", *points)
    assert "recall interval precision interval 0.2" in text
    assert section("curves", *points, estimate={"labels": 0}) == ""
    f1 = [number("pr_curve.f1", value, threshold=at) for at, value in ((0.2, 0.4), (0.8, 0.75))]
    text = section("curves", *points, *f1)
    assert "recall interval precision interval F1 interval 0.2" in text


def test_slices_have_a_line_each_the_largest_first_and_the_whole_pool_last() -> None:
    parts = [{"slice": "city=Bern", "rows": 5, "labels": 1},
             {"slice": "city=Ulm", "rows": 9, "labels": 3}]  # fmt: skip
    measures = [number("f1", 0.5), number("f1", 0.4, slice="city=Bern"),
                number("f1", 0.6, slice="city=Ulm")]  # fmt: skip
    text = section("slices", *measures, slices=parts)
    assert text.index("Ulm 9 3 0.60") < text.index("Bern 5 1 0.40") < text.index("whole pool")
    assert section("slices", *measures) == ""


def test_quality_tells_missing_and_wrong_labels() -> None:
    bounds = {"measure": "f1", "system": None, "threshold": None, "low": 0.2, "high": 0.9,
              "interval_low": 0.1, "interval_high": 0.95}  # fmt: skip
    corrected = {"measure": "f1", "system": "new", "value": 0.4, "low": 0.3, "high": 0.6,
                 "sampling_error": 0.1, "label_error": 0.2, "dominates": True}  # fmt: skip
    text = section("quality", estimate={
        "missing": {"bounds": [bounds]},
        "label_error": {"gold": [[1, 0], [0, 1]], "measures": [corrected], "reason": None},
    })  # fmt: skip
    assert "f1 0.200 0.900 0.100 to 0.950" in text
    assert "f1 of new 0.400 0.300 to 0.600 labels" in text
    reason = {"gold": [], "measures": [], "reason": "no labels"}
    assert "Gold rows: no labels." in section("quality", estimate={"label_error": reason})
    nothing = {**reason, "reason": None}
    assert "Gold rows" not in section("quality", estimate={"label_error": nothing})


def everything(**told: Any) -> dict[str, Any]:
    hostile = "</script><img src=x onerror=alert(1)>&\"'"
    return twin(
        number("f1", 0.5, system=hostile),
        number("f1", 0.25, slice=f"city={hostile}", system=hostile),
        slices=[{"slice": f"city={hostile}", "rows": 1, "labels": 1}],
        title=hostile, workspace=hostile, estimate={"warnings": [hostile]},
        bands=[{"label": hostile, "bands": [band(0), band(1)]}],
        evaluation={"systems": [hostile, "b"]}, **told,
    )  # fmt: skip


def test_text_of_users_stays_text() -> None:
    text = page(Facts.from_json(everything()))
    reader = Reader(text)
    assert "<script" not in text
    assert not {"img", "script", "link", "iframe", "object", "base"} & set(reader.tags)
    assert "</script><img src=x onerror=alert(1)>" in reader.text


def test_the_page_is_whole_and_fetches_nothing() -> None:
    text = page(Facts.from_json(everything()))
    reader = Reader(text)
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert "url(" not in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert len(reader.ids) == len(set(reader.ids))
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)
    assert reader.tags.count("h1") == 1


def test_pages_of_large_evaluations_stay_below_two_megabytes() -> None:
    """Ten columns of a hundred values, five systems, four measures: 20,000 numbers of slices."""
    systems = [f"system-{place}" for place in range(5)]
    parts = [{"slice": f"column-{c}=value-{v}", "rows": 1000 - v, "labels": 3}
             for c in range(10) for v in range(100)]  # fmt: skip
    measures = [
        number(measure, 0.5, system=system, slice=part)
        for measure in ("f1", "precision", "recall", "accuracy")
        for system in systems
        for part in (None, *(one["slice"] for one in parts))
    ]
    content = twin(*measures, slices=parts, evaluation={"systems": systems})
    text = page(Facts.from_json(content))
    assert len(text.encode()) < 2_000_000
    assert "the CSV file has all of them" in text
