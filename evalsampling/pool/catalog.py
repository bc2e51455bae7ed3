"""The files of a pool, checked against each other and cut into work items.

Files that are not Parquet are imported into Parquet once.
"""

import dataclasses
import functools
import hashlib
import json
import tempfile
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.arrow import are_alike, is_text, there_are, unified
from evalsampling.pool.columns import missing_column, number_columns
from evalsampling.pool.conditions import Filter
from evalsampling.pool.files import (
    StoredFile,
    changed_while_read,
    error_of_reading,
    fingerprint_of,
    hash_of_blocks,
)
from evalsampling.pool.formats.parquet import Parquet
from evalsampling.pool.formats.registry import PARQUET, format_of, inspect, kind_of
from evalsampling.pool.layout import Import, Layout, PlannedFile
from evalsampling.pool.one_order import LeftOut
from evalsampling.pool.source import check_same, keeps_nothing, planned_files
from evalsampling.pool.splits import Contents, WorkItem
from evalsampling.pool.stored_rows import as_row_groups, store_batches
from evalsampling.pool.tables.spark import is_stored
from evalsampling.spec import ReadingPlan
from evalsampling.spec.id_columns import sides_of
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.where import columns_of
from evalsampling.storage import open_store
from evalsampling.storage.filesystems import at_once


