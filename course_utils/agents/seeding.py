"""Seeds: one seed gives one result on one machine. Equality across machines or devices is promised by nobody."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import gymnasium
import numpy as np
import torch


def seed_everything(seed: int, env: gymnasium.Env | None = None) -> None:
    """Seed Python, NumPy, PyTorch and, if given, the environment: its reset and its action space.

    The action space draws from a generator of its own, which `env.reset(seed=...)` does not touch.
    """
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    if env is not None:
        env.reset(seed=seed)
        env.action_space.seed(seed)


@contextmanager
def reproducible(seed: int, threads: int = 1) -> Iterator[None]:
    """Run a block under `seed`, on one CPU thread, and put the caller's generators and threads back afterwards.

    One thread, because sums split over threads round differently, so results would depend on the number of
    cores; for networks this small it is also the fastest.
    """
    python_state, numpy_state, threads_before = random.getstate(), np.random.get_state(), torch.get_num_threads()
    with torch.random.fork_rng(devices=[]):  # the CPU generator only: nothing here needs to wake a GPU
        try:
            torch.set_num_threads(threads)
            random.seed(seed)
            np.random.seed(seed % 2**32)
            torch.default_generator.manual_seed(seed)
            yield
        finally:
            torch.set_num_threads(threads_before)
            random.setstate(python_state)
            np.random.set_state(numpy_state)
