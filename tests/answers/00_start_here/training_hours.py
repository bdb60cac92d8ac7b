# %% right: plain
def training_hours(steps, steps_per_second):
    return steps / steps_per_second / 3600

# %% right: through seconds and minutes
def training_hours(steps, steps_per_second):
    seconds = steps / steps_per_second
    minutes = seconds / 60
    return minutes / 60

# %% right: steps per hour
def training_hours(steps: int, steps_per_second: float) -> float:
    return float(steps) / (steps_per_second * 60 * 60)

# %% wrong: seconds -> These are seconds
def training_hours(steps, steps_per_second):
    return steps / steps_per_second

# %% wrong: minutes -> These are minutes
def training_hours(steps, steps_per_second):
    return steps / steps_per_second / 60

# %% wrong: multiplied -> It multiplies by the speed
def training_hours(steps, steps_per_second):
    return steps * steps_per_second / 3600

# %% wrong: upside down -> the other way round
def training_hours(steps, steps_per_second):
    return steps_per_second / steps / 3600

# %% wrong: whole hours -> rounded down
def training_hours(steps, steps_per_second):
    return steps // steps_per_second // 3600

# %% wrong: rounded -> The hours are rounded
def training_hours(steps, steps_per_second):
    return round(steps / steps_per_second / 3600, 2)

# %% wrong: text -> must be a number
def training_hours(steps, steps_per_second):
    return f"{steps / steps_per_second / 3600:.1f} h"

# %% wrong: printed -> returns None
def training_hours(steps, steps_per_second):
    print(steps / steps_per_second / 3600)
