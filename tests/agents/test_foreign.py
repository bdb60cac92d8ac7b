"""Other libraries' environments behind our interface, and ours behind Stable-Baselines3's."""

import sys
import warnings
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy

from course_utils.agents import foreign
from course_utils.agents.envs import PONG, VectorGame, make_game, make_vector, seeds_for
from course_utils.agents.ppo_config import CARTPOLE_PPO
from tests.agents.counting import Counting, Drawing, assert_no_workers


def test_sb3_workers_hand_over_final_observations():
    with VectorGame(foreign.FromSB3(foreign.workers(Counting, 2))) as game:
        game.reset(seed=0)
        for _ in range(4):
            steps = game.step(np.zeros(2, int))
        assert (steps.truncated.tolist(), steps.terminated.tolist()) == ([True, True], [False, False])
        assert steps.final_observations[:, 0, 0, 0].tolist() == [4, 4]
        assert steps.observations[:, 0, 0, 0].tolist() == [0, 0]
        assert (steps.scores, steps.lengths) == ([4.0, 4.0], [4, 4])
    assert_no_workers()


def test_each_sb3_worker_gets_the_seed_that_is_meant_for_it():
    def drawn(seed):
        return np.random.default_rng(int(seed)).integers(0, 256, (1, 4, 4), np.uint8)

    with VectorGame(foreign.FromSB3(foreign.workers(Drawing, 2))) as game:
        seen = game.reset(seed=7)
    assert np.array_equal(seen, np.stack([drawn(seed) for seed in seeds_for(2, 7)]))


class FakePool:
    """EnvPool's convention: the step after an ending only resets, whatever the action, and rewards nothing."""

    made: list = []  # noqa: RUF012

    def __init__(self, name, **settings):
        self.name, self.settings, self.closed = name, settings, False
        self.length = np.array([3, 5])
        self.observation_space, self.action_space = spaces.Box(0, 255, (1, 4, 4), np.uint8), spaces.Discrete(6)
        self.reset()
        self.made.append(self)

    def _seen(self, which):
        return np.broadcast_to(self.count[which, None, None, None], (len(which), 1, 4, 4)).astype(np.uint8)

    def reset(self, which=None):
        which = np.arange(2) if which is None else which
        if len(which) == 2:
            self.count, self.over = np.zeros(2, int), np.zeros(2, bool)
        self.count[which], self.over[which] = 0, False
        return self._seen(which), {}

    def step(self, actions):
        assert actions.dtype == np.int32
        rewards = np.where(self.over, 0.0, 1.0)
        self.count = np.where(self.over, 0, self.count + 1)
        self.over = self.count == self.length
        return self._seen(np.arange(2)), rewards, self.over & [True, False], self.over & [False, True], {}

    def close(self):
        self.closed = True


@pytest.fixture
def envpool(monkeypatch):
    monkeypatch.setattr(FakePool, "made", [])
    monkeypatch.setitem(sys.modules, "envpool", SimpleNamespace(make_gymnasium=FakePool))


@pytest.mark.usefixtures("envpool")
def test_envpool_shows_no_step_that_was_not_played():
    with make_game(PONG, 2, backend="envpool") as game:
        game.reset(seed=0)
        played = [game.step(np.zeros(2, int)) for _ in range(10)]
    assert {reward for steps in played for reward in steps.rewards.tolist()} == {1.0}
    assert [steps.observations[0, 0, 0, 0] for steps in played] == [1, 2, 0, 1, 2, 0, 1, 2, 0, 1]
    assert [steps.lengths for steps in played if steps.ended.any()] == [[3], [5], [3], [3], [5]]
    assert [steps.final_observations[:, 0, 0, 0].tolist() for steps in played[2:5:2]] == [[3], [5]]
    assert (played[2].terminated.tolist(), played[4].truncated.tolist()) == ([True, False], [False, True])


