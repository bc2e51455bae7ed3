"""No code is loaded unasked, and no program started."""

import ast
import json
import re
import sys
from pathlib import Path

import pytest

from evalsampling.storage.checksums import sealed
from tests.jobs import Jobs, call

ROOT = Path(__file__).resolve().parents[1]


DOUBTFUL = re.compile(r"yaml|\bos\s*\.\s*system|popen|pickle|subprocess|eval\b|exec\b|shell")
"""What a file has that loads unsafely or starts a shell."""


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def test_yaml_is_loaded_safely_and_there_is_no_shell() -> None:
    for path in modules("evalsampling", "pipelines", "deployment"):
        assert_loads_safely(path)


def assert_loads_safely(path: Path) -> None:
    known = {"safe_load", "safe_dump", "YAMLError"}
    if path.name == "strict_yaml.py":
        known |= {
            "SafeLoader", "MappingNode", "MarkedYAMLError", "ScalarNode", "AliasEvent", "load",
        }  # fmt: skip
    text = path.read_text()
    if not DOUBTFUL.search(text):
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            assert node.value.id != "yaml" or node.attr in known, path
            assert name not in ("os.system", "os.popen", "pickle.load"), path
        elif isinstance(node, ast.ImportFrom):
            assert node.module not in ("yaml", "pickle", "subprocess"), path
        elif isinstance(node, ast.Call):
            assert getattr(node.func, "id", None) not in ("eval", "exec"), path
            assert not [keyword for keyword in node.keywords if keyword.arg == "shell"], path


def test_nothing_here_starts_programs() -> None:
    starting = [
        path for path in modules("evalsampling", "pipelines") if "subprocess" in path.read_text()
    ]
    assert not starting


def test_a_spec_makes_no_objects(job: Jobs, tmp_path: Path) -> None:
    one = job()
    one.spec.write_text(f'pool: !!python/object/apply:os.system ["touch {tmp_path}/escaped"]\n')
    result = one.prepare()
    assert result.status == 1
    assert result.err.count("\n") == 1
    assert not (tmp_path / "escaped").exists()


def test_no_scorer_is_imported_but_by_prepare(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever `evaluation.json` says it is."""
    one = job(pool={"scorer": "scorer_of_theirs:score"})
    module, trace = one.directory / "scorer_of_theirs.py", one.directory / "imported"
    module.write_text("def score(batch):\n    return batch\n")
    assert one.prepare().status == 0
    module.write_text(f"open({str(trace)!r}, 'w').close()\n")
    marker = one.workspace / "evaluation.json"
    content = json.loads(marker.read_text())
    del content["sha256"]
    content["spec"]["pool"]["scorer"] = "scorer_of_others:score"
    content["directory"] = str(one.directory)
    marker.write_text(json.dumps(sealed(content)))
    module.rename(one.directory / "scorer_of_others.py")
    monkeypatch.delitem(sys.modules, "scorer_of_theirs")
    assert call("status", one.workspace).status == 0
    assert one.sample().status == 0
    assert one.sample("--next", "--runner=FnApiRunner").status == 0
    assert one.answer(1).status == 0
    assert one.prepare("--top-up").status == 1, "another spec"
    assert not trace.exists()
