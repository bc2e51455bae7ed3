"""Every outcome of small designs with its chance, their sizes answering to earlier labels."""

import dataclasses
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History, Round
from tests.samplers.pools import Pool
from tests.stats.coins import every_outcome

Chances = Callable[[History], np.ndarray]
"""Chances of rows of the cells in the next round, given what is known."""


def tiny_pool(hits: tuple[int, ...], rows: tuple[int, ...]) -> Pool:
    """A cell a leaf, all predicted negative, with so many positives among so many rows."""
    leaf = np.repeat(np.arange(len(rows)), rows)
    label = np.concatenate([np.arange(n) < h for h, n in zip(hits, rows, strict=True)])
    return Pool(leaf, np.zeros(len(leaf), int), np.full((len(leaf), 2), 0.5), label.astype(int))


def arrangements(pool: Pool) -> Iterator[list[np.ndarray]]:
    """Every order of labels in the cells; all are equally likely."""
    cells = []
    for c in range(len(pool.table)):
        hits, rows = int(pool.truth[c, 1]), int(pool.table.count[c])
        places = itertools.combinations(range(rows), hits)
        cells.append([np.isin(np.arange(rows), chosen).astype(int) for chosen in places])
    yield from (list(one) for one in itertools.product(*cells))


@dataclasses.dataclass(frozen=True)
class Path:
    """One outcome.

    Attributes:
        chance: of it.
        history: that it leads to.
    """

    chance: float
    history: History


def with_replacement(
    pool: Pool, chances: Chances, draws: tuple[int, ...], respond: float = 1.0
) -> Iterator[Path]:
    """Rounds of some draws each; a label comes with a chance that does not depend on the row."""
    every = list(arrangements(pool))
    for labels in every:
        start = Path(1 / len(every), pool.start())
        yield from _rounds(pool.table, labels, chances, list(draws), respond, start)


def _rounds(
    table: CellTable,
    labels: list[np.ndarray],
    chances: Chances,
    draws: list[int],
    respond: float,
    path: Path,
) -> Iterator[Path]:
    if not draws:
        yield path
        return
    q = chances(path.history)
    q = q / (q @ table.count)
    for cells, chance in _draws(table, q, path.history.drawn_by_cell(len(table)), draws[0]):
        asked = np.array([c for c in cells if c >= 0], dtype=np.int64)
        for answers in itertools.product((True, False), repeat=len(asked)):
            answered = int(sum(answers))
            of_answers = respond**answered * (1 - respond) ** (len(asked) - answered)
            if of_answers:
                history = ask(table, path.history, labels, asked, q, answers)
                after = Path(path.chance * chance * of_answers, history)
                yield from _rounds(table, labels, chances, draws[1:], respond, after)


def _draws(
    table: CellTable, q: np.ndarray, drawn: np.ndarray, draws: int
) -> Iterator[tuple[list[int], float]]:
    """Cells of the rows nobody met that draws fall on, -1 for a row met before; and the chance."""
    if not draws:
        yield [], 1.0
        return
    fresh = table.count - drawn
    met = float(q @ drawn)
    if met:
        for cells, chance in _draws(table, q, drawn, draws - 1):
            yield [-1, *cells], met * chance
    for c in np.flatnonzero(fresh * q).tolist():
        after = drawn + (np.arange(len(drawn)) == c)
        for cells, chance in _draws(table, q, after, draws - 1):
            yield [c, *cells], float(fresh[c] * q[c]) * chance


def ask(
    table: CellTable,
    history: History,
    labels: list[np.ndarray],
    asked: np.ndarray,
    q: np.ndarray,
    answers: tuple[bool, ...],
) -> History:
    """The history with a round that asks about the next rows of some cells."""
    rank = history.drawn_by_cell(len(table))
    ranks = np.array([rank[c] + np.sum(asked[:i] == c) for i, c in enumerate(asked)], int)
    question = len(history) + np.arange(len(asked))
    drawn = Round(question, q[asked], np.ones(len(asked), bool), cell_probability=q)
    after = history.with_round(drawn, asked, ranks, table.kinds.take(table.kinds.first[asked]))
    given = [
        int(labels[c][r]) if answer else NO_LABEL
        for c, r, answer in zip(asked, ranks, answers, strict=True)
    ]
    return after.with_labels(np.append(history.label, given).astype(np.int64))


def without_replacement(
    pool: Pool, sampler: object, sizes: tuple[int, ...], respond: float = 1.0
) -> Iterator[Path]:
    """Rounds of a sampler that takes whole rounds, with every outcome of its coins."""
    every = list(arrangements(pool))
    for labels in every:
        paths = [Path(1 / len(every), pool.start())]
        for size in sizes:
            paths = [
                Path(path.chance * chance * of_answers, answered)
                for path in paths
                for chance, drawn in every_outcome(
                    lambda rng, path=path, size=size: sampler.design(  # type: ignore[attr-defined]
                        pool.table, path.history, size, rng
                    )
                )
                for of_answers, answered in _answered(path.history, drawn, labels, respond)
            ]
        yield from paths


def _answered(
    before: History, drawn: History, labels: list[np.ndarray], respond: float
) -> Iterator[tuple[float, History]]:
    new = range(len(before), len(drawn))
    for answers in itertools.product((True, False), repeat=len(new)):
        count = int(sum(answers))
        chance = respond**count * (1 - respond) ** (len(new) - count)
        if chance:
            given = [
                int(labels[drawn.cell[i]][drawn.rank[i]]) if answer else NO_LABEL
                for i, answer in zip(new, answers, strict=True)
            ]
            yield chance, drawn.with_labels(np.append(before.label, given).astype(np.int64))
