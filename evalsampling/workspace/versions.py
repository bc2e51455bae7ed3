"""Versions of the files of a workspace: what this package can know, and what it cannot.

A file that has a version greater than the one here was written by a later package, and may mean
something else by the same words: it is refused wherever it is read. One without was written
before its kind had any, and is of the first. A marker's version is that of the whole draft it came
in with: of the Parquet files that it names. A delivery has one in its metadata besides.
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
    (r"labels/[^/]+\.parquet", 1),
    (r"budgets/\d+\.json", 1),
    (r"forgotten/\d+\.json", 1),
    (r"jobs/[^/]+\.json", 1),
    (r"steps/[^/]+\.json", 1),
    (r"estimates/[^/]+\.json", 1),
)
"""Names of the files of each kind, and the version that this package writes."""


def latest_version(name: str) -> int | None:
    """Return the version in which a file of a workspace is written; None if it has none."""
    return next((latest for names, latest in _LATEST if re.fullmatch(names, name)), None)


def with_version(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file with the version of its kind, if that has any."""
    latest = latest_version(name)
    return dict(content) if latest is None else {VERSION: latest, **content}
