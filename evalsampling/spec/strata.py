"""The sections ``strata`` and ``partition`` of a spec: how the pool is cut into leaves."""

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.parts.registry import Registry
from evalsampling.spec.sections import Section, given
from evalsampling.spec.slices import Where, read_slices, where_mapping

CUT_METHODS: Registry[Any] = Registry(
    "cut_methods",
    {
        "csf": "evalsampling.stats.strata:CSF",
        "geometric": "evalsampling.stats.strata:GEOMETRIC",
        "equal_width": "evalsampling.stats.strata:EQUAL_WIDTH",
        "equal_count": "evalsampling.stats.strata:EQUAL_COUNT",
        "log_rank": "evalsampling.stats.strata:LOG_RANK",
        "logit_rank": "evalsampling.stats.strata:LOGIT_RANK",
        "agglomerative": "evalsampling.stats.score_clusters:AGGLOMERATIVE",
        "divisive": "evalsampling.stats.score_clusters:DIVISIVE",
    },
    "evalsampling.stats.strata:CutMethod",
)
"""Ways to cut strata from scores, by name."""

KD = "kd"
"""Strata that a k-d tree cuts from features."""

BY_RANK = "logit_rank"
"""Strata of which only the order of the scores matters."""

PREDICTIONS = "predictions"
"""Strata that are the combinations of what systems predict, where no score tells rows apart."""

HIERARCHICAL = (KD, "agglomerative", "divisive")
"""Our ways to cut strata that make a hierarchy of them."""

HIERARCHIES = ("even", "own")
"""Trees over the leaves: by their order alone, or that of the method or the columns."""


@dataclasses.dataclass(frozen=True)
class StrataSpec:
    """How the pool is cut into leaves and the leaves into a tree.

    Attributes:
        method: name in `CUT_METHODS`, ``module:object``, ``kd`` for a k-d tree over
            features, or ``predictions``.
        leaves: most leaves wanted.
        branching: children of a node of the tree.
        edges: explicit interior edges, strictly increasing, or None to compute them.
        columns: columns of the pool whose values are the leaves, coarse to fine; none to cut them.
        hierarchy: one of `HIERARCHIES`.
        slices: values of columns whose rows have cells of their own, besides those of measures.
    """

    method: str
    leaves: int
    branching: int
    edges: tuple[float, ...] | None
    columns: tuple[str, ...] = ()
    hierarchy: str = HIERARCHIES[0]
    slices: Where = dataclasses.field(default_factory=dict)

    @property
    def by_score(self) -> bool:
        """Whether leaves are cut from the score, which is needed then."""
        return not (self.by_features or self.by_predictions or self.columns)

    @property
    def by_predictions(self) -> bool:
        """Whether the leaves are what systems predict, so that no score is needed."""
        return self.method == PREDICTIONS and not self.columns

    @property
    def has_own_hierarchy(self) -> bool:
        """Whether the tree over the leaves is that of the method or the columns."""
        return self.hierarchy != HIERARCHIES[0]

    @property
    def by_features(self) -> bool:
        """Whether the leaves are cut from features, so that no score is needed."""
        return self.method == KD and self.edges is None and not self.columns


def read_strata(top: Section, by_numbers: bool = False) -> StrataSpec:
    """Return the sections ``strata`` and ``partition``, checked."""
    section, columns = top.section("strata"), _columns(top)
    section.check_keys("method", "leaves", "branching", "edges", "hierarchy", "slices")
    if columns:
        section.refuse(("method", "edges"), "with a partition, its columns are the strata")
    edges = None if section.get("edges") is None else section.numbers("edges")
    if edges is not None and any(a >= b for a, b in itertools.pairwise(edges)):
        raise InputError("strata.edges: must be strictly increasing")
    if section.get("method") == PREDICTIONS:
        section.refuse(["edges"], "are of a score, and strata.method is predictions")
    strata = StrataSpec(
        method=section.part("method", CUT_METHODS, KD if by_numbers else "csf", [KD, PREDICTIONS]),
        leaves=section.integer("leaves", 256, least=1),
        branching=section.integer("branching", 2, least=2),
        edges=edges,
        columns=columns,
        hierarchy=section.choice("hierarchy", HIERARCHIES, HIERARCHIES[bool(columns)]),
        slices=read_slices("strata.slices", section.get("slices")),
    )
    _check_hierarchy(strata)
    return strata


def _columns(top: Section) -> tuple[str, ...]:
    """Return the columns of ``partition``, coarse to fine; none if there is no such section."""
    if top.get("partition") is None:
        return ()
    section = top.section("partition")
    section.check_keys("column")
    named = section.get("column")
    columns = (named,) if isinstance(named, str) else section.columns("column")
    if not columns or "" in columns:
        raise InputError("partition.column: must be a column, or a list of columns, coarse to fine")
    return columns


def _check_hierarchy(strata: StrataSpec) -> None:
    """Raise an error if strata have no such hierarchy."""
    ours = {*CUT_METHODS.own, PREDICTIONS}
    without = strata.method in ours and strata.method not in HIERARCHICAL
    if not strata.has_own_hierarchy or strata.columns or not (strata.edges or without):
        return
    cut = "edges" if strata.edges else f"method {strata.method}"
    raise InputError(
        f"strata.hierarchy: strata.{cut} makes no hierarchy of its own; {', '.join(HIERARCHICAL)} "
        "do, and so do the columns of a partition"
    )


def by_rank(strata: StrataSpec) -> StrataSpec:
    """Return the strata of scores of which only the order matters, if they are cut from a score."""
    return dataclasses.replace(strata, method=BY_RANK) if strata.by_score else strata


def of_verdicts(strata: StrataSpec) -> StrataSpec:
    """Return the strata of systems that have verdicts and no scores: what they predict."""
    return dataclasses.replace(strata, method=PREDICTIONS)


def may_be_of_verdicts(top: Section, space: LabelSpace) -> bool:
    """Tell whether a spec says nothing of how strata are cut, nor of what they could be cut from.

    Then they are what systems predict, if these have no scores.
    """
    pool, own = top.section("pool"), top.section("strata")
    cut = top.get("partition") or any(own.get(key) for key in ("method", "edges", "hierarchy"))
    named = any(pool.get(key) for key in ("score", "probability", "logits", "features", "lists"))
    by_threshold = (
        isinstance(pool.get("prediction"), Mapping) and "threshold" in pool.content["prediction"]
    )
    named |= by_threshold
    return space.has_classes and not (space.tagged or cut or named)


def of_moments(strata: StrataSpec, section: Section) -> StrataSpec:
    """Return the strata of queries, which are cut from moments of their gains."""
    keys = ["partition"] if strata.columns else []
    keys += [f"strata.{key}" for key in ("method", "edges") if section.get(key) not in (None, KD)]
    if keys:
        raise InputError(
            f"{keys[0]}: with pool.lists, strata are cut from expected gains by a k-d tree"
        )
    return dataclasses.replace(strata, method=KD)


def strata_mapping(strata: StrataSpec) -> dict[str, Any]:
    """Return the sections ``strata`` and, if there is one, ``partition``, as `read_strata` takes.

    Most keys are there only if they say something.
    """
    columns, usual = list(strata.columns), HIERARCHIES[bool(strata.columns)]
    keys = {
        "method": None if columns else strata.method,
        "leaves": strata.leaves,
        "branching": strata.branching,
        "edges": list(strata.edges or ()) or None,
        "hierarchy": None if strata.hierarchy == usual else strata.hierarchy,
        "slices": where_mapping(strata.slices) or None,
    }
    return {"strata": given(keys)} | ({"partition": {"column": columns}} if columns else {})
