"""Small environments for the tests of vector environments; worker processes import them from here."""

import os

import gymnasium
import numpy as np
import psutil
from gymnasium import spaces


def worker_processes() -> list[psutil.Process]:
    """The worker processes: children of multiprocessing's fork server, which is our own child and stays."""
    direct = psutil.Process().children()
    return [worker for child in direct for worker in child.children(recursive=True)]


def assert_no_workers() -> None:
    """A process that has ended may be seen until the fork server has collected it."""
    assert psutil.wait_procs(worker_processes(), timeout=10)[1] == []


class Counting(gymnasium.Env):
    """Shows its own step count; an episode's step 3 goes wrong where asked to."""

    observation_space = spaces.Box(0, 255, (1, 4, 4), np.uint8)
    action_space = spaces.Discrete(2)

    def __init__(self, length: int = 4, trouble: str = "") -> None:
        self.length, self.trouble, self.count = length, trouble, 0

    def _seen(self):
        return np.full((1, 4, 4), self.count, np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return self._seen(), {}

    def step(self, action):
        self.count += 1
        if self.count == 3 and self.trouble == "raises":
            raise ValueError("bad reward")
        if self.count == 3 and self.trouble == "dies":
            os._exit(9)
        return self._seen(), 1.0, False, self.count == self.length, {}


class Drawing(Counting):
    """Its first observation is a random draw."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.integers(0, 256, (1, 4, 4), np.uint8), {}


class Unmakeable(Counting):
    def __init__(self):
        raise ValueError("no such map")
