"""The spec of an evaluation: what ``evaluation.yaml`` says, checked."""

import dataclasses
import difflib
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from evalsampling import measures, samplers
from evalsampling.errors import InputError
from evalsampling.measures.base import Measure
from evalsampling.samplers.base import Sampler

MAX_CELLS = 4096
"""Most cells a pool is cut into."""

SINK_FORMATS = ("csv", "jsonl", "parquet")


@dataclasses.dataclass(frozen=True)
class PoolSpec:
    """Where the pool is and what its columns mean.

    Attributes:
        path: absolute path or glob pattern of its Parquet files.
        id: column that names each row: integers or strings, no two alike.
        score: numeric column that drives the strata; finite.
        prediction: column of predicted classes, or None to compare the score with `threshold`.
        threshold: scores at or above it predict the positive class.
        probability: column of the prior probability of the positive class, a column for each
            class (by the class's text), or None to take it from the score.
        payload: columns shown to annotators.
        scorer: ``module:function`` that adds columns to Arrow record batches, if any.
        scorer_path: directory looked in first for the scorer's module: the spec's own.
    """

    path: str
    id: str
    score: str
    prediction: str | None
    threshold: float | None
    probability: str | Mapping[str, str] | None
    payload: tuple[str, ...]
    scorer: str | None
    scorer_path: str | None


@dataclasses.dataclass(frozen=True)
class LabelsSpec:
    """What a label may be.

    Attributes:
        classes: integers or strings, at least two; their places here are their codes.
        positive: code of the positive class.
    """

    classes: tuple[int | str, ...]
    positive: int

    @property
    def codes(self) -> dict[str, int]:
        """Code of each class by its text, the form in which labels are compared."""
        return {str(c): code for code, c in enumerate(self.classes)}


@dataclasses.dataclass(frozen=True)
class StrataSpec:
    """How the score is cut into leaves and the leaves into a tree.

    Attributes:
        leaves: most leaves wanted.
        branching: children of a node of the tree.
        edges: explicit interior edges, strictly increasing, or None to compute them (``csf``).
    """

    leaves: int
    branching: int
    edges: tuple[float, ...] | None


@dataclasses.dataclass(frozen=True)
class Named:
    """A measure, sampler or sink: its name and its parameters."""

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
        sampler: a name of `samplers.BY_NAME` and its parameters.
        budget: distinct rows labelled, in all.
        round_size: new rows sent to annotators in a round.
        confidence: level of the intervals, in (0, 1).
        seed: in [0, 2^64).
        sink: format of the batches sent out.
        workspace: absolute path of the workspace, or None.
    """

    pool: PoolSpec
    labels: LabelsSpec
    measures: tuple[Named, ...]
    strata: StrataSpec
    sampler: Named
    budget: int
    round_size: int
    confidence: float
    seed: int
    sink: str
    workspace: str | None

    @classmethod
    def load(cls, path: str | Path) -> "EvaluationSpec":
        """Read a YAML file; relative paths in it resolve against its directory.

        Raises:
            InputError: naming the file and the key that is wrong.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot be read: {error}") from error
        try:
            content = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
        try:
            return cls.from_mapping(content, path.resolve().parent)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def from_mapping(cls, content: Any, directory: Path) -> "EvaluationSpec":
        """Check what a spec file contains.

        Args:
            content: the parsed file.
            directory: relative paths resolve against it.

        Raises:
            InputError: naming the key that is wrong.
        """
        top = _Section("", content)
        top.check_keys(
            "pool", "labels", "measure", "strata", "sampler", "budget", "round_size",
            "confidence", "seed", "sink", "workspace",
        )  # fmt: skip
        labels = _labels(top.section("labels"))
        pool = _pool(top.section("pool", required=True), labels, directory)
        chosen = top.get("measure", "f1")
        listed = chosen if isinstance(chosen, list) else [chosen]
        if not listed:
            raise InputError("measure: the list is empty")
        spec = cls(
            pool=pool,
            labels=labels,
            measures=tuple(_named("measure", item, measures.BY_NAME) for item in listed),
            strata=_strata(top.section("strata")),
            sampler=_named("sampler", top.get("sampler", "ais"), samplers.BY_NAME),
            budget=top.integer("budget", 1000, least=1),
            round_size=top.integer("round_size", 100, least=1),
            confidence=top.number("confidence", 0.95),
            seed=top.integer("seed", 0, least=0),
            sink=_sink(top.section("sink")),
            workspace=_absolute("workspace", top.text("workspace"), directory),
        )
        if not 0 < spec.confidence < 1:
            raise InputError(f"confidence: must be between 0 and 1, got {spec.confidence}")
        if spec.seed >= 1 << 64:
            raise InputError(f"seed: must be below 2^64, got {spec.seed}")
        leaves = len(spec.strata.edges) + 1 if spec.strata.edges else spec.strata.leaves
        cells = leaves * len(labels.classes)
        if cells > MAX_CELLS:
            raise InputError(
                f"strata.leaves: {leaves} leaves of {len(labels.classes)} predicted classes make "
                f"{cells} cells, at most {MAX_CELLS} are possible"
            )
        names = [measure.name for measure in spec.build_measures()]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"measure: {name} is listed twice")
        spec.build_sampler()
        return spec

    def to_mapping(self) -> dict[str, Any]:
        """Return the spec with every default filled in, as `from_mapping` takes it."""
        pool: dict[str, Any] = {
            "path": self.pool.path,
            "id": self.pool.id,
            "score": self.pool.score,
            "prediction": self.pool.prediction or {"threshold": self.pool.threshold},
            "payload": list(self.pool.payload),
        }
        if isinstance(self.pool.probability, str):
            pool["probability"] = self.pool.probability
        elif self.pool.probability is not None:
            pool["probability"] = dict(
                zip(self.labels.classes, self.pool.probability.values(), strict=True)
            )
        if self.pool.scorer:
            pool["scorer"] = self.pool.scorer
        strata: dict[str, Any] = {"leaves": self.strata.leaves, "branching": self.strata.branching}
        if self.strata.edges:
            strata["edges"] = list(self.strata.edges)
        return {
            "pool": pool,
            "labels": {
                "classes": list(self.labels.classes),
                "positive": self.labels.classes[self.labels.positive],
            },
            "measure": [{"name": m.name, **m.parameters} for m in self.measures],
            "strata": strata,
            "sampler": {"name": self.sampler.name, **self.sampler.parameters},
            "budget": self.budget,
            "round_size": self.round_size,
            "confidence": self.confidence,
            "seed": self.seed,
            "sink": {"format": self.sink},
            "workspace": self.workspace,
        }

    def build_measures(self) -> list[Measure]:
        """Return the measures named.

        Raises:
            InputError: naming a parameter that is wrong.
        """
        positive = self.labels.positive
        return [
            _build("measure", measures.BY_NAME[m.name], m.name, m.parameters, positive=positive)
            for m in self.measures
        ]

    def build_sampler(self, name: str | None = None) -> Sampler:
        """Return the sampler named, driven by the first measure.

        Args:
            name: of another sampler, with its default parameters and the spec's ``draws``.

        Raises:
            InputError: naming the sampler or parameter that is wrong.
        """
        chosen = self.sampler
        if name is not None and name != chosen.name:
            draws = {k: v for k, v in chosen.parameters.items() if k == "draws"}
            chosen = _named("sampler", {"name": name, **draws}, samplers.BY_NAME)
        given: dict[str, Any] = {"measure": self.build_measures()[0]}
        build = samplers.BY_NAME[chosen.name]
        if "branching" in {field.name for field in dataclasses.fields(build)}:
            given["branching"] = self.strata.branching
        return _build("sampler", build, chosen.name, chosen.parameters, **given)


