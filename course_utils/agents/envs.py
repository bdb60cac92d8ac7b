"""Environments: what the agents act in."""

import gymnasium
import numpy as np

CARTPOLE = "CartPole-v1"


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
    for env, env_seed in zip(envs, np.random.SeedSequence(seed).generate_state(count), strict=True):
        env.reset(seed=int(env_seed))
        env.action_space.seed(int(env_seed))
    return envs
