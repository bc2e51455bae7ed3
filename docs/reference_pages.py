"""Pages of the reference, made from the code itself: what it accepts, and its docstrings."""

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

import evalsampling
from evalsampling import measures, samplers
from evalsampling.cli.listing import COMMANDS
from evalsampling.measures.averages import BY_AVERAGE
from evalsampling.measures.gains import BY_NAME as GAINS
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.evaluation import RoundSize, StopSpec, StrataSpec
from evalsampling.spec.gates import GatesSpec
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.spec.labels import GoldSpec, LabelsSpec
from evalsampling.spec.pool import ListsSpec, PoolSpec
from evalsampling.spec.sections import Section
from evalsampling.spec.sink import SinkSpec
from evalsampling.spec.systems import SystemSpec

NOT_GIVEN = {
    "measure", "oracle", "branching", "hidden", "positive", "classes", "system", "sets", "titles",
    "gains", "numbers", "label_space",
}  # fmt: skip
"""Fields of samplers and measures that a spec says elsewhere than among their parameters."""

OF_CLASSES = {f"f_beta with average: {name}": maker for name, maker in BY_AVERAGE.items()}
"""The averages over classes, by how a spec asks for them."""

FIXED = {"f1": {"beta", "alpha"}}
"""Fields that a name stands for, so that a spec cannot give them."""

RESULTS = (
    "evalsampling.inference.results.Estimate",
    "evalsampling.inference.results.Target",
    "evalsampling.inference.intervals.Interval",
    "evalsampling.inference.regions.Ellipsoid",
    "evalsampling.report.svg.Picture",
    "evalsampling.evaluation.gates.Gates",
    "evalsampling.evaluation.gates.GateResult",
)
"""Classes of what an evaluation returns."""

FUNCTIONS = ("estimate", "sample", "status", "report", "plan", "simulate", "verify")
"""Commands that Python calls too, each in `evalsampling.commands` in a module of its name."""

SMALLEST = {"pool": {"path": "pool.parquet"}}
"""The shortest spec there is: all else is left to the defaults."""

ALL = {
    "pool": {
        "path": "pool.parquet",
        "systems": {"old": {"score": "old", "prediction": "old_class"}},
    },
    "labels": {"gold": {"path": "gold.parquet"}},
    "round_size": {"first": 100},
}
"""A spec with every section that has keys of its own."""

QUERIES = {
    "pool": {
        "path": "pool.parquet",
        "lists": {"items": "items"},
        "systems": {"old": {"score": "old"}},
    }
}
"""A spec with the section that only pools of queries have."""

FIELDS_OF = {
    "": EvaluationSpec,
    "pool": PoolSpec,
    "pool.systems.old": SystemSpec,
    "pool.lists": ListsSpec,
    "labels": LabelsSpec,
    "labels.gold": GoldSpec,
    "strata": StrataSpec,
    "round_size": RoundSize,
    "hidden": HiddenPrior,
    "sink": SinkSpec,
    "stop": StopSpec,
    "gates": GatesSpec,
}
"""The records whose fields are the keys of a section, with comments that say what they mean."""

MEANT = {
    ("labels", "classes"): "whole numbers or texts, at least two; their places are their codes.",
    ("labels", "positive"): "the positive class, by default the last.",
    ("labels", "multilabel"): "the labels of which a row may have several.",
    ("labels", "range"): "the least and the greatest label, of labels that are numbers.",
    ("labels", "space"): "labels of a kind of another package, by name or as `module:object`.",
    ("labels", "column"): "column of the pool with labels that rows have already; the first round.",
    ("labels", "drawn"): "with `column`: how the rows with a label were drawn.",
    ("pool", "variance"): "with `labels.range`: numeric column of the predictive variance of the "
    "label, at least 0; it drives the strata in place of a score.",
    ("pool", "logits"): "in place of `probability`: a numeric column for each class, made "
    "probabilities by softmax.",
    ("pool.systems.old", "logits"): "the same for one system.",
}
"""Meanings of keys that no attribute has as a spec has them."""

