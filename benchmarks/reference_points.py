"""Measures the samplers against published reference points on pools whose truth is known.

    python benchmarks/reference_points.py
    python benchmarks/reference_points.py --pools=DIR --check

A pool is a pair of files: NAME.parquet (id, score, prediction, probability) and
NAME-truth.parquet (id, label). The result is printed and written to docs/reference-points.md.
"""

import argparse
import dataclasses
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pools

from evalsampling import EvaluationSpec
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.truth import KnownPool

SAMPLERS = ("passive", "importance", "ais")
BUDGETS = (300, 1000, 2000)
DRAWS_PER_ROUND = 100
SEED = 7

CHECKED_BUDGETS = (1000, 2000)
MOST = 1.25
"""Greatest ratio of an RMSE to its reference at `CHECKED_BUDGETS`."""

# RMSE of F1 at the budgets above, an undefined estimate counted as 0: 256 leaves, branching 2,
# prior from the probability column, 100 draws a round. Importance and ais on abt-buy and
# dblp-acm: 400 runs of the package by Marchant and Rubinstein ("Needle in a Haystack", KDD 2021)
# with the settings of their paper. All others: 300 to 1,000 runs of an independent
# implementation, which agrees with that package within noise where both were run.
REFERENCE_RMSE = {
    ("abt-buy", "passive"): (0.572, 0.514, 0.434),
    ("abt-buy", "importance"): (0.219, 0.128, 0.090),
    ("abt-buy", "ais"): (0.133, 0.069, 0.043),
    ("dblp-acm", "passive"): (0.898, 0.812, 0.688),
    ("dblp-acm", "importance"): (0.036, 0.018, 0.012),
    ("dblp-acm", "ais"): (0.087, 0.047, 0.031),
    ("creditcard", "passive"): (0.556, 0.445, 0.319),
    ("creditcard", "importance"): (0.114, 0.102, 0.088),
    ("creditcard", "ais"): (0.122, 0.126, 0.115),
}


@dataclasses.dataclass(frozen=True)
class PoolRun:
    """The simulations of one pool.

    Attributes:
        name: of the pool.
        rows: of the pool.
        leaves: it was cut into.
        truth: F1 from all labels.
        results: what `simulate` returned, an object for each sampler and budget.
        seconds: on the wall, all samplers, without reading the pool.
    """

    name: str
    rows: int
    leaves: int
    truth: float
    results: list[dict[str, Any]]
    seconds: float

    def ratio(self, result: dict[str, Any]) -> float | None:
        """Return an RMSE over its reference, None if there is none."""
        reference = REFERENCE_RMSE.get((self.name, result["sampler"]))
        if reference is None:
            return None
        return float(result["rmse"]) / reference[BUDGETS.index(result["budget"])]


def main(argv: list[str] | None = None) -> int:
    """Measure, print, write; return the exit status."""
    options = _parse(argv)
    names = pools.find(options.pools)
    if not names:
        return 0
    runs = []
    for name in names:
        print(f"{name}: {options.repeats} repeats of {', '.join(SAMPLERS)}", file=sys.stderr)
        runs.append(_run(options.pools, name, options.repeats))
    text = "\n".join(_document(runs, options.repeats))
    print(text)
    options.output.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    exceeded = list(_exceeded(runs))
    for line in exceeded:
        print(line, file=sys.stderr)
    return 1 if options.check and exceeded else 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    pools.add_option(parser)
    parser.add_argument("--repeats", type=int, default=100, metavar="N", help="default: 100")
    parser.add_argument(
        "--output",
        type=Path,
        default=pools.PROJECT / "docs" / "reference-points.md",
        metavar="FILE",
        help="default: docs/reference-points.md",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help=f"exit with 1 if an RMSE at 1,000 or 2,000 labels exceeds {MOST} x its reference",
    )
    return parser.parse_args(argv)


def _run(directory: Path, name: str, repeats: int) -> PoolRun:
    spec = EvaluationSpec.from_mapping(
        {
            "pool": {"path": f"{name}.parquet", "probability": "probability"},
            "measure": "f1",
            "strata": {"method": "csf", "leaves": 256, "branching": 2},
            "sampler": {"name": "ais", "draws": DRAWS_PER_ROUND},
            "budget": BUDGETS[-1],
            "round_size": DRAWS_PER_ROUND,
            "seed": SEED,
        },
        directory.resolve(),
    )
    stratification = stratify_pool(spec)
    known = KnownPool.read(spec, stratification, directory / f"{name}-truth.parquet")
    plan = Plan(BUDGETS, spec.round_size, repeats, spec.seed, spec.confidence)
    tried = [build_sampler(spec, stratification.ranges, sampler) for sampler in SAMPLERS]
    started = time.perf_counter()
    simulated = simulate(known, tried, build_measures(spec, stratification.ranges), plan)
    seconds = time.perf_counter() - started
    table = known.table
    return PoolRun(
        name, table.rows, table.leaves, simulated["truth"]["f1"], simulated["results"], seconds
    )


