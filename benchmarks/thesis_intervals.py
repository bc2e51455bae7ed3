"""Wald, Student and Wilson: width and coverage by number of draws, beside the thesis's figures.

    python benchmarks/thesis_intervals.py       # writes docs/studies/thesis-intervals.md

C. Sawade, *Active Evaluation of Predictive Models*, 2012, figures 3.2 (expected coverage of the
binomial Wald interval, eq. 3.17), 4.11 (widths) and 4.12 (coverage). Its mails were not at hand:
the made-up pool of the same description is that of `active_risk.py`. Intervals are those of
`inference/intervals.py`; moments of the draws are those of the self-normalised estimator (eq. 3.31,
3.14 with n - 1 in place of n).
"""

import argparse
import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import active_risk
import commits
import numpy as np
import numpy.typing as npt
import scipy
import study_pages

from evalsampling.inference.interval_methods import SampledNumber, by_student, by_wald, by_wilson
from evalsampling.inference.intervals import Interval, covers, student, wald
from evalsampling.inference.results import Target
from evalsampling.measures import FBeta, Measure, TableRisk
from evalsampling.samplers import ActiveRisk, Passive, ReplacementSampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.history import History

FloatArray = npt.NDArray[np.float64]

CONFIDENCE = 0.95
SIZES = (25, 50, 100, 200, 400, 800)
RISKS = (0.01, 0.025, 0.05, 0.1, 0.3, 0.5)
MEASURES: dict[str, Measure] = {"error rate": TableRisk(), "F1 (eta 0.5)": FBeta(alpha=0.5)}
METHODS: dict[str, Callable[[SampledNumber], Interval | None]] = {
    "wald": by_wald,
    "t": lambda one: student(one.value, one.error, one.confidence, one.bounds, one.draws - 1),
    "student": by_student,
    "wilson": by_wilson,
}
"""The thesis's t has n - 1 degrees of freedom, `student` those of the spread of the terms."""

NO_ERROR = 1e-12
"""In place of an error or a value of zero: Wilson's effective size is the number of draws then."""

PAGE = study_pages.FOLDER / "thesis-intervals.md"


