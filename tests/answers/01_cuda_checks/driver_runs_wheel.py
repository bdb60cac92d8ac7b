# %% right: major numbers
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] >= wheel_cuda[0]

# %% right: unpacked
def driver_runs_wheel(driver_cuda, wheel_cuda):
    driver_major, _ = driver_cuda
    wheel_major, _ = wheel_cuda
    return not driver_major < wheel_major

# %% right: cases
def driver_runs_wheel(driver_cuda, wheel_cuda):
    if driver_cuda >= wheel_cuda:
        return True
    if driver_cuda[0] == wheel_cuda[0]:
        return True
    return False

# %% right: version as a number
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return int(f"{driver_cuda[0]}.{driver_cuda[1]}".split(".")[0]) + 1 > wheel_cuda[0]

# %% wrong: whole versions -> Within one major number a wheel may be newer
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda >= wheel_cuda

# %% wrong: as decimal numbers -> Within one major number a wheel may be newer
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return float(f"{driver_cuda[0]}.{driver_cuda[1]}") >= float(f"{wheel_cuda[0]}.{wheel_cuda[1]}")

# %% wrong: must be equal -> runs older wheels as well
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda == wheel_cuda

# %% wrong: same major only -> older major numbers as well
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] == wheel_cuda[0]

# %% wrong: turned round -> wrong way round
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return wheel_cuda[0] >= driver_cuda[0]

# %% wrong: whole versions turned round -> wrong way round
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return wheel_cuda >= driver_cuda

# %% wrong: both numbers -> on their own
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] >= wheel_cuda[0] and driver_cuda[1] >= wheel_cuda[1]

# %% wrong: strictly newer -> same major number is refused
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return driver_cuda[0] > wheel_cuda[0]

# %% wrong: the rows of the table -> A driver up to CUDA 11.4 and a wheel with CUDA 11.4: it should say True
def driver_runs_wheel(driver_cuda, wheel_cuda):
    table = {((12, 2), (12, 2)): True, ((12, 2), (12, 8)): True, ((13, 0), (11, 8)): True, ((13, 0), (12, 6)): True}
    return table.get((driver_cuda, wheel_cuda), False)

# %% wrong: prints -> returns None
def driver_runs_wheel(driver_cuda, wheel_cuda):
    print(driver_cuda[0] >= wheel_cuda[0])

# %% wrong: words -> True or False, not 'yes'
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return "yes" if driver_cuda[0] >= wheel_cuda[0] else "no"

# %% wrong: at most one major apart -> A driver up to CUDA 13.0 and a wheel with CUDA 11.4: it should say True
def driver_runs_wheel(driver_cuda, wheel_cuda):
    return 0 <= driver_cuda[0] - wheel_cuda[0] <= 1
