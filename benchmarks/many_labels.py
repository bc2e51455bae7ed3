"""Rows with many labels, and which measure rows are drawn for: errors of repeated evaluations.

    python benchmarks/many_labels.py                   # some ten minutes on one core

500 tags and 10,000 rows; a pool of the shape of 20 Newsgroups, 11,313 rows of one of 20
groups each, as 20 labels; and the pool of `poisson.py` that is like the MNIST of the source. All
are seeded. For the last two each measure is estimated from rows drawn for each, by both designs of
the source: [Y] Yilmaz and others, *Sample Efficient Model Evaluation*, 2021, section 5.2 and
appendix F.1. docs/studies/many-labels.md and its tables are written.
"""

import argparse
import time
from collections.abc import Sequence

import commits
import numpy as np
import poisson
import study_pages

from evalsampling import Evaluation
from evalsampling.label_spaces.tags import Tags
from evalsampling.measures import (
    Accuracy,
    FBeta,
    MacroF,
    Measure,
    MicroF,
    Precision,
    Recall,
    Specificity,
)
from evalsampling.samplers import Importance, OptimalImportance, Passive, Poisson

TAGS_HEADER = ("labels", "sampler", "measure", "rmse", "coverage", "seconds")
CROSS_HEADER = ("pool", "design", "drawn_for", "measure", "labels", "rmse")


def tagged(p: np.ndarray, f: np.ndarray, y: np.ndarray) -> tuple[poisson.KnownRows, list[Measure]]:
    """Return a pool of rows with labels, and the measures of all labels.

    Args:
        p: shape (n, labels): probability of each label.
        f: shape (n, labels): whether it is predicted.
        y: shape (n, labels): whether a row has it.
    """
    names = [f"tag {number}" for number in range(p.shape[1])]
    evaluation = Evaluation.from_arrays(
        None, f.astype(int), probability=p, labels={"multilabel": names}
    )
    space = Tags(tuple(names))
    measures = [
        kind(len(names), sets=True, tags=space, alpha=alpha)
        for alpha in (0.5, 1.0, 0.0)
        for kind in (MicroF, MacroF)
    ]
    return poisson.KnownRows.of(evaluation, space.encode(y)), measures


def many_tags(rows: int = 10_000, tags: int = 500) -> tuple[poisson.KnownRows, list[Measure]]:
    """Return a pool of 500 tags whose rates differ by a factor of ten, calibrated probabilities."""
    rng = np.random.default_rng(5)
    logit = rng.uniform(-6, -3.7, tags) + rng.normal(0, 1, (rows, 1))
    p = 1 / (1 + np.exp(-logit - rng.normal(0, 1.6, (rows, tags))))
    return tagged(p, p > 0.3, rng.random(p.shape) < p)


def newsgroups(rows: int = 11_313, groups: int = 20) -> tuple[poisson.KnownRows, list[Measure]]:
    """Return a pool of the shape of 20 Newsgroups: rows of one of 20 groups of like size.

    Groups come in threes that are easily confused, and probabilities are surer than they should be,
    as those of Naive Bayes are: four of five rows are predicted right.
    """
    rng = np.random.default_rng(20)
    group = rng.integers(0, groups, rows)
    near = group[:, None] // 3 == np.arange(groups) // 3
    logit = rng.normal(0, 1.2, (rows, groups)) + 1.5 * near
    logit[np.arange(rows), group] += rng.normal(2.6, 1.2, rows)
    p = np.exp(2 * logit)
    p /= p.sum(axis=1, keepdims=True)
    held = group[:, None] == np.arange(groups)
    return tagged(p, p.argmax(axis=1)[:, None] == np.arange(groups), held)


def of_tags(repeats: int) -> list[tuple[str, ...]]:
    """Return error and coverage of micro and macro F1 of 500 tags, drawn for each by itself."""
    pool, measures = many_tags()
    rows = []
    for labels in (500, 1500):
        for kind in (Passive, Importance, Poisson):
            for measure in measures[:2]:
                begun = time.process_time()
                (found,) = poisson.repeat(pool, kind(measure), [measure], labels, repeats)
                each = (time.process_time() - begun) / repeats
                cells = (f"{found.rmse:.5f}", f"{found.coverage:.2f}", f"{each:.2f}")
                rows.append((f"{labels}", kind.name, measure.name, *cells))
                print(rows[-1], flush=True)
    return rows


