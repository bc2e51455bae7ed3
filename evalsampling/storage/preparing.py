"""Holding a store for a prepare, whose files go if it fails."""

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.storage.base import Store
from evalsampling.storage.commits import UNFINISHED
from evalsampling.storage.local import LocalStore

_LOCK = ".preparing"


def preparing(
    store: Store, marker: str, attempt: str, products: Collection[str]
) -> contextlib.AbstractContextManager[None]:
    """Hold a store for a prepare; its files are removed if the block ends without the marker.

    The products are files and folders that are written before the marker. In a shared store their
    names have the attempt in them. A store that holds other files is refused.
    """
    if isinstance(store, LocalStore):
        return _in_directory(store, marker, products)
    return _in_bucket(store, marker, attempt, products)


def check_free(store: Store, products: Collection[str]) -> None:
    """Check that a store holds only files that a failed prepare may have left."""
    if isinstance(store, LocalStore):
        _check_no_file(store)
    _refuse(store, [name for name in store.names() if name not in products])


def overtaken(store: Store) -> InputError:
    """Return the error to raise if another prepare has finished since this one began."""
    return InputError(f"{store.root}: another prepare has finished there meanwhile")


def written(store: Store, folders: Collection[str], which: Callable[[str], bool]) -> list[str]:
    """Return the names of the files in folders that `which` accepts, by their names there."""
    return [
        name
        for folder in folders
        for name in store.sizes(f"{folder}/")
        if which(name.removeprefix(f"{folder}/"))
    ]


def _refuse(store: Store, held: Sequence[str]) -> None:
    if held:
        raise InputError(
            f"{store.root}: not empty and not a workspace, it holds {held[0]}; "
            "choose another directory"
        )


@contextlib.contextmanager
def _in_bucket(
    store: Store, marker: str, attempt: str, products: Collection[str]
) -> Iterator[None]:
    if store.exists(marker):
        raise overtaken(store)
    check_free(store, products)
    try:
        yield
    except InputError as error:
        # An `InputError` means that the job has failed: after other errors it may still run.
        there = store.find_json(marker)
        if there.get("attempt") != attempt:
            store.remove(written(store, products, lambda name: attempt in name))
            if there:
                # It removed the files of this one, on which any step may have failed.
                raise overtaken(store) from error
        raise


@contextlib.contextmanager
def _in_directory(store: LocalStore, marker: str, products: Collection[str]) -> Iterator[None]:
    """Hold a directory for one process at a time.

    Files that a killed prepare left are removed first. They are recognised by its lock file, so a
    directory of anything else is never touched.
    """
    _check_no_file(store)
    lock = store.directory / _LOCK
    if store.directory.exists() and not lock.exists() and not store.exists(marker):
        _refuse(store, sorted(os.listdir(store.directory)))
    store.make()
    with contextlib.ExitStack() as stack:
        try:
            held = stack.enter_context(store.locked(_LOCK, wait=False))
            removed = not os.path.samestat(os.fstat(held), lock.stat())
        except BlockingIOError as error:
            raise InputError(f"{store.root}: another prepare is at work there") from error
        except FileNotFoundError:
            removed = True
        if store.exists(marker):
            lock.unlink(missing_ok=True)
            raise overtaken(store)
        if removed:
            raise InputError(
                f"{store.root}: another prepare has failed there meanwhile; run this one again"
            )
        _clear(store, products)
        try:
            yield
        finally:
            if store.exists(marker):
                lock.unlink()
            else:
                _abandon(store, products)


def _check_no_file(store: LocalStore) -> None:
    """Check that the directory and its parents are no files."""
    for path in (store.directory, *store.directory.parents):
        if path.is_file():
            raise InputError(f"{path}: a file, where a directory is wanted; choose another")


def _clear(store: LocalStore, products: Collection[str]) -> None:
    for name in [*products, UNFINISHED]:
        path = store.directory / name
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _abandon(store: LocalStore, products: Collection[str]) -> None:
    """Remove the directory, unless it holds files of somebody else.

    If it does, the lock file stays, by which the next prepare recognises the directory.
    """
    _clear(store, products)
    if {*os.listdir(store.directory)} <= {*products, UNFINISHED, _LOCK}:
        # A worker that still runs cannot write into a folder that was renamed.
        aside = store.directory.with_name(f".{store.directory.name}-{uuid.uuid4().hex}")
        with contextlib.suppress(OSError):
            store.directory.rename(aside)
            # A call that was under way may still put one more file there.
            while aside.exists():
                shutil.rmtree(aside, onerror=_unless_new)


def _unless_new(_: Any, path: str, error_info: Any) -> None:
    """Raise an error, unless a folder was not empty or a file was already removed."""
    if error_info[1].errno not in (errno.ENOTEMPTY, errno.ENOENT):
        raise error_info[1]
