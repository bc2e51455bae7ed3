"""Specs and paths that attack: one line each, and nothing written where it should not be."""

from pathlib import Path

import pytest

from evalsampling import EvaluationSpec, InputError
from evalsampling.storage.filesystems import read_file
from tests.jobs import Jobs


@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, "a: " + "{b: " * 50_000, "pool: " + "- " * 20_000],
    ids=["lists", "mappings", "items"],
)
def test_yaml_that_is_nested_deeply(tmp_path: Path, text: str) -> None:
    path = tmp_path / "evaluation.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"evaluation\.yaml: ") as caught:
        EvaluationSpec.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("letters", ["x\\0y", "\\ud800"])
@pytest.mark.parametrize("key", ["pool.path", "workspace"])
def test_letters_that_no_path_has(job: Jobs, key: str, letters: str) -> None:
    one = job()
    lines = one.spec.read_text().splitlines()
    name = key.rpartition(".")[2]
    place = next(n for n, line in enumerate(lines) if line.strip().startswith(f"{name}:"))
    lines[place] = lines[place].partition(":")[0] + f': "{letters}"'
    one.spec.write_text("\n".join(lines))
    result = one.prepare()
    assert result.status == 1
    assert result.err.count("\n") == 1
    assert f"{key}: no path has such characters" in result.err


def test_a_nul_in_the_path_of_a_file() -> None:
    for path in ("a\0b", "gs://bucket/a\0b"):
        with pytest.raises(InputError, match="no path has such characters"):
            read_file(path)
