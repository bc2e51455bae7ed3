"""Files of tasks for annotators, made of tasks from anywhere."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from evalsampling.labels.sinks import task_file, write_tasks
from evalsampling.labels.tasks import TASK
from evalsampling.spec import EvaluationSpec


def task_files(
    spec: EvaluationSpec, tasks: Iterable[Mapping[str, Any]], name: str
) -> dict[str, bytes]:
    """Return the files of tasks in the format of a spec's sink, by their paths.

    Args:
        spec: with the sink.
        tasks: as annotators get them, in any order; the same one may come repeatedly.
        name: of the file, without its extension, or of the folder of files.

    Raises:
        InputError: if the sink is not installed, or cannot write them.
    """
    distinct = {task[TASK]: dict(task) for task in tasks}
    table = pa.Table.from_pylist([distinct[key] for key in sorted(distinct)])
    batch = PurePosixPath(task_file(spec))
    own = f"{name}{batch.suffix}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / own
        write_tasks(table, path, spec, name)
        written = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        return {str(file.relative_to(folder)): file.read_bytes() for file in written}
