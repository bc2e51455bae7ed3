"""The part that everybody reads: what was found, how sure it is, and what could change it."""

from evalsampling.inference.assumptions import assumed
from evalsampling.report.facts import Facts
from evalsampling.report.interval_rows import IntervalRow, interval_rows
from evalsampling.report.markup import (
    Section,
    bullets,
    data,
    escape,
    figure,
    folded,
    interval,
    paragraph,
    table,
)
from evalsampling.report.numbers import (
    MOSTLY_PRIOR,
    Number,
    decimals,
    is_mostly_prior,
    pretty,
    shown_range,
    two_digits,
)

MOST_SENTENCES = 4
"""Numbers that are told in a sentence each; the picture has them all."""

MOST_UNDETECTED = 3
"""Lines of what could be undetected."""

MOST_ROWS = 30
"""Numbers in the picture."""

_MEANINGS = {
    "precision": "Of the rows called positive, the share that are.",
    "recall": "Of the positives in the pool, the share that is found.",
    "f1": "The harmonic mean of precision and recall.",
    "accuracy": "The share of all rows that are called rightly.",
    "specificity": "Of the negatives in the pool, the share that is called negative.",
    "npv": "Of the rows called negative, the share that are.",
    "false_positive_rate": "Of the negatives in the pool, the share that is called positive.",
    "prevalence": "The share of all rows that are positives.",
    "balanced_accuracy": "The mean of the shares of positives and of negatives called rightly.",
    "macro_f1": "The mean of the F1 of each class.",
    "average_precision": "Precision averaged over all thresholds; 1 is perfect ranking.",
    "roc_auc": "The chance that a positive scores above a negative.",
    "brier": "Mean squared error of the probabilities; 0 is perfect.",
    "log_loss": "Mean surprise at the labels given the probabilities; 0 is perfect.",
    "mse": "The mean of the squared errors of the predicted numbers.",
    "rmse": "The root of the mean squared error, in the unit of the labels.",
    "mae": "How far the predicted numbers are off on average.",
    "mean_error": "How much too large the predicted numbers are on average.",
}
_NEEDS_ALL_POSITIVES = ("recall", "f1", "f_beta", "macro", "micro", "average_precision", "mcc",
                        "roc_auc", "balanced_accuracy", "fowlkes_mallows", "pr_curve",
                        "roc_curve")  # fmt: skip
"""Beginnings of measures that count positives nobody found."""


def summary(facts: Facts) -> Section:
    """Return the headline numbers in words and as a picture."""
    if not facts.labels:
        words = (
            f"Nothing is known yet: none of the {facts.rows:,} rows of the pool has a label. "
            "The next step is to label a first batch."
        )
        return Section("summary", "In short", paragraph(escape(words), kind="lead"))
    numbers = facts.headline
    # What is known first; of what is not, one sentence at most: the warnings have the rest.
    defined = [one for one in numbers if one.value is not None]
    body = [
        paragraph(_sentence(one), kind="lead" if place == 0 else None)
        for place, one in enumerate((defined or list(numbers[:1]))[:MOST_SENTENCES])
    ]
    if len(defined) > 1 and len(facts.systems) == 1:
        rows = [IntervalRow.of(one, pretty(one)) for one in numbers[:MOST_ROWS]]
        left_out = len(numbers) - len(rows)
        caption = f"Estimates with their {_level(facts)} intervals."
        caption += f" {left_out} more are in the tables." if left_out else ""
        body.append(figure(interval_rows(rows, "Estimates and intervals"), caption))
    body.append(bullets(_rests_on(facts)))
    return Section("summary", "In short", "".join(body))


def _sentence(one: Number) -> str:
    name = f"<strong>{escape(pretty(one))}</strong>"
    meaning = _MEANINGS.get(one.measure, "")
    digits = decimals(one.low, one.high)
    if one.value is None:
        words = f"{name} cannot be told: {escape(one.reason or 'undefined')}."
    elif one.is_exact:
        words = f"{name} is exactly {data(one.value)}: every row that it depends on has a label."
    elif not one.claims:
        words = (
            f"The labels allow no claim about {name} yet ({escape(one.method)}). "
            f"The estimate is {data(one.value)}, but it may be far off."
        )
    elif one.low is None or one.high is None:
        words = f"{name} is estimated at <b>{data(one.value)}</b>; how far off is not known."
    else:
        words = (
            f"{name} is between <b>{data(one.low, digits)}</b> and <b>{data(one.high, digits)}</b>"
            f" with {_percent(one.confidence)} confidence; the best estimate is "
            f"<b>{data(one.value, digits)}</b>."
        )
    return f'{words} <span class="soft">{escape(meaning)}</span>' if meaning else words


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _level(facts: Facts) -> str:
    return _percent(facts.confidence)


def _rests_on(facts: Facts) -> list[str]:
    """Return what the headline rests on."""
    estimate = facts.estimate
    what = "answers" if facts.oracle == "stochastic" else "labels"
    items = [
        f"This rests on {facts.labels:,} {what} out of a pool of {facts.rows:,} rows, drawn in "
        f"{estimate['round']:,} round{'s' * (estimate['round'] != 1)}"
        + (f"; {estimate['open']:,} tasks are still open." if estimate["open"] else ".")
    ]
    if any(one.measure.startswith(_NEEDS_ALL_POSITIVES) for one in facts.numbers):
        items.append(
            "Recall, and whatever depends on it, is within this pool: positives that never came "
            "into the pool are not counted."
        )
    if any(one.method != "census" and one.claims for one in facts.headline):
        items.append(
            f"&ldquo;{_level(facts)} confidence&rdquo; means: of many evaluations done this way, "
            "about so many intervals hold the truth."
        )
    if estimate["done"]:
        items.append("The evaluation is done: its budget is spent, or its goal is met.")
    return items


