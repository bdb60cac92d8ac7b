"""REINFORCE: make the actions that turned out well more likely. Source: Williams, 1992; Sutton and Barto, 13.3-13.4.

Read `train` from top to bottom: play episodes, compute returns, one step on the policy, fit the baseline, report.
It runs on the CPU: networks of this size finish before a GPU has been told what to do.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_utils.agents import networks, returns
from course_utils.agents.envs import CARTPOLE, make_envs
from course_utils.agents.finite import check_finite
from course_utils.agents.metrics import Log
from course_utils.agents.rollout import Episode, collect_episodes
from course_utils.agents.seeding import reproducible
from course_utils.machine import runtime

SOLVED_OVER_EPISODES = 100
SMOKE_STEPS = 16_000
"""enough for `TrainedAgent.learned` with every seed; `benchmarks/cartpole_smoke.py` checks it"""


@dataclass(frozen=True)
class ReinforceConfig:
    """What a run of REINFORCE is made of. One config gives one result on one machine."""

    environment: str = CARTPOLE
    """gymnasium id; one-dimensional observations, discrete actions"""
    seed: int = 0
    """of the networks, the sampled actions and the environments"""
    total_steps: int = 300_000
    """stop once this many environment steps were used"""
    episodes_per_update: int = 8
    """whole episodes played before each update"""
    gamma: float = 0.99
    """discount factor, from 0 to 1"""
    learning_rate: float = 1e-2
    """of the policy (Adam)"""
    baseline: bool = True
    """subtract a learned value from the returns; without it truncated episodes cannot be bootstrapped either"""
    value_learning_rate: float = 1e-2
    """of the baseline (Adam)"""
    value_epochs: int = 20
    """gradient steps on the baseline per update"""
    hidden_size: int = 64
    """units in the hidden layer of each network"""
    max_grad_norm: float = 0.5
    """a longer policy gradient is scaled down to this length"""
    step_limit: int = 1_000
    """cut an episode here if its environment has no limit of its own"""
    solved_at: float = 475.0
    """stop early once the last 100 training episodes reach this mean return"""

    def __post_init__(self) -> None:
        for name in ("total_steps", "episodes_per_update", "hidden_size", "step_limit"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("seed", "learning_rate", "value_learning_rate", "value_epochs"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"gamma must lie between 0 and 1, got {self.gamma}")
        if self.max_grad_norm <= 0:
            raise ValueError(f"max_grad_norm must be positive, got {self.max_grad_norm}")


@dataclass
class TrainedAgent:
    """What training gives back, whether it ran to the end, was solved early or was interrupted."""

    policy: nn.Module
    value_net: nn.Module | None
    """the baseline, or None where the config has none"""
    config: ReinforceConfig
    log: Log
    episode_returns: list[float] = field(default_factory=list)
    """undiscounted return of every training episode, in order"""
    steps: int = 0
    """environment steps used"""
    seconds: float = 0.0
    """wall-clock time of the training"""
    solved: bool = False
    """the last 100 training episodes reached the config's mean return"""
    interrupted: bool = False
    """stopped by the user"""

    def first_and_last(self) -> tuple[float, float]:
        """Return the mean return of the first and of the last 50 training episodes: did it learn?"""
        if not self.episode_returns:
            raise ValueError("no episode was finished: train for longer before comparing")
        return float(np.mean(self.episode_returns[:50])), float(np.mean(self.episode_returns[-50:]))

    @property
    def learned(self) -> bool:
        """Whether the last 50 training episodes earned more than twice as much as the first 50."""
        first, last = self.first_and_last()
        return last > 2 * first


def policy_loss(log_probabilities: Tensor, returns: Tensor, values: Tensor | None = None) -> Tensor:
    """Return the REINFORCE loss, a scalar: minus the mean over all steps of log-probability times advantage.

    All arguments are (steps,) float32. The advantage is the return minus the value, or the return itself without
    values. The values are detached: this term teaches the policy and must not move the baseline.
    Source: Sutton and Barto, equation 13.11; the minus sign because optimisers minimise.
    """
    advantages = returns if values is None else returns - values.detach()
    return -(log_probabilities * advantages).mean()


