"""A format of batches: ``sink: {format: tabs}`` writes fields with tabs between them."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.vote import Vote
from evalsampling.spec import LabellingPlan


class Tabs:
    """Tasks in a file of fields with tabs between them, which comes back with the labels in it."""

    batch = "batch.tsv"
    checks_tasks = True
    endings = (".tsv",)

    def write(self, table: pa.Table, path: Path, plan: LabellingPlan, batch: str) -> None:
        """Write the tasks of a batch: columns ``task``, the payload, and ``label`` to be filled."""
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, delimiter="\t")
            rows.writerow(table.column_names)
            rows.writerows(row.values() for row in table.to_pylist())

    def read(self, path: str, content: bytes) -> Iterator[Vote]:
        """Yield the votes of a file that came back; who leaves a label empty declines to answer."""
        rows = csv.DictReader(io.StringIO(content.decode(), newline=""), delimiter="\t")
        if not {"task", "label"} <= {*(rows.fieldnames or ())}:
            raise InputError(f"{path}: no columns task and label")
        for row in rows:
            yield Vote(
                rows.line_num,
                task=row["task"],
                label=row["label"] or None,
                annotator=row.get("annotator") or None,
                skipped=not row["label"],
            )


TABS = Tabs()
