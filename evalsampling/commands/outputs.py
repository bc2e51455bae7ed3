"""Files that a command writes beside a workspace, checked before any of them is written."""

from collections.abc import Collection

from evalsampling.errors import InputError
from evalsampling.pool.files import would_find
from evalsampling.storage.outputs import Output
from evalsampling.workspace.prepared import PreparedPool

OVERWRITE = "replace a file that is there and was not written by evalsampling"
"""Help of the option."""


def check_outputs(
    pool: PreparedPool,
    outputs: Collection[Output],
    overwrite: bool,
    option: str = "--to",
    inputs: Collection[str] = (),
) -> None:
    """Check that files of an option replace nothing of the workspace, its pool or of others."""
    gold = pool.spec.labels.gold
    of_pool = pool.spec.pool
    own = [file["path"] for file in pool.marker["pool"]] + ([] if gold is None else [gold.path])
    for output in outputs:
        pool.workspace.check_outside(output.path, option)
        output.check(overwrite, {*own, *inputs})
        if of_pool.table is None and would_find(of_pool.path, output.path):
            raise InputError(
                f"{output.path}: would be read as a file of the pool, {of_pool.path}; "
                "write to another folder"
            )
