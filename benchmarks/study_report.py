"""The page of the study: its answer, its tables, and the plots beside it."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import commits
import numpy as np
import study_plots
from study_pages import Page, Table, markdown
from study_results import INTERVALS, NO_RULE, Band, Run, Study
from study_runs import CURVE

OWN_DATA = ("abt-buy", "dblp-acm")
"""Pools that are the authors' own."""

PAPER_BUDGETS = {"f1": 2000, "accuracy": 1000, CURVE: 5000}
"""Labels of the bar charts of [MR]: figures 3 and 6; figure 8 goes up to these."""


HEADERS = {
    "errors": ("pool", "measure", "method", "labels", "mse", "low", "high"),
    "orders": ("pool", "measure", "labels", "from_least_to_greatest_mse"),
    "claims": (
        *("claim", "where", "pool", "measure", "factor"),
        *("labels", "ratio", "low", "high", "holds"),
    ),
    "intervals": (
        *("pool", "measure", "method", "labels", "claims"),
        *("interval", "coverage", "width", "score"),
    ),
    "interval-choice": (
        *("measure", "repeats", "settings", "interval", "covers_in", "coverage"),
        *("least_coverage", "relative_score", "best_in"),
    ),
}
"""Columns of the tables."""

ABOUT = {
    "errors": "mean squared errors with 95 % bootstrap intervals over the repeats",
    "orders": "methods by error at the labels of the paper's charts: `<` where the interval of "
    "the ratio is above 1, `~` where it is not",
    "claims": "what the paper says, and the least ratio of errors here over all pairs of methods "
    "that a claim is about; it holds where the interval of the ratio is above the factor",
    "intervals": "design-based intervals: share of the repeats with a claim, coverage, median "
    "width, interval score",
    "interval-choice": "the same over all settings: in how many coverage is not below 95 % by more "
    "than two standard errors, score by the best of the setting, and where it is the best",
}


def report(results: Path, output: Path, note: str) -> int:
    """Write page, tables and plots from the results that are there; return the exit status."""
    study = Study.read(results) if (results / "settings.json").exists() else None
    if study is None or not study.runs:
        print(f"{results}: no results, nothing written")
        return 0
    budgets = {measure: _place(study, PAPER_BUDGETS[measure]) for measure in study.measures}
    figures = study_plots.draw(study, output.parent / "figures", budgets)
    repeats = sorted({run.repeats for run in study.runs.values()})
    told = " to ".join(str(n) for n in sorted({repeats[0], repeats[-1]}))
    rows = tables(study)
    page(rows, list(_pools(study)), told, commits.of(results), note).write(output)
    print(f"{output}: {len(study.runs)} runs, {len(figures)} figures beside it")
    return 0


def page(
    rows: Mapping[str, Sequence[Sequence[str]]],
    sizes: Sequence[Sequence[str]],
    repeats: str,
    commits: Sequence[str],
    note: str,
) -> Page:
    """Return the page.

    Args:
        rows: of each table of `HEADERS`.
        sizes: of each pool its name, whose data it is, rows, positives, F1 and accuracy.
        repeats: of every run, in words.
        commits: that made the results.
        note: what else there is to know.
    """
    orders = {row[0]: row[3] for row in rows["orders"] if row[1] == "f1"}
    labels = next(row[2] for row in rows["orders"] if row[1] == "f1")
    holds: dict[tuple[str, ...], set[str]] = {}
    for row in rows["claims"]:
        holds.setdefault(tuple(row[:4]), set()).add(row[9])
    table = markdown(
        (
            "pool",
            "data",
            "rows",
            "positives",
            "F1",
            "accuracy",
            "from the least error to the greatest",
        ),
        [(*row, orders[row[0]]) for row in sizes],
    )
    return Page(
        "Do the sampling methods do what their paper says?",
        ANSWER.format(
            repeats=repeats,
            labels=f"{int(labels):,}",
            table="\n".join(table),
            claims=len(holds),
            yes=sum(one == {"yes"} for one in holds.values()),
            no=sum("no" in one for one in holds.values()),
        ),
        ("python benchmarks/study.py", "python benchmarks/study.py report"),
        commits,
        tuple(Table(name, ABOUT[name], HEADERS[name], rows[name]) for name in HEADERS),
        ("figures/convergence-f1.svg", "Distance of the proposal, and error of F1, by labels"),
        note,
    )


def tables(study: Study) -> dict[str, list[tuple[str, ...]]]:
    """Return the rows of all tables."""
    single = [measure for measure in study.measures if measure != CURVE]
    return {
        "errors": [row for measure in study.measures for row in _errors(study, measure)],
        "orders": list(_orders(study)),
        "claims": list(_claims(study)),
        "intervals": [row for measure in single for row in _intervals(study, measure)],
        "interval-choice": [row for measure in single for row in _interval_choice(study, measure)],
    }


def _place(study: Study, budget: int) -> int:
    budgets = study.settings.budgets
    return budgets.index(budget) if budget in budgets else len(budgets) - 1


