"""What cannot be shown to annotators is an error of `prepare`."""

from typing import Any

import pyarrow as pa
import pytest

from tests.jobs import Jobs, make_pool

ROWS = 2000
BROKEN = 1777


def not_utf8(kind: pa.DataType, text: str = "text {}") -> pa.Array:
    """Text whose value `BROKEN` is not UTF-8."""
    values = [text.format(row).encode() for row in range(ROWS)]
    values[BROKEN] = b"caf\xe9"
    binary = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
    return pa.Array.from_buffers(kind, ROWS, binary.buffers())


@pytest.mark.parametrize(
    ("role", "kind"),
    [
        ("id", pa.string()),
        ("id", pa.large_string()),
        ("slice", pa.string()),
        ("payload", pa.string()),
        ("encoded", pa.string()),
        ("nested", pa.string()),
        ("prediction", pa.string()),
    ],
)
def test_text_that_is_not_utf8_is_named(job: Jobs, role: str, kind: pa.DataType) -> None:
    values, name = not_utf8(kind), "text"
    pool: dict[str, Any] = {"payload": ["text"]}
    if role == "id":
        name, pool = "id", {}
    elif role == "slice":
        pool = {"slices": ["text"]}
    elif role == "prediction":
        values, name, pool = not_utf8(kind, "no"), "prediction", {"payload": []}
    elif role == "encoded":
        values = pa.DictionaryArray.from_arrays(pa.array(range(ROWS), pa.int32()), values)
    elif role == "nested":
        values = pa.ListArray.from_arrays(pa.array(range(ROWS + 1), pa.int32()), values)
    keys = {"labels": {"classes": ["no", "yes"]}} if role == "prediction" else {}
    # Every row is kept, so that the broken one is among them.
    rows = make_pool().with_columns(**{name: pa.chunked_array([values])})
    one = job(rows, files=2, budget=ROWS, pool=pool, **keys)
    result = one.prepare(*([] if role == "payload" else ["--in-process"]))
    assert result.status == 1
    assert result.err.count("\n") == 1, result.err
    for words in ("part-1", f"column '{name}', row {BROKEN - 1000}: ", "UTF"):
        assert words in result.err
    assert not one.workspace.exists()
