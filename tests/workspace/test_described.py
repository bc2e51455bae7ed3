"""What docs/workspace.md says of the files, compared with those of a workspace of every command."""

import contextlib
import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

from evalsampling.storage.local import LocalStore
from tests.commands.votes import HEADER, deliver, votes
from tests.jobs import Job, Jobs, Pool, call, files_below, make_pool, strict_json

PAGE = (Path(__file__).resolve().parents[2] / "docs/workspace.md").read_text("utf-8")

ALWAYS = {"version", "sha256"}
OF_MARKERS = {"commit", "files"}
"""Keys that the page tells of once, for all files that have them."""

OLD_OR_RARE = {"costs", "weights", "paths", "parting", "ranked"}
"""Keys that are there only of some pools, as the page says."""

OF_ESTIMATES = {"closes"}
"""Keys that records of jobs have if these took labels."""

LOCKING = {"sample", "estimate", "prepare"}


class Life:
    """A workspace, and what each command has done to its files."""

    def __init__(self, one: Job, patch: pytest.MonkeyPatch) -> None:
        self.one, self.commands = one, list[str]()
        self.locked: dict[str, bool] = {}
        self.changed: dict[str, list[str]] = {}
        self._held: list[None] = []
        waiting = LocalStore.one_at_a_time

        @contextlib.contextmanager
        def noted(store: LocalStore) -> Iterator[None]:
            self._held.append(None)
            with waiting(store):
                yield

        patch.setattr(LocalStore, "one_at_a_time", noted)

    def run(self, command: str, *options: Any) -> Any:
        """Run a command, which must end with 0, and note what it changed."""
        before = files_below(self.one.workspace)
        self._held.clear()
        where = self.one.spec if command == "prepare" else self.one.workspace
        told = call(command, where, *options, "--json").done
        after = files_below(self.one.workspace)
        changed = [name for name in before if after.get(name) != before[name]]
        self.changed.setdefault(command, []).extend(changed)
        self.locked[command] = bool(self._held)
        return told.json if told.out.startswith("{") else None


@pytest.fixture
def life(job: Jobs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Life:
    """A workspace with files of every kind."""
    pool = make_pool(300)
    rows = pool.table.append_column("city", pa.array(["Bern", "Genève", "Zürich"] * 100))
    gold = tmp_path / "gold.csv"
    gold.write_text("name,label\ngold a,0\ngold b,1\n")
    one = job(
        Pool(rows, pool.truth), pool={"payload": ["name"], "slices": ["city"]}, budget=60,
        round_size=10, labels={"votes": 2, "gold": {"path": str(gold), "rows": 2}, "repeats": 2},
        measure=["f1", "accuracy"], strata={"leaves": 3},
    ).prepared()  # fmt: skip
    made = Life(one, monkeypatch)
    made.run("sample")
    told = [(*row[:4], "note") for row in votes(one, 1, "ab", wrong=0.5)]
    told.append(("t_nobody", "a", "1", "", ""))
    made.run("estimate", "--labels", deliver(one, told, "1.csv"), "--close")
    made.run("sample", "--adjudicate")
    corrected = one.deliver([(one.answers(1)[0][0], "a", "1", "", "")], "c.csv", HEADER)
    made.run("estimate", "--replace", corrected)
    made.run("sample", "--next")
    made.run("sample", "--withdraw", 2)
    made.run("sample")
    early = one.deliver([(one.answers(3)[0][0], "a", "1", "", "")], "2.csv", HEADER)
    made.run("estimate", "--labels", early, "--certify", "recall >= 0.001")
    made.run("sample", "--budget", 80)
    made.run("prepare", "--top-up", 90)
    made.run("status")
    made.run("export", "--to", tmp_path / "votes.csv")
    return made


@pytest.mark.slow
def test_files_are_what_the_page_says(life: Life) -> None:
    workspace = life.one.workspace
    files = {name: path for name in files_below(workspace) for path in [workspace / name]}
    check_names([*files, ".in-use"])
    for name, path in files.items():
        if name.endswith(".json"):
            check_json(name, path)
        elif name.endswith(".parquet"):
            check_table(name, path)
    check_reserve(workspace)
    assert (workspace / ".in-use").read_bytes() == b"", "lock, empty"
    assert not any(life.changed.values()), life.changed
    assert {command for command, took in life.locked.items() if took} == LOCKING
    assert {*life.locked} - LOCKING == {"status", "export"}


@pytest.mark.slow
def test_what_may_be_deleted(life: Life) -> None:
    """No estimate changes, and what is lost is told of in one line."""
    workspace = life.one.workspace
    before = life.one.estimate("--close").json

    def deleted(*patterns: str) -> None:
        found = [path for pattern in patterns for path in workspace.glob(pattern)]
        assert found, patterns
        for path in found:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        told = life.one.estimate()
        assert (told.status, told.json) == (0, before), patterns
        assert call("status", workspace).status == 0
        assert call("status", "--verify", workspace).status == 0

    deleted("estimates", "jobs", "rounds/*/batch.csv", "labels/*.rejects.csv")
    assert len(list(workspace.glob("estimates/*"))) == 1, "it is kept again"
    gold = life.one.directory.parent / "gold.csv"
    gold.rename(gold.with_suffix(".aside"))
    assert life.one.estimate().json == before
    without_gold = life.one.sample()
    assert (without_gold.status, without_gold.err.count("\n")) == (1, 1)
    assert str(gold) in without_gold.err
    gold.with_suffix(".aside").rename(gold)
    deleted("reserve")
    refused = life.one.sample()
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert f"{workspace}/reserve" in refused.err


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
    # By a scorer, by tables that are stored, by what is under way, by
    # a later check of ids.
    rare = (
        "scored/", "stored/", r"\.preparing", r"\.answer", r"\.unfinished/", "jobs/check",
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
    if kind == "evaluation.json":
        table, _, partition = section("evaluation.json").partition("| key of `partition` |")
        assert {*content} == keys_of(table) - {"table", "both_orders"}
        assert {*content["partition"]} == keys_of(partition) - OLD_OR_RARE
    elif kind == "jobs":
        of_others = set() if name.startswith("jobs/estimate") else OF_ESTIMATES
        assert keys == keys_of(section("jobs/*.json")) - ALWAYS - of_others
    elif kind not in ("estimates", "taken"):
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


def check_reserve(workspace: Path) -> None:
    """A cell is in one part, ordered by rank: that of the keyed hash of the id."""
    seed = strict_json((workspace / "evaluation.json").read_text("utf-8"))["spec"]["seed"]
    remainders: list[set[int]] = []
    for path in workspace.glob("reserve/part-*.parquet"):
        rows = pq.read_table(path).to_pylist()
        remainders.append({row["cell"] % 16 for row in rows})
        assert len(remainders[-1]) == 1
        assert [(row["cell"], row["rank"]) for row in rows] == sorted(
            (row["cell"], row["rank"]) for row in rows
        )
        hashes = [(row["cell"], row["hash"]) for row in rows]
        assert hashes == sorted(hashes)
        expected = [xxhash.xxh64(row["id"].to_bytes(8, "little"), seed=seed) for row in rows]
        assert [row["hash"] for row in rows] == [one.intdigest() for one in expected]
    assert len(set().union(*remainders)) == len(remainders) > 1
