"""Rollout: play with a policy, to learn from it or to judge it: whole episodes, or a fixed number of steps."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import gymnasium
import numpy as np
import torch
from torch import Tensor

from course_utils.agents.envs import CARTPOLE, VectorGame, make_envs, make_vector
from course_utils.agents.finite import check_finite
from course_utils.agents.networks import ActorCritic, log_probabilities
from course_utils.agents.ppo_config import PPOConfig
from course_utils.agents.returns import next_values
from course_utils.agents.seeding import reproducible

Policy = Callable[[Tensor], Tensor]
"""Anything that maps observations (batch, observation_size) to logits (batch, action_count)."""


@dataclass
class Episode:
    """One episode: for every step what was seen, done and earned; then how it ended."""

    observations: list[np.ndarray] = field(default_factory=list)
    """what was seen before each action, (observation_size,) float32 each"""
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    last_observation: np.ndarray | None = None
    """What was seen after the last step: a truncated episode is worth its value from here on."""
    terminated: bool = False
    """The task ended (the pole fell): nothing follows."""
    truncated: bool = False
    """A limit cut the episode off: rewards would have followed."""


def choose_actions(logits: Tensor, deterministic: bool) -> Tensor:
    """Return one action per row of logits (batch, action_count): the likeliest, or one sampled."""
    if deterministic:
        return logits.argmax(dim=-1)
    check_finite(logits=logits)
    return torch.distributions.Categorical(logits=logits, validate_args=False).sample()


@torch.no_grad()
def collect_episodes(
    envs: Sequence[gymnasium.Env], policy: Policy, *, deterministic: bool = False, step_limit: int = 10_000
) -> list[Episode]:
    """Play one whole episode in every environment, asking the policy once per step for all that still run.

    An episode longer than `step_limit` is cut and counts as truncated, so an environment without a time limit of
    its own cannot run for ever. Raises ValueError where an observation is not finite.
    """
    episodes = [Episode() for _ in envs]
    current = [np.asarray(env.reset()[0], np.float32) for env in envs]
    running = list(range(len(envs)))
    while running:
        observations = torch.from_numpy(np.stack([current[index] for index in running]))
        check_finite(observation=observations)
        actions = choose_actions(policy(observations), deterministic).tolist()
        for index, action in zip(running, actions, strict=True):
            episode = episodes[index]
            episode.observations.append(current[index])
            observation, reward, terminated, truncated, _ = envs[index].step(action)
            current[index] = np.asarray(observation, np.float32)
            episode.actions.append(action)
            episode.rewards.append(float(reward))
            episode.terminated = bool(terminated)
            episode.truncated = bool(truncated) or len(episode.rewards) >= step_limit
            episode.last_observation = current[index]
        running = [index for index in running if not (episodes[index].terminated or episodes[index].truncated)]
    return episodes


@dataclass(frozen=True)
class EvaluationResult:
    """The score of a policy, with all that is needed to compare it: actions, episodes, limit."""

    returns: list[float]
    """undiscounted return of each episode"""
    truncated: int
    """how many of them were stopped by a limit rather than by an end"""
    deterministic: bool
    """True: the likeliest action each time; False: actions sampled, as in training"""

    @property
    def mean(self) -> float:
        """Return the mean return per episode."""
        return float(np.mean(self.returns))

    def __str__(self) -> str:
        actions = "likeliest action" if self.deterministic else "sampled actions"
        return (
            f"mean return {self.mean:.1f} over {len(self.returns)} episodes "
            f"({actions}; {self.truncated} stopped by the step limit)"
        )


def evaluate(
    policy: Policy,
    *,
    deterministic: bool,
    episodes: int = 100,
    seed: int = 12_345,
    environment: str = CARTPOLE,
    step_limit: int = 10_000,
) -> EvaluationResult:
    """Play `episodes` fresh episodes and return their scores; the policy maps (batch, observation_size) to logits.

    Say whether actions are sampled: the two scores differ, and neither is wrong. A good policy may be bad, or
    stuck for ever, when only its likeliest action counts, hence the limit. The caller's generators stay untouched.
    """
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes}")
    with reproducible(seed):
        envs = make_envs(environment, episodes, seed)
        played = collect_episodes(envs, policy, deterministic=deterministic, step_limit=step_limit)
    returns = [float(sum(episode.rewards)) for episode in played]
    return EvaluationResult(returns, sum(episode.truncated for episode in played), deterministic)


def actor(policy: Policy, *, deterministic: bool, seed: int = 0) -> Callable[[np.ndarray], int]:
    """Return a function from one observation (observation_size,) to an action: what a video recorder needs."""
    generator = torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def act(observation: np.ndarray) -> int:
        logits = policy(torch.as_tensor(observation, dtype=torch.float32).unsqueeze(0))
        if deterministic:
            return int(logits.argmax())
        return int(torch.multinomial(logits.softmax(dim=-1), 1, generator=generator))

    return act


@dataclass
class Rollout:
    """The same number of steps from every environment: (steps, envs) tensors on the CPU."""

    observations: Tensor
    """(steps, envs, *shape), as the environment gives them (uint8 for images)"""
    actions: Tensor
    log_probabilities: Tensor
    """of the actions, by the policy that took them"""
    values: Tensor
    """V of what was seen before each step"""
    next_values: Tensor
    """V of what was seen after it: of the episode's last observation where it ended"""
    rewards: Tensor
    """float32, not clipped"""
    terminated: Tensor
    truncated: Tensor
    scores: list[float] = field(default_factory=list)
    """undiscounted returns of the episodes that ended, in order"""
    lengths: list[int] = field(default_factory=list)
    env_seconds: float = 0.0
    """time spent waiting for the environments"""
    infer_seconds: float = 0.0
    """time spent choosing actions"""


