"""Pools, workspaces and command-line calls that tests share."""

import contextlib
import csv
import dataclasses
import functools
import hashlib
import importlib.util
import io
import itertools
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from evalsampling.cli.main import main
from evalsampling.workspace.snapshot import Snapshot


@dataclasses.dataclass(frozen=True)
class Pool:
    """A synthetic pool: rare positives, a score that finds most of them."""

    table: pa.Table
    truth: dict[Any, Any]

    def write(self, directory: Path, files: int = 1, group_rows: int = 1 << 20) -> Path:
        """Write it as Parquet files and return their pattern."""
        directory.mkdir(parents=True, exist_ok=True)
        for i, part in enumerate(self._parts(files)):
            pq.write_table(part, directory / f"part-{i}.parquet", row_group_size=group_rows)
        return directory / "*.parquet"

    def write_as(self, suffix: str, directory: Path, files: int = 1) -> Path:
        """Write it in another format and return the pattern of its files."""
        directory.mkdir(parents=True, exist_ok=True)
        for i, part in enumerate(self._parts(files)):
            _WRITERS[suffix](part, directory / f"part-{i}.{suffix}")
        return directory / f"*.{suffix}"

    def _parts(self, files: int) -> Iterator[pa.Table]:
        bounds = np.linspace(0, len(self.table), files + 1).astype(int)
        for begin, end in itertools.pairwise(bounds):
            yield self.table.slice(begin, end - begin)

    def with_text_ids(self) -> "Pool":
        """The pool as a format without types has it."""
        table = self.with_columns(id=self.table["id"].cast(pa.string())).table
        return Pool(table, {str(id): label for id, label in self.truth.items()})

    def with_columns(self, **columns: Any) -> "Pool":
        """The pool with more columns, or with others in their place."""
        table = self.table
        for name, values in columns.items():
            column = values if isinstance(values, pa.ChunkedArray) else pa.array(values)
            place = table.schema.get_field_index(name)
            put = table.append_column if place < 0 else functools.partial(table.set_column, place)
            table = put(name, column)
        return Pool(table, self.truth)


def _write_json_lines(table: pa.Table, path: Path) -> None:
    with path.open("w") as file:
        for row in table.to_pylist():
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_avro(table: pa.Table, path: Path) -> None:
    names = {"double": "double", "bool": "boolean"}
    fields = [
        {"name": field.name.replace(".", "_"), "type": ["null", names.get(str(kind), written)]}
        for field in table.schema
        for kind in [getattr(field.type, "value_type", field.type)]
        for written in ["long" if pa.types.is_integer(kind) else "string"]
    ]
    schema = {"type": "record", "name": "Row", "fields": fields}
    renamed = table.rename_columns([field["name"] for field in fields])
    with path.open("wb") as file:
        fastavro.writer(file, schema, renamed.to_pylist())


_WRITERS: dict[str, Callable[[pa.Table, Path], None]] = {
    "csv": pyarrow.csv.write_csv,
    "jsonl": _write_json_lines,
    "avro": _write_avro,
}


@functools.cache
def make_pool(rows: int = 2000, seed: int = 0, text_ids: bool = False) -> Pool:
    """Make a pool."""
    rng = np.random.default_rng(seed)
    truth = rng.random(rows) < 0.03
    score = rng.normal(size=rows) + 4 * truth - 2
    numbers = rng.permutation(rows) * 7 + 3
    ids = [f"{i:06d}" for i in numbers] if text_ids else numbers
    table = pa.table(
        {
            "id": pa.array(ids),
            "score": score,
            "prediction": pa.array((score > 1).astype(np.int8)),
            "name": [f"row {i}" for i in numbers],
        }
    )
    return Pool(table, dict(zip(table["id"].to_pylist(), truth.astype(int).tolist(), strict=True)))


