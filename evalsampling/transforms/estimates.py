"""Labels to estimates in pipelines of others: answers joined to rows, counted, estimated.

Counts of labelled rows (`stats.labelled_counts`) are all that comes together on one worker.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis, check_new_rows
from evalsampling.evaluation.counted import analysis_of, estimated, next_chances
from evalsampling.evaluation.round_rows import (
    Packed,
    answers_by_share,
    as_mapping,
    joined,
    packed_answers,
    packed_rows,
    rows_by_share,
)
from evalsampling.labels.tasks import ID, TASK
from evalsampling.stats.cells import CellSums
from evalsampling.stats.labelled_counts import LabelledCounts, Latest
from evalsampling.stats.round_chances import RoundChances
from evalsampling.stats.slices import SliceCounts
from evalsampling.transforms.gathering import Gather, check_together, is_there, like
from evalsampling.transforms.stages import SumFn
from evalsampling.workspace.pool_facts import PoolFacts, Rounds, drawn_rows

COUNTS, POOL, SLICES = "counts", "pool", "slices"
"""Kinds of states that an estimate is made of."""


@dataclasses.dataclass(frozen=True)
class _Joined:
    """The joined answers and rows of a share, summed up."""

    counts: LabelledCounts  # of the rows with their labels
    rejects: int  # answers that do not count
    by_sample: bool  # whether the rows are those that `sample` drew
    workspace: str  # identity of the workspace that they were joined for


class JoinLabels(beam.PTransform):
    """Joins answers to the rows of rounds: labels of any PCollection to ``counts``, ``rejects``.

    From a PCollection of answers, each a mapping with the columns of a delivery of labels
    (``task`` or ``id``, ``label``, maybe ``annotator``, ``time``, ``skipped``): the rows are those
    of all rounds of the workspace. Or from a dict of ``labels`` and ``rows``, those that
    `SampleRound` picked, however they were kept meanwhile. Where several columns of the pool are
    the id, answers have these in place of ``id``.

    The outputs are a dict: ``counts``, which `EstimateMeasures` and `DesignRound` take; and
    ``rejects``, a PCollection of dicts: answers that do not count, each with its reason. The rules
    are those of the command ``estimate`` for one delivery, so the order of answers decides nothing.
    Flatten labels and rows before it: counts of two such joins do not add up.
    """

    def __init__(self, workspace: str | Path | PoolFacts, by: str = TASK) -> None:
        """Choose the workspace, and by which column answers name their rows, ``task`` or ``id``.

        Raises:
            InputError: if the workspace is not prepared, or is of a kind that takes the commands.
        """
        super().__init__()
        if by not in (TASK, ID):
            raise InputError(f"labels are joined by task or id, not by {by!r}")
        self._facts, self._by = PoolFacts.read(workspace), by

    def expand(self, given: Any) -> Any:
        labels, rows = _labels_and_rows(given, self._facts.path)
        by, id = self._by, self._facts.labelling.pool.id
        of_labels = Gather(functools.partial(answers_by_share, by=by, id=id), packed_answers)
        of_rows = Gather(functools.partial(rows_by_share, by=by, id=id), packed_rows)
        shares = (  # Those of labels first: they say when groups fire.
            labels | "ShareLabels" >> beam.ParDo(of_labels),
            rows | "ShareRows" >> beam.ParDo(of_rows),
        )
        by_sample = isinstance(given, beam.PCollection)
        join = beam.ParDo(_Join(self._facts, by, by_sample))
        done = (
            shares
            | "Both" >> beam.Flatten()
            | "GroupShares" >> beam.GroupByKey()
            | "JoinShares" >> join.with_outputs("rejects", main="counts")
        )
        return {"counts": done.counts, "rejects": done.rejects}


def _labels_and_rows(given: Any, path: str) -> tuple[beam.PCollection[Any], beam.PCollection[Any]]:
    """Return answers, and the rows of rounds: as they are given, or those of a workspace."""
    if isinstance(given, beam.PCollection):
        check_together(given, "labels")
        created = given.pipeline | "Workspace" >> beam.Create([path])
        return given, created | "DrawnRows" >> beam.Map(drawn_rows) | "FireRows" >> like(given)
    missing = [name for name in ("labels", "rows") if name not in given]
    if missing:
        raise InputError(f"give labels and rows; there are: {', '.join(given)}")
    for name in ("labels", "rows"):
        check_together(given[name], name)
    return given["labels"], given["rows"]


class _Join(beam.DoFn):
    def __init__(self, facts: PoolFacts, by: str, by_sample: bool) -> None:
        join = facts.label_join
        # Rows that were read of the workspace itself are its own.
        self._join = dataclasses.replace(join, key=None) if by_sample else join
        self._by, self._by_sample, self._workspace = by, by_sample, facts.identity

    def process(self, group: tuple[int, Iterable[Packed]]) -> Iterator[Any]:
        share, gathered = group
        size, counts, rejects = joined(gathered, self._join, self._by)
        made = _Joined(counts, len(rejects), self._by_sample, self._workspace)
        yield Latest.of((COUNTS, share), size, made)
        for reject in rejects:
            yield pvalue.TaggedOutput("rejects", as_mapping(reject, self._join.labelling.pool.id))


class _Together(beam.PTransform):
    """States that estimates are made of to one `Latest`.

    From ``counts`` of `JoinLabels`; or from a dict with these, ``pool``, the CellSums of rows
    (`SumCells`), and ``slices``, their SliceCounts (`CountSlices`).
    """

    def expand(self, given: Any) -> beam.PCollection[Latest]:
        named = {COUNTS: given} if isinstance(given, beam.PCollection) else dict(given)
        if COUNTS not in named:
            raise InputError(f"give counts, those of JoinLabels; there are: {', '.join(named)}")
        if SLICES in named and POOL not in named:
            raise InputError("slices are of the rows of a pool: give pool, by SumCells, too")
        parts = [named[COUNTS]]
        for kind in (POOL, SLICES):
            if kind in named:
                check_together(named[kind], kind)
                states = named[kind] | f"Drop {kind}" >> beam.Filter(is_there)
                states = states | f"Name {kind}" >> beam.Map(_state)
                parts.append(states | f"Fire {kind}" >> like(named[COUNTS]))
        states = parts | "States" >> beam.Flatten()
        latest = states | "Latest" >> beam.CombineGlobally(SumFn()).without_defaults()
        return latest | "DropEmpty" >> beam.Filter(is_there)


def _state(of: CellSums | SliceCounts) -> Latest:
    """Return sums over cells, or counts of slices, with the rows that they are of."""
    if isinstance(of, CellSums):
        return Latest.of((POOL, 0), int(of.means()[1].sum()), of)
    rows = sum(int(of_value.sum()) for column in of.columns for of_value in column.values())
    return Latest.of((SLICES, 0), rows, of)


class EstimateMeasures(beam.PTransform):
    """Estimates the measures of a spec: ``counts`` of `JoinLabels` to a dict.

    The dict is `evaluation.counted.estimated`: rows, drawn, labels, rejects,
    measures (those of ``estimate --json``, equal to the last digit) and warnings. From a dict of
    ``counts`` and ``pool``, the `SumCells` of the rows, the pool is that of these rows. With
    ``slices`` too, the `CountSlices` of the rows, numbers of the spec's ``pool.slices`` are among
    the measures: of the values that the workspace's pool has.

    In a stream there is a dict whenever more rows or labels come. In any order, the one with the
    greatest ``seen`` counts: so many rows and answers it is made of. No rows give nothing.
    """

    def __init__(self, workspace: str | Path | PoolFacts, round: Rounds | None = None) -> None:
        """Choose what rows were picked by: `SampleRound`'s arguments.

        Args:
            workspace: whose spec, strata and rounds are used.
            round: the last round; by default that of the workspace.

        Raises:
            InputError: if there is no such round.
        """
        super().__init__()
        self._make = _Maker(PoolFacts.read(workspace), round)

    def expand(self, given: Any) -> beam.PCollection[dict[str, Any]]:
        own = isinstance(given, Mapping) and POOL in given
        states = given | "Gather" >> _Together()
        return states | "Estimate" >> beam.FlatMap(self._make.estimates, own)


class DesignRound(beam.PTransform):
    """Designs the next round by the labels so far: ``counts`` to PCollection[RoundChances].

    Its chances are those that `sample` would draw by, of the same labels.
    """

    def __init__(
        self, workspace: str | Path | PoolFacts, size: int, round: Rounds | None = None
    ) -> None:
        """Choose how many new rows are wanted, at least 1; see `EstimateMeasures`.

        Raises:
            InputError: if there is no such round, or its sampler does not draw row by row.
        """
        super().__init__()
        check_new_rows(size)
        facts = PoolFacts.read(workspace)
        facts.check_draws_by_row()
        self._make, self._size = _Maker(facts, round), size

    def expand(self, given: Any) -> beam.PCollection[RoundChances]:
        own = isinstance(given, Mapping) and POOL in given
        states = given | "Gather" >> _Together()
        return states | "Design" >> beam.FlatMap(self._make.design, own, self._size)


class _Maker:
    """Makes estimates, or the design of the next round, from joined states."""

    def __init__(self, facts: PoolFacts, last: Rounds | None) -> None:
        self._rounds = facts.rounds if last is None else facts.rounds_until(last)
        self._facts = facts

    def estimates(self, states: Latest, own: bool) -> Iterator[dict[str, Any]]:
        """Yield the estimates, unless there are no rows; ``own`` if the pool is its own."""
        now = self._analysis(states, own)
        if now is not None:
            yield {"seen": states.version, **estimated(*now)}

    def design(self, states: Latest, own: bool, size: int) -> Iterator[RoundChances]:
        """Yield the chances of the next round."""
        now = self._analysis(states, own)
        if now is not None:
            begin = self._facts.begin_after(self._rounds, now[0].table.code)
            chances = next_chances(now[0], size, begin=begin)
            yield dataclasses.replace(chances, workspace=self._facts.identity)

    def _analysis(
        self, states: Latest, own: bool
    ) -> tuple[Analysis, int, Mapping[str, int]] | None:
        """Return the analysis of joined states, the number of rejects, `Slices.outside`."""
        shares, pools = states.named(COUNTS), states.named(POOL)
        if not (pools if own else shares):
            return None
        facts = self._facts
        analysis, outside = facts.analysis, {}
        if pools:
            facts.check_draws_by_row()
            slices = states.named(SLICES)
            for what, own_states in (("sums over cells", pools), ("counts of slices", slices)):
                facts.check_own(what, *(state.workspace for state in own_states))
            pool = facts.pool.of_rows(pools[0], slices[0] if slices else None)
            outside = pool.slices.outside(pool.table)
            if self._has_rows_by_sample(shares):
                facts.check_same_rows(pool)
            analysis = Analysis.of_pool(pool, facts.plan)
        facts.check_own("counts of labelled rows", *(share.workspace for share in shares))
        counts = LabelledCounts.sum([share.counts for share in shares])
        try:
            made = analysis_of(analysis, counts, self._rounds, facts.drawn)
            return made, sum(share.rejects for share in shares), outside
        except ValueError as error:
            raise InputError(f"{facts.path}: {error}") from error

    def _has_rows_by_sample(self, shares: Iterable[_Joined]) -> bool:
        """Return whether rounds that `sample` drew are among those that count."""
        goes_on = 0 < len(self._facts.rounds) < len(self._rounds)
        return goes_on or any(share.by_sample for share in shares)
