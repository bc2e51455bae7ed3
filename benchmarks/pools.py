"""The pools with known truth that the benchmarks run on, and where they are."""

import sys
from argparse import ArgumentParser as Parser
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]


def add_option(parser: Parser) -> None:
    """Let the folder of the pools be chosen."""
    parser.add_argument(
        "--pools",
        type=Path,
        default=PROJECT.parent / "shared" / "pools",
        metavar="DIR",
        help="folder of NAME.parquet and NAME-truth.parquet (default: ../shared/pools)",
    )


def study_parser(about: str | None, name: str, page: str, repeats: int, block: int) -> Parser:
    """Return the parser of a study that is run, and continued, in blocks of repeats.

    Args:
        about: first line of what the help says.
        name: of the folder below build/ where results go.
        page: of docs/ that reports write.
        repeats: of each setting, unless asked otherwise.
        block: repeats of a file, unless asked otherwise.
    """
    parser = Parser(description=(about or "").splitlines()[0])
    parser.add_argument("action", choices=("run", "report"))
    add_option(parser)
    parser.add_argument("--results", type=Path, default=PROJECT / "build" / name, metavar="DIR")
    told = f"default: {repeats}"
    parser.add_argument("--repeats", type=int, default=repeats, metavar="N", help=told)
    parser.add_argument("--block", type=int, default=block, metavar="N", help="repeats of a file")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default: 1")
    parser.add_argument("--only", nargs="*", default=[], metavar="POOL", help="default: all pools")
    parser.add_argument("--output", type=Path, default=PROJECT / "docs" / page, metavar="FILE")
    return parser


def chosen(only: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the pools that are asked for, all if none is; end with a line if one is not known."""
    unknown = [name for name in only if name not in known]
    if unknown:
        sys.exit(f"--only: no pool {unknown[0]!r}; there are {', '.join(known)}")
    return list(only or known)


def find(directory: Path) -> list[str]:
    """Return the names of the pools whose truth is there; say so if there are none."""
    found = directory.glob("*-truth.parquet")
    names = sorted(path.name.removesuffix("-truth.parquet") for path in found)
    if not names:
        print(f"{directory}: no pools (NAME-truth.parquet), nothing measured")
    return names
