"""Options of commands, each described once: parsers of the command line and of jobs follow.

A command's options are a frozen dataclass whose fields are made by `argument`, `option`, `many`,
`listed`, `numbers` and `flag`. The command line takes an argument by its place and several values
after one option; a job takes every option by its name, once a value, and flags also as ``true`` or
``false``, as templates give them.
"""

import argparse
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from evalsampling.spec.gates import NUMBER
from evalsampling.spec.sections import nearest

Options = TypeVar("Options")

_SETTINGS = "settings"
"""Key of a field's metadata: what the parser of the command line is told of it."""


def argument(help: str, **optional: Any) -> Any:
    """Return the field of what a command is about, by its place on the command line."""
    return _field(None if optional else dataclasses.MISSING, help=help, **optional)


def option(
    help: str,
    *,
    default: Any = None,
    type: Callable[[str], Any] = str,
    metavar: str | None = None,
    alone: Any = None,
    required: bool = False,
    choices: Collection[str] | None = None,
) -> Any:
    """Return the field of an option with one value, which it has also if it is given alone."""
    settings = {"type": type, "metavar": metavar, "choices": choices, "required": required}
    if alone is not None:
        settings |= {"nargs": "?", "const": alone}
    return _field(dataclasses.MISSING if required else default, help=help, **settings)


def many(help: str, metavar: str) -> Any:
    """Return the field of an option with any number of values: a tuple of texts."""
    return _several(help, metavar, lambda text: (some_text(text),))


def listed(help: str, metavar: str, choices: Collection[str]) -> Any:
    """Return the field of an option with names, blanks or commas between them: a tuple."""
    return _several(help, metavar, functools.partial(_names, choices))


def numbers(help: str, default: tuple[int, ...] | None = None) -> Any:
    """Return the field of an option with whole numbers of at least 1: a tuple, increasing."""
    return _several(help, "N", budgets, default)


def flag(help: str) -> Any:
    """Return the field of an option without a value: whether it is given."""
    return _field(False, help=help, action="store_true")


def _several(
    help: str, metavar: str, read: Callable[[str], tuple[Any, ...]], default: Any = ()
) -> Any:
    return _field(default, help=help, metavar=metavar, type=read, action=_Gather, nargs="+")


def _field(default: Any, **settings: Any) -> Any:
    return dataclasses.field(default=default, metadata={_SETTINGS: settings})


@dataclasses.dataclass(frozen=True)
class WorkspaceOptions:
    """What commands on a prepared workspace ask for, if it is nothing else."""

    workspace: str = argument("directory or gs://bucket/prefix that `prepare` made")


@dataclasses.dataclass(frozen=True)
class SpecOptions:
    """What commands on a spec ask for, if it is nothing else."""

    spec: str = argument("path of evaluation.yaml")


LABEL_FILE = argument(
    "file of labels of some rows, by ids (then --drawn says how these were drawn), or of a system",
    nargs="?",
    metavar="labels",
)
DRAWN = (
    "how the rows with a label were drawn: random, clusters, picked, within:COLUMN, chance:COLUMN, "
    "weight:COLUMN, or the design.json of a round"
)


# --- parsers


def add_to_command(parser: argparse.ArgumentParser, options: type[Any]) -> None:
    """Add a command's options to its parser, as the command line has them."""
    for field in dataclasses.fields(options):
        settings = field.metadata[_SETTINGS]
        if _is_argument(field):
            parser.add_argument(field.name, **settings)
        else:
            parser.add_argument(_spelled(field.name), **_default(field), **settings)


def add_to_job(parser: argparse.ArgumentParser, options: type[Any]) -> None:
    """Add a command's options to the parser of the job that does its work."""
    for field in dataclasses.fields(options):
        settings = {**field.metadata[_SETTINGS]}
        names = [_spelled(field.name), f"--{field.name}"]
        if _is_argument(field):
            names, settings = names[:1], {"required": True, **settings}
        elif _is_flag(field):
            values = {"choices": ("true", "false"), "const": "true", "default": "false"}
            settings = {"help": settings["help"], "nargs": "?", **values}
        else:
            settings |= _default(field)
        if settings.get("action") is _Gather:
            del settings["nargs"]
        if settings.get("type") is positive:
            settings["type"] = int  # Templates tell whole numbers from text alone.
        parser.add_argument(*dict.fromkeys(names), **settings)


def _is_argument(field: "dataclasses.Field[Any]") -> bool:
    return not {"type", "action"} & field.metadata[_SETTINGS].keys()


def _is_flag(field: "dataclasses.Field[Any]") -> bool:
    return field.metadata[_SETTINGS].get("action") == "store_true"


def _default(field: "dataclasses.Field[Any]") -> dict[str, Any]:
    return {"default": None if field.default is dataclasses.MISSING else field.default}


class _Gather(argparse.Action):
    """Puts the values of all mentions of an option together."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        before = getattr(namespace, self.dest) or ()
        gathered = values if self.nargs is None else itertools.chain(*values)
        setattr(namespace, self.dest, (*before, *gathered))


def job_arguments(options: Any) -> list[str]:
    """Return options as the arguments of a job that does the work."""
    arguments = []
    for field in dataclasses.fields(options):
        name, value = _spelled(field.name), getattr(options, field.name)
        if value is True:
            arguments.append(name)
        elif isinstance(value, tuple):
            arguments += [f"{name}={item}" for item in value]
        elif value is not None and value is not False:
            arguments.append(f"{name}={value}")
    return arguments


def read_options(options: type[Options], arguments: argparse.Namespace) -> Options:
    """Return the options that were parsed by a parser of the command line or of a job."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        value = getattr(arguments, field.name)
        if _is_flag(field):
            value = value in (True, "true")
        if field.metadata[_SETTINGS].get("type") is budgets and value:
            value = tuple(sorted({*value}))
        values[field.name] = value
    return options(**values)


def _spelled(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _names(choices: Collection[str], text: str) -> tuple[str, ...]:
    """Return the names of a text with commas between them."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in choices:
            raise argparse.ArgumentTypeError(f"{name!r}{nearest(name, list(choices))}")
    return names


def some_text(text: str) -> str:
    """Read a text that says something: that of a variable which is not set is a mistake."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty text is no value; is a variable not set?")
    return text


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableOptions:
    """What `init`, and `estimate` of a table, ask for about labels that rows have already."""

    label: str | None = option(
        "column of labels that rows have already; `estimate` then takes a table, a file of a pool, "
        "in place of a workspace",
        metavar="COLUMN",
        type=some_text,
    )
    drawn: str | None = option(DRAWN, metavar="HOW", type=some_text)
    positive: str | None = option(
        "class that measures are about (default: the last one by name)",
        metavar="CLASS",
        type=some_text,
    )
    cluster: str | None = option(
        "column whose value rows share that are alike: of a conversation, say",
        metavar="COLUMN",
        type=some_text,
    )
    weight: str | None = option(
        "column of how much each row counts", metavar="COLUMN", type=some_text
    )


def positive(text: str) -> int:
    """Read a whole number of at least 1."""
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def amount(text: str) -> float:
    """Read a number above 0."""
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text!r}")
    return value


def budgets(text: str) -> tuple[int, ...]:
    """Read numbers of labels with commas between them; return them in increasing order."""
    return tuple(sorted({positive(part) for part in text.split(",")}))
