"""REINFORCE: the direction of one update, what each loss may touch, and whole short runs."""

import signal

import numpy as np
import pytest
import torch

from course_utils.agents import networks, reinforce, returns
from course_utils.agents.networks import PolicyNet, ValueNet, log_probabilities
from course_utils.agents.probes import ACTION_MATTERS, ENDLESS, ONE_STEP
from course_utils.agents.reinforce import SMOKE_STEPS, ReinforceConfig, policy_loss, train

SHORT = ReinforceConfig(environment=ACTION_MATTERS, total_steps=48)


def gradient(loss: torch.Tensor, module: torch.nn.Module) -> torch.Tensor:
    parts = torch.autograd.grad(loss, list(module.parameters()))
    return torch.cat([part.flatten() for part in parts])


@pytest.fixture
def batch() -> tuple[PolicyNet, torch.Tensor, torch.Tensor, torch.Tensor]:
    """A policy, its log-probabilities of some actions, their returns, and the observations they came from."""
    torch.manual_seed(0)
    policy, observations = PolicyNet(4, 2), torch.randn(6, 4)
    actions = torch.tensor([0, 1, 1, 0, 1, 0])
    return policy, log_probabilities(policy(observations), actions), torch.arange(1.0, 7.0), observations


@pytest.mark.parametrize("action", [0, 1])
@pytest.mark.parametrize("advantage", [1.0, -1.0])
def test_one_update_moves_the_probability_of_the_action_with_the_sign_of_its_advantage(advantage, action):
    torch.manual_seed(0)
    policy, observation, actions = PolicyNet(3, 2), torch.randn(1, 3), torch.tensor([action])
    optimizer = torch.optim.SGD(policy.parameters(), 0.1)
    before = log_probabilities(policy(observation), actions).item()
    policy_loss(log_probabilities(policy(observation), actions), torch.tensor([advantage])).backward()
    optimizer.step()
    change = log_probabilities(policy(observation), actions).item() - before
    assert change * advantage > 1e-3


def test_loss_in_closed_form():
    log_probs, earned, values = torch.tensor([-1.0, -2.0]), torch.tensor([3.0, 5.0]), torch.tensor([1.0, 6.0])
    assert policy_loss(log_probs, earned).item() == (3.0 + 10.0) / 2
    assert policy_loss(log_probs, earned, values).item() == (2.0 - 2.0) / 2


def test_gradient_is_the_mean_over_single_steps(batch):
    policy, log_probs, earned, _ = batch
    whole = torch.autograd.grad(policy_loss(log_probs, earned), list(policy.parameters()), retain_graph=True)
    for index, parameter in enumerate(policy.parameters()):
        singles = [
            -earned[step] * torch.autograd.grad(log_probs[step], parameter, retain_graph=True)[0] for step in range(6)
        ]
        torch.testing.assert_close(whole[index], torch.stack(singles).mean(0))


def test_the_policy_term_does_not_move_the_baseline_nor_the_value_term_the_policy(batch):
    policy, log_probs, earned, observations = batch
    value_net = ValueNet(4)
    policy_loss(log_probs, earned, value_net(observations)).backward()
    assert all(parameter.grad is None for parameter in value_net.parameters())
    policy_gradients = [parameter.grad.clone() for parameter in policy.parameters()]
    torch.nn.functional.mse_loss(value_net(observations), earned).backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in value_net.parameters())
    for before, parameter in zip(policy_gradients, policy.parameters(), strict=True):
        assert torch.equal(before, parameter.grad)


def test_values_change_the_policy_gradient_and_perfect_values_leave_none(batch):
    policy, _, earned, observations = batch
    actions = torch.tensor([0, 1, 1, 0, 1, 0])

    def with_values(values):
        return gradient(policy_loss(log_probabilities(policy(observations), actions), earned, values), policy)

    torch.testing.assert_close(with_values(torch.zeros(6)), with_values(None))
    assert with_values(torch.zeros(6)).norm() > 0.1
    torch.testing.assert_close(with_values(earned), torch.zeros_like(with_values(None)))


def weights(agent) -> torch.Tensor:
    return torch.nn.utils.parameters_to_vector(agent.policy.parameters()).detach()


def test_one_seed_gives_one_result_and_leaves_the_callers_generators_alone():
    config = ReinforceConfig(total_steps=600, seed=3)
    torch.manual_seed(1)
    np.random.seed(1)
    state = torch.get_rng_state()
    first = train(config)
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(5), np.random.rand(5)
    second = train(config)
    assert first.episode_returns == second.episode_returns
    assert torch.equal(weights(first), weights(second))
    other = train(ReinforceConfig(total_steps=600, seed=4))
    assert other.episode_returns != first.episode_returns
    assert not torch.equal(weights(first), weights(other))


def test_cartpole_is_learned_at_smoke_scale():
    agent = train(ReinforceConfig(total_steps=SMOKE_STEPS))
    assert agent.learned
    assert agent.steps >= SMOKE_STEPS
    assert sum(agent.episode_returns) == agent.steps  # CartPole pays 1 per step


def test_learning_rate_zero_changes_no_weight_and_does_not_count_as_learned():
    before = train(ReinforceConfig(total_steps=1, learning_rate=0.0))
    after = train(ReinforceConfig(total_steps=6_000, learning_rate=0.0))
    assert torch.equal(weights(before), weights(after))
    assert not after.learned


