"""The section ``pool`` of a spec: where the rows are, and their columns."""

import dataclasses
import decimal
import functools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import CONFIDENCE
from evalsampling.spec.id_columns import IdColumns, columns_of, read_id, sides_of
from evalsampling.spec.labels import LabelsSpec, of_systems
from evalsampling.spec.sections import Section, absolute, given
from evalsampling.spec.sink import EVERY_BATCH, ID, check_id_columns
from evalsampling.spec.strata import StrataSpec
from evalsampling.spec.systems import (
    Probability,
    SystemSpec,
    prediction_mapping,
    probability_mapping,
    read_probability,
    read_rankers,
    read_score_is,
    read_system,
    read_systems,
    system_mapping,
)
from evalsampling.spec.tables import TableSpec, read_table
from evalsampling.spec.values import Text
from evalsampling.spec.where import AllOf, AnyOf, Condition, IsNull, Relation, read_where

KEYS = (
    "path", "id", "score", "prediction", "probability", "payload", "scorer", "systems", "slices",
    "features", "variance", "lists", "cost", "weight", "logits", "table", "where",
    "score_is", "pairs", "cluster",
)  # fmt: skip
"""Keys of the section ``pool``."""


@dataclasses.dataclass(frozen=True)
class Mask:
    """How annotators see a payload column that is not shown as it is."""

    how: str  # ``redact``, ``hash`` or ``truncate``
    characters: int = 0  # length to which texts are truncated


class ListsSpec(msgspec.Struct, frozen=True):
    """The section ``pool.lists``: the columns of a query that all systems share."""

    items: Text  # column with the list of the items' ids, all different within a query


@dataclasses.dataclass(frozen=True)
class PoolSpec:
    """Where the pool is and what its columns mean."""

    # absolute path or pattern of its files, of this machine or one of `READ_FROM`; of a table its
    # name
    path: str
    # column that identifies each row: integers or strings, all different; or columns that do so
    # together, as those of the two records of a pair
    id: IdColumns
    # numeric column that drives the strata, finite; None if features do. Where labels are numbers a
    # spec names the column `variance` in its place.
    score: str | None = None
    # the prior: a column of the probability of the positive class, or a column for each class,
    # `Logits` of the classes, or None to take it from the score
    probability: Probability = None
    systems: tuple[SystemSpec, ...] = (SystemSpec(),)  # the systems under evaluation, at least one
    slices: tuple[str, ...] = ()  # columns for whose values results are reported separately
    features: tuple[str, ...] = ()  # numeric columns, for strata without a score
    payload: tuple[str, ...] = ()  # columns shown to annotators
    # ``module:function`` that adds columns to Arrow record batches, if any
    scorer: str | None = None
    directory: str = ""  # searched first for modules that the spec names: the directory of the spec
    # how payload columns are shown, by column; those not here are shown as they are
    masks: Mapping[str, Mask] = dataclasses.field(default_factory=dict)
    # columns of rows that are queries; None for other pools. For queries, a system's score is a
    # list with a number for every item; its probability a list of lists, one for every grade; and
    # it has no prediction.
    lists: ListsSpec | None = None
    # numeric column of the cost of a label, above 0; None if all labels cost the same
    cost: str | None = None
    # numeric column of how much a row counts, at least 0; None if all count the same
    weight: str | None = None
    # column whose value rows of one cluster share, integers or strings; None if each row is by
    # itself
    cluster: str | None = None
    table: TableSpec | None = None  # that has the rows; None if files have
    # condition in SQL that rows must satisfy, None for all: see `spec.where`
    where: str | None = None
    score_is: str | None = None  # what `score` is, see `SystemSpec`; None to find out
    # ``unordered`` if the order of two records says nothing, so that of a pair in both orders one
    # row is of the pool; else None
    pairs: str | None = None
    # whether nothing names the score, so that where the pool has no such column, strata may be what
    # the system predicts: see `pool.catalog`
    assumes_score: bool = dataclasses.field(default=False, compare=False)

    @property
    def scored(self) -> tuple["PoolSpec | SystemSpec", ...]:
        """The holders of scores: each system, then the pool, whose score drives the strata."""
        return (*self.systems, self)

    @property
    def magnitudes(self) -> dict[str, str]:
        """The columns of costs and weights, by these names: see `stats.magnitudes`."""
        return given({"cost": self.cost, "weight": self.weight})

    def at_version(self, version: Any) -> "PoolSpec":
        """Return the pool with its table pinned at a version."""
        assert self.table is not None
        return dataclasses.replace(self, table=dataclasses.replace(self.table, pinned=version))

    @functools.cached_property
    def condition(self) -> Condition | None:
        """The condition that rows must satisfy, None for all: a weight of 0 leaves a row out."""
        parts = [] if self.where is None else [read_where(self.where)]
        if self.weight is not None:
            counts = Relation(self.weight, "!=", decimal.Decimal(0))
            parts.append(AnyOf((IsNull(self.weight), counts)))  # A null is refused as a weight.
        return AllOf(tuple(parts)) if len(parts) > 1 else parts[0] if parts else None

    @property
    def selection(self) -> dict[str, Any]:
        """Which rows there are, beside files: table, its version once it is pinned, and ``where``.

        Empty if all rows of the files of `path` are the pool.
        """
        table = self.table
        of_table = {} if table is None else {"table": table.named, "version": table.pinned}
        return given({"where": self.where, **of_table})

    @property
    def mistaken_ids(self) -> Sequence[str]:
        """Payload columns that a delivery would mistake for the ids of its rows."""
        as_they_are = {*columns_of(self.id)} - {*self.masks}
        names = {ID, self.id} if isinstance(self.id, str) else {*self.id}
        return [name for name in self.payload if name in names - as_they_are]