def _pools(study: Study) -> Iterator[tuple[str, ...]]:
    """Yield of each pool its name, whose data it is, rows, positives, F1 and accuracy."""
    for pool in study.pools:
        truth = [
            next((f"{run.truth[0]:.4f}" for run in study.of(pool, measure).values()), "")
            for measure in ("f1", "accuracy")
        ]
        yield (
            *(pool, "the authors' own" if pool in OWN_DATA else "rebuilt"),
            *(f"{study.rows[pool]:,}", f"{study.positives[pool]:,}", *truth),
        )


# --- beside the paper


def _orders(study: Study) -> Iterator[tuple[str, ...]]:
    for pool, measure in itertools.product(study.pools, study.measures):
        place = _place(study, PAPER_BUDGETS[measure])
        runs = sorted(study.of(pool, measure).values(), key=lambda run: run.error(place).mean)
        told = runs[0].method.title
        for before, after in itertools.pairwise(runs):
            sign = "<" if after.ratio(before, place).low > 1 else "~"
            told += f" {sign} {after.method.title}"
        yield pool, measure, str(study.settings.budgets[place]), told


@dataclasses.dataclass(frozen=True)
class Claim:
    """Something [MR] says of the mean squared errors.

    Attributes:
        words: what.
        source: where in the technical report.
        pool: that it is about.
        measure: that it is about.
        worse: methods whose error is said to be greater...
        better: ... than that of these.
        factor: by this factor at least.
    """

    words: str
    source: str
    pool: str
    measure: str
    worse: tuple[str, ...]
    better: tuple[str, ...]
    factor: float = 1.0

    def ratios(self, study: Study) -> list[Band]:
        """Return the least ratio of errors at each budget; none if a run is missing."""
        runs = study.of(self.pool, self.measure)
        pairs = [
            (runs[worse], runs[better])
            for worse in self.worse
            for better in self.better
            if worse in runs and better in runs
        ]
        if not pairs:
            return []
        return [
            min((worse.ratio(better, b) for worse, better in pairs), key=lambda band: band.mean)
            for b in range(len(study.settings.budgets))
        ]


UNBIASED = ("passive", "stratified")
BIASED = ("importance", "oasis", "ais-1", "ais-8")
OTHERS = (*UNBIASED, "importance", "oasis")

CLAIMS = (
    Claim(
        "Passive and Stratified: an order of magnitude above every biased method",
        "5.3, figure 2", "abt-buy", "f1", UNBIASED, BIASED, 10,
    ),
    Claim(
        "Passive and Stratified: significantly above every biased method",
        "J, figure 5", "dblp-acm", "f1", UNBIASED, BIASED,
    ),
    Claim(
        "Ours-8 below all baselines at all budgets",
        "5.3, figure 2", "abt-buy", "f1", OTHERS, ("ais-8",),
    ),
    Claim(
        "Ours-1 below all baselines at all budgets",
        "5.3, figure 2", "abt-buy", "f1", OTHERS, ("ais-1",),
    ),
    Claim(
        "Ours is not the best here",
        "5.3, figure 3", "dblp-acm", "f1", ("ais-1", "ais-8"), ("importance",),
    ),
    Claim(
        "Ours-1 performs best",
        "J, figure 5", "dblp-acm", "f1", (*OTHERS, "ais-8"), ("ais-1",),
    ),
    Claim(
        "Ours-8 tends to outperform Ours-1", "5.3", "abt-buy", "f1", ("ais-1",), ("ais-8",)
    ),
    Claim(
        "Ours-8 tends to outperform Ours-1", "5.3", "dblp-acm", "f1", ("ais-1",), ("ais-8",)
    ),
    Claim(
        "Ours generally converges more rapidly than OASIS",
        "5.3", "abt-buy", "f1", ("oasis",), ("ais-8",),
    ),
    Claim(
        "Ours generally converges more rapidly than OASIS",
        "5.3", "dblp-acm", "f1", ("oasis",), ("ais-8",),
    ),
    Claim(
        "IS performs best",
        "J, figure 5", "creditcard", "f1",
        (*UNBIASED, "oasis", "ais-1", "ais-8"), ("importance",),
    ),
    Claim(
        "Ours-8 improves on Passive by an order of magnitude or more",
        "J, figure 6", "abt-buy", "accuracy", ("passive",), ("ais-8",), 10,
    ),
    Claim(
        "Ours-8 improves on Passive by an order of magnitude or more",
        "J, figure 7", "dblp-acm", "accuracy", ("passive",), ("ais-8",), 10,
    ),
    Claim(
        "Every biased method improves on Passive and Stratified by 1 to 2 orders of magnitude",
        "J, figure 8", "abt-buy", CURVE, UNBIASED, BIASED, 10,
    ),
    Claim(
        "Every biased method improves on Passive and Stratified by 1 to 2 orders of magnitude",
        "J, figure 8", "dblp-acm", CURVE, UNBIASED, BIASED, 10,
    ),
    Claim("Ours-8 below IS", "5.3, figure 2", "abt-buy", "f1", ("importance",), ("ais-8",)),
    Claim(
        "Ours-8 and IS closer than for F1",
        "J, figure 8", "abt-buy", CURVE, ("importance",), ("ais-8",),
    ),
)  # fmt: skip


