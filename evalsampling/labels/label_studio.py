"""Tasks of Label Studio: JSON, and the configuration of its page. `labels.exports` reads answers.

Tried with Label Studio 1.23.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import UNSURE_LABEL
from evalsampling.labels.tasks import shown_columns
from evalsampling.spec import LabellingPlan
from evalsampling.spec.labels import LabelsSpec
from evalsampling.spec.sink import Sides, SinkSpec

FOLDER, CONFIG = "label-studio", "label-config.xml"

TOKEN = "LABEL_STUDIO_TOKEN"
"""Environment variable that holds the key of a user of a server."""

_LABEL, _COMMENT = "label", "comment"
"""Names of the controls of the page."""

_TASK, _BATCH = "task", "batch"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_UNSHOWN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow."""

QUESTION = "Which label is right?"


def write_tasks(table: pa.Table, folder: Path, plan: LabellingPlan, batch: str) -> None:
    """Write a folder of tasks as files of JSON, and the configuration of the page for them."""
    folder.mkdir()
    config, chunk = label_config(shown_columns(table), plan.labels, plan.sink), plan.sink.chunk
    (folder / CONFIG).write_text(config, encoding="utf-8")
    tasks = list(tasks_of(table, batch))
    for number, begin in enumerate(range(0, len(tasks), chunk), start=1):
        text = json.dumps(tasks[begin : begin + chunk], ensure_ascii=False, indent=1)
        (folder / f"tasks-{number:04d}.json").write_text(text + "\n", encoding="utf-8")


def tasks_of(table: pa.Table, batch: str) -> Iterator[dict[str, Any]]:
    """Yield tasks as Label Studio imports them, values as text, since JavaScript rounds numbers."""
    keys = data_keys(shown_columns(table))
    for row in table.select([_TASK, *keys]).to_pylist():
        shown = {key: "" if row[name] is None else str(row[name]) for name, key in keys.items()}
        yield {"data": {_TASK: row[_TASK], _BATCH: batch, **shown}}


def data_keys(columns: Sequence[str]) -> dict[str, str]:
    """Return the key of each column in a task: its name, or a made one if that is not allowed.

    A key is letters, digits and underscores, and differs from the names of the page's controls.
    """
    taken = (_TASK, _BATCH, _LABEL, _COMMENT)
    return {
        name: name if _NAME.fullmatch(name) and name not in taken else _made_name(place, columns)
        for place, name in enumerate(columns, start=1)
    }


def _made_name(place: int, columns: Sequence[str]) -> str:
    made = f"field_{place}__"
    while made in columns:
        made += "_"
    return made


def label_config(columns: Sequence[str], labels: LabelsSpec, sink: SinkSpec) -> str:
    """Return the configuration of the page as XML: the payload, a question and the classes."""
    keys, field = data_keys(columns), labels.space.field
    pairs, single = _side_by_side(columns, sink.pairs)
    offered = list(dict.fromkeys([*map(_class_text, field.choices), UNSURE_LABEL]))
    return filled(
        "label-config.xml",
        keys=keys,
        pairs=pairs,
        single=single,
        first=next(iter(keys.values()), _TASK),
        question=sink.question or QUESTION,
        meanings=labels.meanings,
        field=field,
        offered=offered,
        hotkeys=_hotkeys(offered),
    )


def filled(template: str, **content: Any) -> str:
    """Return a text for annotators, by the name of its template."""
    import jinja2  # Most batches are tables.

    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("evalsampling.labels"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters["attribute"] = _attribute
    return templates.get_template(template).render(content)


def _hotkeys(offered: Sequence[str]) -> dict[str, str]:
    """Return the key that chooses each text; a text that is a digit has itself as its key."""
    digits = [*"1234567890"]
    own = {text: text for text in offered if text in digits}
    others = (text for text in offered if text not in own)
    return own | dict(zip(others, (digit for digit in digits if digit not in own), strict=False))


def _side_by_side(
    columns: Sequence[str], sides: Sides | None
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return the pairs of columns of two records, each with a title, and the other columns."""
    if sides is None:
        return [], list(columns)
    left, right = sides.left, sides.right
    pairs = []
    for name in columns:
        after, before = name.removeprefix(left), name.removesuffix(left)
        if name.startswith(left) and right + after in columns:
            pairs.append((after.strip("_. -"), name, right + after))
        elif name.endswith(left) and before + right in columns:
            pairs.append((before.strip("_. -"), name, before + right))
    paired = {name for _, *both in pairs for name in both}
    return pairs, [name for name in columns if name not in paired]


def _attribute(text: str) -> str:
    shown = _UNSHOWN.sub("\ufffd", text)
    from xml.sax.saxutils import quoteattr  # With it loads all of urllib.

    return quoteattr(shown, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _class_text(text: str) -> str:
    if text != text.strip() or any(mark in text for mark in "\r\n\t") or _UNSHOWN.search(text):
        raise InputError(
            f"labels.classes: {text!r} cannot be a choice of Label Studio: it begins or ends with "
            "a space, or has characters that its page does not show"
        )
    return text