@functools.cache
def make_rich_pool(rows: int = 1500, seed: int = 0, systems: int = 2, classes: int = 2) -> Pool:
    """Make a pool with every kind of column.

    Systems ``s0``, ``s1``, ...: columns ``s0.score`` (any number), ``s0.chance`` (in [0, 1]),
    ``s0.prediction`` and, for each class, ``s0.p0``, ``s0.p1``, ...; features ``x`` and ``y``;
    slices ``city`` (text, encoded, nulls), ``year`` (whole numbers, nulls), ``new`` (booleans,
    nulls); ``size``, positive and skewed.
    """
    rng = np.random.default_rng(seed)
    rare = 0.08 / (classes - 1)
    truth = rng.choice(classes, size=rows, p=[0.92, *[rare] * (classes - 1)])
    ids = rng.permutation(rows) * 7 + 3
    columns: dict[str, Any] = {"id": ids, "name": [f"row {id}" for id in ids]}
    for number in range(systems):
        logits = rng.normal(size=(rows, classes)) + 3 * np.eye(classes)[truth]
        logits[:, 0] += 1
        p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        columns[f"s{number}.score"] = np.log1p(-p[:, 0]) - np.log(p[:, 0])
        columns[f"s{number}.chance"] = 1 - p[:, 0]
        columns[f"s{number}.prediction"] = p.argmax(axis=1).astype(np.int8)
        columns |= {f"s{number}.p{y}": p[:, y] for y in range(classes)}
    columns["x"], columns["y"] = rng.normal(size=(2, rows)) + 2 * (truth > 0)
    columns["size"] = np.exp(rng.normal(size=rows) + 2 * (truth > 0))

    def some(values: Any, share: float = 0.1) -> pa.Array:
        return pa.array(values, mask=rng.random(rows) < share)

    city = some(rng.choice(["Bern", "Genève", "Zürich"], size=rows, p=[0.6, 0.39, 0.01]))
    columns["city"] = city.dictionary_encode()
    columns["year"] = some(rng.integers(2019, 2022, size=rows))
    columns["new"] = some(rng.random(rows) < 0.3)
    return Pool(pa.table(columns), dict(zip(ids.tolist(), truth.tolist(), strict=True)))


def make_label_set_pool(rows: int = 900, seed: int = 4) -> Pool:
    """Make a pool whose rows have several labels, columns ``p_`` and ``is_``, truth as texts."""
    rng = np.random.default_rng(seed)
    logit = np.array([-1.5, -2.5, -3.0]) + rng.normal(0, 1.5, (rows, 1))
    p = 1 / (1 + np.exp(-logit - rng.normal(0, 1, (rows, 3))))
    held = rng.random((rows, 3)) < p
    columns: dict[str, Any] = {"id": np.arange(rows), "score": p.max(axis=1)}
    columns |= {f"p_{name}": p[:, i] for i, name in enumerate(LABEL_SET)}
    columns |= {f"is_{name}": (p[:, i] > 0.35).astype(int) for i, name in enumerate(LABEL_SET)}
    columns["name"] = [f"row {row}" for row in range(rows)]
    texts = ["+".join(itertools.compress(LABEL_SET, row)) or "none" for row in held]
    return Pool(pa.table(columns), dict(enumerate(texts)))


LABEL_SET = ("toxic", "insult", "threat")
"""Labels of which a row may have several."""


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Score nothing: a scorer for specs."""
    return batch


def napping(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Score nothing, after as many seconds as the variable NAP says: a scorer for specs."""
    time.sleep(float(os.environ.get("NAP", "0")))
    return batch


def strict_json(text: str) -> Any:
    """Parse JSON as the standard has it: Python's own parser takes NaN and Infinity too."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} in JSON")

    return json.loads(text, parse_constant=refuse)


@dataclasses.dataclass
class Result:
    """What a call of the command line did."""

    status: int
    out: str
    err: str

    @property
    def done(self) -> "Result":
        """Itself, which went well."""
        assert self.status == 0, self.err
        return self

    @property
    def refused(self) -> str:
        """What it said as it ended with 1: something could not be done."""
        assert self.status == 1, self
        return self.err

    @property
    def misused(self) -> str:
        """What it said as it ended with 2: its options are wrong."""
        assert self.status == 2, self
        return self.err

    @property
    def json(self) -> Any:
        """The object it printed, which is JSON: without NaN or Infinity."""
        return strict_json(self.out)


def call(*arguments: Any) -> Result:
    """Call the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return Result(status, out.getvalue(), err.getvalue())


class DoneBefore:
    """What commands made of folders: it is put where a folder is again as it was then."""

    def __init__(self) -> None:
        self._done = dict[bytes, tuple[Result, dict[str, bytes | None]]]()

    def call(self, directory: Path, *arguments: Any) -> Result:
        """Return what a command says, which reads and writes below a directory, or named files."""
        before = files_below(directory)
        named = [path for path in map(Path, map(str, arguments)) if path.is_absolute()]
        key = hashlib.sha256(repr([*map(str, arguments)]).encode())
        for files in (before, *(files_below(path) for path in named if path != directory)):
            for name, content in sorted(files.items()):
                key.update(f"{name} {len(content)} ".encode() + content)
        if key.digest() not in self._done:
            result = call(*arguments)
            after = files_below(directory)
            made = {name: content for name, content in after.items() if before.get(name) != content}
            if result.status == 0:
                made |= dict.fromkeys(before.keys() - after.keys())
                self._done[key.digest()] = result, made
            return result
        result, made = self._done[key.digest()]
        for name, content in made.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if content is None else path.write_bytes(content)
        return result


