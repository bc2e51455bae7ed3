"""The parts of a spec that passes over the pool, batches of tasks, and analyses need."""

import dataclasses
import functools

from evalsampling.spec.budget import Budget
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.spec.id_columns import columns_of
from evalsampling.spec.labels import LabelsSpec
from evalsampling.spec.measures import CERTIFY, MeasureSpec
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.promise import Promise
from evalsampling.spec.rounds import RoundSize, SamplerSpec, StopSpec
from evalsampling.spec.sink import SinkSpec
from evalsampling.spec.slices import Where, all_named
from evalsampling.spec.strata import StrataSpec
from evalsampling.spec.systems import probability_columns


@dataclasses.dataclass(frozen=True)
class ReadingPlan:
    """What is read of a pool, and what tells its cells apart; nothing of rounds or estimates."""

    pool: PoolSpec  # files, columns and systems
    labels: LabelsSpec  # what labels there are
    strata: StrataSpec  # how leaves are cut
    # their thresholds and slices are edges of cells; the first drives the sampling
    measures: tuple[MeasureSpec, ...] = ()
    seed: int = 0  # of the hashes of ids, in [0, 2^64)
    most_drawn: int = 0  # most rows of one cell that rounds may draw, by the budget
    by_cluster: bool = False  # whether rows of one cluster follow each other in the order of draws
    # levels of the score of each system, ascending, among which measures choose thresholds; None
    # where they were not counted; empty before the pool was read
    levels: tuple[tuple[float, ...] | None, ...] = ()
    # whether rounds are drawn for differences of systems; None if they are where the first measure
    # is one
    of_differences: bool | None = None

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes: neither numbers nor grades of items."""
        return self.labels.space.has_classes

    @property
    def signature_shape(self) -> tuple[int, ...]:
        """Number of predictions of each system, then of codes of each slice column, in a signature.

        See `LabelSpace.signatures`.
        """
        of_systems = self.labels.space.signatures(len(self.pool.systems))
        return of_systems + tuple(len(values) + 1 for values in self.named_slices.values())

    @property
    def signature_order(self) -> tuple[int, ...]:
        """In which systems and columns of slices make a signature; empty for theirs.

        Systems of classes are sorted by name, so cells do not depend on the order they are named
        in.
        """
        systems = self.pool.systems
        if not self.has_classes or len(systems) == 1:
            return ()
        by_name = sorted(range(len(systems)), key=lambda place: str(systems[place].name))
        return (*by_name, *range(len(systems), len(self.signature_shape)))

    @functools.cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read of every row, each once."""
        pool = self.pool
        named = [*columns_of(pool.id), pool.score, *probability_columns(pool.probability)]
        named += [] if pool.lists is None else [pool.lists.items]
        for system in pool.systems:
            named += [system.score, system.prediction, *system.by_label.values()]
            named += probability_columns(system.probability)
        named += [*pool.magnitudes.values(), pool.cluster, *pool.features, *self.strata.columns]
        named += [*pool.slices, *self.named_slices]
        named += [] if self.labels.at_hand is None else self.labels.at_hand.columns
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def all_columns(self) -> tuple[str, ...]:
        """`columns`, and the payload, which is read only of the rows that are kept."""
        return tuple(dict.fromkeys((*self.columns, *self.pool.payload)))

    @functools.cached_property
    def thresholds(self) -> tuple[float, ...]:
        """The numbers that scores are compared with, ascending, each once."""
        of_systems = (system.threshold for system in self.pool.systems)
        listed = (number for measure in self.measures for number in measure.thresholds)
        return tuple(sorted({float(t) for t in (*of_systems, *listed) if t is not None}))

    @functools.cached_property
    def named_slices(self) -> Where:
        """Values of columns that measures and strata name: cells tell their rows apart."""
        of_measures = (where for measure in self.measures for where in measure.slices)
        return all_named([self.strata.slices, *of_measures])


@dataclasses.dataclass(frozen=True)
class LabellingPlan:
    """What annotators are asked, and how answers come back; nothing of rounds or estimates."""

    pool: PoolSpec  # columns of ids and payload
    labels: LabelsSpec  # what labels there are, and how many answers a row gets
    sink: SinkSpec  # how batches are sent out
    by_cluster: bool = False  # whether rows of one cluster stand together in a batch


@dataclasses.dataclass(frozen=True)
class AnalysisPlan:
    """How rounds are drawn and estimates made; nothing of batches, gates or the workspace."""

    reading: ReadingPlan  # what is read of the pool: its labels, systems and measures
    sampler: SamplerSpec  # by which rounds are drawn
    budget: Budget  # of labels and of money
    round_size: RoundSize  # new rows of each round
    confidence: float  # level of the intervals, in (0, 1)
    hidden: HiddenPrior  # prior of the positives that scores do not reveal
    stop: StopSpec  # when no further round is drawn, though the budget is not spent

    @property
    def promise(self) -> Promise | None:
        """The promise to certify; None without a promise."""
        listed = self.reading.measures
        return next((each.parameters["promise"] for each in listed if each.name == CERTIFY), None)

    @property
    def label_prior(self) -> HiddenPrior | None:
        """Prior of hidden positives for model-based intervals; None where rows have no classes."""
        return self.hidden if self.reading.has_classes else None
