"""The condition ``pool.where``: which rows of a pool there are, as SQL.

It is made of `Relation`, `OneOf`, `IsNull`, `Not`, `AllOf` and `AnyOf`. Which rows satisfy it is in
`pool.conditions`, and so is which parts of a pool may have such rows.
"""

import dataclasses
import datetime
import decimal
import re
from typing import TYPE_CHECKING, Any

from evalsampling.errors import InputError

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

KEY = "pool.where"
"""What messages call a condition."""

Value = bool | int | decimal.Decimal | str | datetime.date | datetime.datetime
"""What a literal stands for, exactly."""

SWAPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Comparisons, each with the one that holds if its sides are swapped."""

_MOST_DIGITS = 308
"""Of a number, before and after its point: as many as float64 has."""

_FINER = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]")
"""A time that has more digits than microseconds."""

_MOST_TEXT = 60
"""Characters of a condition that a message repeats."""


@dataclasses.dataclass(frozen=True)
class ColumnName:
    """A column on the right of a comparison."""

    name: str


@dataclasses.dataclass(frozen=True)
class Relation:
    """A column compared with a literal or with another column, by one of `SWAPPED`."""

    column: str
    operator: str
    value: Value | ColumnName


@dataclasses.dataclass(frozen=True)
class OneOf:
    """Whether the value of a column is one of some literals: ``IN``."""

    column: str
    values: tuple[Value, ...]

    @property
    def spelt_out(self) -> "AnyOf":
        """The condition as comparisons joined by OR."""
        return AnyOf(tuple(Relation(self.column, "=", value) for value in self.values))


@dataclasses.dataclass(frozen=True)
class IsNull:
    """Whether a column is null."""

    column: str


@dataclasses.dataclass(frozen=True)
class Not:
    """The contrary of a condition."""

    part: "Condition"


@dataclasses.dataclass(frozen=True)
class AllOf:
    """Whether all of some conditions hold: ``AND``."""

    parts: tuple["Condition", ...]


@dataclasses.dataclass(frozen=True)
class AnyOf:
    """Whether at least one of some conditions holds: ``OR``."""

    parts: tuple["Condition", ...]


Condition = Relation | OneOf | IsNull | Not | AllOf | AnyOf


def columns_of(condition: Condition | None) -> tuple[str, ...]:
    """Return the columns that a condition looks at, each once; none of no condition."""
    match condition:
        case None:
            return ()
        case AllOf(parts) | AnyOf(parts):
            names = [name for part in parts for name in columns_of(part)]
        case Not(part):
            return columns_of(part)
        case Relation(column, _, ColumnName(other)):
            names = [column, other]
        case _:
            names = [condition.column]
    return tuple(dict.fromkeys(names))


def read_where(text: str) -> Condition:
    """Return the condition that a text in SQL stands for."""
    import sqlglot  # It takes long to load, and few specs have a condition.
    from sqlglot.errors import SqlglotError

    try:
        trees = sqlglot.parse(text)
        if len(trees) != 1 or trees[0] is None:
            raise InputError(f"{KEY}: must be one condition in SQL, got {_short(text)}")
        return _condition(trees[0])
    except SqlglotError as error:
        problems = getattr(error, "errors", None)
        what = problems[0]["description"] if problems else str(error)
        raise InputError(f"{KEY}: no condition in SQL: {_short(what)}: {_short(text)}") from error
    except RecursionError as error:
        raise InputError(f"{KEY}: nested too deeply") from error


def in_spark(text: str) -> str:
    """Return a condition, as `read_where` takes it, in the SQL of Spark."""
    import sqlglot  # As in `read_where`.

    return str(sqlglot.transpile(text, write="spark")[0])


def _condition(tree: "Expression") -> Condition:
    from sqlglot import expressions as sql

    comparisons = {
        sql.EQ: "=", sql.NEQ: "!=", sql.LT: "<", sql.LTE: "<=", sql.GT: ">", sql.GTE: ">=",
    }  # fmt: skip
    if isinstance(tree, sql.Paren):
        return _condition(tree.this)
    if isinstance(tree, sql.And):
        return AllOf(tuple(map(_condition, tree.flatten())))
    if isinstance(tree, sql.Or):
        return AnyOf(tuple(map(_condition, tree.flatten())))
    if isinstance(tree, sql.Not):
        return Not(_condition(tree.this))
    if isinstance(tree, sql.Column):
        return Relation(_column(tree), "=", True)
    if isinstance(tree, sql.Is) and isinstance(tree.expression, sql.Null):
        return IsNull(_column(tree.this))
    if isinstance(tree, sql.Between) and not tree.args.get("symmetric"):
        column = _column(tree.this)
        low, high = _literal(tree.args["low"]), _literal(tree.args["high"])
        return AllOf((Relation(column, ">=", low), Relation(column, "<=", high)))
    if isinstance(tree, sql.In) and tree.expressions:
        return OneOf(_column(tree.this), tuple(map(_literal, tree.expressions)))
    if type(tree) in comparisons:
        left, right = tree.this.unnest(), tree.expression.unnest()
        operator = comparisons[type(tree)]
        if not isinstance(left, sql.Column):
            left, operator, right = right, SWAPPED[operator], left
        value = ColumnName(_column(right)) if isinstance(right, sql.Column) else _literal(right)
        return Relation(_column(left), operator, value)
    raise _unknown(tree)


def _column(tree: "Expression") -> str:
    from sqlglot import expressions as sql

    tree = tree.unnest()
    if not isinstance(tree, sql.Column) or not isinstance(tree.this, sql.Identifier):
        raise _unknown(tree)
    return ".".join(part.name for part in tree.parts)  # A field of a struct column has dots.


def _literal(tree: "Expression") -> Value:
    from sqlglot import expressions as sql

    tree = tree.unnest()
    negative = isinstance(tree, sql.Neg)
    inner = tree.this if negative else tree
    if isinstance(inner, sql.Literal) and not inner.is_string:
        return _number("-" * negative + inner.name)
    if negative:
        raise _unknown(tree)
    if isinstance(tree, sql.Literal):
        return tree.name
    if isinstance(tree, sql.Boolean):
        return bool(tree.this)
    if isinstance(tree, sql.Null):
        raise InputError(f"{KEY}: nothing is compared with NULL; write IS NULL or IS NOT NULL")
    if isinstance(tree, sql.Cast) and isinstance(tree.this, sql.Literal) and tree.this.is_string:
        if tree.is_type("date"):
            return moment(tree.this.name, datetime.date)
        if tree.is_type("timestamp", "timestamptz", "datetime", "timestampntz"):
            return moment(tree.this.name)
    raise _unknown(tree)


def _number(text: str) -> int | decimal.Decimal:
    """Return the number that a text stands for, as it is written."""
    try:
        number = decimal.Decimal(text)
    except decimal.InvalidOperation:  # Of its exponent, say.
        number = decimal.Decimal("1e999")
    if not (len(text) <= 2 * _MOST_DIGITS and -_MOST_DIGITS < number.adjusted() < _MOST_DIGITS):
        digits = f"at most {_MOST_DIGITS} digits on each side of its point"
        raise InputError(f"{KEY}: a number has {digits}, got {_short(text)}")
    return number if set(text) & set(".eE") else int(number)


def moment(text: str, kind: type[datetime.date] = datetime.datetime) -> Any:
    """Return the point of time, or the date, that a text in ISO 8601 stands for."""
    if _FINER.search(text):
        raise InputError(f"{KEY}: a literal has at most microseconds, got {text!r}")
    try:
        return kind.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{KEY}: no date or time in ISO 8601: {_short(repr(text))}") from error


def _unknown(tree: "Expression") -> InputError:
    return InputError(
        f"{KEY}: {_short(tree.sql())} is not among what it may have: columns, literals, "
        "comparisons, AND, OR, NOT, IN, BETWEEN and IS NULL"
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}..."
