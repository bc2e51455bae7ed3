"""Stores of every kind: a directory, a bucket, and a shared one of the five calls alone."""

from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from evalsampling.storage import Store, open_store


class Shelf(Store):
    """Files of a folder that machines share: all else is what `Store` makes of the five calls."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, str(folder)

    def read(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()

    def create(self, name: str, content: bytes | Path) -> bool:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("xb") as file:
                file.write(content.read_bytes() if isinstance(content, Path) else content)
        except FileExistsError:
            return False
        return True

    def overwrite(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def sizes(self, beginning: str = "") -> Mapping[str, int]:
        files = (path for path in self.folder.rglob("*") if path.is_file())
        sizes = {path.relative_to(self.folder).as_posix(): path.stat().st_size for path in files}
        return {name: size for name, size in sizes.items() if name.startswith(beginning)}

    def remove(self, names: Collection[str]) -> None:
        for name in names:
            (self.folder / name).unlink(missing_ok=True)


@pytest.fixture(params=["directory", "shelf", pytest.param("bucket", marks=pytest.mark.stores)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "directory":
        return open_store(tmp_path)
    if request.param == "shelf":
        return Shelf(tmp_path)
    return open_store(f"gs://{request.getfixturevalue('bucket').name}/below/here")
