"""Measures on cells whose rows have any number of many labels: means and variances by label.

In place of codes, `Measure.loss` takes what is expected of the labels: shape (n, 1 + systems,
labels), the share of rows that have each label, then that have it and are predicted it by each
system. Losses by label are linear in these, so expected losses are exact. Labels are taken to be
independent given a row, and in a cell; so variances add up over the labels, in time O(labels).

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    equations 92 to 97 and 119.
"""

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.measures.base import Measure
from evalsampling.measures.joint import Joint
from evalsampling.measures.reweighted import Reweighted
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.outputs import Outputs

_LABELS_AT_A_TIME = 256
"""Labels whose losses are computed at a time, since each takes a row of all labels."""


def expected_of_rows(tags: npt.NDArray[np.bool_], probability: FloatArray) -> FloatArray:
    """Return what is expected of the labels of rows, given which labels each system predicts."""
    p = probability[:, None]
    return np.concatenate([p, tags * p], axis=1)


def smoothed(expected: FloatArray, tags: FloatArray, weight: float) -> FloatArray:
    """Return what is expected if every probability p is weight p + (1 - weight) / 2."""
    even = np.concatenate([np.ones_like(expected[:, :1]), tags], axis=1) / 2
    return weight * expected + (1 - weight) * even


def influence_moments(
    measure: Measure, outputs: Outputs, expected: FloatArray, risk: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of Dg(risk) l over the labels of each row, shape (n, m) each.

    0 where a component is undefined. Of a row the variance is sum_c p_c (1 - p_c) d_c^2, d_c being
    what label c adds ([Y] eq. 95 to 97, with eq. 119 for measures of many means). In a cell the
    systems' predictions are taken to be independent given the label.
    """
    if isinstance(measure, Joint):
        moments = [
            influence_moments(part, outputs, expected, own) for part, own in measure.split(risk)
        ]
        means, variances = zip(*moments, strict=True)
        return np.concatenate(means, axis=1), np.concatenate(variances, axis=1)
    if isinstance(measure, Reweighted):
        (inner,), (mean_weight,) = measure.split(risk[None])
        factor = (measure.weight(outputs) / mean_weight)[:, None]
        mean, variance = influence_moments(measure.measure, outputs, expected, inner)
        if measure.size > measure.measure.size:
            mean = mean - measure.measure.jacobian(inner) @ inner
        return factor * mean, factor**2 * variance
    slopes = np.nan_to_num(measure.jacobian(risk))
    loss = measure.loss(outputs, expected)  # type: ignore[arg-type]
    mean = np.stack([_weighted(loss, slope) for slope in slopes], axis=1)
    return mean, _variances(measure, outputs, expected, slopes)


def _weighted(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Return the weighted sum of each row's values, to the digit the same in any batch: (n,)."""
    places = np.flatnonzero(weight)
    return np.asarray((np.take(values, places, axis=1) * weight[places]).sum(axis=1))


def _variances(
    measure: Measure, outputs: Outputs, expected: FloatArray, slopes: FloatArray
) -> FloatArray:
    """Return the variance of Dg l over the labels of each row, shape (n, m), Dg being (m, d)."""
    assert outputs.tags is not None
    cases = list(itertools.product((False, True), repeat=1 + len(measure.systems)))
    added = np.stack([_added(measure, slopes, outputs, case) for case in cases])
    chance = [_chance(outputs.tags, expected, measure.systems, case) for case in cases]
    variance = np.zeros((len(outputs), len(slopes)))
    for component in range(len(slopes)):
        by_case = added[:, component]
        labels = np.flatnonzero(by_case.any(axis=0))
        pairs = list(zip(chance, by_case, strict=True))
        mean = sum(np.take(p, labels, axis=1) * change[labels] for p, change in pairs)
        squares = sum(_weighted(p, change**2) for p, change in pairs)
        variance[:, component] = squares - (np.asarray(mean) ** 2).sum(axis=1)
    return np.maximum(variance, 0.0)


def _added(
    measure: Measure, slopes: FloatArray, outputs: Outputs, case: tuple[bool, ...]
) -> FloatArray:
    """Return what each label adds to the components by itself, shape (m, labels).

    ``case`` says whether a row has the label, then whether each system of the measure predicts it.
    """
    assert outputs.tags is not None
    _, systems, labels = outputs.tags.shape
    parts = []
    for begin in range(0, labels, _LABELS_AT_A_TIME):
        single = np.eye(labels)[begin : begin + _LABELS_AT_A_TIME]
        tags = np.zeros((len(single), systems, labels))
        expected = np.zeros((len(single), 1 + systems, labels))
        expected[:, 0] = case[0] * single
        for system, predicted in zip(measure.systems, case[1:], strict=True):
            tags[:, system] = predicted * single
            expected[:, 1 + system] = case[0] * tags[:, system]
        nothing = np.zeros((len(single), systems))
        alone = Outputs(nothing.astype(np.int64), nothing, nothing[:, :, None][:, :, :0], tags=tags)
        parts.append(slopes @ measure.loss(alone, expected).T)
    return np.concatenate(parts, axis=1)


def _chance(
    tags: FloatArray, expected: FloatArray, systems: Sequence[int], case: tuple[bool, ...]
) -> FloatArray:
    """Return the chance of a case of each label, shape (n, labels): see `_added`."""
    held = expected[:, 0]
    chance = held if case[0] else 1 - held
    for system, predicted in zip(systems, case[1:], strict=True):
        both = expected[:, 1 + system] if case[0] else tags[:, system] - expected[:, 1 + system]
        of_all = held if case[0] else 1 - held
        share = np.divide(both, of_all, out=np.zeros_like(held), where=of_all > 0)
        chance = chance * (share if predicted else 1 - share)
    return chance
