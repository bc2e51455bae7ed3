"""Writes golden files, all or by case, anew: `python -m tests.golden.write [NAME ...]`."""

import sys
from collections.abc import Sequence

from tests.golden import kept
from tests.golden.cases import CASES
from tests.golden.evaluations import told_by


def write(names: Sequence[str]) -> None:
    """Write what is named, or all; then files of no case go."""
    unknown = {*names} - {*CASES}
    if unknown:
        sys.exit(f"no case: {', '.join(sorted(unknown))}")
    for name in names or CASES:
        kept.write(kept.file_of(name), told_by(CASES[name]))
    if not names:
        for path in {*kept.ESTIMATES.glob("*.json")} - {kept.file_of(name) for name in CASES}:
            path.unlink()


if __name__ == "__main__":
    write(sys.argv[1:])
