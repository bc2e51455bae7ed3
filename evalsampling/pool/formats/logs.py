"""Logs of evaluations as pools: a row and a verdict of each sample of Inspect, or of promptfoo."""

import collections
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats.jsonl import JsonLines
from evalsampling.pool.formats.text import BOM, open_text
from evalsampling.pool.rendering import as_text
from evalsampling.pool.splits import Contents, Format
from evalsampling.spec.sink import is_taken
from evalsampling.storage.filesystems import unreadable

Row = dict[str, Any]

MOST_BYTES = 1 << 29
"""Most bytes of a log, which is read as a whole."""

_FIRST_LINE = 1 << 20

_OWN = ("id", "sample", "epoch", "test", "prompt", "model", "input", "target", "response")


class Logs(Format):
    """A log as JSON: a row for each sample that was judged, whatever else the log holds."""

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns of a log, with a warning of samples that are left out."""
        table, left_out = _read(file.path)
        warning = f"{file.path}: {left_out:,} of its samples have no verdict and are left out"
        return Contents(table.schema, warning=warning if left_out else None)

    def read(self, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield columns of all samples that were judged."""
        table = _read(file.path)[0]
        yield from table.select(schema.names).cast(schema).combine_chunks().to_batches()


class LinesOrLog(Format):
    """A file that ends in .json: objects, one a line, or a log, as its first line tells."""

    inferred = True

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns of a file."""
        return _format_of(file.path).inspect(file)

    def read(self, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows."""
        return _format_of(file.path).read(file, schema)


def _format_of(path: str) -> JsonLines | Logs:
    """Return the format of a text by its first line, which rows have less than a megabyte of."""
    with open_text(path) as text:
        head = text.read(_FIRST_LINE).lstrip(BOM + b" \t\r\n")
    line, _, rest = head.partition(b"\n")
    try:
        first = json.loads(line)
    except ValueError:  # It goes on in the next line, or is cut.
        return Logs()
    if not isinstance(first, dict) or {"eval", "samples"} <= first.keys():
        return Logs()
    # Objects and lists in one line are no row, but a whole table, as pandas writes it.
    is_table = not rest.strip() and all(isinstance(one, dict | list) for one in first.values())
    return Logs() if is_table or isinstance(first.get("results"), dict) else JsonLines()


def _read(path: str) -> tuple[pa.Table, int]:
    """Return the judged samples of a log as a table, and the number of the others."""
    with open_text(path) as source:
        content = source.read(MOST_BYTES + 1)
    if content.startswith(b"PK"):
        hint = "`inspect log convert --to json` makes one that is read"
        raise InputError(f"{path}: a log of Inspect that is no JSON: {hint}")
    if len(content) > MOST_BYTES:
        raise InputError(f"{path}: has more than {MOST_BYTES:,} bytes: divide it")
    try:
        log = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise unreadable(path, error) from error
    samples = _object(log).get("samples")
    results = _object(log).get("results", log)
    results = _object(results).get("results", results)
    judged = results if isinstance(results, list) else []
    if isinstance(samples, list) and "eval" in log:
        seen, model = len(samples), str(_object(log["eval"]).get("model") or "")
        rows = _of_inspect(samples, model)
    elif judged and all(isinstance(_object(one).get("success"), bool) for one in judged):
        seen, rows = len(judged), _of_promptfoo(judged)
    else:
        raise InputError(
            f"{path}: neither a log of Inspect ('eval', 'samples') nor results of promptfoo "
            "('results', with 'success'). Give rows as JSON Lines, as jq -c '.[]' makes them of a "
            "list, and pandas by to_json(lines=True, orient='records')"
        )
    if not rows:
        raise InputError(f"{path}: none of its samples has a verdict")
    _name_apart(rows)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    if columns.get("sample") == columns["id"]:
        del columns["sample"]
    return pa.table(columns), seen - len(rows)


