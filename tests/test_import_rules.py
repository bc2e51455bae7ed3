"""Layers: who may import whom."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "evalsampling"

STATISTICS = {"errors", "stats", "measures", "samplers"}
POOL = STATISTICS | {"spec", "pool"}
CELLS = POOL | {"summary", "partition"}
RESERVE = CELLS | {"reserve", "slicing"}
IN_MEMORY = RESERVE | {"memory", "evaluation"}
PREPARING = IN_MEMORY | {"storage", "workspace", "reserve_files", "io", "manifest"}
MAY_IMPORT = {
    "errors": set(),
    "version": set(),
    "redaction": set(),
    "logs": {"errors", "redaction"},
    "progress": set(),
    "storage": {"errors"},
    "stats": set(),
    "measures": {"stats"},
    "samplers": {"errors", "stats", "measures"},
    "spec": STATISTICS | {"storage"},
    # Rows: the first pass, the second, what is kept of them.
    "pool": STATISTICS | {"spec"},
    "summary": POOL,
    "partition": POOL | {"summary"},
    "reserve": CELLS,
    "slicing": {"stats", "samplers"},
    "memory": RESERVE,
    "evaluation": RESERVE | {"memory"},
    "io": RESERVE - {"slicing"} | {"storage"},
    # Known or imagined truth.
    "known": CELLS | {"io", "storage"},
    "simulation": IN_MEMORY | {"known"},
    "planning": STATISTICS | {"spec", "known", "simulation"},
    "shares": RESERVE - {"slicing"} | {"io"},
    # Files.
    "manifest": {"spec"},
    "labels": {"errors", "spec"},
    "reserve_files": RESERVE | {"storage"},
    "workspace": IN_MEMORY | {"storage", "labels", "reserve_files"},
    "ledger": IN_MEMORY | {"storage", "workspace", "labels", "version", "manifest", "logs"},
    "preparation": PREPARING | {"progress"},
    "topup": PREPARING | {"preparation"},
    # Beam.
    "transforms": RESERVE | {"io", "progress"},
}
NO_LIMITS = {"cli", "__init__", "__main__"}

MODULES = sorted(PACKAGE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Names of all modules a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room(path: Path) -> str:
    """The part of the package a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_import_only_what_is_below_them(path: Path) -> None:
    here = room(path)
    if here in NO_LIMITS:
        return
    ours = {name for name in imported(path) if name.split(".")[0] in ("evalsampling", "pipelines")}
    assert not any(name.startswith("pipelines") for name in ours)
    # The whole package, imported as one, would import everything.
    assert "evalsampling" not in ours
    rooms = {name.split(".")[1] for name in ours} - {here}
    assert rooms <= MAY_IMPORT[here]


def test_no_circles_and_no_rules_for_what_is_not_there() -> None:
    """Every layer is below those that may import it, and every one of them exists."""
    rooms = {room(path) for path in MODULES} - NO_LIMITS
    assert set(MAY_IMPORT) == rooms
    done: set[str] = set()
    while ready := {name for name, below in MAY_IMPORT.items() if below <= done} - done:
        done |= ready
    assert done == rooms


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_transforms_import_beam(path: Path) -> None:
    if room(path) != "transforms":
        assert not any(name.split(".")[0] == "apache_beam" for name in imported(path))


@pytest.mark.parametrize("path", sorted((PACKAGE / "stats").glob("*.py")), ids=lambda p: p.stem)
def test_statistics_need_numpy_and_scipy_alone(path: Path) -> None:
    foreign = {name.split(".")[0] for name in imported(path)} - sys.stdlib_module_names
    assert foreign <= {"numpy", "scipy", "evalsampling"}


@pytest.mark.parametrize(
    "path",
    [path for path in MODULES if room(path) in ("measures", "samplers")],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_measures_and_samplers_need_numpy_alone(path: Path) -> None:
    foreign = {name.split(".")[0] for name in imported(path)} - sys.stdlib_module_names
    assert foreign <= {"numpy", "evalsampling"}


@pytest.mark.parametrize("path", sorted((ROOT / "pipelines").glob("*.py")), ids=lambda p: p.stem)
def test_pipelines_only_parse_build_and_run(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        assert not isinstance(node, ast.ClassDef), f"{path} defines {node.name}"


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "transforms").glob("*.py")), ids=lambda p: p.stem
)
def test_transforms_do_no_arithmetic_and_draw_nothing(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & {"numpy", "random", "scipy"}


def test_modules_are_small() -> None:
    assert not [path for path in MODULES if len(path.read_text().splitlines()) > 600]


def test_root_and_rounds_load_without_beam() -> None:
    program = (
        "import sys, evalsampling, evalsampling.workspace, evalsampling.cli\n"
        "from evalsampling import Evaluation, EvaluationSpec, measures\n"
        "assert 'apache_beam' not in sys.modules\n"
        "assert 'scipy.stats' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
