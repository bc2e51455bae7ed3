"""The classifier under evaluation: string similarities into a logistic regression.

`score_pairs` is the function an evaluation names as its scorer. It compares each distinct
pair of values in a batch once, however many candidate pairs share it. The classifier sees
fewer fields than an annotator does, and makes mistakes of both kinds.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from febrl_pairs import PEOPLE, pair_columns, whole_file
from febrl_records import entity, load_records, same_entity
from rapidfuzz import process
from rapidfuzz.distance import Indel, JaroWinkler

MODEL_VARIABLE = "FEBRL_MODEL"
"""Environment variable with the path of the model."""

DEFAULT_MODEL = Path(__file__).resolve().parents[2] / "build" / "febrl" / "model.json"

METRICS: dict[str, Callable[..., float]] = {
    "given_name": JaroWinkler.normalized_similarity,
    "surname": JaroWinkler.normalized_similarity,
    "suburb": JaroWinkler.normalized_similarity,
    "date_of_birth": Indel.normalized_similarity,
}
"""Fields the classifier compares, and how; a metric returns 0 to 1."""

_GRID_FACTOR = 4
"""How many comparisons in a grid cost as much as one comparison on its own, about."""


@dataclass(frozen=True)
class Model:
    """A logistic regression over field similarities.

    Attributes:
        intercept: Log-odds of a pair whose values are all present and all fully different.
        similarity: Log-odds added per field by full similarity.
        missing: Log-odds added per field when either value is missing.
    """

    intercept: float
    similarity: dict[str, float]
    missing: dict[str, float]


def score_pairs(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Appends the column `score`, the log-odds that a pair is a match.

    Args:
        batch: Candidate pairs with the columns `left_<field>` and `right_<field>`, plain or
            dictionary-encoded strings.
    """
    model = _load_model(os.environ.get(MODEL_VARIABLE, str(DEFAULT_MODEL)))
    score = np.full(len(batch), model.intercept)
    for field, weight in model.similarity.items():
        score += field_similarity(batch, field, weight, model.missing[field])
    return batch.append_column("score", pa.array(score))


def field_similarity(
    batch: pa.RecordBatch, field: str, weight: float = 1.0, missing: float = np.nan
) -> np.ndarray:
    """Compares one field of each pair.

    A batch that covers most of the grid of its distinct values has the grid compared and
    looked up; any other has its pairs compared one by one, so that the cost never exceeds
    a multiple of the number of pairs.

    Args:
        batch: Candidate pairs.
        field: Name of the field.
        weight: Multiplies the similarity, which is between 0 and 1.
        missing: Result where either value is missing.

    Returns:
        One float32 per pair.
    """
    left, left_codes = _distinct(batch.column(f"left_{field}"))
    right, right_codes = _distinct(batch.column(f"right_{field}"))
    options: dict[str, Any] = {"scorer": METRICS[field], "dtype": np.float32, "workers": 1}
    left_blank, right_blank = left == "", right == ""
    similarity: np.ndarray
    if len(left) * len(right) <= _GRID_FACTOR * len(batch):
        grid = process.cdist(left, right, **options) * np.float32(weight)
        grid[left_blank, :] = missing
        grid[:, right_blank] = missing
        similarity = grid.take(left_codes * len(right) + right_codes)
    else:
        similarity = process.cpdist(left[left_codes], right[right_codes], **options)
        similarity *= np.float32(weight)
        similarity[left_blank[left_codes] | right_blank[right_codes]] = missing
    return similarity


def train(
    path: Path, prior: float = 1 / PEOPLE, nonmatches: int = 1_000_000, seed: int = 3
) -> None:
    """Fits the model on people who are not in the pool and writes it as JSON.

    Args:
        path: File to write.
        prior: Share of matches in the pool. Training pairs hold far more of them; the
            intercept is corrected for the difference, so that scores are log-odds in the pool.
        nonmatches: Number of random pairs to draw as non-matches.
        seed: Seed of the draw.
    """
    from sklearn.linear_model import LogisticRegression

    batch, labels = _training_pairs(nonmatches, seed)
    similarity = np.column_stack([field_similarity(batch, field) for field in METRICS])
    missing = np.isnan(similarity)
    features = np.hstack([np.where(missing, 0, similarity), missing])
    fit = LogisticRegression(C=100, max_iter=1_000).fit(features, labels)
    share = labels.mean()
    correction = np.log(prior / (1 - prior)) - np.log(share / (1 - share))
    weights = [float(weight) for weight in fit.coef_[0]]
    model = Model(
        intercept=float(fit.intercept_[0] + correction),
        similarity=dict(zip(METRICS, weights, strict=False)),
        missing=dict(zip(METRICS, weights[len(METRICS) :], strict=True)),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as part:
        part.write_text(json.dumps(asdict(model), indent=2) + "\n", encoding="utf-8")


@cache
def _load_model(path: str) -> Model:
    return Model(**json.loads(Path(path).read_text(encoding="utf-8")))


def _distinct(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct values of a column, missing ones as "", and each row's index."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = np.array([value or "" for value in column.dictionary.to_pylist()] + [""], object)
    codes = column.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    used = np.zeros(len(values), bool)
    used[codes] = True
    place = np.cumsum(used) - 1
    return values[used], place[codes]


def _training_pairs(nonmatches: int, seed: int) -> tuple[pa.RecordBatch, np.ndarray]:
    """Returns all matching pairs of the training records and random non-matching ones."""
    records = load_records("training")
    ids = records.column("rec_id").to_pylist()
    people: dict[int, list[int]] = {}
    for row, record_id in enumerate(ids):
        people.setdefault(entity(record_id), []).append(row)
    matches = [pair for rows in people.values() for pair in combinations(rows, 2)]
    drawn = np.random.default_rng(seed).integers(len(ids), size=(nonmatches, 2)).tolist()
    others = [pair for pair in drawn if not same_entity(ids[pair[0]], ids[pair[1]])]
    rows = np.array(matches + others)
    labels = np.repeat([1, 0], [len(matches), len(others)])
    return pa.record_batch(pair_columns(records, records, rows[:, 0], rows[:, 1])), labels
