"""The rows of a pool that satisfy its condition, ``pool.where``."""

import dataclasses
import datetime
import decimal
import fractions
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.pool.arrow import is_text
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.numbers import in_type
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.sections import nearest
from evalsampling.spec.where import (
    KEY,
    AllOf,
    AnyOf,
    ColumnName,
    Condition,
    IsNull,
    Not,
    OneOf,
    Relation,
    Value,
    columns_of,
    moment,
)

_COMPARE: Mapping[str, Callable[..., pa.Array]] = {
    "=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater,
    ">=": pc.greater_equal,
}  # fmt: skip

CONTRARY = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""Comparisons, each with the one that holds where it does not, unless something is null or NaN."""

_KINDS: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (pa.types.is_null, "anything"), (pa.types.is_integer, "number"),
    (pa.types.is_floating, "number"), (pa.types.is_decimal, "number"), (is_text, "text"),
    (pa.types.is_boolean, "truth"), (pa.types.is_date, "date"), (pa.types.is_timestamp, "time"),
)  # fmt: skip

_KINDS_OF_VALUES: Mapping[type, str] = {
    bool: "truth", int: "number", decimal.Decimal: "number", str: "text", datetime.date: "date"
}  # fmt: skip

_OF_ONE_TYPE = (pa.types.is_decimal, pa.types.is_timestamp, pa.types.is_uint64)
"""Types whose values Arrow compares exactly with those of the same type alone."""

_STEPWISE = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_timestamp)
"""Types whose values are whole numbers, of units."""

_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units of time, in a second."""


@dataclasses.dataclass(frozen=True)
class Filter:
    """A condition on columns whose types are known."""

    condition: Condition
    types: Mapping[str, pa.DataType]

    @classmethod
    def of_pool(cls, pool: PoolSpec, schema: pa.Schema, untyped: bool = False) -> "Filter | None":
        """Return the condition on the rows of a pool, None if all rows are of it."""
        if pool.weight in schema.names:
            kind = schema.field(pool.weight).type
            if _kind(kind) not in ("number", "text", "anything"):
                raise InputError(f"pool.weight: column {pool.weight!r} has type {kind}, no number")
        return None if pool.condition is None else cls.of(pool.condition, schema, untyped)

    @classmethod
    def of(cls, condition: Condition, schema: pa.Schema, untyped: bool = False) -> "Filter":
        """Return a condition on the columns of a schema, checked to compare like with like."""
        types = {}
        for name in columns_of(condition):
            if name not in schema.names:
                hint = nearest(name, schema.names, "there are")
                raise InputError(f"{KEY}: column {name!r} is missing{hint}")
            types[name] = schema.field(name).type
        return cls(_settled(condition, types, untyped), types)

    def kept(self, batch: PoolBatch) -> PoolBatch:
        """Return the rows of a batch that satisfy the condition, with their places."""
        mask = pc.fill_null(translated(self.condition, functools.partial(_mask, batch)), False)
        if pc.all(mask).as_py():
            return batch
        return batch.take(np.flatnonzero(mask.to_numpy(zero_copy_only=False)))


def selected_rows(batch: PoolBatch, pool: PoolSpec) -> PoolBatch:
    """Return the rows of a batch from anywhere that are of a pool."""
    if pool.pairs is not None:
        raise InputError("pool.pairs: which order counts depends on other rows; take the commands")
    types = [(name, batch.any_column(name).type) for name in columns_of(pool.condition)]
    where = Filter.of_pool(pool, pa.schema(types))
    return batch if where is None else where.kept(batch)


Leaf = Callable[[Relation | OneOf | IsNull, bool], Any]
"""Returns the translation of a comparison, or, if its second argument is true, of its contrary."""


def translated(
    condition: Condition,
    leaf: Leaf,
    both: Callable[..., Any] = pc.and_kleene,
    either: Callable[..., Any] = pc.or_kleene,
    negated: bool = False,
) -> Any:
    """Return a condition translated leaf by leaf, each ``NOT`` pushed down to the comparisons."""
    match condition:
        case Not(part):
            return translated(part, leaf, both, either, not negated)
        case AllOf(parts) | AnyOf(parts):
            made = [translated(part, leaf, both, either, negated) for part in parts]
            join = both if isinstance(condition, AllOf) != negated else either
            return functools.reduce(join, made)
        case _:
            return leaf(condition, negated)


