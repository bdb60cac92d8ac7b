"""The course's measurements on one GPU, in one run of under 12 minutes.

    python benchmarks/gpu_suite.py                        # needs an NVIDIA card; writes results/gpu_suite.json
    python benchmarks/gpu_suite.py --device cpu --quick   # tries the script out on a CPU, in about two minutes

Each part has a share of the time and is left out, and says so, where the time is up. What a machine cannot measure is
printed as "not measured". The last line is JSON.
"""

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from machine import describe
from training import NATURE_PPO

from course_utils.agents import ppo
from course_utils.agents.networks import ActorCritic
from course_utils.agents.ppo_config import PONG_PPO, PPOConfig
from course_utils.agents.rollout import evaluate_game
from course_utils.machine import card

RESULT = Path(__file__).parent / "results" / "gpu_suite.json"
LIMIT_SECONDS = 11.5 * 60


def training_speed(config: PPOConfig, device: str, rollouts: int) -> dict[str, float]:
    """Return steps per second of PPO and where a rollout's time goes, without the first two rollouts."""
    steps = (rollouts + 2) * config.batch_size
    agent = ppo.train(dataclasses.replace(config, total_steps=steps, solved_at=None), device=device)
    rows = agent.log.rows[2:]
    found = {"steps_per_second": statistics.median(row["time/fps"] for row in rows)}
    for part in ("env", "infer", "update"):
        found[f"{part}_seconds"] = statistics.median(row[f"time/{part}_seconds"] for row in rows)
    return {name: round(number, 4) for name, number in found.items()}


def transfer_speed(config: PPOConfig, device: str, repeats: int) -> dict[str, float]:
    """Return gigabytes per second of copies of one rollout's images to the card, from pinned and ordinary memory."""
    shape = (config.batch_size, config.stack, config.image_size, config.image_size)
    speeds = {}
    for kind, pinned in (("ordinary", False), ("pinned", True)):
        images = torch.zeros(shape, dtype=torch.uint8, pin_memory=pinned)
        times = []
        for _ in range(repeats + 1):
            torch.cuda.synchronize()
            started = time.perf_counter()
            images.to(device, non_blocking=True)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - started)
        speeds[f"{kind}_gigabytes_per_second"] = round(images.numel() / 1e9 / statistics.median(times[1:]), 2)
    return speeds


def inference_speed(config: PPOConfig, device: str, repeats: int) -> dict[str, float]:
    """Return milliseconds from the observations of all environments to their actions."""
    network = ActorCritic((config.stack, *[config.image_size] * 2), 6, config.convolutions, config.hidden_size)
    network = network.to(device, memory_format=torch.channels_last)
    images = torch.zeros((config.envs, config.stack, *[config.image_size] * 2), dtype=torch.uint8)
    times = []
    with torch.no_grad():
        for _ in range(repeats + 5):
            started = time.perf_counter()
            network(network.prepare(images))[0].cpu()
            times.append(time.perf_counter() - started)
    return {"milliseconds": round(1e3 * statistics.median(times[5:]), 3)}


def learning(device: str, minutes: float) -> dict[str, Any]:
    """Train Pong until it is solved or the time is up; return minutes, steps and the score over 20 games."""
    started = time.perf_counter()
    agent = ppo.train(PONG_PPO, device=device, on_update=lambda agent: agent.seconds >= 60 * minutes)
    trained = (time.perf_counter() - started) / 60
    result = evaluate_game(agent.network, PONG_PPO, deterministic=False)
    return {"minutes": round(trained, 2), "steps": agent.steps, "solved": agent.solved, "score": result.mean}


def run(device: str, quick: bool, limit_seconds: float = LIMIT_SECONDS) -> dict[str, Any]:
    """Run all parts that the time and the device allow."""
    started = time.perf_counter()
    rollouts, repeats = (1, 5) if quick else (12, 100)
    wide = dataclasses.replace(PONG_PPO, envs=64, steps=64, minibatch_size=1024)
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "transfer of a rollout, 84 pixels": lambda: transfer_speed(NATURE_PPO, device, repeats),
        "inference, Nature network": lambda: inference_speed(NATURE_PPO, device, repeats),
        "inference, Pong network": lambda: inference_speed(PONG_PPO, device, repeats),
        "training, Pong recipe": lambda: training_speed(PONG_PPO, device, rollouts),
        "training, Pong recipe, no overlap": lambda: training_speed(
            dataclasses.replace(PONG_PPO, overlap=False), device, rollouts
        ),
        "training, Nature network": lambda: training_speed(NATURE_PPO, device, rollouts),
        "training, 64 environments": lambda: training_speed(wide, device, rollouts),
        "learning Pong": lambda: learning(device, 0.05 if quick else 6.0),
    }
    found: dict[str, dict[str, Any] | str] = {}
    for name, part in parts.items():
        if name.startswith("transfer") and device == "cpu":
            found[name] = "not measured: needs a CUDA device"
        elif time.perf_counter() - started > limit_seconds * (0.4 if name == "learning Pong" else 0.9):
            found[name] = "not measured: the time is up"
        else:
            found[name] = part()
        print(f"{name:<36}{found[name]}", flush=True)
    return {"device": device, "quick": quick, "machine": describe(), "card": card.environment_card(), "parts": found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="a try-out; prints only")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("not measured: torch sees no CUDA device here (`course doctor` finds out why)")
        return 1
    result = run(options.device, options.quick)
    if not options.quick:
        RESULT.write_text(json.dumps(result, indent=1, default=str) + "\n")
    print(json.dumps(result["parts"]))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
