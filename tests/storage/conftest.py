"""Stores of every kind: a directory, a bucket, and the example of another package."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from evalsampling.storage import STORES, Store, open_store

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "outside_package"


@pytest.fixture(params=["directory", "example", pytest.param("bucket", marks=pytest.mark.stores)])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    if request.param == "directory":
        return open_store(tmp_path)
    if request.param == "example":
        monkeypatch.syspath_prepend(EXAMPLE)
        monkeypatch.setenv("SQLITE_STORES", str(tmp_path))
        module = importlib.import_module("outside_parts.store")
        monkeypatch.setitem(vars(STORES), "_others", {"sqlite": [_Registered(module.SqliteStore)]})
        return open_store("sqlite://here/below")
    return open_store(f"gs://{request.getfixturevalue('bucket').name}/below/here")


class _Registered:
    """An entry point of an installed package."""

    dist, value = None, "outside_parts.store:SqliteStore"

    def __init__(self, part: Any) -> None:
        self.load = lambda: part