def test_functions_get_what_they_are_promised_and_are_the_ones_used():
    seen = {}

    def spy(name, function):
        def call(*arguments):
            seen.setdefault(name, []).append(arguments)
            return function(*arguments)

        return call

    train(
        ReinforceConfig(total_steps=1, episodes_per_update=3),
        policy_net=spy("policy_net", networks.PolicyNet),
        log_probabilities=spy("log_probabilities", networks.log_probabilities),
        discounted_returns=spy("discounted_returns", returns.discounted_returns),
        bootstrap_values=spy("bootstrap_values", returns.bootstrap_values),
        policy_loss=spy("policy_loss", policy_loss),
    )
    assert seen["policy_net"] == [(4, 2, 64)]
    rewards = [call[0] for call in seen["discounted_returns"]]
    steps = sum(map(len, rewards))
    assert len(rewards) == 3 and {array.dtype for array in rewards} == {np.dtype(np.float64)}
    assert {call[1:] for call in seen["discounted_returns"]} == {(0.99, 0.0)}
    ((logits, actions),) = seen["log_probabilities"]
    assert (logits.shape, actions.shape, actions.dtype) == ((steps, 2), (steps,), torch.int64)
    (ending,) = seen["bootstrap_values"]
    assert [(part.shape, part.dtype) for part in ending] == [
        ((3,), torch.float32),
        ((3,), torch.bool),
        ((3,), torch.bool),
    ]
    (loss_arguments,) = seen["policy_loss"]
    assert {(part.shape, part.dtype) for part in loss_arguments} == {((steps,), torch.float32)}
    assert [part.requires_grad for part in loss_arguments] == [True, False, False]


def test_a_truncated_episode_is_bootstrapped_with_the_value_of_its_last_observation():
    calls = []

    def recording(rewards, gamma, following):
        calls.append((len(rewards), following))
        return returns.discounted_returns(rewards, gamma, following)

    agent = train(ReinforceConfig(environment=ENDLESS, total_steps=800), discounted_returns=recording)
    assert {length for length, _ in calls} == {10}
    assert calls[-1][1] > 5.0 and len(agent.episode_returns) == len(calls)
    calls.clear()
    train(ReinforceConfig(environment=ONE_STEP, total_steps=80), discounted_returns=recording)
    assert set(calls) == {(1, 0.0)}


def test_without_baseline_there_are_no_values():
    seen = []

    def recording(log_probs, earned, values):
        seen.append(values)
        return policy_loss(log_probs, earned, values)

    agent = train(ReinforceConfig(total_steps=1, baseline=False), policy_loss=recording)
    assert seen == [None] and agent.value_net is None


@pytest.mark.parametrize(("learning_rate", "learned"), [(0.0, False), (ReinforceConfig.learning_rate, True)])
def test_the_lesson_s_assertion_tells_learning_from_standing_still(learning_rate, learned):
    config = ReinforceConfig(total_steps=SMOKE_STEPS, learning_rate=learning_rate)
    assert train(config).learned is learned


def test_an_interrupt_keeps_the_agent_and_the_rows_so_far():
    calls = 0

    def interrupted_at_the_third_call(log_probs, earned, values):
        nonlocal calls
        calls += 1
        if calls == 3:
            signal.raise_signal(signal.SIGINT)
        return policy_loss(log_probs, earned, values)

    agent = train(SHORT, policy_loss=interrupted_at_the_third_call)
    assert agent.interrupted and not agent.solved
    assert (agent.steps, len(agent.log.rows), len(agent.episode_returns)) == (16, 2, 16)
    torch.testing.assert_close(
        weights(agent), weights(train(ReinforceConfig(environment=ACTION_MATTERS, total_steps=16)))
    )


def test_training_stops_once_the_last_hundred_episodes_are_good_enough():
    agent = train(ReinforceConfig(total_steps=50_000, solved_at=5.0))
    assert agent.solved and len(agent.episode_returns) == 104  # the first multiple of 8 from 100 on


def test_a_longer_gradient_is_clipped_and_logged_at_its_own_length():
    agent = train(ReinforceConfig(total_steps=1, baseline=False, max_grad_norm=1e-3))
    norm = torch.cat([parameter.grad.flatten() for parameter in agent.policy.parameters()]).norm().item()
    assert norm == pytest.approx(1e-3, rel=1e-3)
    assert agent.log.rows[-1]["train/grad_norm"] > 0.01


def test_a_loss_that_is_not_finite_is_named_before_it_reaches_the_weights():
    policies = []

    def remembered(*sizes):
        policies.append(PolicyNet(*sizes))
        return policies[-1]

    with pytest.raises(ValueError, match="policy_loss holds 1 value"):
        train(SHORT, policy_net=remembered, policy_loss=lambda *arguments: policy_loss(*arguments) * float("nan"))
    assert all(torch.isfinite(parameter).all() for parameter in policies[0].parameters())


def test_every_recorded_value_is_a_plain_float():
    agent = train(SHORT)
    assert {type(value) for row in agent.log.rows for value in row.values()} == {float}
    assert {"rollout/ep_rew_mean", "rollout/ep_len_mean", "train/policy_loss", "train/entropy"} <= set(
        agent.log.rows[0]
    )


@pytest.mark.parametrize(("scale", "shown"), [("smoke", False), ("standard", True)])
def test_progress_is_shown_except_at_smoke_scale(scale, shown, monkeypatch, capsys):
    monkeypatch.setattr(reinforce.runtime, "platform_name", lambda: "local")
    monkeypatch.setattr(reinforce.runtime, "scale", lambda: scale)
    train(SHORT)
    captured = capsys.readouterr()
    assert captured.out == "" and ("48/48" in captured.err) == shown


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"total_steps": 0}, "total_steps must be at least 1"),
        ({"episodes_per_update": 0}, "episodes_per_update must be at least 1"),
        ({"gamma": 1.1}, "gamma must lie between 0 and 1"),
        ({"learning_rate": -1e-3}, "learning_rate must not be negative"),
        ({"max_grad_norm": 0.0}, "max_grad_norm must be positive"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_a_config_that_cannot_work_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        ReinforceConfig(**wrong)
