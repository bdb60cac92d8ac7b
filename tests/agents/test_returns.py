"""Returns in closed form, against a slow loop, and where an episode ends."""

import numpy as np
import pytest
import torch

from course_utils.agents.returns import bootstrap_values, discounted_returns


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
