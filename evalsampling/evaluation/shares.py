"""Shares of the tasks: what is known of each task, and of its answers, comes together in one.

Which share a task is in follows from its name, a hash. So shares are alike in size however the
pool is cut, and whichever labels are frequent.
"""

import collections
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.round_rows import LabelJoin
from evalsampling.labels.delivered_ids import ID, DeliveredIds
from evalsampling.labels.vote import field_text, in_unicode, vote_of
from evalsampling.labels.votes import Reject
from evalsampling.pool.batch import mapping_of
from evalsampling.pool.row_ids import as_text
from evalsampling.spec.id_columns import IdColumns
from evalsampling.stats.labelled_counts import LabelledCounts

SHARES = 64
"""Shares of the tasks, each joined by one worker."""

ROWS, ANSWERS = "rows", "answers"

Packed = tuple[str, int, bytes]
"""Rows or answers in transit: which they are, how many, and their bytes."""


def share_of(name: str) -> int:
    """Return the share of a task, or of an id, from 0."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % SHARES


def rows_by_share(rows: Any, by: str, id: IdColumns = ID) -> Iterator[tuple[int, pa.Table]]:
    """Yield rows of rounds by share."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist([dict(mapping_of(rows))])
    if by not in table.column_names:
        listed = ", ".join(table.column_names)
        raise InputError(f"rows of a round: column {by!r} is missing; there are: {listed}")
    places = collections.defaultdict(list)
    for place, name in enumerate(table[by].to_pylist()):
        places[share_of(as_text(name, id if by == ID else by))].append(place)
    for share, of_share in places.items():
        yield share, table.take(pa.array(of_share))


def answers_by_share(
    label: Any, by: str, id: IdColumns = ID
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield an answer with its share; of answers that do not name their row it is 0."""
    answer = mapping_of(label)
    name = DeliveredIds(id).text(answer) if by == ID else field_text(answer.get(by))
    yield 0 if name is None else share_of(name), answer


def packed_rows(share: int, tables: Sequence[pa.Table]) -> Iterator[tuple[int, Packed]]:
    """Yield the rows of a share in transit."""
    table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    yield share, (ROWS, len(table), pickle.dumps(table, protocol=pickle.HIGHEST_PROTOCOL))


def packed_answers(
    share: int, answers: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, Packed]]:
    """Yield the answers of a share in transit."""
    content = pickle.dumps([*map(dict, answers)], protocol=pickle.HIGHEST_PROTOCOL)
    yield share, (ANSWERS, len(answers), content)


def joined(
    gathered: Iterable[Packed], join: LabelJoin, by: str
) -> tuple[int, LabelledCounts, list[Reject]]:
    """Return how many rows and answers came, counts of the rows, and answers that do not count."""
    tables: list[pa.Table] = []
    answers: list[Mapping[str, Any]] = []
    size = 0
    for kind, number, content in gathered:
        (tables.append if kind == ROWS else answers.extend)(pickle.loads(content))
        size += number
    own = DeliveredIds(join.spec.pool.id)
    votes = [in_unicode(own.vote(vote_of, 0, answer)) for answer in answers]
    rows = pa.concat_tables(tables, promote_options="permissive") if tables else None
    counts, rejects = join.join(rows, [vote for vote in votes if getattr(vote, by) is not None])
    reason = f"no {own.words if by == ID else by} is given, by which labels are joined"
    rejects += [Reject(0, reason, vote.task, vote.id) for vote in votes if not getattr(vote, by)]
    return size, counts, rejects


def as_mapping(reject: Reject, id: IdColumns = ID) -> Mapping[str, Any]:
    """Return an answer that does not count as plain values; ``id`` has the columns of ids."""
    return {
        "task": reject.task,
        **DeliveredIds(id).values(reject.id),
        "label": reject.label,
        "reason": reject.reason,
    }