def read_pool(
    section: Section, labels: LabelsSpec, directory: str, strata: StrataSpec, may_lack_score: bool
) -> PoolSpec:
    """Return the section ``pool``, checked."""
    section.check_keys(*KEYS, below={"pool.prediction": ["threshold"]})
    table = read_table(section.section("table"), directory) if section.get("table") else None
    if table is not None:
        section.refuse(["path"], "a pool has a path or a table, not both")
        path = table.name
    else:
        path = str(absolute("pool.path", section.text("path", required=True), directory))
    where = section.text("where")
    if where is not None and not section.is_stored:
        read_where(where)
    scorer = section.text("scorer")
    if scorer is not None and len([p for p in scorer.split(":") if p]) != 2:
        raise InputError(f"pool.scorer: must be module:function, got {scorer!r}")
    payload, masks = read_payload(section)
    for column in payload:
        if column in EVERY_BATCH:
            raise InputError(f"pool.payload: {column} is a column of every batch, rename it")
    lists = _read_lists(section)
    id = read_id(section, lists is not None)
    check_id_columns(id)
    pairs = section.value("pairs", Literal["unordered"])
    if pairs is not None and sides_of(id) is None:
        raise InputError(
            "pool.pairs: unordered needs an id of both records, whose columns are called alike but "
            "for their sides, as id: [unique_id_l, unique_id_r]"
        )
    cluster = section.text("cluster")
    if cluster is not None and labels.oracle == "stochastic":
        raise InputError("pool.cluster: takes labels.oracle: deterministic, one label a row")
    made = functools.partial(
        PoolSpec,
        path=path,
        id=id,
        slices=section.columns("slices"),
        directory=directory,
        masks=masks,
        lists=lists,
        cost=section.text("cost"),
        weight=section.text("weight"),
        cluster=cluster,
        table=table,
        where=where,
        pairs=pairs,
    )
    if lists is not None:
        return made(systems=read_rankers(section.section("systems")), payload=payload)
    score = labels.space.score(section, not strata.by_score)
    if section.get("systems") is None:
        score = score or "score" if strata.by_score else score
        systems: tuple[SystemSpec, ...]
        systems = (read_system(section, None, labels, score, "prediction"),)
        probability, score_is = systems[0].probability, systems[0].score_is
    else:
        section.refuse(["prediction"], "with systems, each has a prediction of its own")
        probability = read_probability(section, labels)
        systems = read_systems(section.section("systems"), labels)
        probability = probability or systems[0].probability
        if strata.by_score and score is None and not any(system.score for system in systems):
            systems = tuple(map(_by_probability, systems))
        has_score = of_systems(labels.space, len(systems)).has_score
        scored = (system.score for system in systems if system.score is not None)
        score = score or (next(scored, None) if has_score else None)
        if score is None and has_score and strata.by_score:
            raise InputError(
                "pool.score: missing, and no system has a score either: name one, or cut strata "
                "from columns by strata.method: kd and pool.features, or from what systems predict "
                "by strata.method: predictions"
            )
        score_is = read_score_is(section, labels, score)
        if score is not None and score == systems[0].score:
            score_is = score_is or systems[0].score_is
        own = [system.score for system in systems if system.score_is == CONFIDENCE]
        if score_is == CONFIDENCE and score not in own:
            raise InputError("pool.score_is: say of a system that its score is a confidence")
    features = section.columns("features")
    if strata.by_features and not features and not labels.space.tagged:
        raise InputError("pool.features: missing, strata.method kd is cut from features")
    if labels.space.needs_columns and probability is None and strata.by_score:
        raise InputError(
            f"pool.probability: with {labels.space.size}, name a column for each "
            "(probability: {class: column, ...}), or for its logit (logits: {...}). If the score "
            "is that of the class predicted, say pool.score_is: confidence; if there are none, "
            "strata.method: predictions evaluates by what is predicted alone"
        )
    return made(
        score=score,
        probability=probability,
        systems=systems,
        features=features,
        payload=payload,
        scorer=scorer,
        score_is=score_is,
        assumes_score=may_lack_score and scorer is None,
    )


