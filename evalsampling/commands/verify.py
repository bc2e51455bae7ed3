"""Verifying a workspace: whether all its files are there and as they were written."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.parquet as pq

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.pool.files import changes_of
from evalsampling.storage import Store, checksums_of
from evalsampling.storage.checksums import Checksum
from evalsampling.storage.commits import unfinished
from evalsampling.storage.filesystems import open_file, readable
from evalsampling.workspace.deliveries import details_of
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.reserve import FOLDER as RESERVE
from evalsampling.workspace.reserve import ReserveFiles
from evalsampling.workspace.rounds import CLOSES, RoundFiles
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import BUDGETS, MARKER, Workspace, round_folder

_SENT = re.compile(r"(rounds|adjudications)/\d+/(?!(design|closed)\.json$)")
"""Files of a round that are for annotators, whose sink may write JSON of its own."""

_NUMBERED = (
    (r"rounds/(\d+)/[^/]+", "sample", "rounds/{:04d}/design.json"),
    (r"adjudications/(\d+)/[^/]+", "adjudicate", "adjudications/{:04d}/design.json"),
    (rf"{BUDGETS}/(\d+)\.json", "budget", f"{BUDGETS}/{{:04d}}.json"),
)
"""What is numbered without gaps: how its files are called, its jobs, and its marker."""


@dataclasses.dataclass(frozen=True)
class VerifyResult(Result):
    """Files that are missing or damaged, a line each: docs/cli.md tells the keys of the JSON."""

    workspace: str
    files: int
    unprotected: int
    bad: tuple[str, ...]
    absent: tuple[str, ...] = ()
    unfinished: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is missing or damaged."""
        return not self.bad


def verify(options: WorkspaceOptions) -> VerifyResult:
    """Return the missing or damaged files of a workspace, and the changed files of its pool.

    JSON is compared with the checksum within it, other files with those in the commit that names
    them, all other Parquet with the checksums of its pages. Nothing is changed.
    """
    workspace = Workspace(options.workspace)
    store = workspace.store
    workspace.check_prepared()
    looked = _Look(store)
    names = [name for name in sorted(store.sizes()) if not name.startswith(".")]
    left = looked.at("", unfinished, store) or []
    begun = {name for files in left for name in files}
    names = [name for name in names if name not in begun]
    ours = [name for name in names if name.endswith(".json") and not _SENT.match(name)]
    contents = {name: looked.at(name, store.read_json, name) or {} for name in ours}
    markers = {name: contents[name] for name in contents if _is_marker(name)}
    expected: dict[str, Checksum] = {}
    for name, content in markers.items():
        expected |= looked.at(name, checksums_of, content) or {}
    for name in names:
        bad_before = len(looked.bad)
        batch = re.fullmatch(r"rounds/(\d+)/(?:\w+/)?batch\.parquet", name)
        if batch is not None:
            looked.at(name, _read_round, workspace, int(batch[1]))
        elif name in expected:
            looked.at(name, _check_content, store, name, expected[name])
        elif name.endswith(".parquet"):
            looked.at(name, _check_pages, store.url(name))
        if re.fullmatch(r"labels/.+\.parquet", name) and len(looked.bad) == bad_before:
            looked.at(name, _read_delivery, store, name)
    for name, reason in _missing(names, contents, markers, expected):
        looked.bad.append(f"{store.url(name)}: {reason}")
    certificates = [name for name in names if name.startswith("certificates/")]
    if certificates and not looked.bad:
        looked.at("certificates", _check_certificates, workspace, certificates, contents)
    if not any(line.startswith(store.url(f"{RESERVE}/")) for line in looked.bad):
        looked.at(RESERVE, _check_top_ups, store, names, contents)
    pool = contents.get(MARKER, {}).get("pool", ())
    changed, absent = changes_of(pool)
    looked.bad += changed
    plain = sum(name not in expected and name not in contents for name in names)
    bad = tuple(sorted(dict.fromkeys(looked.bad)))
    return VerifyResult(workspace.path, len(names), plain, bad, absent, len(left))


class _Look:
    """Goes on with the next file when one is bad; ``bad`` has the lines so far."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.bad: list[str] = []

    def at(self, name: str, check: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a check of a file returns, None if the file is bad."""
        try:
            return check(*arguments)
        except InputError as error:
            self.bad.append(" ".join(str(error).split()))
        except (OSError, TypeError, AttributeError) as error:
            self.bad.append(f"{self.store.url(name)}: damaged, {' '.join(str(error).split())}")
        return None


def _check_content(store: Store, name: str, checksum: Checksum) -> None:
    checksum.check(store.checksum(name), store.url(name))


