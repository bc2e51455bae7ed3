"""YAML that is plain data, every key of a mapping once."""

import pytest
import yaml

from evalsampling.errors import InputError
from evalsampling.spec.strict_yaml import load_strictly


def test_plain_data_is_what_yaml_says() -> None:
    text = "a: [1, 2.5, yes]\nb: {c: null, d: [{c: 1}, {c: 2}]}\n"
    assert load_strictly(text.encode()) == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: key 'a' is there twice"),
        ("a:\n  b: 1\n  'b': 2", "line 3: key 'b' is there twice"),
        ("- {1: a, 2: b, 1: c}", "line 1: key '1' is there twice"),
    ],
)
def test_doubled_keys_are_refused(text: str, message: str) -> None:
    """YAML takes the last one without a word."""
    with pytest.raises(InputError, match=f"^{message}$"):
        load_strictly(text.encode())


@pytest.mark.parametrize("tag", ["python/object/apply:os.system", "python/name:os.system"])
def test_tags_of_objects_are_refused(tag: str) -> None:
    with pytest.raises(InputError, match="could not determine a constructor"):
        load_strictly(f"a: !!{tag} [exit]".encode())


@pytest.mark.parametrize(
    ("line", "way_out"),
    [
        ("path: *.parquet", "is written in quotes"),
        ("positive: @fraud", "is written in quotes"),
        ("where: score > 1: x", "is written in quotes"),
        ("where: 'x' = 'y'", "is written in quotes"),
        ("\tid: 3", "indent by spaces"),
    ],
)
def test_what_is_no_yaml_has_its_line_and_the_way_out(line: str, way_out: str) -> None:
    with pytest.raises(InputError, match=r"^not valid YAML: line 2, ") as caught:
        load_strictly(f"pool:\n  {line}\n".encode())
    assert line.strip() in str(caught.value)
    assert str(caught.value).endswith(way_out)
    assert "unicode string" not in str(caught.value)


@pytest.mark.parametrize("second", ["b: [*a, *a]", "b: &b [*b]", "b: {<<: *a}"])
def test_aliases_are_refused(second: str) -> None:
    """A kilobyte of aliases of aliases may stand for billions of values."""
    with pytest.raises(InputError, match=r"^line 2: an alias \(\*\): write out what it stands for"):
        load_strictly(f"a: &a {{x: 1}}\n{second}".encode())