def _mask(batch: PoolBatch, part: Relation | OneOf | IsNull, negated: bool) -> pa.Array:
    """Return for each row whether a comparison holds, or does not: true, false or null."""
    if isinstance(part, IsNull):
        mask = pc.is_null(batch.any_column(part.column))
    elif isinstance(part, OneOf):
        mask = translated(part.spelt_out, functools.partial(_mask, batch))
    elif isinstance(part.value, ColumnName):
        mask = _of_columns(batch, part.column, part.operator, part.value.name)
    else:
        column = batch.any_column(part.column)
        if is_text(column.type) and not isinstance(part.value, str):
            mask = _parsed(batch, part.column, column, part.operator, part.value)
        else:
            mask = _compared(column, column.type, part.operator, part.value)
    return pc.invert(mask) if negated else mask


Columns = Mapping[str, tuple[pc.Expression, pa.DataType]]
"""Columns of a file as Arrow knows them, with their types, by the names that a condition has."""

_PRUNED = (
    pa.types.is_integer, pa.types.is_float64, pa.types.is_float32, is_text, pa.types.is_boolean,
    pa.types.is_date32, pa.types.is_timestamp,
)  # fmt: skip
"""Types by whose statistics Arrow leaves out parts of a file."""


def outline(condition: Condition, columns: Columns) -> pc.Expression:
    """Return an expression that holds of every row that satisfies a condition, and of others.

    Arrow may leave out the parts of a file in which it holds of no row.
    """
    return translated(condition, functools.partial(_outlined, columns))


def _outlined(columns: Columns, part: Relation | OneOf | IsNull, negated: bool) -> pc.Expression:
    """Return an expression that holds wherever a comparison does, or its contrary."""
    always = pc.scalar(True)
    column, kind = columns.get(part.column, (None, pa.null()))
    if column is None or not any(belongs(kind) for belongs in _PRUNED):
        return always
    if isinstance(part, IsNull):
        return column.is_valid() if negated else column.is_null()
    if isinstance(part, Relation) and isinstance(part.value, ColumnName):
        return always
    try:
        if isinstance(part, OneOf):
            values = [_literal(kind, part.column, "=", value) for value in part.values]
            is_known = not negated and all(_is_known(kind, value) for value in values)
            return _among(column, kind, values) if is_known else always
        operator = CONTRARY[part.operator] if negated else part.operator
        value = _literal(kind, part.column, operator, part.value)
    except (InputError, pa.ArrowInvalid, OverflowError):
        return always  # Another type is told of where those of all files are known.
    # Arrow's statistics know nothing of NaN, of which no comparison is true, and each contrary.
    of_nan = pa.types.is_floating(kind) and (negated or operator == "!=")
    is_left_out = of_nan or not _is_known(kind, value)
    return always if is_left_out else _compared(column, kind, operator, value)


def _is_known(kind: pa.DataType, value: Value) -> bool:
    """Tell whether Arrow's statistics know how values of a type compare with a literal."""
    if isinstance(value, datetime.datetime):
        return 1678 <= value.year <= 2261
    return isinstance(value, str) or not is_text(kind)


def _among(column: pc.Expression, kind: pa.DataType, values: list[Any]) -> pc.Expression:
    """Return an expression of some values; no chain, for at a long one Arrow ends the process."""
    ends = ((">=", min(values)), ("<=", max(values)))
    within = pc.and_kleene(*(_compared(column, kind, *end) for end in ends))
    # To Arrow -0.0 is not among [0.0].
    is_float = pa.types.is_floating(kind)
    return within if is_float else pc.and_kleene(within, column.isin(pa.array(values, kind)))


