"""Drawing a round of rows one by one, each with a chance of its own, into a folder of files."""

import dataclasses
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from evalsampling.commands.options import SpecOptions, argument, option, positive
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.evaluation.drawn_rows import DrawnRows
from evalsampling.evaluation.specs import load_spec
from evalsampling.labels.drawn_tasks import DrawnTasks
from evalsampling.labels.sinks import task_file, write_tasks
from evalsampling.labels.task_names import key_of_seed, opaque_name
from evalsampling.labels.tasks import blind, make_batch, mask_key
from evalsampling.pool.source import pinned, unchanged
from evalsampling.preparation.drawn_payload import read_payload
from evalsampling.preparation.with_replacement import sample_with_replacement
from evalsampling.spec import EvaluationSpec
from evalsampling.storage import is_url
from evalsampling.storage.base import Draft
from evalsampling.storage.checksums import parse_parquet, write_parquet
from evalsampling.storage.durability import sync_folder, sync_tree
from evalsampling.storage.filesystems import unreadable
from evalsampling.storage.local import LocalStore
from evalsampling.workspace.workspace import MARKER

_DRAWS = "draws-{:04d}.parquet"
"""Name of the file of a round's draws: the columns that were read, and their weights."""

_DESIGN = b"evalsampling.design"
"""Key of the metadata of that file."""

_DECIDE = ("measure", "sampler", "labels", "strata", "seed")
"""Keys of the spec that must be the same for all rounds; of the measures it is the first."""


@dataclasses.dataclass(frozen=True)
class DrawOptions(SpecOptions):
    """What a call of `draw` asks for."""

    folder: str = argument("folder of the rounds, made if it is not there")
    draws: int | None = option(
        "most draws of the round (default: what the budget has left)", type=positive, metavar="N"
    )


@dataclasses.dataclass(frozen=True)
class DrawResult(Result):
    """A round that was drawn.

    Attributes:
        round: its number, from 1.
        draws: how many, repeats included.
        rows: distinct rows among them.
        to_label: rows among them that no earlier round has met.
        file: of the draws.
        tasks: the batch for annotators, None if no row needs a label.
    """

    round: int
    draws: int
    rows: int
    to_label: int
    file: str
    tasks: str | None


def draw(options: DrawOptions) -> DrawResult:
    """Draw the next round of a folder from the pool of a spec.

    Raises:
        InputError: for anything wrong with the spec, the pool or the folder, if that is of a
            workspace, or if the budget is spent, or another call has drawn the round meanwhile.
            Nothing is written then.
    """
    spec = pinned(load_spec(options.spec))
    if all(map(LocalStore(Path(options.folder)).exists, (MARKER, "cells.parquet"))):
        raise InputError(
            f"{options.folder}: a workspace, whose rounds `sample` draws; name another"
        )
    before = read_rounds(spec, options.folder)
    with unchanged(spec.pool):
        drawn = sample_with_replacement(spec, before, options.draws)
        every, number = DrawnRows.read(spec, [*before, drawn]), len(before) + 1
        new = np.flatnonzero(every.round[every.first] == number)
        batch = _batch(spec, every, new.tolist(), number)
    folder, file = Path(options.folder), _DRAWS.format(number)
    noted = drawn.replace_schema_metadata({_DESIGN: _design(spec)})
    store = LocalStore(folder)
    store.make()
    with store.one_at_a_time(), store.draft() as draft:
        if store.exists(file):
            raise InputError(f"{store.url(file)}: another draw made it meanwhile; run this again")
        names = _write_batch(batch, draft, spec, number) if len(new) else {}
        write_parquet(noted, draft.path(file))
        sync_tree(draft.directory)
        # The draws come last: now the round is there.
        for name, final in (*names.items(), (file, file)):
            target = folder / final
            if target.is_dir():  # Of a draw that was killed.
                shutil.rmtree(target)
            (draft.directory / name).replace(target)
        sync_folder(folder)
    return DrawResult(
        round=number,
        draws=len(drawn),
        rows=len(set(every.ids[len(every.ids) - len(drawn) :])),
        to_label=len(new),
        file=str(folder / file),
        tasks=str(folder / names[task_file(spec)]) if names else None,
    )


def _write_batch(
    batch: pa.Table, draft: Draft, spec: EvaluationSpec, number: int
) -> dict[str, str]:
    """Write the tasks of a round as the spec's sink does.

    Returns:
        The final name of each file or folder that the sink wrote, by its name in the draft.
    """
    tasks = task_file(spec)
    name = "b" + opaque_name(key_of_seed(spec.seed), "batch", number)[1:]
    write_tasks(batch, draft.path(tasks), spec, name)
    stems = {path.name: path.name.partition(".")[0] for path in draft.directory.iterdir()}
    return {
        name: f"{stem}-{number:04d}{''.join(Path(name).suffixes)}"
        for name, stem in {**stems, tasks: "batch"}.items()
    }


def _batch(spec: EvaluationSpec, every: DrawnRows, new: Sequence[int], number: int) -> pa.Table:
    """Return the tasks of a round as annotators see them, in an order that tells nothing."""
    tasks = DrawnTasks(spec, every.asked, every.round[every.first])
    names = [tasks.names[question] for question in new]
    rows = read_payload(spec, [tasks.ids[question] for question in new])
    return blind(make_batch(names, rows, spec, mask_key(key_of_seed(spec.seed), number)))


def read_rounds(spec: EvaluationSpec, folder: str) -> list[pa.Table]:
    """Return what the rounds of a folder drew, in order; none if there is no folder yet.

    Args:
        spec: of the evaluation.
        folder: of the rounds.

    Raises:
        InputError: if one is missing between others, or has another name; or if one cannot be read,
            or was drawn for another spec.
    """
    if is_url(folder):
        raise InputError(f"{folder}: rounds that are drawn row by row are kept on this machine")
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError(f"{folder}: is no folder")
    files = sorted(path.glob("draws-*.parquet"))
    for number, file in enumerate(files, start=1):
        name = path / _DRAWS.format(number)
        if file != name and name.exists():
            raise InputError(
                f"{file}: is no round, whose files are called {_DRAWS.format(1)} and so on: "
                "take it out of the folder"
            )
        if file != name:
            raise InputError(f"{name}: is missing, where {file.name} is there")
    return [_read(spec, file) for file in files]


def _read(spec: EvaluationSpec, file: Path) -> pa.Table:
    """Return the draws of a round, after checking that what draws them is that of the spec."""
    try:
        table = parse_parquet(file.read_bytes())
    except (OSError, pa.ArrowException) as error:
        raise unreadable(str(file), error) from error
    noted = (table.schema.metadata or {}).get(_DESIGN)
    if noted is not None and noted.decode() != _design(spec):
        then, now = json.loads(noted), json.loads(_design(spec))
        other = {key: then.get(key) for key in _DECIDE if then.get(key) != now[key]}
        raise InputError(
            f"{file}: was drawn with another {', '.join(other)} of the spec: {json.dumps(other)}"
        )
    return table


def _design(spec: EvaluationSpec) -> str:
    """Return what decides the chances of rows, and their draws, as JSON."""
    mapping = spec.to_mapping()
    return json.dumps({key: mapping[key] for key in _DECIDE} | {"measure": mapping["measure"][0]})
