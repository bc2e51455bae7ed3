"""`prepare` without Beam: the passes over shares of a pool, for any engine or in this process."""

import collections
import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from evalsampling.commands.check_ids import ids_were_checked
from evalsampling.commands.options import flag
from evalsampling.commands.prepare import Preparation, PrepareResult
from evalsampling.errors import InputError
from evalsampling.pool.files import find_files
from evalsampling.preparation import shards
from evalsampling.preparation.reserve import PARTS
from evalsampling.preparation.shards import Piece
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import Wanted
from evalsampling.spec import EvaluationSpec
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.prepared import PreparedPool

Work = Callable[[Any, int], Iterable[Piece]]
"""What is done with a share, given the number of its group."""

Merge = Callable[[str, int, Iterable[Any]], Piece]
"""What is made of all states of one kind and part."""


class Gather(Protocol):
    """Does the work on all shares, merges what comes of it, and returns the merged pieces."""

    def __call__(self, dealt: Sequence[Any], work: Work, merge: Merge, parts: int) -> list[Piece]:
        """Return the pieces.

        Args:
            dealt: the shares.
            work: to be done on each.
            merge: of pieces that share kind and part.
            parts: most parts that a kind has.
        """


@dataclasses.dataclass(frozen=True)
class InProcessOptions:
    """Whether `prepare` does without Beam."""

    in_process: bool = flag(
        "read the pool in this process, without Beam: begins at once, uses one core"
    )


def prepare_in_process(spec: EvaluationSpec) -> PrepareResult:
    """Prepare a pool in this process, unless that is done, and return what was prepared.

    The workspace is the one that Beam makes. For pools that one core reads in bearable time.

    Args:
        spec: of the evaluation.

    Raises:
        InputError: for anything wrong with the spec or the pool; the workspace is as it was.
    """
    preparation = Preparation.from_spec(spec, ExecutionContext("this process"))
    return prepare_in_shares(preparation, 1, _gather)


def prepare_in_shares(preparation: Preparation, most: int, gather: Gather) -> PrepareResult:
    """Prepare a pool, unless that is done, and return what was prepared.

    Args:
        preparation: what to prepare, and where to.
        most: most shares the pool is read in.
        gather: lets an engine do the work.

    Raises:
        InputError: for anything wrong with the spec or the pool, or if ids are to be checked of a
            workspace that was prepared without; the workspace is as it was.
    """
    workspace = preparation.workspace
    if not workspace.prepared:
        preparation.check_labels()
        with workspace.preparing(preparation.attempt):
            _run(preparation, most, gather)
        return preparation.result()
    preparation.check_same_spec()
    preparation.check_same_pool()
    if preparation.check_ids and not ids_were_checked(PreparedPool.read(workspace)):
        raise InputError(
            f"{workspace.path}: prepared without --check-ids; "
            "`evalsampling prepare --check-ids` checks it now"
        )
    return preparation.result()


def _run(preparation: Preparation, most: int, gather: Gather) -> None:
    """Run the passes: each deals out shares, merges what comes of them, gathers the sums here."""
    started, spec, scored = time.time(), preparation.spec, preparation.scored_directory
    merge = functools.partial(shards.merge, write_reserve=preparation.write_reserve)

    files = shards.deal(find_files(spec.pool.path), most)
    found = shards.total(gather(files, shards.inspect_share, merge, 1), shards.FILES)
    catalog = preparation.plan(found)
    items = list(catalog.items)

    summary = None
    if Wanted.from_spec(spec).anything or spec.pool.scorer:
        work = functools.partial(shards.summarize_share, spec=spec, scored=scored)
        summary = shards.total(gather(shards.deal(items, most), work, merge, 1), shards.SUMMARY)
    stratification = Stratification.from_spec(spec, summary)

    items = shards.scored_items(items, spec, scored)
    work = functools.partial(
        shards.cut_share,
        spec=spec,
        stratification=stratification,
        check_ids=preparation.check_ids,
    )
    pieces = gather(shards.deal(items, most), work, merge, PARTS)
    shards.check_ids(pieces, items, spec)
    preparation.commit(
        catalog,
        started,
        stratification,
        shards.total(pieces, shards.SUMS),
        shards.total(pieces, shards.COUNTS),
        [piece.state for piece in pieces if piece.kind == shards.RESERVE],
    )


def _gather(dealt: Sequence[Any], work: Work, merge: Merge, parts: int) -> list[Piece]:
    """Do the work here, one share after the other."""
    states: dict[tuple[str, int], list[Any]] = collections.defaultdict(list)
    for number, share in enumerate(dealt):
        for piece in work(share, number):
            states[piece.kind, piece.part].append(piece.state)
    return [merge(*key, found) for key, found in states.items()]
