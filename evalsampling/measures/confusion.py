"""The confusion matrix: what share of the pool is of each class and predicted each class."""

import dataclasses

import numpy as np

from evalsampling.measures.base import PREDICTION, Component, Mean, Share, with_suffix
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class ConfusionMatrix(Mean):
    """Shares of all rows: l = [y_c f_d (C x C)], g(R) = R. Always defined.

    The components go through the labels, and for each label through the predictions; they sum to 1.

    Attributes:
        classes: number of classes C, at least 2.
        system: number of the system it is about.
        titles: names of the classes; their codes if empty.
    """

    classes: int
    system: int = 0
    titles: tuple[str, ...] = ()
    name = "confusion_matrix"
    looks_at = PREDICTION

    @property
    def components(self) -> tuple[Component, ...]:
        """A component ``confusion_matrix[label as prediction]`` for each label and prediction."""
        return tuple(
            Component(
                with_suffix(self.name, f"[{label} as {prediction}]"), self.bounds, self.system
            )
            for label in self._titles
            for prediction in self._titles
        )

    @property
    def _titles(self) -> tuple[str, ...]:
        return self.titles or tuple(map(str, range(self.classes)))

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Return 1 in the place of label and prediction, shape (n, C^2)."""
        place = label * self.classes + outputs.prediction[:, self.system]
        return np.asarray(place[:, None] == np.arange(self.classes**2)).astype(np.float64)

    def shares(self, outputs: Outputs, label: IntArray) -> tuple[Share, ...]:
        """Return, for each component, the share of its class among the rows predicted so."""
        predicted = outputs.prediction[:, self.system]
        return tuple(
            Share(
                name=f"share of class {true_title} among rows predicted {guess_title}",
                rows_name=f"rows predicted {guess_title}",
                rows=predicted == guess,
                hits=label == true,
                hit_name=f"row of class {true_title}",
                miss_name="row of another class",
                components=(true * self.classes + guess, true * self.classes + guess + 1),
            )
            for true, true_title in enumerate(self._titles)
            for guess, guess_title in enumerate(self._titles)
        )
