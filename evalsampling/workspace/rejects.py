"""Rejects of a delivery, read back: the reason that most of them share."""

import collections
import csv
import io
import re

from evalsampling.labels.vendor import unescaped
from evalsampling.workspace.forgotten import ERASED
from evalsampling.workspace.workspace import Workspace

_DETAIL = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")
"""What differs between reasons of one kind: texts in quotes, and numbers."""

_SHARED = 3
"""Rejects that share what a reason quotes, so that no text of a single row is told on."""


def commonest_reason(workspace: Workspace, name: str, file: str) -> tuple[str, int]:
    """Return the commonest reason of a delivery's rejects, and how many have one of its kind.

    Reasons that differ in ids, labels or lines alone are of one kind; what few share of these is
    left out. The text is empty if the
    list of rejects is not there any more, or the text of all of them was erased.
    """
    listed = workspace.rejects_name(name, file)
    if not workspace.store.exists(listed):
        return "", 0
    text = workspace.store.read(listed).decode("utf-8-sig")
    reasons = [unescaped(row["reason"]) for row in csv.DictReader(io.StringIO(text, newline=""))]
    by_kind: dict[str, collections.Counter[str]] = {}
    for reason in reasons:
        if reason != ERASED:
            by_kind.setdefault(_DETAIL.sub("", reason), collections.Counter())[reason] += 1
    if not by_kind:
        return "", 0
    most = max(by_kind.values(), key=collections.Counter.total)
    ((reason, shared),) = most.most_common(1)
    return reason if shared >= _SHARED else _DETAIL.sub("...", reason), most.total()
