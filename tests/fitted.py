"""Curves that earlier tests of a process fitted to the same labels, which would take as long again.

They are copied in rooms whose tests are about something else; who tests the model fits it.
"""

import contextlib
import hashlib
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evalsampling.inference.calibration_curve import (
    SCHEDULE,
    CalibrationCurve,
    CurveDraws,
    CurveFit,
    GroupLabels,
)
from evalsampling.stats.hamiltonian import Schedule


class FittedBefore:
    """What was fitted to labels, and what was drawn from that, by all that they depend on."""

    def __init__(self) -> None:
        self._known = dict[bytes, tuple[Any, ...]]()

    @contextlib.contextmanager
    def copied(self) -> Iterator[None]:
        """Copy, within the block, what was fitted and drawn before."""
        fitted, drawn, known = CalibrationCurve.fit, CurveFit.draw, self._known

        def fit(curve: CalibrationCurve, labelled: Any, positive: Any) -> CurveFit:
            key = _key(_parts(curve), labelled, positive)
            if key not in known:
                new = fitted(curve, labelled, positive)
                known[key] = new.mode, new.information, new.height, new.modes
            labels = GroupLabels.from_cells(curve, labelled, positive)
            return CurveFit(curve, labels, *known[key])

        def draw(
            fit: CurveFit, rng: np.random.Generator, schedule: Schedule = SCHEDULE
        ) -> CurveDraws:
            labels = fit.labels.group, fit.labels.positive, fit.labels.negative
            near = fit.mode, fit.information, fit.modes
            key = _key(_parts(fit.curve), labels, near, rng.bit_generator.state, schedule)
            if key not in known:
                new = drawn(fit, rng, schedule)
                known[key] = new.z, new.r_hat
            z, r_hat = known[key]
            return CurveDraws(fit.curve.at(z), r_hat)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(CalibrationCurve, "fit", fit)
            patch.setattr(CurveFit, "draw", draw)
            yield


def _parts(curve: CalibrationCurve) -> tuple[Any, ...]:
    return curve.group, curve.weight, curve.share, curve.effect, curve.step, curve.hidden


def _key(*parts: Any) -> bytes:
    return hashlib.sha256(pickle.dumps(parts)).digest()