class _Section:
    """A mapping of the file, with typed and checked access to its keys."""

    def __init__(self, name: str, content: Any) -> None:
        if not isinstance(content, Mapping):
            raise InputError(f"{name or 'the spec'}: must be a mapping, got {content!r}")
        self.name = name
        self.content = content

    def _path(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def check_keys(self, *known: str) -> None:
        for key in self.content:
            if key not in known:
                paths = [self._path(name) for name in known]
                path = self._path(str(key))
                raise InputError(f"unknown key {path}{_nearest(path, paths)}")

    def get(self, key: str, default: Any = None) -> Any:
        value = self.content.get(key)
        return default if value is None else value

    def section(self, key: str, required: bool = False) -> "_Section":
        if required and self.get(key) is None:
            raise InputError(f"{self._path(key)}: missing")
        return _Section(self._path(key), self.get(key, {}))

    def text(self, key: str, required: bool = False) -> str | None:
        value = self.get(key)
        if value is None and required:
            raise InputError(f"{self._path(key)}: missing")
        if value is not None and (not isinstance(value, str) or not value):
            raise InputError(f"{self._path(key)}: must be text, got {value!r}")
        return value

    def integer(self, key: str, default: int, least: int) -> int:
        value = self.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(
                f"{self._path(key)}: must be a whole number of at least {least}, got {value!r}"
            )
        return value

    def number(self, key: str, default: float) -> float:
        return _number(self._path(key), self.get(key, default))


def _number(path: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{path}: must be a number, got {value!r}")
    return float(value)


def _nearest(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]}?" if near else f"; valid keys: {', '.join(known)}"


def _absolute(key: str, path: str | None, directory: Path) -> str | None:
    if path is None:
        return None
    if "://" in path:
        raise InputError(f"{key}: must be a path of this machine, got {path!r}")
    return str((directory / path).resolve())


def _labels(section: _Section) -> LabelsSpec:
    section.check_keys("classes", "positive", "oracle")
    classes = section.get("classes", [0, 1])
    if not isinstance(classes, list) or len(classes) < 2:
        raise InputError(f"labels.classes: must list at least two classes, got {classes!r}")
    for value in classes:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise InputError(
                f"labels.classes: must be whole numbers or text, got {value!r}"
                + (" (put yes, no, true and false in quotes)" if isinstance(value, bool) else "")
            )
    texts = [str(value) for value in classes]
    if len(set(texts)) < len(texts):
        raise InputError(f"labels.classes: two classes are spelt alike in {classes!r}")
    positive = section.get("positive", classes[-1])
    if positive not in classes or isinstance(positive, bool):
        raise InputError(f"labels.positive: {positive!r} is not one of the classes {classes!r}")
    oracle = section.get("oracle", "deterministic")
    if oracle != "deterministic":
        raise InputError(f"labels.oracle: must be deterministic, got {oracle!r}")
    return LabelsSpec(tuple(classes), classes.index(positive))


def _pool(section: _Section, labels: LabelsSpec, directory: Path) -> PoolSpec:
    section.check_keys("path", "id", "score", "prediction", "probability", "payload", "scorer")
    path = _absolute("pool.path", section.text("path", required=True), directory)
    scorer = section.text("scorer")
    if scorer is not None and len([p for p in scorer.split(":") if p]) != 2:
        raise InputError(f"pool.scorer: must be module:function, got {scorer!r}")
    prediction, threshold = section.get("prediction", "prediction"), None
    if isinstance(prediction, Mapping):
        rule = _Section("pool.prediction", prediction)
        rule.check_keys("threshold")
        threshold, prediction = _number("pool.prediction.threshold", rule.get("threshold")), None
        if len(labels.classes) != 2:
            raise InputError("pool.prediction: a threshold decides between two classes only")
    elif not isinstance(prediction, str):
        raise InputError(f"pool.prediction: must be a column or a threshold, got {prediction!r}")
    payload = section.get("payload", [])
    if not isinstance(payload, list) or not all(isinstance(c, str) for c in payload):
        raise InputError(f"pool.payload: must be a list of columns, got {payload!r}")
    for column in payload:
        if payload.count(column) > 1:
            raise InputError(f"pool.payload: {column} is listed twice")
        if column in ("task", "label"):
            raise InputError(f"pool.payload: {column} is a column of every batch, rename it")
    return PoolSpec(
        path=str(path),
        id=section.text("id") or "id",
        score=section.text("score") or "score",
        prediction=prediction,
        threshold=threshold,
        probability=_probability(section, labels),
        payload=tuple(payload),
        scorer=scorer,
        scorer_path=str(directory) if scorer else None,
    )


def _probability(section: _Section, labels: LabelsSpec) -> str | Mapping[str, str] | None:
    value = section.get("probability")
    if isinstance(value, Mapping):
        columns = {str(key): column for key, column in value.items()}
        if set(columns) != set(labels.codes) or not all(
            isinstance(column, str) for column in columns.values()
        ):
            raise InputError(
                f"pool.probability: must name a column for each of {list(labels.codes)}, "
                f"got {value!r}"
            )
        return {text: columns[text] for text in labels.codes}
    if value is not None and not isinstance(value, str):
        raise InputError(f"pool.probability: must be a column, got {value!r}")
    if len(labels.classes) > 2:
        raise InputError(
            f"pool.probability: with {len(labels.classes)} classes, name a column for each "
            "(probability: {class: column, ...})"
        )
    return value


def _strata(section: _Section) -> StrataSpec:
    section.check_keys("method", "leaves", "branching", "edges")
    method = section.get("method", "csf")
    if method != "csf":
        raise InputError(f"strata.method: must be csf, got {method!r}")
    edges = section.get("edges")
    if edges is not None:
        if not isinstance(edges, list) or not edges:
            raise InputError(f"strata.edges: must be a list of numbers, got {edges!r}")
        edges = tuple(_number("strata.edges", edge) for edge in edges)
        if any(a >= b for a, b in itertools.pairwise(edges)):
            raise InputError("strata.edges: must be strictly increasing")
    return StrataSpec(
        leaves=section.integer("leaves", 256, least=1),
        branching=section.integer("branching", 2, least=2),
        edges=edges,
    )


def _sink(section: _Section) -> str:
    section.check_keys("format")
    chosen = section.get("format", "csv")
    if chosen not in SINK_FORMATS:
        raise InputError(f"sink.format: must be one of {', '.join(SINK_FORMATS)}, got {chosen!r}")
    return str(chosen)


def _named(kind: str, item: Any, known: Mapping[str, Any]) -> Named:
    content = item if isinstance(item, Mapping) else {"name": item}
    name = content.get("name")
    if not isinstance(name, str) or name not in known:
        hint = _nearest(str(name), list(known)).replace("valid keys", "known")
        raise InputError(f"{kind}: unknown {kind} {name!r}{hint}")
    return Named(name, {str(k): v for k, v in content.items() if k != "name"})


def _build(kind: str, build: Any, name: str, parameters: Mapping[str, Any], **given: Any) -> Any:
    fields = {f.name for f in dataclasses.fields(build)}
    given_elsewhere = {"positive", "measure", "branching"} | ({"beta"} if name == "f1" else set())
    free = sorted(fields - given_elsewhere)
    for key in parameters:
        if key not in free:
            hint = _nearest(key, free) if free else "; it has no parameters"
            raise InputError(f"unknown key {kind}.{key} of {name}{hint}")
    try:
        return build(**parameters, **given)
    except (TypeError, ValueError) as error:
        raise InputError(f"{kind}: {name}: {error}") from error
