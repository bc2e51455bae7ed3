"""Golden workspaces: how each was written, and what commands say of it.

They are kept as the package of their time wrote them, and never written anew: a package that comes
later must go on with them. What commands say may be written anew.
"""

import csv
import dataclasses
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import yaml

from tests.commands.votes import HEADER, votes
from tests.golden import kept
from tests.jobs import Job, Pool, Result, call, make_pool, make_rich_pool, strict_json

PLACE = Path("/tmp/golden-workspaces")
"""Where they are written: a workspace keeps the path of its pool."""

SURE = {"wrong": 0, "skipped": 0}
"""How annotators label who know the truth."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a workspace is written.

    Attributes:
        pool: of which rows and columns.
        spec: its keys.
        history: rounds, labels and all else, of a workspace that is prepared.
        annotators: who label a round.
    """

    pool: Callable[[], Pool]
    spec: Mapping[str, Any]
    history: Callable[[Job], None]
    annotators: str = "a"


def _labelled(job: Job, number: int, annotators: str, name: str, **how: Any) -> Path:
    """Return a delivery of a round's labels."""
    return job.deliver(votes(job, number, annotators, seed=number, **how), name, HEADER)


def _of_defaults(job: Job) -> None:
    """Draw a round, whose labels come by a folder, and one that is open."""
    folder = job.directory / "dropped"
    folder.mkdir()
    _done(job.sample())
    _labelled(job, 1, "a", "dropped/1.csv", **SURE)
    _done(job.estimate("--labels", folder))
    _done(job.sample())


def _of_votes(job: Job) -> None:
    """Draw two rounds with three votes a row; settle some disputes; leave the second open."""
    _done(job.sample())
    _done(job.estimate("--labels", _labelled(job, 1, "abc", "1.csv", wrong=0.3)))
    settling = _done(job.sample("--adjudicate")).json
    with open(settling["batch"]) as file:
        tasks = [row["task"] for row in csv.DictReader(file)]
    settled = [(task, "judge", str(place % 2), "", "") for place, task in enumerate(tasks[1:])]
    _done(job.estimate("--labels", job.deliver(settled, "judge.csv", HEADER)))
    _done(job.sample("--next"))
    _done(job.estimate("--labels", _labelled(job, 2, "ab", "2.csv", wrong=0.3)))


def _of_money(job: Job) -> None:
    """Spend money, close a round, take one back, replace labels, forget a row, raise the budget."""
    _done(job.sample())
    given = votes(job, 1, "a", wrong=0, skipped=0.1)
    _done(job.estimate("--labels", job.deliver(given, "1.csv", HEADER)))
    wrong = [(task, name, "yes", "", "sure") for task, name, *_ in given[:2]]
    _done(job.estimate("--replace", job.deliver(wrong, "replaced.csv", HEADER), "--close"))
    _done(job.sample())
    _done(job.sample("--withdraw", 2))
    _done(job.sample())
    _done(job.estimate("--labels", _labelled(job, 3, "a", "3.csv", **SURE)))
    _done(call("forget", job.workspace, job.batch(3)["id"][0], "--json"))
    _done(call("budget", job.workspace, 200, "--json"))


def _few_columns(pool: Pool, *names: str) -> Pool:
    return dataclasses.replace(pool, table=pool.table.select(["id", *names]))


def _of_words() -> Pool:
    """Return a pool whose classes are words."""
    pool = _few_columns(
        make_rich_pool(300, seed=9), "s0.score", "s0.p0", "s0.p1", "size", "new", "name"
    )
    truth = {id: "yes" if label else "no" for id, label in pool.truth.items()}
    guess = ["yes" if p > 0.5 else "no" for p in pool.table["s0.p1"].to_pylist()]
    return Pool(pool.table.append_column("guess", [guess]), truth)


RECIPES = {
    "defaults": Recipe(
        lambda: make_pool(400, seed=3),
        {"pool": {"path": "pool.parquet"}, "workspace": "work", "round_size": 40},
        _of_defaults,
    ),
    # The first version that says what hidden positives are relative to.
    "overlap": Recipe(
        lambda: make_pool(300, seed=4),
        {"pool": {"path": "pool.parquet"}, "workspace": "work", "round_size": 20},
        _of_defaults,
    ),
    "votes": Recipe(
        lambda: _few_columns(
            make_rich_pool(300, seed=8),
            *("s0.score", "s0.prediction", "s1.chance", "name"),
        ).with_text_ids(),
        {
            "pool": {
                "path": "pool.csv",
                "systems": {
                    "old": {"score": "s0.score", "prediction": "s0.prediction"},
                    "new": {"score": "s1.chance", "prediction": {"threshold": 0.5}},
                },
                "payload": ["name"],
            },
            "labels": {"votes": 3, "repeats": 2},
            "measure": [{"joint": ["precision", "recall"]}, "accuracy"],
            "strata": {"leaves": 5},
            "sampler": {"name": "ais", "delta": 0.2},
            "round_size": 24,
            "budget": 100,
            "seed": 5,
            "workspace": "work",
        },
        _of_votes,
        "abc",
    ),
    "money": Recipe(
        _of_words,
        {
            "pool": {
                "path": "pool.parquet",
                "score": "s0.score",
                "prediction": "guess",
                "probability": {"no": "s0.p0", "yes": "s0.p1"},
                "cost": "size",
                "slices": ["new"],
                "payload": [{"name": "hash"}],
            },
            "labels": {"classes": ["no", "yes"], "positive": "yes"},
            "measure": ["f1", {"name": "precision", "calibrate": True}],
            "strata": {"leaves": 5},
            "sampler": "optimal_importance",
            "round_size": 20,
            "budget": {"cost": 150},
            "seed": 5,
            "workspace": "work",
        },
        _of_money,
    ),
}


