"""YAML as plain data, none of whose mappings has a key twice."""

from typing import Any

import yaml

from evalsampling.errors import InputError


class _Loader(yaml.SafeLoader):
    """Reads plain YAML, and refuses a key that a mapping has twice: YAML takes the last one."""

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


def load_strictly(text: str) -> Any:
    """Return the content of a YAML document: mappings, lists, texts, numbers, dates, nothing else.

    Raises:
        InputError: if a mapping has a key twice.
        yaml.YAMLError: if it is no YAML, or has a tag of another kind of object.
        ValueError: if it has a date that is none.
    """
    return yaml.load(text, _Loader)