def _compared(column: Any, kind: pa.DataType, operator: str, value: Any) -> Any:
    """Return how a column of a type, an array or an expression, compares with a literal."""
    if pa.types.is_null(kind):
        return pa.nulls(len(column), pa.bool_())
    if any(belongs(kind) for belongs in _STEPWISE):
        return _steps_compared(column, kind, operator, value)
    if pa.types.is_floating(kind):
        return _floats_compared(column, kind, operator, float(value))
    if pa.types.is_date64(kind):
        column, kind = column.cast(pa.date32()), pa.date32()
    return _COMPARE[operator](column, pa.scalar(value, kind))


def _steps_compared(column: Any, kind: pa.DataType, operator: str, value: Any) -> Any:
    """Return the exact comparison of whole numbers, decimals or times with a value of any type."""
    steps = _steps(kind, value)
    below = math.floor(steps)
    if below != steps:  # Between two values of the type.
        if operator in ("=", "!="):
            return _beyond(column, operator, above=True)
        operator = "<=" if operator in ("<", "<=") else ">"
    try:
        is_decimal = pa.types.is_decimal(kind)
        own = decimal.Decimal(f"{below}E-{kind.scale}") if is_decimal else below
        return _COMPARE[operator](column, pa.scalar(own, kind))
    except (pa.ArrowInvalid, OverflowError):
        return _beyond(column, operator, below > 0)


def _steps(kind: pa.DataType, value: Any) -> fractions.Fraction:
    """Return a literal in units of the least difference between two values of a type."""
    if pa.types.is_timestamp(kind):
        epoch = datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo and datetime.UTC)
        microseconds = (value - epoch) // datetime.timedelta(microseconds=1)
        return fractions.Fraction(microseconds * _UNITS[kind.unit], _UNITS["us"])
    exact = fractions.Fraction(value)
    return exact * 10**kind.scale if pa.types.is_decimal(kind) else exact


def _floats_compared(column: Any, kind: pa.DataType, operator: str, value: float) -> Any:
    """Return how floats compare with a literal, rounded to their type if it reaches so far."""
    rounded = in_type(kind, value)
    if pa.types.is_float16(kind) or math.isinf(rounded):  # Arrow does not compare halves.
        column, kind = column.cast(pa.float64()), pa.float64()
        rounded = value if math.isinf(rounded) else rounded
    return _COMPARE[operator](column, pa.scalar(rounded, kind))


def _beyond(column: Any, operator: str, above: bool) -> Any:
    """Return how values compare with a literal outside the range of their type."""
    holds = operator == "!=" or operator in (("<", "<=") if above else (">", ">="))
    return pc.if_else(column.is_valid(), pa.scalar(holds), pa.scalar(None, pa.bool_()))


def _of_columns(batch: PoolBatch, left: str, operator: str, right: str) -> pa.Array:
    """Return how a column compares with another, exactly."""
    names = left, right
    sides = [batch.any_column(name) for name in names]
    kinds = [side.type for side in sides]
    if any(map(pa.types.is_null, kinds)):
        return pa.nulls(len(batch), pa.bool_())
    if any(map(pa.types.is_floating, kinds)):
        sides = [batch.as_floats(name, side) for name, side in zip(names, sides, strict=True)]
    elif all(map(is_text, kinds)) or all(map(pa.types.is_date, kinds)):
        common = pa.large_string() if is_text(kinds[0]) else pa.date32()
        sides = [side.cast(common) for side in sides]
    return _COMPARE[operator](*sides)


def _parsed(batch: PoolBatch, name: str, column: pa.Array, operator: str, value: Any) -> pa.Array:
    """Return how the values that texts spell compare with a literal; whole numbers exactly."""
    if type(value) not in (int, decimal.Decimal):
        kind, what = _meant(value)
        return _compared(batch.parsed(name, column, kind, what), kind, operator, value)
    try:
        return _compared(column.cast(pa.int64()), pa.int64(), operator, value)
    except pa.ArrowInvalid:
        floats = batch.parsed(name, column, pa.float64(), "a number")
    mask = _compared(floats, pa.float64(), operator, value)
    is_whole = pc.match_substring_regex(column, "^[+-]?[0-9]+$")
    close = pc.fill_null(pc.and_(is_whole, pc.equal(floats, float(value))), False)
    signs = [decimal.Decimal(text).compare(value) for text in column.filter(close).to_pylist()]
    exact = _COMPARE[operator](pa.array(map(int, signs), pa.int8()), pa.scalar(0, pa.int8()))
    return pc.replace_with_mask(mask, close, exact)