def _claims(study: Study) -> Iterator[tuple[str, ...]]:
    for claim in CLAIMS:
        for budget, ratio in zip(study.settings.budgets, claim.ratios(study), strict=False):
            yield (
                *(claim.words, claim.source, claim.pool, claim.measure, f"{claim.factor:g}"),
                *(str(budget), *_cells(ratio), _verdict(ratio, claim.factor)),
            )


def _verdict(ratio: Band, factor: float) -> str:
    return "yes" if ratio.low >= factor else "no" if ratio.high < factor else "open"


def _cells(band: Band) -> tuple[str, ...]:
    return _short(band.mean), _short(band.low), _short(band.high)


# --- errors


def _errors(study: Study, measure: str) -> Iterator[tuple[str, ...]]:
    for pool in study.pools:
        for run in study.of(pool, measure).values():
            for place, budget in enumerate(study.settings.budgets):
                error = _cells(run.error(place))
                yield pool, measure, run.method.title, str(budget), *error


# --- intervals


def _methods(study: Study, measure: str) -> list[str]:
    there = {
        name
        for (_, m, _), run in study.runs.items()
        if m == measure
        for name in run.interval_methods
    }
    return [name for name in INTERVALS if name in there]


def _covers(coverage: float, repeats: int, confidence: float) -> bool:
    """Return whether a coverage may be the nominal one, given the noise of so many repeats."""
    return coverage >= confidence - 2 * math.sqrt(confidence * (1 - confidence) / repeats)


def _interval_choice(study: Study, measure: str) -> Iterator[tuple[str, ...]]:
    confidence = study.settings.confidence
    names = _methods(study, measure)
    for claimed in (True, False):
        columns = names if claimed else [*names, NO_RULE]
        table = []
        for (_, m, _), run in study.runs.items():
            for b in range(len(study.settings.budgets)):
                used = int(run.claims[:, b].sum()) if claimed else run.repeats
                if m != measure or not _informs(run, b) or 2 * used < run.repeats:
                    continue
                found = [
                    run.intervals(name, b, confidence, claimed) if name in run.ends
                    or name == NO_RULE else None for name in columns
                ]  # fmt: skip
                if any(one is None for one in found):
                    continue
                table.append([(one.coverage, one.score, used) for one in found if one is not None])
        if not table:
            continue
        values = np.array([[entry[:2] for entry in line] for line in table])
        covers = np.array(
            [[_covers(entry[0], entry[2], confidence) for entry in line] for line in table]
        )
        scores = values[:, :, 1]
        relative = np.exp(np.mean(np.log(scores / scores.min(axis=1, keepdims=True)), axis=0))
        among = np.where(covers, scores, np.inf)
        best = covers & (among <= among.min(axis=1, keepdims=True) * (1 + 1e-9))
        for i, name in enumerate(columns):
            yield (
                *(measure, "with a claim" if claimed else "all", str(len(table)), name),
                *(str(covers[:, i].sum()), f"{values[:, i, 0].mean():.3f}"),
                *(f"{values[:, i, 0].min():.2f}", f"{relative[i]:.3f}", str(best[:, i].sum())),
            )


def _informs(run: Run, budget: int) -> bool:
    """Return whether any interval claims anything, in at least one repeat."""
    return "wald" in run.ends and bool(run.claims[:, budget].any())


def _intervals(study: Study, measure: str) -> Iterator[tuple[str, ...]]:
    for pool in study.pools:
        for run in study.of(pool, measure).values():
            for place, budget in enumerate(study.settings.budgets):
                for name in (*_methods(study, measure), NO_RULE):
                    if (name if name != NO_RULE else "wald") not in run.ends:
                        continue
                    one = run.intervals(name, place, study.settings.confidence)
                    yield (
                        *(pool, measure, run.method.title, str(budget)),
                        *(f"{run.claims[:, place].mean():.2f}", name, f"{one.coverage:.2f}"),
                        *(_short(one.width), _short(one.score)),
                    )


def _short(value: float) -> str:
    """Return two digits of a number."""
    if value == 0 or 0.001 <= abs(value) < 1000:
        return f"{float(f'{value:.2g}'):g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


ANSWER = """\
Of {claims} claims of the paper {yes} hold at every number of labels, and {no} are contradicted at
some. Marchant and Rubinstein (*Needle in a Haystack*, KDD 2021) compare six methods. This is
their evaluation with this package, {repeats} repeats of every run. Errors of F1 with {labels}
labels:

{table}

*Passive*, *Stratified*, *IS* and *OASIS* are the samplers `passive`, `stratified`, `importance` and
`oasis`. *Ours-1* is `ais` with a flat tree, *Ours-8* with one of branching 2. An undefined
estimate counts as 0. Other plots:
[F1](figures/error-f1.svg); [accuracy](figures/convergence-accuracy.svg) and its
[errors](figures/error-accuracy.svg); [curves](figures/convergence-pr_curve.svg) and their
[errors](figures/error-pr_curve.svg).
"""