def what_if(facts: Facts) -> Section | None:
    """Return what would change if positives hid, None if nothing is known of it."""
    told = [
        one
        for one in facts.headline
        if one.claims and not one.is_exact
        and (one.sensitivity or one.of_kind("assumption-light"))
    ]  # fmt: skip
    if not told:
        return None
    shares = sorted({each.share for one in told for each in one.sensitivity})
    head = ["number", "estimate", f"interval, {_percent(facts.hidden_share)} likely"]
    head += [f"{_percent(share)} likely" for share in shares]
    has_light = any(one.of_kind("assumption-light") for one in told)
    head += ["wherever they hide"] * has_light
    rows = []
    for one in told:
        digits = decimals(one.low, one.high)
        by_share = {each.share: each for each in one.sensitivity}
        cells = [data(one.value, digits), interval(one.low, one.high, digits)]
        cells += [
            interval(by_share[share].low, by_share[share].high, digits)
            if share in by_share else "-"
            for share in shares
        ]  # fmt: skip
        widest = one.of_kind("assumption-light")
        if has_light:
            cells.append("-" if widest is None else interval(widest.low, widest.high, digits))
        rows.append([escape(pretty(one)), *cells])
    hidden = (
        "Positives with low scores are rarely drawn, so some may hide where hardly any row was "
        f"looked at. Before the labels about {_percent(facts.hidden_share)} as many hidden "
        "positives as the scores tell of are thought likely, and several times more or fewer "
        f"possible.{_with_labels(facts)}"
    )
    sentences = [words for one in told[:MOST_SENTENCES] for words in _if_more_hid(one, facts)]
    met = dict.fromkeys(
        one.undetected for one in told if one.undetected and one.of_kind("assumption-light")
    )
    undetected = [f"{escape(words[:1].upper() + words[1:])}." for words in met]
    body = paragraph(hidden) + bullets(sentences)
    caption = "Intervals by the share that is thought likely to hide"
    body += table(caption, head, rows, range(1, len(head)))
    return Section(
        "what-if", "What if positives hid?", body + bullets(undetected[:MOST_UNDETECTED])
    )


def _with_labels(facts: Facts) -> str:
    """Return what labels leave of the share of hidden positives; nothing of several classes."""
    if len(facts.estimate["hidden"]) != 1:
        return ""
    quantiles = facts.estimate["hidden"][0]["posterior"].values()
    low, middle, high = (two_digits(100 * one) for one in quantiles)
    return f" With the labels it is {low} to {high} %, {middle} % in the middle."


def _if_more_hid(one: Number, facts: Facts) -> list[str]:
    """Return what a number would be if more positives hid, in a sentence; none if nobody knows."""
    name, digits = f"<strong>{escape(pretty(one))}</strong>", decimals(one.low, one.high)
    now, words = shown_range(one.low, one.high, digits, " and "), []
    most = max(one.sensitivity, key=lambda each: each.share, default=None)
    if most is not None and most.share > facts.hidden_share:
        then = f"between {data(most.low, digits)} and {data(most.high, digits)}"
        alike = shown_range(most.low, most.high, digits, " and ") == now
        words.append(
            f"if {_percent(most.share)} were thought likely, not {_percent(facts.hidden_share)}, "
            + "it would "
            + (f"still be {then}" if alike else f"be {then} instead of between {now}")
        )
    widest = one.of_kind("assumption-light")
    if widest is not None:
        words.append(
            "wherever positives hide, it is between "
            f"{data(widest.low, digits)} and {data(widest.high, digits)}"
        )
    return [f"{name}: {'; '.join(words)}."] if words else []


def warnings(facts: Facts) -> Section | None:
    """Return what a reader must know before trusting the numbers, None if there is nothing."""
    told = list(dict.fromkeys(facts.estimate["warnings"]))
    if not told:
        return None
    slices = tuple(f" where {part.slice}" for part in facts.slices)
    points = tuple({f"{one.measure} at " for one in facts.numbers if one.is_point})
    parts: dict[str, list[str]] = {"": [], "slices": [], "points of curves": []}
    for one in told:
        about = "points of curves" if points and one.startswith(points) else ""
        parts["slices" if any(part in one for part in slices) else about].append(escape(one))
    body = [bullets(parts.pop(""))]
    body += [folded(f"{len(of)} about {what}", bullets(of)) for what, of in parts.items() if of]
    return Section("warnings", "Before you rely on this", "".join(body))


def all_intervals(facts: Facts) -> Section | None:
    """Return every interval of the headline numbers, None without any label."""
    rows, brackets = [], ""
    for one in facts.headline[:MOST_ROWS]:
        for each in one.intervals:
            low, high = data(each.low), data(each.high)
            if is_mostly_prior(each, one.intervals):
                low, high, brackets = f"({low}", f"{high})", f" {MOSTLY_PRIOR.capitalize()}."
            rows.append([escape(pretty(one)), escape(each.kind), escape(each.method), low, high])
    if not rows or not facts.labels:
        return None
    kinds = (each.kind for one in facts.headline for each in one.intervals)
    words = " ".join(f"{kind.capitalize()}: {escape(of)}." for kind, of in assumed(kinds).items())
    listed = table("All intervals of the headline numbers",
                   ["number", "kind", "method", "low", "high"], rows, (3, 4))  # fmt: skip
    notes = bullets([escape(one) for one in facts.estimate["notes"]])
    return Section(
        "intervals",
        "All intervals",
        paragraph(words + brackets) + notes + folded("Show them", listed),
    )
