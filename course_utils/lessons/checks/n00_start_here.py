"""Judges of notebook 00: hours, money and memory of a run, before it starts."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from typing import Any

from course_utils.lessons.checks.compare import call, explained
from course_utils.lessons.exercise import Wrong, exercise
from course_utils.machine import estimate


def _compare(result: Any, expected: float, mistakes: Mapping[str, float | tuple[float, ...]], asked: str) -> None:
    """Wrong with the mistake whose value was returned, else with the two numbers; `asked` says for which call."""
    if isinstance(result, bool) or not isinstance(result, numbers.Real):
        raise Wrong(f"The result must be a number, not {type(result).__name__}.")
    value = float(result)
    if math.isclose(value, expected, rel_tol=1e-9):
        return
    for message, mistaken in mistakes.items():
        values = mistaken if isinstance(mistaken, tuple) else (mistaken,)
        if any(math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12) for other in values):
            raise Wrong(message)
    raise Wrong(f"{asked} should give {expected:,.10g}; yours gives {value:,.10g}.")


def _rounded(exact: float) -> tuple[float, ...]:
    return tuple(round(exact, digits) for digits in range(1, 9))


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
    seconds = 20_000.0
    mistakes = {
        "These are seconds. An hour has 3600 of them.": seconds,
        "These are minutes. The name says hours.": seconds / 60,
        "These are days. The name says hours.": seconds / 3600 / 24,
        "It divides by 360. An hour has 3600 seconds.": seconds / 360,
        "It multiplies by the speed. Twice as fast must take half as long.": 10_000_000 * 500 / 3600,
        "It divides the speed by the steps: the other way round.": 500 / 10_000_000 / 3600,
        "The 3600 is on the wrong side: an hour has 3600 seconds, so seconds / 3600 are hours.": seconds * 3600,
        "The hours are rounded down. 5.56 hours are not 5.": 5.0,
        "The hours are rounded up. Give the exact value and round only for printing.": 6.0,
        "The hours are rounded. Give the exact value and round only for printing.": _rounded(seconds / 3600),
    }
    _compare(call(answer, 10_000_000, 500), seconds / 3600, mistakes, "10 million steps at 500 per second")
    _compare(call(answer, 1_800, 0.5), 1.0, {}, "1,800 steps at 0.5 per second")
    _compare(call(answer, 0, 100.0), 0.0, {}, "No steps at all")
    cut = (10_000 / int(12.3456 * 3600), 10_000 // 12.3456 / 3600, 10_000 / 12 / 3600)
    mistakes = {"A fraction is cut off on the way. Is there an int() or a // in it?": cut}
    _compare(call(answer, 10_000, 12.3456), 10_000 / 12.3456 / 3600, mistakes, "10,000 steps at 12.3456 per second")


def _storage_mistakes(busy: float, idle: float, price: float, gigabytes: float, monthly: float) -> dict[str, float]:
    """What the whole bill comes to for each way to get the storage wrong."""
    hours, full = busy + idle, gigabytes * monthly
    parts = {
        "Storage is priced per month, and it is counted once per hour here: divide the hours by 730.": full * hours,
        "Storage is counted for a whole month, however short the rental is.": full,
        "The storage price is per gigabyte: multiply by the gigabytes.": monthly * hours / 730,
        "The price of the storage is not used.": gigabytes * hours / 730,
        "Storage is paid for idle hours too: use all hours, not the busy ones.": full * busy / 730,
        "Storage is paid for busy hours too: use all hours, not the idle ones.": full * idle / 730,
        "A month has 730 hours (365 days in 12 months), not 720.": full * hours / 720,
        "A month has 730 hours (365 days in 12 months), not 30.": full * hours / 30,
        "A month has 730 hours (365 days in 12 months), not 24.": full * hours / 24,
        "The 730 is on the wrong side: hours / 730 are months.": full * hours * 730,
    }
    return {message: hours * price + storage for message, storage in parts.items()}


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
        "Only some of the hours are multiplied by the price. Are brackets missing around busy + idle?": (42.0, 18.0),
        "Busy and idle hours are multiplied. Add them.": 80.0,
        "The machine is divided by 730 too. Its price is per hour; only that of the storage is per month.": 48 / 730,
    }
    _compare(call(answer, 2.0, 10.0, 4.0), 48.0, mistakes, "2 busy and 10 idle hours at 4.00 an hour")

    # First a whole month, where whole months are right: what rounds months down differs only in the next case.
    month = (511.0, 219.0, 2.0, 100.0, 0.08)
    mistakes = {"Storage is not counted: 730 hours of it cost nothing.": 1460.0} | _storage_mistakes(*month)
    _compare(call(answer, *month), 1468.0, mistakes, "730 hours at 2.00, with 100 GB at 0.08 per GB and month")
    short = (70.0, 3.0, 2.0, 50.0, 0.5)
    mistakes = {
        "73 hours of storage cost nothing, a whole month does. Are the months rounded to 0 (// or int)?": 146.0
    } | _storage_mistakes(*short)
    _compare(call(answer, *short), 148.5, mistakes, "73 hours at 2.00, with 50 GB at 0.50 per GB and month")
    exact = 0.75 * 1.99 + 33 * 0.07 * 0.75 / 730
    mistakes = {"The cost is rounded. Give the exact value and round only for printing.": _rounded(exact)}
    _compare(call(answer, 0.5, 0.25, 1.99, 33.0, 0.07), exact, mistakes, "45 minutes at 1.99, with 33 GB at 0.07")


WHOLE_SHAPE = "A shape may have any length. Multiply all its numbers, with a loop or math.prod."
ALLOCATES = "It makes the buffer to measure it, and this one is larger than any memory. Only multiply."
OVERFLOW = "The number is too large for 32 bits and wraps around. Use Python's int, or int64."


@exercise(
    reference=estimate.buffer_bytes,
    points=2,
    hints=(
        "How many numbers are in one observation of shape (4, 84, 84)? math.prod multiplies them.",
        "Bytes = entries x numbers per observation x bytes per number.",
        "A replay buffer that keeps the next observation as well holds everything twice: copies.",
    ),
)
@explained(
    {
        "values to unpack": WHOLE_SHAPE,
        "tuple index out of range": WHOLE_SHAPE,
        "Unable to allocate": ALLOCATES,
        "MemoryError": ALLOCATES,
        "can't allocate memory": ALLOCATES,
        "array is too big": ALLOCATES,
        "out of bounds for int32": OVERFLOW,
    }
)
def buffer_bytes(answer: Callable[..., int]) -> None:
    size = 1_024 * 4 * 84 * 84
    units = tuple(size / unit for unit in (1e3, 1e6, 1e9, 2**10, 2**20, 2**30))
    mistakes = {
        "The sides of the observation are added. A 84 x 84 picture has 84 times 84 numbers.": 1_024 * (4 + 84 + 84),
        "Only the first number of the shape is used.": 1_024 * 4,
        "The first number of the shape is not used. Multiply all of them.": 1_024 * 84 * 84,
        "The number of transitions is not used.": 4 * 84 * 84,
        "These are bits. A byte has 8 of them.": size * 8,
        "These are kilobytes, megabytes or gigabytes. The name says bytes.": units,
        "The length of the shape is used instead of the product of its numbers.": 1_024 * 3,
    }
    _compare(call(answer, 1_024, (4, 84, 84), 1), size, mistakes, "1,024 frames of 4 x 84 x 84 bytes")
    mistakes = {"The bytes per number are not used: float32 takes 4.": 1_000 * 12}
    _compare(call(answer, 1_000, (3, 4), 4), 48_000, mistakes, "1,000 observations of 3 x 4 float32 numbers")
    mistakes = {
        "copies is not used: a second copy takes as much again.": 16_000,
        "copies is used as a power. A second copy takes as much again: multiply.": 4_000 * 4**2,
        "The second copy adds one observation. It holds as many as the first: multiply.": 1_001 * 16,
    }
    _compare(call(answer, 1_000, (4,), 4, 2), 32_000, mistakes, "1,000 observations of 4 float32 numbers, kept twice,")
    size = 10**12 * 4 * 84 * 84 * 2
    result = call(answer, 10**12, (4, 84, 84), 1, 2)
    if result != size and (result - size) % 2**32 == 0:
        raise Wrong(OVERFLOW)
    _compare(result, size, {}, "A million million frames of 4 x 84 x 84 bytes, kept twice,")
    result = call(answer, 10, (5,), 4)
    if not isinstance(result, numbers.Integral):
        raise Wrong(f"The number of bytes is a whole number: return an int, not {type(result).__name__}.")
