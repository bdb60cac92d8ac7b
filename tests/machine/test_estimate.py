"""Estimates against arithmetic done by hand."""

import pytest

from course_utils.machine.estimate import buffer_bytes, rental_cost, training_hours


def test_hours_of_a_million_steps():
    assert training_hours(1_000_000, 1_000) == pytest.approx(1_000 / 3_600)
    with pytest.raises(ValueError, match="must be positive"):
        training_hours(1, 0)


def test_idle_hours_cost_as_much_as_busy_ones():
    assert rental_cost(2, 10, 6.0) == 72.0
    assert rental_cost(730, 0, 0.0, 100, 0.08) == pytest.approx(8.0)


def test_buffers_of_pixels():
    assert buffer_bytes(8 * 128, (4, 84, 84), 1) == 28_901_376
    assert buffer_bytes(1_000_000, (4, 84, 84), 1, copies=2) == 56_448_000_000
    assert buffer_bytes(1, (), 4) == 4
