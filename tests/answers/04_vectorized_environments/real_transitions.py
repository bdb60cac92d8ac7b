import numpy as np
import torch

# %% right: concatenate
def real_transitions(ended, ended_before):
    return ~np.concatenate((ended_before[None], ended[:-1]))

# %% right: shift by hand
def real_transitions(ended, ended_before):
    fake = np.zeros_like(ended)
    fake[0] = ended_before
    fake[1:] = ended[:-1]
    return np.logical_not(fake)

# %% right: two loops
def real_transitions(ended, ended_before):
    steps, envs = ended.shape
    real = np.ones((steps, envs), dtype=bool)
    for env in range(envs):
        previous = ended_before[env]
        for t in range(steps):
            real[t, env] = not previous
            previous = ended[t, env]
    return real

# %% right: roll and repair
def real_transitions(ended, ended_before):
    previous = np.roll(ended, 1, axis=0)
    previous[0] = ended_before
    return previous == False

# %% right: list of rows
def real_transitions(ended, ended_before):
    rows = [ended_before, *ended][:-1]
    return np.array([~row for row in rows])

# %% wrong: not ended -> This leaves out the steps that end an episode, and they are real
def real_transitions(ended, ended_before):
    return ~ended

# %% wrong: marks the resets -> It is the wrong way round
def real_transitions(ended, ended_before):
    return np.concatenate((ended_before[None], ended[:-1]))

# %% wrong: ended itself -> This marks the steps that end an episode
def real_transitions(ended, ended_before):
    return ended.copy()

# %% wrong: first row always real -> ended_before is not used
def real_transitions(ended, ended_before):
    real = np.ones_like(ended)
    real[1:] = ~ended[:-1]
    return real

# %% wrong: first row never real -> The first row is never real
def real_transitions(ended, ended_before):
    real = np.zeros_like(ended)
    real[1:] = ~ended[:-1]
    return real

# %% wrong: roll -> The last row comes round to the front
def real_transitions(ended, ended_before):
    return ~np.roll(ended, 1, axis=0)

# %% wrong: shifted up -> The rows move up
def real_transitions(ended, ended_before):
    fake = np.zeros_like(ended)
    fake[:-1] = ended[1:]
    return ~fake

# %% wrong: shifted up with the row before at the end -> The rows move up
def real_transitions(ended, ended_before):
    return ~np.concatenate((ended[1:], ended_before[None]))

# %% wrong: drops the ending too -> The step that ends an episode is left out too
def real_transitions(ended, ended_before):
    previous = np.concatenate((ended_before[None], ended[:-1]))
    return ~(previous | ended)

# %% wrong: all after the first ending -> After the first ending all is left out
def real_transitions(ended, ended_before):
    previous = np.concatenate((ended_before[None], ended[:-1]))
    return np.cumsum(previous, axis=0) == 0

# %% wrong: roll along the environments -> It moves along the environments
def real_transitions(ended, ended_before):
    return ~np.roll(ended, 1, axis=1)

# %% wrong: any environment -> An ending leaves the row out in all environments
def real_transitions(ended, ended_before):
    previous = np.concatenate((ended_before[None], ended[:-1]))
    return np.repeat(~previous.any(axis=1)[:, None], ended.shape[1], axis=1)

# %% wrong: ended_before inverted -> ended_before is turned round
def real_transitions(ended, ended_before):
    real = np.empty_like(ended)
    real[0] = ended_before
    real[1:] = ~ended[:-1]
    return real

# %% wrong: one minus -> must be bool, not int64, so that it can pick rows
def real_transitions(ended, ended_before):
    previous = np.concatenate((ended_before[None], ended[:-1]))
    return 1 - previous

# %% wrong: minus on booleans -> Truth values cannot be subtracted
def real_transitions(ended, ended_before):
    return -np.concatenate((ended_before[None], ended[:-1]))

# %% wrong: row without None -> ended_before is one row: ended_before[None]
def real_transitions(ended, ended_before):
    return ~np.concatenate((ended_before, ended[:-1]))

# %% wrong: one row too many -> must be a NumPy array of the shape (6, 4), not (7, 4)
def real_transitions(ended, ended_before):
    return ~np.concatenate((ended_before[None], ended))

# %% wrong: an if -> here is one per environment
def real_transitions(ended, ended_before):
    real = []
    previous = ended_before
    for row in ended:
        real.append(not previous)
        previous = row
    return np.array(real)

# %% wrong: works in place -> It changes its argument 'ended', which the course still needs
def real_transitions(ended, ended_before):
    ended[1:] = ended[:-1].copy()
    ended[0] = ended_before
    return ~ended

# %% wrong: a tensor -> of the shape (6, 4), not Tensor
def real_transitions(ended, ended_before):
    return torch.from_numpy(~np.concatenate((ended_before[None], ended[:-1])))

# %% wrong: nothing left out -> Everything counts as real
def real_transitions(ended, ended_before):
    return np.ones(ended.shape, dtype=bool)