def _of_inspect(samples: list[Any], model: str) -> list[Row]:
    """Return the samples with scores: verdicts are texts, as C and I; numbers are scores."""
    rows = []
    for sample in samples:
        sample = _object(sample)
        values = dict(_scores(_object(sample.get("scores"))))
        if not values or sample.get("error"):
            continue
        output = _object(sample.get("output"))
        choices = output.get("choices")
        first = _object(choices[0]) if isinstance(choices, list) and choices else {}
        said = output.get("completion") or _object(first.get("message")).get("content")
        rows.append({
            "id": str(sample.get("id")), "sample": str(sample.get("id")),
            "epoch": sample.get("epoch"), "model": model, "input": _text(sample.get("input")),
            "target": _text(sample.get("target")), "response": _text(said),
            **_extra(sample.get("metadata"), "metadata"), **values,
        })  # fmt: skip
    scorers = {name.partition("_")[2] for row in rows for name in row if _is_judged(name)}
    for scorer in scorers:  # one that says 0 or 1 alone gives a verdict
        score, verdict = f"score_{scorer}", f"verdict_{scorer}"
        if all(verdict not in row and row.get(score) in (None, 0, 1) for row in rows):
            for row in rows:
                if (value := row.pop(score, None)) is not None:
                    row[verdict] = "IC"[int(value)]
    if len(scorers) > 1:
        return rows
    return [
        {n.partition("_")[0] if _is_judged(n) else n: v for n, v in row.items()} for row in rows
    ]


def _object(given: Any) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {}


def _is_judged(name: str) -> bool:
    return name.startswith(("verdict_", "score_"))


def _scores(scores: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each scorer's value: `verdict_` of a text or a truth value, `score_` of a number."""
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, Mapping) else score
        parts = value.items() if isinstance(value, Mapping) else [("", value)]
        for part, one in parts:
            title = f"{name}_{part}" if part else name
            if isinstance(one, bool | str):
                yield f"verdict_{title}", one if isinstance(one, str) else "CI"[not one]
            elif isinstance(one, int | float) and one == one:  # NaN: not scored
                yield f"score_{title}", float(one)


def _of_promptfoo(results: list[Any]) -> list[Row]:
    """Return the results that are no errors: a pass or a fail, and the score."""
    rows = []
    for result in results:
        if result.get("failureReason") == 2 or (result.get("error") and not result.get("response")):
            continue
        provider, prompt, said = (
            result[name].get(part) if isinstance(result.get(name), Mapping) else result.get(name)
            for name, part in {"provider": "id", "prompt": "raw", "response": "output"}.items()
        )
        place = f"{result.get('testIdx')}-{result.get('promptIdx')}"
        is_number = type(result.get("score")) in (int, float)
        rows.append({
            "id": str(result.get("id") or place), "test": result.get("testIdx"),
            "model": provider, "input": _text(prompt), "response": _text(said),
            **_extra(result.get("vars"), "vars"),
            "verdict": "pass" if result["success"] else "fail",
            "score": float(result["score"]) if is_number else None,
        })  # fmt: skip
    if all(row["score"] in (None, float(row["verdict"] == "pass")) for row in rows):
        rows = [{name: value for name, value in row.items() if name != "score"} for row in rows]
    return rows


def _name_apart(rows: list[Row]) -> None:
    """Name samples that were run several times by their epoch, or by how often they came."""
    counts = collections.Counter(row["id"] for row in rows)
    seen: collections.Counter[str] = collections.Counter()
    for row in rows:
        name = row["id"]
        seen[name] += 1
        if counts[name] > 1:
            row["id"] = f"{name}-{row.get('epoch') or seen[name]}"


def _extra(given: Any, kind: str) -> Row:
    """Return further single values of a sample, under names that no column of ours has."""
    pairs = given.items() if isinstance(given, Mapping) else ()
    return {
        f"{kind}_{name}" if name in _OWN or is_taken(name) or _is_judged(name) else name: value
        for name, value in pairs
        if not isinstance(value, Mapping | list) and name not in ("verdict", "score")
    }


def _text(value: Any) -> str | None:
    """Return a text; of a chat, the text of its messages."""
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        said = (
            f"{one.get('role', '')}: {_text(one.get('content', one.get('text')))}" for one in value
        )
        return "\n\n".join(line.removeprefix(": ") for line in said)
    return as_text(value)


def _column(values: list[Any]) -> pa.Array:
    """Return a column of truth values, numbers, or else of text."""
    kinds = {type(value) for value in values if value is not None}
    for kind, fitting in ((pa.bool_(), {bool}), (pa.int64(), {int}), (pa.float64(), {int, float})):
        if kinds and kinds <= fitting:
            return pa.array(values, kind)
    return pa.array([as_text(value) for value in values], pa.string())
