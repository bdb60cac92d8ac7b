"""Rollouts end where they must, and scores say how they were made."""

import gymnasium
import numpy as np
import pytest
import torch

from course_utils.agents.envs import CARTPOLE, make_cartpole, make_envs
from course_utils.agents.networks import PolicyNet
from course_utils.agents.probes import ENDLESS, ENDLESS_STEPS, Endless
from course_utils.agents.rollout import actor, choose_actions, collect_episodes, evaluate


def prefer(action: int, strength: float = 0.0):
    """Policy whose likeliest action is always the same; sampled, it is nearly a coin toss."""
    return lambda observations: (
        torch.nn.functional.one_hot(torch.full((len(observations),), action), 2) * (strength or 1e-3)
    )


def test_an_episode_holds_one_observation_action_and_reward_per_step():
    torch.manual_seed(0)
    for episode in collect_episodes(make_envs(CARTPOLE, 3, seed=0), PolicyNet(4, 2)):
        assert len(episode.observations) == len(episode.actions) == len(episode.rewards) > 5
        assert episode.terminated and not episode.truncated
        assert abs(episode.last_observation[2]) > 0.2095 or abs(episode.last_observation[0]) > 2.4
        assert abs(episode.observations[-1][2]) <= 0.2095


def test_an_episode_replays_in_a_plain_loop():
    torch.manual_seed(0)
    envs = make_envs(CARTPOLE, 2, seed=7)
    starts = [env.np_random.bit_generator.state for env in envs]
    episodes = collect_episodes(envs, PolicyNet(4, 2))
    env = make_cartpole()
    for start, episode in zip(starts, episodes, strict=True):
        env.unwrapped.np_random.bit_generator.state = start
        observation, _ = env.reset()
        for seen, action in zip(episode.observations, episode.actions, strict=True):
            np.testing.assert_array_equal(seen, observation)
            observation, _, terminated, _, _ = env.step(action)
        np.testing.assert_array_equal(episode.last_observation, observation)
        assert terminated


def test_the_time_limit_of_an_environment_that_never_ends_is_a_truncation():
    (episode,) = collect_episodes(make_envs(ENDLESS, 1, seed=0), prefer(0))
    assert (len(episode.rewards), episode.terminated, episode.truncated) == (ENDLESS_STEPS, False, True)


def test_an_environment_without_any_limit_is_cut_at_the_step_limit():
    (episode,) = collect_episodes([Endless()], prefer(0), step_limit=25)
    assert (len(episode.rewards), episode.terminated, episode.truncated) == (25, False, True)


class Corridor(Endless):
    """Action 1 leaves at once; the likeliest action, 0, stays for ever."""

    def step(self, action):
        return self.observation(), 1.0, action == 1, False, {}


gymnasium.register("test/Corridor-v0", entry_point=Corridor)


def test_a_policy_that_gets_stuck_when_deterministic_is_stopped_and_reported():
    arguments = {"episodes": 5, "environment": "test/Corridor-v0", "step_limit": 40}
    stuck = evaluate(prefer(0), deterministic=True, **arguments)
    sampled = evaluate(prefer(0), deterministic=False, **arguments)
    assert (stuck.returns, stuck.truncated) == ([40.0] * 5, 5)
    assert sampled.truncated == 0 and 1.0 <= sampled.mean < 20.0
    assert str(stuck) == "mean return 40.0 over 5 episodes (likeliest action; 5 stopped by the step limit)"
    assert "sampled actions" in str(sampled)


def test_evaluation_depends_on_its_seed_only():
    policy = PolicyNet(4, 2)
    torch.manual_seed(1)
    first = evaluate(policy, deterministic=False, episodes=4, seed=3)
    torch.manual_seed(2)
    assert evaluate(policy, deterministic=False, episodes=4, seed=3).returns == first.returns
    assert evaluate(policy, deterministic=False, episodes=4, seed=4).returns != first.returns


def test_evaluating_nothing_is_refused():
    with pytest.raises(ValueError, match="episodes must be at least 1"):
        evaluate(prefer(0), deterministic=True, episodes=0)


def test_sampling_follows_the_probabilities():
    torch.manual_seed(0)
    logits = torch.tensor([0.2, 0.8]).log().expand(20_000, 2)
    assert choose_actions(logits, deterministic=False).float().mean().item() == pytest.approx(0.8, abs=0.02)
    assert choose_actions(logits, deterministic=True).tolist() == [1] * 20_000


def test_a_broken_observation_is_named():
    class Broken(Endless):
        def observation(self):
            return np.full(1, np.nan, np.float32)

    with pytest.raises(ValueError, match="observation holds 1 value"):
        collect_episodes([Broken()], prefer(0))


def test_actor_gives_plain_actions_without_touching_the_global_generator():
    coin = lambda observations: torch.zeros(len(observations), 2)  # noqa: E731
    state = torch.get_rng_state()
    act = actor(coin, deterministic=False, seed=0)
    drawn = [act(np.zeros(4)) for _ in range(200)]
    assert torch.equal(torch.get_rng_state(), state)
    assert set(map(type, drawn)) == {int} and 60 < sum(drawn) < 140
    assert actor(prefer(1), deterministic=True)(np.zeros(4)) == 1


def test_make_cartpole_seeds_reset_and_action_space():
    first, second, other = (make_cartpole(seed=seed) for seed in (5, 5, 6))
    assert [first.action_space.sample() for _ in range(20)] == [second.action_space.sample() for _ in range(20)]
    first, second = make_cartpole(seed=5), make_cartpole(seed=5)
    np.testing.assert_array_equal(first.reset()[0], second.reset()[0])
    assert not np.array_equal(first.reset()[0], other.reset()[0])


def test_environments_of_one_batch_start_differently():
    starts = [tuple(env.reset()[0]) for env in make_envs(CARTPOLE, 8, seed=0)]
    assert len(set(starts)) == 8
    assert starts == [tuple(env.reset()[0]) for env in make_envs(CARTPOLE, 8, seed=0)]
