"""Files of tasks for annotators, made of tasks from anywhere."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.labels.sinks import task_file, write_tasks
from evalsampling.labels.tasks import TASK
from evalsampling.pool.row_batches import batches_of
from evalsampling.spec import EvaluationSpec


def task_files(
    spec: EvaluationSpec, tasks: Iterable[Mapping[str, Any]], name: str
) -> dict[str, bytes]:
    """Return the files of tasks in the format of a spec's sink, by their paths."""
    distinct = {task[TASK]: dict(task) for task in tasks}
    ordered = [distinct[key] for key in sorted(distinct)]
    table = pa.Table.from_batches([b.rows for b in batches_of(ordered, [*ordered[0]], "tasks")])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, task_file(spec))
        write_tasks(table, path, spec, name)
        home = path if path.is_dir() else path.parent
        files = {
            file.relative_to(home).as_posix(): file.read_bytes()
            for file in sorted(home.rglob("*"))
            if file.is_file()
        }
    if [*files] == [path.name]:
        return {f"{name}{path.suffix}": files[path.name]}
    return {f"{name}/{own}": content for own, content in files.items()}
