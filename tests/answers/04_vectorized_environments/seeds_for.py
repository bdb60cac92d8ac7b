import random

import numpy as np
import torch

# %% right: seed sequence
def seeds_for(count, seed):
    return np.random.SeedSequence(seed).generate_state(count) // 2

# %% right: far apart
def seeds_for(count, seed):
    return 1000 * seed + np.arange(count)

# %% right: seed times count
def seeds_for(count, seed):
    return np.arange(seed * count, (seed + 1) * count)

# %% right: sample without repetition
def seeds_for(count, seed):
    return np.array(random.Random(seed).sample(range(2**31), count))

# %% right: generator
def seeds_for(count, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(2**31 - 1, size=count)

# %% right: torch generator
def seeds_for(count, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(2**31 - 1, (count,), generator=generator).numpy()

# %% right: a set until full
def seeds_for(count, seed):
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        one = int(rng.integers(0, 2**31))
        if one not in found:
            found.append(one)
    return np.array(found)

# %% wrong: one seed for all -> All environments get the same seed
def seeds_for(count, seed):
    return np.full(count, seed)

# %% wrong: seed plus rank -> Is it seed + rank?
def seeds_for(count, seed):
    return seed + np.arange(count)

# %% wrong: rank alone -> The run's seed is not used
def seeds_for(count, seed):
    return np.arange(count)

# %% wrong: permutation -> The run's seed is not used, or only for the order
def seeds_for(count, seed):
    return np.random.default_rng(seed).permutation(count)

# %% wrong: fresh randomness -> Two calls with the same arguments differ
def seeds_for(count, seed):
    return np.random.default_rng().integers(2**31 - 1, size=count)

# %% wrong: the global generator -> It seeds or uses a global generator
def seeds_for(count, seed):
    np.random.seed(seed)
    return np.random.randint(0, 2**31 - 1, size=count)

# %% wrong: the global generator of random -> It seeds or uses a global generator
def seeds_for(count, seed):
    random.seed(seed)
    return np.array([random.randrange(2**31) for _ in range(count)])

# %% wrong: too few to choose from -> Two of 64 environments get the same seed
def seeds_for(count, seed):
    return np.random.default_rng(seed).integers(0, 1000, size=count)

# %% wrong: floats -> Seeds are integers, not float64
def seeds_for(count, seed):
    return np.random.default_rng(seed).random(count)

# %% wrong: too large -> A seed lies outside 0 to 2**31 - 1
def seeds_for(count, seed):
    return np.random.SeedSequence(seed).generate_state(count)

# %% wrong: negative -> A seed lies outside 0 to 2**31 - 1
def seeds_for(count, seed):
    return np.random.default_rng(seed).integers(-(2**31), 2**31 - 1, size=count)

# %% wrong: a list -> It must return an array of 8 integers, not list
def seeds_for(count, seed):
    return [1000 * seed + rank for rank in range(count)]

# %% wrong: a single one -> It must return an array of 8 integers, not int
def seeds_for(count, seed):
    return int(np.random.default_rng(seed).integers(2**31 - 1))

# %% wrong: a step of ten -> Runs with different seeds, such as 0 and 1, share games
def seeds_for(count, seed):
    return 10 * seed + np.arange(count)

# %% wrong: product -> All environments get the same seed
def seeds_for(count, seed):
    return seed * np.arange(count)
