"""One evaluation as its spec file describes it."""

import dataclasses
import functools
import math
from pathlib import Path
from typing import Any

import msgspec

from evalsampling.errors import InputError
from evalsampling.spec.budget import Budget
from evalsampling.spec.gates import GatesSpec
from evalsampling.spec.hidden import MOST_CLASSES, HiddenPrior, read_hidden
from evalsampling.spec.labels import KEYS as LABELS_KEYS
from evalsampling.spec.labels import LabelsSpec, labels_mapping, of_systems, read_labels
from evalsampling.spec.labels_at_hand import CLUSTERS, WITHIN
from evalsampling.spec.measures import CERTIFY, MeasureSpec
from evalsampling.spec.plans import AnalysisPlan, LabellingPlan, ReadingPlan
from evalsampling.spec.pool import KEYS as POOL_KEYS
from evalsampling.spec.pool import PoolSpec, pool_mapping, read_pool
from evalsampling.spec.rounds import CURVES, RoundSize, SamplerSpec, StopSpec, read_sampler
from evalsampling.spec.sections import Section, absolute, used
from evalsampling.spec.sink import SinkSpec
from evalsampling.spec.strata import (
    BY_RANK,
    PREDICTIONS,
    StrataSpec,
    are_verdicts,
    read_strata,
    strata_mapping,
)
from evalsampling.spec.strict_yaml import load_strictly
from evalsampling.spec.values import Fraction
from evalsampling.storage import folder_of, is_url, read_file

MAX_CELLS = 4096
"""Most cells a pool is cut into."""