def _by_probability(system: SystemSpec) -> SystemSpec:
    """Return a system with the probability of the positive class for its score, if it has one."""
    stand_in = system.probability
    return dataclasses.replace(system, score=stand_in) if isinstance(stand_in, str) else system


def read_payload(section: Section) -> tuple[tuple[str, ...], dict[str, Mask]]:
    """Return the payload columns and how they are shown: ``[name, {email: hash}]``."""
    listed = section.get("payload", [])
    names: list[Any] = []
    masks: dict[str, Mask] = {}
    for item in listed if isinstance(listed, list) else [listed]:
        if not isinstance(item, Mapping):
            names.append(item)
            continue
        if len(item) != 1:
            raise InputError(f"pool.payload: must be a column and how it is shown, got {item!r}")
        ((name, how),) = item.items()
        names.append(name)
        masks[str(name)] = _mask(str(name), how)
    plain = Section(section.name, {"payload": names if isinstance(listed, list) else listed})
    return plain.columns("payload"), masks


def _mask(column: str, how: Any) -> Mask:
    if isinstance(how, Mapping):
        own = Section(f"pool.payload.{column}", how)
        own.check_keys("truncate")
        return Mask("truncate", own.integer("truncate", 0, least=1))
    if how not in ("redact", "hash"):
        raise InputError(
            f"pool.payload.{column}: must be redact, hash or {{truncate: characters}}, got {how!r}"
        )
    return Mask(str(how))


def shown_mapping(name: str, mask: Mask | None) -> Any:
    """Return the entry of a column under the key ``payload``."""
    if mask is None:
        return name
    return {name: {"truncate": mask.characters} if mask.how == "truncate" else mask.how}


def _read_lists(pool: Section) -> ListsSpec | None:
    """Return the section ``pool.lists``, checked; None if rows are no queries."""
    if pool.get("lists") is None:
        return None
    for_rows = ("score", "score_is", "prediction", "probability", "logits", "features", "variance")
    others = ("scorer", "weight", "cluster")
    pool.refuse((*for_rows, *others), "with pool.lists, rows are queries and have none")
    if pool.get("systems") is None:
        raise InputError("pool.systems: missing, with pool.lists the rankers are named there")
    return pool.section("lists").read(ListsSpec)


def pool_mapping(pool: PoolSpec, labels: LabelsSpec) -> dict[str, Any]:
    """Return the section ``pool`` with every default filled in."""
    lists, score_key, first = pool.lists, labels.space.in_spec.score, pool.systems[0]
    place = {"path": pool.path} if pool.table is None else {"table": pool.table.to_mapping()}
    is_single = first.name is None
    systems = {system.name: system_mapping(system, labels) for system in pool.systems}
    return given(
        {
            **place,
            "id": pool.id if isinstance(pool.id, str) else list(pool.id),
            "where": pool.where,
            "pairs": pool.pairs,
            "lists": None if lists is None else msgspec.to_builtins(lists),
            score_key: pool.score if is_single or score_key == "score" else None,
            "score_is": pool.score_is,
            "prediction": prediction_mapping(first) if is_single else None,
            "systems": None if is_single else systems,
            **probability_mapping(pool.probability, labels),
            "slices": list(pool.slices) or None,
            "features": list(pool.features) or None,
            **pool.magnitudes,
            "cluster": pool.cluster,
            "payload": [shown_mapping(name, pool.masks.get(name)) for name in pool.payload],
            "scorer": pool.scorer,
        }
    )
