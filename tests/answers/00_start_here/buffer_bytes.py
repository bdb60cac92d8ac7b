import functools
import math
import operator

import numpy as np
import torch

# %% right: prod
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number * copies

# %% right: numpy
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return int(np.prod(observation_shape, dtype=np.int64)) * transitions * bytes_per_number * copies

# %% right: loop
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    size = bytes_per_number
    for dim in observation_shape:
        size *= dim
    return size * transitions * copies

# %% right: torch Size numel
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    n = torch.Size(observation_shape).numel()
    return int(n * bytes_per_number) * transitions * copies

# %% right: np.prod without cast
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * np.prod(observation_shape) * bytes_per_number * copies

# %% right: reduce
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return functools.reduce(operator.mul, observation_shape, 1) * transitions * bytes_per_number * copies

# %% wrong: megabytes -> These are kilobytes, megabytes or gigabytes
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number * copies / 1e6

# %% wrong: dtype forgotten -> The bytes per number are not used: float32 takes 4
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * copies

# %% wrong: a float -> The number of bytes is a whole number: return an int, not float
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return float(transitions * math.prod(observation_shape) * bytes_per_number * copies)

# %% wrong: allocates zeros lazily -> It makes the buffer to measure it, and this one is larger than any memory
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    dtype = {1: np.uint8, 4: np.float32}[bytes_per_number]
    return np.zeros((transitions, *observation_shape), dtype).nbytes * copies

# %% wrong: really allocates the buffer -> It makes the buffer to measure it, and this one is larger than any memory
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    dtype = np.uint8 if bytes_per_number == 1 else np.float32
    buffer = np.ones((copies, transitions, *observation_shape), dtype=dtype)
    return buffer.nbytes

# %% wrong: sum of the shape -> The sides of the observation are added
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * sum(observation_shape) * bytes_per_number * copies

# %% wrong: unpacks exactly three dims -> Multiply all its numbers, with a loop or math.prod
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    c, h, w = observation_shape
    return transitions * c * h * w * bytes_per_number * copies

# %% wrong: range(3) over the shape -> A shape may have any length
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    n = 1
    for i in range(3):
        n *= observation_shape[i]
    return transitions * n * bytes_per_number * copies

# %% wrong: forgets copies -> copies is not used: a second copy takes as much again
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number

# %% wrong: bits instead of bytes -> These are bits. A byte has 8 of them
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number * 8 * copies

# %% wrong: gigabytes -> These are kilobytes, megabytes or gigabytes
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number * copies / 1e9

# %% wrong: len of the shape -> The length of the shape is used instead of the product of its numbers
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * len(observation_shape) * bytes_per_number * copies

# %% wrong: copies added -> The second copy adds one observation
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return (transitions + copies - 1) * math.prod(observation_shape) * bytes_per_number

# %% wrong: the second copy holds one observation -> The second copy adds one observation
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    size = transitions * math.prod(observation_shape) * bytes_per_number
    if copies == 2:
        size += math.prod(observation_shape) * bytes_per_number
    return size

# %% wrong: copies as a power -> copies is used as a power
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * math.prod(observation_shape) * bytes_per_number ** copies

# %% wrong: int32 overflow -> The number is too large for 32 bits and wraps around
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    shape = np.array(observation_shape, dtype=np.int32)
    return np.int32(transitions) * shape.prod(dtype=np.int32) * np.int32(bytes_per_number) * np.int32(copies)

# %% wrong: int32 hidden by int() -> The number is too large for 32 bits and wraps around
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return int(np.prod([transitions, *observation_shape, bytes_per_number, copies], dtype=np.int32))

# %% wrong: last two dims only -> The first number of the shape is not used
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * observation_shape[-1] * observation_shape[-2] * bytes_per_number * copies

# %% wrong: a name misspelt -> It raised NameError
def buffer_bytes(transitions, observation_shape, bytes_per_number, copies=1):
    return transitions * maths.prod(observation_shape) * bytes_per_number * copies
