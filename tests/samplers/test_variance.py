"""What proposals are made of, by hand."""

import numpy as np
import pytest

from evalsampling.errors import InputError
from evalsampling.measures import Accuracy, FBeta
from evalsampling.samplers.variance import loss_norms, losses_by_label


def test_losses_of_every_label() -> None:
    signature = np.array([[0], [1]])
    assert losses_by_label(FBeta(), signature, 2).tolist() == [
        [[0, 0], [0, 0.5]],
        [[0, 0.5], [1, 1]],
    ]
    assert losses_by_label(Accuracy(), signature, 3)[..., 0].tolist() == [[0, 1, 1], [1, 0, 1]]


def test_norms_of_f1_by_hand() -> None:
    """At R = (.2, .5): F = .4, Dg = (2, -.8), so a hit weighs 1.2 and an error .4."""
    losses = losses_by_label(FBeta(), np.array([[0], [1]]), 2)
    norms = loss_norms(FBeta(), np.array([0.2, 0.5]), losses, 1e-9)
    np.testing.assert_allclose(norms, [[0, 0.4], [0.4, 1.2]], rtol=1e-14)


def test_loss_that_the_gradient_ignores_keeps_the_floor() -> None:
    """At F = 1 a hit does not move F1: it weighs the floor, a true negative still nothing."""
    losses = losses_by_label(FBeta(), np.array([[0], [1]]), 2)
    norms = loss_norms(FBeta(), np.array([0.5, 0.5]), losses, 1e-3)
    np.testing.assert_allclose(norms, [[0, 1], [1, 1e-3]], rtol=1e-14)


def test_measure_without_a_gradient_is_an_input_error() -> None:
    with pytest.raises(InputError, match=r"f1 is undefined on this pool \(0/0\)"):
        loss_norms(FBeta(), np.zeros(2), np.ones((1, 2)), 1e-9)
