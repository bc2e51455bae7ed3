"""The precision at every rank of the list, as the queries so far bound it, and what follows."""

import dataclasses
from collections.abc import Mapping, Sequence

from evalsampling.errors import InputError
from evalsampling.inference.precision_curve import Bounded
from evalsampling.workspace.snapshot import Snapshot


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
class RankPoint:
    """Measures by name if rows up to a rank, of scores from a threshold on, are called positive."""

    rank: int
    threshold: float
    measures: Mapping[str, Bounds]


@dataclasses.dataclass(frozen=True)
class RankCurve:
    """The points of a ranked list from the first rank down, and its average precision."""

    average_precision: Bounds
    points: tuple[RankPoint, ...]


def curve_of(snapshot: Snapshot, at: Sequence[int] = ()) -> RankCurve | None:
    """Return the curve of a sampler that queries ranks; None of others, and without labels."""
    curve = snapshot.analysis.curve
    if curve is None:
        if at:
            raise InputError(
                f"{snapshot.pool.workspace.path}: no curve: that takes the sampler adastrat or "
                f"logstrat (here: {snapshot.pool.spec.sampler.name}), and labels of its first round"
            )
        return None
    measures = curve.measures
    wanted = at or curve.ranked.rank.tolist()
    places = dict.fromkeys(curve.ranked.at_rank(rank) for rank in wanted)
    return RankCurve(
        average_precision=Bounds.at(curve.average_precision(), 0),
        points=tuple(
            RankPoint(
                rank=int(curve.ranked.rank[place]),
                threshold=float(curve.ranked.threshold[place]),
                measures={name: Bounds.at(measure, place) for name, measure in measures.items()},
            )
            for place in places
        ),
    )
