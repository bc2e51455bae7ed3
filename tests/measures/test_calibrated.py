"""The option of estimation that calibrates weights to known totals."""

import dataclasses

import pytest

from evalsampling.measures import Calibrated, FBeta, Joint, PRCurve, Precision, measure_of


def test_a_calibrated_measure_differs_in_its_names() -> None:
    measure = Precision(positive=2, system=1)
    calibrated = Calibrated(measure)
    assert calibrated.measure == measure
    assert calibrated.name == "precision, calibrated"
    (component,) = calibrated.components
    assert component.name == "precision, calibrated"
    assert dataclasses.replace(component, name="precision") == measure.components[0]
    assert (measure_of(calibrated), measure_of(measure)) == (measure, measure)


def test_what_has_no_known_totals_cannot_be_calibrated() -> None:
    with pytest.raises(ValueError, match="f1 cannot be calibrated"):
        Calibrated(FBeta())
    with pytest.raises(TypeError, match="only a measure"):
        Calibrated("precision")
    with pytest.raises(TypeError, match="only a measure"):
        Calibrated(Calibrated(Precision()))
    with pytest.raises(ValueError, match="17 known totals are too many for a regression"):
        Calibrated(PRCurve(tuple(range(17))))


def test_it_is_no_measure_that_a_sampler_could_sample_for() -> None:
    with pytest.raises(TypeError, match="made of measures"):
        Joint((Precision(), Calibrated(Precision())))
