"""The part of a condition that pyiceberg may leave files out by, without losing a row."""

from typing import Any

import pyarrow as pa

from evalsampling.pool.conditions import CONTRARY, Filter, held
from evalsampling.pool.nested import with_fields
from evalsampling.spec.where import ColumnName, Condition, IsNull, OneOf, Relation


def row_filter(where: Condition | None, columns: Any, table: Any) -> Any:
    """Return what a table of pyiceberg is scanned by; it holds wherever a condition does.

    The columns are those of the snapshot's schema, as pyiceberg has it.
    """
    from pyiceberg.expressions import AlwaysTrue, And
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    if where is None:
        return AlwaysTrue()
    types = schema_to_pyarrow(columns, include_field_ids=False)
    translation = _Translation(types, columns, table)
    condition = Filter.of(where, with_fields(types)).condition
    return held(condition, translation.leaf, And, translation.either)


class _Translation:
    """What becomes of conditions; what pyiceberg understands otherwise is always true."""

    def __init__(self, types: pa.Schema, columns: Any, table: Any) -> None:
        from pyiceberg import expressions

        self._sql = expressions
        self._always = expressions.AlwaysTrue()
        self._types = types
        now = {field.field_id: field.name for field in table.schema().fields}
        self._names = {field.name: now.get(field.field_id) for field in columns.fields}
        parted = {field.source_id for spec in table.specs().values() for field in spec.fields}
        self._maybe_null = {now.get(number) for number in parted}

    def either(self, left: Any, right: Any) -> Any:
        """Return an expression that holds wherever one of two does."""
        is_ordered = self._orders_partitions(left) or self._orders_partitions(right)
        return self._always if is_ordered else self._sql.Or(left, right)

    def _orders_partitions(self, part: Any) -> bool:
        """Tell whether a file with null for a partition ends pyiceberg with a `TypeError`.

        A conjunction leaves such a file out before it compares.
        """
        if isinstance(part, self._sql.And | self._sql.Or):
            return self._orders_partitions(part.left) or self._orders_partitions(part.right)
        order = self._sql.LessThan | self._sql.LessThanOrEqual
        order |= self._sql.GreaterThan | self._sql.GreaterThanOrEqual
        return isinstance(part, order) and part.term.name in self._maybe_null

    def leaf(self, part: Relation | OneOf | IsNull, negated: bool) -> Any:
        """Return what becomes of a comparison, or of its contrary."""
        if isinstance(part, OneOf):
            return held(part.spelt_out, self.leaf, self._sql.And, self._sql.Or, negated)
        if isinstance(part, IsNull):
            name = self._names.get(part.column)
            kind = self._sql.NotNull if negated else self._sql.IsNull
            return self._always if name is None else kind(name)
        if isinstance(part.value, ColumnName):
            return self._always
        return self._compared(part.column, part.operator, part.value, negated)

    def _compared(self, column: str, operator: str, value: Any, negated: bool) -> Any:
        name = self._names.get(column)  # None of a field of a struct column.
        value = None if name is None else _literal(self._types.field(column).type, value, negated)
        if name is None or value is None:
            return self._always
        made = {
            "=": self._sql.EqualTo, "!=": self._sql.NotEqualTo, "<": self._sql.LessThan,
            "<=": self._sql.LessThanOrEqual, ">": self._sql.GreaterThan,
            ">=": self._sql.GreaterThanOrEqual,
        }  # fmt: skip
        return made[CONTRARY[operator] if negated else operator](name, value)


def _literal(kind: pa.DataType, value: Any, negated: bool) -> Any:
    """Return a literal as pyiceberg takes it, None where it might leave out too much.

    Of floats, NaN is neither below nor above a number, which pyiceberg's contraries forget; narrow
    ones it rounds.
    """
    if pa.types.is_integer(kind):
        return int(value) if value == int(value) and abs(value) < 1 << 63 else None
    if pa.types.is_float64(kind):
        return None if negated else float(value)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return value if isinstance(value, str) else None
    if pa.types.is_boolean(kind):
        return value
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.unit == "us"):
        return value.isoformat()
    return None
