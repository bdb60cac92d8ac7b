"""Foreign: environments of other libraries behind gymnasium's interface, and ours behind Stable-Baselines3's."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.atari_wrappers import AtariWrapper
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import SubprocVecEnv, VecEnv, VecFrameStack, VecTransposeImage

from course_utils.agents import processes
from course_utils.agents.envs import FRAME_SKIP, VectorGame, bare_game, seeds_for
from course_utils.machine.runtime import usable_cpus

FAILURE = "failure"


class Telling(gymnasium.Wrapper):
    """In a worker process: hand an exception to the parent as text. A dead worker only says that its pipe broke."""

    def step(self, action: Any) -> tuple:
        try:
            return self.env.step(action)
        except Exception:
            return self._nothing(), 0.0, False, False, {FAILURE: traceback.format_exc()}

    def reset(self, **options: Any) -> tuple:
        try:
            return self.env.reset(**options)
        except Exception:
            return self._nothing(), {FAILURE: traceback.format_exc()}

    def _nothing(self) -> np.ndarray:
        space = self.observation_space
        return np.zeros(space.shape, space.dtype)


class FromSB3(VectorEnv):
    """A VecEnv of Stable-Baselines3 as a gymnasium VectorEnv in SAME_STEP mode; closes without orphans."""

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, venv: VecEnv) -> None:
        self.venv, self.num_envs = venv, venv.num_envs
        self.single_observation_space, self.single_action_space = venv.observation_space, venv.action_space

    def reset(self, *, seed: Sequence[int] | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        if seed is not None:
            # VecEnv.seed takes one number and would count up from it; wrappers around the workers never look at theirs.
            self.venv.unwrapped._seeds = list(seed)
        observations = self.venv.reset()
        self._look_for_failures(self.venv.reset_infos)
        return observations, {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        observations, rewards, dones, infos = self.venv.step(actions)
        self._look_for_failures(infos)
        truncated = np.array([info.get("TimeLimit.truncated", False) for info in infos])
        final = [info.get("terminal_observation") for info in infos]
        return observations, rewards, dones & ~truncated, truncated, {"final_obs": final}

    def close(self, **options: Any) -> None:
        try:
            if not getattr(self.venv.unwrapped, "waiting", False):
                self.venv.close()
        except (EOFError, OSError):
            pass  # a worker is gone already
        processes.end(getattr(self.venv.unwrapped, "processes", []))

    def _look_for_failures(self, infos: Sequence[dict]) -> None:
        for index, info in enumerate(infos):
            if FAILURE in info:
                self.close()
                last = info[FAILURE].strip().splitlines()[-1]
                raise RuntimeError(f"environment {index} failed in its worker: {last}\n{info[FAILURE]}")


def subproc_game(
    game: str, count: int, image_size: int, stack: int, sticky: float, noop_max: int, frame_limit: int
) -> FromSB3:
    """Return SB3's own Atari setup, one process per environment, as its documentation recommends it.

    Lives and rewards are left alone here. Unlike the others it presses FIRE once after each reset where a game has it.
    """
    make_one = partial(_sb3_game, game, image_size, sticky, noop_max, frame_limit)
    return FromSB3(VecTransposeImage(VecFrameStack(workers(make_one, count), stack)))


def workers(make_one: Callable[[], gymnasium.Env], count: int) -> SubprocVecEnv:
    """Return `count` worker processes, each with one environment of `make_one`."""
    make_one().close()  # what cannot be made says why here, and not as a pipe that broke
    return processes.start(partial(SubprocVecEnv, start_method=processes.start_method()), make_one, count)


def _sb3_game(game: str, image_size: int, sticky: float, noop_max: int, frame_limit: int) -> gymnasium.Env:
    # SB3 has a wrapper of its own for sticky actions; the emulator's is the one that everybody reports.
    env = AtariWrapper(
        bare_game(game, sticky, frame_limit),
        noop_max=noop_max,
        frame_skip=FRAME_SKIP,
        screen_size=image_size,
        terminal_on_life_loss=False,
        clip_reward=False,
    )
    return Telling(env)


class EnvPoolGame(VectorEnv):
    """EnvPool's games in SAME_STEP mode: it resets one step late, so those that ended are reset at once by hand.

    `make_pool` takes the seeds, as EnvPool knows them only when it is made: a reset with seeds makes it anew.
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(self, make_pool: Callable[[list[int]], Any], count: int) -> None:
        self.make_pool, self.num_envs = make_pool, count
        self.pool = make_pool(seeds_for(count, None).tolist())
        self.single_observation_space, self.single_action_space = self.pool.observation_space, self.pool.action_space

    def reset(self, *, seed: Sequence[int] | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        if seed is not None:
            self.pool.close()
            self.pool = self.make_pool(list(seed))
        return self.pool.reset()[0], {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict]:
        observations, rewards, terminated, truncated, _ = self.pool.step(actions.astype(np.int32))
        ended = np.flatnonzero(terminated | truncated)
        final = observations
        if len(ended):
            observations = observations.copy()
            observations[ended] = self.pool.reset(ended.astype(np.int32))[0]
        return observations, rewards, terminated, truncated, {"final_obs": final}

    def close(self, **options: Any) -> None:
        self.pool.close()


def envpool_game(
    game: str, count: int, image_size: int, stack: int, sticky: float, noop_max: int, frame_limit: int
) -> EnvPoolGame:
    """Return EnvPool's games; raises ValueError where EnvPool is not installed.

    Its first stack shows the first picture several times, the others' is blank but for it.
    """
    try:
        import envpool
    except ImportError as error:
        raise ValueError('EnvPool is not installed: pip install "course-utils[envpool]"') from error
    if noop_max < 1:
        raise ValueError("EnvPool always begins with a step without action, and crashes at noop_max=0: take at least 1")
    settings = dict(
        num_envs=count,
        num_threads=min(count, usable_cpus()),
        img_height=image_size,
        img_width=image_size,
        stack_num=stack,
        frame_skip=FRAME_SKIP,
        noop_max=noop_max,
        repeat_action_probability=sticky,
        max_episode_steps=frame_limit // FRAME_SKIP,
        use_fire_reset=False,
        episodic_life=False,
        reward_clip=False,
    )
    name = game.title().replace("_", "") + "-v5"
    return EnvPoolGame(lambda seeds: envpool.make_gymnasium(name, seed=seeds, **settings), count)


class NativeVecEnv(VecEnv):
    """The course's environments for algorithms of Stable-Baselines3, which want a VecEnv; made for the native ones."""

    def __init__(self, game: VectorGame) -> None:
        self.game = game
        actions = gymnasium.spaces.Discrete(game.action_count)
        super().__init__(game.num_envs, game.env.single_observation_space, actions)
        self._started = time.time()

    def reset(self) -> np.ndarray:
        seed = self._seeds[0]
        self._reset_seeds()
        return self.game.reset(seed)

    def step_async(self, actions: np.ndarray) -> None:
        self._chosen = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
        steps = self.game.step(self._chosen)
        infos: list[dict] = [{} for _ in range(self.num_envs)]
        ends = zip(np.flatnonzero(steps.ended), steps.final_observations, steps.scores, steps.lengths, strict=True)
        for index, final, score, length in ends:
            infos[index] = {
                "terminal_observation": final,
                "TimeLimit.truncated": bool(steps.truncated[index] and not steps.terminated[index]),
                "episode": {"r": score, "l": length, "t": round(time.time() - self._started, 6)},
            }
        return steps.observations, steps.rewards, steps.ended, infos

    def close(self) -> None:
        self.game.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.game.env, attr_name, None)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("all environments live in one object: nothing can be set in one of them")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        raise NotImplementedError("all environments live in one object: no method of one of them can be called")

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        # Like a Monitor it reports each episode as it was: score and length are the game's own.
        return [wrapper_class is Monitor] * len(list(self._get_indices(indices)))
