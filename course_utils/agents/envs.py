"""Environments: what the agents act in, one at a time or many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

CARTPOLE = "CartPole-v1"
PONG = "pong"
PONG_MOVES = (0, 2, 3)
"""stay, up, down: three of Pong's six actions; the other three also press fire, which does nothing during play"""


def make_cartpole(render_mode: str | None = None, seed: int | None = None) -> gymnasium.Env:
    """Return CartPole-v1; with `seed` its reset and its action space (which has its own generator) are seeded."""
    env = gymnasium.make(CARTPOLE, render_mode=render_mode)
    if seed is not None:
        env.reset(seed=seed)
        env.action_space.seed(seed)
    return env


def make_envs(environment: str, count: int, seed: int) -> list[gymnasium.Env]:
    """Return `count` environments of one gymnasium id, each with its own seed drawn from `seed` (>= 0)."""
    envs = [gymnasium.make(environment, disable_env_checker=True) for _ in range(count)]
    for env, env_seed in zip(envs, seeds_for(count, seed), strict=True):
        env.reset(seed=int(env_seed))
        env.action_space.seed(int(env_seed))
    return envs


def seeds_for(count: int, seed: int) -> np.ndarray:
    """Return `count` different seeds (count,) int32 >= 0 drawn from one: equal seeds play equal games."""
    return (np.random.SeedSequence(seed).generate_state(count) >> 1).astype(np.int32)


@dataclass(frozen=True)
class Steps:
    """What one step of all environments gave. Reward and score are the game's own: nothing is clipped here."""

    observations: np.ndarray
    """(envs, ...) what to act on next: the first observation of the next episode where one has ended"""
    rewards: np.ndarray
    """(envs,) float32"""
    terminated: np.ndarray
    """(envs,) bool: the game is over, nothing follows"""
    truncated: np.ndarray
    """(envs,) bool: a limit stopped it, rewards would have followed"""
    final_observations: np.ndarray
    """(ended envs, ...) the last observations of the episodes that ended in this step, in the order of the envs"""
    scores: list[float]
    """undiscounted return of each episode that ended in this step"""
    lengths: list[int]
    """its number of steps"""

    @property
    def ended(self) -> np.ndarray:
        """(envs,) bool: an episode ended here, for whatever reason."""
        return self.terminated | self.truncated


class VectorGame:
    """Many copies of one environment behind one pair of calls, whichever way they run.

    Wraps a gymnasium VectorEnv in SAME_STEP autoreset: the step that ends an episode also resets it, so every row is
    a real transition, and the last observation is handed over apart. `actions` limits the agent to some actions.
    """

    def __init__(self, env: VectorEnv, actions: Sequence[int] | None = None) -> None:
        if env.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
            raise ValueError("these environments must be made with autoreset_mode=AutoresetMode.SAME_STEP")
        self.env = env
        self.num_envs: int = env.num_envs
        self.observation_shape: tuple[int, ...] = env.single_observation_space.shape
        self.observation_dtype = env.single_observation_space.dtype
        self._actions = np.arange(env.single_action_space.n) if actions is None else np.asarray(actions)
        self.action_count = len(self._actions)
        self._scores, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)
        self._waiting = False

    def reset(self, seed: int | None = None) -> np.ndarray:
        """Start all episodes afresh and return the observations (envs, ...); `seed` gives each its own seed."""
        seeds = None if seed is None else seeds_for(self.num_envs, seed)
        if seeds is not None and not _is_native(self.env):
            seeds = [int(one) for one in seeds]
        observations, _ = self.env.reset(seed=seeds)
        self._scores[:], self._lengths[:] = 0, 0
        return observations

    def step(self, actions: np.ndarray) -> Steps:
        """Take one action (envs,) in every environment; actions count from 0 to `action_count` - 1."""
        observations, rewards, terminated, truncated, info = self.env.step(self._actions[actions])
        rewards = np.asarray(rewards, np.float32)
        self._scores += rewards
        self._lengths += 1
        ended = np.flatnonzero(terminated | truncated)
        final = observations[:0]
        scores, lengths = self._scores[ended].tolist(), self._lengths[ended].tolist()
        if len(ended):
            if "final_obs" not in info:
                raise KeyError("the environment ended an episode without handing over info['final_obs']")
            final = np.stack([info["final_obs"][index] for index in ended])
            self._scores[ended], self._lengths[ended] = 0, 0
        return Steps(observations, rewards, terminated, truncated, final, scores, lengths)

    def close(self) -> None:
        self.env.close()

    def __enter__(self) -> VectorGame:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _is_native(env: VectorEnv) -> bool:
    return type(env).__name__ == "AtariVectorEnv"


def make_vector(config) -> VectorGame:
    """Return the environments that a PPOConfig asks for."""
    from ale_py.vector_env import AtariVectorEnv

    if "-v" in config.environment:
        envs = gymnasium.make_vec(
            config.environment, config.envs, "sync", vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP}
        )
        return VectorGame(envs)
    env = AtariVectorEnv(
        config.environment,
        config.envs,
        img_height=config.image_size,
        img_width=config.image_size,
        stack_num=config.stack,
        autoreset_mode=AutoresetMode.SAME_STEP,
        repeat_action_probability=config.sticky,
        reward_clipping=False,
        use_fire_reset=False,
        max_num_frames_per_episode=108_000,
        noop_max=30,
    )
    return VectorGame(env, config.moves)