def _exceeded(runs: list[PoolRun]) -> Iterator[str]:
    for run in runs:
        for result in run.results:
            ratio = run.ratio(result)
            if ratio is not None and ratio > MOST and result["budget"] in CHECKED_BUDGETS:
                yield (
                    f"{run.name}, {result['sampler']}, {result['budget']} labels: "
                    f"RMSE is {ratio:.2f} x its reference, at most {MOST} is allowed"
                )


def _document(runs: list[PoolRun], repeats: int) -> Iterator[str]:
    yield INTRODUCTION.format(repeats=repeats, cores=os.cpu_count(), seed=SEED, most=MOST)
    for run in runs:
        yield (
            f"## {run.name}\n\n{run.rows:,} rows in {run.leaves} leaves, F1 {run.truth:.4f}. "
            f"All three samplers: {run.seconds:.0f} s.\n"
        )
        yield _row(
            "sampler", "labels", "RMSE", "reference", "ratio", "default interval", "Wald",
            "undefined", "draws", "CPU s",
        )  # fmt: skip
        yield _row("---", *["---:"] * 4, "---", "---", *["---:"] * 3)
        for result in run.results:
            yield _result_row(run, result)
        yield ""
    yield NOTES


def _result_row(run: PoolRun, result: dict[str, Any]) -> str:
    ratio = run.ratio(result)
    reference = "-" if ratio is None else f"{result['rmse'] / ratio:.3f}"
    return _row(
        result["sampler"],
        f"{result['budget']:,}",
        f"{result['rmse']:.4f}",
        reference,
        "-" if ratio is None else f"{ratio:.2f}",
        _interval(result),
        _interval(result["wald"]),
        str(result["undefined"]),
        f"{result['draws']:,.0f}",
        f"{result['seconds']:.1f}",
    )


def _interval(summary: dict[str, float]) -> str:
    return (
        f"{summary['coverage']:.2f} / {summary['median_width']:.3f} / "
        f"{summary['interval_score']:.3f}"
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


INTRODUCTION = """\
# Reference points

Made with `python benchmarks/reference_points.py`, which overwrites this page; the pools are those
of [benchmarks/README.md](../benchmarks/README.md). F1 on pools whose truth is known:
{repeats} repeats, seed {seed}, 256 leaves, branching 2, prior from the column `probability`,
100 draws a round, nominal 95 % intervals, {cores} cores.

- *RMSE* counts an undefined estimate as 0. *Reference* is the figure the script cites, with its
  origin, in `REFERENCE_RMSE`. *Ratio* is RMSE over reference. With `--check` the script fails if a
  ratio at 1,000 or 2,000 labels exceeds {most}.
- *Default interval* and *Wald*: coverage / median width / mean interval score (width plus 40 times
  the distance by which the interval misses; smaller is better). The default here is the first
  design-based interval, Korn-Graubard's, and the whole range of the measure where fewer than 10
  positives were seen. The program's own default is the model-assisted one: see
  [coverage.md](coverage.md).
- *Draws* is the mean number of draws, repeats of labelled rows included. *CPU s* is the time of
  all repeats up to that number of labels. The seconds above each table are on the wall, of a
  machine that may do other work meanwhile.
"""

NOTES = """\
## How to read it

**Noise.** An RMSE of 100 repeats is uncertain by about 7 % where errors are near normal, and by
more where a few repeats decide (creditcard). A coverage is uncertain by 0.02 to 0.05.

**Where a ratio is below 0.75.** That is `ais` on creditcard. Ten seeds of 100 repeats each gave
0.072 to 0.115 at 1,000 labels, together 0.096 (ratio 0.76), and 0.073 to 0.100 at 2,000 labels,
together 0.087 (0.76). So most of it is noise and some is not. What is not comes partly from the
strata. With edges cut by the same rule from 1,024 equal-width bins, as the authors cut them, the
same ten seeds gave 0.104 and 0.104 together. Equal-width bins spend 60 leaves on five rows or
fewer, and their largest leaf holds 2,844 rows; with dyadic bins no leaf is that small and the
largest holds 1,850. What is left between 0.104 and the reference of 0.126 was not traced.

**Creditcard coverage.** Neither interval is near 95 % there. 17 of the 134 frauds lie in the large
leaves (more than 300 rows each) that hold 78 % of all rows. In 33 of 40 runs of `ais` to 2,000
labels none of the 17 was drawn. Nothing in such a sample shows that they exist, and no interval
computed from the sample alone can allow for them.

**Passive.** It meets too few positives for any claim, so its default interval is the whole range
of the measure: coverage 1, width 1. An undefined estimate has the whole range in both columns.

**Strata.** Why leaves are not cut as in the paper is in
[Strata and the fit of the model](paper-settings.md).
"""

if __name__ == "__main__":
    sys.exit(main())
