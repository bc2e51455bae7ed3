"""Joint measures."""

import numpy as np
import pytest

from evalsampling.measures import Accuracy, FBeta, Joint, PRCurve, Precision, Recall
from tests.measures.pools import make_pool, risk_of, value_of


def test_a_joint_measure_is_its_parts_side_by_side() -> None:
    outputs, label = make_pool(0)
    parts = (FBeta(), Precision(system=1), PRCurve((0.0, 0.5), system=1), Accuracy())
    joint = Joint(parts)
    assert (joint.parts, joint.name) == (parts, "joint(f1, precision, pr_curve, accuracy)")
    assert joint.evidence_name == "positives or predicted positives or labels"
    assert joint.size == 2 + 2 + 5 + 1
    assert [(component.name, component.system) for component in joint.components] == [
        ("f1", 0), ("precision", 1), ("pr_curve.precision", 1), ("pr_curve.precision", 1),
        ("pr_curve.recall", 1), ("pr_curve.recall", 1), ("pr_curve.f1", 1), ("pr_curve.f1", 1),
        ("accuracy", 0),
    ]  # fmt: skip
    expected = np.concatenate([value_of(part, outputs, label) for part in parts])
    np.testing.assert_array_equal(value_of(joint, outputs, label), expected)
    slope = joint.jacobian(risk_of(joint, outputs, label))
    np.testing.assert_array_equal(
        slope[1, 2:4], Precision(system=1).jacobian(risk_of(parts[1], outputs, label))[0]
    )
    assert (slope[1, :2] == 0).all()
    assert (slope[1, 4:] == 0).all()


def test_evidence_and_additions_for_any_part_count() -> None:
    outputs, label = make_pool(1)
    joint = Joint((Recall(), Precision()))
    predicted = outputs.prediction[:, 0] == 1
    np.testing.assert_array_equal(joint.evidence(outputs, label), (label == 1) | predicted)
    np.testing.assert_array_equal(joint.adds(outputs, label), (label == 1) | predicted)


def test_an_undefined_part_leaves_the_others_alone() -> None:
    outputs, label = make_pool(2)
    nobody = np.zeros_like(label)
    joint = Joint((Recall(), Precision()))
    risk = risk_of(joint, outputs, nobody)
    np.testing.assert_array_equal(joint.value(risk), [np.nan, 0])
    np.testing.assert_array_equal(np.isnan(joint.jacobian(risk)), [[1] * 4, [0] * 4])
    np.testing.assert_allclose(
        joint.squared_norm(outputs, label, risk), Precision().squared_norm(outputs, label, risk[2:])
    )


def test_a_joint_measure_is_made_of_measures() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Joint(())
    with pytest.raises(TypeError, match="made of measures, got 'f1'"):
        Joint((FBeta(), "f1"))
