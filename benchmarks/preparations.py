"""Pools that `make_pool.py` writes, and workspaces prepared from them in processes of their own."""

import argparse
import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import measured
from measured import Measurement

_PROJECT = Path(__file__).resolve().parents[1]

_SPEC = """\
pool: {{path: '{pool}', id: {id}, payload: [name]}}
measure: [f1, precision, recall]
strata: {{method: csf, leaves: 256}}
budget: 2000
round_size: 100
seed: 7
workspace: run
"""


def add_options(parser: argparse.ArgumentParser, repeats: int) -> None:
    """Let the folder of pools and the number of repeats be chosen, and JSON be printed."""
    parser.add_argument(
        "--directory",
        type=Path,
        default=_PROJECT / "build" / "pools",
        metavar="DIR",
        help="where pools are made and kept, and workspaces for a while (default: build/pools)",
    )
    parser.add_argument(
        "--repeats", type=int, default=repeats, metavar="N", help=f"default: {repeats}"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


FORMATS = ("parquet", "csv", "jsonl", "avro")
"""Formats of pools, by the ends of their files' names."""


def make_pool(directory: Path, rows: int, ids: str = "int", format: str = "parquet") -> Path:
    """Write a pool of so many rows unless it is there; return its folder."""
    folder = _folder(directory, rows, ids)
    measured.run("make_pool.py", "--rows", rows, "--ids", ids, "--output", folder)
    if format == "parquet":
        return folder
    converted = folder.with_name(f"{folder.name}-{format}")
    measured.run("convert_pool.py", folder, format, "--output", converted)
    return converted


def pattern(pool: Path) -> Path:
    """Return the pattern of the files of a pool, all of one format."""
    (suffix,) = {path.suffix for path in pool.iterdir() if path.is_file()}
    return pool.resolve() / f"*{suffix}"


@contextlib.contextmanager
def pool(directory: Path, rows: int, keep: bool) -> Iterator[Path]:
    """Make a pool, and remove it in the end unless it was there before or is to be kept."""
    keep = keep or _folder(directory, rows, "int").exists()
    folder = make_pool(directory, rows)
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder)


def _folder(directory: Path, rows: int, ids: str) -> Path:
    return directory.resolve() / f"{rows}-{ids}"


def read_through(pool: Path) -> None:
    """Read the files of a pool once, so that the system's cache holds what it can of them."""
    for path in filter(Path.is_file, pool.iterdir()):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def spec_of(pool: Path) -> str:
    """Return a spec for a pool, with a workspace beside it."""
    id = "[left, right]" if pool.name.split("-")[1:2] == ["pair"] else "id"
    return _SPEC.format(pool=pattern(pool), id=id)


@contextlib.contextmanager
def new_spec(pool: Path, directory: Path) -> Iterator[Path]:
    """Write a spec for a pool, with a workspace beside it that is new; remove both in the end."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".workspace-", dir=directory.resolve()) as folder:
        spec = Path(folder) / "evaluation.yaml"
        spec.write_text(spec_of(pool))
        yield spec


def prepare(pool: Path, directory: Path, *options: str) -> Measurement:
    """Prepare a pool by the command line; the result has the workspace's `bytes` too."""
    with new_spec(pool, directory) as spec:
        cost, result = measured.measure_command("prepare", spec, *options)
        files = [path for path in Path(result["workspace"]).rglob("*") if path.is_file()]
        return cost, {**result, "bytes": sum(path.stat().st_size for path in files)}
