"""Returns in closed form, against a slow loop, and where an episode ends."""

import numpy as np
import pytest
import torch

from course_utils.agents.returns import bootstrap_values, discounted_returns, gae, next_values


def test_constant_reward_gives_the_geometric_sum():
    returns = discounted_returns([1.0] * 200, 0.9)
    remaining = 200 - np.arange(200)
    np.testing.assert_allclose(returns.numpy(), (1 - 0.9**remaining) / (1 - 0.9), rtol=1e-6)


def test_agrees_with_the_definition_written_as_a_double_sum():
    rewards = np.random.default_rng(0).normal(size=30)
    expected = [
        sum(0.97 ** (later - step) * rewards[later] for later in range(step, 30)) + 0.97 ** (30 - step) * 5.0
        for step in range(30)
    ]
    np.testing.assert_allclose(discounted_returns(rewards, 0.97, 5.0).numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize(("gamma", "expected"), [(0.0, [3.0, 2.0, 1.0]), (1.0, [6.0, 3.0, 1.0])])
def test_extreme_discounts(gamma, expected):
    assert discounted_returns([3.0, 2.0, 1.0], gamma).tolist() == expected


@pytest.mark.parametrize(
    "rewards",
    [[1, 2, 3], np.array([1.0, 2.0, 3.0]), [np.float64(1), np.float64(2), np.float64(3)], torch.tensor([1, 2, 3])],
    ids=["integers", "float64 array", "float64 scalars", "integer tensor"],
)
def test_returns_are_float32_whatever_the_rewards_are_and_can_be_learned_from(rewards):
    returns = discounted_returns(rewards, 0.5)
    assert returns.dtype == torch.float32
    assert returns.tolist() == [2.75, 3.5, 3.0]
    prediction = torch.zeros(3, requires_grad=True)
    torch.nn.functional.mse_loss(prediction, returns).backward()
    torch.testing.assert_close(prediction.grad, -2 * returns / 3)


def test_rewards_are_not_changed():
    rewards = np.array([1.0, 1.0])
    discounted_returns(rewards, 0.5)
    assert rewards.tolist() == [1.0, 1.0]


def test_an_empty_episode_has_no_returns():
    assert discounted_returns([], 0.9).shape == (0,)


@pytest.mark.parametrize(
    ("terminated", "truncated", "target"),
    [(True, False, 1.0), (False, True, 10.0), (True, True, 1.0)],
    ids=["the pole fell: r", "the time was up: r + 9", "both at once: r"],
)
def test_target_of_the_last_step_depends_on_how_the_episode_ended(terminated, truncated, target):
    following = bootstrap_values(torch.tensor([10.0]), torch.tensor([terminated]), torch.tensor([truncated]))
    assert discounted_returns([1.0, 1.0, 1.0], 0.9, float(following))[-1].item() == pytest.approx(target)


def test_each_episode_of_a_batch_keeps_its_own_ending():
    values = bootstrap_values(
        torch.tensor([5.0, 6.0, 7.0]), torch.tensor([True, False, True]), torch.tensor([False, True, True])
    )
    assert values.tolist() == [0.0, 6.0, 0.0]


def test_a_value_that_is_not_finite_does_not_leak_into_a_terminated_episode():
    values = bootstrap_values(torch.tensor([float("nan")]), torch.tensor([True]), torch.tensor([False]))
    assert values.tolist() == [0.0]


def test_next_values_are_those_of_the_next_row_or_of_the_episodes_own_end():
    values = torch.tensor([[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]])
    final_values = torch.tensor([[0.0, 20.0], [9.0, 9.0], [30.0, 0.0]])  # used only where an episode ended
    ended = torch.tensor([[False, True], [False, False], [True, False]])
    found = next_values(values, torch.tensor([7.0, 8.0]), final_values, ended)
    assert found.tolist() == [[3.0, 20.0], [5.0, 6.0], [30.0, 8.0]]


def slow_gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    """The definition, as a sum over the later steps of the same episode."""
    steps, envs = rewards.shape
    advantages = torch.zeros(steps, envs)
    for env in range(envs):
        for start in range(steps):
            weight = 1.0
            for step in range(start, steps):
                bootstrap = 0.0 if terminated[step, env] else gamma * next_values[step, env]
                advantages[start, env] += weight * (rewards[step, env] + bootstrap - values[step, env])
                if terminated[step, env] or truncated[step, env]:
                    break
                weight *= gamma * gae_lambda
    return advantages


def rollout_of_noise(seed: int = 0, steps: int = 12, envs: int = 3):
    generator = torch.Generator().manual_seed(seed)
    rewards, values, next_values = (torch.randn(steps, envs, generator=generator) for _ in range(3))
    terminated, truncated = (torch.rand(steps, envs, generator=generator) < 0.2 for _ in range(2))
    return rewards, values, next_values, terminated, truncated


@pytest.mark.parametrize("seed", range(5))
def test_gae_agrees_with_its_definition_whatever_ends_where(seed):
    played = rollout_of_noise(seed)
    assert (played[3] & played[4]).any() or seed, "one case must have a step that is both"
    torch.testing.assert_close(gae(*played, 0.9, 0.8), slow_gae(*played, 0.9, 0.8))


def test_gae_with_lambda_0_is_the_one_step_error_and_with_1_the_return_minus_the_value():
    rewards, values, next_values, terminated, truncated = rollout_of_noise(3)
    deltas = rewards + 0.9 * next_values * ~terminated - values
    torch.testing.assert_close(gae(rewards, values, next_values, terminated, truncated, 0.9, 0.0), deltas)
    never = torch.zeros_like(terminated)
    chained = torch.cat((values[1:], torch.full((1, 3), 2.0)))  # V(s_{t+1}) is the value of the next row
    for env in range(3):
        expected = discounted_returns(rewards[:, env], 0.9, 2.0) - values[:, env]
        found = gae(rewards, values, chained, never, never, 0.9, 1.0)[:, env]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_gae_lets_nothing_through_an_end_and_bootstraps_only_through_a_truncation():
    rewards, values = torch.zeros(4, 2), torch.zeros(4, 2)
    rewards[3] = 100.0  # belongs to the next episode
    next_values = torch.full((4, 2), 10.0)
    terminated, truncated = torch.zeros(4, 2, dtype=torch.bool), torch.zeros(4, 2, dtype=torch.bool)
    terminated[1, 0], truncated[1, 1] = True, True
    advantages = gae(rewards, values, next_values, terminated, truncated, 0.5, 1.0)
    assert advantages[1].tolist() == [0.0, 5.0]
    assert advantages[0].tolist() == [5.0, 5.0 + 0.5 * 5.0]
