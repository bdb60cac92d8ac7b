"""Environments: what the agents act in, one at a time or many at once."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv

from course_utils.agents import processes
from course_utils.machine.runtime import usable_cpus

if TYPE_CHECKING:
    from course_utils.agents.ppo_config import PPOConfig

BACKENDS = ("native", "sync", "async", "subproc", "envpool")
"""ale-py's C++ threads; one after the other; gymnasium's processes; SB3's processes; EnvPool's C++ threads"""
FRAME_SKIP = 4
"""an action is held for four frames of the game, and the agent sees the brighter of the last two"""
FRAME_LIMIT = 108_000
"""30 minutes of play at 60 frames a second; a game that reaches it is cut off (truncated)"""
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


def seeds_for(count: int, seed: int | None) -> np.ndarray:
    """Return `count` different seeds (count,) int32 >= 0 drawn from one, or by chance: equal seeds play equal games."""
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


def step_all(
    envs: Sequence[gymnasium.Env], actions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[int, np.ndarray]]:
    """Take one action (envs,) in each environment: the smallest vector environment, one after the other.

    Return observations (envs, ...), rewards (envs,) float32, terminated, truncated (envs,) bool, and the last
    observations of the episodes that ended, by environment. An episode that ends is reset at once: its row of the
    observations is the first of the next one (SAME_STEP).
    """
    observations, rewards, terminated, truncated, final = [], [], [], [], {}
    for index, (env, action) in enumerate(zip(envs, actions, strict=True)):
        observation, reward, over, cut, _ = env.step(action)
        if over or cut:
            final[index] = observation
            observation, _ = env.reset()
        observations.append(observation)
        rewards.append(reward)
        terminated.append(over)
        truncated.append(cut)
    return np.stack(observations), np.array(rewards, np.float32), np.array(terminated), np.array(truncated), final


def real_transitions(ended: np.ndarray, ended_before: np.ndarray) -> np.ndarray:
    """Return which rows (steps, envs) bool are real steps under gymnasium's default autoreset (NEXT_STEP).

    There the row after an ending is the reset: its action is ignored and its reward is 0. `ended` (steps, envs) bool;
    `ended_before` (envs,) bool: whether the row before the first one, of the rollout before, ended an episode.
    """
    return ~np.concatenate((ended_before[None], ended[:-1]))


class VectorGame:
    """Many copies of one environment behind one pair of calls, whichever way they run.

    Wraps a gymnasium VectorEnv in SAME_STEP autoreset: the step that ends an episode also resets it, so every row is
    a real transition, and the last observation is handed over apart. `actions` limits the agent to some actions.
    """

    def __init__(self, env: VectorEnv, actions: Sequence[int] | None = None) -> None:
        if env.metadata.get("autoreset_mode") != AutoresetMode.SAME_STEP:
            raise ValueError("these environments must be made with autoreset_mode=AutoresetMode.SAME_STEP")
        if actions is not None and not (actions and set(actions) <= set(range(env.single_action_space.n))):
            env.close()
            raise ValueError(f"moves must be some of the actions 0 to {env.single_action_space.n - 1}, got {actions}")
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
        seeds = None if seed is None else seeds_for(self.num_envs, seed)
        if seeds is not None and not hasattr(self.env, "ale"):
            seeds = seeds.tolist()  # ale-py wants an array, gymnasium a list
        observations, _ = self._ask(self.env.reset, seed=seeds)
        self._scores[:], self._lengths[:] = 0, 0
        return observations

    def step(self, actions: np.ndarray) -> Steps:
        """Take one action (envs,) in every environment; actions count from 0 to `action_count` - 1."""
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.min() < 0 or actions.max() >= self.action_count:
            most = self.action_count - 1
            raise ValueError(f"step takes {self.num_envs} actions from 0 to {most}, got {actions.tolist()}")
        observations, rewards, terminated, truncated, info = self._ask(self.env.step, self._actions[actions])
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

    def _ask(self, function: Callable[..., tuple], *arguments: Any, **options: Any) -> tuple:
        if self.closed:
            raise ValueError("these environments are closed: make new ones")
        try:
            return function(*arguments, **options)
        except Exception as error:
            self.close()  # after an error they no longer go in step
            if isinstance(error, EOFError | ConnectionError):
                raise RuntimeError(processes.DIED) from error
            raise

    def close(self) -> None:
        """End all environments and the processes they run in, also after an error; a second call does nothing."""
        if self.closed:
            return
        self.closed = True
        if isinstance(self.env, AsyncVectorEnv):
            # Its own close waits for an answer, which workers that died or were interrupted in a step never give.
            processes.end(self.env.processes)
            self.env.closed = True
        self.env.close()

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
    asked = {"count": count, "image_size": image_size, "stack": stack, "frame_limit": frame_limit, "noop_max": noop_max}
    for name, value in asked.items():
        if value < (least := 0 if name == "noop_max" else 1):
            raise ValueError(f"{name} must be at least {least}, got {value}")
    if not 0 <= sticky <= 1:
        raise ValueError(f"sticky is a probability, got {sticky}")
    if not is_game(game):
        raise ValueError(f"there is no game {game!r}{_hint(game)}")
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
    import ale_py  # registers the games; a worker process starts without them

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)  # else each worker prints a banner
    processes.quiet()
    name = "ALE/" + game.title().replace("_", "") + "-v5"
    return gymnasium.make(
        name,
        frameskip=1,
        repeat_action_probability=sticky,
        max_num_frames_per_episode=frame_limit,
        render_mode=render_mode,
    )


def make_vector(config: PPOConfig) -> VectorGame:
    """Return the environments that a PPOConfig asks for: an Atari game, or a gymnasium id one after the other."""
    if not (config.convolutions or is_game(config.environment)):
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
        return processes.start(partial(AsyncVectorEnv, context=processes.start_method(), **SAME_STEP), make_one, count)
    raise ValueError(f"there is no backend {backend!r}; choose one of: {', '.join(BACKENDS)}")


def is_game(name: str) -> bool:
    """Whether this is an Atari game in ale-py's spelling; everything else is a gymnasium id."""
    return name in _games()


def _games() -> list[str]:
    from ale_py import roms

    return roms.get_all_rom_ids()


def _hint(game: str) -> str:
    close = difflib.get_close_matches(game.lower().split("/")[-1], _games(), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ": write it as ale-py does, such as space_invaders"
