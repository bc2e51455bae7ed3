"""Pools of systems that give a verdict and no score: their strata are what is predicted."""

import itertools
from collections.abc import Iterator

from evalsampling.errors import InputError
from evalsampling.pool.formats.registry import format_of
from evalsampling.pool.pool_file import PoolFile
from evalsampling.pool.source import planned_files
from evalsampling.pool.tables.spark import is_stored
from evalsampling.spec import EvaluationSpec


def without_missing_score(spec: EvaluationSpec) -> EvaluationSpec:
    """Return a spec that names no score, with what is predicted for strata if its pool has none.

    Any other spec is returned as it is, and so is one whose pool cannot be looked into yet.
    """
    pool = spec.pool
    if not pool.assumes_score or is_stored(pool):
        return spec
    try:
        has_score = any(pool.score in names for names in _columns(spec))
    except InputError:
        return spec  # What reads the pool tells of that.
    return spec if has_score else spec.of_verdicts


def _columns(spec: EvaluationSpec) -> Iterator[list[str]]:
    """Yield the columns of files; of one alone where a format writes down which there are."""
    files = planned_files(spec.pool)
    every = format_of(files[0].stored.path).inferred
    for file in itertools.islice(files, None if every else 1):
        yield PoolFile.head(file).contents.schema.names
