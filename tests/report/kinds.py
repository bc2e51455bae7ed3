"""Evaluations of every kind that there is a report on."""

from collections.abc import Callable
from pathlib import Path

from tests.averages import EACH_F1, MACRO_F1, MICRO_F1
from tests.commands.votes import HEADER, votes
from tests.jobs import LABEL_SET, Job, call, make_label_set_pool, make_pool, make_rich_pool
from tests.ranked_lists import ranked_pool

CURVE, ROC = (
    {"name": name, "system": "s0", "thresholds": [*range(-5, 4)]}
    for name in ("pr_curve", "roc_curve")
)
SYSTEMS = {f"s{n}": {"score": f"s{n}.score", "prediction": f"s{n}.prediction"} for n in (0, 1)}
MANY = {f"s{n}": {"score": f"s{n}.score", "prediction": f"s{n}.prediction"} for n in range(4)}
RATIO = {"ratio": "accuracy", "of": "s1", "against": "s0"}
THREE = {
    "score": "s0.score",
    "prediction": "s0.prediction",
    "probability": {str(n): f"s0.p{n}" for n in range(3)},
}


def kinds(job: Callable[..., Job], tmp_path: Path) -> dict[str, tuple[Job, int, tuple[str, ...]]]:
    """An evaluation of each kind: how many rounds it gets, and who answers."""
    mixed = {"name": "ais", "delta": 0.3}
    gold = tmp_path / "gold.csv"
    known = "".join(f"g{n},gold {n},{n % 2}\n" for n in range(20))
    gold.write_text(f"id,name,label\n{known}")
    return {
        "two-classes": (job(measure=["f1", "precision", "recall", "mcc"]), 3, ()),
        "no-labels": (job(), 0, ()),
        "systems-and-slices": (
            job(make_rich_pool(), pool={"systems": SYSTEMS, "slices": ["city", "year", "new"]},
                measure=["f1", "precision"], round_size=60), 2, (),
        ),
        "curves": (
            job(make_rich_pool(), pool={"systems": SYSTEMS}, sampler=mixed, round_size=60,
                measure=[CURVE, ROC, "average_precision"]), 2, (),
        ),
        "classes": (
            job(make_rich_pool(systems=1, classes=3), pool=THREE, labels={"classes": [0, 1, 2]},
                measure=[MACRO_F1, "accuracy"], round_size=60), 2, (),
        ),
        "label-sets": (
            job(make_label_set_pool(), labels={"multilabel": [*LABEL_SET]}, sampler="poisson",
                pool={"prediction": {name: f"is_{name}" for name in LABEL_SET},
                      "probability": {name: f"p_{name}" for name in LABEL_SET}},
                measure=[MACRO_F1, MICRO_F1, EACH_F1], round_size=100), 1, (),
        ),
        "many-systems": (
            job(make_rich_pool(systems=4), pool={"systems": MANY}, measure=["accuracy", RATIO],
                sampler={"name": "compare", "delta": 0.1}, round_size=100), 2, (),
        ),
        "ranks": (
            job(ranked_pool(1200), measure=[{"name": "pr_curve", "thresholds": 8}, "f1"],
                sampler={"name": "adastrat", "epsilon": 0.3, "beta": 1.5, "p_min": 0.25, "m": 5},
                strata={"method": "log_rank", "leaves": 64}, budget=3000), 1, (),
        ),
        "calibrated": (
            job(sampler="calibrated", hidden={"share": 0.1}, measure=["recall", "precision"]),
            4, (),
        ),
        "annotators": (
            job(labels={"votes": 3, "gold": {"path": str(gold), "rows": 10}, "repeats": 5},
                measure=["f1", "precision"], round_size=40), 3, ("Ann", "Ben & <co>", "="),
        ),
        "stochastic": (
            job(make_pool(text_ids=True), labels={"oracle": "stochastic"}, sampler="importance",
                round_size=60), 1, (),
        ),
        "all-labelled": (job(make_pool(40), round_size=40, measure="accuracy"), 1, ()),
    }  # fmt: skip


def reported(job: Job, rounds: int, who: tuple[str, ...], page: Path) -> Path:
    """The page of a report on a job whose rounds have answers."""
    assert job.prepare().status == 0
    for number in range(1, rounds + 1):
        assert job.sample().status == 0
        answers = [(task, "", str(job.pool.truth[id]), "", "") for task, id in job.asked(number)]
        answers = votes(job, number, who, seed=number, wrong=0.1) if who else answers
        delivery = job.deliver(answers, f"{number}.csv", HEADER)
        given = job.estimate("--labels", delivery, *["--close"] * bool(who))
        assert given.status == 0, given.err
    told = call("report", job.workspace, "--to", page, "--title", f"Product matching, {page.stem}")
    assert told.status == 0, told.err
    return page
