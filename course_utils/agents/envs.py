"""Environments: what the agents act in, one at a time or many at once."""

from __future__ import annotations

import difflib
import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from course_utils.machine.runtime import usable_cpus

if TYPE_CHECKING:
    from course_utils.agents.ppo_config import PPOConfig

BACKENDS = ("native", "sync", "async", "subproc", "envpool")
"""ale-py's C++ threads; one after the other; gymnasium's processes; SB3's processes; EnvPool's C++ threads"""
FRAME_SKIP = 4
"""an action is held for four frames of the game, and the agent sees the brighter of the last two"""
FRAME_LIMIT = 108_000
"""30 minutes of play at 60 frames a second; a game that reaches it is cut off (truncated)"""
PROCESSES_PER_CPU = 16
SAME_STEP = {"autoreset_mode": AutoresetMode.SAME_STEP}

CARTPOLE = "CartPole-v1"
PONG = "pong"
PONG_MOVES = (0, 2, 3)
"""stay, up, down: three of Pong's six actions; the other three also press fire, which does nothing during play"""


def make_cartpole(render_mode: str | None = None, seed: int | None = None) -> gymnasium.Env:
    """Return CartPole-v1; with `seed` its reset and its action space (which has its own generator) are seeded."""
    env = gymnasium.make(CARTPOLE, render_mode=render_mode)
    if seed is not None:
        env.reset(seed=seed)
        env.action_space.seed(seed)
    return env


def make_envs(environment: str, count: int, seed: int) -> list[gymnasium.Env]:
    """Return `count` environments of one gymnasium id, each with its own seed drawn from `seed` (>= 0)."""
    envs = [gymnasium.make(environment, disable_env_checker=True) for _ in range(count)]
    for env, env_seed in zip(envs, seeds_for(count, seed), strict=True):
        env.reset(seed=int(env_seed))
        env.action_space.seed(int(env_seed))
    return envs


def seeds_for(count: int, seed: int) -> np.ndarray:
    """Return `count` different seeds (count,) int32 >= 0 drawn from one: equal seeds play equal games."""
    return (np.random.SeedSequence(seed).generate_state(count) >> 1).astype(np.int32)


@dataclass(frozen=True)
class Steps:
    """What one step of all environments gave. Reward and score are the game's own: nothing is clipped here."""

    observations: np.ndarray
    """(envs, ...) what to act on next: the first observation of the next episode where one has ended"""
    rewards: np.ndarray
    """(envs,) float32"""
    terminated: np.ndarray
    """(envs,) bool: the game is over, nothing follows"""
    truncated: np.ndarray
    """(envs,) bool: a limit stopped it, rewards would have followed"""
    final_observations: np.ndarray
    """(ended envs, ...) the last observations of the episodes that ended in this step, in the order of the envs"""
    scores: list[float]
    """undiscounted return of each episode that ended in this step"""
    lengths: list[int]
    """its number of steps"""

    @property
    def ended(self) -> np.ndarray:
        """(envs,) bool: an episode ended here, for whatever reason."""
        return self.terminated | self.truncated


class VectorGame:
    """Many copies of one environment behind one pair of calls, whichever way they run.

    Wraps a gymnasium VectorEnv in SAME_STEP autoreset: the step that ends an episode also resets it, so every row is
    a real transition, and the last observation is handed over apart. `actions` limits the agent to some actions.
    """

    def __init__(self, env: VectorEnv, actions: Sequence[int] | None = None) -> None:
        if env.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
            raise ValueError("these environments must be made with autoreset_mode=AutoresetMode.SAME_STEP")
        if actions is not None and not set(actions) <= set(range(env.single_action_space.n)):
            raise ValueError(f"actions {tuple(actions)} must lie between 0 and {env.single_action_space.n - 1}")
        self.env = env
        self.closed = False
        self.num_envs: int = env.num_envs
        self.observation_shape: tuple[int, ...] = env.single_observation_space.shape
        self.observation_dtype = env.single_observation_space.dtype
        self._actions = np.arange(env.single_action_space.n) if actions is None else np.asarray(actions)
        self.action_count = len(self._actions)
        self._scores, self._lengths = np.zeros(self.num_envs), np.zeros(self.num_envs, np.int64)

    def reset(self, seed: int | None = None) -> np.ndarray:
        """Start all episodes afresh and return the observations (envs, ...); `seed` gives each its own seed."""
        self._check_open()
        seeds = None if seed is None else seeds_for(self.num_envs, seed)
        # ale-py wants an array, gymnasium a list.
        observations, _ = self.env.reset(seed=seeds if hasattr(self.env, "ale") or seeds is None else seeds.tolist())
        self._scores[:], self._lengths[:] = 0, 0
        return observations

    def step(self, actions: np.ndarray) -> Steps:
        """Take one action (envs,) in every environment; actions count from 0 to `action_count` - 1."""
        self._check_open()
        observations, rewards, terminated, truncated, info = self.env.step(self._actions[actions])
        rewards = np.asarray(rewards, np.float32)
        self._scores += rewards
        self._lengths += 1
        ended = np.flatnonzero(terminated | truncated)
        final = observations[:0]
        scores, lengths = self._scores[ended].tolist(), self._lengths[ended].tolist()
        if len(ended):
            if "final_obs" not in info:
                raise KeyError("the environment ended an episode without handing over info['final_obs']")
            final = np.stack([info["final_obs"][index] for index in ended])
            self._scores[ended], self._lengths[ended] = 0, 0
        return Steps(observations, rewards, terminated, truncated, final, scores, lengths)

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError("these environments are closed: make new ones")

    def close(self) -> None:
        """End all environments and the processes they run in, also after an error; a second call does nothing."""
        if self.closed:
            return
        self.closed = True
        # Processes that were interrupted in the middle of a step never answer, so they are not waited for.
        self.env.close(**({"terminate": True} if isinstance(self.env, AsyncVectorEnv) else {}))

    def __enter__(self) -> VectorGame:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def make_game(
    game: str,
    count: int,
    *,
    backend: str = "native",
    image_size: int = 84,
    stack: int = 4,
    sticky: float = 0.0,
    noop_max: int = 30,
    frame_limit: int = FRAME_LIMIT,
    moves: Sequence[int] | None = None,
) -> VectorGame:
    """Return `count` copies of an Atari game in ale-py's spelling (pong, space_invaders), whichever way they run.

    All backends show the same: observations (stack, image_size, image_size) uint8, gray, four frames of the game per
    step, up to `noop_max` steps without action at the start, `sticky` the probability with which the emulator repeats
    the last action in a frame (gymnasium's own default is 0.25), lives ignored, rewards as the game gives them.
    `moves` are the game's actions that the agent may choose from; None: all. Raises ValueError for what cannot work.
    """
    if count < 1 or image_size < 1 or stack < 1:
        raise ValueError(f"count, image_size and stack must be at least 1, got {count}, {image_size} and {stack}")
    _check_game(game)
    if backend == "native":
        from ale_py.vector_env import AtariVectorEnv

        env: VectorEnv = AtariVectorEnv(
            game,
            count,
            num_threads=min(count, usable_cpus()),
            img_height=image_size,
            img_width=image_size,
            stack_num=stack,
            frameskip=FRAME_SKIP,
            repeat_action_probability=sticky,
            noop_max=noop_max,
            max_num_frames_per_episode=frame_limit,
            reward_clipping=False,
            use_fire_reset=False,
            **SAME_STEP,
        )
        return VectorGame(env, moves)
    if backend in ("subproc", "envpool"):
        from course_utils.agents import foreign

        make = foreign.subproc_game if backend == "subproc" else foreign.envpool_game
        return VectorGame(make(game, count, image_size, stack, sticky, noop_max, frame_limit), moves)
    make_one = partial(one_game, game, image_size, stack, sticky, noop_max, frame_limit)
    return VectorGame(_gymnasium_vector(make_one, count, backend), moves)


