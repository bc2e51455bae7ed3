"""Simulated annotators: they answer a batch from the true matches instead of reading it."""

import csv
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from febrl_pairs import read_matches, whole_file


def label_batch(
    batch_csv: Path, batch_parquet: Path, matches: Path, out_csv: Path, seed: int = 0
) -> int:
    """Answers every task of a batch, in an order of its own.

    Args:
        batch_csv: The tasks, as annotators get them: `task`, payload, empty `label`.
        batch_parquet: The round's own record of which `id` a `task` shows. Real annotators
            never see it; the simulation needs it to look the truth up.
        matches: Ids of the true matches.
        out_csv: File to write: `task`, `label` (1 for a match, 0 otherwise).
        seed: Seed of the order.

    Returns:
        The number of tasks answered.
    """
    with batch_csv.open(newline="", encoding="utf-8") as file:
        tasks = [row["task"] for row in csv.DictReader(file)]
    record = pq.read_table(batch_parquet, columns=["task", "id"]).to_pydict()
    ids = dict(zip(map(str, record["task"]), record["id"], strict=True))
    positive = set(read_matches(matches).tolist())
    order = np.random.default_rng(seed).permutation(len(tasks))
    answers = [(tasks[place], int(ids[tasks[place]] in positive)) for place in order]
    with whole_file(out_csv) as part, part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("task", "label"), *answers])
    return len(answers)