@torch.no_grad()
def collect(
    envs: VectorGame, network: ActorCritic, observations: np.ndarray, steps: int, generator: torch.Generator
) -> tuple[Rollout, np.ndarray]:
    """Play `steps` steps in every environment; return them and the observations (envs, *shape) to go on from.

    Actions are sampled with `generator` (a CPU one), so equal seeds give equal rollouts. Raises ValueError where a
    reward or a logit is not finite.
    """
    shape = (steps, envs.num_envs)
    kind = torch.from_numpy(observations[:0]).dtype
    on_gpu = network.value.weight.is_cuda
    seen = torch.empty((*shape, *envs.observation_shape), dtype=kind, pin_memory=on_gpu)
    actions = torch.empty(shape, dtype=torch.int64)
    log_probs, rewards, values = (torch.empty(shape) for _ in range(3))
    final_values = torch.zeros(shape)
    terminated, truncated = (torch.empty(shape, dtype=torch.bool) for _ in range(2))
    rollout = Rollout(seen, actions, log_probs, values, final_values, rewards, terminated, truncated)
    for step in range(steps):
        started = time.perf_counter()
        seen[step] = torch.from_numpy(observations)
        logits, predicted = network(network.prepare(seen[step]))
        logits = logits.float().cpu()
        actions[step] = _sample(logits, generator)
        log_probs[step] = log_probabilities(logits, actions[step])
        values[step] = predicted
        decided = time.perf_counter()
        result = envs.step(actions[step].numpy())
        rollout.env_seconds += time.perf_counter() - decided
        rollout.infer_seconds += decided - started
        observations = result.observations
        rewards[step] = torch.from_numpy(result.rewards)
        terminated[step], truncated[step] = torch.from_numpy(result.terminated), torch.from_numpy(result.truncated)
        rollout.scores += result.scores
        rollout.lengths += result.lengths
        if result.ended.any():
            last = network(network.prepare(result.final_observations))[1]
            final_values[step, torch.from_numpy(result.ended)] = last.float().cpu()
    last_values = network(network.prepare(observations))[1].float().cpu()
    rollout.next_values = next_values(values, last_values, final_values, terminated | truncated)
    check_finite(rewards=rewards)
    return rollout, observations


def _sample(logits: Tensor, generator: torch.Generator) -> Tensor:
    """Return one action per row of logits (batch, action_count), drawn with a generator of the caller's."""
    check_finite(logits=logits)
    return torch.multinomial(logits.softmax(dim=-1), 1, generator=generator).squeeze(-1)


@torch.no_grad()
def evaluate_game(
    network: ActorCritic,
    config: PPOConfig,
    *,
    deterministic: bool,
    episodes: int = 20,
    seed: int = 12_345,
    sticky: float | None = None,
    step_limit: int = 27_000,
) -> EvaluationResult:
    """Play one game in each of `episodes` environments side by side and return the games' own scores, unclipped.

    Only the first game of each counts: of all games that end within some time too many are short ones, and short games
    are clear defeats or clear wins. `config` names the game and what the network sees of it; `sticky` is the
    probability that the emulator repeats the last action, None as in `config`. A game still running after `step_limit`
    steps (108,000 frames) counts with its score so far. The reset seeds are `envs.seeds_for(episodes, seed)`; the
    caller's generators stay untouched. Raises ValueError where the network does not fit the game.
    """
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes}")
    sticky = config.sticky if sticky is None else sticky
    generator = torch.Generator().manual_seed(seed)
    # The batch only has to be a valid one: nothing is learned here.
    asked = replace(config, envs=episodes, steps=1, minibatch_size=1, sticky=sticky)
    with reproducible(seed, config.torch_threads), make_vector(asked) as envs:
        if network.policy.out_features != envs.action_count:
            raise ValueError(f"the network knows {network.policy.out_features} actions, the game {envs.action_count}")
        observations = envs.reset(seed)
        returns, cut, running = np.zeros(episodes), np.zeros(episodes, dtype=bool), np.ones(episodes, dtype=bool)
        for _ in range(step_limit):
            logits = network(network.prepare(observations))[0].float().cpu()
            check_finite(logits=logits)
            actions = logits.argmax(dim=-1) if deterministic else _sample(logits, generator)
            result = envs.step(actions.numpy())
            observations = result.observations
            returns += np.where(running, result.rewards, 0)
            cut |= running & result.truncated
            running &= ~result.ended
            if not running.any():
                break
    return EvaluationResult(returns.tolist(), int((cut | running).sum()), deterministic)
