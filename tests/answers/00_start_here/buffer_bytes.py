import math

import numpy as np

# %% right: prod
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number * copies

# %% right: loop
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    size = transitions * bytes_per_number * copies
    for side in observation_shape:
        size *= side
    return size

# %% right: numpy
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return int(np.prod(observation_shape, dtype=np.int64)) * transitions * bytes_per_number * copies

# %% wrong: sides added -> sides of the observation are added
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * sum(observation_shape) * bytes_per_number * copies

# %% wrong: bits -> These are bits
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number * copies * 8

# %% wrong: megabytes -> These are megabytes
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number * copies / 1e6

# %% wrong: dtype forgotten -> bytes per number are not used
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * copies

# %% wrong: copies forgotten -> copies is not used
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number

# %% wrong: length of the shape -> length of the shape
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * len(observation_shape) * bytes_per_number * copies

# %% wrong: a float -> whole number
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return float(transitions * math.prod(observation_shape) * bytes_per_number * copies)
