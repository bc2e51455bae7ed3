"""Writes golden files anew: `python -m tests.golden.write [NAME ...]`; look at the difference.

Names are of cases and of workspaces; without any all are written. Of a workspace that is there only
what commands say of it is written: its own files stay as the package of their time wrote them.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.golden import kept
from tests.golden.cases import CASES
from tests.golden.evaluations import told_by
from tests.golden.recipes import RECIPES, said_of, write_workspace


def write(names: Sequence[str]) -> None:
    """Write what is named, or all; then files of no case go.

    Raises:
        SystemExit: there is no such name.
    """
    unknown = {*names} - {*CASES} - {*RECIPES}
    if unknown:
        sys.exit(f"no case and no workspace: {', '.join(sorted(unknown))}")
    for name in names or [*CASES, *RECIPES]:
        if name in CASES:
            kept.write(kept.file_of(name), told_by(CASES[name]))
        else:
            write_said(name)
    if not names:
        for path in {*kept.ESTIMATES.glob("*.json")} - {kept.file_of(name) for name in CASES}:
            path.unlink()


def write_said(name: str) -> None:
    """Write what commands say of a workspace, and the workspace if there is none."""
    if not (kept.WORKSPACES / name).exists():
        write_workspace(name)
    with tempfile.TemporaryDirectory() as folder:
        kept.write(kept.SAID / f"{name}.json", said_of(name, Path(folder)))


if __name__ == "__main__":
    write(sys.argv[1:])
