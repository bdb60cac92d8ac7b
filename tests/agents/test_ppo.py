"""PPO: its losses in closed form, what one update may move, and whole short runs on environments with known answers."""

import dataclasses
import io
import math

import gymnasium
import pytest
import torch

from course_utils.agents import ppo, probes, returns
from course_utils.agents.metrics import STEP
from course_utils.agents.ppo import Learner, approximate_kl, minibatches, normalise, policy_loss, train
from course_utils.agents.ppo_config import CARTPOLE_PPO, PONG_PPO, PPOConfig
from course_utils.agents.rollout import Rollout

SHORT = PPOConfig(total_steps=256, envs=4, steps=16, minibatch_size=32, epochs=2)


def learner(config: PPOConfig = SHORT, **functions) -> Learner:
    chosen = {"gae": returns.gae, "policy_loss": policy_loss, "minibatches": minibatches, **functions}
    torch.manual_seed(config.seed)
    return Learner(config, (3,), 2, torch.device("cpu"), **chosen)


def rollout(config: PPOConfig = SHORT, seed: int = 0) -> Rollout:
    """A rollout of noise, with the log-probabilities of an even policy."""
    generator = torch.Generator().manual_seed(seed)
    shape = (config.steps, config.envs)
    return Rollout(
        observations=torch.randn(*shape, 3, generator=generator),
        actions=torch.randint(2, shape, generator=generator),
        log_probabilities=torch.full(shape, math.log(0.5)),
        values=torch.zeros(shape),
        next_values=torch.zeros(shape),
        rewards=torch.randn(shape, generator=generator),
        terminated=torch.zeros(shape, dtype=torch.bool),
        truncated=torch.zeros(shape, dtype=torch.bool),
    )


def weights(of: Learner | ppo.PPOAgent) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in of.network.parameters()])


# The losses


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [
        (1.0, 2.0, -2.0),
        (1.5, 2.0, -1.2 * 2.0),  # a gain beyond the range is cut off
        (0.5, 2.0, -0.5 * 2.0),  # a loss is not
        (0.5, -2.0, 0.8 * 2.0),
        (1.5, -2.0, 1.5 * 2.0),
    ],
)
def test_policy_loss_in_closed_form(ratio, advantage, expected):
    old = torch.tensor([-1.0])
    loss = policy_loss(old + math.log(ratio), old, torch.tensor([advantage]), 0.2)
    assert loss.item() == pytest.approx(expected, rel=1e-5)


def test_beyond_the_range_a_gain_has_no_gradient_and_a_loss_has_one():
    for ratio, advantage, moves in ((1.5, 1.0, False), (0.5, 1.0, True), (0.5, -1.0, False), (1.5, -1.0, True)):
        new = torch.tensor([math.log(ratio)], requires_grad=True)
        policy_loss(new, torch.zeros(1), torch.tensor([advantage]), 0.2).backward()
        assert bool(new.grad.abs() > 0) == moves


def test_minibatches_hold_every_index_once_in_an_order_that_the_generator_decides():
    batches = list(minibatches(12, 4, torch.Generator().manual_seed(0)))
    assert [len(batch) for batch in batches] == [4, 4, 4]
    assert sorted(torch.cat(batches).tolist()) == list(range(12))
    again = list(minibatches(12, 4, torch.Generator().manual_seed(0)))
    other = list(minibatches(12, 4, torch.Generator().manual_seed(1)))
    assert torch.equal(torch.cat(batches), torch.cat(again))
    assert not torch.equal(torch.cat(batches), torch.cat(other))


def test_normalised_advantages_and_the_single_one_that_has_no_deviation():
    assert normalise(torch.tensor([5.0])).item() == 5.0
    normal = normalise(torch.tensor([1.0, 2.0, 6.0]))
    assert normal.mean().item() == pytest.approx(0, abs=1e-6)
    assert normal.std().item() == pytest.approx(1, abs=1e-6)


def test_approximate_kl_is_near_the_true_one():
    old, new = (torch.distributions.Bernoulli(p) for p in (torch.tensor(0.5), torch.tensor(0.6)))
    drawn = old.sample((200_000,))
    estimate = approximate_kl(new.log_prob(drawn), old.log_prob(drawn))
    assert estimate.item() == pytest.approx(torch.distributions.kl_divergence(old, new).item(), rel=0.05)


