"""PPO: learn several times from each batch of steps, but never move the policy far from the one that played them.

Read from top to bottom: what a run is made of, the losses, one update, the loop. Sources: Schulman et al., Proximal
Policy Optimization Algorithms, 2017; Huang et al., The 37 Implementation Details of PPO, 2022. Metrics are named as
Stable-Baselines3 names them.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_utils.agents import precision, returns
from course_utils.agents.envs import VectorGame, make_vector
from course_utils.agents.finite import check_finite
from course_utils.agents.metrics import Log
from course_utils.agents.networks import ActorCritic, log_probabilities, take
from course_utils.agents.ppo_config import SCHEDULES, PPOConfig
from course_utils.agents.rollout import Rollout, collect
from course_utils.agents.seeding import reproducible
from course_utils.machine import runtime

RECENT_EPISODES = 20


def policy_loss(
    new_log_probabilities: Tensor, old_log_probabilities: Tensor, advantages: Tensor, clip_range: float
) -> Tensor:
    """Return PPO's clipped loss, a scalar; all tensors are (batch,) float32.

    ratio = pi_new / pi_old, and the loss is minus the mean of min(ratio * A, clip(ratio, 1 - c, 1 + c) * A): the
    pessimistic one of the two, so that a ratio beyond the range earns nothing more, while one that went the wrong way
    is still pulled back. Source: Schulman et al., 2017, equation 7; the minus sign because optimisers minimise.
    """
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()


def minibatches(count: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield the indices 0 .. count - 1 in random order, `size` int64 at a time: each once, none twice."""
    yield from torch.randperm(count, generator=generator).split(size)


def normalise(advantages: Tensor) -> Tensor:
    """Return advantages (batch,) with mean 0 and standard deviation 1; fewer than two are returned unchanged."""
    if advantages.numel() < 2:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def approximate_kl(new_log_probabilities: Tensor, old_log_probabilities: Tensor) -> Tensor:
    """Return an estimate of KL(old || new) in nats, a scalar >= 0 (Schulman, Approximating KL Divergence, 2020)."""
    log_ratio = new_log_probabilities - old_log_probabilities
    return (torch.exp(log_ratio) - 1 - log_ratio).mean()