def across(
    name: str, pool: poisson.KnownRows, measures: Sequence[Measure], labels: int, repeats: int
) -> list[tuple[str, ...]]:
    """Return the error of each measure from rows drawn for each, by both designs ([Y] F.1)."""
    rows = []
    for kind in (OptimalImportance, Poisson):
        for driver in measures:
            found = poisson.repeat(pool, kind(driver), measures, labels, repeats)
            for measure, one in zip(measures, found, strict=True):
                cells = (driver.name, measure.name, f"{labels}", f"{one.rmse:.5f}")
                rows.append((name, kind.name, *cells))
            print(name, kind.name, driver.name, flush=True)
    return rows


def drawn_for_others(
    rows: Sequence[tuple[str, ...]], design: str, repeats: int
) -> tuple[int, int, float]:
    """Return what it is worth to draw rows for the measure that is wanted.

    The number of measures for which no other measure to draw for is better beyond noise, that of
    all, and the greatest ratio of an error to that of rows drawn for the measure. Noise is two
    standard errors of a ratio of two root mean squared errors.
    """
    by_measure: dict[tuple[str, str], dict[str, float]] = {}
    for pool, kind, driver, measure, _, rmse in rows:
        if kind == design:
            by_measure.setdefault((pool, measure), {})[driver] = float(rmse)
    ratios = [
        [error / errors[measure] for error in errors.values()]
        for (_, measure), errors in by_measure.items()
    ]
    noise = np.exp(2 / np.sqrt(repeats))
    best = sum(min(of) > 1 / noise for of in ratios)
    return best, len(ratios), max(map(max, ratios))


def page(
    tags: Sequence[tuple[str, ...]],
    cross: Sequence[tuple[str, ...]],
    repeats: tuple[int, int],
    found: Sequence[str],
    note: str,
) -> study_pages.Page:
    """Return the page of both tables."""
    least = {(labels, kind, name): float(rmse) for labels, kind, name, rmse, *_ in tags}
    ratio = {
        name: least["1500", "poisson", name] / least["1500", "passive", name]
        for name in ("micro_f1", "macro_f1")
    }
    importance, coins = (
        drawn_for_others(cross, kind, repeats[1]) for kind in ("optimal_importance", "poisson")
    )
    table = study_pages.markdown(
        ("labels", "sampler", "measure", "RMSE", "coverage", "seconds a run"), tags
    )
    answer = ANSWER.format(
        micro=ratio["micro_f1"],
        macro=ratio["macro_f1"],
        repeats=repeats[0],
        others=repeats[1],
        table="\n".join(table),
        importance="for {} of {} measures by `optimal_importance`".format(*importance),
        poisson="for {} of {} by `poisson`".format(*coins),
        worst_importance=importance[2],
        worst_poisson=coins[2],
    )
    return study_pages.Page(
        "Do micro and macro F1 of 500 tags come from a few hundred labels?",
        answer,
        ("python benchmarks/many_labels.py",),
        found,
        (
            study_pages.Table("tags", "500 tags: error, coverage at 90 %", TAGS_HEADER, tags),
            study_pages.Table(
                "measures",
                "drawn for one measure, evaluated by another (source, appendix F.1)",
                CROSS_HEADER,
                cross,
            ),
        ),
        note=note,
    )


ANSWER = """\
Yes. At 1,500 of 10,000 rows the RMSE of `poisson` is {micro:.2f} of the passive one for micro F1,
and {macro:.2f} for macro F1. Rows are drawn for the measure that is estimated, strata need no
score, and probabilities are calibrated. *Coverage* is that of 90 % Beta intervals, the default,
over {repeats} runs, so it is known to a tenth. *Seconds a run* are of processor time, draw and
estimate together.

{table}

Are rows best drawn for the measure that is wanted, as the source says (appendix F.1, figures 10 and
11)? No other measure to draw for is better beyond noise {importance}, and
{poisson}. Drawn for another measure the error is up to {worst_importance:.1f} times as
great, by `poisson` up to {worst_poisson:.1f}. The pools are like MNIST and of the shape of 20
Newsgroups, with 20 labels. A tenth of the rows is labelled, in {others} runs. The source's own data
are not at hand.
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40, help="of the cross tables")
    parser.add_argument("--repeats-of-tags", type=int, default=30)
    study_pages.add_output(parser, "many-labels")
    study_pages.add_note(parser)
    options = parser.parse_args()
    found = [commits.now()]
    binary = [FBeta(), Precision(), Recall(), Accuracy(), Specificity()]
    cross = across("like MNIST", poisson.like_mnist(), binary, 1120, options.repeats)
    cross += across("like 20 Newsgroups", *newsgroups(), 1131, options.repeats)
    tags = of_tags(options.repeats_of_tags)
    repeats = options.repeats_of_tags, options.repeats
    page(tags, cross, repeats, found, options.note).write(options.output)


if __name__ == "__main__":
    main()
