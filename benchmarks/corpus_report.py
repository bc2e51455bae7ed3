"""The page of real pools: a summary, a picture, where it goes wrong; and its table by pool."""

import csv
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import figure_files
import numpy as np
import tables
from corpus_settings import LEAST_RMSE, LOW_COVERAGE, NO_VALUE, FloatArray, Key, Setting

LEAST_SCORE = 0.01
"""Smaller mean interval scores of a pool count as this one."""

LARGE_RATIO = 1.25
"""Settings are listed whose bootstrap interval of the error over that of `ais` is above this."""

RESAMPLES = 2_000

PAIRS = tables.FOLDER / "pairs.csv"

BY_POOL = tables.FOLDER / "real-pools.csv"

COMPARED = ("f1", "recall", "precision", "accuracy")
MEANS = ("claims", "warned", "width")

_INTRODUCTION = """\
# Real pools

How the default does on {pools} real pools that nobody made for it. They come from models that
people train, string similarities, rules and vendors' scores. The data are public: record linkage,
credit, health, text and network traffic. Pools have 5,400 to 1,000,000 rows, positives from 1 in 3
to 1 in 20,000. Scores are as the models give them: over-sure, tied, exactly 0 and 1, far too high.
All labels are known, so every interval can be checked.

`python benchmarks/corpus.py run` made {runs}, with seeds that were fixed beforehand.{made}
The pools are not part of the project; any folder of pools with truth will do.

| column | meaning |
| --- | --- |
| coverage | share of 95 % intervals that hold the truth, among those that claim anything |
| claims, warned, width | share of runs that claim, share with a warning, mean width |
| error | root mean squared error by that of `ais`: geometric mean, and its 95 % interval |
| score | likewise the interval score: width, and 40 times what the interval misses by |

The default draws for all four measures, `ais` for F1 (`benchmarks/{baseline}`). Errors below
{error} count as that, mean scores of a pool below {score} too, and no value is an error of {none}.
"""

_PAIRS = """
## Pairs of systems

{pairs} pairs of systems of the same rows: a pool's own, and one made from it. That one knows less,
is weaker, has another threshold or noise in its ranks, or knows something that the first does not.
Each pair is evaluated in both orders, four times: with F1, precision, recall, or the difference of
F1 first in the spec. `python benchmarks/system_pairs.py run` made {repeats} repeats of the default,
of 3 that were meant, and 1 of `ais`. The code is of commit {commit}.

Coverage is of the default, among claims; *error* is that of the default over that of `ais`. The aim
is a coverage of at least 0.94, and an error of differences of at most 0.75. But for rounding,
interval and p-value disagree about a difference in {disagree} comparisons.
"""

_LOW_PAIRS = f"""
Some number covers less than {LOW_COVERAGE} by more than two standard errors for {{pairs}}.
[The table](studies/pairs.csv) has them, and coverage by order and by what is first.
"""

_SHOWN = ("number", "claims", "coverage", "at_300", "at_600", "warned", "error")
"""Columns of that table which the section has."""

_PICTURE = """
![Coverage and error of F1, a dot for each pool](figures/real-pools.svg)

A dot is a pool. Left: coverage of the default interval of F1. Right: its error divided by that of
`ais`; left of the line it is smaller.

## Where it goes wrong
"""


def document(
    found: Mapping[Key, Setting],
    before: Mapping[Key, Setting],
    figures: Path,
    baseline: str,
    commits: Sequence[str] = (),
) -> str:
    """Return the page, and write its table by pool, and its picture to a folder beside it.

    Args:
        found: of the sampler `calibrated`.
        before: of the baseline, sampler `ais`.
        figures: folder of pictures.
        baseline: name of the file that it is from.
        commits: that made the results.
    """
    both = [key for key in found if key in before and key[1] in COMPARED]
    pools = sorted({key[0] for key in both})
    budgets = sorted({key[2] for key in both})
    runs = [max(found[key].runs for key in both if key[0] == pool) for pool in pools]
    draw({key: found[key] for key in both}, before, budgets, figures / "real-pools.svg")
    with BY_POOL.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(_by_pool(found, before, pools, budgets))
    lines = [
        _INTRODUCTION.format(
            pools=len(pools),
            runs=_runs_in_words(runs),
            made=f" The code is of commit {' and '.join(commits)}." if commits else "",
            baseline=baseline,
            error=LEAST_RMSE,
            score=LEAST_SCORE,
            none=NO_VALUE,
        ),
        "| measure | labels | coverage | claims | warned | width | error | score |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *_summary(found, before, pools, budgets),
        _PICTURE,
        *_wrong(found, before, both),
        "",
        "[The table](studies/real-pools.csv) has the error, coverage and width of F1 by pool.",
        *pairs(PAIRS),
    ]
    return "\n".join(lines) + "\n"


