"""YAML as plain data, without duplicate keys and without aliases that expand to a lot."""

import itertools
from collections.abc import Iterator
from typing import Any

import yaml

from evalsampling.errors import InputError

MOST_ALIASED = 10_000
"""Most values that all aliases expand to: a few lines of aliases may expand to billions."""


_TAB = r"found character '\t' that cannot start any token"
_QUOTE = "a text with one of : # @ * & ! % { } [ ] or quotes in it is written in quotes"


class _Loader(yaml.SafeLoader):
    """Loader of plain YAML that refuses duplicate keys, of which YAML would take the last."""

    def get_single_node(self) -> Any:
        """Return the root of a document, in which no alias expands too far, or in itself."""
        root = super().get_single_node()
        if root is not None:
            _expanded(root, {})
        return root

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping of a node, which has no key twice."""
        seen = set()
        keys = [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        for key in (key for key in keys if isinstance(key, yaml.ScalarNode)):
            if (key.tag, key.value) in seen:
                line = key.start_mark.line + 1
                raise InputError(f"line {line}: key {key.value!r} is there twice")
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


def _expanded(node: Any, counted: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return how many values a node expands to, and how many of them come from aliases.

    ``counted`` are results by the ids of nodes visited before, None for the parents of this one.
    """
    line = node.start_mark.line + 1
    counted[id(node)] = None
    values, repeated = 1, 0
    for child in _children(node):
        is_alias = id(child) in counted
        count = counted[id(child)] if is_alias else _expanded(child, counted)
        if count is None:
            raise InputError(f"line {line}: a value is a part of itself")
        values, repeated = values + count[0], repeated + count[0 if is_alias else 1]
        if repeated > MOST_ALIASED:
            raise InputError(
                f"line {line}: aliases stand for more than {MOST_ALIASED:,} values: write them out"
            )
    counted[id(node)] = values, repeated
    return values, repeated


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, yaml.MappingNode):
        yield from itertools.chain.from_iterable(node.value)
    elif not isinstance(node, yaml.ScalarNode):
        yield from node.value


def load_strictly(text: str) -> Any:
    """Return the content of a YAML document: mappings, lists, texts, numbers and dates alone.

    Raises:
        InputError: if a key is there twice, or aliases expand to a lot.
        ValueError: if it is no YAML, or a value does not exist, as a 13th month.
    """
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        assert mark is not None, "a scanner and a parser know where they are"
        lines = text.splitlines()
        line = lines[mark.line].strip() if mark.line < len(lines) else "the end"
        way_out = "indent by spaces" if error.problem == _TAB else _QUOTE
        raise ValueError(f"line {mark.line + 1}, {line!r}: {error.problem}; {way_out}") from error
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
