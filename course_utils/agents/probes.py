"""Probes: tiny environments whose right answer is known in closed form (idea: the ARENA course).

Each isolates one ability. When training fails on CartPole, run the probes in order: the first that fails says which
part of the learner is broken, within seconds, where a training curve says only that something is.
"""

from collections.abc import Callable
from dataclasses import dataclass

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from course_utils.agents import ppo, reinforce
from course_utils.agents.ppo_config import PPOConfig
from course_utils.agents.reinforce import ReinforceConfig

ONE_STEP = "course/OneStep-v0"
DELAYED_REWARD = "course/DelayedReward-v0"
ACTION_MATTERS = "course/ActionMatters-v0"
ENDLESS = "course/Endless-v0"
ENDLESS_STEPS = 10


class _ProbeEnv(gymnasium.Env):
    """What the probes share: one number as observation, two actions, nothing to draw."""

    observation_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.steps = 0
        return self.observation(), {}

    def observation(self) -> np.ndarray:
        return np.zeros(1, np.float32)


class OneStep(_ProbeEnv):
    """One step, reward 1, end. The value of the only observation is 1: tests that a value is learned at all."""

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return self.observation(), 1.0, True, False, {}


class DelayedReward(_ProbeEnv):
    """Two steps, reward 1 on the second. Values are gamma (observation 0) and 1 (observation 1): tests discounting."""

    def observation(self) -> np.ndarray:
        return np.full(1, self.steps, np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.steps += 1
        if self.steps == 2:
            return np.zeros(1, np.float32), 1.0, True, False, {}
        return self.observation(), 0.0, False, False, {}


class ActionMatters(_ProbeEnv):
    """One step; the action pays +1 where it matches the observation's sign (1 for +1, 0 for -1), else -1.

    A policy that ignores what it sees averages 0; the right one earns 1: tests the policy update and its sign.
    """

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.sign = int(self.np_random.integers(2)) * 2 - 1
        return self.observation(), {}

    def observation(self) -> np.ndarray:
        return np.full(1, getattr(self, "sign", 1), np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return self.observation(), float((2 * int(action) - 1) * self.sign), True, False, {}


class Endless(_ProbeEnv):
    """Reward 1 for ever; only the time limit (10 steps) cuts it off.

    The true value of its only observation is 1 / (1 - gamma): tests that truncation is not taken for an end.
    """

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        return self.observation(), 1.0, False, False, {}


for _name, _class, _limit in (
    (ONE_STEP, OneStep, None),
    (DELAYED_REWARD, DelayedReward, None),
    (ACTION_MATTERS, ActionMatters, None),
    (ENDLESS, Endless, ENDLESS_STEPS),
):
    gymnasium.register(_name, entry_point=_class, max_episode_steps=_limit)


Learned = tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]
"""What a probe looks at: logits (batch, 2) and values (batch,), both functions of observations (batch, 1)."""


@dataclass(frozen=True)
class Probe:
    """One question to a learner, with the number that a right learner gives."""

    environment: str
    question: str
    gamma: float
    expected: float
    measure: Callable[[Learned], float]
    steps: int = 160


@dataclass(frozen=True)
class ProbeResult:
    """What a learner answered to a probe; passed where it is within 5 % of what is expected."""

    probe: Probe
    measured: float

    @property
    def passed(self) -> bool:
        return abs(self.measured - self.probe.expected) <= 0.05 * self.probe.expected

    def __str__(self) -> str:
        return (
            f"{'passed' if self.passed else 'FAILED'}  {self.probe.question}  "
            f"expected {self.probe.expected:.2f}, got {self.measured:.2f}"
        )


@torch.no_grad()
def _first_value(learned: Learned) -> float:
    return float(learned[1](torch.zeros(1, 1)))


@torch.no_grad()
def _probability_of_right_action(learned: Learned) -> float:
    return float(learned[0](torch.tensor([[-1.0], [1.0]])).softmax(dim=-1).diagonal().mean())


PROBES = (
    Probe(ONE_STEP, "Is a reward turned into a value?", 0.5, 1.0, _first_value),
    Probe(DELAYED_REWARD, "Is a later reward discounted?", 0.5, 0.5, _first_value),
    Probe(ACTION_MATTERS, "Does the better action become more likely?", 0.5, 1.0, _probability_of_right_action),
    Probe(ENDLESS, "Is a time limit told apart from an end?", 0.9, 10.0, _first_value, 1_600),
)


def with_reinforce(probe: Probe, **functions: Callable) -> Learned:
    """Train on a probe with REINFORCE and the given functions (those that `reinforce.train` accepts)."""
    config = ReinforceConfig(environment=probe.environment, gamma=probe.gamma, total_steps=probe.steps)
    agent = reinforce.train(config, **functions)
    return agent.policy, agent.value_net


def with_ppo(probe: Probe, **functions: Callable) -> Learned:
    """Train on a probe with PPO and the given functions (those that `ppo.train` accepts)."""
    config = PPOConfig(
        environment=probe.environment,
        gamma=probe.gamma,
        total_steps=max(1_600, 2 * probe.steps),
        envs=4,
        steps=20,
        minibatch_size=40,
        epochs=8,
        learning_rate=1e-2,
        learning_rate_schedule="linear",
        max_grad_norm=5.0,
    )
    network = ppo.train(config, **functions).network
    return lambda observations: network(observations)[0], lambda observations: network(observations)[1]


def run_probe(probe: Probe, learn: Callable[..., Learned] = with_reinforce, **functions: Callable) -> ProbeResult:
    """Train on one probe with the given functions and return what came out."""
    return ProbeResult(probe, probe.measure(learn(probe, **functions)))


def run_probes(learn: Callable[..., Learned] = with_reinforce, **functions: Callable) -> list[ProbeResult]:
    """Run all probes, in the order in which their answers build on each other."""
    return [run_probe(probe, learn, **functions) for probe in PROBES]