def train(
    config: ReinforceConfig | None = None,
    *,
    policy_net: Callable[[int, int, int], nn.Module] = networks.PolicyNet,
    log_probabilities: Callable[[Tensor, Tensor], Tensor] = networks.log_probabilities,
    discounted_returns: Callable[[np.ndarray, float, float], Tensor] = returns.discounted_returns,
    bootstrap_values: Callable[[Tensor, Tensor, Tensor], Tensor] = returns.bootstrap_values,
    policy_loss: Callable[[Tensor, Tensor, Tensor | None], Tensor] = policy_loss,
    log: Log | None = None,
) -> TrainedAgent:
    """Train a policy with REINFORCE; the callables are the graded functions, yours or the course's.

    An interrupt (the stop button, Ctrl-C) ends the run and returns the agent as it is. Random generators outside
    stay untouched. Raises ValueError naming the tensor where an observation, a loss or a gradient is not finite.
    """
    config = config or ReinforceConfig()
    with reproducible(config.seed):
        envs = make_envs(config.environment, config.episodes_per_update, config.seed)
        observation_size, action_count = envs[0].observation_space.shape[0], int(envs[0].action_space.n)
        policy = policy_net(observation_size, action_count, config.hidden_size)
        policy_optimizer = torch.optim.Adam(policy.parameters(), config.learning_rate)
        value_net = networks.ValueNet(observation_size, config.hidden_size) if config.baseline else None
        value_optimizer = torch.optim.Adam(value_net.parameters(), config.value_learning_rate) if value_net else None
        agent = TrainedAgent(policy, value_net, config, Log() if log is None else log)

        started = time.perf_counter()
        progress = tqdm(total=config.total_steps, unit="step", disable=not _show_progress())
        try:
            while agent.steps < config.total_steps and not agent.solved:
                # Play. Nothing is differentiated here, so no graph is kept.
                episodes = collect_episodes(envs, policy, step_limit=config.step_limit)
                observations = torch.from_numpy(np.concatenate([episode.observations for episode in episodes]))
                actions = torch.tensor([action for episode in episodes for action in episode.actions])

                # What was each action worth, and what had the baseline expected?
                values, after_last = _predict(value_net, observations, episodes)
                after_last = bootstrap_values(
                    after_last,
                    torch.tensor([episode.terminated for episode in episodes]),
                    torch.tensor([episode.truncated for episode in episodes]),
                )
                targets = torch.cat(
                    [
                        discounted_returns(np.array(episode.rewards), config.gamma, float(value))
                        for episode, value in zip(episodes, after_last, strict=True)
                    ]
                )

                # One step on the policy: the episodes came from the old one, so they serve only once.
                logits = policy(observations)
                loss = policy_loss(log_probabilities(logits, actions), targets, values)
                policy_optimizer.zero_grad()
                loss.backward()
                grad_norm = nn.utils.clip_grad_norm_(policy.parameters(), config.max_grad_norm)
                check_finite(returns=targets, policy_loss=loss, policy_gradient=grad_norm)
                policy_optimizer.step()

                # The baseline is plain regression: it may look at the same data many times.
                value_loss = None
                for _ in range(config.value_epochs if value_net else 0):
                    value_loss = nn.functional.mse_loss(value_net(observations), targets)
                    value_optimizer.zero_grad()
                    value_loss.backward()
                    value_optimizer.step()

                agent.steps += len(actions)
                agent.episode_returns += [float(sum(episode.rewards)) for episode in episodes]
                recent = agent.episode_returns[-SOLVED_OVER_EPISODES:]
                agent.solved = len(recent) == SOLVED_OVER_EPISODES and float(np.mean(recent)) >= config.solved_at
                agent.seconds = time.perf_counter() - started
                scalars = {
                    "rollout/ep_rew_mean": float(np.mean(recent)),
                    "rollout/ep_len_mean": len(actions) / len(episodes),
                    "train/policy_loss": loss,
                    "train/entropy": torch.distributions.Categorical(logits=logits.detach()).entropy().mean(),
                    "train/grad_norm": grad_norm,
                    "time/seconds": agent.seconds,
                }
                if value_loss is not None:
                    scalars["train/value_loss"] = value_loss
                    scalars["train/explained_variance"] = 1 - (targets - values).var() / targets.var()
                agent.log.record(agent.steps, scalars)
                progress.update(len(actions))
                progress.set_postfix(mean_return=f"{np.mean(recent):.0f}")
        except KeyboardInterrupt:
            agent.interrupted = True
        finally:
            progress.close()
            for env in envs:
                env.close()
    return agent


@torch.no_grad()
def _predict(
    value_net: nn.Module | None, observations: Tensor, episodes: list[Episode]
) -> tuple[Tensor | None, Tensor]:
    """Return the values (steps,) of all observations, and (episodes,) of what was seen after each last step."""
    if value_net is None:
        return None, torch.zeros(len(episodes))
    last_observations = torch.from_numpy(np.stack([episode.last_observation for episode in episodes]))
    return value_net(observations), value_net(last_observations)


def _show_progress() -> bool:
    return runtime.platform_name() != "ci" and runtime.scale() != "smoke"
