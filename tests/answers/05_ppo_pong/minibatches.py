import numpy as np
import torch

# %% right: randperm and split
def minibatches(count, size, generator):
    yield from torch.randperm(count, generator=generator).split(size)

# %% right: slices
def minibatches(count, size, generator):
    order = torch.randperm(count, generator=generator)
    for start in range(0, count, size):
        yield order[start : start + size]

# %% right: a list
def minibatches(count, size, generator):
    order = torch.randperm(count, generator=generator)
    return [order[i : i + size] for i in range(0, count, size)]

# %% right: rows of a table
def minibatches(count, size, generator):
    return iter(torch.randperm(count, generator=generator).view(-1, size))

# %% right: argsort of random keys
def minibatches(count, size, generator):
    order = torch.rand(count, generator=generator).argsort()
    return torch.chunk(order, count // size)

# %% wrong: in order -> The order is not random
def minibatches(count, size, generator):
    yield from torch.arange(count).split(size)

# %% wrong: generator forgotten -> The generator is not used
def minibatches(count, size, generator):
    yield from torch.randperm(count).split(size)

# %% wrong: numpy's shuffle -> The generator is not used
def minibatches(count, size, generator):
    order = np.random.permutation(count)
    for start in range(0, count, size):
        yield torch.from_numpy(order[start : start + size])

# %% wrong: reseeds -> Every epoch gets the same order
def minibatches(count, size, generator):
    generator.manual_seed(0)
    yield from torch.randperm(count, generator=generator).split(size)

# %% wrong: a generator made from the seed -> Every epoch gets the same order
def minibatches(count, size, generator):
    mine = torch.Generator().manual_seed(generator.initial_seed())
    yield from torch.randperm(count, generator=mine).split(size)

# %% wrong: with replacement -> drawn with replacement
def minibatches(count, size, generator):
    for _ in range(count // size):
        yield torch.randint(count, (size,), generator=generator)

# %% wrong: a new permutation for each -> A new permutation for every minibatch
def minibatches(count, size, generator):
    for _ in range(count // size):
        yield torch.randperm(count, generator=generator)[:size]

# %% wrong: one minibatch -> there is only one minibatch or none
def minibatches(count, size, generator):
    yield torch.randperm(count, generator=generator)[:size]

# %% wrong: return inside the loop -> must be a tensor of indices (size,), not one of shape ()
def minibatches(count, size, generator):
    order = torch.randperm(count, generator=generator)
    for start in range(0, count, size):
        return order[start : start + size]

# %% wrong: blocks shuffled, not the steps -> Neighbours stay together, or at a fixed distance
def minibatches(count, size, generator):
    blocks = torch.arange(count).split(size)
    for index in torch.randperm(len(blocks), generator=generator):
        yield blocks[index]

# %% wrong: shuffled within the blocks only -> Neighbours stay together, or at a fixed distance
def minibatches(count, size, generator):
    for block in torch.arange(count).split(size):
        yield block[torch.randperm(len(block), generator=generator)]

# %% wrong: size taken as the number -> size is the number of steps in a minibatch
def minibatches(count, size, generator):
    yield from torch.randperm(count, generator=generator).chunk(size)

# %% wrong: indices 1 to count -> The indices go from 0 to count - 1
def minibatches(count, size, generator):
    yield from (torch.randperm(count, generator=generator) + 1).split(size)

# %% wrong: the last is left out -> 256 steps are left out
def minibatches(count, size, generator):
    order = torch.randperm(count, generator=generator)
    for start in range(0, count - size, size):
        yield order[start : start + size]

# %% wrong: overlapping -> Some steps come twice
def minibatches(count, size, generator):
    order = torch.randperm(count, generator=generator)
    for start in range(0, count - size + 1, size // 2):
        yield order[start : start + size]

# %% wrong: without end -> It never ends
def minibatches(count, size, generator):
    while True:
        yield from torch.randperm(count, generator=generator).split(size)

# %% wrong: lists of numbers -> must be a tensor of indices (size,), not list
def minibatches(count, size, generator):
    order = torch.randperm(count, generator=generator).tolist()
    for start in range(0, count, size):
        yield order[start : start + size]

# %% wrong: floats -> must be int64, not float32
def minibatches(count, size, generator):
    yield from torch.randperm(count, generator=generator).float().split(size)

# %% wrong: masks -> must be int64, not bool
def minibatches(count, size, generator):
    for chosen in torch.randperm(count, generator=generator).split(size):
        yield torch.isin(torch.arange(count), chosen)

# %% wrong: one index at a time -> a minibatch has 1 index.
def minibatches(count, size, generator):
    for index in torch.randperm(count, generator=generator):
        yield index.unsqueeze(0)

# %% wrong: forgets to yield -> It returns None
def minibatches(count, size, generator):
    torch.randperm(count, generator=generator).split(size)

# %% wrong: seeds torch for all -> changes torch's own random state
def minibatches(count, size, generator):
    torch.manual_seed(int(torch.randint(2**31, (1,), generator=generator)))
    yield from torch.randperm(count).split(size)

# %% wrong: a number -> It must yield tensors of indices, or return a list of them
def minibatches(count, size, generator):
    order = torch.randperm(count, generator=generator)
    return count // size

# %% wrong: a random start, then in order -> Neighbours stay together, or at a fixed distance
def minibatches(count, size, generator):
    start = int(torch.randint(count, (1,), generator=generator))
    yield from torch.arange(count).roll(start).split(size)

# %% wrong: every n-th step -> Neighbours stay together, or at a fixed distance
def minibatches(count, size, generator):
    number = count // size
    for first in torch.randperm(number, generator=generator).tolist():
        yield torch.arange(first, count, number)
