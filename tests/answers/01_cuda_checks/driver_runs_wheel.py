# %% right: compare the majors
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] >= wheel_cuda[0]

# %% right: unpack and branch
def driver_runs_wheel(driver_cuda, wheel_cuda):
    driver_major, _ = driver_cuda
    wheel_major, _ = wheel_cuda
    if driver_major < wheel_major:
        return False
    return True

# %% right: tuples, the wheel's minor set to 0
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return tuple(driver_cuda) >= (wheel_cuda[0], 0)

# %% right: newer, or the same family
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda >= wheel_cuda or driver_cuda[0] == wheel_cuda[0]

# %% wrong: whole versions compared -> It compares the whole numbers
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda >= wheel_cuda

# %% wrong: majors must be equal -> It asks for equal major numbers
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] == wheel_cuda[0]

# %% wrong: strictly newer -> A driver with the same major number is refused
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] > wheel_cuda[0]

# %% wrong: the wrong way round -> It is the wrong way round: a new driver runs an old wheel
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return wheel_cuda[0] >= driver_cuda[0]

# %% wrong: compares as decimals -> A driver up to CUDA 11.4 and a wheel with CUDA 11.4: it should say True
def driver_runs_wheel(driver_cuda, wheel_cuda):
    driver = float(f"{driver_cuda[0]}.{driver_cuda[1]}")
    wheel = float(f"{wheel_cuda[0]}.{wheel_cuda[1]}")
    return int(driver) >= wheel

# %% wrong: forgot return -> It returns None
def driver_runs_wheel(driver_cuda, wheel_cuda):
    driver_cuda[0] >= wheel_cuda[0]

# %% wrong: both numbers must be at least -> It compares the numbers after the dot on their own
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] >= wheel_cuda[0] and driver_cuda[1] >= wheel_cuda[1]

# %% wrong: at most one major behind -> A driver up to CUDA 13.0 and a wheel with CUDA 11.4: it should say True
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] - wheel_cuda[0] in (0, 1)

# %% wrong: the table typed in -> A driver up to CUDA 11.4 and a wheel with CUDA 11.4: it should say True
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return (driver_cuda, wheel_cuda) in [
        ((12, 2), (12, 2)),
        ((12, 2), (12, 8)),
        ((13, 0), (11, 8)),
        ((13, 0), (12, 6)),
    ]

# %% wrong: returns a word -> return True or False, not 'yes'
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return "yes" if driver_cuda[0] >= wheel_cuda[0] else "no"

# %% wrong: reads its own machine -> It always says False. Use the two arguments
def driver_runs_wheel(driver_cuda, wheel_cuda):
    import torch

    return torch.cuda.is_available()

# %% wrong: minor only when majors equal -> A driver up to CUDA 11.8 and a wheel with CUDA 11.4: it should say True
def driver_runs_wheel(driver_cuda, wheel_cuda):
    if driver_cuda[0] == wheel_cuda[0]:
        return driver_cuda[1] <= wheel_cuda[1]
    return driver_cuda[0] > wheel_cuda[0]

# %% wrong: always True -> It always says True. Use the two arguments
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return True

# %% wrong: newer, or both 12 -> A driver up to CUDA 11.4 and a wheel with CUDA 11.8: it should say True
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda >= wheel_cuda or (driver_cuda[0] == 12 and wheel_cuda[0] == 12)

# %% wrong: splits at the dot -> A version is a pair of numbers, not a text: driver_cuda[0] is its first. (line
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return int(driver_cuda.split(".")[0]) >= int(wheel_cuda.split(".")[0])

# %% wrong: must be equal -> runs older wheels as well
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda == wheel_cuda

# %% wrong: whole versions turned round -> wrong way round
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return wheel_cuda >= driver_cuda

# %% right: numpy's own truth value
import numpy as np
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return np.greater_equal(driver_cuda, wheel_cuda)[0]
