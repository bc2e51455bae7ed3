"""What rounds without an answer do to estimates: bias and error of each measure.

    python benchmarks/silent_rounds.py

`importance` and `ais`, delta .1, for F1, on the calibrated pool of `coverage_situations.py`. Rounds
of 75 rows. Of each scenario one letter a round: `a`, all rows have labels; `-`, none; `1`, one.
Beside it stand as many answered rounds without the others, so that what the silent rounds did can
be told from what few labels do to a ratio. The table is in
docs/studies/silent-rounds.md.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from coverage_situations import write_situations

from evalsampling import EvaluationSpec
from evalsampling.evaluation.analysis import Analysis
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.simulation.urns import Urns
from evalsampling.stats.history import NO_LABEL, History

POOL = "calibrated"
SAMPLERS = ("importance", "ais")
MEASURES = ("prevalence", "f1", "recall")
SCENARIOS = ("aaaa", "aaa", "-aaa", "a-aa", "aa", "--aa", "a--a", "aaa1")
ROUND = 75


def estimates(
    known: KnownPool, sampler: Sampler, measures: list[Measure], scenario: str, repeats: int
) -> npt.NDArray[np.float64]:
    """Return the estimates after a scenario, shape (repeats, measures)."""
    found = []
    for repeat in range(repeats):
        analysis = Analysis(known.table, sampler, measures, repeat, 0.95, History.start(1, 2))
        oracle, has_label = Urns(known, repeat), np.zeros(0, dtype=bool)
        for answers in scenario:
            drawn = analysis.with_round(ROUND)
            new = np.full(len(drawn.history) - len(analysis.history), answers == "a")
            new[:1] |= answers == "1"
            has_label = np.append(has_label, new)
            history = oracle.answer(drawn.history)
            label = np.where(has_label, history.label, NO_LABEL)
            analysis = analysis.with_history(history.with_labels(label))
        found.append([one.value for one in analysis.estimate()])
    return np.array(found, dtype=np.float64)


def rows(directory: Path, repeats: int) -> Iterator[str]:
    """Yield the lines of the table."""
    drives = ["f1", *(measure for measure in MEASURES if measure != "f1")]
    for name in SAMPLERS:
        content = {
            "pool": {"path": f"{POOL}.parquet", "probability": "probability"},
            "measure": drives,
            "sampler": {"name": name, "delta": 0.1},
            "budget": 1000,
        }
        spec = EvaluationSpec.from_mapping(content, directory)
        stratification = stratify_pool(spec)
        known = KnownPool.read(spec, stratification, directory / f"{POOL}-truth.parquet")
        built = {m.name: m for m in build_measures(spec, stratification.ranges)}
        measures = [built[measure] for measure in MEASURES]
        sampler = build_sampler(spec, stratification.ranges)
        truth = np.array([float(known.value(measure)[0]) for measure in measures])
        for scenario in SCENARIOS:
            ratio = estimates(known, sampler, measures, scenario, repeats) / truth
            noise = ratio.std(axis=0) / np.sqrt(repeats)
            cells = (
                f"{mean - 1:+.1%} +- {2 * error:.1%} / {rmse:.3f}"
                for mean, error, rmse in zip(
                    ratio.mean(axis=0),
                    noise,
                    np.sqrt(np.mean((ratio - 1) ** 2, axis=0)),
                    strict=True,
                )
            )
            yield f"| {name} | `{scenario}` | {' | '.join(cells)} |"


def main() -> None:
    """Simulate and print the table: relative bias, twice its standard error, relative RMSE."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=300, metavar="N", help="default: 300")
    options = parser.parse_args()
    print(f"| sampler | rounds | {' | '.join(MEASURES)} |")
    print(f"| --- | --- | {' | '.join('---:' for _ in MEASURES)} |")
    with tempfile.TemporaryDirectory() as name:
        write_situations(Path(name))
        for line in rows(Path(name), options.repeats):
            print(line, flush=True)


if __name__ == "__main__":
    main()
