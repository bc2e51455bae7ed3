"""The files of a pool, checked against each other and cut into work items."""

import dataclasses
import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.arrow import are_alike, is_text, unified
from evalsampling.pool.columns import missing_column, number_columns, required_columns
from evalsampling.pool.conditions import Filter
from evalsampling.pool.files import StoredFile, at_once, changed_while_read
from evalsampling.pool.fingerprint import fingerprint_of, hash_of_blocks
from evalsampling.pool.formats.registry import format_of, inspect
from evalsampling.pool.layout import Layout, PlannedFile
from evalsampling.pool.nested import there_are
from evalsampling.pool.one_order import LeftOut
from evalsampling.pool.source import check_same, keeps_nothing, planned_files
from evalsampling.pool.splits import Contents, Split, WorkItem
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import sides_of
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.where import columns_of


@dataclasses.dataclass(frozen=True)
class PoolFile:
    """One file of a pool and its contents.

    Attributes:
        stored: path and size.
        contents: what it holds, with the columns of the pool.
        blocks: see `files.hash_of_blocks`.
        layout: what becomes of the columns of the file; None if they are those of the pool.
        called: what messages call it; None for its path.
    """

    stored: StoredFile
    contents: Contents
    blocks: str
    layout: Layout | None = None
    called: str | None = None

    @classmethod
    def inspect(cls, file: PlannedFile) -> "PoolFile":
        """Return a file with its columns and splits."""
        contents, layout = inspect(file)
        return cls(file.stored, contents, hash_of_blocks(file.stored), layout, file.called)

    @property
    def unread(self) -> Mapping[str, str]:
        """Why columns of the file cannot be read, by their names."""
        return {} if self.layout is None else self.layout.unread

    def check_read(self, name: str) -> None:
        """Check that it is not for its type that a column, or a field of one, is not read."""
        for column, why in self.unread.items():
            if name == column or name.startswith(f"{column}."):
                raise InputError(why)

    def may_have(self, where: Filter | None, split: Split) -> bool:
        """Tell whether a split may have a row that satisfies a condition."""
        if where is None:
            return True
        ranges = split.ranges if self.layout is None else self.layout.ranges(split.ranges)
        return where.may_hold(ranges)


@dataclasses.dataclass(frozen=True)
class Catalog:
    """The files of a pool, all of one format, and the types of their columns.

    Attributes:
        files: ordered by path; none of a pool that was in memory.
        schema: columns that are read, and the types they have in every file.
        where: which of the rows there are; None for all.
        left_out: rows of pairs that are there in the other order, where orders say nothing.
    """

    files: tuple[PoolFile, ...]
    schema: pa.Schema
    where: Filter | None = None
    left_out: LeftOut = LeftOut()

    @classmethod
    def from_files(cls, files: Collection[PoolFile], spec: EvaluationSpec) -> "Catalog":
        """Return files as one pool, checked to go together and to have the columns of a spec.

        With a scorer all columns that the files have are read, for it may want any of them.
        """
        ordered = tuple(sorted(files, key=lambda file: file.stored.path))
        # Without rows a format that infers its columns knows of none.
        if not any(split.rows for file in ordered for split in file.contents.splits):
            raise keeps_nothing(spec.pool)
        condition = spec.pool.condition
        schema = _common_schema(ordered, spec, columns_of(condition))
        if condition is None:
            return cls(ordered, schema)._in_one_order(spec)
        untyped = format_of(ordered[0].stored.path).untyped
        catalog = cls(ordered, schema, Filter.of(condition, schema, untyped))
        if not any(catalog.items):
            raise keeps_nothing(spec.pool)
        return catalog._in_one_order(spec)

    def _in_one_order(self, spec: EvaluationSpec) -> "Catalog":
        """Return the pool without second rows of pairs in both orders, if the spec says so."""
        if spec.pool.pairs is None:
            return self
        sides = sides_of(spec.pool.id)
        assert sides is not None, "the spec was checked"
        for name in (*sides[0], *sides[1]):
            if name not in self.schema.names:
                raise InputError(
                    f"pool.pairs: unordered pairs are found before a scorer runs, and no file has "
                    f"{name!r}"
                )
        return dataclasses.replace(self, left_out=LeftOut.find(self.items, sides, spec.seed))

    @classmethod
    def read(cls, spec: EvaluationSpec) -> "Catalog":
        """Return the files of a pool, found and looked into here and now."""
        return cls.from_files([PoolFile.inspect(file) for file in planned_files(spec.pool)], spec)

    @functools.cached_property
    def rows(self) -> int:
        """Rows of the files, also those that a condition leaves out."""
        return sum(s.rows for file in self.files for s in file.contents.splits)

    @property
    def items(self) -> Iterator[WorkItem]:
        """Work items: one for each split of each file that may have a row that is wanted."""
        for number, file in enumerate(self.files):
            first_row = 0
            for split in file.contents.splits:
                if file.may_have(self.where, split):
                    item = self._item(number, file, split, first_row)
                    yield dataclasses.replace(item, where=self.left_out.selection(item))
                first_row += split.rows

    def _item(self, number: int, file: PoolFile, split: Split, first_row: int) -> WorkItem:
        path = file.stored.path
        return WorkItem(
            path=path,
            begin=split.begin,
            end=split.end,
            rows=split.rows,
            schema=self.schema,
            untyped=format_of(path).untyped,
            file=number,
            origin=file.called or path,
            first_row=first_row,
            stored=file.stored,
            layout=file.layout,
            where=self.where,
        )

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