SOURCES = """\
Sources: **[MR]** N. G. Marchant and B. I. P. Rubinstein, *Needle in a Haystack*, KDD 2021.
**[Y]** E. Yilmaz and others, *Sample Efficient Model Evaluation*, 2021.
**[AE]** C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012.
**[SX]** A. Sabharwal and Y. Xue, *Adaptive Stratified Sampling for Precision-Recall Estimation*,
UAI 2018."""
"""What the letters in brackets stand for on the pages of samplers and measures."""

CALLED = {("", "measure"): "measures"}
"""Attributes of those records that have another name than their key."""


def write_pages(folder: Path) -> None:
    """Write the pages into a folder; one that says the same already is left as it is."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        page = folder / name
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


def pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    return {
        "api.md": api(),
        "commands.md": commands(),
        "spec-keys.md": spec_keys(),
        "samplers.md": named("Samplers", "sampler", samplers.BY_NAME),
        "measures.md": named("Measures", "measure", {**measures.BY_NAME, **OF_CLASSES, **GAINS}),
    }


# --- Python


def api() -> str:
    """Return the page of classes and functions, which autodoc fills in."""
    public = [getattr(evalsampling, name) for name in evalsampling.__all__ if name[0] != "_"]
    found = [one for one in public if inspect.isclass(one)]
    # The signature of an error is that of ValueError, which some versions of autodoc cannot tell.
    classes = [
        f"evalsampling.{one.__name__}" + "(message)" * issubclass(one, Exception) for one in found
    ]
    parts = [
        "# Python reference",
        "Made from the docstrings. [From Python](../python.md) shows how the parts are used.",
        "## Public names",
        *(_directive("autoclass", name, "members") for name in classes),
        "## What an evaluation returns",
        *(_directive("autoclass", name, "members") for name in RESULTS),
        "## Commands as functions",
        *(_directive("autofunction", f"evalsampling.commands.{one}.{one}") for one in FUNCTIONS),
        "## To write a measure",
        _directive("autoclass", "evalsampling.measures.base.Measure", "members"),
    ]
    return "\n\n".join(parts) + "\n"


def _directive(kind: str, name: str, *options: str) -> str:
    lines = "".join(f"   :{option}:\n" for option in options)
    return f"```{{eval-rst}}\n.. {kind}:: {name}\n{lines}```"


# --- the command line


def commands() -> str:
    """Return the page of all commands: their help as the command line prints it, 80 columns."""
    parts = [
        "# All commands and options",
        "What `evalsampling COMMAND --help` prints. [The command line](../cli.md) says what comes "
        "out of each, with examples.",
    ]
    for command in COMMANDS:
        parser = argparse.ArgumentParser(
            prog=f"evalsampling {command.name}", formatter_class=_eighty_columns, add_help=False
        )
        parser.add_argument("--json", action="store_true", help="print JSON")
        command.load().add_options(parser)
        parts += [f"## {command.name}", _sentence(command.help)]
        parts.append(f"```text\n{parser.format_help()}```")
    return "\n\n".join(parts) + "\n"


def _eighty_columns(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=28, width=80)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


# --- the spec


def spec_keys() -> str:
    """Return the page of all keys of a spec: those it accepts, with what their records say."""
    defaults = EvaluationSpec.from_mapping(SMALLEST, ".").to_mapping()
    defaults["pool"]["path"] = SMALLEST["pool"]["path"]
    parts = [
        "# All keys of a spec",
        "The keys that `evaluation.yaml` may have, as the program checks them. "
        "[The spec](../spec.md) explains each with examples.",
        "## By section",
    ]
    for section, keys in accepted_keys().items():
        told = beside_fields(SystemSpec if section == "pool" else FIELDS_OF[section])
        told |= beside_fields(FIELDS_OF[section])
        shown = section.replace(".old", ".NAME")
        parts.append(f"### {shown or 'top level'}")
        names = {key: (CALLED.get((section, key), key), f"{section}_{key}") for key in keys}
        meanings = {key: [told[name] for name in names[key] if name in told] for key in keys}
        rows = [(f"`{key}`", MEANT.get((section, key), "".join(meanings[key][:1]))) for key in keys]
        parts.append(_table(("key", "meaning"), rows))
    parts += [
        "## A spec with every default filled in",
        "`prepare` stores it in the workspace, here of a spec that names the pool alone:",
        f"```yaml\n{yaml.safe_dump(defaults, sort_keys=False)}```",
    ]
    return "\n\n".join(parts) + "\n"


def accepted_keys() -> dict[str, tuple[str, ...]]:
    """Return the keys of each section of a spec: those that its reader does not refuse."""
    found: dict[str, tuple[str, ...]] = {}
    check = Section.check_keys

    def note(section: Section, *known: str, **_: object) -> None:
        found[section.name] = known
        check(section, *known)

    with mock.patch.object(Section, "check_keys", note):
        EvaluationSpec.from_mapping(QUERIES, ".")
        EvaluationSpec.from_mapping(ALL, ".")
    return found


# --- samplers and measures


def named(title: str, kind: str, known: Mapping[str, Any]) -> str:
    """Return the page of all classes that a spec may name, with their parameters."""
    parts = [
        f"# {title}",
        f"What `{kind}` in a [spec](../spec.md#{kind}) may name, from the docstrings of the code. "
        "Formulas and sources are in [Methods](../methods.md).",
        SOURCES,
    ]
    for name, maker in known.items():
        parts += [f"## {name}", _first_paragraph(maker)]
        parameters = _parameters(maker, NOT_GIVEN | FIXED.get(name, set()))
        if parameters:
            parts.append(_table(("parameter", "default", "meaning"), parameters))
        module = sys.modules[maker.__module__].__name__
        parts.append(f"`{module}.{maker.__name__}`")
    return "\n\n".join(parts) + "\n"


def _parameters(maker: Any, left_out: set[str]) -> list[tuple[str, str, str]]:
    told: dict[str, str] = {}
    for one in reversed(maker.__mro__):
        told |= documented(one)
    return [
        (f"`{field.name}`", _default(field), told.get(field.name, ""))
        for field in dataclasses.fields(maker)
        if field.name not in left_out and field.init and not field.name.startswith("_")
    ]


def _default(field: "dataclasses.Field[Any]") -> str:
    if field.default is dataclasses.MISSING:
        return ""
    return f"`{field.default!r}`"


def _first_paragraph(maker: Any) -> str:
    return _markdown((inspect.getdoc(maker) or "").split("\n\n")[0].replace("\n", " "))


# --- docstrings


def documented(record: type[Any]) -> dict[str, str]:
    """Return what the docstring of a class says of each of its attributes."""
    doc = inspect.cleandoc(record.__doc__ or "")
    section = re.search(r"^Attributes:\n((?:[ ]{4}.*\n?|\n)+)", doc, re.M)
    if section is None:
        return {}
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section[1], re.M)
    known = vars(sys.modules[record.__module__])
    return {name: _markdown(_spelled_out(" ".join(text.split()), known)) for name, text in entries}


def beside_fields(record: type[Any]) -> dict[str, str]:
    """Return what comments before the fields of a class, or beside them, say of each."""
    known, told, before = vars(sys.modules[record.__module__]), dict[str, str](), list[str]()
    for line in inspect.getsource(record).splitlines():
        comment = re.fullmatch(r"    # (.*)", line)
        field = re.fullmatch(r"    (\w+): [^#]*?(?:  # (.*))?", line)
        if field is not None:
            text = " ".join(filter(None, [*before, field[2]])).removesuffix(".")
            told[field[1]] = _markdown(_spelled_out(f"{text}.", known))
        before = [*before, comment[1]] if comment is not None else []
    return told


def _spelled_out(text: str, known: Mapping[str, Any]) -> str:
    """Return text with the values of constants in place of their names."""

    def values(name: re.Match[str]) -> str:
        value = known.get(name[1])
        if not isinstance(value, tuple | int):
            return name[0]
        listed = value if isinstance(value, tuple) else (value,)
        return ", ".join(f"`{one}`" for one in listed)

    return re.sub(r"`([A-Z][A-Z_]+)`", values, text)


def _markdown(text: str) -> str:
    """Return text of a docstring with code in single backquotes and nothing taken for markup."""
    text = text.replace("``", "`")
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"([*_\[\]<>|])", r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [piece.replace("|", "\\|") for piece in pieces[1::2]]
    return "`".join(pieces)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