def _meant(value: Value) -> tuple[pa.DataType, str]:
    """Return the type, and its name, in which texts are read to compare with a literal."""
    if isinstance(value, bool):
        return pa.bool_(), "true or false"
    if not isinstance(value, datetime.datetime):
        return pa.date32(), "a date"
    if value.tzinfo is None:
        return pa.timestamp("us"), "a time without a zone"
    return pa.timestamp("us", "UTC"), "a time with its zone"


def _settled(condition: Condition, types: Mapping[str, pa.DataType], untyped: bool) -> Condition:
    """Return a condition whose literals are of the types of their columns, unless untyped."""

    def literal(name: str, operator: str, value: Any) -> Value:
        return _literal(types[name], name, operator, value, untyped)

    match condition:
        case AllOf(parts) | AnyOf(parts):
            return type(condition)(tuple(_settled(part, types, untyped) for part in parts))
        case Not(part):
            return Not(_settled(part, types, untyped))
        case OneOf(column, values):
            return OneOf(column, tuple(literal(column, "=", value) for value in values))
        case Relation(column, operator, ColumnName(other)):
            _check_alike(types, column, operator, other, untyped)
        case Relation(column, operator, value):
            return Relation(column, operator, literal(column, operator, value))
    return condition


def _check_alike(
    types: Mapping[str, pa.DataType], name: str, operator: str, other: str, untyped: bool
) -> None:
    first, second = types[name], types[other]
    kinds, unlike = {_kind(first), _kind(second)} - {"anything"}, {first, second} - {pa.null()}
    is_exact = len(unlike) < 2 or not any(own(kind) for kind in unlike for own in _OF_ONE_TYPE)
    if len(kinds) > 1 or kinds & {"other"} or not is_exact:
        problem = f"column {name!r} has type {first} and {other!r} {second}"
        raise InputError(f"{KEY}: {problem}; they cannot be compared")
    if untyped and kinds == {"text"} and operator not in ("=", "!="):
        raise InputError(
            f"{KEY}: {name} {operator} {other}: both are text in these files, of which 10 is "
            "less than 9; compare with a literal, or use files with types, as Parquet"
        )


def _literal(
    kind: pa.DataType, name: str, operator: str, value: Any, untyped: bool = False
) -> Value:
    """Return a literal as values of the type of its column are."""
    wanted = _kind(kind)
    # Numbers may be written as text, as by BigQuery in JSON. Text may be a code: 007 is not 7.
    by_order = operator not in ("=", "!=")
    as_number = type(value) is decimal.Decimal or (type(value) is int and by_order)
    if wanted == "anything" or (wanted == "text" and (untyped or as_number)):
        return value
    if wanted in ("date", "time") and isinstance(value, str):
        value = moment(value, datetime.date if wanted == "date" else datetime.datetime)
    given = _KINDS_OF_VALUES.get(type(value), "time")
    if wanted == "time" and given == "date":
        value, given = datetime.datetime(value.year, value.month, value.day), "time"
    if given != wanted or (wanted == "truth" and by_order):
        raise InputError(f"{KEY}: {name} {operator} {_shown(value)}: the column has type {kind}")
    if isinstance(value, datetime.datetime) and kind.tz is None and value.tzinfo is not None:
        raise InputError(f"{KEY}: column {name!r} has no time zone, {value} has")
    if isinstance(value, datetime.datetime) and kind.tz is not None and value.tzinfo is None:
        return value.replace(tzinfo=datetime.UTC)
    return value


def _kind(kind: pa.DataType) -> str:
    """Return the kind, of `_KINDS`, that values of a type are compared as."""
    return next((name for belongs, name in _KINDS if belongs(kind)), "other")


def _shown(value: Value) -> str:
    """Return a literal as SQL has it."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime.date):
        return f"{'TIMESTAMP' if isinstance(value, datetime.datetime) else 'DATE'} '{value}'"
    return str(value) if isinstance(value, decimal.Decimal) else repr(value)