@dataclasses.dataclass(frozen=True)
class PoolFile:
    """One file of a pool and its contents."""

    stored: StoredFile  # path and size
    contents: Contents  # what it holds, with the columns of the pool
    blocks: str  # see `files.hash_of_blocks`; empty of a file that nobody reads
    path: str  # of the Parquet file that its rows are read from: its own, unless it was imported
    layout: Layout  # what becomes of the columns of the file
    called: str | None  # what messages call it; None for its path

    @classmethod
    def head(cls, file: PlannedFile) -> "PoolFile":
        """Return a file with its columns, without reading its rows."""
        contents, layout = inspect(file)
        return cls(file.stored, contents, "", file.stored.path, layout, file.called)

    @classmethod
    def inspect(cls, file: PlannedFile) -> "PoolFile":
        """Return a file with its columns and splits; its rows are imported if it is not Parquet."""
        blocks = hash_of_blocks(file.stored)
        if file.to_import is None:
            return dataclasses.replace(cls.head(file), blocks=blocks)
        path = _imported(file, blocks)
        copy = dataclasses.replace(
            file, stored=dataclasses.replace(file.stored, path=path), kind=None
        )
        contents, layout = inspect(copy)
        contents = dataclasses.replace(contents, warning=file.to_import.warning)
        return cls(file.stored, contents, blocks, path, layout, file.called)

    def read(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns of a schema that are in the file itself, not in its path."""
        return pa.schema([field for field in schema if field.name not in self.layout.fixed])


def _imported(file: PlannedFile, blocks: str) -> str:
    """Return the Parquet file with the rows of another file; it is written unless it is there.

    Its name is a hash of all that is known of the file and of its columns. It comes in as a whole,
    so whoever finds it reads what he would have written.
    """
    kind = kind_of(file)
    assert file.to_import is not None
    assert not isinstance(kind, Parquet)
    directory, schema = file.to_import.directory, file.to_import.schema
    facts = json.dumps([dataclasses.asdict(file.stored), blocks, str(schema), str(file.kind)])
    name = f"{hashlib.sha256(facts.encode()).hexdigest()}.parquet"
    store = open_store(directory)
    if not store.exists(name):
        store.make()
        batches = as_row_groups(kind.read(file.stored, schema))
        empty = pa.schema([(field.name, field.type) for field in schema])
        try:
            for _ in store_batches(batches, directory, name, empty=empty):
                pass
        except InputError as error:
            raise error_of_reading(file.stored, error) from error
    return store.url(name)


def check_one_format(files: Sequence[PlannedFile]) -> bool:
    """Check that files have one format; return whether it is Parquet."""
    if files[0].kind is not None:
        return False
    first = files[0].stored.path
    for file in files:
        if format_of(file.stored.path) is not format_of(first):
            rule = "a pool has files of one format; name them by a pattern, as folder/*.parquet"
            raise InputError(f"{file.stored.path}: another format than {first}; {rule}")
    return format_of(first) is PARQUET


def common_schema(files: Sequence[PoolFile], plan: ReadingPlan) -> pa.Schema:
    """Return the columns that a plan names, with types that hold in every file.

    With a scorer all columns that the files have are read, for it may want any of them.
    """
    inferred = format_of(files[0].path).inferred
    names = [*plan.all_columns, *columns_of(plan.pool.condition)]
    if plan.pool.scorer:
        wide = files if inferred else files[:1]
        names = [name for file in wide for name in file.contents.schema.names]
    fields = []
    for name in dict.fromkeys(names):
        nested = (file.contents.with_field(name) for file in files if "." in name)
        # What column it is a field of, if it is one.
        own = next((schema.field(name) for schema in nested if name in schema.names), None)
        kind = _common_type(name, files, plan, inferred)
        fields.append(pa.field(name, kind, metadata=own and own.metadata))
    return pa.schema(fields)


def _common_type(
    name: str, files: Sequence[PoolFile], plan: ReadingPlan, inferred: bool
) -> pa.DataType:
    """Return the type that a column has in all files; some may lack it if columns are inferred."""
    common, first = pa.null(), files[0].stored.path
    anywhere = any(name in file.contents.with_field(name).names for file in files)
    for file in files:
        schema, path = file.contents.with_field(name), file.stored.path
        if name not in schema.names:
            if inferred and anywhere:
                continue
            names = there_are(name, schema.names, file.contents.fields.names)
            hint = missing_column(name, plan)
            raise InputError(f"{path}: column {name!r} is missing; {names}{hint}")
        if schema.names.count(name) > 1:
            raise InputError(f"{path}: column {name!r} is there twice")
        own = schema.field(name).type
        alike = inferred or file is files[0] or are_alike(own, common)
        both = unified(own, common) if alike else None
        if both is None:
            problem = f"column {name!r} has type {own}, but {common} in {first}"
            raise InputError(f"{path}: {problem}; write it with one type in all files")
        common = both
    if not inferred:
        return common
    # What was seen may be whole by chance, or null. BigQuery writes whole numbers as text.
    if name in number_columns(plan) and not is_text(common):
        return pa.float64()
    return pa.string() if common == pa.null() else common


@dataclasses.dataclass(frozen=True)
class PoolSource:
    """The files of a pool, and where those are imported to that are not Parquet."""

    plan: ReadingPlan
    directory: str

    def files(self) -> list[PlannedFile]:
        """Return the files to read, with the common types of their columns."""
        planned = planned_files(self.plan.pool)
        if check_one_format(planned):
            return planned
        heads = at_once(PoolFile.head, planned)
        # A file without rows may have no columns.
        seen = [head for head in heads if head.contents.schema.names]
        schema = common_schema(seen, self.plan) if seen else pa.schema([])
        return [
            dataclasses.replace(
                file, to_import=Import(self.directory, head.read(schema), head.contents.warning)
            )
            for file, head in zip(planned, heads, strict=True)
        ]


@functools.cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """Return where commands that have no workspace import files to, until this process ends."""
    return tempfile.TemporaryDirectory(prefix="evalsampling-")


def lacks_assumed_score(pool: PoolSpec) -> bool:
    """Tell whether a pool that can be read lacks the column ``score`` and names no other."""
    if not pool.assumes_score or is_stored(pool):
        return False
    try:
        files = planned_files(pool)
        if not format_of(files[0].stored.path).inferred:  # One file tells which columns there are.
            files = files[:1]
        return not any(pool.score in PoolFile.head(file).contents.schema.names for file in files)
    except InputError:
        return False


@dataclasses.dataclass(frozen=True)
class Catalog:
    """The files of a pool, all of one format, and the types of their columns."""

    files: tuple[PoolFile, ...]  # ordered by path; none of a pool that was in memory
    schema: pa.Schema  # columns that are read, and the types they have in every file
    where: Filter | None = None  # which of the rows there are; None for all
    # rows of pairs that are there in the other order, where orders say nothing
    left_out: LeftOut = LeftOut()

    @classmethod
    def from_files(cls, files: Collection[PoolFile], plan: ReadingPlan) -> "Catalog":
        """Return files as one pool, checked to go together and to have the columns of a plan."""
        ordered = tuple(sorted(files, key=lambda file: file.stored.path))
        # Without rows a format that infers its columns knows of none.
        if not any(split.rows for file in ordered for split in file.contents.splits):
            raise keeps_nothing(plan.pool)
        schema = common_schema(ordered, plan)
        untyped = format_of(ordered[0].stored.path).untyped
        catalog = cls(ordered, schema, Filter.of_pool(plan.pool, schema, untyped))
        if catalog.where is not None and not any(catalog.items):
            raise keeps_nothing(plan.pool)
        return catalog._in_one_order(plan)

    def _in_one_order(self, plan: ReadingPlan) -> "Catalog":
        """Return the pool without second rows of pairs in both orders, if the spec says so."""
        if plan.pool.pairs is None:
            return self
        sides = sides_of(plan.pool.id)
        assert sides is not None, "the spec was checked"
        for name in (*sides[0], *sides[1]):
            if name not in self.schema.names:
                problem = "unordered pairs are found before a scorer runs"
                raise InputError(f"pool.pairs: {problem}, and no file has {name!r}")
        return dataclasses.replace(self, left_out=LeftOut.find(self.items, sides, plan.seed))

    @classmethod
    def read(cls, plan: ReadingPlan, directory: str | None = None) -> "Catalog":
        """Return the files of a pool, found and looked into here and now.

        Those that are not Parquet are imported to a directory or URL: by default to a folder of
        this machine, which is there until the process ends.
        """
        files = PoolSource(plan, directory or _scratch().name).files()
        return cls.from_files([PoolFile.inspect(file) for file in files], plan)

    @functools.cached_property
    def rows(self) -> int:
        """Rows of the files, also those that a condition leaves out."""
        return sum(s.rows for file in self.files for s in file.contents.splits)

    @property
    def items(self) -> Iterator[WorkItem]:
        """Work items: one for each split of each file that may have a row that is wanted."""
        for number, file in enumerate(self.files):
            first_row, path = 0, file.stored.path
            for split in file.contents.splits:
                if split.wanted:
                    item = WorkItem(
                        path=file.path, groups=split.groups, rows=split.rows,
                        schema=self.schema, untyped=format_of(path).untyped, file=number,
                        origin=file.called or path, first_row=first_row, stored=file.stored,
                        layout=file.layout, where=self.where,
                    )  # fmt: skip
                    yield dataclasses.replace(item, where=self.left_out.selection(item))
                first_row += split.rows

    @property
    def fingerprint(self) -> list[dict[str, Any]]:
        """Path, size, hash of blocks and, in a store, version of each file.

        It differs if the pool has changed, unless blocks that are not hashed alone did, in a file
        of this machine.
        """
        return [fingerprint_of(file.stored, file.blocks) for file in self.files]

    def check_unchanged(self, pool: PoolSpec) -> None:
        """Check that the files are still as they were found, and that there are no others.

        By their sizes and when they were written; those without a generation by their blocks too.
        """
        if not self.files:
            return
        check_same([file.stored for file in self.files], pool)
        doubtful = [file for file in self.files if file.stored.generation is None]
        hashes = at_once(hash_of_blocks, [file.stored for file in doubtful])
        for file, blocks in zip(doubtful, hashes, strict=True):
            if blocks != file.blocks:
                raise changed_while_read(file.stored.path)

    @property
    def warnings(self) -> list[str]:
        """Warnings about files that are slow to read, and about pairs in both orders."""
        slow = [file.contents.warning for file in self.files if file.contents.warning]
        return [*slow, *self.left_out.words]
