"""Enough of the language of Cloud Workflows to run a definition with calls that are made up.

It follows the published reference of the syntax; the service itself is not here to compare with.
"""

import json
import re
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import yaml

Call = Callable[..., Any]


class WorkflowError(Exception):
    """An error as a workflow raises it."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Record(dict[str, Any]):
    """A map whose keys can be reached by dots, which raises if one is missing."""

    __getattr__ = dict.__getitem__


def records(value: Any) -> Any:
    """Return a value with all its maps as records."""
    if isinstance(value, Mapping):
        return Record({key: records(one) for key, one in value.items()})
    return [records(one) for one in value] if isinstance(value, list) else value


class ReportedDomains(dict[str, Any]):
    """Variables, those of a loop above those around it."""

    def __init__(self, outer: "ReportedDomains | None" = None) -> None:
        super().__init__()
        self.outer = outer

    def __missing__(self, name: str) -> Any:
        if self.outer is None:
            raise KeyError(name)
        return self.outer[name]

    def assign(self, name: str, value: Any) -> None:
        """Assign a variable where it is, or here if it is new."""
        scope: ReportedDomains | None = self
        while scope is not None and name not in scope:
            scope = scope.outer
        (self if scope is None else scope)[name] = records(value)


class Workflow:
    """A definition that can be run."""

    def __init__(
        self, text: str, calls: Mapping[str, Call], environment: Mapping[str, str]
    ) -> None:
        self.definition = yaml.safe_load(text)
        self.calls = calls
        self.names = {
            "len": len,
            "double": float,
            "get_type": lambda value: "map" if isinstance(value, dict) else type(value).__name__,
            "default": lambda value, other: other if value is None else value,
            "if_": lambda condition, yes, no: yes if condition else no,
            "map": SimpleNamespace(get=lambda value, key: value.get(key)),
            "list": SimpleNamespace(concat=lambda values, value: [*values, value]),
            "json": SimpleNamespace(decode=lambda value: records(json.loads(value))),
            "sys": SimpleNamespace(get_env=environment.__getitem__),
            "time": SimpleNamespace(parse=float),
            "text": SimpleNamespace(
                url_encode=lambda value: urllib.parse.quote(value, safe=""),
                match_regex=lambda value, pattern: re.search(pattern, value) is not None,
            ),
            "null": None,
            "true": True,
            "false": False,
        }

    def run(self, **arguments: Any) -> Any:
        """Run the main workflow."""
        return self._subworkflow("main", {self.definition["main"]["params"][0]: arguments})

    def _subworkflow(self, name: str, arguments: Mapping[str, Any]) -> Any:
        body = self.definition[name]
        assert set(arguments) == set(body["params"]), (name, arguments)
        scope = ReportedDomains()
        for key, value in arguments.items():
            scope.assign(key, value)
        jump, value = self._steps(body["steps"], scope)
        assert jump in (None, "return"), f"{name}: no step {jump}"
        return value

    def _steps(
        self, steps: Sequence[Mapping[str, Any]], scope: ReportedDomains
    ) -> tuple[str | None, Any]:
        """Run steps and return where to jump, which is none of them, and the value returned."""
        names = [name for step in steps for name in step]
        at = 0
        while at < len(steps):
            jump, value = self._step(steps[at][names[at]], scope)
            if jump is None:
                at += 1
            elif jump in names:
                at = names.index(jump)
            else:
                return jump, value
        return None, None

    def _step(self, step: Mapping[str, Any], scope: ReportedDomains) -> tuple[str | None, Any]:
        jump, value = self._act(step, scope)
        return (step.get("next"), None) if jump is None else (jump, value)

    def _act(self, step: Mapping[str, Any], scope: ReportedDomains) -> tuple[str | None, Any]:
        if "return" in step:
            return "return", self._value(step["return"], scope)
        if "raise" in step:
            raise WorkflowError(self._value(step["raise"], scope))
        for assignment in step.get("assign", ()):
            [(name, value)] = assignment.items()
            scope.assign(name, self._value(value, scope))
        if "call" in step:
            result = self._call(step["call"], self._value(step.get("args", {}), scope))
            if "result" in step:
                scope.assign(step["result"], result)
        if "switch" in step:
            for case in step["switch"]:
                if self._value(case["condition"], scope):
                    return self._step(case, scope)
        if "for" in step:
            return self._loop(step["for"], scope)
        if "try" in step:
            try:
                return self._step(step["try"], scope)
            except WorkflowError as error:
                handler = ReportedDomains(scope)
                handler[step["except"]["as"]] = records(error.value)
                return self._steps(step["except"]["steps"], handler)
        return self._steps(step.get("steps", ()), scope)

    def _loop(self, loop: Mapping[str, Any], scope: ReportedDomains) -> tuple[str | None, Any]:
        for value in self._value(loop["in"], scope):
            inner = ReportedDomains(scope)
            inner[loop["value"]] = records(value)
            jump, returned = self._steps(loop["steps"], inner)
            if jump == "break":
                break
            if jump not in (None, "continue"):
                return jump, returned
        return None, None

    def _call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        if name in self.definition:
            return self._subworkflow(name, arguments)
        return records(self.calls[name](**arguments))

    def _value(self, value: Any, scope: ReportedDomains) -> Any:
        if isinstance(value, dict):
            return Record({key: self._value(one, scope) for key, one in value.items()})
        if isinstance(value, list):
            return [self._value(one, scope) for one in value]
        if isinstance(value, str) and value.startswith("${"):
            source = re.sub(r"\bif\(", "if_(", expression(value))
            return eval(source, {"__builtins__": {}}, _Names(self.names, scope))
        return value


class _Names(dict[str, Any]):
    def __init__(self, names: Mapping[str, Any], scope: ReportedDomains) -> None:
        super().__init__(names)
        self._scope = scope

    def __missing__(self, name: str) -> Any:
        return self._scope[name]


def expression(value: str) -> str:
    """Return what is within ${ and }."""
    assert value.startswith("${"), value
    assert value.endswith("}"), value
    return value[2:-1]


def walk(value: Any) -> Iterator[Any]:
    """Yield a value and all values in it."""
    yield value
    children = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        for child in children:
            yield from walk(child)
