"""Labels that are angles, ``labels: {space: angles}``, and a measure of them, ``mean_turn``."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from evalsampling.label_spaces.base import Columns, Field, InSpec, LabelSpace, System, UnlistedCodes
from evalsampling.measures.base import Mean
from evalsampling.stats.outputs import Outputs

FIRST, CIRCLE = 2, 360
"""Code of 0 degrees, after those of the two outcomes that scores expect; degrees of a circle."""


@dataclasses.dataclass(frozen=True)
class Angles(LabelSpace):
    """Directions in whole degrees. Scores are chances that a prediction is far off."""

    kind: ClassVar[str] = "angles"
    in_spec: ClassVar[InSpec] = InSpec(
        measure="mean_turn",
        sampler="active_risk",
        are="labels are angles",
        refusal="is about classes; of angles there is mean_turn",
    )
    has_classes: ClassVar[bool] = False
    positive: ClassVar[int] = 1
    names: ClassVar[tuple[str, ...]] = ()
    outcomes: ClassVar[tuple[str, ...]] = ("near", "far")
    words: ClassVar[str] = "the angles from 0 to 359"

    def to_mapping(self) -> dict[str, Any]:
        """Return nothing: the spec names it by ``space``."""
        return {}

    @functools.cached_property
    def codes(self) -> Mapping[str, int]:
        """The code of each angle by its text."""
        return UnlistedCodes(lambda text: FIRST + int(text) % CIRCLE if text.isdecimal() else None)

    def text(self, code: int) -> str:
        """Return the angle of a code."""
        return str(code - FIRST)

    def problem(self, text: str) -> str:
        """Return why a text is no angle."""
        return f"label {text!r} is no angle in whole degrees"

    @property
    def field(self) -> Field:
        """An angle."""
        return Field("an angle", form="in whole degrees, from 0 to 359", ends=("0", "359"))

    def predictions(self, rows: Columns, system: System, score: Any) -> npt.NDArray[np.int64]:
        """Return the codes of the angles predicted."""
        return FIRST + rows.numbers(str(system.prediction)).astype(np.int64) % CIRCLE

    def signed(self, predictions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return zeros: cells know nothing of the angles predicted."""
        return np.zeros_like(predictions)

    def probabilities(
        self, rows: Columns, named: Any, rule: str, score: Any
    ) -> npt.NDArray[np.float64]:
        """Return the chances that predictions are near and far off, shape (n, 2)."""
        return np.stack([1 - score, score], axis=1)


@dataclasses.dataclass(frozen=True)
class MeanTurn(Mean):
    """Mean turn from the predicted angle to the right one, in half circles.

    Attributes:
        system: number of the system it is about.
    """

    system: int = 0
    name = "mean_turn"
    label_kinds = frozenset({"angles"})
    looks_at = frozenset({"prediction", "score"})
    bounds = (0.0, 1.0)

    def loss(self, outputs: Outputs, label: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the turn of each row, shape (n, 1); half of the most where it is expected far."""
        apart = np.abs(outputs.prediction[:, self.system] - label)
        turn = np.minimum(apart, CIRCLE - apart) / (CIRCLE / 2)
        return np.where(label < FIRST, 0.5 * label, turn)[:, None]