@pytest.mark.usefixtures("envpool")
def test_envpool_is_made_with_the_same_settings_and_anew_for_a_seed():
    with make_game("space_invaders", 2, backend="envpool", sticky=0.25, frame_limit=400) as game:
        game.reset(seed=3)
        first, pool = FakePool.made
        assert first.closed
        assert game.env.pool is pool
        assert pool.name == "SpaceInvaders-v5"
        wanted = {"frame_skip": 4, "repeat_action_probability": 0.25, "max_episode_steps": 100, "noop_max": 30}
        wanted |= {"use_fire_reset": False, "episodic_life": False, "reward_clip": False, "stack_num": 4}
        wanted |= {"img_height": 84, "img_width": 84, "seed": seeds_for(2, 3).tolist()}
        assert {name: pool.settings[name] for name in wanted} == wanted
        game.reset()
        assert len(FakePool.made) == 2
    assert pool.closed


@pytest.mark.usefixtures("envpool")
def test_envpool_is_kept_from_crashing():
    with pytest.raises(ValueError, match="crashes at noop_max=0"):
        make_game(PONG, 1, backend="envpool", noop_max=0)


@pytest.mark.skipif(find_spec("envpool") is None, reason="needs EnvPool")
def test_the_real_envpool_plays_whole_games():
    with make_game(PONG, 2, backend="envpool", image_size=42) as game:
        observations = game.reset(seed=0)
        played = [game.step(np.zeros(2, int)) for _ in range(1_200)]
    assert (observations.shape, observations.dtype) == ((2, 4, 42, 42), np.uint8)
    scores = [score for steps in played for score in steps.scores]
    assert len(scores) >= 2 and set(scores) == {-21.0}  # nobody moves our paddle
    assert sum(float(steps.rewards.sum()) for steps in played) <= sum(scores)


def test_a_missing_envpool_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(ValueError, match=r"pip install \"course-utils\[envpool\]\""):
        make_game(PONG, 1, backend="envpool")


def test_the_native_environments_work_for_stable_baselines3():
    venv = foreign.NativeVecEnv(make_game(PONG, 2, image_size=42, frame_limit=400, noop_max=0))
    venv.seed(0)
    assert venv.reset().shape == (2, 4, 42, 42)
    for _ in range(120):
        observations, _, dones, infos = venv.step(np.zeros(2, int))
        if dones.any():
            break
    assert dones.all()
    assert infos[0]["terminal_observation"][0].any()
    assert infos[0]["TimeLimit.truncated"]
    assert infos[0]["episode"]["l"] == pytest.approx(100, abs=2)
    assert not observations[0, 0].any()
    model = PPO("CnnPolicy", venv, n_steps=8, batch_size=16, n_epochs=1, seed=0, device="cpu")
    assert model.get_env() is venv, "nothing is transposed: the images are channels first already"
    model.learn(16)
    assert model.num_timesteps == 16
    venv.close()
    venv.close()


def test_the_adapter_passes_seeds_actions_and_scores_on():
    with make_vector(CARTPOLE_PPO) as game:
        wanted = game.reset(seed=5)
    venv = foreign.NativeVecEnv(make_vector(CARTPOLE_PPO))
    venv.seed(5)
    assert np.array_equal(venv.reset(), wanted)
    assert (venv.observation_space.shape, venv.action_space.n) == ((4,), 2)
    scores = []
    while len(scores) < 8:
        _, rewards, dones, infos = venv.step(np.zeros(8, int))
        assert rewards.tolist() == [1.0] * 8
        scores += [info["episode"]["r"] for info in infos if "episode" in info]
        assert [info["TimeLimit.truncated"] for info in infos if info] == [False] * int(dones.sum())
    assert all(8 <= score <= 11 for score in scores)  # always to the left, the pole falls at once
    model = PPO("MlpPolicy", venv, n_steps=8, batch_size=16, device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it would warn of an environment that does not report its episodes
        assert evaluate_policy(model, venv, n_eval_episodes=8)[0] > 5
    venv.close()
