"""YAML as plain data, without duplicate keys and without aliases."""

from typing import Any

import yaml

from evalsampling.errors import InputError

_TAB = r"found character '\t' that cannot start any token"
_QUOTE = "a text with one of : # @ * & ! % { } [ ] or quotes in it is written in quotes"


class _Loader(yaml.SafeLoader):
    """Loader of plain YAML that refuses duplicate keys, of which YAML would take the last."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the next node; refuse an alias: a few lines of aliases may stand for billions."""
        if self.check_event(yaml.AliasEvent):
            line = self.peek_event().start_mark.line + 1  # type: ignore[no-untyped-call]
            raise InputError(f"line {line}: an alias (*): write out what it stands for")
        return super().compose_node(parent, index)

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


def load_strictly(content: bytes) -> Any:
    """Return the content of a YAML document: mappings, lists, texts, numbers and dates alone."""
    try:
        return yaml.load(content.decode(), _Loader)
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError("cannot be read: not UTF-8") from error
    except RecursionError as error:
        raise InputError("not valid YAML: nested too deeply") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        assert mark is not None, "a scanner and a parser know where they are"
        lines = content.decode().splitlines()
        line = lines[mark.line].strip() if mark.line < len(lines) else "the end"
        way_out = "indent by spaces" if error.problem == _TAB else _QUOTE
        problem = f"line {mark.line + 1}, {line!r}: {error.problem}; {way_out}"
        raise InputError(f"not valid YAML: {problem}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"not valid YAML: {' '.join(str(error).split())}") from error
