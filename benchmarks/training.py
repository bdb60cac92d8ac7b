"""How many steps per second does PPO train with: the course's, Stable-Baselines3's, and the emulator alone?

    python benchmarks/training.py            # about twenty minutes; writes benchmarks/results/training.json
    python benchmarks/training.py --quick    # under a minute; prints only

Both sides train networks of equal size with equal settings on Pong. SB3 runs as its documentation sets Atari up
(worker processes, AtariWrapper, frame stack), and apart from that through an adapter on the course's own environments.
The sides take turns in every round, and ratios are those of one round: the median over the rounds is quoted. Rollouts
and updates count; making environments and the first rollout do not. The last line is JSON.
"""

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from machine import describe
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from course_utils.agents import foreign, ppo
from course_utils.agents.envs import FRAME_LIMIT, PONG, make_game
from course_utils.agents.networks import NATURE, ActorCritic, take
from course_utils.agents.ppo_config import PONG_PPO, PPOConfig

RESULT = Path(__file__).parent / "results" / "training.json"
# SB3's settings for Atari (RL Zoo), for both sides.
NATURE_PPO = PPOConfig(
    environment=PONG,
    envs=8,
    steps=128,
    epochs=4,
    minibatch_size=256,
    clip_range=0.1,
    convolutions=NATURE,
    hidden_size=512,
    clip_rewards=True,
)
QUICK_SIDES = ("course, small", "SB3, small", "SB3 on native, small", "course, Pong recipe")
CONSTANT = {"learning_rate_schedule": "constant", "entropy_schedule": "constant"}
SMALL_PPO = dataclasses.replace(PONG_PPO, envs=8, moves=None, solved_at=None, **CONSTANT)


class SameLayers(BaseFeaturesExtractor):
    """The layers of the course's network, for SB3."""

    def __init__(self, space: gymnasium.spaces.Box, config: PPOConfig) -> None:
        super().__init__(space, config.hidden_size)
        same = ActorCritic(space.shape, 2, config.convolutions, config.hidden_size)
        self.layers = nn.Sequential(same.body, same.hidden)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations)


def same_network(config: PPOConfig) -> dict[str, Any]:
    """Return SB3's policy_kwargs for the course's network: nothing between its layers and the two heads."""
    return {
        "features_extractor_class": SameLayers,
        "features_extractor_kwargs": {"config": config},
        "net_arch": [],
    }


class Clock(BaseCallback):
    """Notes when each rollout begins."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def _on_rollout_start(self) -> None:
        self.times.append(time.perf_counter())

    def _on_step(self) -> bool:
        return True


class Course:
    """The course's PPO; its speed is the median over the rollouts of a short run, without the first two."""

    def __init__(self, config: PPOConfig, threads: int) -> None:
        self.config = dataclasses.replace(config, torch_threads=threads, solved_at=None)

    def steps_per_second(self, rollouts: int) -> float:
        config = dataclasses.replace(self.config, total_steps=(rollouts + 2) * self.config.batch_size)
        started, ends = time.perf_counter(), []
        ppo.train(config, on_update=lambda agent: ends.append(time.perf_counter() - started))
        return rollouts * config.batch_size / (ends[-1] - ends[1])

    def close(self) -> None:
        pass


class SB3:
    """SB3's PPO with the same settings, on its own worker processes or on the course's native environments."""

    def __init__(self, config: PPOConfig, native: bool, threads: int) -> None:
        self.config, self.threads = config, threads
        if native:
            game = make_game(PONG, config.envs, image_size=config.image_size, stack=config.stack)
            self.venv = foreign.NativeVecEnv(game)
        else:
            game = foreign.subproc_game(PONG, config.envs, config.image_size, config.stack, 0.0, 30, FRAME_LIMIT)
            self.venv = game.venv
        self.model = PPO(
            "CnnPolicy",
            self.venv,
            learning_rate=config.learning_rate,
            n_steps=config.steps,
            batch_size=config.minibatch_size,
            n_epochs=config.epochs,
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_range,
            ent_coef=config.entropy_coefficient,
            vf_coef=config.value_coefficient,
            max_grad_norm=config.max_grad_norm,
            seed=config.seed,
            device="cpu",
            policy_kwargs=same_network(config),
        )

    def steps_per_second(self, rollouts: int) -> float:
        clock, before = Clock(), torch.get_num_threads()
        torch.set_num_threads(self.threads)
        try:
            self.model.learn((rollouts + 1) * self.config.batch_size, clock, reset_num_timesteps=False)
            clock.times.append(time.perf_counter())
        finally:
            torch.set_num_threads(before)
        return rollouts * self.config.batch_size / (clock.times[-1] - clock.times[1])

    def close(self) -> None:
        self.venv.close()


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def sampling_speed(config: PPOConfig, seconds: float) -> float:
    """Return steps per second of the same environments with nothing but random play."""
    rng, steps = np.random.default_rng(0), 0
    with make_game(PONG, config.envs, image_size=config.image_size, stack=config.stack) as game:
        game.reset(seed=0)
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            game.step(rng.integers(game.action_count, size=config.envs))
            steps += config.envs
        return steps / (time.perf_counter() - started)


