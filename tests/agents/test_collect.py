"""Rollouts of a fixed length: what was seen before each step, after it, and where an episode ended."""

import dataclasses

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from course_utils.agents.envs import VectorGame
from course_utils.agents.networks import ActorCritic
from course_utils.agents.rollout import collect

LENGTH = 4


class Counting(gymnasium.Env):
    """Shows its own step count; every episode takes four steps. Odd ones are cut off, even ones end."""

    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = spaces.Discrete(2)
    episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        self.episodes += 1
        return self._observation(), {}

    def _observation(self):
        return np.full(1, self.count, np.float32)

    def step(self, action):
        self.count += 1
        over = self.count == LENGTH
        return self._observation(), float(self.count), over and self.episodes % 2 == 0, over and self.episodes % 2, {}


class Reads(ActorCritic):
    """V(s) is the observation itself; both actions are equally likely."""

    def __init__(self) -> None:
        super().__init__((1,), 2)

    def forward(self, inputs):
        return torch.zeros(len(inputs), 2), inputs.squeeze(-1)


@pytest.fixture
def envs():
    with VectorGame(SyncVectorEnv([Counting] * 3, autoreset_mode=AutoresetMode.SAME_STEP)) as made:
        yield made


def play(envs, steps=10, seed=0):
    return collect(envs, Reads(), envs.reset(0), steps, torch.Generator().manual_seed(seed))


def test_next_values_are_those_of_the_last_observation_and_not_of_the_next_episode(envs):
    rollout, observations = play(envs)
    assert rollout.values[:, 0].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert rollout.next_values[:, 0].tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]
    assert observations[:, 0].tolist() == [2, 2, 2]


def test_ends_scores_and_lengths(envs):
    rollout, _ = play(envs)
    assert rollout.truncated[:, 0].nonzero().flatten().tolist() == [3]
    assert rollout.terminated[:, 0].nonzero().flatten().tolist() == [7]
    assert rollout.scores == [1.0 + 2 + 3 + 4] * 6
    assert rollout.lengths == [LENGTH] * 6


def test_log_probabilities_are_those_of_the_actions_and_the_generator_decides_which(envs):
    rollout, _ = play(envs)
    torch.testing.assert_close(rollout.log_probabilities, torch.full((10, 3), np.log(0.5)).float())
    assert 0 < rollout.actions.float().mean() < 1
    again, _ = play(envs)
    other, _ = play(envs, seed=1)
    assert torch.equal(rollout.actions, again.actions)
    assert not torch.equal(rollout.actions, other.actions)


def test_a_rollout_goes_on_where_the_last_one_stopped(envs):
    generator = torch.Generator().manual_seed(0)
    whole, _ = collect(envs, Reads(), envs.reset(0), 10, generator)
    generator.manual_seed(0)
    first, observations = collect(envs, Reads(), envs.reset(0), 6, generator)
    second, _ = collect(envs, Reads(), observations, 4, generator)
    for name in ("observations", "actions", "next_values", "rewards"):
        torch.testing.assert_close(getattr(whole, name), torch.cat((getattr(first, name), getattr(second, name))))


def test_an_environment_without_final_observations_is_refused():
    with pytest.raises(ValueError, match="SAME_STEP"):
        VectorGame(SyncVectorEnv([Counting]))


def test_a_logit_that_is_not_a_number_is_named(envs):
    class Broken(Reads):
        def forward(self, inputs):
            return torch.full((len(inputs), 2), torch.nan), inputs.squeeze(-1)

    with pytest.raises(ValueError, match="logits holds"):
        collect(envs, Broken(), envs.reset(0), 1, torch.Generator())


def test_rollouts_know_the_time_that_each_part_took(envs):
    rollout, _ = play(envs)
    assert rollout.env_seconds > 0
    assert rollout.infer_seconds > 0
    assert {field.name for field in dataclasses.fields(rollout)} >= {"env_seconds", "infer_seconds"}
