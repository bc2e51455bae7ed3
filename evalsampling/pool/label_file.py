"""A second file of a pool's rows, with labels of some or another system: the table of both."""

import contextlib
import dataclasses
import filecmp
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.pool.arrow import is_text
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import PoolFile
from evalsampling.pool.files import decodable, find_files
from evalsampling.pool.formats.registry import format_of
from evalsampling.pool.guesses import IDS, LABELS, Guess, best, is_system
from evalsampling.pool.sampled_columns import MOST_ROWS, look_at, rows_of, typed
from evalsampling.pool.source import partitioned
from evalsampling.spec.sections import nearest


@dataclasses.dataclass(frozen=True)
class Join:
    """How the rows of a second file are joined to those of a pool."""

    id: Sequence[str]  # columns that name the rows of both
    added: Mapping[str, str]  # columns of the second file by the names that they get
    label: str | None  # column of labels of both; None without
    # of two systems, whose rows are in both files: their names, and other names of the pool's own
    systems: Sequence[str] = ()
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, pool: str, second: str, label: str | None) -> "Join":
        """Return how files are joined, by the first of their rows."""
        columns, beside = look_at(pool)[1], look_at(second)[1]
        names, others = [one.name for one in columns], [one.name for one in beside]
        both = [one for one in columns if one.name in others]  # Numbers may be those of its lines.
        shared = Guess.of([o for o in both if o.kind != "whole" or best([o], IDS) is not None])
        id = [one.name for one in shared.id]
        if not id:
            raise InputError(
                f"{second}: rows are not named as in {pool}: both need ids in a column that is "
                f"called so, as id. There are {', '.join(names)}; and {', '.join(others)}; "
                f"{shared.why_open}"
            )
        rest = [one for one in beside if one.name not in id]
        if is_system(rest, columns, label):
            systems = _names(pool, second)
            first, other = (
                Guess.of(each, [label or ""], label).roles for each in (columns, beside)
            )
            added = {f"{role}_{systems[1]}": name for name, role in other.items()}
            renamed = {name: f"{role}_{systems[0]}" for name, role in first.items()}
            return cls(id, added, label, systems, renamed)
        coded = [one for one in rest if one.values]
        new = [one for one in coded if one.name not in names] or coded
        likely = best(new, LABELS) or best(coded, LABELS) or (new if len(new) == 1 else [None])[0]
        told = likely.name if label is None and likely is not None else label
        if told not in others or told in id:
            end = nearest(told or "", others, "there are")
            raise InputError(f"{second}: name its column of labels by --label{end}")
        label = "true_label" if told in names else told  # The pool may have one too.
        added = {label: told} | {name: name for name in others if name not in (*names, told)}
        return cls(id, added, label)


@contextlib.contextmanager
def with_second_file(
    pool: str, second: str, label: str | None, spec: Path
) -> Iterator[tuple[str, str | None, Sequence[str]]]:
    """Give the path of a table of both files, its column of labels, and its systems' names.

    The second file has labels of some rows, or what another system says of all: then columns are
    `score_NAME` and `prediction_NAME`, and labels, if named, those of the first. The file given is
    beside the spec: CSV if the pool is text without types, else Parquet. One that is there already
    has to be the same; a new one goes again if the block fails.
    """
    join = Join.of(pool, second, label)
    untyped = format_of(find_files(pool)[0].path).untyped
    what, end = "systems" if join.systems else "labelled", "csv" if untyped else "parquet"
    table = spec.with_name(f"{spec.stem}-{what}.{end}")
    draft = table.with_name(f".{table.name}")
    try:
        with contextlib.ExitStack() as files:
            writer = None
            for rows in _joined(pool, second, join, untyped):
                kind = pyarrow.csv.CSVWriter if untyped else pq.ParquetWriter
                writer = writer or files.enter_context(kind(str(draft), rows.schema))
                writer.write_batch(rows)
        is_new = not table.exists()
        if not is_new and not filecmp.cmp(draft, table, shallow=False):
            problem = "is there already, with other rows or labels"
            raise InputError(f"{table}: {problem}: remove it, and what was made of it")
        draft.replace(table)
    finally:
        draft.unlink(missing_ok=True)
    try:
        yield str(table), join.label, join.systems
    except InputError:
        if is_new:
            table.unlink()
        raise


def _names(*files: str) -> list[str]:
    """Return names of two systems by what the paths of their files differ in."""
    words = [re.findall(r"[^\W_]+", one) for one in files]
    both = (words, words[::-1])
    names = ["_".join(w for w in own if w not in other) for own, other in zip(*both, strict=True)]
    return names if all(names) else ["first", "second"]


def _joined(pool: str, second: str, join: Join, untyped: bool) -> Iterator[pa.RecordBatch]:
    """Yield a pool's rows with columns of a second file, first those that `look_at` is to see."""
    id = join.id
    told = pa.Table.from_batches([batch.rows for batch in _rows(second)]).combine_chunks()
    beside = PoolBatch(told.to_batches()[0], second)
    keys = _keys(beside, id)
    row, found = pc.index_in(keys, keys).to_numpy(), np.zeros(len(keys), np.int64)
    twice = row < np.arange(len(row))
    beside.refuse(id[0], twice, lambda k: f"{keys[k]} is in row {row[k]} too; a row has one label")
    columns = {}
    for name, own in join.added.items():
        column = beside.any_column(own)
        if not pa.types.is_nested(column.type):
            columns[name] = column if untyped or not is_text(column.type) else typed(column)
    unmet, schema = 0, None
    for is_first, batch in ((first, batch) for first in (True, False) for batch in _rows(pool)):
        ids, rows = _keys(batch, id), batch.rows
        places = pc.index_in(ids, keys)
        found += is_first * np.bincount(places.drop_null(), None, len(found))
        unmet, schema = unmet + places.null_count, schema or rows.schema
        with decodable(batch.path):
            rows = rows.cast(schema)
        if join.renamed:
            if places.null_count:
                lacking = pc.index(pc.is_null(places), True).as_py()
                raise batch.error(id[0], lacking, f"{ids[lacking]} is in no row of {second}")
            rows = rows.rename_columns([join.renamed.get(name, name) for name in rows.column_names])
        for name, column in columns.items():
            rows = rows.append_column(name, column.take(places))
        yield rows.filter(pc.equal(pc.fill_null(pc.less(places, MOST_ROWS // 2), False), is_first))
    beside.refuse(id[0], found > 1, lambda k: f"{keys[k]} is in {found[k]} rows of {pool}")
    lost = f"as are {(found == 0).sum():,} of {len(found):,} rows; there are ids such as {ids[-1]}"
    swapped = "; the pool is named first, its labels second" * (not (unmet or join.renamed))
    beside.refuse(id[0], found == 0, lambda k: f"{keys[k]} is in no row of {pool}, {lost}{swapped}")


def _rows(pattern: str) -> Iterator[PoolBatch]:
    for file in partitioned(find_files(pattern), None):
        yield from rows_of(PoolFile.head(file))


def _keys(batch: PoolBatch, id: Sequence[str]) -> pa.Array:
    return batch.id_texts(id) if len(id) > 1 else batch.ids(id[0]).cast(pa.large_string())