def _common_schema(
    files: Sequence[PoolFile], spec: EvaluationSpec, looked_at: Sequence[str]
) -> pa.Schema:
    """Return the columns that a spec or a condition names, with types that hold in every file."""
    first = files[0]
    kind = format_of(first.stored.path)
    for file in files:
        if format_of(file.stored.path) is not kind:
            raise InputError(
                f"{file.stored.path}: another format than {first.stored.path}; "
                "a pool has files of one format; name them by a pattern, as folder/*.parquet"
            )
    names = [*required_columns(spec), *looked_at]
    if spec.pool.scorer:
        wide = files if kind.inferred else files[:1]
        names = [name for file in wide for name in (*file.contents.schema.names, *file.unread)]
    fields = []
    for name in dict.fromkeys(names):
        nested = (file.contents.with_field(name) for file in files if "." in name)
        # What column it is a field of, if it is one.
        own = next((schema.field(name) for schema in nested if name in schema.names), None)
        kind = _common_type(name, files, spec)
        fields.append(pa.field(name, kind, metadata=own and own.metadata))
    return pa.schema(fields)


def _common_type(name: str, files: Sequence[PoolFile], spec: EvaluationSpec) -> pa.DataType:
    """Return the type that a column has in all files."""
    numbers = number_columns(spec)
    inferred = format_of(files[0].stored.path).inferred
    common, first = pa.null(), files[0].stored.path
    anywhere = any(name in file.contents.with_field(name).names for file in files)
    for file in files:
        schema, path = file.contents.with_field(name), file.stored.path
        if name not in schema.names:
            if inferred and anywhere:
                continue
            file.check_read(name)
            names = there_are(name, schema.names, file.contents.fields.names)
            hint = missing_column(name, spec)
            raise InputError(f"{path}: column {name!r} is missing; {names}{hint}")
        if schema.names.count(name) > 1:
            raise InputError(f"{path}: column {name!r} is there twice")
        own = schema.field(name).type
        alike = inferred or file is files[0] or are_alike(own, common)
        both = unified(own, common) if alike else None
        if both is None:
            raise InputError(
                f"{path}: column {name!r} has type {own}, but {common} in {first}; "
                "write it with one type in all files"
            )
        common = both
    if not inferred:
        return common
    # What was seen may be whole by chance, or null. BigQuery writes whole numbers as text.
    if name in numbers and not is_text(common):
        return pa.float64()
    return pa.string() if common == pa.null() else common