@dataclasses.dataclass
class Job:
    """A spec on disk with its pool, and shorthands; `before` copies what others made."""

    directory: Path
    pool: Pool
    spec: Path
    workspace: Path
    in_process: bool = False
    before: DoneBefore | None = None

    def call(self, *arguments: Any) -> Result:
        """Call the command line, or copy what it did in such a workspace."""
        return self.before.call(self.directory, *arguments) if self.before else call(*arguments)

    def prepare(self, *options: Any) -> Result:
        """Run `prepare --json`, by Beam if options are given or its runner is asked for."""
        if not self.in_process and not options:
            options = ("--direct_num_workers=2",)
        return self.call("prepare", self.spec, "--json", *options)

    def sample(self, *options: Any) -> Result:
        """Run `sample --json`."""
        return self.call("sample", self.workspace, "--json", *options)

    def prepared(self) -> "Job":
        """Itself, once it is prepared."""
        assert self.prepare().done
        return self

    def drawn(self, *options: Any) -> "Job":
        """Itself, once it is prepared and has a first round."""
        assert self.prepared().sample(*options).done
        return self

    def estimate(self, *options: Any) -> Result:
        """Run `estimate --json`."""
        return call("estimate", self.workspace, "--json", *options)

    def answer(self, number: int, name: str = "labels.csv", *options: Any) -> Result:
        """Deliver the true labels of a round, and run `estimate --json`."""
        labels = self.deliver(self.answers(number), name)
        return self.call("estimate", self.workspace, "--json", "--labels", labels, *options)

    def batch(self, number: int) -> dict[str, list[Any]]:
        """Return the tasks of a round, ids included."""
        return pq.read_table(self.round_directory(number) / "batch.parquet").to_pydict()

    def round_directory(self, number: int) -> Path:
        """Return where the files of a round are."""
        return self.workspace / "rounds" / f"{number:04d}"

    def asked(self, number: int) -> list[tuple[str, Any]]:
        """Return task and id of every question of a round, in the order of the draws."""
        snapshot = Snapshot.at(self.workspace)
        files = snapshot.rounds[number - 1]
        tasks = files.new_tasks(snapshot.pool)
        return list(zip(tasks, files.asked["id"].to_pylist(), strict=True))

    def answers(self, number: int) -> list[tuple[str, str]]:
        """Return task and true label of every row of a round."""
        batch = self.batch(number)
        return [
            (task, str(self.pool.truth[id]))
            for task, id in zip(batch["task"], batch["id"], strict=True)
        ]

    def write_truth(self) -> Path:
        """Write the true labels of the pool, as `simulate` takes them, and return their file."""
        path = self.directory / "truth.parquet"
        labels = {"id": list(self.pool.truth), "label": list(self.pool.truth.values())}
        pq.write_table(pa.table(labels), path)
        return path

    def rejects(self) -> list[dict[str, str]]:
        """Return the lines of the one list of rejects."""
        (listed,) = (self.workspace / "labels").glob("*.rejects.csv")
        return csv_rows(listed)

    def deliver(
        self, rows: Sequence[Sequence[str]], name: str = "labels.csv", header: str = "task,label"
    ) -> Path:
        """Write a CSV file of labels."""
        path = self.directory / name
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header.split(","))
            writer.writerows(rows)
        return path

    def take(
        self,
        rows: Sequence[Sequence[str]],
        name: str = "labels.csv",
        header: str = "task,label",
        option: str = "--labels",
    ) -> Result:
        """Deliver a CSV file of labels, and run `estimate --json`."""
        return self.estimate(option, self.deliver(rows, name, header))


Jobs = Callable[..., Job]
"""What the fixture `job` is."""


def loaded(path: Path) -> ModuleType:
    """A program as a module, wherever it is."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def csv_rows(path: str | Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file, with or without the mark of its encoding."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def text_of(path: Path) -> str:
    """Return what a file says; of a workbook the text of its parts."""
    if path.suffix != ".xlsx":
        return path.read_bytes().decode("utf-8", "replace")
    with zipfile.ZipFile(path) as parts:
        return "\n".join(parts.read(name).decode() for name in parts.namelist())


def files_below(directory: Path) -> dict[str, bytes]:
    """Return path and content of every file, but for the lock of a workspace."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in ([directory] if directory.is_file() else directory.rglob("*"))
        if path.is_file() and path.name != ".in-use"
    }
