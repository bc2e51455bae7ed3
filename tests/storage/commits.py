"""Commits that tests fill."""

from evalsampling.storage import Store
from evalsampling.storage.commits import begin


def fill(store: Store, marker: str, content: str, commit: bool = True) -> None:
    """Bring in a marker and two files."""
    with begin(store, "a") as files:
        for name in ("one.txt", "deep/two.txt"):
            files.path(name).write_text(f"a/{name} {content}")
        if commit:
            files.write(marker, {"content": content})