def write_workspace(name: str) -> None:
    """Write a workspace that is not there yet, with its pool, its truth and its spec."""
    recipe, kept_in = RECIPES[name], kept.WORKSPACES / name
    pool, folder = recipe.pool(), PLACE / name
    folder.mkdir(parents=True)
    try:
        _write_pool(pool, folder / str(recipe.spec["pool"]["path"]))
        (folder / "spec.yaml").write_text(yaml.safe_dump(dict(recipe.spec), sort_keys=False))
        truth = [("id", "label"), *pool.truth.items()]
        with (folder / "truth.csv").open("w", newline="") as file:
            csv.writer(file).writerows(truth)
        job = Job(folder, pool, folder / "spec.yaml", folder / "work", in_process=True)
        with mock.patch.object(secrets, "token_hex", lambda size: "5a" * size):
            _done(job.prepare())
        recipe.history(job)
        shutil.copytree(folder, kept_in)
        (kept_in / "work" / ".drafts").rmdir()  # Empty: git does not keep it.
        if name != "defaults":
            shutil.rmtree(kept_in / "work" / "estimates")  # It may be deleted, and is large.
    finally:
        shutil.rmtree(folder)


def _write_pool(pool: Pool, path: Path) -> None:
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(pool.table, path)
    else:
        pq.write_table(pool.table, path, compression="zstd")


def copied(name: str, folder: Path) -> Job:
    """Return a copy of a workspace with its pool and truth, to go on with."""
    shutil.copytree(kept.WORKSPACES / name, folder, dirs_exist_ok=True)
    with (folder / "truth.csv").open() as file:
        rows = [(row["id"], row["label"]) for row in csv.DictReader(file)]
    is_text = (folder / "pool.csv").exists()
    truth = {id if is_text else int(id): label for id, label in rows}
    return Job(folder, Pool(pa.table({}), truth), folder / "spec.yaml", folder / "work", True)


def said_of(name: str, folder: Path) -> dict[str, Any]:
    """Return what commands say of copies of a workspace, its spec and its pool."""
    own, other = copied(name, folder / "own"), copied(name, folder / "other")
    return {**_said_of_workspace(name, own), **_said_of_spec(other)}


def _said_of_workspace(name: str, job: Job) -> dict[str, Any]:
    """Return what commands say of a copy, the rows of its next round, and how it goes on."""
    said = {
        command: _said(job, command.split()[0], job.workspace, *command.split()[1:])
        for command in ("status", "estimate", "estimate --measure=recall", "diagnose",
                        "annotators", "verify")
    }  # fmt: skip
    said["sample --next"] = drawn = _said(job, "sample", job.workspace, "--next")
    batch = job.batch(drawn["round"])
    said["rows"] = [list(one) for one in zip(batch["task"], batch["id"], strict=True)]
    delivery = _labelled(job, drawn["round"], RECIPES[name].annotators, "next.csv", **SURE)
    said["estimate --labels"] = _said(job, "estimate", job.workspace, "--labels", delivery)
    said["status then"] = _said(job, "status", job.workspace)
    del said["status then"]["jobs"]  # They have times, versions and a hash of the version.
    return said


def _said_of_spec(job: Job) -> dict[str, Any]:
    """Return what commands say that need a spec and a pool alone; the workspace goes."""
    shutil.rmtree(job.workspace)
    truth, few = job.directory / "truth.csv", ("--repeats", 3, "--budgets", "60")
    return {
        "check": _said(job, "check", job.spec),
        "plan": _said(job, "plan", job.spec, *few),
        "simulate": _without_seconds(
            _said(job, "simulate", job.spec, "--truth", truth, "--sampler", "ais", *few)
        ),
    }


def _without_seconds(simulated: Any) -> Any:
    """Return what `simulate` says without processor times."""
    results = [{**one, "seconds": "varies"} for one in simulated["results"]]
    return {**simulated, "results": results}


def _said(job: Job, command: str, *arguments: Any) -> Any:
    """Return the JSON that a command prints, with no path of this machine."""
    result = _done(call(command, *arguments, "--json"))
    return strict_json(result.out.replace(str(job.directory), "HERE"))


def _done(result: Result) -> Result:
    assert result.status == 0, result.err
    return result