def _runs_in_words(runs: Sequence[int]) -> str:
    """Return how many runs there are of each pool."""
    few, many = min(runs), max(runs)
    if few == many:
        return f"{few} runs a pool"
    return (
        f"{few} runs a pool. It made {many} on the {runs.count(many)} pools where these had\n"
        "shown a coverage below 0.90 of some measure at some number of labels"
    )


def least_ratio(mine: FloatArray, others: FloatArray) -> float:
    """Return the lower end of a 95 % interval of the ratio of two root mean squared errors.

    By the bootstrap over runs that both have, errors below `LEAST_RMSE` counting as that.

    Args:
        mine: shape (n,): error of each run, in the order of their seeds.
        others: shape (m,): the same of what it is compared with.
    """
    runs = min(len(mine), len(others))
    chosen = np.random.default_rng(1).integers(0, runs, (RESAMPLES, runs))
    errors = (np.sqrt(np.mean(one[:runs][chosen] ** 2, axis=1)) for one in (mine, others))
    a, b = (np.maximum(error, LEAST_RMSE) for error in errors)
    return float(np.quantile(a / b, 0.025))


def _summary(
    found: Mapping[Key, Setting],
    before: Mapping[Key, Setting],
    pools: Sequence[str],
    budgets: Sequence[int],
) -> Iterator[str]:
    for measure, budget in itertools.product(COMPARED, budgets):
        keys = [(pool, measure, budget) for pool in pools if (pool, measure, budget) in found]
        mine, others = [found[key] for key in keys], [before[key] for key in keys]
        held = np.nan_to_num([one.coverage for one in mine])
        shown = [np.average(held, weights=[one.claims for one in mine])]
        shown += [np.mean([getattr(one, name) for one in mine]) for name in MEANS]
        error = _mean_ratio([one.rmse for one in mine], [one.rmse for one in others], LEAST_RMSE)
        score = _mean_ratio([one.score for one in mine], [one.score for one in others], LEAST_SCORE)
        spread = 1.96 * np.sqrt(sum(s.log_rmse_variance for s in (*mine, *others))) / len(mine)
        low, high = error * np.exp(-spread), error * np.exp(spread)
        cells = " | ".join(f"{number:.3f}" for number in shown)
        ratios = f"{error:.3f} ({low:.2f} to {high:.2f}) | {score:.3f}"
        yield f"| {measure} | {budget:,} | {cells} | {ratios} |"


def _mean_ratio(mine: Sequence[float], others: Sequence[float], least: float) -> float:
    """Return the geometric mean of ratios; numbers below the least count as it."""
    ratios = np.maximum(mine, least) / np.maximum(others, least)
    return float(np.exp(np.mean(np.log(ratios))))


