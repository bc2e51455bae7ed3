"""Small changes of source code that tests should notice, and where they can be made."""

import ast
import collections
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("evalsampling", "pipelines")

COMPARED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
}  # fmt: skip

COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"), ast.Mod: ("%", "//"), ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
}  # fmt: skip

UNWRAPPED = {"abs", "frozenset", "reversed", "round", "set", "sorted"}
"""Functions whose argument may stand for their result; so may that of a function of NumPy."""

CONVERSIONS = {"array", "asarray", "ascontiguousarray"}
"""Functions of NumPy whose argument is as good as their result."""

NOT_RUN = ("annotation", "returns", "decorator_list", "bases")

Edit = tuple[str, int, int, str]
"""The kind of a change, where the code that it replaces begins and ends, and the code instead."""


@dataclasses.dataclass(frozen=True)
class Mutation:
    """A change of one place, which is found again after lines have moved."""

    file: str
    function: str
    """The function that runs it; of a class or a module where it runs on import."""
    kind: str
    before: str
    after: str
    nth: int
    """Among the places of the function where the same change can be made."""
    edit: Edit = dataclasses.field(compare=False)
    line: int = dataclasses.field(compare=False)

    @property
    def key(self) -> dict[str, str]:
        """What tells it from others, its file apart."""
        names = ("function", "kind", "before", "after", "nth")
        return {name: str(getattr(self, name)) for name in names}

    def made(self, code: bytes) -> bytes:
        """Return the code of its file with the change."""
        _, start, end, text = self.edit
        return code[:start] + text.encode() + code[end:]


def everywhere(root: Path) -> Iterator[Mutation]:
    """Yield all changes that can be made to the package below a folder, in an order that stays."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            if not (root / folder / path.relative_to(root / folder).parts[0]).is_symlink():
                yield from mutations(str(path.relative_to(root)), path.read_bytes())


def mutations(file: str, code: bytes) -> Iterator[Mutation]:
    """Yield all changes that can be made to a file, in the order of its code."""
    seen: collections.Counter[tuple[str, ...]] = collections.Counter()
    for function, edit in _Places(code).of(ast.parse(code), "<module>"):
        kind, start, end, text = edit
        first = code.rfind(b"\n", 0, start) + 1
        last = (code.find(b"\n", end) + len(code) + 1) % (len(code) + 1)
        changed = code[first:start] + text.encode() + code[end:last]
        lines = (" ".join(some.decode().split()) for some in (code[first:last], changed))
        key = (function, kind, *lines)
        yield Mutation(file, *key, seen[key], edit, code.count(b"\n", 0, start) + 1)
        seen[key] += 1


class _Places:
    """The places of a file that can be changed."""

    def __init__(self, code: bytes) -> None:
        self._code = code
        self._lines = [0, *(match.end() for match in re.finditer(b"\n", code))]

    def of(self, node: ast.AST, function: str) -> Iterator[tuple[str, Edit]]:
        """Yield the changes of all that runs within a node, each with the function it is in."""
        inner = function
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            outer = re.sub(r"<\w+>$", "", function) if function.endswith(">") else f"{function}."
            inner = outer + node.name + (".<class>" if isinstance(node, ast.ClassDef) else "")
        yield from ((function, edit) for edit in self._edits(node))
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if field not in NOT_RUN and isinstance(child, ast.AST) and not _is_apart(child):
                    yield from self.of(child, function if field == "args" else inner)

    def _edits(self, node: ast.AST) -> Iterator[Edit]:
        match node:
            case ast.Compare():
                for left, op, right in zip(
                    [node.left, *node.comparators], node.ops, node.comparators, strict=False
                ):
                    yield from self._between("comparison", left, right, *COMPARED[type(op)])
            case ast.BoolOp():
                signs = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
                for left, right in zip(node.values, node.values[1:], strict=False):
                    yield from self._between("boolean", left, right, *signs)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in COMPUTED:
                if not (_is_type(left) or _is_type(right)):
                    yield from self._between("arithmetic", left, right, *COMPUTED[type(op)])
            case ast.AugAssign(target=left, op=op, value=right) if type(op) in COMPUTED:
                yield from self._between("arithmetic", left, right, *COMPUTED[type(op)])
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
                kind, size = ("boolean", 3) if isinstance(node.op, ast.Not) else ("arithmetic", 1)
                yield kind, self._start(node), self._start(node) + size, ""
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield from self._negated(test)
            case ast.comprehension():
                for test in node.ifs:
                    yield from self._negated(test)
            case ast.Constant(value=bool() | int() | float() as value):
                other = not value if isinstance(value, bool) else (
                    value + 1 if isinstance(value, int) or value == 0 else 2 * value
                )  # fmt: skip
                yield "constant", *self._span(node), repr(other)
            case ast.Expr(value=ast.Call()):
                yield "dropped call", *self._span(node), "pass"
            case ast.Call(args=[ast.expr() as argument], keywords=[]) if _is_unwrapped(node):
                start, end = self._span(argument)
                yield "dropped call", *self._span(node), f"({self._code[start:end].decode()})"

    def _between(
        self, kind: str, left: ast.expr, right: ast.expr, sign: str, other: str
    ) -> Iterator[Edit]:
        start, end = self._span(left)[1], self._start(right)
        pattern = rb"\s+".join(re.escape(word.encode()) for word in sign.split())
        if found := re.search(pattern, self._code[start:end]):
            yield kind, start + found.start(), start + found.end(), other

    def _negated(self, test: ast.expr) -> Iterator[Edit]:
        if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            start, end = self._span(test)
            yield "boolean", start, end, f"(not ({self._code[start:end].decode()}))"

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._start(node), self._lines[node.end_lineno - 1] + node.end_col_offset


def _is_apart(node: ast.AST) -> bool:
    """Return whether nothing in a node is changed: texts, errors, assertions, imports for types."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Assert() | ast.keyword(arg="strict"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def _is_type(node: ast.expr) -> bool:
    """Return whether an operand of `|` is a type."""
    name = getattr(node, "attr", getattr(node, "id", ""))
    is_none = isinstance(node, ast.Constant) and node.value is None
    return is_none or (name[:1].isupper() and not name.isupper()) or name in ("int", "float", "str")


def _is_unwrapped(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in UNWRAPPED
        case ast.Attribute(value=ast.Name(id="np"), attr=name):
            return name not in CONVERSIONS and not isinstance(call.args[0], ast.Starred)
    return False