# The config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"envs": 0}, "envs must be at least 1"),
        ({"envs": 3, "steps": 43, "minibatch_size": 64}, "must divide envs"),
        ({"gamma": 1.1}, "gamma must lie between 0 and 1"),
        ({"learning_rate": -1.0}, "learning_rate must not be negative"),
        ({"clip_range": 0.0}, "clip_range must be positive"),
        ({"learning_rate_schedule": "linaer"}, "learning_rate_schedule must be one of constant, linear, cosine"),
        ({"entropy_schedule": "step"}, "entropy_schedule must be one of"),
    ],
)
def test_a_config_that_cannot_work_is_refused_in_one_line(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        dataclasses.replace(SHORT, **change)
    assert "\n" not in str(caught.value)


def test_the_plan_tells_what_will_really_run():
    plan = PPOConfig(total_steps=10_000, envs=8, steps=2048, minibatch_size=64).plan()
    assert "1 rollouts" in plan
    assert "16,384 steps" in plan
    assert "fewer than 10" in plan
    plan = PPOConfig(total_steps=10_000, envs=8, steps=128, minibatch_size=256, epochs=4).plan()
    assert "10 rollouts" in plan
    assert "10,240 steps, 160 gradient steps" in plan
    assert "fewer" not in plan


@pytest.mark.parametrize(("schedule", "middle"), [("constant", 1.0), ("linear", 0.25), ("cosine", 0.1464466)])
def test_a_schedule_is_a_function_of_the_steps(schedule, middle):
    one = learner(SHORT)
    assert one.scheduled(2.0, schedule) == pytest.approx(2.0)
    one.steps = SHORT.total_steps * 3 // 4
    assert one.scheduled(2.0, schedule) == pytest.approx(2 * middle)


def test_the_learning_rate_and_the_entropy_bonus_follow_their_schedules():
    def after_update(**changes):
        one = learner(dataclasses.replace(SHORT, **changes))
        one.steps = SHORT.total_steps  # a linear schedule is at 0
        one.update(rollout())
        return weights(one)

    assert torch.equal(after_update(learning_rate_schedule="linear"), weights(learner(SHORT)))
    without = after_update(entropy_coefficient=0.0)
    assert torch.equal(after_update(entropy_coefficient=0.5, entropy_schedule="linear"), without)
    assert not torch.equal(after_update(entropy_coefficient=0.5), without)


# One update


def test_learning_rate_0_moves_nothing_and_another_does():
    for rate, moved in ((0.0, False), (1e-3, True)):
        one = learner(dataclasses.replace(SHORT, learning_rate=rate))
        before = weights(one)
        one.update(rollout())
        assert (not torch.equal(before, weights(one))) == moved


def test_an_update_makes_the_better_action_likelier():
    one, played = learner(), rollout()
    played.rewards = (played.actions * 2 - 1).float()  # action 1 pays, action 0 costs
    played.terminated[:] = True
    inputs = one.network.prepare(played.observations.flatten(0, 1))
    before = one.network(inputs)[0].softmax(-1)[:, 1].mean()
    one.update(played)
    assert one.network(inputs)[0].softmax(-1)[:, 1].mean() > before + 1e-4


def test_metrics_have_the_names_of_stable_baselines3_and_are_finite():
    metrics = learner().update(rollout())
    names = "approx_kl clip_fraction entropy_loss explained_variance learning_rate loss n_updates policy_gradient_loss"
    assert {f"train/{name}" for name in f"{names} value_loss".split()} < set(metrics)
    assert all(math.isfinite(value) for value in metrics.values())
    assert metrics["train/entropy_loss"] == pytest.approx(-math.log(2), abs=0.01)
    assert metrics["train/n_updates"] == SHORT.epochs


def test_target_kl_leaves_the_remaining_epochs_out():
    config = dataclasses.replace(SHORT, epochs=20, learning_rate=0.05)
    free, stopped = learner(config), learner(dataclasses.replace(config, target_kl=0.02))
    free.update(rollout())
    stopped.update(rollout())
    assert free.updates == 20
    assert stopped.updates < 20


def test_clipped_rewards_teach_the_sign_only_and_points_end_episodes_for_the_learner():
    seen = {}

    def spy(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
        seen.update(rewards=rewards.clone(), terminated=terminated.clone())
        return returns.gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda)

    played = rollout()
    played.rewards = torch.zeros_like(played.rewards)
    played.rewards[3, 1], played.rewards[5, 2] = 7.0, -2.0
    learner(dataclasses.replace(SHORT, clip_rewards=True, end_at_points=True), gae=spy).update(played)
    assert seen["rewards"][3, 1] == 1
    assert seen["rewards"][5, 2] == -1
    assert seen["terminated"].nonzero().tolist() == [[3, 1], [5, 2]]
    learner(gae=spy).update(played)
    assert seen["rewards"][3, 1] == 7
    assert not seen["terminated"].any()


def test_the_graded_functions_are_the_ones_that_learn():
    calls = []

    def watched(name, function):
        def call(*arguments):
            calls.append(name)
            return function(*arguments)

        return call

    one = learner(
        gae=watched("gae", returns.gae),
        policy_loss=watched("policy_loss", policy_loss),
        minibatches=watched("minibatches", minibatches),
    )
    one.update(rollout())
    assert calls.count("gae") == 1
    assert calls.count("minibatches") == SHORT.epochs
    assert calls.count("policy_loss") == SHORT.epochs * SHORT.batch_size // SHORT.minibatch_size


def test_a_restored_learner_goes_on_exactly_as_the_first_would_have():
    one = learner()
    one.update(rollout(seed=1))
    copy = learner(dataclasses.replace(SHORT, seed=9))
    copy.load_state_dict(_through_a_file(one.state_dict()))
    one.update(rollout(seed=2))
    copy.update(rollout(seed=2))
    assert torch.equal(weights(one), weights(copy))
    assert copy.steps == one.steps == 2 * SHORT.batch_size


def _through_a_file(state: dict) -> dict:
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def test_a_checkpoint_of_another_shape_is_refused_in_one_line():
    state = learner(dataclasses.replace(SHORT, hidden_size=32)).state_dict()
    with pytest.raises(ValueError, match="belongs to another network") as caught:
        learner().load_state_dict(state)
    assert "\n" not in str(caught.value)


# Whole runs


@pytest.mark.parametrize("overlap", [False, True])
def test_one_seed_gives_one_result_and_another_seed_another(overlap):
    config = dataclasses.replace(SHORT, total_steps=512, overlap=overlap)
    first, again, other = (train(dataclasses.replace(config, seed=seed)) for seed in (3, 3, 4))
    assert torch.equal(weights(first), weights(again))
    assert first.scores == again.scores
    assert not torch.equal(weights(first), weights(other))


def test_training_works_in_whole_rollouts_and_logs_each():
    agent = train(dataclasses.replace(SHORT, total_steps=200))
    assert agent.steps == 256
    assert [row[STEP] for row in agent.log.rows] == [64, 128, 192, 256]
    assert all(row["time/update_seconds"] > 0 for row in agent.log.rows)


def test_random_generators_and_threads_outside_stay_untouched():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    train(SHORT)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("overlap", [False, True])
def test_an_interrupt_keeps_the_agent_so_far(overlap):
    def interrupt(agent):
        if agent.steps >= 128:
            raise KeyboardInterrupt

    agent = train(dataclasses.replace(SHORT, overlap=overlap), on_update=interrupt)
    assert agent.interrupted
    assert agent.steps == 128


def test_on_update_may_end_the_run():
    agent = train(SHORT, on_update=lambda agent: agent.steps >= 128)
    assert (agent.steps, agent.interrupted) == (128, False)


def test_a_reward_that_is_not_a_number_is_named():
    class Broken(probes.OneStep):
        def step(self, action):
            return self.observation(), math.nan, True, False, {}

    gymnasium.register("course/Broken-v0", entry_point=Broken)
    try:
        with pytest.raises(ValueError, match="rewards holds"):
            train(dataclasses.replace(SHORT, environment="course/Broken-v0"))
    finally:
        del gymnasium.registry["course/Broken-v0"]


@pytest.mark.slow
def test_cartpole_is_learned_and_with_learning_rate_0_it_is_not():
    config = dataclasses.replace(CARTPOLE_PPO, total_steps=25_600)
    learned, still = train(config), train(dataclasses.replace(config, learning_rate=0.0, total_steps=5_120))
    assert learned.recent_score > 100
    assert still.recent_score < 60


def test_pong_plays_and_reports_the_games_own_score():
    config = dataclasses.replace(PONG_PPO, envs=2, steps=600, minibatch_size=200, total_steps=3_600, epochs=1)
    agent = train(config)
    assert agent.scores, "no game ended in 1,800 steps of each environment"
    assert all(-21 <= score <= 21 and score == int(score) for score in agent.scores)
