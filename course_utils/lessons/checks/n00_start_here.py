"""Judges of notebook 00: hours, money and memory of a run, before it starts."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

from course_utils.lessons.checks.compare import call
from course_utils.lessons.exercise import Wrong, exercise
from course_utils.machine import estimate


def _number(result: Any, what: str) -> float:
    if isinstance(result, bool) or not isinstance(result, numbers.Real):
        raise Wrong(f"{what} must be a number, not {type(result).__name__}.")
    return float(result)


def _compare(result: Any, expected: float, mistakes: dict[str, float], asked: str) -> None:
    """Wrong with the mistake whose value was returned, else with the two numbers; `asked` says for which call."""
    value = _number(result, "The result")
    if math.isclose(value, expected, rel_tol=1e-9):
        return
    for message, mistaken in mistakes.items():
        if math.isclose(value, mistaken, rel_tol=1e-9, abs_tol=1e-12):
            raise Wrong(message)
    raise Wrong(f"{asked} should give {expected:,.10g}; yours gives {value:,.10g}.")


@exercise(
    reference=estimate.training_hours,
    points=1,
    hints=(
        "steps divided by steps per second gives seconds.",
        "An hour has 3600 seconds.",
        "return steps / steps_per_second / 3600",
    ),
)
def training_hours(answer: Callable[[int, float], float]) -> None:
    mistakes = {
        "These are seconds. An hour has 3600 of them.": 20_000.0,
        "These are minutes. The name says hours.": 20_000 / 60,
        "It multiplies by the speed. Twice as fast must take half as long.": 10_000_000 * 500 / 3600,
        "It divides the speed by the steps: the other way round.": 500 / 10_000_000 / 3600,
        "The 3600 is on the wrong side: an hour has 3600 seconds, so seconds / 3600 are hours.": 20_000 * 3600,
        "The hours are rounded down. 5.56 hours are not 5.": 5.0,
        "The hours are rounded. Give the exact value and round only for printing.": round(20_000 / 3600, 2),
        "The hours are rounded up. Give the exact value and round only for printing.": 6.0,
    }
    _compare(call(answer, 10_000_000, 500), 20_000 / 3600, mistakes, "10 million steps at 500 per second")
    _compare(call(answer, 1_800, 0.5), 1.0, {}, "1,800 steps at 0.5 per second")
    _compare(call(answer, 0, 100.0), 0.0, {}, "No steps at all")


@exercise(
    reference=estimate.rental_cost,
    points=2,
    hints=(
        "The meter runs while the machine is attached: busy and idle hours cost the same.",
        "Storage: gigabytes times price per gigabyte and month times months. How many months are the hours?",
        "hours = busy_hours + idle_hours; the storage part is ... * hours / 730.",
    ),
)
def rental_cost(answer: Callable[..., float]) -> None:
    mistakes = {
        "Idle hours are missing. The meter runs while the machine is attached, whether it works or not.": 8.0,
        "Only the idle hours are paid for. Busy ones cost as much.": 40.0,
        "Idle hours are taken off. They cost as much as busy ones.": -32.0,
    }
    _compare(call(answer, 2.0, 10.0, 4.0), 48.0, mistakes, "2 busy and 10 idle hours at 4.00 an hour")
    mistakes = {
        "Storage is not counted.": 146.0,
        "Storage is priced per month, and it is counted once per hour here: divide the hours by 730.": 146
        + 50 * 0.5 * 73,
        "Storage is counted for a whole month, however short the rental is.": 146 + 25.0,
        "The storage price is per gigabyte: multiply by the gigabytes.": 146 + 0.5 * 73 / 730,
        "Storage is paid for idle hours too: use all hours, not the busy ones.": 146 + 25 * 70 / 730,
        "Storage is paid for busy hours too: use all hours, not the idle ones.": 146 + 25 * 3 / 730,
        "A month has 730 hours (365 days in 12 months), not 720.": 146 + 25 * 73 / 720,
        "A month has 730 hours (365 days in 12 months), not 24 or 30.": 146 + 25 * 73 / 30,
        "The hours of a month are missing a division by 24 or by 30: use 730.": 146 + 25 * 73 / 24,
    }
    _compare(
        call(answer, 70.0, 3.0, 2.0, 50.0, 0.5),
        148.5,
        mistakes,
        "70 busy and 3 idle hours at 2.00, with 50 GB at 0.50 per GB and month",
    )
    _compare(call(answer, 0.0, 730.0, 0.0, 100.0, 0.08), 8.0, {}, "A month of 100 GB at 0.08 and a free machine")


@exercise(
    reference=estimate.buffer_bytes,
    points=2,
    hints=(
        "How many numbers are in one observation of shape (4, 84, 84)? math.prod multiplies them.",
        "Bytes = entries x numbers per observation x bytes per number.",
        "A replay buffer that keeps the next observation as well holds everything twice: copies.",
    ),
)
def buffer_bytes(answer: Callable[..., int]) -> None:
    size = 1_024 * 4 * 84 * 84
    mistakes = {
        "The sides of the observation are added. A 84 x 84 picture has 84 times 84 numbers.": 1_024 * (4 + 84 + 84),
        "Only the first number of the shape is used.": 1_024 * 4,
        "The number of transitions is not used.": 4 * 84 * 84,
        "These are bits. A byte has 8 of them.": size * 8,
        "These are kilobytes or megabytes. The name says bytes.": size / 1024,
        "These are megabytes. The name says bytes.": size / 1e6,
        "These are megabytes (MiB). The name says bytes.": size / 2**20,
        "The length of the shape is used instead of the product of its numbers.": 1_024 * 3,
    }
    _compare(call(answer, 1_024, (4, 84, 84), 1), size, mistakes, "1,024 frames of 4 x 84 x 84 bytes")
    mistakes = {"The bytes per number are not used: float32 takes 4.": 1_000 * 12}
    _compare(call(answer, 1_000, (3, 4), 4), 48_000, mistakes, "1,000 observations of 3 x 4 float32 numbers")
    mistakes = {"copies is not used: a second copy takes as much again.": 4_000}
    _compare(call(answer, 1_000, (4,), 1, 2), 8_000, mistakes, "1,000 observations of 4 bytes, kept twice")
    result = call(answer, 10, (5,), 4)
    if not isinstance(result, int):
        raise Wrong(f"The number of bytes is a whole number: return an int, not {type(result).__name__}.")
