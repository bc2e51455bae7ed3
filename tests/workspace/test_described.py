"""What docs/workspace.md says of the files, compared with those of a workspace of every command."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling.workspace.workspace import latest_version
from tests.commands.votes import HEADER, deliver, votes
from tests.jobs import Jobs, call, files_below, make_pool, strict_json

PAGE = (Path(__file__).resolve().parents[2] / "docs/workspace.md").read_text("utf-8")

ALWAYS = {"version", "sha256"}
OF_MARKERS = {"commit", "files"}
"""Keys that the page tells of once, for all files that have them."""

OLD_OR_RARE = {"costs", "weights", "paths", "parting", "ranked"}
"""Keys that are there only of some pools, as the page says."""

OF_ESTIMATES = {"closes"}
"""Keys that records of jobs have if these took labels."""


@pytest.fixture
def life(job: Jobs, tmp_path: Path) -> tuple[Path, list[str]]:
    """A workspace with files of every kind, and those of them that a command has changed."""
    pool = make_pool(300)
    gold = tmp_path / "gold.csv"
    gold.write_text("name,label\ngold a,0\ngold b,1\n")
    one = job(
        pool.with_columns(city=["Bern", "Genève", "Zürich"] * 100),
        pool={"payload": ["name"], "slices": ["city"]}, budget=60,
        round_size=10, labels={"votes": 2, "gold": {"path": str(gold), "rows": 2}, "repeats": 2},
        measure=["f1", "accuracy"], strata={"leaves": 3},
    ).prepared()  # fmt: skip
    changed: list[str] = []

    def run(command: str, *options: Any) -> None:
        before = files_below(one.workspace)
        assert call(command, one.spec if command == "prepare" else one.workspace, *options).done
        after = files_below(one.workspace)
        changed.extend(name for name in before if after.get(name) != before[name])

    run("sample")
    told = [(*row[:4], "note") for row in votes(one, 1, "ab", wrong=0.5)]
    told.append(("t_nobody", "a", "1", "", ""))
    run("estimate", "--labels", deliver(one, told, "1.csv"), "--close")
    run("sample", "--adjudicate")
    corrected = one.deliver([(one.answers(1)[0][0], "a", "1", "", "")], "c.csv", HEADER)
    run("estimate", "--replace", corrected)
    run("sample", "--next")
    run("sample", "--withdraw", 2)
    run("sample")
    early = one.deliver([(one.answers(3)[0][0], "a", "1", "", "")], "2.csv", HEADER)
    run("estimate", "--labels", early, "--certify", "recall >= 0.001")
    run("sample", "--budget", 80)
    run("prepare", "--top-up", 90)
    run("status")
    run("export", "--to", tmp_path / "votes.csv")
    return one.workspace, changed


@pytest.mark.slow
def test_files_are_what_the_page_says(life: tuple[Path, list[str]]) -> None:
    workspace, changed = life
    files = {name: path for name in files_below(workspace) for path in [workspace / name]}
    check_names([*files, ".in-use"])
    for name, path in files.items():
        if name.endswith(".json"):
            check_json(name, path)
        elif name.endswith(".parquet"):
            check_table(name, path)
    assert (workspace / ".in-use").read_bytes() == b"", "lock, empty"
    assert changed == []


# --- names


def described() -> list[str]:
    """Patterns of the names in the listing of files."""
    _, listing, _ = PAGE.split("```", 2)
    found = []
    for line in listing.splitlines()[2:]:
        name = line.split()[0]
        pattern = re.escape(name)
        pattern = re.sub(r"<(sha256|hash)>", "[0-9a-f]{64}", pattern)
        pattern = pattern.replace("<name>", r"[\w.-]+").replace("<12>", r"[0-9a-f]{12}(-\d+)?")
        pattern = re.sub(r"\d{4,}", lambda digits: rf"\d{{{len(digits[0])}}}", pattern)
        pattern = re.sub(r"\\-3\\\.", r"\\-\\d+\\.", pattern)
        found.append(pattern + ".*" * name.endswith("/"))
    return found


def check_names(names: list[str]) -> None:
    patterns = described()
    assert len(patterns) > 25
    assert [name for name in names if not any(re.fullmatch(one, name) for one in patterns)] == []
    met = {one for one in patterns for name in names if re.fullmatch(one, name)}
    unmet = {one for one in patterns if one not in met}
    # By a scorer, by tables that are stored, by jobs that were waited for, by what is under way, by
    # a later check of ids.
    rare = (
        "scored/", "stored/", "steps/", r"\.preparing", r"\.answer", r"\.unfinished/", "jobs/check",
        r"labels/[0-9a-f]{64}\-",
    )  # fmt: skip
    assert [one for one in unmet if not one.startswith(rare)] == []


# --- JSON


def section(title: str) -> str:
    """The text below a title of the page."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def check_json(name: str, path: Path) -> None:
    content = strict_json(path.read_text("utf-8"))
    rest = {key: value for key, value in content.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert content["sha256"] == hashlib.sha256(text.encode()).hexdigest(), name
    keys = {*content} - ALWAYS
    kind = name.split("/")[0]
    assert kind == "certificates" or content["version"] == latest_version(name), name
    if kind == "evaluation.json":
        table, _, partition = section("evaluation.json").partition("| key of `partition` |")
        assert {*content} == keys_of(table) - {"table", "both_orders"}
        assert {*content["partition"]} == keys_of(partition) - OLD_OR_RARE
    elif kind == "jobs":
        of_others = set() if name.startswith("jobs/estimate") else OF_ESTIMATES
        assert keys == keys_of(section("jobs/*.json")) - ALWAYS - of_others
    elif kind not in ("estimates", "taken", "steps"):
        title = {"rounds": "rounds/NNNN/", "adjudications": "adjudications/NNNN/"}
        words = set(re.findall(r"`(\w+)`", section(title.get(kind, f"{kind}/"))))
        assert keys - words - OF_MARKERS == set(), name


def keys_of(text: str) -> set[str]:
    """Keys in the first column of a table."""
    cells = re.findall(r"^\| (`[^|]*) \|", text, flags=re.MULTILINE)
    return {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}


# --- Parquet


def check_table(name: str, path: Path) -> None:
    file = pq.ParquetFile(path)
    kinds = {
        file.metadata.row_group(group).column(place).compression
        for group in range(file.metadata.num_row_groups)
        for place in range(file.metadata.num_columns)
    }
    small = not name.startswith(("reserve/", "scored/", "labels/"))
    assert kinds <= {"SNAPPY" if small else "ZSTD"}, name
    kind = name.split("/")[0]
    title = {"rounds": "rounds/NNNN/", "adjudications": "adjudications/NNNN/"}
    text = section(title.get(kind, kind if kind.endswith(".parquet") else f"{kind}/"))
    told = [re.escape(word) for word in re.findall(r"`([\w.]+)`", text)]
    told = [re.sub(r"\\\.(S|C|NAME)(?=\\\.|$)", r"\\..+", word) for word in told]
    columns = file.schema_arrow.names
    assert [one for one in columns if not any(re.fullmatch(word, one) for word in told)] == [], name
