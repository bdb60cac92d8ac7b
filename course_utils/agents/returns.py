"""Returns: what an action turned out to be worth. Formulas: Sutton and Barto, Reinforcement Learning, 2nd ed."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def discounted_returns(
    rewards: Sequence[float] | np.ndarray | Tensor, gamma: float, bootstrap_value: float = 0.0
) -> Tensor:
    """Return G_t = r_t + gamma * G_{t+1} for every step of one episode, shape (steps,), float32.

    After the last step G equals `bootstrap_value`: 0 where the episode terminated, the value of the last
    observation where it was only cut off (see `bootstrap_values`). Rewards may be integers, float64 or a tensor.
    Source: Sutton and Barto, equation 3.9, computed backwards so that it takes `steps` multiplications.
    """
    following = float(bootstrap_value)
    backwards = []
    for reward in reversed(np.asarray(rewards, dtype=np.float64).tolist()):
        following = reward + gamma * following
        backwards.append(following)
    return torch.tensor(backwards[::-1], dtype=torch.float32)


def bootstrap_values(last_values: Tensor, terminated: Tensor, truncated: Tensor) -> Tensor:
    """Return what follows the last step of each episode, shape (episodes,): its value, or 0 if it terminated.

    `last_values` (episodes,) float32 are estimates for the observation after the last step; `terminated` and
    `truncated` (episodes,) are bool. Termination ends the story: nothing follows. Truncation (a time limit) only
    stops us from watching: rewards would have followed, and the value estimates them. Where both are true at once the
    episode terminated. Source: Pardo et al., Time Limits in Reinforcement Learning, 2018, section 3.
    """
    return torch.where(truncated & ~terminated, last_values, torch.zeros_like(last_values))


def next_values(values: Tensor, last_values: Tensor, final_values: Tensor, ended: Tensor) -> Tensor:
    """Return V of what was seen after each step, (steps, envs) float32: of the next row, or of an episode's own end.

    `values` (steps, envs) are V of what was seen before each step, `last_values` (envs,) V of what is seen after the
    last row, `final_values` (steps, envs) V of an episode's last observation, used only where `ended` (bool) is True:
    there the next row shows the first observation of another episode.
    """
    return torch.where(ended, final_values, torch.cat((values[1:], last_values.unsqueeze(0))))


def gae(
    rewards: Tensor,
    values: Tensor,
    next_values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Return generalised advantage estimates (steps, envs) float32 for a rollout of several environments.

    All tensors are (steps, envs). `values[t]` is V of what was seen before step t, `next_values[t]` V of what was seen
    after it: of the episode's own last observation where it ended, never of the first one of the next episode.

        delta_t = r_t + gamma * next_values_t * (not terminated_t) - values_t
        A_t = delta_t + gamma * lambda * (not terminated_t and not truncated_t) * A_{t+1}

    Two masks, because they answer two questions. Nothing is worth anything after a termination, so it alone zeroes the
    bootstrap; but advantages must not flow back out of the next episode, however this one ended.
    Source: Schulman et al., High-Dimensional Continuous Control Using Generalized Advantage Estimation, 2016, eq. 16.
    """
    going_on = (~(terminated | truncated)).float()
    deltas = rewards + gamma * next_values * (~terminated).float() - values
    advantages = torch.empty_like(deltas)
    following = torch.zeros_like(deltas[0])
    for step in reversed(range(len(deltas))):
        following = deltas[step] + gamma * gae_lambda * going_on[step] * following
        advantages[step] = following
    return advantages
