"""Estimates from labelled rows and their weights alone: nothing else is known of the pool."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.delta_method import Evidence, estimate
from evalsampling.inference.domains import WHOLE_POOL, Domain
from evalsampling.inference.evidence import Gap, find_gaps
from evalsampling.inference.ratio_bias import biases, less_bias
from evalsampling.inference.results import Estimate, Target
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.base import Measure
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.votes import Votes


@dataclasses.dataclass(frozen=True)
class LabelledRows:
    """Labels with the outputs and the weights of their rows.

    Rows without a label are not needed, so no interval is model-based and no estimate a census.

    Attributes:
        outputs: of the systems for n labels.
        label: shape (n,): class codes.
        row: shape (n,): a number that identifies the row of each label, 0 and up.
        sample: the weights of the n labels.
        normalised: whether weights are divided by their sum. They are then to sum to 1.
    """

    outputs: Outputs
    label: IntArray
    row: IntArray
    sample: WeightedSample
    normalised: bool = True

    def estimate(
        self,
        measure: Measure,
        confidence: float = 0.95,
        correct_bias: bool = False,
        methods: Sequence[str] = (),
        gap: Gap | None = None,
        targets: Sequence[Target] | None = None,
    ) -> list[Estimate]:
        """Return the estimates of the components of a measure, by the delta method.

        Args:
            measure: the measure to estimate.
            confidence: level of the intervals, in (0, 1).
            correct_bias: whether the bias is subtracted.
            methods: names of further interval methods, reported beside the default.
            gap: why the weights allow no claim; None if they do.
            targets: what the components are called; None for an evaluation of one system.
        """
        outputs, label, sample = self.outputs, self.label, self.sample
        risk = measure.mean_loss(outputs, label, sample.weight)
        influence = measure.influence(outputs, label, risk)
        if self.normalised:
            influence = influence - sample.weight @ influence
        inside, votes = np.ones(len(label), dtype=np.bool_), Votes.of_labels(label)
        known = biases(measure, outputs, votes, sample, inside, self.normalised)
        value = measure.value(risk)
        value = less_bias(value, known) if correct_bias else value
        shares = measure.shares(outputs, label)
        gaps = find_gaps(shares, self.row, len(measure.components), shares)
        evidence = [
            Evidence(measure.undefined_without, of_labels or gap, bias=bias)
            for of_labels, bias in zip(gaps, known, strict=True)
        ]
        targets = WHOLE_POOL.targets(measure, Domain()) if targets is None else targets
        return estimate(targets, value, influence, sample, evidence, confidence, methods)
