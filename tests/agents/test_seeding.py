"""One seed covers every generator, and a seeded block leaves no trace."""

import random

import numpy as np
import pytest
import torch

from course_utils.agents.envs import make_cartpole
from course_utils.agents.seeding import reproducible, seed_everything


def draw(env=None) -> tuple:
    values = (random.random(), np.random.rand(), torch.rand(()).item())
    return values if env is None else (*values, int(env.action_space.sample()), *env.reset()[0].tolist())


def test_seeding_covers_python_numpy_torch_and_the_environment_even_after_warming_up():
    env = make_cartpole()
    results = []
    for warm_up in (0, 3):
        for _ in range(warm_up):
            draw(env)
        seed_everything(7, env)
        results.append([draw(env) for _ in range(10)])
    assert results[0] == results[1]
    seed_everything(8, env)
    assert [draw(env) for _ in range(10)] != results[0]


def test_resetting_an_environment_does_not_seed_its_action_space():
    """The trap that `seed_everything` is there for: if gymnasium ever changes this, the helper can shrink."""
    env = make_cartpole()
    samples = []
    for _ in range(2):
        env.reset(seed=0)
        samples.append([int(env.action_space.sample()) for _ in range(30)])
    assert samples[0] != samples[1]


def test_a_seeded_block_repeats_and_leaves_generators_and_threads_as_they_were():
    threads = torch.get_num_threads()
    seed_everything(1)
    expected = draw()
    seed_everything(1)
    with reproducible(5):
        assert torch.get_num_threads() == 1
        first = draw()
    assert draw() == expected
    with reproducible(5):
        assert draw() == first
    assert torch.get_num_threads() == threads


def test_a_seeded_block_cleans_up_after_an_error():
    seed_everything(1)
    expected = draw()
    seed_everything(1)
    with pytest.raises(RuntimeError), reproducible(5):
        draw()
        raise RuntimeError
    assert draw() == expected