class Learner:
    """The network, its optimiser and the counters: all that changes while training, in `state_dict`."""

    def __init__(
        self,
        config: PPOConfig,
        observation_shape: tuple[int, ...],
        action_count: int,
        device: torch.device,
        *,
        gae: Callable[..., Tensor],
        policy_loss: Callable[[Tensor, Tensor, Tensor, float], Tensor],
        minibatches: Callable[[int, int, torch.Generator], Iterator[Tensor]],
    ) -> None:
        self.config = config
        self.gae, self.policy_loss, self.minibatches = gae, policy_loss, minibatches
        self.network = ActorCritic(
            observation_shape,
            action_count,
            config.convolutions,
            config.hidden_size,
            config.pixel_mean,
            config.pixel_scale,
        ).to(device, memory_format=torch.channels_last)
        self.optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate, eps=1e-5, fused=True)
        weights = sum(parameter.numel() for parameter in self.network.parameters())
        self.network.autocast_dtype = precision.choose(config.precision, device, weights)
        self.stepper = precision.Stepper(self.network.autocast_dtype, device)
        self.generator = torch.Generator().manual_seed(config.seed)  # of the minibatches
        self.action_generator = torch.Generator().manual_seed(config.seed + 1)
        self.steps = 0
        self.updates = 0

    def scheduled(self, value: float, schedule: str) -> float:
        """Return `value` for the next update: a function of the steps alone, so resuming needs nothing else."""
        return value * SCHEDULES[schedule](max(0.0, 1 - self.steps / self.config.total_steps))

    def update(self, rollout: Rollout) -> dict[str, float]:
        """Learn from one rollout; return the metrics. Raises ValueError naming the tensor that is not finite."""
        config, device = self.config, self.network.value.weight.device
        rewards = rollout.rewards.sign() if config.clip_rewards else rollout.rewards
        terminated = rollout.terminated | (rollout.rewards != 0) if config.end_at_points else rollout.terminated
        advantages = self.gae(
            rewards, rollout.values, rollout.next_values, terminated, rollout.truncated, config.gamma, config.gae_lambda
        )
        targets = advantages + rollout.values
        check_finite(advantages=advantages)
        explained = 1 - (targets - rollout.values).var() / targets.var().clamp(min=1e-8)

        # The whole rollout goes to the device and becomes float once, instead of once per epoch and minibatch.
        inputs = self.network.prepare(rollout.observations.flatten(0, 1))
        parts = (rollout.actions, rollout.log_probabilities, advantages, targets)
        actions, old_log_probabilities, advantages, targets = (part.flatten().to(device) for part in parts)
        for group in self.optimizer.param_groups:
            group["lr"] = self.scheduled(config.learning_rate, config.learning_rate_schedule)
        entropy_coefficient = self.scheduled(config.entropy_coefficient, config.entropy_schedule)

        sums: dict[str, Tensor] = {}
        gradient_steps, epochs, kl = 0, 0, 0.0
        while epochs < config.epochs and not (config.target_kl and kl > config.target_kl):
            kls = []
            for batch in self.minibatches(config.batch_size, config.minibatch_size, self.generator):
                batch = batch.to(device)
                logits, values = self.network(take(inputs, batch))
                new_log_probabilities = log_probabilities(logits, actions[batch])
                entropy = torch.distributions.Categorical(logits=logits, validate_args=False).entropy().mean()
                policy = self.policy_loss(
                    new_log_probabilities, old_log_probabilities[batch], normalise(advantages[batch]), config.clip_range
                )
                value = nn.functional.mse_loss(values, targets[batch])
                loss = policy + config.value_coefficient * value - entropy_coefficient * entropy
                grad_norm, moved = self.stepper.step(loss, self.optimizer, config.max_grad_norm)
                with torch.no_grad():
                    ratio = torch.exp(new_log_probabilities - old_log_probabilities[batch])
                    kls.append(approximate_kl(new_log_probabilities, old_log_probabilities[batch]))
                    seen = {
                        "train/policy_gradient_loss": policy,
                        "train/value_loss": value,
                        "train/entropy_loss": -entropy,
                        "train/clip_fraction": ((ratio - 1).abs() > config.clip_range).float().mean(),
                        "train/loss": loss,
                        "train/grad_norm": grad_norm if moved else torch.zeros(()),  # infinite where a step is skipped
                    }
                    for name, number in seen.items():
                        sums[name] = sums.get(name, 0) + number.detach()
                gradient_steps += 1
            kl = float(torch.stack(kls).mean())
            epochs += 1
        self.steps += config.batch_size
        self.updates += epochs
        means = {name: float(total) / gradient_steps for name, total in sums.items()}
        check_finite(**{name: torch.tensor(number) for name, number in means.items()})
        return means | {
            "train/approx_kl": kl,
            "train/explained_variance": float(explained),
            "train/learning_rate": self.optimizer.param_groups[0]["lr"],
            "train/n_updates": self.updates,
            "train/skipped_steps": self.stepper.skipped,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return all that the next update depends on."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.stepper.state_dict(),
            "generator": self.generator.get_state(),
            "action_generator": self.action_generator.get_state(),
            "steps": self.steps,
            "updates": self.updates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state`, or from a network alone; raises ValueError where that is of another shape."""
        try:
            self.network.load_state_dict(state["network"])
        except (RuntimeError, KeyError) as error:
            raise ValueError(f"this checkpoint belongs to another network: {str(error).splitlines()[-1]}") from error
        if "optimizer" not in state:
            return
        self.optimizer.load_state_dict(state["optimizer"])
        self.stepper.load_state_dict(state.get("scaler", {}))
        self.generator.set_state(state["generator"])
        self.action_generator.set_state(state["action_generator"])
        self.steps, self.updates = state["steps"], state["updates"]


@dataclass
class PPOAgent:
    """What training gives back, whether it ran to the end, was solved early or was interrupted."""

    learner: Learner
    config: PPOConfig
    log: Log
    scores: list[float] = field(default_factory=list)
    """the game's own score of every finished training episode, in order"""
    seconds: float = 0.0
    """wall-clock time of the training"""
    solved: bool = False
    """the last 20 episodes reached the config's mean score"""
    interrupted: bool = False
    """stopped by the user"""
    seen: Tensor | None = None
    """what environment 0 showed during the last rollout: (steps, *observation shape)"""

    @property
    def network(self) -> ActorCritic:
        """The trained network."""
        return self.learner.network

    @property
    def steps(self) -> int:
        """Environment steps used, of all environments together."""
        return self.learner.steps

    @property
    def recent_score(self) -> float:
        """Mean score of the last 20 finished episodes; NaN before the first."""
        return float(np.mean(self.scores[-RECENT_EPISODES:])) if self.scores else math.nan

    @property
    def value_learned(self) -> bool:
        """Whether the mean explained variance of the last quarter exceeds 0.15: it rises long before the score does."""
        explained = self.log.series("train/explained_variance")[1]
        return bool(explained) and float(np.mean(explained[-max(1, len(explained) // 4) :])) > 0.15


def train(
    config: PPOConfig | None = None,
    *,
    gae: Callable[..., Tensor] = returns.gae,
    policy_loss: Callable[[Tensor, Tensor, Tensor, float], Tensor] = policy_loss,
    minibatches: Callable[[int, int, torch.Generator], Iterator[Tensor]] = minibatches,
    log: Log | None = None,
    device: str | torch.device = "cpu",
    start: dict[str, Any] | None = None,
    on_update: Callable[[PPOAgent], object] | None = None,
) -> PPOAgent:
    """Train with PPO; the callables are the graded functions, yours or the course's.

    `start` is a Learner's `state_dict` to go on from; `on_update` is called after every rollout, and where it returns
    True training ends. An interrupt (the stop button, Ctrl-C) ends the run and returns the agent as it is. Random
    generators outside stay untouched. Raises ValueError naming the tensor that is not finite.
    """
    config = config or PPOConfig()
    with reproducible(config.seed, config.torch_threads), make_vector(config) as envs:
        learner = Learner(
            config,
            envs.observation_shape,
            envs.action_count,
            torch.device(device),
            gae=gae,
            policy_loss=policy_loss,
            minibatches=minibatches,
        )
        if start is not None:
            learner.load_state_dict(start)
        agent = PPOAgent(learner, config, Log() if log is None else log)
        started = time.perf_counter()
        lengths: list[int] = []
        playing = _rollouts(envs, learner)
        progress = tqdm(total=config.total_steps, initial=agent.steps, unit="step", disable=not _show_progress())
        try:
            while agent.steps < config.total_steps and not agent.solved:
                rollout = next(playing)
                agent.scores += rollout.scores
                agent.seen = rollout.observations[:, 0].clone()
                lengths += rollout.lengths
                before_update = time.perf_counter()
                metrics = learner.update(rollout)
                now = time.perf_counter()
                if agent.scores:
                    metrics["rollout/ep_rew_mean"] = agent.recent_score
                    metrics["rollout/ep_len_mean"] = float(np.mean(lengths[-RECENT_EPISODES:] or [0]))
                agent.log.record(
                    agent.steps,
                    metrics
                    | {
                        "time/fps": config.batch_size / (now - started - agent.seconds),
                        "time/time_elapsed": now - started,
                        "time/env_seconds": rollout.env_seconds,
                        "time/infer_seconds": rollout.infer_seconds,
                        "time/update_seconds": now - before_update,
                    },
                )
                agent.seconds = now - started
                agent.solved = (
                    config.solved_at is not None
                    and len(agent.scores) >= RECENT_EPISODES
                    and agent.recent_score >= config.solved_at
                )
                progress.update(config.batch_size)
                progress.set_postfix(score=f"{agent.recent_score:.1f}")
                if on_update is not None and on_update(agent):
                    break
        except KeyboardInterrupt:
            agent.interrupted = True
        finally:
            playing.close()
            progress.close()
    return agent


def _rollouts(envs: VectorGame, learner: Learner) -> Iterator[Rollout]:
    """Yield rollouts without end. With overlap, the next is played by a copy while the caller learns from this one."""
    config, generator = learner.config, learner.action_generator
    observations = envs.reset(config.seed + learner.steps)
    if not config.overlap:
        while True:
            rollout, observations = collect(envs, learner.network, observations, config.steps, generator)
            yield rollout
    player = copy.deepcopy(learner.network)
    with ThreadPoolExecutor(max_workers=1) as pool:  # leaving the block waits for the rollout that is being played
        pending = pool.submit(collect, envs, player, observations, config.steps, generator)
        while True:
            rollout, observations = pending.result()
            player.load_state_dict(learner.network.state_dict())
            pending = pool.submit(collect, envs, player, observations, config.steps, generator)
            yield rollout


def _show_progress() -> bool:
    return runtime.platform_name() != "ci" and runtime.scale() != "smoke"
