"""Finding what is wrong with a spec and its pool, by the first rows alone."""

import contextlib
import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from evalsampling.commands.options import SpecOptions
from evalsampling.commands.prepare import Preparation, check_gated_slices
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.evaluation.specs import load_pinned
from evalsampling.labels.controls import Gold
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import Catalog, PoolFile
from evalsampling.pool.columns import missing_column, read_features, read_slices
from evalsampling.pool.one_order import orders_of
from evalsampling.pool.source import planned_files
from evalsampling.pool.stored_rows import Scorer
from evalsampling.preparation.assignment import check_slices
from evalsampling.preparation.ids import check_unique_ids
from evalsampling.preparation.plan import COUNT_SLICES, SUM_CELLS, assign, read_items, stratify_rows
from evalsampling.preparation.shares import LOCAL, Rows
from evalsampling.preparation.slices import unmet_values
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import sides_of
from evalsampling.spec.sections import nearest, unknown_keys
from evalsampling.stats.orders import about_orders
from evalsampling.telemetry import logs
from evalsampling.workspace.manifest import HERE

MOST_ROWS = 10_000
"""Rows of the pool that are looked at."""


@dataclasses.dataclass(frozen=True)
class CheckResult(Result):
    """What is wrong with a spec."""

    problems: tuple[str, ...]  # in words, each in a line; none if nothing was found
    files: int | None  # of the pool, None if it cannot be known
    rows: int | None  # of the pool, likewise; a condition leaves them uncounted
    looked_at: int  # rows whose values were looked at, the first of the pool
    # what is odd about these, but does not keep the workspace from being prepared
    warnings: tuple[str, ...] = ()
    # what is made of the scores of these, in a sentence; None where labels are no classes or
    # nothing could be looked at
    scores: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def check(options: SpecOptions) -> CheckResult:
    """Return the problems of a spec, its pool's files and their first rows; changes nothing."""
    problems: list[str] = []
    specs: list[EvaluationSpec] = []
    with unknown_keys() as unknown, _telling(problems):
        specs.append(load_pinned(options.spec))
    problems = [*(f"{options.spec}: {message}" for message in unknown), *problems]
    if not specs:
        return CheckResult(tuple(problems), None, None, 0)
    [spec] = specs
    catalog: Catalog | None = None
    batches: list[PoolBatch] = []
    warnings: list[str] = []
    scores: str | None = None
    missing = _missing_columns(spec)
    problems += missing
    if not missing:
        with _telling(problems):
            catalog = Catalog.read(spec.reading)
            _take_first(spec, catalog, batches)
    if batches:
        with _telling(problems):
            warnings, scores = _prepared(spec, batches, catalog)
    looked_at = sum(map(len, batches))
    if catalog is not None and _are_more(catalog, looked_at):
        warnings = [f"by the first {looked_at:,} rows, {warning}" for warning in warnings]
    if not spec.pool.payload:
        warnings.append("pool.payload: names no column, so annotators are shown nothing of a row")
    # By themselves too: each of several wrong columns is reported.
    payload = itertools.product(spec.pool.payload, batches)
    looks: Sequence[Callable[[], object]] = (
        lambda: [read_slices(batch, spec.pool) for batch in batches],
        lambda: [read_features(batch, spec.reading) for batch in batches if spec.pool.features],
        lambda: [batch.payload(name, np.arange(len(batch))) for name, batch in payload],
        lambda: check_unique_ids(batches, spec.pool.id, spec.seed),
        lambda: Gold.read(spec.labelling),
        lambda: _check_workspace(spec),
    )
    for look in looks:
        with _telling(problems):
            look()
    return CheckResult(
        tuple(dict.fromkeys(problems)),
        None if catalog is None else len(catalog.files),
        None if catalog is None or catalog.where is not None else catalog.rows,
        looked_at,
        tuple(warnings),
        scores,
    )


@contextlib.contextmanager
def _telling(problems: list[str]) -> Iterator[None]:
    """Add an error raised within a block to the problems, and go on behind the block."""
    try:
        yield
    except InputError as error:
        problems.append(logs.one_line(error))


def _missing_columns(spec: EvaluationSpec) -> list[str]:
    """Return a line for each column that the spec names and the pool's first file lacks."""
    if spec.pool.scorer is not None:
        return []  # It may add them.
    try:
        first = PoolFile.head(planned_files(spec.pool)[0])
    except InputError:
        return []  # The catalog tells of that.
    contents = first.contents
    if not contents.schema.names:
        return []  # It is empty.
    lines = []
    for name in spec.reading.all_columns:
        if name not in contents.with_field(name).names:
            fields = contents.fields.names if "." in name else []
            near = nearest(name, [*contents.schema.names, *fields], "there are")
            is_meant = "did you mean" in near and not isinstance(spec.pool.probability, Mapping)
            hint = near if is_meant else missing_column(name, spec.reading) or near
            missing = f"column {name!r} is missing{hint}"
            lines.append(f"{first.stored.path}: {missing}")
    return lines


def _take_first(spec: EvaluationSpec, catalog: Catalog, batches: list[PoolBatch]) -> None:
    """Add the first rows of the pool to a list, scored if the spec names a scorer."""
    named, left = spec.pool.scorer, MOST_ROWS
    scorer = Scorer(named, spec.pool.directory) if named else None
    for batch in read_items(catalog.items, None if named else spec.reading.all_columns):
        first = dataclasses.replace(batch, rows=batch.rows.slice(0, left))
        batches.append(first if scorer is None else scorer.score(first))
        left -= len(first)
        if not left:
            return


def _are_more(catalog: Catalog, looked_at: int) -> bool:
    """Tell whether a pool may have more rows than the first ones."""
    return looked_at < catalog.rows if catalog.where is None else looked_at == MOST_ROWS


def _prepared(
    spec: EvaluationSpec, batches: Sequence[PoolBatch], catalog: Catalog | None
) -> tuple[list[str], str | None]:
    """Return the warnings and words on scores of `prepare`, were these rows the whole pool."""
    stratification = stratify_rows(batches, spec.reading)
    cells = LOCAL.map(Rows(batches), assign(stratification))
    sums, counts = LOCAL.run(cells, SUM_CELLS, COUNT_SLICES)
    check_slices(counts, spec.pool.slices)
    whole = catalog is not None and not _are_more(catalog, sum(map(len, batches)))
    if whole:
        check_gated_slices(spec, counts)
    table = stratification.table(sums, whole)
    about = stratification.about_scores(table, whole) + stratification.about_features()
    about += [] if whole else unmet_values(table, "none of them")
    if sides_of(spec.pool.id) is not None:
        pairs = (orders_of(batch, spec.pool, spec.seed, 0) for batch in batches)
        about += about_orders(functools.reduce(operator.add, pairs))
    return about, stratification.said_of_scores(table)


def _check_workspace(spec: EvaluationSpec) -> None:
    preparation = Preparation.from_spec(spec, HERE)
    if preparation.workspace.prepared:
        preparation.check_same()
    else:
        preparation.workspace.check_free()
