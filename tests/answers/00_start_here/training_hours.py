import math
from datetime import timedelta

import numpy as np

# %% right: plain
def training_hours(steps, steps_per_second):
    return steps / steps_per_second / 3600

# %% right: steps per hour
def training_hours(steps: int, steps_per_second: float) -> float:
    return float(steps) / (steps_per_second * 60 * 60)

# %% right: one constant
SECONDS_PER_HOUR = 60 * 60
def training_hours(steps: int, steps_per_second: float) -> float:
    return float(steps) / (steps_per_second * SECONDS_PER_HOUR)

# %% right: through minutes
def training_hours(steps, steps_per_second):
    minutes = np.divide(steps, steps_per_second) / 60.0
    hours = minutes / 60.0
    return hours

# %% right: timedelta
def training_hours(steps, steps_per_second):
    return timedelta(seconds=steps / steps_per_second) / timedelta(hours=1)

# %% wrong: multiplied -> It multiplies by the speed
def training_hours(steps, steps_per_second):
    return steps * steps_per_second / 3600

# %% wrong: rounded -> The hours are rounded. Give the exact value and round only for printing
def training_hours(steps, steps_per_second):
    return round(steps / steps_per_second / 3600, 2)

# %% wrong: steps per hour cut to an int -> Is there an int() or a // in it?
def training_hours(steps, steps_per_second):
    return steps / int(steps_per_second * 3600)

# %% wrong: seconds -> These are seconds. An hour has 3600 of them
def training_hours(steps, steps_per_second):
    return steps / steps_per_second

# %% wrong: minutes -> These are minutes. The name says hours
def training_hours(steps, steps_per_second):
    return steps / steps_per_second / 60

# %% wrong: days -> These are days. The name says hours
def training_hours(steps, steps_per_second):
    return steps / steps_per_second / 3600 / 24

# %% wrong: floor division -> The hours are rounded down. 5.56 hours are not 5
def training_hours(steps, steps_per_second):
    return steps // steps_per_second // 3600

# %% wrong: precedence slip -> The 3600 is on the wrong side: an hour has 3600 seconds, so seconds / 3600 are hours
def training_hours(steps, steps_per_second):
    return steps / steps_per_second * 60 * 60

# %% wrong: upside down -> It divides the speed by the steps: the other way round
def training_hours(steps, steps_per_second):
    return steps_per_second / steps / 3600

# %% wrong: prints instead of returns -> It returns None. Is a return missing?
def training_hours(steps, steps_per_second):
    print(steps / steps_per_second / 3600, "hours")

# %% wrong: rounded for display -> The hours are rounded. Give the exact value and round only for printing
def training_hours(steps, steps_per_second):
    return round(steps / steps_per_second / 3600, 1)

# %% wrong: hard coded the example of the text -> 1,800 steps at 0.5 per second should give 1; yours gives 5.555555556
def training_hours(steps, steps_per_second):
    steps = 10_000_000
    steps_per_second = 500
    return steps / steps_per_second / 3600

# %% wrong: returns a string -> The result must be a number, not str
def training_hours(steps, steps_per_second):
    return f"{steps / steps_per_second / 3600:.2f} h"

# %% wrong: ceil -> The hours are rounded up. Give the exact value and round only for printing
def training_hours(steps, steps_per_second):
    return math.ceil(steps / steps_per_second / 3600)

# %% wrong: 360 for 3600 -> It divides by 360. An hour has 3600 seconds
def training_hours(steps, steps_per_second):
    return steps / steps_per_second / 360
