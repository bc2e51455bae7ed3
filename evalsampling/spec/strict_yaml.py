"""YAML as plain data: no mapping has a key twice, and aliases stand for little."""

import itertools
from collections.abc import Iterator
from typing import Any

import yaml

from evalsampling.errors import InputError

MOST_ALIASED = 10_000
"""Values that aliases may stand for together: a few lines of aliases may stand for billions."""


class _Loader(yaml.SafeLoader):
    """Reads plain YAML, and refuses a key that a mapping has twice: YAML takes the last one."""

    def get_single_node(self) -> Any:
        """Return the root of a document.

        Raises:
            InputError: naming the line of a value whose aliases stand for too many, or for itself.
        """
        root = super().get_single_node()
        if root is not None:
            _aliased(root, {})
        return root

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Return what a mapping holds.

        Raises:
            InputError: naming the line of a key that is there twice.
        """
        seen = set()
        keys = [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        for key in (key for key in keys if isinstance(key, yaml.ScalarNode)):
            if (key.tag, key.value) in seen:
                line = key.start_mark.line + 1
                raise InputError(f"line {line}: key {key.value!r} is there twice")
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)


def _aliased(node: Any, aliased: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """Return how many values a node stands for, and how many of them come from aliases.

    Args:
        node: of the document.
        aliased: the same by the ids of nodes that were counted, None of those that are being.

    Raises:
        InputError: as `_Loader.get_single_node` says.
    """
    line = node.start_mark.line + 1
    aliased[id(node)] = None
    values, repeated = 1, 0
    for child in _children(node):
        if id(child) in aliased:
            known = aliased[id(child)]
            if known is None:
                raise InputError(f"line {line}: a value is a part of itself")
            values, repeated = values + known[0], repeated + known[0]
        else:
            more = _aliased(child, aliased)
            values, repeated = values + more[0], repeated + more[1]
        if repeated > MOST_ALIASED:
            raise InputError(
                f"line {line}: aliases stand for more than {MOST_ALIASED:,} values: write them out"
            )
    aliased[id(node)] = values, repeated
    return values, repeated


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, yaml.MappingNode):
        yield from itertools.chain.from_iterable(node.value)
    elif not isinstance(node, yaml.ScalarNode):
        yield from node.value


def load_strictly(text: str) -> Any:
    """Return the content of a YAML document: mappings, lists, texts, numbers, dates, nothing else.

    Raises:
        InputError: if a mapping has a key twice, or aliases stand for too many values.
        yaml.YAMLError: if it is no YAML, or has a tag of another kind of object.
        ValueError: if it has a date that is none.
    """
    return yaml.load(text, _Loader)
