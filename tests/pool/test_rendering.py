"""Dates, times and nested values as text."""

import datetime
import json
import zoneinfo
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pool.rendering import as_text, json_text, rendered
from tests.jobs import strict_json

RNG = np.random.default_rng(3)
TICKS = [0, 1, -1, 500_000, 1_500, 10**6, 86_399_999_999, -(10**12)]
TICKS += RNG.integers(-(10**15), 10**15, 50).tolist()
UNITS = {"s": 10**6, "ms": 10**3, "us": 1}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Zurich", "+05:30", "-03:00"])
def test_instants_are_spelt_as_python_spells_them(unit: str, zone: str | None) -> None:
    ticks = [int(tick) // UNITS[unit] for tick in TICKS]
    values = pa.array(ticks).cast(pa.timestamp(unit, zone))
    recent = [value.as_py() for value in values if value.as_py().year >= 1950]
    kept = pa.array([v.year >= 1950 for v in values.to_pylist()])
    assert rendered(values.filter(kept)).to_pylist() == [str(value) for value in recent]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_and_durations(unit: str) -> None:
    per = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    micro = [0, 1000, 123_456_000 // 1000 * 1000, 86_399_999_000]
    ticks = [m * per // 10**6 for m in micro]
    kind = pa.time32("ms") if unit == "ms" else pa.time64(unit)
    times = pa.array(ticks, pa.int32() if unit == "ms" else pa.int64()).cast(kind)
    start = datetime.datetime(2000, 1, 1)
    expected = [str((start + datetime.timedelta(microseconds=m)).time()) for m in micro]
    assert rendered(times).to_pylist() == expected
    ticks += [-1_000 * per, 90_000 * per, 2 * 86_400 * per, -per // 1000]
    durations = pa.array(ticks).cast(pa.duration(unit))
    of_python = [datetime.timedelta(microseconds=tick * 10**6 // per) for tick in ticks]
    assert rendered(durations).to_pylist() == [str(value) for value in of_python]


def far_date(days: int) -> str:
    """The date so many days after 1970, of any year: the calendar repeats after 400 years."""
    cycles, within = divmod(days, 146_097)
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=within)
    year = date.year + 400 * cycles
    return f"{'-' * (year < 0)}{abs(year):04d}-{date:%m-%d}"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pa.array([1], pa.int64()).cast(pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
        (pa.array([1], pa.int64()).cast(pa.time64("ns")), "00:00:00.000000001"),
        (pa.array([1], pa.int64()).cast(pa.duration("ns")), "0:00:00.000000001"),
        (pa.array([0]).cast(pa.timestamp("s", "Mars/Base")), "1970-01-01 00:00:00+00:00"),
        (pa.array([2932897], pa.int32()).cast(pa.date32()), "10000-01-01"),
        (pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), far_date(2**31 - 1)),
        (pa.array([-800_000], pa.int32()).cast(pa.date32()), far_date(-800_000)),
        (pa.array([253402300800]).cast(pa.timestamp("s")), "10000-01-01 00:00:00"),
        (pa.array([253402300800]).cast(pa.timestamp("s", "UTC")), "10000-01-01 00:00:00+00:00"),
        (pa.array([4 * 10**12]).cast(pa.timestamp("s")), far_date(46296296) + " 07:06:40"),
        (
            pa.array([4 * 10**12]).cast(pa.timestamp("s", "Asia/Tokyo")),
            far_date(46296296) + " 07:06:40+00:00",
        ),
    ],
)
def test_what_python_cannot_hold(values: pa.Array, text: str) -> None:
    both = pa.concat_arrays([values, pa.nulls(1, values.type)])
    assert rendered(both).to_pylist() == [text, None]
    assert rendered(both.slice(1)).to_pylist() == [None]
    listed = pa.ListArray.from_arrays(pa.array([0, 2, 2]), both)
    assert rendered(listed).to_pylist() == [f'["{text}", null]', "[]"]


def test_the_text_of_a_row_does_not_depend_on_its_neighbours() -> None:
    ticks = pa.array([0, 4 * 10**12, None, -(10**11), 1_700_000_000])
    for zone in (None, "Europe/Zurich", "Mars/Base"):
        values = ticks.cast(pa.timestamp("s", zone))
        alone = [rendered(values.slice(row, 1)).to_pylist()[0] for row in range(len(values))]
        assert rendered(values).to_pylist() == alone


NESTED: list[tuple[pa.DataType, list[Any]]] = [
    (pa.list_(pa.int64()), [[1, None], [], None, [3]]),
    (pa.large_list(pa.string()), [['"', "Zürich\n"], None]),
    (pa.list_(pa.float64(), 2), [[1.5, 2.0], None, [0.1, None]]),
    (pa.list_view(pa.int8()), [[1], [2, 3], None]),
    (pa.struct([("a b", pa.int8()), ("n", pa.list_(pa.bool_()))]), [{"a b": 1, "n": [True]}, None]),
    (pa.struct([("a", pa.struct([("b", pa.string())]))]), [{"a": None}, {"a": {"b": "x"}}]),
    (pa.struct([]), [{}, None]),
    (pa.map_(pa.string(), pa.int64()), [[("k", 1), ("l", None)], [], None]),
    (pa.list_(pa.list_(pa.struct([("x", pa.null())]))), [[[{"x": None}], None, []], None]),
]


@pytest.mark.parametrize(("kind", "values"), NESTED, ids=lambda part: str(part)[:40])
def test_nested_values_are_json(kind: pa.DataType, values: list[Any]) -> None:
    array = pa.array([*values, *values], kind)
    expected = [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]
    assert rendered(array).to_pylist() == expected * 2
    assert rendered(array.slice(1, len(values))).to_pylist() == (expected * 2)[1 : len(values) + 1]


def test_numbers_that_json_does_not_have_are_null() -> None:
    listed = pa.array([[0.5, float("nan"), float("inf")], None])
    assert rendered(listed).to_pylist() == ["[0.5, null, null]", None]


def test_other_columns_stay_as_they_are() -> None:
    for array in (pa.array([1, None]), pa.array(["a", None]), pa.array([0.5])):
        assert rendered(array) is array


def test_bytes_are_text() -> None:
    for kind in (pa.binary(), pa.large_binary(), pa.binary(7)):
        values = pa.array(["Zürich".encode(), b"a\xffbcdef", None], kind)
        assert rendered(values).to_pylist() == ["Zürich", "a\\xffbcdef", None]
        listed = pa.ListArray.from_arrays(pa.array([0, 1]), values)
        assert rendered(listed).to_pylist() == ['["Zürich"]']


def test_zones_have_their_summer_time() -> None:
    moment = datetime.datetime(2024, 7, 1, 12, 0, 0, 5, zoneinfo.ZoneInfo("Europe/Zurich"))
    array = pa.array([moment], pa.timestamp("us", "Europe/Zurich"))
    assert rendered(array).to_pylist() == ["2024-07-01 12:00:00.000005+02:00"]


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(NAN, None), ([0.5, [-INFINITY]], [0.5, [None]]), ({"a": {"b": INFINITY}}, {"a": {"b": None}}),
     ("NaN", "NaN"), (1 << 70, 1 << 70), (b"x", "b'x'")],
)  # fmt: skip
def test_numbers_that_json_does_not_have_are_null_as_text(value: Any, expected: Any) -> None:
    assert strict_json(json_text(value)) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, None), ("a", "a"), (b"a\xff", "a\\xff"), (True, "true"), (1.5, "1.5"),
     (["é", NAN], '["é", null]')],
)  # fmt: skip
def test_values_as_text(value: Any, text: str | None) -> None:
    assert as_text(value) == text