def expected_coverage(risk: float, draws: int) -> float:
    """Return the expected coverage of the binomial Wald interval, exactly (eq. 3.17)."""
    hits = np.arange(draws + 1)
    chance = scipy.stats.binom.pmf(hits, draws, risk)
    values = hits / draws
    held = [
        covers(wald(value, np.sqrt(value * (1 - value) / draws), CONFIDENCE, (0.0, 1.0)), risk)
        for value in values.tolist()
    ]
    return float(chance @ held)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What an interval did over many samples.

    Attributes:
        coverage: share of all samples in which it holds the truth; one without a value does not.
        width: mean width, of the samples that have a value.
        collapsed: share of the samples whose variance is estimated to be zero.
        undefined: share of the samples that have no value.
    """

    coverage: float
    width: float
    collapsed: float
    undefined: float


def outcomes(
    known: KnownPool, sampler: ReplacementSampler, measure: Measure, draws: int, repeats: int
) -> dict[str, Outcome]:
    """Return what each interval did over samples with replacement of a size."""
    rows = known.table.rows
    q = sampler.proposal(known.table, History.start(1, known.table.classes)).cell_probability
    chance = q[known.cell] * known.count
    loss = measure.loss(known.outputs, known.label)
    weight = loss[:, 1] if loss.shape[1] == 2 else np.ones(len(loss))
    ratio = np.divide(1 / rows, q[known.cell], out=np.zeros(len(loss)), where=chance > 0)
    truth = float((known.count @ loss[:, 0]) / (known.count @ weight))
    rng = np.random.default_rng(draws)
    held, widths, collapsed, undefined = dict.fromkeys(METHODS, 0), {}, 0, 0
    for _ in range(repeats):
        row = rng.choice(len(loss), draws, p=chance / chance.sum())
        total = ratio[row] @ weight[row]
        if total == 0:
            undefined += 1
            continue
        value = float(ratio[row] @ loss[row, 0] / total)
        terms = (ratio[row] * (loss[row, 0] - value * weight[row]) / total) ** 2
        error = float(np.sqrt(terms.sum() * draws / (draws - 1)))
        collapsed += error == 0
        inside, least = min(max(value, NO_ERROR), 1 - NO_ERROR), max(error, NO_ERROR)
        number = SampledNumber(Target(measure.name), inside, least, terms, draws, CONFIDENCE)
        for name, method in METHODS.items():
            interval = method(number)
            assert interval is not None
            held[name] += covers(interval, truth)
            widths.setdefault(name, []).append(interval.high - interval.low)
    share = collapsed / repeats, undefined / repeats
    return {name: Outcome(held[name] / repeats, float(np.mean(widths[name])), *share)
            for name in METHODS}  # fmt: skip


def rows(known: KnownPool, repeats: int) -> list[list[str]]:
    """Return the table of widths and coverage."""
    table = []
    for title, measure in MEASURES.items():
        for sampler in (ActiveRisk(measure), Passive(measure)):
            for draws in SIZES:
                for method, one in outcomes(known, sampler, measure, draws, repeats).items():
                    figures = one.coverage, one.width, one.collapsed, one.undefined
                    table.append([title, sampler.name, method, str(draws),
                                  *(f"{figure:.4f}" for figure in figures)])  # fmt: skip
                    print(",".join(table[-1]), flush=True)
    return table


def page(table: Sequence[Sequence[str]], repeats: int, hashes: Sequence[str]) -> study_pages.Page:
    """Return the page of the study."""
    lattice = [[f"{risk:g}", *(f"{expected_coverage(risk, n):.3f}" for n in SIZES)]
               for risk in RISKS]  # fmt: skip
    cells = {(row[0], row[1], row[2], row[3]): row for row in table}

    def lines(measure: str, place: int, digits: int) -> str:
        listed = (("active_risk", "wald"), ("passive", "t"), ("passive", "wilson"))
        return "\n".join(
            f"| {measure} | {sampler}, {method} | "
            + " | ".join(f"{float(cells[measure, sampler, method, str(n)][place]):.{digits}f}"
                         for n in SIZES) + " |"
            for sampler, method in listed
        )  # fmt: skip

    head = "| measure | interval | " + " | ".join(map(str, SIZES)) + " |\n| --- | --- "
    head += "| ---: " * len(SIZES) + "|\n"
    both = tuple(MEASURES)
    answer = ANSWER.format(
        repeats=f"{repeats:,}",
        coverage=head + "\n".join(lines(one, 4, 2) for one in both),
        width=head + "\n".join(lines(one, 5, 3) for one in both),
        low=", ".join(lattice[RISKS.index(0.1)][1:]),
    )
    header = ("measure", "sampler", "interval", "draws", "coverage", "width", "collapsed",
              "undefined")  # fmt: skip
    of_draws = study_pages.Table(
        "widths-and-coverage",
        "coverage, mean width, share of samples without variance and without a value",
        header,
        table,
    )
    of_risks = study_pages.Table(
        "binomial",
        "expected coverage of the binomial Wald interval by risk and draws (figure 3.2)",
        ("risk", *map(str, SIZES)),
        lattice,
    )
    return study_pages.Page(
        "Do Wald's, Student's and Wilson's intervals behave as the thesis says?",
        answer,
        ("python benchmarks/thesis_intervals.py",),
        hashes,
        (of_draws, of_risks),
    )


ANSWER = """
In the main. From 50 draws on Wald's interval of active draws is narrower than those of passive
draws. Coverage rises towards .95 from below. Wilson's of passive draws is reliable for the error
rate, and wider. But Wald's of active draws is not always nearer to .95 than t's of passive ones:
with 100 and 800 draws the lattice of the error rate favours t.

C. Sawade, *Active Evaluation of Predictive Models*, 2012, has figures 4.11 (widths) and 4.12
(coverage) on mails that were not at hand. Here are mails made up by their description
([active risk](active-risk.md)). Coverage by number of draws, nominal .95, {repeats} samples; a
sample without a value counts as a miss:

{coverage}

Mean width:

{width}

- *Passive t collapses* where no error was drawn. Of 25 draws half have no variance, and their
  interval is a point; the thesis says the same of small samples. The package makes no such claim:
  it gives the whole range and says why.
- *`student` of the package* has degrees of freedom by the spread of the terms. With few active
  draws it covers more than Wald's. The thesis's t has n - 1, and hardly differs from Wald's, as it
  says.
- *Wilson's of active draws* is wide for the error rate: its effective size is at most the number
  of draws.

Figure 3.2, the expected coverage of the binomial Wald interval, exact by eq. 3.17, goes up and down
with the number of draws: a risk of .1 has {low}.

All are selectable: `estimate --interval wald student wilson` ([methods](../methods.md#intervals)).
"""


def main() -> None:
    """Simulate, and write page and tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=4000, metavar="N", help="default: 4000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        known = active_risk.made_up(Path(folder), active_risk.SPAM)
        table = rows(known, options.repeats)
    page(table, options.repeats, [commits.now()]).write(PAGE)


if __name__ == "__main__":
    main()