def one_game(
    game: str,
    image_size: int = 84,
    stack: int = 4,
    sticky: float = 0.0,
    noop_max: int = 30,
    frame_limit: int = FRAME_LIMIT,
    moves: Sequence[int] | None = None,
    render_mode: str | None = None,
) -> gymnasium.Env:
    """Return one game as `make_game` shows it; with render_mode="rgb_array" it can be filmed."""
    from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation, TransformAction

    env = bare_game(game, sticky, frame_limit, render_mode)
    env = AtariPreprocessing(env, noop_max=noop_max, frame_skip=FRAME_SKIP, screen_size=image_size)
    env = FrameStackObservation(env, stack, padding_type="zero")
    if moves is not None:
        env = TransformAction(env, lambda action: moves[action], gymnasium.spaces.Discrete(len(moves)))
    return env


def bare_game(game: str, sticky: float, frame_limit: int, render_mode: str | None = None) -> gymnasium.Env:
    """Return the emulator alone, one frame per step: a wrapper that skips frames must not find them skipped already."""
    import ale_py  # noqa: F401  registers the games; a worker process starts without them

    quiet_worker()
    name = "ALE/" + game.title().replace("_", "") + "-v5"
    return gymnasium.make(
        name,
        frameskip=1,
        repeat_action_probability=sticky,
        max_num_frames_per_episode=frame_limit,
        render_mode=render_mode,
    )


def quiet_worker() -> None:
    """In a worker process, keep each library to one thread: many workers with many threads fight for the cores."""
    if multiprocessing.parent_process() is not None:
        for name, setter in (("torch", "set_num_threads"), ("cv2", "setNumThreads")):
            if name in sys.modules:
                getattr(sys.modules[name], setter)(1)


def make_vector(config: PPOConfig) -> VectorGame:
    """Return the environments that a PPOConfig asks for: an Atari game, or a gymnasium id one after the other."""
    if not config.convolutions:
        make_one = partial(gymnasium.make, config.environment, disable_env_checker=True)
        return VectorGame(_gymnasium_vector(make_one, config.envs, "sync"))
    return make_game(
        config.environment,
        config.envs,
        image_size=config.image_size,
        stack=config.stack,
        sticky=config.sticky,
        moves=config.moves,
    )


def _gymnasium_vector(make_one: Any, count: int, backend: str) -> VectorEnv:
    if backend == "sync":
        return SyncVectorEnv([make_one] * count, **SAME_STEP)
    if backend == "async":
        check_processes(count)
        return AsyncVectorEnv([make_one] * count, context=start_method(), **SAME_STEP)
    raise ValueError(f"there is no backend {backend!r}; choose one of: {', '.join(BACKENDS)}")


def check_processes(count: int) -> None:
    """Refuse to start far more processes than there are cores: they would only wait for each other, and fill memory."""
    most = PROCESSES_PER_CPU * usable_cpus()
    if count > most:
        raise ValueError(
            f"{count} environments would be {count} processes on {usable_cpus()} cores: take at most {most}"
        )


def start_method() -> str:
    """Return how worker processes are started: never by fork, which after CUDA or OpenMP has started fails or hangs."""
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def _check_game(game: str) -> None:
    from ale_py import roms

    games = roms.get_all_rom_ids()
    if game not in games:
        close = difflib.get_close_matches(game.lower().split("/")[-1], games, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else ": write it as ale-py does, such as space_invaders"
        raise ValueError(f"there is no game {game!r}{hint}")
