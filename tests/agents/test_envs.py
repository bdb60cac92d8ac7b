"""Vector environments: the same game behind every backend, ends and final observations, seeds, and clean endings."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
import psutil
import pytest
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv

from course_utils.agents import envs, foreign
from course_utils.agents.envs import CARTPOLE, PONG, PONG_MOVES, VectorGame, make_game, make_vector, seeds_for
from course_utils.agents.ppo_config import CARTPOLE_PPO, PONG_PPO

LOCAL = ("native", "sync", "async", "subproc")


def workers() -> list[psutil.Process]:
    """The worker processes: children of multiprocessing's fork server, which is our own child and stays."""
    direct = psutil.Process().children()
    return [worker for child in direct for worker in child.children(recursive=True)]


def assert_no_workers() -> None:
    """A process that has ended may be seen until the fork server has collected it."""
    assert psutil.wait_procs(workers(), timeout=10)[1] == []


class Counting(gymnasium.Env):
    """Shows its own step count; the third episode's step 2 goes wrong where asked to."""

    observation_space = spaces.Box(0, 255, (1, 4, 4), np.uint8)
    action_space = spaces.Discrete(2)

    def __init__(self, length: int = 4, broken: bool = False, dies: bool = False) -> None:
        self.length, self.broken, self.dies, self.resets = length, broken, dies, 0

    def _seen(self):
        return np.full((1, 4, 4), self.count, np.uint8)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count, self.resets = 0, self.resets + 1
        return self._seen(), {}

    def step(self, action):
        self.count += 1
        if self.count == 3 and self.broken:
            raise ValueError("bad reward")
        if self.count == 3 and self.dies:
            os._exit(9)
        return self._seen(), 1.0, False, self.count == self.length, {}


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
    for backend in ("native", "sync"):
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


def test_one_seed_gives_every_environment_its_own_game_and_the_same_again():
    assert len(set(seeds_for(64, 0).tolist())) == 64
    assert seeds_for(64, 0).min() >= 0

    def after(seed):
        with make_game(PONG, 6, image_size=42) as game:
            game.reset(seed=seed)
            for _ in range(20):
                seen = game.step(np.zeros(6, int)).observations
            return seen.copy()

    one, again, other = after(0), after(0), after(1)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)
    assert len({picture.tobytes() for picture in one}) > 3


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


def test_sb3_workers_hand_over_final_observations_and_their_own_seeds():
    with VectorGame(foreign.FromSB3(foreign.workers(Counting, 2))) as game:
        game.reset(seed=0)
        for _ in range(4):
            steps = game.step(np.zeros(2, int))
        assert (steps.truncated.tolist(), steps.terminated.tolist()) == ([True, True], [False, False])
        assert steps.final_observations[:, 0, 0, 0].tolist() == [4, 4]
        assert steps.observations[:, 0, 0, 0].tolist() == [0, 0]
    assert_no_workers()


def _broken():
    return foreign.Telling(Counting(broken=True))


def _dies():
    return Counting(dies=True)


def test_an_exception_in_a_worker_reaches_the_parent_with_its_text():
    game = VectorGame(foreign.FromSB3(foreign.workers(_broken, 2)))
    game.reset(seed=0)
    game.step(np.zeros(2, int))
    game.step(np.zeros(2, int))
    with pytest.raises(RuntimeError, match="environment 0 failed in its worker: ValueError: bad reward"):
        game.step(np.zeros(2, int))
    game.close()
    assert_no_workers()


def test_a_worker_that_dies_is_reported_and_leaves_no_orphans():
    game = VectorGame(foreign.FromSB3(foreign.workers(_dies, 2)))
    game.reset(seed=0)
    game.step(np.zeros(2, int))
    game.step(np.zeros(2, int))
    with pytest.raises(RuntimeError, match="a worker process died"):
        game.step(np.zeros(2, int))
    assert_no_workers()


@pytest.mark.parametrize("backend", ["async", "subproc"])
def test_an_error_inside_the_block_leaves_no_process(backend):
    with pytest.raises(ZeroDivisionError), make_game(PONG, 2, backend=backend, image_size=42) as game:
        game.reset(seed=0)
        assert len(workers()) >= 2
        raise ZeroDivisionError
    assert_no_workers()
    game.close()
    with pytest.raises(ValueError, match="closed: make new ones"):
        game.step(np.zeros(2, int))


@pytest.mark.parametrize("backend", ["async", "subproc"])
def test_ctrl_c_leaves_no_process(backend, tmp_path):
    script = tmp_path / "play.py"
    script.write_text(
        "import numpy as np\n"
        "from course_utils.agents.envs import make_game\n"
        "if __name__ == '__main__':\n"
        f"    with make_game('pong', 2, backend={backend!r}, image_size=42) as game:\n"
        "        game.reset(seed=0)\n"
        "        print('playing', flush=True)\n"
        "        while True:\n"
        "            game.step(np.zeros(2, int))\n"
    )
    run = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert run.stdout.readline() == b"playing\n"
    family = psutil.Process(run.pid).children(recursive=True)
    assert len(family) >= 2
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the whole group
    run.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(process.is_running() for process in family) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [process for process in family if process.is_running()] == []


def test_workers_are_never_forked_and_number_at_most_some_per_core():
    assert envs.start_method() in ("forkserver", "spawn")
    with pytest.raises(ValueError, match=r"1000000 processes on \d+ cores"):
        make_game(PONG, 1_000_000, backend="async")


def _threads():
    env = Counting()
    import cv2

    envs.quiet_worker()
    env.length = cv2.getNumThreads() + 100
    return env


def test_a_worker_keeps_its_libraries_to_one_thread_and_the_parent_keeps_its_own():
    import cv2

    cv2.setNumThreads(2)
    envs.quiet_worker()
    assert cv2.getNumThreads() == 2, "this is not a worker"
    vector = AsyncVectorEnv([_threads], context=envs.start_method())
    assert vector.get_attr("length") == (101,)
    vector.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"game": "pnog"}, "there is no game 'pnog'; did you mean pong"),
        ({"game": "ALE/Pong-v5"}, "did you mean pong"),
        ({"game": "zzzzzz"}, "write it as ale-py does"),
        ({"count": 0}, "at least 1"),
        ({"image_size": 0}, "at least 1"),
        ({"moves": (0, 9)}, "between 0 and 5"),
        ({"backend": "thread"}, "there is no backend 'thread'; choose one of: native"),
    ],
)
def test_wrong_input_gets_one_clear_line(arguments, message):
    with pytest.raises(ValueError, match=message) as caught:
        make_game(**{"game": PONG, "count": 1, "image_size": 42, **arguments})
    assert "\n" not in str(caught.value)


def test_a_missing_envpool_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(ValueError, match=r"pip install \"course-utils\[envpool\]\""):
        make_game(PONG, 1, backend="envpool")


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


def test_the_native_environments_work_for_stable_baselines3():
    from stable_baselines3 import PPO

    venv = foreign.NativeVecEnv(make_game(PONG, 2, frame_limit=400, noop_max=0))
    venv.seed(0)
    assert venv.reset().shape == (2, 4, 84, 84)
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
    model.learn(16)
    assert model.num_timesteps == 16
    venv.close()


def test_cartpole_runs_in_processes_too():
    with VectorGame(envs._gymnasium_vector(_cartpole, 2, "async")) as game:
        assert game.reset(seed=0).shape == (2, 4)
        assert game.step(np.zeros(2, int)).rewards.tolist() == [1, 1]
    assert multiprocessing.active_children() == []


def _cartpole():
    return gymnasium.make(CARTPOLE)
