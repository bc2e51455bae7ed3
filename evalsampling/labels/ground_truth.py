"""Manifests of SageMaker Ground Truth: JSON Lines, an object that was labelled in each.

A line of the input has ``source``, the text that is shown, and keys of ours, which come back as
they are. A line of the output has also the label attribute of the job and, under the same name
and ``-metadata``, how it came about. Of a job with several classes for one row the attribute lists
their places, and ``class-map`` of the metadata names them.
"""

import dataclasses
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.labels.tasks import shown_columns
from evalsampling.labels.vote import Vote, field_text

METADATA = "-metadata"


def write_tasks(table: pa.Table, path: Path, *_: object) -> None:
    """Write tasks as an input manifest: the payload as one text, a line for each column.

    The arguments are those of `sinks.Sink.write`.
    """
    names = shown_columns(table)
    with path.open("w", encoding="utf-8") as file:
        for row in table.to_pylist():
            lines = [f"{name}: {'' if row[name] is None else row[name]}" for name in names]
            line = {"source": "\n".join(lines), "task": row["task"]}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def is_line(row: Mapping[str, Any]) -> bool:
    """Tell whether an object is a line of an output manifest: it tells how a label came about.

    An object with a ``label`` of its own is one only if it tells how that one came about: the label
    attribute of a job may have that name, and then holds the number of the class, not its name.
    """
    names = [f"label{METADATA}"] if "label" in row else row
    return any(name.endswith(METADATA) and isinstance(row.get(name), dict) for name in names)


def read_line(line: int, row: Mapping[str, Any]) -> Vote:
    """Return the vote of a line of an output manifest.

    A line that no job has labelled yet is not answered. One that a machine has labelled is none
    of ours, and neither is one whose parts disagree, or that does not tell who labelled it.
    """
    vote = _vote(line, row)
    if vote.problem is None:
        return vote
    return dataclasses.replace(vote, task=field_text(row.get("task")), label=_given(row))


def _given(row: Mapping[str, Any]) -> str | None:
    """Return the label of a line, or those of several jobs, as text for the list of rejects."""
    labels = {}
    for name, metadata in row.items():
        if name.endswith(METADATA):
            job = name.removesuffix(METADATA)
            class_name = metadata.get("class-name") if isinstance(metadata, dict) else None
            labels[job] = field_text(row.get(job) if class_name is None else class_name)
    if len(labels) < 2:
        return next(iter(labels.values()), field_text(row.get("label")))
    return ", ".join(f"{job}={label}" for job, label in labels.items())


def _vote(line: int, row: Mapping[str, Any]) -> Vote:
    """Return the vote of a line, or what is wrong with it."""
    task = row.get("task")
    if not isinstance(task, str) or not task:
        return Vote(line, problem="'task' is missing")
    attributes = [name for name in row if name.endswith(METADATA)]
    if not attributes:
        problem = f"'label{METADATA}' is missing: nobody knows who labelled it"
        return Vote(line, problem=problem) if "label" in row else Vote(line, task=task)
    if len(attributes) > 1:
        return Vote(line, problem=f"labels of several jobs: {', '.join(map(repr, attributes))}")
    name, metadata = attributes[0], row[attributes[0]]
    if not isinstance(metadata, dict):
        return Vote(line, problem=f"{name!r} is no object")
    if "failure-reason" in metadata:
        return Vote(line, task=task)
    if metadata.get("human-annotated") != "yes":
        return Vote(line, problem="labelled by a machine: human-annotated is not 'yes'")
    label: str | None = None
    chosen: tuple[str, ...] | None = None
    given = row.get(name.removesuffix(METADATA))
    if "class-map" in metadata:
        chosen = _chosen(given, metadata["class-map"])
        if chosen is None:
            return Vote(line, problem="the label is no list of numbers that 'class-map' names")
    else:
        value = metadata.get("class-name", given)
        is_class = isinstance(value, str | int | Decimal) and not isinstance(value, bool)
        if not is_class or value == "":
            return Vote(line, problem="no class-name, and the label is no text and no number")
        label = str(value)
    job, time = metadata.get("job-name"), metadata.get("creation-date")
    return Vote(
        line,
        task=task,
        label=label,
        labels=chosen,
        annotator=job if isinstance(job, str) and job else None,
        time=time if isinstance(time, str) else None,
        comment=_comment(metadata.get("worker-feedback")),
    )


def _chosen(places: Any, class_map: Any) -> tuple[str, ...] | None:
    """Return the classes at some places of a job's list of them, None if the label is damaged."""
    if not isinstance(places, list) or not isinstance(class_map, dict):
        return None
    names = [class_map.get(str(place)) for place in places if not isinstance(place, bool)]
    if len(names) < len(places) or not all(isinstance(name, str) and name for name in names):
        return None
    return tuple(map(str, names))


def _comment(feedback: Any) -> str | None:
    entries = feedback if isinstance(feedback, list) else []
    comments = [part["comment"] for part in entries if isinstance(part, dict) and "comment" in part]
    return "\n".join(map(str, comments)) or None
