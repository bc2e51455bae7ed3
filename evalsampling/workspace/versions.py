"""Versions of the kinds of files of a workspace, as this package writes and reads them.

A file with another version than the one here was written by another package, and its keys may
have another meaning: reading it is an error. The version of a marker is also that of the Parquet
files it names. A delivery has a version in its metadata as well.
"""

import re
from collections.abc import Mapping
from typing import Any

from evalsampling.storage.base import VERSION

_LATEST = (
    (r"evaluation\.json", 4),
    (r"rounds/\d+/design\.json", 1),
    (r"rounds/\d+/closed\.json", 1),
    (r"adjudications/\d+/design\.json", 1),
    (r"taken/\d+\.json", 1),
    (r"labels/.+\.parquet", 1),
    (r"budgets/\d+\.json", 1),
    (r"jobs/.+\.json", 1),
    (r"steps/[^/]+\.json", 1),
    (r"estimates/[^/]+\.json", 1),
)
"""Pattern of the names of each kind of files, and the version that this package writes."""


def latest_version(name: str) -> int | None:
    """Return the version that this package writes in a file of a name; None if it has none."""
    return next((latest for names, latest in _LATEST if re.fullmatch(names, name)), None)


def with_version(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file with the version of its kind, if there is one."""
    latest = latest_version(name)
    return dict(content) if latest is None else {VERSION: latest, **content}
