"""The pools with known truth that the benchmarks run on, and where they are."""

import argparse
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def add_option(parser: argparse.ArgumentParser) -> None:
    """Let the folder of the pools be chosen."""
    parser.add_argument(
        "--pools",
        type=Path,
        default=PROJECT.parent / "shared" / "pools",
        metavar="DIR",
        help="folder of NAME.parquet and NAME-truth.parquet (default: ../shared/pools)",
    )


def find(directory: Path) -> list[str]:
    """Return the names of the pools whose truth is there; say so if there are none."""
    found = directory.glob("*-truth.parquet")
    names = sorted(path.name.removesuffix("-truth.parquet") for path in found)
    if not names:
        print(f"{directory}: no pools (NAME-truth.parquet), nothing measured")
    return names
