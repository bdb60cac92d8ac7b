"""Judges of notebook 04: a vector environment's step, the rows of a reset, next values, seeds, Amdahl's law."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from torch import Tensor

from course_utils.agents import envs, returns
from course_utils.lessons.checks.compare import call, compare, explained, same, tensor
from course_utils.lessons.exercise import Wrong, exercise
from course_utils.machine import bottleneck


class Noted(gymnasium.Env):
    """Shows (which environment, which episode, which step, the last action) and notes how it is used."""

    def __init__(self, index: int, length: int, terminated: bool, truncated: bool) -> None:
        self.index, self.length, self.ends = index, length, (terminated, truncated)
        self.episode, self.count, self.action, self.seeds = 0, 0, -1, []

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        self.episode, self.count, self.action = self.episode + 1, 0, -1
        self.seeds.append(seed)
        return self._seen(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.count, self.action = self.count + 1, int(action)
        ends = self.ends if self.count >= self.length else (False, False)
        return self._seen(), 10.0 * self.index + self.count, *ends, {}

    def _seen(self) -> np.ndarray:
        return np.array([self.index, self.episode, self.count, self.action], np.float32)


@exercise(
    reference=envs.step_all,
    points=3,
    hints=(
        "Loop over zip(envs, actions) and collect each result of env.step in a list; enumerate gives the index.",
        "If terminated or truncated: keep the observation in the dict under the index; then env.reset() gives the one "
        "to go on from, as a pair (observation, info).",
        "np.stack makes one array of the observations; np.array(rewards, np.float32), np.array(terminated) do the rest.",
    ),
)
@explained(
    {
        "values to unpack": "The number of names does not fit: env.step gives five things, env.reset two.",
        " shape": "The observations differ in shape. env.reset() gives a pair: (observation, info).",
        "truth value of an array": "`if` wants one truth value: ask inside the loop, for one environment.",
    }
)
def step_all(answer: Callable[..., Any]) -> None:
    endings = ((99, False, False), (2, True, False), (2, False, True), (3, True, True))
    games = [Noted(index, *ending) for index, ending in enumerate(endings)]
    for game in games:
        game.reset()
    actions = np.array([3, 1, 2, 0])
    seen, rewards, over, cut, final = _stepped(answer, games, actions)
    if any(game.count == 2 for game in games):
        raise Wrong("An environment took two steps. Call env.step once and keep all that it returns.")
    if any(game.episode > 1 for game in games):
        raise Wrong("An environment was reset though its episode goes on. Reset only where one ended.")
    if [game.action for game in games] != actions.tolist():
        raise Wrong("Each environment takes one step, with an action of its own.")
    if seen[:, 0].tolist() != [0, 1, 2, 3] or rewards.tolist() != [1, 11, 21, 31]:
        raise Wrong("Observations and rewards are not those of env.step, in the order of the environments.")
    if final or over.any() or cut.any():
        raise Wrong("An episode that goes on is in the dict, or counts as terminated or truncated.")
    _an_ending(games, _stepped(answer, games, actions))
    for _ in range(6):
        _stepped(answer, games, actions)
    if [game.episode for game in games] != [1, 5, 5, 3]:
        raise Wrong("After 8 steps the environments are in the wrong episodes. One reset for each ending.")
    if any(seed is not None for game in games for seed in game.seeds):
        raise Wrong("reset(seed=...) at an ending plays the same episode again and again. Leave the seed out.")
    poles = envs.make_envs(envs.CARTPOLE, 8, seed=0)
    if (shape := _stepped(answer, poles, np.zeros(8, np.int64))[0].shape) != (8, 4):
        raise Wrong(f"The observations of 8 CartPoles must have the shape (8, 4), not {shape}.")


def _stepped(answer: Callable[..., Any], games: Sequence[gymnasium.Env], actions: np.ndarray) -> tuple:
    """Call the answer; Wrong where one of its five results is not of the right kind."""
    result = call(functools.partial(answer, games), actions)
    if not isinstance(result, tuple) or len(result) != 5:
        raise Wrong("It must return five things: observations, rewards, terminated, truncated and the dict.")
    for name, array in zip(("observations", "rewards", "terminated", "truncated"), result, strict=False):
        if not isinstance(array, np.ndarray):
            raise Wrong(f"{name} must be a NumPy array, not {type(array).__name__}: np.stack or np.array makes one.")
        if len(array) != len(games) or (name != "observations" and array.ndim != 1):
            raise Wrong(f"{name} must have one row for each of {len(games)} environments, not the shape {array.shape}.")
        if name != "observations" and array.dtype != (np.float32 if name == "rewards" else bool):
            raise Wrong(f"{name} has the wrong type, {array.dtype}: rewards are float32, the flags bool.")
    if not isinstance(result[4], dict):
        raise Wrong(f"The final observations must be a dict by environment, not {type(result[4]).__name__}.")
    return result


def _an_ending(games: Sequence[Noted], result: tuple) -> None:
    """The second step: the episode of environment 1 terminates, that of 2 is truncated, 0 and 3 go on."""
    seen, rewards, over, cut, final = result
    episodes, ended = [game.episode for game in games], (over.nonzero()[0].tolist(), cut.nonzero()[0].tolist())
    if episodes == [2, 2, 2, 2]:
        raise Wrong("One ending resets all environments. The others are in the middle of an episode.")
    if episodes in ([1, 2, 1, 1], [1, 1, 2, 1]):
        kind = "truncated" if episodes[1] == 2 else "terminated"
        raise Wrong(f"A {kind} episode has ended as well: it must be reset too.")
    if episodes == [1, 1, 1, 1]:
        raise Wrong("Episodes ended and nothing was reset. What to act on next is what env.reset() returns.")
    if ended == ([2], [1]):
        raise Wrong("terminated and truncated are swapped. env.step returns terminated first.")
    if ended != ([1], [2]):
        raise Wrong("Keep terminated and truncated apart, as env.step returns them: what follows differs.")
    if set(final) != {1, 2}:
        raise Wrong(f"Episodes ended in the environments 1 and 2, but the dict has the keys {list(final)}.")
    last = [np.asarray(final[index]).tolist() for index in (1, 2)]
    if last == [[1, 2, 0, -1], [2, 2, 0, -1]]:
        raise Wrong("The dict holds the first observations of the next episodes. Keep the last one before the reset.")
    if last != [[1, 1, 2, 1], [2, 1, 2, 2]]:
        raise Wrong("The dict must hold the observation that the last step of an episode returned.")
    if seen[:, 2].tolist() != [2, 0, 0, 2]:
        raise Wrong("After an ending the row must show the next episode: what env.reset() returned.")
    if rewards.tolist() != [2, 12, 22, 32]:
        raise Wrong("The reward of a step that ended an episode is lost.")


@exercise(
    reference=envs.real_transitions,
    points=2,
    hints=(
        "Row t is a reset exactly if row t - 1 of the same environment ended an episode.",
        "So the resets are `ended`, moved down by one row; ended_before is what moves into the first row.",
        "np.concatenate((ended_before[None], ended[:-1])) moves it; ~ turns resets into real rows.",
    ),
)
@explained(
    {
        "same number of dimensions": "ended_before is one row: ended_before[None] has the shape (1, envs).",
        "truth value of an array": "`if`, `not`, `and` want one truth value; here is one per environment. Use ~, & and |.",
        "numpy boolean": "Truth values cannot be subtracted. Write ~ended for 'not ended'.",
    }
)
def real_transitions(answer: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> None:
    ended = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]], bool)
    before = np.array([True, False, False, True])
    result = _booleans(call(answer, ended, before), (6, 4), "The mask of 6 steps of 4 environments")

    if np.array_equal(result[:5], ~ended[1:]):
        raise Wrong("The rows move up: this leaves out the row before an ending. Each looks at the row above it.")

    def below(row: np.ndarray | bool) -> np.ndarray:
        return ~np.vstack((np.broadcast_to(row, 4), ended[:-1]))

    real = below(before)
    mistakes = {
        "This leaves out the steps that end an episode, and they are real. The row after each is the reset.": ~ended,
        "This marks the steps that end an episode. The row after each is the reset; mark all but those.": ended,
        "It is the wrong way round: True where the row is a reset.": ~real,
        "ended_before is not used: an episode may have ended just before the first row.": below(False),
        "The first row is never real. It is, unless ended_before says otherwise.": below(True),
        "ended_before is turned round: True says that the row before ended an episode.": below(~before),
        "The last row comes round to the front (roll?). Before the first row comes ended_before.": below(ended[-1]),
        "It moves along the environments. Steps are the rows (axis 0).": ~np.roll(ended, 1, 1),
        "The step that ends an episode is left out too. It is real; only the row after it is not.": real & ~ended,
        "After the first ending all is left out. A reset takes one row.": np.minimum.accumulate(real, 0),
        "An ending leaves the row out in all environments.": np.repeat(real.all(1, keepdims=True), 4, 1),
    }
    if result.all():
        raise Wrong("Everything counts as real. Which rows follow an ending?")
    as_numbers = {message: torch.tensor(mask).float() for message, mask in mistakes.items()}
    compare(torch.tensor(result).float(), real, as_numbers, "For 6 steps of 4 environments")
    generator = np.random.default_rng(5)
    for steps in (1, 128):
        ended, before = generator.random((steps, 8)) < 0.1, generator.random(8) < 0.5
        result = _booleans(call(answer, ended, before), (steps, 8), f"The mask of {steps} steps of 8 environments")
        slow = [[not (ended[t - 1, env] if t else before[env]) for env in range(8)] for t in range(steps)]
        if not np.array_equal(result, slow):
            raise Wrong(f"For {steps} random steps of 8 environments the mask is wrong. Is a number fixed?")


def _booleans(result: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    if not isinstance(result, np.ndarray) or result.shape != shape:
        found = result.shape if isinstance(result, np.ndarray) else type(result).__name__
        raise Wrong(f"{what} must be a NumPy array of the shape {shape}, not {found}.")
    if result.dtype != bool:
        raise Wrong(f"{what} must be bool, not {result.dtype}, so that it can pick rows. Write ~ instead of 1 -.")
    return result


@exercise(
    reference=returns.next_values,
    points=3,
    hints=(
        "What is seen after step t is what is seen before step t + 1, one row below: values[1:].",
        "After the last row comes last_values: torch.cat((values[1:], last_values[None])).",
        "Where an episode ended, the next row belongs to another one: torch.where(ended, final_values, ...).",
    ),
)
@explained(
    {
        "Boolean value of Tensor": "`if` wants one truth value; here is one per step and environment. Use torch.where.",
        "same number of dimensions": "last_values is one row: last_values[None] has the shape (1, envs).",
        "with a bool tensor is not supported": "A truth value has no minus. Write ~ended for 'not ended'.",
        "out of bounds for dimension 0": "No row follows the last one: what is seen after it has the values last_values.",
    }
)
def next_values(answer: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    values = torch.tensor([[1.0, -2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    last, ended = torch.tensor([9.0, 10.0]), torch.tensor([[0, 1], [1, 0], [0, 0], [0, 1]], dtype=torch.bool)
    final = torch.tensor([[0.0, 20.0], [0.0, 0.0], [0.0, 0.0], [0.0, -40.0]])  # one ended episode is worth 0
    reasons = {(3, 2): "After the last row comes last_values.", (8,): "Keep steps and environments apart."}
    result = tensor(call(answer, values, last, final, ended), (4, 2), "The next values of 4 steps of 2", reasons)
    else_take = functools.partial(torch.where, ended, final)

    def followed_by(row: Tensor) -> Tensor:
        return else_take(torch.cat((values[1:], row.expand(1, 2))))

    right, following = followed_by(last), torch.cat((values[1:], last[None]))
    last_apart, anywhere = torch.cat((right[:3], last[None])), ended.any(1, keepdim=True)
    mistakes = {
        "At an ending it takes the next row: the first observation of another episode.": following,
        "At an ending it gives 0. Whether anything follows is decided later, by terminated alone.": following * ~ended,
        "These are the values before each step. What is seen after step t stands in row t + 1.": values,
        "The rows do not move: where no episode ended, take the value of row t + 1.": else_take(values),
        "The rows move down. What follows stands one row below.": else_take(torch.cat((last[None], values[:-1]))),
        "The two cases are swapped: final_values belong where an episode ended.": torch.where(ended, following, final),
        "The first row comes round to the end (roll?). After the last row comes last_values.": followed_by(values[0]),
        "The last row is repeated. After it comes last_values.": followed_by(values[-1]),
        "The last row gets 0. After it comes last_values.": followed_by(torch.zeros(2)),
        "In the last row an ended episode gets last_values. Another episode follows there, too.": last_apart,
        "At an ending both values are added. Take final_values instead of the next row.": following + final,
        "These are the final values alone. Where no episode ended, the next row's value counts.": final,
        "An ended episode of value 0 is overlooked. Ask `ended`.": torch.where(final != 0, final, following),
        "One ending fills the row of all environments.": torch.where(anywhere, final, following),
    }
    compare(result, right, mistakes, "For 4 steps of 2 environments")
    generator = torch.Generator().manual_seed(7)
    for steps in (1, 128):
        values, final = torch.randn(2, steps, 8, generator=generator)
        last, ended = torch.randn(8, generator=generator), torch.rand(steps, 8, generator=generator) < 0.2
        final *= ended
        result = tensor(call(answer, values, last, final, ended), (steps, 8), f"The next values of {steps} steps of 8")
        rows = [*values[1:].tolist(), last.tolist()]
        slow = [[final[t, e] if ended[t, e] else rows[t][e] for e in range(8)] for t in range(steps)]
        if not same(result, torch.tensor(slow)):
            raise Wrong(f"For {steps} random steps of 8 environments a value is wrong. Is a number fixed?")


@exercise(
    reference=envs.seeds_for,
    points=2,
    hints=(
        "Draw them from a generator of your own that is seeded with `seed`, or from np.random.SeedSequence(seed).",
        "seed + 0, 1, 2, ... is not enough: runs 0 and 1 then share all games but one. Seeds far apart do not.",
        "np.random.SeedSequence(seed).generate_state(count) gives unsigned numbers; halved (>> 1) they fit.",
    ),
)
def seeds_for(answer: Callable[[int, int], np.ndarray]) -> None:
    before = _generators()
    one, again = _seeds(answer, 8, 0), _seeds(answer, 8, 0)
    if _generators() != before:
        raise Wrong("It seeds or uses a global generator, from which other code draws. Make one of your own.")
    if not np.array_equal(one, again):
        raise Wrong("Two calls with the same arguments differ: nobody could repeat the run. Draw from `seed` alone.")
    if len({*one}) == 1:
        raise Wrong("All environments get the same seed: they play the same game, and 8 are worth one.")
    runs = {seed: {*_seeds(answer, 64, seed).tolist()} for seed in (0, 1, 2, 63, 12_345)}
    if any(len(seeds) < 64 for seeds in runs.values()):
        raise Wrong("Two of 64 environments get the same seed. Draw from all numbers up to 2**31 - 1.")
    if all(seeds == runs[0] for seeds in runs.values()):
        raise Wrong("The run's seed is not used, or only for the order: every run plays the same games.")
    if len(set.union(*runs.values())) < 5 * 64:
        raise Wrong("Runs with different seeds, such as 0 and 1, share games. Is it seed + rank? Spread them wider.")


def _generators() -> tuple:
    return np.random.get_state()[1].tolist(), random.getstate(), torch.random.get_rng_state().tolist()


def _seeds(answer: Callable[[int, int], np.ndarray], count: int, seed: int) -> np.ndarray:
    result = call(answer, count, seed)
    if not isinstance(result, np.ndarray) or result.shape != (count,):
        found = result.shape if isinstance(result, np.ndarray) else type(result).__name__
        raise Wrong(f"It must return an array of {count} integers, not {found}.")
    if not np.issubdtype(result.dtype, np.integer):
        raise Wrong(f"Seeds are integers, not {result.dtype}.")
    if result.min() < 0 or result.max() > 2**31 - 1:
        raise Wrong("A seed lies outside 0 to 2**31 - 1, and the emulator takes no other.")
    return result


@exercise(
    reference=bottleneck.speedup,
    points=2,
    hints=(
        "Let everything take 1 second at first. How long does the part take afterwards, how long the rest?",
        "The rest takes 1 - fraction as before, the part fraction / factor. Add the two.",
        "The speed-up is the time before, 1, divided by that sum.",
    ),
)
@explained({"ZeroDivisionError": "It divides by 0. Divide the fraction by the factor, and add the rest."})
def speedup(answer: Callable[[float, float], float]) -> None:
    mistakes = {
        "This is the factor of the part. The rest takes as long as before.": 4.0,
        "It is upside down: the time before, divided by the time afterwards.": 0.4,
        "The rest, 1 - fraction, is left out, or the part. Both take time.": 5.0,
        "fraction and rest are exchanged: the fraction is what becomes faster.": 1 / 0.85,
        "The part's time is multiplied by the factor. A part that is 4 times faster takes a quarter of it.": 1 / 3.4,
        "Speed-ups are averaged. What adds up is time: 1 - fraction, and fraction / factor.": 0.2 + 0.8 * 4,
        "This is the time that is saved. The speed-up is the time before, divided by the time afterwards.": 0.6,
        "This is the gain. Twice as fast is a speed-up of 2, not of 1.": 1.5,
        "A speed-up is no percentage here: twice as fast is 2.": 250.0,
    }
    for fraction, factor in ((0.8, 4.0), (0.0, 9.0), (1.0, 8.0), (0.5, math.inf), (0.3, 0.5)):
        result = call(answer, fraction, factor)
        if isinstance(result, bool) or not isinstance(result, int | float | np.number):
            raise Wrong(f"It must return a number, not {type(result).__name__}.")
        expected, asked = 1 / (1 - fraction + fraction / factor), f"For fraction {fraction} and factor {factor}"
        compare(torch.tensor(float(result)), expected, mistakes if factor == 4.0 else {}, asked)
