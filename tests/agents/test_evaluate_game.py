"""Evaluation of a game counts the first game of each environment, in the game's own score."""

import dataclasses

import numpy as np
import pytest
import torch

from course_utils.agents import rollout
from course_utils.agents.envs import Steps
from course_utils.agents.networks import ActorCritic
from course_utils.agents.ppo_config import CARTPOLE_PPO, PONG_PPO
from course_utils.agents.rollout import evaluate_game


class Script:
    """Environments whose games are written down: for each a list of (steps, final reward, truncated), then no end."""

    def __init__(self, games):
        self.games, self.action_count = games, 2
        self.seeds, self.actions, self.closed = [], [], False

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.closed = True

    def reset(self, seed):
        self.seeds.append(seed)
        self.at, self.game = np.zeros(len(self.games), int), np.zeros(len(self.games), int)
        return np.zeros((len(self.games), 3), np.float32)

    def step(self, actions):
        count = len(self.games)
        self.actions.append(actions.tolist())
        rewards, terminated, truncated = np.zeros(count, np.float32), np.zeros(count, bool), np.zeros(count, bool)
        self.at += 1
        for index, games in enumerate(self.games):
            if self.game[index] < len(games) and self.at[index] == games[self.game[index]][0]:
                _, rewards[index], truncated[index] = games[self.game[index]]
                terminated[index] = not truncated[index]
                self.at[index], self.game[index] = 0, self.game[index] + 1
        ended = np.flatnonzero(terminated | truncated)
        final, scores = np.zeros((len(ended), 3), np.float32), rewards[ended].tolist()
        return Steps(np.zeros((count, 3), np.float32), rewards, terminated, truncated, final, scores, [0] * len(ended))


@pytest.fixture
def network():
    torch.manual_seed(0)
    return ActorCritic((3,), 2, hidden_size=4)


def play(monkeypatch, network, games, config=CARTPOLE_PPO, **arguments):
    script, asked = Script(games), []
    monkeypatch.setattr(rollout, "make_vector", lambda config: asked.append(config) or script)
    result = evaluate_game(network, config, **{"deterministic": False, "episodes": len(games), **arguments})
    return result, script, asked[0]


def test_only_the_first_game_of_each_environment_counts(monkeypatch, network):
    # The third plays three short games, clear wins, while the first plays its only one.
    games = [[(9, -3.0, False)], [(2, 21.0, False), (2, 20.0, False), (2, 19.0, False)], [(4, -21.0, False)]]
    result, script, _ = play(monkeypatch, network, games)
    assert result.returns == [-3.0, 21.0, -21.0]
    assert result.mean == -1.0
    assert len(script.actions) == 9
    assert script.closed


def test_only_first_games_that_a_limit_stopped_are_counted_as_stopped(monkeypatch, network):
    games = [[(2, 1.0, True), (1, 1.0, True)], [(5, 2.0, False)], [(1, 3.0, False), (2, 4.0, True)]]
    result, _, _ = play(monkeypatch, network, games)
    assert (result.returns, result.truncated) == ([1.0, 2.0, 3.0], 1)
    assert str(result).endswith("(sampled actions; 1 stopped by the step limit)")


def test_a_game_without_end_is_stopped_at_the_step_limit_and_keeps_its_score(monkeypatch, network):
    result, script, _ = play(monkeypatch, network, [[(3, 7.0, False)], []], step_limit=12)
    assert (result.returns, result.truncated, len(script.actions)) == ([7.0, 0.0], 1, 12)


def test_it_asks_for_as_many_environments_as_games_and_for_the_stickiness_given(monkeypatch, network):
    config = dataclasses.replace(CARTPOLE_PPO, sticky=0.1)
    for sticky, expected in ((None, 0.1), (0.25, 0.25), (0.0, 0.0)):
        _, script, asked = play(monkeypatch, network, [[(1, 0.0, False)]] * 3, config, sticky=sticky, seed=77)
        assert (asked.envs, asked.sticky, asked.environment) == (3, expected, config.environment)
        assert script.seeds == [77]


def test_sampled_actions_depend_on_the_seed_alone_and_the_likeliest_on_none(monkeypatch, network):
    def actions(**arguments):
        return play(monkeypatch, network, [[(30, 0.0, False)]] * 2, **arguments)[1].actions

    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    first = actions(seed=1)
    assert torch.equal(torch.rand(2), expected), "the caller's generator has moved"
    assert actions(seed=1) == first
    assert actions(seed=2) != first
    assert {tuple(row) for row in first} == {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert len({tuple(row) for row in actions(seed=1, deterministic=True)}) == 1


def test_no_games_or_a_network_of_another_game_is_refused(monkeypatch, network):
    with pytest.raises(ValueError, match="episodes must be at least 1, got 0"):
        evaluate_game(network, CARTPOLE_PPO, deterministic=True, episodes=0)
    with pytest.raises(ValueError, match="expects observations"):
        evaluate_game(ActorCritic((3,), 2), CARTPOLE_PPO, deterministic=True, episodes=1)
    with pytest.raises(ValueError, match="the network knows 5 actions, the game 2"):
        play(monkeypatch, ActorCritic((3,), 5), [[(1, 0.0, False)]])


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_network_that_is_broken_is_named(monkeypatch, network, deterministic):
    network.policy.bias.data[0] = torch.nan
    with pytest.raises(ValueError, match="logits holds"):
        play(monkeypatch, network, [[(1, 0.0, False)]], deterministic=deterministic)


def test_cartpole_ends_at_its_own_limit_or_earlier():
    torch.manual_seed(0)
    result = evaluate_game(ActorCritic((4,), 2), CARTPOLE_PPO, deterministic=False, episodes=5)
    assert len(set(result.returns)) > 1
    assert all(8 <= score <= 200 for score in result.returns)


def test_pong_gives_the_games_own_score_again_with_the_same_seed_and_another_when_it_is_sticky():
    config = dataclasses.replace(PONG_PPO, image_size=21, convolutions=((4, 6, 5),), hidden_size=8)
    torch.manual_seed(0)
    network = ActorCritic((config.stack, 21, 21), len(config.moves), config.convolutions, config.hidden_size)
    first, again, sticky = (
        evaluate_game(network, config, deterministic=False, episodes=2, seed=0, sticky=sticky)
        for sticky in (None, 0.0, 0.25)
    )
    assert first.returns == again.returns
    assert all(score == int(score) and -21 <= score <= -15 for score in first.returns + sticky.returns)
    assert (first.truncated, sticky.truncated) == (0, 0)
    assert sticky.returns != first.returns
