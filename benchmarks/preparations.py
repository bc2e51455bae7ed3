"""Pools that `make_pool.py` writes, and workspaces prepared from them in processes of their own."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import measured

_SPEC = """\
pool: {{path: '{pool}', id: id, payload: [name]}}
measure: [f1, precision, recall]
strata: {{method: csf, leaves: 256}}
budget: 2000
round_size: 100
seed: 7
workspace: run
"""


def make_pool(directory: Path, rows: int) -> Path:
    """Write a pool of so many rows unless it is there; return its folder."""
    folder = directory.resolve() / f"{rows}-int"
    measured.run("make_pool.py", "--rows", rows, "--output", folder)
    return folder


def pattern(pool: Path) -> Path:
    """Return the pattern of the files of a pool."""
    return pool.resolve() / "*.parquet"


def read_through(pool: Path) -> None:
    """Read the files of a pool once, so that the system's cache holds what it can of them."""
    for path in filter(Path.is_file, pool.iterdir()):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def spec_of(pool: Path) -> str:
    """Return a spec for a pool, with a workspace beside it."""
    return _SPEC.format(pool=pattern(pool))


@contextlib.contextmanager
def new_spec(pool: Path, directory: Path) -> Iterator[Path]:
    """Write a spec for a pool, with a workspace beside it that is new; remove both in the end."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".workspace-", dir=directory.resolve()) as folder:
        spec = Path(folder) / "evaluation.yaml"
        spec.write_text(spec_of(pool))
        yield spec
