"""The precision at every rank of the list, as the queries so far bound it, and what follows."""

import dataclasses
from collections.abc import Mapping

from evalsampling.commands.options import WorkspaceOptions, numbers
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.inference.precision_curve import Bounded, Guarantee
from evalsampling.workspace.snapshot import Snapshot


@dataclasses.dataclass(frozen=True)
class CurveOptions(WorkspaceOptions):
    """What a call of `curve` asks for."""

    at: tuple[int, ...] | None = numbers("ranks (default: all that the cells distinguish)")


@dataclasses.dataclass(frozen=True)
class Bounds:
    """A number with bounds that hold together with those of all others; None where undefined."""

    value: float
    low: float
    high: float

    @classmethod
    def at(cls, measure: Bounded, place: int) -> "Bounds":
        """Return the bounds of one group."""
        return cls(
            float(measure.value[place]), float(measure.low[place]), float(measure.high[place])
        )


@dataclasses.dataclass(frozen=True)
class CurvePoint:
    """Measures of the rows ranked first, were they called positive.

    Attributes:
        rank: how many they are.
        threshold: what their scores are at least.
        measures: by name: ``precision``, ``recall``, ``f1``, ...
    """

    rank: int
    threshold: float
    measures: Mapping[str, Bounds]


@dataclasses.dataclass(frozen=True)
class CurveResult(Result):
    """The curve.

    Attributes:
        guarantee: how far it is to be trusted.
        average_precision: of the whole list.
        points: from the first rank down.
    """

    guarantee: Guarantee
    average_precision: Bounds
    points: tuple[CurvePoint, ...]


def curve(options: CurveOptions) -> CurveResult:
    """Return the curve of a workspace whose sampler queries ranks.

    Raises:
        InputError: if the workspace is not prepared, its sampler gives no curve, or there are not
            labels enough for one; or if a file of it cannot be read.
    """
    snapshot = Snapshot.at(options.workspace)
    curve = snapshot.analysis.curve
    if curve is None:
        raise InputError(
            f"{options.workspace}: no curve: that takes the sampler adastrat or logstrat (here: "
            f"{snapshot.pool.spec.sampler.name}), and labels of its first round"
        )
    measures = curve.measures
    wanted = options.at or curve.ranked.rank.tolist()
    places = dict.fromkeys(curve.ranked.at_rank(rank) for rank in wanted)
    return CurveResult(
        guarantee=curve.guarantee,
        average_precision=Bounds.at(curve.average_precision(), 0),
        points=tuple(
            CurvePoint(
                rank=int(curve.ranked.rank[place]),
                threshold=float(curve.ranked.threshold[place]),
                measures={name: Bounds.at(measure, place) for name, measure in measures.items()},
            )
            for place in places
        ),
    )
