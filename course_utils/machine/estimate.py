"""What a run will take, before it starts: hours, money, bytes."""

import math
from collections.abc import Sequence

HOURS_PER_MONTH = 730.0  # 365 days in 12 months; storage is priced per month


def training_hours(steps: int, steps_per_second: float) -> float:
    """Return the hours that `steps` environment steps take at `steps_per_second`.

    Raises ValueError where the speed is not positive: a run that does not move never ends.
    """
    if steps_per_second <= 0:
        raise ValueError(f"steps_per_second must be positive, got {steps_per_second}")
    return steps / steps_per_second / 3600


def rental_cost(
    busy_hours: float,
    idle_hours: float,
    price_per_hour: float,
    storage_gigabytes: float = 0.0,
    price_per_gigabyte_month: float = 0.0,
) -> float:
    """Return what a rented machine costs, in the currency of the prices.

    The meter runs while the machine is attached, busy or not, and storage is paid per gigabyte and month for all of
    that time. A month has 730 hours.
    """
    hours = busy_hours + idle_hours
    storage = storage_gigabytes * price_per_gigabyte_month * hours / HOURS_PER_MONTH
    return hours * price_per_hour + storage


def buffer_bytes(transitions: int, observation_shape: Sequence[int], bytes_per_number: int, copies: int = 1) -> int:
    """Return the bytes of the observations in a buffer of `transitions` entries.

    observation_shape: such as (4, 84, 84); bytes_per_number: 1 for uint8, 4 for float32; copies: 2 where a replay
    buffer keeps the next observation as well.
    """
    return transitions * math.prod(observation_shape) * bytes_per_number * copies
