"""Changes that tests must notice: where they are made, and how they are found again."""

import csv
import textwrap
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def changed(code: str) -> list[str]:
    """The changed lines of a function that has the code for its body."""
    from mutations import mutations

    body = "def f(a, b):\n" + textwrap.indent(textwrap.dedent(code), "    ")
    return [one.after for one in mutations("f.py", body.encode())]


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("return a < b", ["return a <= b"]),
        ("return a not  in b", ["return a in b"]),
        ("return a and b", ["return a or b"]),
        ("return not (a)", ["return (a)"]),
        ("return -(-a // b)", ["return (-a // b)", "return -(-a / b)", "return -(a // b)"]),
        ("a += b", ["a -= b"]),
        ("return a if b else 1", ["return a if (not (b)) else 1", "return a if b else 2"]),
        ("return [a for a in b if a]", ["return [a for a in b if (not (a))]"]),
        ("return 0.5, True, 'text'", ["return 1.0, True, 'text'", "return 0.5, False, 'text'"]),
        ("a.append(b)", ["pass"]),
        ("return sorted(a), np.sqrt(b)", ["return (a), np.sqrt(b)", "return sorted(a), (b)"]),
        ("return f'{1}', zip(a, b, strict=True)", []),
        ("assert a < b\nraise ValueError(a + b)", []),
        ("'''Return 1.'''\nc: Literal[1]\nd: int | None = None", []),
        ("é = 'é', a < b", ["é = 'é', a <= b"]),
    ],
)
def test_changes_of_code(code: str, after: list[str]) -> None:
    assert changed(code) == after


def test_code_that_is_changed_is_code() -> None:
    from mutations import mutations

    code = (BENCHMARKS / "mutations.py").read_bytes()
    made = [one.made(code) for one in mutations("mutations.py", code)]
    assert len({*made, code}) == len(made) + 1 > 50
    for one in made:
        compile(one, "mutations.py", "exec")


def test_what_runs_on_import_is_told_apart() -> None:
    from mutations import mutations

    code = "A = 1\nclass C:\n  b = 1\n  def f(self, c=1):\n    def g(): return 1\n    return 1\n"
    found = [one.function for one in mutations("f.py", code.encode())]
    assert found == ["<module>", "C.<class>", "C.<class>", "C.f.g", "C.f"]


def test_a_change_is_found_where_its_code_went(tmp_path: Path) -> None:
    from mutants import FIELDS, found

    row = dict(
        zip(
            FIELDS,
            ("evalsampling/a.py", "f", "comparison", "if a < b:", "if a <= b:", "0"),
            strict=False,
        )
    )
    code = "def f(a, b):\n    if a < b:\n        return 1\n"
    (tmp_path / "evalsampling").mkdir()
    for name, text in {"a": "# Moved.\n\n" + code, "b": code}.items():
        (tmp_path / f"evalsampling/{name}.py").write_text(text)
    assert [(one.file, one.line) for one in found(tmp_path, [row]) if one] == [
        ("evalsampling/a.py", 4)
    ]
    (tmp_path / "evalsampling/a.py").write_text(code.replace("<", ">"))
    assert [(one.file, one.line) for one in found(tmp_path, [row]) if one] == [
        ("evalsampling/b.py", 2)
    ]
    (tmp_path / "evalsampling/b.py").unlink()
    assert [*found(tmp_path, [row])] == [None]


def test_every_mutant_is_known_by_its_killer() -> None:
    with (BENCHMARKS / "mutants.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == 300
    for row in rows:
        assert row["outcome"] in ("failed", "timeout", "survived", "equivalent")
        assert bool(row["killer"]) == (row["outcome"] in ("failed", "timeout"))
