"""One evaluation as its spec file describes it."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from evalsampling import samplers
from evalsampling.errors import InputError
from evalsampling.measures import Joint
from evalsampling.measures.base import Measure
from evalsampling.samplers.base import Sampler
from evalsampling.spec.measures import MeasureSpec, Range, Setting, driver, thresholded_parts
from evalsampling.spec.pool import (
    LabelsSpec,
    PoolSpec,
    SystemSpec,
    pool_mapping,
    read_labels,
    read_pool,
)
from evalsampling.spec.references import load
from evalsampling.spec.sections import Section, absolute, build, named, number
from evalsampling.stats.strata import METHODS
from evalsampling.storage import folder_of, read_file

MAX_CELLS = 4096
"""Most cells a pool is cut into."""

LARGEST_ROUND = 10**9
"""Where a growing round stops growing."""

KD = "kd"
"""Strata that a k-d tree cuts from features."""

WORKSPACE_STORES = ("gs",)
"""Schemes of the stores that can hold a workspace: those that create a file only if it is new."""

SINK_FORMATS = ("csv", "jsonl", "parquet")


@dataclasses.dataclass(frozen=True)
class StrataSpec:
    """How the score is cut into leaves and the leaves into a tree.

    Attributes:
        method: a name of `stats.strata.METHODS`, or ``kd`` for a k-d tree over the features.
        leaves: most leaves wanted.
        branching: children of a node of the tree.
        edges: explicit interior edges, strictly increasing, or None to compute them.
    """

    method: str
    leaves: int
    branching: int
    edges: tuple[float, ...] | None

    @property
    def by_features(self) -> bool:
        """Whether the leaves are cut from features, so that no score is needed."""
        return self.method == KD and self.edges is None


@dataclasses.dataclass(frozen=True)
class RoundSize:
    """New rows of each round: first, first x growth, first x growth^2, ...

    Attributes:
        first: of the first round, at least 1.
        growth: from one round to the next, at least 1.
    """

    first: int
    growth: float = 1.0

    def of(self, rounds: int) -> int:
        """Return the size of the round that follows so many rounds."""
        return math.floor(min(self.first * self.growth ** min(rounds, 100), LARGEST_ROUND))


@dataclasses.dataclass(frozen=True)
class SamplerSpec:
    """A name of `samplers.BY_NAME` and its parameters."""

    name: str
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class EvaluationSpec:
    """One evaluation.

    Attributes:
        pool: the rows.
        labels: the classes.
        measures: the first drives the sampling, all are reported.
        strata: leaves and tree.
        sampler: the sampler.
        budget: distinct rows labelled, in all; of a stochastic oracle, answers.
        round_size: new rows sent to annotators in a round.
        confidence: level of the intervals, in (0, 1).
        seed: in [0, 2^64).
        sink: format of the batches sent out.
        workspace: absolute path of the workspace, or None.
    """

    pool: PoolSpec
    labels: LabelsSpec
    measures: tuple[MeasureSpec, ...]
    strata: StrataSpec
    sampler: SamplerSpec
    budget: int
    round_size: RoundSize
    confidence: float
    seed: int
    sink: str
    workspace: str | None

    @classmethod
    def load(cls, path: str | Path) -> "EvaluationSpec":
        """Read a YAML file; relative paths in it resolve against its directory.

        Args:
            path: of the file, or its URL in a store.

        Raises:
            InputError: naming the file and the key that is wrong.
        """
        try:
            content = yaml.safe_load(read_file(str(path)).decode())
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: cannot be read: not UTF-8") from error
        except RecursionError as error:
            raise InputError(f"{path}: not valid YAML: nested too deeply") from error
        except yaml.YAMLError as error:
            raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
        try:
            return cls.from_mapping(content, folder_of(path))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def from_mapping(cls, content: Any, directory: str | Path) -> "EvaluationSpec":
        """Check what a spec file contains.

        Args:
            content: the parsed file.
            directory: or its URL, relative paths resolve against it.

        Raises:
            InputError: naming the key that is wrong.
        """
        top = Section("", content)
        top.check_keys(
            "pool", "labels", "measure", "strata", "sampler", "budget", "round_size",
            "confidence", "seed", "sink", "workspace",
        )  # fmt: skip
        labels = read_labels(top.section("labels"))
        strata = _strata(top.section("strata"))
        section = top.section("pool", required=True)
        pool = read_pool(section, labels, str(directory), strata.by_features)
        chosen = top.get("measure", "f1")
        listed = chosen if isinstance(chosen, list) else [chosen]
        if not listed:
            raise InputError("measure: the list is empty")
        spec = cls(
            pool=pool,
            labels=labels,
            measures=tuple(MeasureSpec.parse(item) for item in listed),
            strata=strata,
            sampler=SamplerSpec(*named("sampler", top.get("sampler", "ais"), samplers.BY_NAME)),
            budget=top.integer("budget", 1000, least=1),
            round_size=_round_size(top),
            confidence=top.number("confidence", 0.95),
            seed=top.integer("seed", 0, least=0),
            sink=_sink(top.section("sink")),
            workspace=absolute(
                "workspace", top.text("workspace"), str(directory), WORKSPACE_STORES
            ),
        )
        spec._check()
        return spec

    def _check(self) -> None:
        """Check what the parts of the spec have to do with each other."""
        if not 0 < self.confidence < 1:
            raise InputError(f"confidence: must be between 0 and 1, got {self.confidence}")
        if self.seed >= 1 << 64:
            raise InputError(f"seed: must be below 2^64, got {self.seed}")
        if math.prod(self.signature_shape) >= 1 << 62:
            raise InputError(f"pool.systems: {len(self.pool.systems)} systems are too many")
        if self.most_bins > MAX_CELLS // 2:
            raise InputError(
                f"strata.leaves: {self.most_bins} leaves and thresholds, at most "
                f"{MAX_CELLS // 2} are possible"
            )
        reported = self.build_measures(self._assumed_ranges)
        told = [(measure.name, measure.system) for measure in reported]
        for name, system in told:
            if told.count((name, system)) > 1:
                raise InputError(f"measure: {name} is listed twice")
        self.build_sampler(self._assumed_ranges)
        for part in thresholded_parts(self._driver(self._assumed_ranges)):
            if part.system or self.pool.score != self.pool.systems[0].score:
                raise InputError(
                    f"measure: {part.name} cannot come first: it needs the score that drives the "
                    "strata to be its own system's"
                )

    def to_mapping(self) -> dict[str, Any]:
        """Return the spec with every default filled in, as `from_mapping` takes it."""
        strata: dict[str, Any] = {
            "method": self.strata.method,
            "leaves": self.strata.leaves,
            "branching": self.strata.branching,
        }
        if self.strata.edges:
            strata["edges"] = list(self.strata.edges)
        return {
            "pool": pool_mapping(self.pool, self.labels),
            "labels": {
                "classes": list(self.labels.classes),
                "positive": self.labels.classes[self.labels.positive],
                "oracle": self.labels.oracle,
            },
            "measure": [measure.to_mapping() for measure in self.measures],
            "strata": strata,
            "sampler": {"name": self.sampler.name, **self.sampler.parameters},
            "budget": self.budget,
            "round_size": dataclasses.asdict(self.round_size),
            "confidence": self.confidence,
            "seed": self.seed,
            "sink": {"format": self.sink},
            "workspace": self.workspace,
        }

    @property
    def signature_shape(self) -> tuple[int, ...]:
        """Number of classes of each system."""
        return (len(self.labels.classes),) * len(self.pool.systems)

    @property
    def most_bins(self) -> int:
        """Most bins the score, or the features, can be cut into."""
        edges = self.strata.edges
        leaves = self.strata.leaves if edges is None else len(edges) + 1
        return leaves + len(self.driving_thresholds(self._assumed_ranges))

    @property
    def _assumed_ranges(self) -> tuple[Range, ...]:
        """Where scores are taken to lie until the pool is known."""
        return ((0.0, 1.0),) * len(self.pool.systems)

    @property
    def needs_ranges(self) -> bool:
        """Whether the least and greatest scores must be known before rows are put into cells."""
        scored: list[PoolSpec | SystemSpec] = [self.pool, *self.pool.systems]
        unknown = any(one.probability is None and one.score is not None for one in scored)
        return unknown or any(measure.counts_thresholds for measure in self.measures)

    @property
    def needs_signature_counts(self) -> bool:
        """Whether there may be more signatures than there is room for cells."""
        return self.most_bins * math.prod(self.signature_shape) > MAX_CELLS

    def setting(self, ranges: Sequence[Range | None]) -> Setting:
        """Return what measures must know.

        Args:
            ranges: least and greatest score of each system, None where it is not known.
        """
        systems = self.pool.systems
        return Setting(
            classes=tuple(self.labels.codes),
            positive=self.labels.positive,
            systems=tuple(system.name for system in systems),
            scored=tuple(system.score is not None for system in systems),
            probable=tuple(
                system.probability is not None or system.score is not None for system in systems
            ),
            ranges=tuple(ranges),
            directory=self.pool.directory,
        )

    def build_measures(self, ranges: Sequence[Range | None]) -> list[Measure]:
        """Return the measures to report, each for every system it is about.

        Raises:
            InputError: naming a parameter that is wrong.
        """
        setting = self.setting(ranges)
        return [measure for spec in self.measures for measure in spec.build(setting)]

    def build_joints(self, ranges: Sequence[Range | None]) -> list[Joint]:
        """Return the joint measures listed, whose regions are reported too."""
        setting = self.setting(ranges)
        return [Joint(tuple(spec.build(setting))) for spec in self.measures if spec.parts]

    def _driver(self, ranges: Sequence[Range | None]) -> Measure:
        return driver(self.measures[0].build(self.setting(ranges)))

    def driving_thresholds(self, ranges: Sequence[Range | None]) -> npt.NDArray[np.float64]:
        """Return the thresholds that bins must not cross: those of the measure that drives."""
        parts = thresholded_parts(self._driver(ranges))
        return np.unique(np.concatenate([np.zeros(0), *(part.thresholds for part in parts)]))

    def build_sampler(self, ranges: Sequence[Range | None], name: str | None = None) -> Sampler:
        """Return the sampler named, driven by the first measure, jointly for all its systems.

        Args:
            ranges: see `setting`.
            name: of another sampler, with its default parameters and the spec's ``draws``.

        Raises:
            InputError: naming the sampler or parameter that is wrong.
        """
        chosen = self.sampler
        if name is not None and name != chosen.name:
            chosen = SamplerSpec(*named("sampler", name, samplers.BY_NAME))
        maker = samplers.BY_NAME[chosen.name]
        fields = {field.name for field in dataclasses.fields(maker)}
        parameters = dict(chosen.parameters)
        if chosen.name != self.sampler.name and "draws" in fields:
            parameters |= {k: v for k, v in self.sampler.parameters.items() if k == "draws"}
        if isinstance(parameters.get("weights"), str):
            reference = parameters["weights"]
            parameters["weights"] = load("sampler.weights", reference, self.pool.directory)
        given = {
            "measure": self._driver(ranges),
            "oracle": self.labels.oracle,
            "branching": self.strata.branching,
        }
        return build("sampler", maker, chosen.name, parameters, given)


def _strata(section: Section) -> StrataSpec:
    section.check_keys("method", "leaves", "branching", "edges")
    method, known = section.get("method", "csf"), [*METHODS, KD]
    if method not in known:
        raise InputError(f"strata.method: must be one of {', '.join(known)}, got {method!r}")
    edges = section.get("edges")
    if edges is not None:
        if not isinstance(edges, list) or not edges:
            raise InputError(f"strata.edges: must be a list of numbers, got {edges!r}")
        edges = tuple(number("strata.edges", edge) for edge in edges)
        if any(a >= b for a, b in itertools.pairwise(edges)):
            raise InputError("strata.edges: must be strictly increasing")
    return StrataSpec(
        method=method,
        leaves=section.integer("leaves", 256, least=1),
        branching=section.integer("branching", 2, least=2),
        edges=edges,
    )


def _round_size(top: Section) -> RoundSize:
    if not isinstance(top.get("round_size"), Mapping):
        return RoundSize(top.integer("round_size", 100, least=1))
    section = top.section("round_size")
    section.check_keys("first", "growth")
    growth = section.number("growth", 1.0)
    if not 1 <= growth <= 100:
        raise InputError(f"round_size.growth: must be between 1 and 100, got {growth:g}")
    return RoundSize(section.integer("first", 100, least=1), growth)


def _sink(section: Section) -> str:
    section.check_keys("format")
    chosen = section.get("format", "csv")
    if chosen not in SINK_FORMATS:
        raise InputError(f"sink.format: must be one of {', '.join(SINK_FORMATS)}, got {chosen!r}")
    return str(chosen)