def _read_round(workspace: Workspace, number: int) -> None:
    RoundFiles.read(PreparedPool.read(workspace), number)


def _read_delivery(store: Store, name: str) -> None:
    details_of(store, name, store.read_table(name))


def _check_certificates(
    workspace: Workspace, names: list[str], contents: dict[str, dict[str, Any]]
) -> None:
    """Check that certificates follow from the labels of the workspace."""
    from evalsampling.commands.certify import check_certificate  # It loads measures and samplers.

    snapshot = Snapshot.read(PreparedPool.read(workspace))
    for name in names:
        check_certificate(snapshot, name, contents[name])


def _check_pages(url: str) -> None:
    """Read all of a Parquet file, a row group at a time, for the checksums of its pages."""
    with readable(url), open_file(url) as source:
        parquet = pq.ParquetFile(source, page_checksum_verification=True)
        for number in range(parquet.num_row_groups):
            parquet.read_row_group(number)


def _is_marker(name: str) -> bool:
    folder, _, file = name.rpartition("/")
    return name == MARKER or folder in ("taken", BUDGETS) or file == "design.json"


def _check_top_ups(store: Store, names: list[str], contents: dict[str, dict[str, Any]]) -> None:
    """Check that the reserve has the rows that were there after the last top-up."""
    left = [
        contents[name].get("counts", {}).get("reserve_rows", 0)
        for name in names
        if re.fullmatch(r"jobs/top-up-\d+\.json", name)
    ]
    if not left or not any(name.startswith(f"{RESERVE}/") for name in names):
        return
    held = len(ReserveFiles(store, contents.get(MARKER, {}).get("attempt", "")).hashes()[0])
    if held < max(left):
        raise InputError(
            f"{store.url(RESERVE)}: {held:,} rows, and {max(left):,} after `prepare --top-up`: "
            "a part is missing"
        )


def _missing(
    names: list[str],
    contents: dict[str, dict[str, Any]],
    markers: dict[str, dict[str, Any]],
    expected: dict[str, Checksum],
) -> Iterator[tuple[str, str]]:
    """Yield files that should be there, and labels that nobody took, each with what is wrong."""
    present = set(names)
    reserve = any(name.startswith("reserve/part-") for name in names)
    required = {name for name in expected if not _may_be_deleted(name, reserve)}
    for written, job, marker in _NUMBERED:
        # The manifest of its job comes in with it, and is there when the last of them has gone.
        last = max(
            _numbers(names, written) | _numbers(names, rf"jobs/(?:\w+/)?{job}-(\d+)\.json"),
            default=0,
        )
        required |= {marker.format(number) for number in range(1, last + 1)}
    required |= {f"{round_folder(number)}/closed.json" for number in _closed(contents)}
    required |= set(_taken(markers))
    taken = {
        name
        for marker in markers.values()
        if "deliveries" in marker
        for name in checksums_of(marker)
        if name.endswith(".parquet")
    }
    for name in sorted((required | taken) - present):
        yield name, "missing"
    for name in sorted(present - taken):
        if name.startswith("labels/") and name.endswith(".parquet"):
            yield name, "no file of taken/ names it: that one is missing, or this is no delivery"


def _closed(contents: dict[str, dict[str, Any]]) -> set[int]:
    """Return the rounds that a later one, or the manifest of a job, says to be closed."""
    designs = sorted(name for name in contents if re.fullmatch(r"rounds/\d+/design\.json", name))
    jobs = [name for name in contents if name.startswith("jobs/")]
    return {number for name in (*designs[:-1], *jobs) for number in contents[name].get(CLOSES, ())}


def _taken(markers: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the markers of deliveries that were there before others, by the names of these.

    Each is called by the place of its first delivery, so one that is missing leaves a gap.
    """
    counts = {
        int(name[len("taken/") : -len(".json")]): len(marker.get("deliveries", ()))
        for name, marker in markers.items()
        if re.fullmatch(r"taken/\d+\.json", name)
    }
    following = 1
    for first in sorted(counts):
        if first > following:
            yield f"taken/{following:04d}.json"
        following = first + counts[first]


def _numbers(names: list[str], pattern: str) -> set[int]:
    """Return the numbers in names of a pattern, whose one group they are."""
    matches = (re.fullmatch(pattern, name) for name in names)
    return {int(match[1]) for match in matches if match is not None}


def _may_be_deleted(name: str, reserve: bool) -> bool:
    """Tell whether a file may be deleted, see docs/workspace.md."""
    if name.startswith("reserve/"):
        return not reserve
    if name.startswith("rounds/"):
        return not name.endswith(("/draws.parquet", "/batch.parquet"))
    return name.startswith("jobs/") or name.endswith(".rejects.csv")
