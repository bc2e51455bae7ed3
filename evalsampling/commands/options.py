"""Options of commands, each described once: parsers of the command line and of jobs follow.

A command's options are a frozen dataclass whose fields are made by `argument`, `option`, `many` and
`flag`. The command line takes an argument by its place and several values after one option; a job
takes every option by its name, once a value, and flags also as ``true`` or ``false``, as templates
give them.
"""

import argparse
import dataclasses
import functools
import math
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from evalsampling.spec.gates import NUMBER
from evalsampling.spec.sections import nearest

Options = TypeVar("Options")

_DESCRIPTION = "option"
"""Key of a field's metadata."""


@dataclasses.dataclass(frozen=True)
class Description:
    """How an option is described and read.

    Without ``choices`` its value may be anything. The command line takes it ``by_place`` without
    its name; given ``alone``, without a value, it has that one. Of several values ``commas`` may
    stand between them.
    """

    help: str
    metavar: str | None = None
    type: Callable[[str], Any] = str
    choices: Collection[str] | None = None
    by_place: bool = False
    many: bool = False
    is_flag: bool = False
    alone: Any = None
    commas: bool = False


def argument(help: str) -> Any:
    """Return the field of what a command is about, by its place on the command line."""
    return _field(Description(help, by_place=True))


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
    """Return the field of an option with one value."""
    description = Description(help, metavar, type, choices, alone=alone)
    return _field(description) if required else _field(description, default)


def many(help: str, metavar: str) -> Any:
    """Return the field of an option with any number of values: a tuple of texts."""
    return _field(Description(help, metavar, some_text, many=True), ())


def listed(help: str, metavar: str, choices: Collection[str]) -> Any:
    """Return the field of an option with names, blanks or commas between them: a tuple."""
    return _field(Description(help, metavar, choices=choices, many=True, commas=True), ())


def numbers(help: str, default: tuple[int, ...] | None = None) -> Any:
    """Return the field of an option with whole numbers of at least 1: a tuple, increasing."""
    return _field(Description(help, "N", budgets, many=True, commas=True), default)


def flag(help: str) -> Any:
    """Return the field of an option without a value: whether it is given."""
    return _field(Description(help, is_flag=True), False)


def _field(description: Description, default: Any = dataclasses.MISSING) -> Any:
    return dataclasses.field(default=default, metadata={_DESCRIPTION: description})


@dataclasses.dataclass(frozen=True)
class WorkspaceOptions:
    """What commands on a prepared workspace ask for, if it is nothing else."""

    workspace: str = argument("directory or gs://bucket/prefix that `prepare` made")


@dataclasses.dataclass(frozen=True)
class SpecOptions:
    """What commands on a spec ask for, if it is nothing else."""

    spec: str = argument("path of evaluation.yaml")


POSITIVE = "class that measures are about (default: the last one by name)"
LABEL = "column of labels that rows have already"
DRAWN = (
    "how the rows with a label were drawn: random, clusters, picked, within:COLUMN, chance:COLUMN, "
    "weight:COLUMN, or the design.json of a round"
)
CLUSTER = "column whose value rows share that are alike: of a conversation, say"
WEIGHT = "column of how much each row counts"
"""Help of options of `init`, which `estimate` of a table has too."""


# --- parsers


def add_to_command(parser: argparse.ArgumentParser, options: type[Any]) -> None:
    """Add a command's options to its parser, as the command line has them."""
    for field in dataclasses.fields(options):
        option: Description = field.metadata[_DESCRIPTION]
        name = field.name if option.by_place else _spelled(field.name)
        parser.add_argument(name, help=option.help, **_settings(field, option, of_job=False))


def add_to_job(parser: argparse.ArgumentParser, options: type[Any]) -> None:
    """Add a command's options to the parser of the job that does its work."""
    for field in dataclasses.fields(options):
        option: Description = field.metadata[_DESCRIPTION]
        names = [_spelled(field.name)] + ([] if option.by_place else [f"--{field.name}"])
        settings = _settings(field, option, of_job=True)
        parser.add_argument(*dict.fromkeys(names), help=option.help, **settings)


def _settings(field: "dataclasses.Field[Any]", option: Description, of_job: bool) -> dict[str, Any]:
    """Return what a parser is told of an option beside its name and its help."""
    several = {"metavar": option.metavar, **({} if of_job else {"nargs": "+"})}
    if option.by_place:
        return {"required": True} if of_job else {"type": option.type}
    if option.is_flag and of_job:
        return {"nargs": "?", "choices": ("true", "false"), "const": "true", "default": "false"}
    if option.is_flag:
        return {"action": "store_true"}
    if option.commas:
        read = functools.partial(_parts, option)
        read.__name__ = option.metavar or "value"  # type: ignore[attr-defined]
        return {"action": _Gather, "type": read, "default": field.default, **several}
    if option.many:
        action = "append" if of_job else "extend"
        return {"action": action, "default": [], "type": option.type, **several}
    required = field.default is dataclasses.MISSING
    return {
        "nargs": None if option.alone is None else "?",
        "const": option.alone,
        "default": None if required else field.default,
        "required": required,
        # Templates tell whole numbers from text alone; their range the command checks.
        "type": int if of_job and option.type is positive else option.type,
        "choices": option.choices,
        "metavar": option.metavar,
    }


class _Gather(argparse.Action):
    """Puts the values of all mentions of an option together."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        before = getattr(namespace, self.dest)
        gathered = values if self.nargs is None else [item for part in values for item in part]
        setattr(namespace, self.dest, (*(before or ()), *gathered))


def _parts(option: Description, text: str) -> tuple[Any, ...]:
    """Return the values of a text with commas between them."""
    if option.choices is None:
        return tuple(option.type(text))
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in option.choices:
            raise argparse.ArgumentTypeError(f"{name!r}{nearest(name, list(option.choices))}")
    return names


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
        option, value = field.metadata[_DESCRIPTION], getattr(arguments, field.name)
        if option.is_flag:
            value = value in (True, "true")
        if option.many and value is not None:
            value = tuple(sorted({*value})) if option.type is budgets else tuple(value)
        values[field.name] = value
    return options(**values)


def _spelled(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def some_text(text: str) -> str:
    """Read a text that says something: that of a variable which is not set is a mistake."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty text is no value; is a variable not set?")
    return text


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
