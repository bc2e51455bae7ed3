"""The section ``strata`` of a spec: how the pool is cut into leaves."""

import itertools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.spec.sections import Section, given
from evalsampling.spec.slices import Where, read_slices, where_mapping
from evalsampling.spec.values import Columns, Count, Numbers

CUT_METHODS = {
    "csf": "evalsampling.stats.strata:CSF",
    "geometric": "evalsampling.stats.strata:GEOMETRIC",
    "equal_width": "evalsampling.stats.strata:EQUAL_WIDTH",
    "equal_count": "evalsampling.stats.strata:EQUAL_COUNT",
    "log_rank": "evalsampling.stats.strata:LOG_RANK",
    "logit_rank": "evalsampling.stats.strata:LOGIT_RANK",
    "agglomerative": "evalsampling.stats.score_clusters:AGGLOMERATIVE",
    "divisive": "evalsampling.stats.score_clusters:DIVISIVE",
}
"""Ways to cut strata from scores: ``module:object`` of each by its name."""

KD = "kd"
"""Strata that a k-d tree cuts from features."""

BY_RANK = "logit_rank"
"""Strata of which only the order of the scores matters."""

PREDICTIONS = "predictions"
"""Strata that are the combinations of what systems predict, where no score tells rows apart."""

HIERARCHICAL = (KD, "agglomerative", "divisive")
"""Our ways to cut strata that make a hierarchy of them."""


class StrataSpec(msgspec.Struct, frozen=True):
    """How the pool is cut into leaves and the leaves into a tree."""

    # name in `CUT_METHODS`, ``module:object``, ``kd`` for a k-d tree over features, or
    # ``predictions``
    method: str = "csf"
    leaves: Count = 256  # most leaves wanted
    # children of a node of the tree
    branching: Annotated[int, Meta(ge=2, description="a whole number of at least 2")] = 2
    # explicit interior edges, strictly increasing, or None to compute them
    edges: Numbers | None = None
    # columns of the pool whose values are the leaves, coarse to fine; none to cut them
    columns: Columns = ()
    # the tree over the leaves: ``even`` by their order alone, or the ``own`` one of the method or
    # the columns; None for that of the columns if there are any
    hierarchy: Literal["even", "own"] | None = None
    # values of columns whose rows have cells of their own, besides those of measures
    slices: Where = {}

    @property
    def by_score(self) -> bool:
        """Whether leaves are cut from the score, which is needed then."""
        return not (self.by_features or self.by_predictions or self.columns)

    @property
    def by_predictions(self) -> bool:
        """Whether the leaves are the systems' predictions, so that no score is needed."""
        return self.method == PREDICTIONS and not self.columns

    @property
    def has_own_hierarchy(self) -> bool:
        """Whether the tree over the leaves comes from the method or the columns."""
        return self.hierarchy == "own" or (self.hierarchy is None and bool(self.columns))

    @property
    def by_features(self) -> bool:
        """Whether the leaves are cut from features, so that no score is needed."""
        return self.method == KD and self.edges is None and not self.columns


def read_strata(top: Section, space: LabelSpace) -> StrataSpec:
    """Return the section ``strata``, checked."""
    section, scored = top.section("strata"), top.section("pool").get("score") is not None
    for key in ("columns", "method", "edges") if space.has_items else ():
        if section.get(key) not in (None, KD):
            raise InputError(
                f"strata.{key}: with pool.lists, strata are cut from expected gains by a k-d tree"
            )
    if section.get("columns") is not None:
        section.refuse(("method", "edges"), "with strata.columns, these are the strata")
        if not all(section.columns("columns") or [""]):
            raise InputError("strata.columns: must be a list of columns, coarse to fine")
    if section.get("method") == PREDICTIONS:
        section.refuse(["edges"], "are of a score, and strata.method is predictions")
    slices = read_slices("strata.slices", section.get("slices"))
    usual = KD if space.has_items or (space.tagged and not scored) else "csf"
    usual = PREDICTIONS if are_verdicts(top, space) else usual
    method = section.part("method", [KD, PREDICTIONS, *CUT_METHODS], usual)
    own = Section(section.name, {**section.content, "slices": slices, "method": method})
    strata = own.read(StrataSpec)
    if strata.edges and any(a >= b for a, b in itertools.pairwise(strata.edges)):
        raise InputError("strata.edges: must be strictly increasing")
    without = strata.edges or strata.method in {*CUT_METHODS, PREDICTIONS} - {*HIERARCHICAL}
    if strata.hierarchy == "own" and without and not strata.columns:
        cut = "edges" if strata.edges else f"method {strata.method}"
        raise InputError(
            f"strata.hierarchy: strata.{cut} makes no hierarchy of its own; "
            f"{', '.join(HIERARCHICAL)} do, and so do strata.columns"
        )
    return strata


def are_verdicts(top: Section, space: LabelSpace) -> bool | None:
    """Tell whether leaves are the systems' predictions, as nothing else is named to cut them from.

    None if they are where the pool has no column of scores. None is assumed of several systems, nor
    where one number does not say which class is likely.
    """
    pool, own = top.section("pool"), top.section("strata")
    scores = ("score", "score_is", "probability", "logits")
    named = any(own.get(key) for key in ("method", "edges", "hierarchy", "columns"))
    named |= any(pool.get(key) for key in (*scores, "features", "lists"))
    prediction, systems = pool.get("prediction"), pool.section("systems").content.values()
    named |= isinstance(prediction, Mapping) and "threshold" in prediction
    named |= any(each.get(key) for each in systems if isinstance(each, Mapping) for key in scores)
    if named or space.tagged or not space.has_classes:
        return False
    return None if pool.get("systems") is None and not space.needs_columns else True


def strata_mapping(strata: StrataSpec) -> dict[str, Any]:
    """Return the section ``strata``, as `read_strata` takes it; most keys only if they matter."""
    keys = {
        "method": None if strata.columns else strata.method,
        "columns": list(strata.columns) or None,
        "slices": where_mapping(strata.slices) or None,
    }
    return given(msgspec.to_builtins(strata) | keys)
