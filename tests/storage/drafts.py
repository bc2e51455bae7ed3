"""Drafts that tests fill."""

from evalsampling.storage import Store


def fill(store: Store, marker: str, content: str, commit: bool = True) -> None:
    """Bring in a marker and two files."""
    with store.draft() as draft:
        for name in ("a/one.txt", "a/deep/two.txt"):
            draft.path(name).write_text(f"{name} {content}")
        if commit:
            draft.commit(marker, {"content": content})
