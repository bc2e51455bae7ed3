"""Finding what is wrong with a spec and its pool, by the first rows alone."""

import dataclasses
import functools
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pyarrow.compute as pc

from evalsampling.commands.options import SpecOptions
from evalsampling.commands.prepare import Preparation
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.evaluation.specs import load_spec
from evalsampling.labels.controls import check_gold
from evalsampling.labels.dawid_skene import check_installed
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog, PoolFile
from evalsampling.pool.columns import read_features, read_slices, required_columns
from evalsampling.pool.files import find_files
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.scorer import Scorer
from evalsampling.preparation.summary import summarize
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.sections import nearest, unknown_keys
from evalsampling.workspace.manifest import HERE

Found = TypeVar("Found")

MOST_ROWS = 10_000
"""Rows of the pool that are looked at."""


@dataclasses.dataclass(frozen=True)
class CheckResult(Result):
    """What is wrong with a spec.

    Attributes:
        problems: in words, each in a line; none if nothing was found.
        files: of the pool, None if it cannot be told.
        rows: of the pool, likewise.
        looked_at: rows whose values were looked at.
    """

    problems: tuple[str, ...]
    files: int | None
    rows: int | None
    looked_at: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check(options: SpecOptions) -> CheckResult:
    """Return what is wrong with a spec, its pool's files and their first rows; changes nothing."""
    problems: list[str] = []
    with unknown_keys() as unknown:
        specs = _tried(lambda: [load_spec(options.spec)], problems)
    problems = [*(f"{options.spec}: {message}" for message in unknown), *problems]
    if not specs:
        return CheckResult(tuple(problems), None, None, 0)
    spec = specs[0]
    missing = _missing_columns(spec)
    problems += missing
    catalogs = [] if missing else _tried(lambda: [Catalog.read(spec)], problems)
    batches = _tried(lambda: _rows(spec, catalogs[0]), problems) if catalogs else []
    of_features = (read_features,) if spec.pool.features else ()
    looks = (summarize, read_slices, *of_features, _payload, _ids)
    for batch in batches:
        for look in looks:
            _tried(functools.partial(_looked, look, batch, spec), problems)
    for sound in (check_gold, check_installed, _check_workspace):
        _tried(functools.partial(_checked, sound, spec), problems)
    return CheckResult(
        tuple(dict.fromkeys(problems)),
        len(catalogs[0].files) if catalogs else None,
        catalogs[0].rows if catalogs else None,
        sum(map(len, batches)),
    )


def _tried(look: Callable[[], list[Found]], problems: list[str]) -> list[Found]:
    """Return what a look finds; of one that fails nothing, and why among the problems."""
    try:
        return look()
    except InputError as error:
        problems.append(str(error))
        return []


def _missing_columns(spec: EvaluationSpec) -> list[str]:
    """Return a line for each column that the spec names and the pool's first file lacks."""
    if spec.pool.scorer is not None:
        return []  # It may add them.
    try:
        first = PoolFile.inspect(find_files(spec.pool.path)[0])
    except InputError:
        return []  # The catalog tells of that.
    known = first.contents.schema.names
    return [
        f"{first.stored.path}: column {name!r} is missing{nearest(name, known)}"
        for name in required_columns(spec)
        if name not in known
    ]


def _rows(spec: EvaluationSpec, catalog: Catalog) -> list[PoolBatch]:
    """Return the first rows of the pool, scored if the spec names a scorer."""
    item = next(iter(catalog.items))
    columns = None if spec.pool.scorer else required_columns(spec)
    for batch in read_batches(item, columns):
        first = dataclasses.replace(batch, rows=batch.rows.slice(0, MOST_ROWS))
        if spec.pool.scorer is not None:
            return [Scorer(spec.pool.scorer, spec.pool.directory).score(first)]
        return [first]
    return []


def _looked(
    look: Callable[[PoolBatch, EvaluationSpec], object], batch: PoolBatch, spec: EvaluationSpec
) -> list[object]:
    return [look(batch, spec)]


def _checked(sound: Callable[[EvaluationSpec], None], spec: EvaluationSpec) -> list[object]:
    sound(spec)
    return []


def _payload(batch: PoolBatch, spec: EvaluationSpec) -> None:
    for name in spec.pool.payload:
        batch.payload(name, np.arange(len(batch)))


def _ids(batch: PoolBatch, spec: EvaluationSpec) -> None:
    ids = batch.ids(spec.pool.id)
    counts = pc.value_counts(ids)
    twice = [one["values"] for one in counts.to_pylist() if one["counts"] > 1]
    if twice:
        row = pc.index(ids, twice[0]).as_py()
        raise batch.error(spec.pool.id, row, f"id {twice[0]!r} comes again")


def _check_workspace(spec: EvaluationSpec) -> None:
    preparation = Preparation.from_spec(spec, HERE)
    if preparation.workspace.prepared:
        preparation.check_same_spec()
    else:
        preparation.workspace.check_free()
