"""The least and the greatest of a measure over slices."""

import re

import numpy as np
import pytest

from evalsampling.measures import Greatest, Least, Recall, Sliced
from evalsampling.measures.comparisons import is_aimed_at
from tests.measures.pools import build, pool_with_slices, risk_of, value_of

OVER = {"country": ("DE", "FR")}
SLICES = [Sliced(Recall(), {"country": value}) for value in OVER["country"]]


@pytest.mark.parametrize(("extreme", "pick"), [(Least, min), (Greatest, max)])
def test_value_and_derivative_are_those_of_the_extreme_slice(extreme: type, pick: type) -> None:
    outputs, label, _ = pool_with_slices()
    measure = extreme(Recall(), OVER)
    values = [float(value_of(part, outputs, label)[0]) for part in SLICES]
    assert values[0] != values[1]
    assert value_of(measure, outputs, label).tolist() == [pick(values)]
    place = values.index(pick(values))
    risk = risk_of(measure, outputs, label)
    expected = np.zeros((1, 4))
    expected[0, 2 * place :][:2] = SLICES[place].jacobian(risk[2 * place :][:2])[0]
    np.testing.assert_allclose(measure.jacobian(risk), expected)


def test_undefined_where_a_slice_is() -> None:
    outputs, label, _ = pool_with_slices()
    without = ~(outputs.within({"country": ("FR",)}) & (label == 1))
    measure = Least(Recall(), OVER)
    risk = risk_of(measure, outputs.take(without), label[without])
    assert np.isnan(measure.value(risk)).all()
    assert np.isnan(measure.jacobian(risk)).all()


def test_rows_are_drawn_for_all_slices() -> None:
    measure = Least(Recall(), OVER)
    driver = measure.drawn_for
    assert driver.parts == tuple(SLICES)  # type: ignore[attr-defined]
    assert is_aimed_at(measure, driver)
    assert not is_aimed_at(Least(Recall(), {**OVER, "device": ("phone",)}), driver)
    assert Recall().drawn_for == Recall()


def test_slices_of_a_slice_are_the_rows_in_both() -> None:
    measure = Least(Sliced(Recall(), {"device": "phone"}), OVER)
    assert [part.name for part in measure.parts] == [
        f"recall(device=phone, country={value})" for value in OVER["country"]
    ]


def test_bad_ones_are_refused() -> None:
    with pytest.raises(ValueError, match="least needs two slices or more"):
        Least(Recall(), {"country": "DE"})
    with pytest.raises(ValueError, match="greatest is of a measure of one number, pr_curve is"):
        Greatest(build("pr_curve"), OVER)
    with pytest.raises(ValueError, match=re.escape("recall(country=DE) is of one slice")):
        Least(SLICES[0], OVER)