def choices(config: PPOConfig, repeats: int) -> dict[str, float]:
    """Return how much slower one gradient step is without each of the course's choices (ratio of medians, in turns)."""
    torch.set_num_threads(1)
    images = torch.randint(0, 255, (config.batch_size, config.stack, *[config.image_size] * 2), dtype=torch.uint8)
    batch = torch.randperm(config.batch_size)[: config.minibatch_size]

    def step(
        channels_last: bool = True, fused: bool = True, once: bool = True, rows: bool = True
    ) -> Callable[[], None]:
        layout = torch.channels_last if channels_last else torch.contiguous_format
        network = ActorCritic(images.shape[1:], 6, config.convolutions, config.hidden_size).to(memory_format=layout)
        optimizer = torch.optim.Adam(network.parameters(), fused=fused)
        inputs = network.prepare(images).contiguous(memory_format=layout)

        def run() -> None:
            if not once:
                chosen = network.prepare(images[batch]).contiguous(memory_format=layout)
            else:
                chosen = take(inputs, batch) if rows and channels_last else inputs[batch]
            logits, values = network(chosen)
            optimizer.zero_grad()
            (logits.mean() + values.mean()).backward()
            optimizer.step()

        return run

    sides = {
        "channels_last": step(channels_last=False),
        "fused Adam": step(fused=False),
        "floats once per rollout": step(once=False),
        "rows copied whole": step(rows=False),
    }
    base, times = step(), {name: [] for name in (*sides, "")}
    for repeat in range(repeats + 2):
        for name, side in (("", base), *sides.items()):
            started = time.perf_counter()
            side()
            if repeat > 1:
                times[name].append(time.perf_counter() - started)
    return {name: round(statistics.median(times[name]) / statistics.median(times[""]), 2) for name in sides}


def run(quick: bool, sides: Callable[[], dict[str, Course | SB3]] | None = None) -> dict:
    """Measure all sides in turn, several rounds."""
    rounds, rollouts = (2, 3) if quick else (5, 6)
    threads = torch.get_num_threads()
    default_sides = {
        "course, Nature": lambda: Course(NATURE_PPO, threads),
        "SB3, Nature": lambda: SB3(NATURE_PPO, False, threads),
        "SB3 on native, Nature": lambda: SB3(NATURE_PPO, True, threads),
        "course, small": lambda: Course(SMALL_PPO, 1),
        "SB3, small": lambda: SB3(SMALL_PPO, False, threads),
        "SB3 on native, small": lambda: SB3(SMALL_PPO, True, threads),
        "SB3, small, one thread": lambda: SB3(SMALL_PPO, False, 1),
        "course, Pong recipe": lambda: Course(PONG_PPO, 1),
        "course, Pong recipe, no overlap": lambda: Course(dataclasses.replace(PONG_PPO, overlap=False), 1),
        "course, Pong recipe, two threads": lambda: Course(PONG_PPO, 2),
    }
    if quick:  # the large network alone takes minutes
        default_sides = {name: side for name, side in default_sides.items() if name in QUICK_SIDES}
    made = sides() if sides else {name: make() for name, make in default_sides.items()}
    networks = {
        name: parameters(ActorCritic((c.stack, *[c.image_size] * 2), 6, c.convolutions, c.hidden_size))
        for name, c in (("Nature", NATURE_PPO), ("small", SMALL_PPO))
    }
    speeds: dict[str, list[float]] = {name: [] for name in made}
    alone: list[float] = []
    try:
        for name, size in networks.items():
            side = made.get(f"SB3, {name}")
            if isinstance(side, SB3) and (theirs := parameters(side.model.policy)) != size:
                raise AssertionError(f"{name}: SB3 has {theirs:,} parameters, the course {size:,}")
        for _ in range(rounds):
            for name, side in made.items():
                speeds[name].append(side.steps_per_second(rollouts))
            alone.append(sampling_speed(PONG_PPO, 1.0 if quick else 3.0))
    finally:
        for side in made.values():
            side.close()

    def ratio(over: str, under: str) -> float | None:
        if over not in speeds or under not in speeds:
            return None
        return round(statistics.median(a / b for a, b in zip(speeds[over], speeds[under], strict=True)), 2)

    return {
        "quick": quick,
        "rounds": rounds,
        "machine": describe(),
        "parameters": networks,
        "steps_per_second": {name: round(statistics.median(found)) for name, found in speeds.items()},
        "sampling_steps_per_second": round(statistics.median(alone)),
        "course_over_sb3": ratio("course, small", "SB3, small"),
        "course_over_sb3_same_pipeline": ratio("course, small", "SB3 on native, small"),
        "course_over_sb3_nature": ratio("course, Nature", "SB3, Nature"),
        "course_over_sb3_nature_same_pipeline": ratio("course, Nature", "SB3 on native, Nature"),
        "overlap_gain": ratio("course, Pong recipe", "course, Pong recipe, no overlap"),
        "course_over_sampling": round(
            statistics.median(a / b for a, b in zip(speeds["course, Pong recipe"], alone, strict=True)), 2
        ),
        "slower_without": choices(PONG_PPO, 10 if quick else 100),
    }


KEYS = (
    "course_over_sb3",
    "course_over_sb3_same_pipeline",
    "course_over_sb3_nature",
    "course_over_sb3_nature_same_pipeline",
    "course_over_sampling",
    "overlap_gain",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute; prints only")
    result = run(parser.parse_args().quick)
    for name, speed in result["steps_per_second"].items():
        print(f"{name:<36}{speed:>8,} steps/s")
    print(f"{'environments alone':<36}{result['sampling_steps_per_second']:>8,} steps/s")
    print("one gradient step takes this many times as long without:", result["slower_without"])
    if not result["quick"]:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({key: result[key] for key in KEYS}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
