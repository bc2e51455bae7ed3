"""Measures coverage where rows count by lognormal weights, on the pools of the corpus.

    python benchmarks/weighted.py run --workers 2                      # continues
    python benchmarks/weighted.py report                               # prints the table

A row counts exp(z), z standard normal, whatever its label; or, in the second case, half as much
again where it is positive, which no score tells.
"""

import dataclasses
import functools
import itertools
import sys
from pathlib import Path

import corpus
import corpus_settings
import numpy as np
import pools
import pyarrow.parquet as pq
import trials

CASES = {"lognormal": 1.0, "with positives": 1.5}
"""Factors of the weights of positives."""

MEASURES = ("f1", "precision", "recall", "accuracy")
PLAN = dataclasses.replace(corpus.PLAN, budgets=(300, 1000))


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = trials.parser(__doc__, "weighted", repeats=6, block=3)
    parser.set_defaults(pools=pools.CORPUS)
    options = parser.parse_args(argv)
    chosen = pools.chosen(options.only, pools.find(options.pools))
    if options.action == "run":
        study = trials.Study(
            functools.partial(_trial, options.pools, options.results / "pools"),
            corpus.rows_of,
            corpus.SCHEMA,
        )
        trials.run(
            options,
            study,
            trials.blocks([*itertools.product(chosen, CASES)], options.repeats, options.block),
            PLAN,
        )
        return 0
    print("weights,labels,claims,coverage,runs")
    for case, budget in itertools.product(CASES, PLAN.budgets):
        found = corpus_settings.settings(options.results, case, chosen)
        settings = [one for (_, _, labels), one in found.items() if labels == budget]
        claims = np.array([one.claims * one.runs for one in settings])
        covered = np.nansum([one.coverage for one in settings] * claims) / claims.sum()
        runs = sum(one.runs for one in settings)
        print(f"{case},{budget},{claims.sum() / runs:.3f},{covered:.3f},{runs}")
    return 0


@functools.lru_cache(maxsize=4)
def _ground(folder: Path, weighted: Path, name: str, case: str) -> pools.Ground:
    """Return a pool whose rows have weights, written beside the results."""
    table = pq.read_table(folder / f"{name}.parquet")
    truth = pq.read_table(folder / f"{name}-truth.parquet")
    label = dict(zip(truth["id"].to_pylist(), truth["label"].to_pylist(), strict=True))
    positive = np.array([str(label[id]) == "1" for id in table["id"].to_pylist()])
    weight = np.exp(np.random.default_rng(len(positive)).normal(size=len(positive)))
    weight[positive] *= CASES[case]
    columns = {name: table[name] for name in table.column_names}
    named = f"{name}-{case.replace(' ', '-')}"
    labels = [label[id] for id in table["id"].to_pylist()]
    pools.write(weighted, named, {**columns, "weight": weight, "label": labels})
    content = {"probability": "probability", "weight": "weight"}
    return pools.Ground.read(weighted, named, pool=content, measure=list(MEASURES), seed=1)


def _trial(folder: Path, weighted: Path, pool: str, case: str) -> trials.Trial:
    ground = _ground(folder, weighted, pool, case)
    return trials.Trial(ground.known, ground.sampler("calibrated"), ground.measures, PLAN)


if __name__ == "__main__":
    sys.exit(main())
