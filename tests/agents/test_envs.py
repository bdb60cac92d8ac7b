"""Vector environments: the same game behind every backend, ends and final observations, seeds."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from course_utils.agents import envs, foreign
from course_utils.agents.envs import (
    CARTPOLE,
    PONG,
    PONG_MOVES,
    SAME_STEP,
    VectorGame,
    make_game,
    make_vector,
    real_transitions,
    seeds_for,
    step_all,
)
from course_utils.agents.ppo_config import CARTPOLE_PPO, PONG_PPO, PPOConfig
from tests.agents.counting import Counting, Drawing

LOCAL = ("native", "sync", "async", "subproc")


@pytest.mark.parametrize("backend", LOCAL)
def test_every_backend_shows_the_same_kind_of_thing(backend):
    with make_game(PONG, 2, backend=backend, image_size=42, noop_max=5, moves=PONG_MOVES) as game:
        first = game.reset(seed=1)
        assert (first.shape, first.dtype) == ((2, 4, 42, 42), np.uint8)
        assert game.observation_shape == (4, 42, 42)
        assert game.action_count == 3
        assert first[0, -1].any()
        for _ in range(8):
            steps = game.step(np.array([1, 2]))
        assert steps.rewards.dtype == np.float32
        assert steps.terminated.dtype == steps.truncated.dtype == bool
        assert not steps.ended.any()
        assert steps.scores == steps.lengths == []
        # A stack moves on by one: what was newest is now the second newest.
        newest = steps.observations[:, -1]
        assert np.array_equal(game.step(np.array([0, 0])).observations[:, -2], newest)


def test_the_native_picture_is_that_of_the_python_wrappers():
    pictures = {}
    for backend in ("native", "sync"):
        with make_game(PONG, 1, backend=backend, noop_max=0) as game:
            game.reset(seed=0)
            for _ in range(60):
                steps = game.step(np.array([0]))
            pictures[backend] = steps.observations[0, -1].astype(int)
    assert np.abs(pictures["native"] - pictures["sync"]).mean() < 2
    assert pictures["native"].std() > 20


def test_native_skips_exactly_four_frames():
    with make_game(PONG, 2) as game:
        game.reset(seed=0)
        before = game.env.step(np.zeros(2, np.int32))[4]["episode_frame_number"]
        after = game.env.step(np.zeros(2, np.int32))[4]["episode_frame_number"]
        assert (after - before).tolist() == [4, 4]


@pytest.mark.parametrize("make", [lambda: envs.one_game(PONG), lambda: foreign._sb3_game(PONG, 84, 0.0, 30, 108_000)])
def test_python_wrappers_skip_exactly_four_frames(make):
    env = make()
    env.reset(seed=0)
    before = env.unwrapped.ale.getEpisodeFrameNumber()
    env.step(0)
    assert env.unwrapped.ale.getEpisodeFrameNumber() - before == 4
    env.close()


def test_the_trap_of_skipping_twice_is_sixteen_frames():
    from stable_baselines3.common.atari_wrappers import AtariWrapper

    env = AtariWrapper(gymnasium.make("ALE/Pong-v5"))
    env.reset(seed=0)
    before = env.unwrapped.ale.getEpisodeFrameNumber()
    env.step(0)
    assert env.unwrapped.ale.getEpisodeFrameNumber() - before == 16
    env.close()


def test_the_frame_limit_cuts_a_game_off_and_hands_over_its_last_observation():
    for backend in ("native", "sync", "subproc"):
        with make_game(PONG, 1, backend=backend, frame_limit=400, noop_max=0) as game:
            game.reset(seed=0)
            steps, seen = 1, game.step(np.array([0]))
            while not seen.ended.any():
                steps, seen = steps + 1, game.step(np.array([0]))
            assert (seen.truncated.tolist(), seen.terminated.tolist()) == ([True], [False]), backend
            assert steps == pytest.approx(100, abs=2)
            assert seen.lengths == [steps]
            assert seen.final_observations.shape == (1, 4, 84, 84)
            assert seen.final_observations[0, 0].any(), "the last observation is a full stack"
            assert not seen.observations[0, 0].any(), "the next one begins with an empty stack"


def test_sticky_actions_are_off_unless_asked_for():
    def played(sticky):
        with make_game(PONG, 1, sticky=sticky, noop_max=0) as game:
            game.reset(seed=3)
            seen = [game.step(np.array([2 + step % 2])).observations[0, -1] for step in range(40)]
        return np.stack(seen)

    assert np.array_equal(played(0.0), played(0.0))
    assert not np.array_equal(played(0.0), played(0.25))


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_moves_are_the_games_own_actions(backend):
    def played(moves, action):
        with make_game(PONG, 1, backend=backend, image_size=42, noop_max=0, moves=moves) as game:
            game.reset(seed=0)
            return [game.step(np.array([action])).observations for _ in range(20)][-1].copy()

    assert np.array_equal(played(PONG_MOVES, 1), played(None, 2))
    assert not np.array_equal(played(PONG_MOVES, 1), played(PONG_MOVES, 2))


def test_one_game_knows_its_moves_too():
    env = envs.one_game(PONG, 42, moves=PONG_MOVES)
    assert (env.action_space.n, env.func(1), env.func(2)) == (3, 2, 3)
    env.close()


@pytest.mark.parametrize("backend", LOCAL)
def test_one_seed_gives_every_environment_its_own_game_and_the_same_again(backend):
    with make_game(PONG, 4, backend=backend, image_size=42) as game:

        def after(seed):
            game.reset(seed=seed)
            for _ in range(12):
                seen = game.step(np.zeros(4, int)).observations
            return seen.copy()

        one, again, other = after(0), after(0), after(1)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert len({picture.tobytes() for picture in one}) > 2  # no more than 30 beginnings differ: two may be alike


def test_seeds_differ_between_environments_and_are_the_same_again():
    assert len(set(seeds_for(64, 0).tolist())) == 64
    assert seeds_for(64, 0).min() >= 0
    assert seeds_for(3, 5).tolist() == seeds_for(3, 5).tolist()
    assert not set(seeds_for(8, 0).tolist()) & set(seeds_for(8, 1).tolist())
    with VectorGame(SyncVectorEnv([Drawing] * 8, **SAME_STEP)) as game:
        assert len({seen.tobytes() for seen in game.reset(seed=0)}) == 8


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_final_observations_scores_and_lengths(backend):
    with VectorGame(envs._gymnasium_vector(Counting, 3, backend)) as game:
        game.reset(seed=0)
        for _ in range(4):
            steps = game.step(np.zeros(3, int))
        assert steps.truncated.all()
        assert steps.final_observations[:, 0, 0, 0].tolist() == [4, 4, 4]
        assert steps.observations[:, 0, 0, 0].tolist() == [0, 0, 0]
        assert (steps.scores, steps.lengths) == ([4.0] * 3, [4] * 3)
        assert game.step(np.zeros(3, int)).observations[0, 0, 0, 0] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "pnog"}, "there is no game 'pnog'; did you mean pong"),
        ({"game": "ALE/Pong-v5"}, "did you mean pong"),
        ({"game": "zzzzzz"}, "write it as ale-py does"),
        ({"count": 0}, "count must be at least 1, got 0"),
        ({"image_size": 0}, "image_size must be at least 1"),
        ({"stack": 0}, "stack must be at least 1"),
        ({"frame_limit": 0}, "frame_limit must be at least 1"),
        ({"noop_max": -1}, "noop_max must be at least 0"),
        ({"sticky": 25}, "sticky is a probability, got 25"),
        ({"sticky": float("nan")}, "sticky is a probability, got nan"),
        ({"moves": (0, 9)}, "moves must be some of the actions 0 to 5"),
        ({"moves": ()}, "moves must be some of the actions 0 to 5"),
        ({"backend": "thread"}, "there is no backend 'thread'; choose one of: native"),
    ],
)
def test_wrong_input_gets_one_clear_line(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        make_game(**{"game": PONG, "count": 1, "image_size": 42, **arguments})
    assert "\n" not in str(caught.value)


def test_life_loss_does_not_restart_the_game():
    with make_game("breakout", 1, image_size=42) as game:
        game.reset(seed=0)
        lives, ended = [], 0
        for step in range(1_500):
            _, _, terminated, truncated, info = game.env.step(np.array([1 if step % 2 else 0], np.int32))
            lives.append(int(info["lives"][0]))
            ended += int(terminated[0] or truncated[0])
            if ended:
                break
        assert ended == 1
        assert {5, 4, 3, 2, 1} <= set(lives)


def test_configs_make_the_environments_they_describe():
    with make_vector(CARTPOLE_PPO) as game:
        assert (game.num_envs, game.observation_shape, game.action_count) == (8, (4,), 2)
    with make_vector(PONG_PPO) as game:
        assert game.num_envs == PONG_PPO.envs
        assert game.observation_shape == (PONG_PPO.stack, PONG_PPO.image_size, PONG_PPO.image_size)
        assert game.action_count == len(PONG_PPO.moves)


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_cartpole_runs_behind_gymnasiums_backends(backend):
    with VectorGame(envs._gymnasium_vector(envs.make_cartpole, 2, backend)) as game:
        assert game.reset(seed=0).shape == (2, 4)
        assert game.step(np.zeros(2, int)).rewards.tolist() == [1, 1]


def test_a_name_decides_what_is_made():
    assert envs.is_game(PONG)
    assert not envs.is_game(CARTPOLE)
    with make_vector(PPOConfig(environment=PONG, envs=1, minibatch_size=1)) as game:
        assert game.observation_shape == (4, 84, 84)


@pytest.mark.parametrize(
    "actions", [np.zeros(3, int), np.array([0]), 0, np.array([0, 2]), np.array([-1, 0]), np.zeros((2, 1), int)]
)
def test_wrong_actions_are_refused_and_do_no_harm(actions):
    with make_vector(PPOConfig(envs=2)) as game:
        game.reset(seed=0)
        with pytest.raises(ValueError, match="step takes 2 actions from 0 to 1, got"):
            game.step(actions)
        assert game.step(np.array([0, 1])).rewards.tolist() == [1, 1]


def test_what_cannot_be_trusted_is_refused():
    with pytest.raises(ValueError, match="SAME_STEP"):
        VectorGame(SyncVectorEnv([Counting]))

    class Silent(SyncVectorEnv):
        def step(self, actions):
            return *super().step(actions)[:4], {}

    with VectorGame(Silent([Counting], **SAME_STEP)) as game:
        game.reset(seed=0)
        with pytest.raises(KeyError, match="final_obs"):
            for _ in range(4):
                game.step(np.array([0]))


def test_the_smallest_vector_environment_does_what_gymnasiums_does():
    single = [Counting(3), Counting(4)]
    for env in single:
        env.reset(seed=0)
    with VectorGame(SyncVectorEnv([partial(Counting, 3), partial(Counting, 4)], **SAME_STEP)) as game:
        game.reset(seed=0)
        for _ in range(9):
            observations, rewards, terminated, truncated, final = step_all(single, np.zeros(2, int))
            steps = game.step(np.zeros(2, int))
            assert np.array_equal(observations, steps.observations)
            assert (rewards.tolist(), rewards.dtype) == (steps.rewards.tolist(), np.float32)
            assert terminated.tolist() == steps.terminated.tolist()
            assert truncated.tolist() == steps.truncated.tolist()
            assert sorted(final) == np.flatnonzero(steps.ended).tolist()
            assert [final[index][0, 0, 0] for index in sorted(final)] == steps.final_observations[:, 0, 0, 0].tolist()


def test_the_default_autoreset_has_rows_that_were_not_played():
    vector = SyncVectorEnv([partial(Counting, 2), partial(Counting, 3)])
    vector.reset(seed=0)
    ended_before, real, rewards = np.array([False, False]), [], []
    for _ in range(4):  # rollouts of three steps
        ended = []
        for _ in range(3):
            _, reward, terminated, truncated, _ = vector.step(np.zeros(2, int))
            rewards.append(reward)
            ended.append(terminated | truncated)
        real.append(real_transitions(np.stack(ended), ended_before))
        ended_before = ended[-1]
    vector.close()
    assert np.concatenate(real).tolist() == (np.stack(rewards) == 1).tolist()
    assert np.concatenate(real).sum(axis=0).tolist() == [8, 9]
