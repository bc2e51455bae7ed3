"""Receivers by name, and what becomes of a run when one fails."""

import sys
from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.errors import UsageError
from evalsampling.receivers.registry import Address, Receipt, read_addresses
from tests.receivers.runs import run


class Broken:
    def output(self, where: str | None) -> None:
        pass

    def check(self, where: str | None) -> None:
        pass

    def send(self, run: Any, where: str | None) -> str:
        print("what packages print")
        raise ConnectionError("no answer from\nhttp://user:secret@host")


def test_an_unknown_receiver_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="no receiver 'tabel'; there are table, dagster, "):
        Address.read("tabel:x")


@pytest.mark.parametrize(("name", "package"), [("dagster", "dagster_pipes"), ("mlflow", "mlflow")])
def test_without_its_package(monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"needs .*: pip install 'evalsampling\[{name}\]'"):
        Address.read(name)


def test_what_a_receiver_raises_is_one_line_without_passwords(
    capsys: pytest.CaptureFixture[str],
) -> None:
    receipt = Address("broken", Broken(), None).send(run())
    assert capsys.readouterr() == ("", "what packages print\n")
    assert receipt == Receipt("broken", problem="ConnectionError: no answer from http://...@host")
    expected = "not reported to broken: ConnectionError: no answer from http://...@host"
    assert receipt.words == expected


def test_receivers_named_twice_are_sent_to_once(tmp_path: Path) -> None:
    assert len(read_addresses([f"table:{tmp_path}", f"table:{tmp_path}"])) == 1
