"""The examples of docstrings print what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import evalsampling

ROOT = Path(evalsampling.__file__).parent
EXAMPLE = ">>> "
MODULES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
    for path in ROOT.rglob("*.py")
    if EXAMPLE in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted
    assert not done.failed