@dataclasses.dataclass(frozen=True)
class EvaluationSpec:
    """The content of a spec file, with defaults filled in."""

    pool: PoolSpec  # the rows
    labels: LabelsSpec  # the classes
    measures: tuple[MeasureSpec, ...]  # the first drives the sampling, all are reported
    strata: StrataSpec  # leaves and tree
    sampler: SamplerSpec  # the sampler
    # most distinct rows to label in all, with a stochastic oracle tasks; or the greatest total cost
    # of labels, in the unit of ``pool.cost``; or both
    budget: Budget
    round_size: RoundSize  # new rows sent to annotators in a round
    confidence: float  # level of the intervals, in (0, 1)
    seed: int  # in [0, 2^64)
    sink: SinkSpec  # how batches are sent out
    workspace: str | None  # absolute path of the workspace, or None
    # prior of the positives that scores do not reveal, for model-based intervals
    hidden: HiddenPrior = HiddenPrior()
    stop: StopSpec = StopSpec()  # when no further round is drawn, though the budget is not spent
    # least and greatest values that numbers must have, for a job to go on
    gates: GatesSpec = GatesSpec()

    @classmethod
    def load(cls, path: str | Path) -> "EvaluationSpec":
        """Return the spec in a YAML file; relative paths in it resolve against its directory.

        Names of measures and samplers, and their parameters, are checked where these are built:
        `evaluation.specs.load_spec` checks them too.

        Args:
            path: path of the file, or its URL in a store.

        Raises:
            InputError: naming the file and the key that is wrong.
        """
        if not is_url(path) and Path(path).is_dir():
            raise InputError(f"{path}: is a folder; give the spec, such as evaluation.yaml")
        content = read_file(str(path))
        try:
            return cls.from_mapping(load_strictly(content), folder_of(path))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def from_mapping(
        cls, content: Any, directory: str | Path, is_stored: bool = False
    ) -> "EvaluationSpec":
        """Return the spec with the content of a spec file, with the checks of `load`.

        Relative paths resolve against the directory or URL. The parts that a spec names which
        ``is_stored`` in a workspace need not be installed: an error comes where one is used.
        """
        top = Section("", content, is_stored)
        top.check_keys(
            "pool", "labels", "measure", "strata", "sampler", "budget", "round_size",
            "confidence", "hidden", "seed", "sink", "stop", "gates", "workspace",
            below={"pool": POOL_KEYS, "labels": LABELS_KEYS, "sampler": ("model",)},
        )  # fmt: skip
        section = top.section("pool", required=True)
        of_items = section.get("lists") is not None
        labels = read_labels(top.section("labels"), str(directory), of_items)
        strata = read_strata(top, labels.space)
        may_lack_score = are_verdicts(top, labels.space) is None
        pool = read_pool(section, labels, str(directory), strata, may_lack_score)
        labels = dataclasses.replace(labels, space=of_systems(labels.space, len(pool.systems)))
        at_hand = labels.at_hand
        if at_hand is not None and at_hand.drawn == WITHIN and at_hand.source not in pool.slices:
            # The rows of each value are counted as those of slices are.
            pool = dataclasses.replace(pool, slices=(*pool.slices, str(at_hand.source)))
        chosen = top.get("measure", labels.space.in_spec.measure)
        listed = chosen if isinstance(chosen, list) else [chosen]
        if not listed:
            raise InputError("measure: the list is empty")
        sampler = read_sampler(top, pool, labels, strata, listed[0])
        if sampler.name in CURVES and strata.by_score and not top.section("strata").get("method"):
            strata = msgspec.structs.replace(strata, method=BY_RANK)
        spec = cls(
            pool=pool,
            labels=labels,
            measures=tuple(MeasureSpec.parse(item) for item in listed),
            strata=strata,
            sampler=sampler,
            budget=Budget.read(top),
            round_size=RoundSize.read(top),
            confidence=top.value("confidence", Fraction, 0.95),
            hidden=read_hidden(top.section("hidden")),
            stop=top.section("stop").read(StopSpec),
            gates=top.section("gates").read(GatesSpec),
            seed=top.integer("seed", 0, least=0),
            sink=SinkSpec.read(top.section("sink"), pool.payload, pool.mistaken_ids, pool.id),
            workspace=absolute("workspace", top.text("workspace"), str(directory), ["gs"]),
        )
        spec._check()
        return spec

    def _check(self) -> None:
        """Check that the sections of the spec go together."""
        if self.budget.money is not None and self.pool.cost is None:
            raise InputError("budget.cost: name the column of what labels cost, pool.cost")
        if self.pool.weight is None and any(measure.is_by_rows for measure in self.measures):
            raise InputError("measure.by: rows all count the same without pool.weight")
        if sum(measure.name == CERTIFY for measure in self.measures) > 1:
            raise InputError("measure.certify: is there twice: a spec has one promise")
        promise = self.analysis.promise
        if promise is not None and promise.each not in (None, *self.pool.slices):
            raise InputError(f"measure.each: {promise.each}: none of pool.slices")
        if self.seed >= 1 << 64:
            raise InputError(f"seed: must be below 2^64, got {self.seed}")
        at_hand = self.labels.at_hand
        if at_hand is not None and self.sampler.name not in CURVES:
            raise InputError(
                "labels.column: goes with the sampler calibrated, for one of at most "
                f"{MOST_CLASSES} classes a row, not {self.sampler.name}"
            )
        if at_hand is not None and at_hand.drawn == CLUSTERS and self.pool.cluster is None:
            raise InputError(
                "labels.drawn: clusters: name the column that their rows share, pool.cluster"
            )
        if math.prod(self.reading.signature_shape) >= 1 << 62:
            beside = ", with slices that measures name," if self.reading.named_slices else ""
            raise InputError(f"pool.systems: {len(self.pool.systems)} systems{beside} are too many")
        if self.reading.named_slices and (self.labels.space.has_items or self.labels.space.tagged):
            key = "pool.lists" if self.labels.space.has_items else "more than eight labels"
            raise InputError(
                f"measure.where, measure.over, strata.slices: with {key}, slices are only "
                "reported, by pool.slices"
            )
        if not self.labels.space.has_score and self.strata.edges is not None:
            raise InputError(
                "strata.edges: strata of several systems that predict numbers are cut from how far "
                "they are apart, by strata.method"
            )
        if self.sink.format == "splink" and len(self.labels.classes) != 2:
            raise InputError(
                "sink.format: a table of Splink says match or no match, labels are of "
                f"{len(self.labels.classes)} classes here"
            )

    def to_mapping(self) -> dict[str, Any]:
        """Return the spec with every default filled in, as `from_mapping` takes it."""
        return {
            "pool": pool_mapping(self.pool, self.labels),
            "labels": labels_mapping(self.labels),
            "measure": [measure.to_mapping() for measure in self.measures],
            "strata": strata_mapping(self.strata),
            "sampler": {"name": self.sampler.name, **self.sampler.parameters},
            "budget": self.budget.to_mapping(),
            "round_size": msgspec.to_builtins(self.round_size),
            "confidence": self.confidence,
            "hidden": msgspec.to_builtins(self.hidden),
            "seed": self.seed,
            "sink": self.sink.to_mapping(),
            **used("stop", self.stop),
            **self.gates.to_mapping(),
            "workspace": self.workspace,
        }

    def with_pool(self, pool: PoolSpec) -> "EvaluationSpec":
        """Return the spec with another pool."""
        return dataclasses.replace(self, pool=pool)

    @property
    def of_verdicts(self) -> "EvaluationSpec":
        """The spec of the same systems where the column of scores that was assumed is missing."""
        systems = tuple(dataclasses.replace(each, score=None) for each in self.pool.systems)
        pool = dataclasses.replace(self.pool, score=None, systems=systems, assumes_score=False)
        strata = msgspec.structs.replace(self.strata, method=PREDICTIONS)
        return dataclasses.replace(self, pool=pool, strata=strata)

    @functools.cached_property
    def labelling(self) -> LabellingPlan:
        """The part of the spec that batches and deliveries need."""
        return LabellingPlan(self.pool, self.labels, self.sink, self.reading.by_cluster)

    @functools.cached_property
    def reading(self) -> ReadingPlan:
        """The part of the spec that passes over the pool need."""
        of_clusters, given = self.sampler.name == "clusters", self.sampler.parameters
        budget = self.budget.labels
        # The size of a Poisson sample varies about the budget, with at most its root as its
        # standard deviation: six of them more. Whole clusters may be as many rows again.
        most = 2 * budget if of_clusters else budget
        if self.sampler.name == "poisson" and not given.get("cap", False):
            most += math.ceil(6 * math.sqrt(budget))
        compares = given.get("variant") != "active_risk" if self.sampler.name == "compare" else None
        return ReadingPlan(
            pool=self.pool,
            labels=self.labels,
            strata=self.strata,
            measures=self.measures,
            seed=self.seed ^ (0 if self.labels.at_hand is None else self.labels.at_hand.turn),
            most_drawn=most,
            by_cluster=of_clusters,
            of_differences=compares,
        )

    @functools.cached_property
    def analysis(self) -> AnalysisPlan:
        """The part of the spec that rounds and estimates need."""
        return AnalysisPlan(
            reading=self.reading,
            sampler=self.sampler,
            budget=self.budget,
            round_size=self.round_size,
            confidence=self.confidence,
            hidden=self.hidden,
            stop=self.stop,
        )