def _wrong(
    found: Mapping[Key, Setting], before: Mapping[Key, Setting], keys: Sequence[Key]
) -> Iterator[str]:
    low = [key for key in keys if found[key].is_low]
    yield f"Of {len(keys):,} settings (pool, measure, labels) these cover less than {LOW_COVERAGE}"
    yield "by more than two standard errors, mostly without a warning:"
    yield ""
    yield "| pool | measure | labels | truth | coverage | width |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for key in low:
        one = found[key]
        yield (
            f"| {key[0]} | {key[1]} | {key[2]:,} | {one.truth:.3f} | {one.coverage:.2f} | "
            f"{one.width:.3f} |"
        )
    large = [
        (end, key)
        for key in keys
        if (end := least_ratio(found[key].errors, before[key].errors)) > LARGE_RATIO
    ]
    yield ""
    yield f"These err more than {LARGE_RATIO:g} times as much as `ais` does, by the lower end of a"
    yield "95 % bootstrap interval of the ratio, runs with the same seeds paired:"
    yield ""
    yield "| pool | measure | labels | error | of `ais` | lower end |"
    yield "| --- | --- | ---: | ---: | ---: | ---: |"
    for end, key in sorted(large, reverse=True):
        yield (
            f"| {key[0]} | {key[1]} | {key[2]:,} | {found[key].rmse:.3f} | "
            f"{before[key].rmse:.3f} | {end:.2f} |"
        )


def _by_pool(
    found: Mapping[Key, Setting],
    before: Mapping[Key, Setting],
    pools: Sequence[str],
    budgets: Sequence[int],
) -> Iterator[Sequence[str]]:
    shown = [budget for budget in (300, 1000) if budget in budgets] or list(budgets)
    names = ("error", "error_of_ais", "coverage", "width")
    yield ["pool", "truth", *(f"{name}_{budget}" for budget in shown for name in names)]
    for pool in pools:
        cells = []
        for budget in shown:
            one, other = found[pool, "f1", budget], before[pool, "f1", budget]
            held = "" if np.isnan(one.coverage) else f"{one.coverage:.2f}"
            cells += [f"{one.rmse:.3f}", f"{other.rmse:.3f}", held, f"{one.width:.3f}"]
        yield [pool, f"{found[pool, 'f1', shown[0]].truth:.3f}", *cells]


def pairs(path: Path) -> Iterator[str]:
    """Yield the lines of the section on pairs of systems, from the table of their study."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    every = [row for row in rows if row["pair"] == "all"]
    low = [row for row in rows if row["pair"] != "all"]
    disagree = sum(int(row["disagree"]) for row in every if not row["number"].startswith("all"))
    commit = every[0]["commit"].replace(" ", " and ")
    yield _PAIRS.format(**every[0] | {"disagree": disagree, "commit": commit})
    yield from _table(every, _SHOWN)
    names = sorted({f"`{row['pair']}`" for row in low})
    yield _LOW_PAIRS.format(pairs=", ".join(names))


def _table(rows: Sequence[Mapping[str, str]], columns: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(columns).replace('_', ' ')} |"
    sides = ("---" if name == "number" else "---:" for name in columns)
    yield f"| {' | '.join(sides)} |"
    for row in rows:
        yield f"| {' | '.join(row[name] or '-' for name in columns)} |"


def draw(
    found: Mapping[Key, Setting],
    before: Mapping[Key, Setting],
    budgets: Sequence[int],
    path: Path,
) -> None:
    """Write the picture: coverage and error ratio of F1, a dot for each pool."""
    rng = np.random.default_rng(1)
    figure = figure_files.new(7.0, 2.4)
    left, right = figure.subplots(1, 2, sharey=True)
    for place, budget in enumerate(budgets):
        keys = [key for key in found if key[1:] == ("f1", budget)]
        height = place + rng.uniform(-0.28, 0.28, len(keys))
        look = {"s": 9, "alpha": 0.55, "color": "#d62728", "linewidths": 0}
        left.scatter([found[key].coverage for key in keys], height, **look)
        errors = ([each[key].rmse for key in keys] for each in (found, before))
        mine, other = (np.maximum(error, LEAST_RMSE) for error in errors)
        right.scatter(mine / other, height, **look)
    left.axvline(0.95, color="black", linewidth=0.5, linestyle="dotted")
    right.axvline(1.0, color="black", linewidth=0.5, linestyle="dotted")
    right.set_xscale("log")
    left.set_yticks(range(len(budgets)), [f"{budget:,} labels" for budget in budgets])
    left.set_xlabel("coverage of the default interval of F1")
    right.set_xlabel("error of F1 over that of ais")
    figure_files.save(figure, path)
