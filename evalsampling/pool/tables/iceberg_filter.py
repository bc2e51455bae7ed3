"""The part of a condition that pyiceberg may leave files out by, without losing a row."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from evalsampling.pool.conditions import Filter
from evalsampling.pool.layout import TableColumn
from evalsampling.pool.nested import with_fields
from evalsampling.spec.where import (
    AllOf,
    AnyOf,
    ColumnName,
    Condition,
    IsNull,
    Not,
    OneOf,
    Relation,
)

_CONTRARY = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def row_filter(where: Condition | None, columns: Sequence[TableColumn], schema: Any) -> Any:
    """Return an expression of pyiceberg that holds wherever a condition does."""
    from pyiceberg.expressions import AlwaysTrue

    if where is None:
        return AlwaysTrue()
    types = pa.schema([(column.name, column.type) for column in columns])
    selection = Filter.of(where, with_fields(types))
    return _Translation(columns, schema).of(selection.condition, negated=False)


class _Translation:
    """What becomes of conditions; what pyiceberg understands otherwise is always true."""

    def __init__(self, columns: Sequence[TableColumn], schema: Any) -> None:
        from pyiceberg import expressions

        self._sql = expressions
        self._always = expressions.AlwaysTrue()
        self._types = {column.name: column.type for column in columns}
        names = {field.field_id: field.name for field in schema.fields}
        self._names = {column.name: names.get(column.field_id) for column in columns}

    def of(self, condition: Condition, negated: bool) -> Any:
        """Return what becomes of a condition, or of its contrary."""
        match condition:
            case Not(part):
                return self.of(part, not negated)
            case AllOf(parts) | AnyOf(parts):
                made: list[Any] = [self.of(part, negated) for part in parts]
                both = isinstance(condition, AllOf) != negated
                join = self._sql.And if both else self._sql.Or
                return made[0] if len(made) == 1 else join(*made)
            case IsNull(column):
                name = self._names.get(column)
                kind = self._sql.NotNull if negated else self._sql.IsNull
                return self._always if name is None else kind(name)
            case OneOf():
                return self.of(condition.spelt_out, negated)
            case Relation(_, _, ColumnName(_)):
                return self._always
            case Relation(column, operator, value):
                return self._compared(column, operator, value, negated)

    def _compared(self, column: str, operator: str, value: Any, negated: bool) -> Any:
        name = self._names.get(column)  # None of a field of a struct column.
        value = None if name is None else _literal(self._types[column], value, negated)
        if name is None or value is None:
            return self._always
        made = {
            "=": self._sql.EqualTo, "!=": self._sql.NotEqualTo, "<": self._sql.LessThan,
            "<=": self._sql.LessThanOrEqual, ">": self._sql.GreaterThan,
            ">=": self._sql.GreaterThanOrEqual,
        }  # fmt: skip
        return made[_CONTRARY[operator] if negated else operator](name, value)


def _literal(kind: pa.DataType, value: Any, negated: bool) -> Any:
    """Return a literal as pyiceberg takes it, None where it might leave out too much.

    Of floats, NaN is neither below nor above a number, which pyiceberg's contraries forget; narrow
    ones it rounds.
    """
    if pa.types.is_integer(kind):
        whole = not isinstance(value, float) or value.is_integer()
        return int(value) if whole and abs(value) < 1 << 63 else None
    if pa.types.is_float64(kind):
        return None if negated else value
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return value if isinstance(value, str) else None
    if pa.types.is_boolean(kind):
        return value
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.unit == "us"):
        return value.isoformat()
    return None
