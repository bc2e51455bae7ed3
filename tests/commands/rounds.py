"""Rounds that tests of several commands draw, label and ask about."""

from typing import Any

from tests.jobs import Job, make_rich_pool


def measures(job: Job) -> Any:
    return job.estimate().json["measures"]


def rich_job(job: Any, **keys: Any) -> Job:
    """A job with two systems and slices, prepared."""
    systems = {
        "old": {"score": "s0.score", "prediction": "s0.prediction"},
        "new": {"score": "s1.chance", "prediction": {"threshold": 0.5}},
    }
    pool = {"systems": systems, "slices": ["city", "new"], **keys.pop("pool", {})}
    one: Job = job(make_rich_pool(), files=2, pool=pool, **{"budget": 900, **keys}).prepared()
    return one


def labelled(one: Job, rounds: int = 1, *options: Any) -> Any:
    """Draw and label some rounds; return the last estimate."""
    done = len(list((one.workspace / "rounds").glob("*")))
    for number in range(done + 1, done + rounds + 1):
        assert one.sample(*options).json["round"] == number
        result = one.answer(number, f"{number}.csv")
    return result.json


def doubtful(one: Job, number: int) -> list[tuple[str, str]]:
    """Answers that differ between the questions about one row."""
    return [(task, str(i % 3 % 2)) for i, (task, _) in enumerate(one.asked(number))]


def repeated(one: Job, number: int = 1) -> tuple[str, list[str]]:
    """An id drawn more than once in a round, and its tasks."""
    tasks: dict[str, list[str]] = {}
    for task, id in one.asked(number):
        tasks.setdefault(id, []).append(task)
    return next((id, of) for id, of in tasks.items() if len(of) > 1)
