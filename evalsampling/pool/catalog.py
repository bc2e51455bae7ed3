"""The files of a pool, checked against each other and cut into work items."""

import dataclasses
import functools
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.conditions import Filter
from evalsampling.pool.files import at_once, changed_while_read, fingerprint_of, hash_of_blocks
from evalsampling.pool.formats.registry import format_of
from evalsampling.pool.one_order import LeftOut
from evalsampling.pool.pool_file import PoolFile, PoolSource, common_schema, scratch_directory
from evalsampling.pool.source import check_same, keeps_nothing
from evalsampling.pool.splits import Split, WorkItem
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import sides_of
from evalsampling.spec.pool import PoolSpec


@dataclasses.dataclass(frozen=True)
class Catalog:
    """The files of a pool, all of one format, and the types of their columns."""

    files: tuple[PoolFile, ...]  # ordered by path; none of a pool that was in memory
    schema: pa.Schema  # columns that are read, and the types they have in every file
    where: Filter | None = None  # which of the rows there are; None for all
    # rows of pairs that are there in the other order, where orders say nothing
    left_out: LeftOut = LeftOut()

    @classmethod
    def from_files(cls, files: Collection[PoolFile], spec: EvaluationSpec) -> "Catalog":
        """Return files as one pool, checked to go together and to have the columns of a spec."""
        ordered = tuple(sorted(files, key=lambda file: file.stored.path))
        # Without rows a format that infers its columns knows of none.
        if not any(split.rows for file in ordered for split in file.contents.splits):
            raise keeps_nothing(spec.pool)
        schema = common_schema(ordered, spec)
        untyped = format_of(ordered[0].stored.path).untyped
        catalog = cls(ordered, schema, Filter.of_pool(spec.pool, schema, untyped))
        if catalog.where is not None and not any(catalog.items):
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
    def read(cls, spec: EvaluationSpec, directory: str | None = None) -> "Catalog":
        """Return the files of a pool, found and looked into here and now.

        Those that are not Parquet are imported to a directory or URL: by default to a folder of
        this machine, which is there until the process ends.
        """
        files = PoolSource(spec, directory or scratch_directory()).files()
        return cls.from_files([PoolFile.inspect(file) for file in files], spec)

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
                if split.wanted:
                    item = self._item(number, file, split, first_row)
                    yield dataclasses.replace(item, where=self.left_out.selection(item))
                first_row += split.rows

    def _item(self, number: int, file: PoolFile, split: Split, first_row: int) -> WorkItem:
        path = file.stored.path
        return WorkItem(
            path=file.path,
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
