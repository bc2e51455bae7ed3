"""Layers: who may import whom."""

import ast
import functools
import graphlib
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "evalsampling"

ORDER = (
    {"errors", "version"},
    {"stats", "parts", "telemetry"},
    {"label_spaces"},
    {"storage"},
    {"spec"},
    {"pool", "measures"},
    {"labels"},
    {"inference", "preparation"},
    {"samplers", "report"},
    {"evaluation"},
    {"simulation", "workspace"},
    {"receivers"},
    {"commands", "transforms"},
    {"notebook"},
    {"cli"},
)
"""The rooms. Each may import those of the rows above it, and none of its own row."""

STATISTICS = {"errors", "parts", "stats", "label_spaces", "spec", "measures"}
ROWS = {"errors", "parts", "stats", "label_spaces", "storage", "telemetry", "spec"}
NARROWER = {
    "stats": set(),
    "label_spaces": {"errors", "stats"},
    "storage": {"errors"},
    "spec": {"errors", "parts", "label_spaces", "storage"},
    "measures": {"errors", "parts", "stats", "label_spaces", "spec"},
    "pool": ROWS,
    # The two wings, which meet in `evaluation`.
    "inference": STATISTICS,
    "samplers": STATISTICS | {"inference"},
    # What a reader is shown knows results, and nothing of where they come from.
    "report": {"errors", "parts", "stats", "inference"},
    "preparation": ROWS | STATISTICS | {"pool"},
    "transforms": ROWS | STATISTICS | {"pool", "preparation", "labels", "evaluation", "workspace"},
}
"""Rooms that may import less than their place in the order allows."""

JOBS = "evalsampling.pipelines"
"""The Beam jobs: a link to the folder `pipelines`, so that the wheel has one top-level name."""

AT_THE_ROOT = {"__init__", "__main__", "errors", "version"}

MOST_FOR_A_FORMAT = 18
"""Modules of ours that a reader of one pool format may depend on, with those that find stores."""

MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "pipelines" not in path.parts)

BESIDE = [
    path
    for folder in ("benchmarks", "examples", "deployment")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
"""Programs that use the package."""


@functools.cache
def imported(path: Path) -> frozenset[str]:
    """Names of all modules a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def foreign(path: Path) -> set[str]:
    """Packages a file imports that do not come with Python."""
    return {name.split(".")[0] for name in imported(path)} - sys.stdlib_module_names


def room(path: Path) -> str:
    """The part of the package a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def above(name: str) -> set[str]:
    """The rooms that a room may import."""
    place = next(place for place, row in enumerate(ORDER) if name in row)
    return set().union(*ORDER[:place])


def file_of(name: str) -> Path | None:
    """The file of a module of ours, None if the name is no module's."""
    path = ROOT.joinpath(*name.split("."))
    found = [path.with_suffix(".py"), path / "__init__.py"]
    return next((file for file in found if file.exists()), None)


def needed(path: Path) -> set[Path]:
    """A file and all files of ours, the root apart, that run because of its imports."""
    done: set[Path] = set()
    waiting = {path, *(folder / "__init__.py" for folder in path.parents if folder > PACKAGE)}
    while waiting:
        file = waiting.pop()
        done.add(file)
        for name in imported(file):
            parts = name.split(".")
            if parts[0] == PACKAGE.name:
                names = [".".join(parts[:end]) for end in range(2, len(parts) + 1)]
                waiting |= {found for one in names if (found := file_of(one))} - done
    return done


def test_every_room_is_in_the_order_and_nothing_else_is() -> None:
    rooms = {room(path) for path in MODULES} - {"__init__", "__main__"}
    assert set().union(*ORDER) == rooms
    assert sum(map(len, ORDER)) == len(rooms)
    assert all(rooms <= above(name) for name, rooms in NARROWER.items())


def test_no_module_is_loose_at_the_root() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == AT_THE_ROOT


def test_modules_import_only_what_is_above_them() -> None:
    for path in MODULES:
        here = room(path)
        if here in {"__init__", "__main__"}:
            continue
        ours = {name for name in imported(path) if name.split(".")[0] == "evalsampling"}
        assert here == "cli" or not any(name.startswith(JOBS) for name in ours), path
        ours = {name for name in ours if not name.startswith(JOBS)}
        # The whole package, imported as one, would import everything.
        assert "evalsampling" not in ours, path
        rooms = {name.split(".")[1] for name in ours} - {here}
        assert rooms <= NARROWER.get(here, above(here)), path


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports for types alone count, and those within functions; a `CycleError` has the circle."""
    graph = {}
    for path in (*MODULES, *(ROOT / "pipelines").glob("*.py")):
        files = (file_of(name) or file_of(name.rpartition(".")[0]) for name in imported(path))
        graph[path] = {file.resolve() for file in files if file} - {path}
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("name", ["avro", "csv", "jsonl", "parquet"])
def test_a_reader_of_one_format_depends_on_little(name: str) -> None:
    files = needed(PACKAGE / "pool" / "formats" / f"{name}.py")
    assert len(files) <= MOST_FOR_A_FORMAT, sorted(str(f.relative_to(PACKAGE)) for f in files)


def test_what_is_needed_is_found_through_packages_and_functions() -> None:
    storage = {PACKAGE / "storage" / f"{name}.py" for name in ("__init__", "base")}
    files = needed(PACKAGE / "workspace" / "snapshot.py")
    assert storage <= files
    assert PACKAGE / "evaluation" / "graded.py" in files, "it is imported within a function"


def test_only_transforms_import_beam() -> None:
    assert {room(path) for path in MODULES if "apache_beam" in foreign(path)} == {"transforms"}


def test_statistics_need_numpy_and_scipy_alone() -> None:
    for path in (PACKAGE / "stats").glob("*.py"):
        assert foreign(path) <= {"numpy", "scipy", "evalsampling"}, path


def test_parts_of_scipy_load_when_they_are_used() -> None:
    """Of `import scipy` they do; naming one in an import would load it at once."""
    for path in MODULES:
        assert not {name for name in imported(path) if name.startswith("scipy.")}, path


def test_measures_and_samplers_need_numpy_alone() -> None:
    for path in MODULES:
        if room(path) in ("measures", "samplers"):
            assert foreign(path) <= {"numpy", "lazy_loader", "evalsampling"}, path


def test_pipelines_only_parse_build_and_run() -> None:
    for path in (ROOT / "pipelines").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not isinstance(node, ast.ClassDef), f"{path} defines {node.name}"


def test_transforms_do_no_arithmetic_and_draw_nothing() -> None:
    for path in (PACKAGE / "transforms").glob("*.py"):
        packages = {name.split(".")[0] for name in imported(path)}
        assert not packages & {"numpy", "random", "scipy"}, path


def test_modules_are_small() -> None:
    assert not [path for path in MODULES if len(path.read_text().splitlines()) > 600]


@pytest.mark.slow
def test_root_and_rounds_load_without_beam() -> None:
    program = (
        "import sys, evalsampling, evalsampling.workspace, evalsampling.cli\n"
        "from evalsampling import Evaluation, EvaluationSpec, measures\n"
        "assert 'apache_beam' not in sys.modules\n"
        "assert 'scipy.stats' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)


@pytest.mark.parametrize("path", BESIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_programs_beside_the_package_import_what_is_there(path: Path) -> None:
    for name in sorted(imported(path)):
        assert name.split(".")[0] != "pipelines", "only found from the folder of the project"
        if name.split(".")[0] != "evalsampling":
            continue
        module, _, attribute = name.rpartition(".")
        if file_of(name) is None:
            assert hasattr(importlib.import_module(module), attribute), name
