"""A made-up stream: thirty days of scored payments, of which 2 % are fraud, and the answers.

All of it follows from a seed.
"""

import csv
import dataclasses
import datetime
import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

_FIRST = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)


def day_of(number: int) -> datetime.datetime:
    """Return the beginning of a day of the stream, from 1; day 0 is the one before."""
    return _FIRST + datetime.timedelta(days=number - 1)


@dataclasses.dataclass(frozen=True)
class Stream:
    """Payments by day, and what investigators find out about them.

    Attributes:
        seed: what all is drawn by.
        days: number of days.
        payments: number of payments a day.
        fall: the day on which a column was missing, so that more than half of the frauds score
            too low to be found.
        empty: a day without payments.
    """

    seed: int = 0
    days: int = 30
    payments: int = 5000
    fall: int = 17
    empty: int = 24

    def day(self, number: int) -> pa.Table:
        """Return the payments of a day: id, at, text, score and prediction."""
        _, score = _drawn(self, number)
        seconds = np.linspace(0, 86_399, len(score)).astype(int)
        times = [day_of(number) + datetime.timedelta(seconds=int(second)) for second in seconds]
        ids = [f"{number:02d}-{place:05d}" for place in range(len(score))]
        return pa.table(
            {
                "id": ids,
                "at": [time.isoformat() for time in times],
                "text": [f"payment {id}" for id in ids],
                "score": score,
                "prediction": (score > 0).astype(int),
            }
        )

    def recall(self, number: int) -> float:
        """Return the true recall of a day, which nobody knows."""
        fraud, score = _drawn(self, number)
        return float(np.mean(score[fraud] > 0))

    def is_fraud(self, id: str) -> bool:
        """Tell what an investigator finds out about a payment."""
        number, place = map(int, id.split("-"))
        return bool(_drawn(self, number)[0][place])


@functools.cache
def _drawn(stream: Stream, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which payments of a day are fraud, and the scores of all."""
    rng = np.random.default_rng([stream.seed, number])
    fraud = rng.random(0 if number == stream.empty else stream.payments) < 0.02
    center = np.where(fraud, -0.5 if number == stream.fall else 3.0, -5.0)
    return fraud, rng.normal(center, 2.0)


def answers(stream: Stream, tasks: Path, until: int) -> Iterator[dict[str, str]]:
    """Yield what investigators answered until the end of a day, in the order of their answers.

    They take a day and more; every twentieth answer is sent twice.

    Args:
        stream: the payments.
        tasks: folder of the files that investigators got.
        until: the last day of answers.
    """
    rng = np.random.default_rng(stream.seed)
    sent = []
    for file in sorted(tasks.glob("*.csv")):
        for task in csv.DictReader(file.open(newline="")):
            asked = datetime.datetime.fromisoformat(task["at"])
            sent_at = asked + datetime.timedelta(days=float(1 + rng.exponential(2.0)))
            task["label"] = str(int(stream.is_fraud(task["text"].split()[1])))
            sent += [(sent_at, task)] * (2 if rng.random() < 0.05 else 1)
    sent.sort(key=lambda answer: answer[0])
    yield from (task for sent_at, task in sent if sent_at < day_of(until + 1))
