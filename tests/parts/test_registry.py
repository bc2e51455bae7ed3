"""Parts of one kind by name: our own, and those that installed packages register."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalsampling import Evaluation, InputError, measures
from evalsampling.parts.registry import KINDS, Registry
from evalsampling.samplers import BY_NAME, Passive
from evalsampling.spec.labels import LABEL_SPACES
from evalsampling.spec.sink import SINKS
from evalsampling.spec.tables import TABLES

MODULE = """
import dataclasses

from evalsampling.samplers import Passive, Sampler


@dataclasses.dataclass(frozen=True)
class Plain(Passive):
    name = "plain"


class Half(Sampler):
    pass


class Sheet:
    batch, checks_tasks, endings = "batch.sheet", False, ()

    def write(self, *_):
        pass


NOTHING = object()
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Let a package be installed: `install("samplers", "plain = their_module:Plain")`."""
    (tmp_path / "their_module.py").write_text(MODULE)
    (tmp_path / "broken_module.py").write_text("raise ValueError('no\\nlicence')\n")
    monkeypatch.syspath_prepend(tmp_path)

    def add(kind: str, *points: str, package: str = "theirs") -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"[evalsampling.{kind}]", *points, ""]
        (info / "entry_points.txt").write_text("\n".join(lines))

    return add


def fresh(registry: Registry[Any]) -> Registry[Any]:
    """The same parts, with entry points that are not read yet."""
    return Registry(registry.kind, registry.own, registry.interface)


@pytest.fixture
def samplers(install: Install) -> Registry[Any]:
    install("samplers", "plain = their_module:Plain", "passive = their_module:Plain")
    return fresh(BY_NAME)


def test_every_kind_has_one_registry() -> None:
    parts: list[Registry[Any]] = [BY_NAME, measures.BY_NAME, SINKS, LABEL_SPACES, TABLES]
    assert {one.kind for one in parts} == {*KINDS}


@pytest.mark.parametrize("registry", [SINKS, TABLES, BY_NAME])
def test_our_own_parts_are_what_others_must_be(registry: Registry[Any]) -> None:
    for name in registry.own:
        assert registry.find(registry.kind, registry.own[name]) is registry[name]


def test_parts_of_installed_packages_are_found(samplers: Registry[Any]) -> None:
    assert next(iter(samplers)) == "passive"
    assert "plain" in set(samplers)
    assert len(samplers) == len(set(samplers))
    assert "other" not in samplers
    assert samplers["plain"].__name__ == "Plain"
    assert samplers.find("sampler", "plain") is samplers["plain"]
    assert samplers.find("sampler", "their_module:Plain") is samplers["plain"]
    assert samplers.get("other") is None


def test_our_own_part_is_meant_where_two_have_a_name(samplers: Registry[Any]) -> None:
    """Entry points are not even read."""
    assert samplers["passive"] is Passive
    assert "passive" in samplers
    assert "_others" not in vars(samplers)


def test_a_name_of_two_packages_is_refused(install: Install) -> None:
    install("samplers", "plain = their_module:Plain", "other = their_module:Plain")
    install("samplers", "plain = their_module:Plain", package="ours")
    registry = fresh(BY_NAME)
    with pytest.raises(InputError, match="samplers: plain: ours and theirs both register it; unin"):
        registry["plain"]
    assert registry["other"].__name__ == "Plain"


@pytest.mark.parametrize(
    ("registry", "point", "message"),
    [
        (BY_NAME, "their_module:No", "of theirs: module 'their_module' has no attribute 'No'"),
        (BY_NAME, "no_module:No", "of theirs: No module named 'no_module'"),
        (BY_NAME, "broken_module:No", "of theirs: cannot be imported: ValueError: no licence"),
        (BY_NAME, "their_module:Sheet", "is no class below evalsampling.samplers.base.Sampler"),
        (BY_NAME, "their_module:Half", "does not write design, weigh"),
        (SINKS, "their_module:Sheet", "is a class, where an object is wanted: a Sink"),
        (SINKS, "their_module:NOTHING", "is no Sink: it has no batch, checks_tasks, endings"),
        (
            TABLES,
            "their_module:NOTHING",
            "is no TableKind: it has no keys, is_path, check, pin, plan",
        ),
    ],
)
def test_what_is_no_part_is_told(
    install: Install, registry: Registry[Any], point: str, message: str
) -> None:
    install(registry.kind, f"bad = {point}")
    with pytest.raises(InputError) as told:
        fresh(registry)["bad"]
    assert str(told.value).startswith(f"{registry.kind}: bad: {point} of theirs")
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_a_part_that_is_not_installed_is_told_with_those_that_are() -> None:
    words = "sink.format: lines is of a package that is not installed here; there are csv, jsonl,"
    with pytest.raises(InputError, match=words):
        SINKS.find("sink.format", "lines")


def test_an_unknown_name_is_told_with_the_nearest_of_all() -> None:
    with pytest.raises(InputError, match="sampler: unknown sampler 'pasive'; did you mean passive"):
        Evaluation.from_arrays([0.1, 0.9], [0, 1], sampler="pasive")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("their_module:NOTHING", "strata.method: their_module:NOTHING is no CutMethod: it has no"),
        ("their_module:Gone", "strata.method: their_module:Gone: module"),
    ],
)
def test_a_module_and_an_object_are_checked_too(
    install: Install, reference: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Evaluation.from_arrays([0.1, 0.9], [0, 1], strata={"method": reference})
