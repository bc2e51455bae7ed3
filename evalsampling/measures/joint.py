"""Several measures as one, so that one sample serves them all."""

import abc
import dataclasses
import functools

import numpy as np

from evalsampling.measures.base import Component, Measure, Share, set_own
from evalsampling.measures.reweighted import Reweighted
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.outputs import Outputs


class OfParts(Measure):
    """Base of measures whose loss is that of other measures, `parts`, side by side."""

    @property
    @abc.abstractmethod
    def parts(self) -> tuple[Measure, ...]:
        """The other measures."""

    @property
    def undefined_without(self) -> str:
        return ", or no ".join(dict.fromkeys(part.undefined_without for part in self.parts))

    @property
    def size(self) -> int:
        return self._ends[-1]

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return np.concatenate([part.loss(outputs, label) for part in self.parts], axis=1)

    def mean_loss(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        return np.concatenate([part.mean_loss(outputs, label, weight) for part in self.parts])

    def evidence(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return np.any([part.evidence(outputs, label) for part in self.parts], axis=0)

    def is_settled(self, low: Outputs, high: Outputs) -> bool:
        return all(part.is_settled(low, high) for part in self.parts)

    def adds(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return np.any([part.adds(outputs, label) for part in self.parts], axis=0)

    def may_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        return np.any([part.may_add(low, high, label) for part in self.parts], axis=0)

    def must_add(self, low: Outputs, high: Outputs, label: IntArray) -> BoolArray:
        return np.any([part.must_add(low, high, label) for part in self.parts], axis=0)

    @functools.cached_property
    def _ends(self) -> tuple[int, ...]:
        """Where in the loss each part ends."""
        return tuple(np.cumsum([part.size for part in self.parts]).tolist())


@dataclasses.dataclass(frozen=True)
class Joint(OfParts):
    """Measures stacked, of any systems: losses and values concatenated, Dg block-diagonal."""

    measures: tuple[Measure, ...]

    def __post_init__(self) -> None:
        if not self.measures:
            raise ValueError("a joint measure needs at least one measure")
        for part in self.measures:
            if not isinstance(part, Measure):
                raise TypeError(f"a joint measure is made of measures, got {part!r}")
        words = dict.fromkeys(part.evidence_name for part in self.measures)
        name = f"joint({', '.join(part.name for part in self.measures)})"
        set_own(self, name=name, evidence_name=" or ".join(words))

    @property
    def parts(self) -> tuple[Measure, ...]:
        return self.measures

    @functools.cached_property
    def components(self) -> tuple[Component, ...]:
        return tuple(component for part in self.parts for component in part.components)

    def value(self, risk: FloatArray) -> FloatArray:
        return np.concatenate([part.value(own) for part, own in self.split(risk)])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        result = np.zeros((len(self.components), len(risk)))
        row = column = 0
        for part, own in self.split(risk):
            block = part.jacobian(own)
            result[row : row + len(block), column : column + len(own)] = block
            row, column = row + len(block), column + len(own)
        result[np.isnan(result).any(axis=1)] = np.nan
        return result

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        shares, start = [], 0
        for part in self.parts:
            size = len(part.components)
            for share in part.shares(outputs, label):
                first, end = share.components or (0, size)
                places = (start + first, start + end)
                shares.append(dataclasses.replace(share, components=places))
            start += size
        return tuple(shares)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        parts = [part.influence(outputs, label, own) for part, own in self.split(risk)]
        return np.concatenate(parts, axis=1)

    def squared_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        parts = [part.squared_norm(outputs, label, own) for part, own in self.split(risk)]
        return np.sum(parts, axis=0)

    def proposal_norm(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        parts = [part.proposal_norm(outputs, label, own) for part, own in self.split(risk)]
        return np.asarray(np.sqrt(np.sum(np.square(parts), axis=0)))

    def split(self, risk: FloatArray) -> list[tuple[Measure, FloatArray]]:
        """Return each part with its own R, given that of all, shape (d,)."""
        return list(zip(self.parts, np.split(risk, self._ends[:-1]), strict=True))


def parts_of(measure: Measure) -> tuple[Measure, ...]:
    """Return the measures that a joint one consists of, at any depth, or the measure itself."""
    if isinstance(measure, Joint):
        return tuple(leaf for part in measure.parts for leaf in parts_of(part))
    return (measure,)


def is_part_of(measure: Measure, whole: Measure) -> bool:
    """Tell whether a measure equals another one, or one of its parts."""
    return any(_is_same(measure, part) for part in parts_of(whole))


def _is_same(first: Measure, other: Measure) -> bool:
    """Tell whether two measures are equal; a user's own may be no dataclass, without equality."""
    if isinstance(first, Reweighted) and isinstance(other, Reweighted):
        return first.name == other.name and _is_same(first.measure, other.measure)
    if first == other or dataclasses.is_dataclass(first):
        return first == other
    return (type(first), first.name, first.system) == (type(other), other.name, other.system)
