import pyarrow as pa
import pytest

from evalsampling.pool.arrow import first_unreadable, is_list, is_text, plain


def test_long_and_short_text_and_lists_are_alike() -> None:
    assert is_text(pa.string())
    assert is_text(pa.large_string())
    assert not is_text(pa.binary())
    assert is_list(pa.list_(pa.int8()))
    assert is_list(pa.large_list(pa.int8()))
    assert not is_list(pa.string())


def test_dictionaries_are_decoded() -> None:
    column = pa.array(["a", "b", None, "a"])
    assert plain(column.dictionary_encode()) == column
    assert plain(column) is column


@pytest.mark.parametrize("bad", range(5))
def test_first_row_that_cannot_be_read_is_found(bad: int) -> None:
    texts = pa.array(["x" if row in (bad, 4) else "1" for row in range(5)])
    assert first_unreadable(lambda end: texts.slice(0, end).cast(pa.int64()), 5) == bad


def test_other_errors_are_passed_on() -> None:
    with pytest.raises(KeyError):
        first_unreadable(lambda end: {}[end], 3)
