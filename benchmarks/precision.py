"""What does half precision bring in an update of PPO: time, and memory for tensors?

    python benchmarks/precision.py                  # a few minutes; writes benchmarks/results/precision.json
    python benchmarks/precision.py --quick          # under a minute; prints only
    python benchmarks/precision.py --device cuda    # on a card; writes results/precision_cuda.json

Whole updates of the course's learner on made-up rollouts, so no emulator is in the way: the Nature network with 84
pixels, and the course's small one with 42. Both sides keep images channels_last and take turns in every round; a
speed-up is the median of the rounds' ratios. The peak is that of the allocator's own events during one update, and
weights and optimiser states, which stay float32, come on top on both sides. On a CPU without native bfloat16 it is
emulated: the file says so, and such figures speak for such CPUs only. The last line is JSON.
"""

import argparse
import dataclasses
import json
import math
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from machine import describe
from training import NATURE_PPO

from course_utils.agents import ppo, returns
from course_utils.agents.ppo_config import PONG_PPO, PPOConfig
from course_utils.agents.precision import native_dtype
from course_utils.agents.rollout import Rollout
from course_utils.memory.meters import tensor_peak

RESULTS = Path(__file__).parent / "results"
NETWORKS = {"nature_cnn": NATURE_PPO, "small_cnn": PONG_PPO}
ACTIONS = 3


def noise(config: PPOConfig) -> Rollout:
    """Return a rollout that nobody played: random images, actions and rewards."""
    generator = torch.Generator().manual_seed(0)
    shape = (config.steps, config.envs)
    images = (*shape, config.stack, config.image_size, config.image_size)
    return Rollout(
        observations=torch.randint(256, images, dtype=torch.uint8, generator=generator),
        actions=torch.randint(ACTIONS, shape, generator=generator),
        log_probabilities=torch.full(shape, -math.log(ACTIONS)),
        values=torch.zeros(shape),
        next_values=torch.zeros(shape),
        rewards=torch.randn(shape, generator=generator),
        terminated=torch.zeros(shape, dtype=torch.bool),
        truncated=torch.zeros(shape, dtype=torch.bool),
    )


def learner(config: PPOConfig, precision: str, device: str) -> ppo.Learner:
    config = dataclasses.replace(config, precision=precision)
    shape = (config.stack, config.image_size, config.image_size)
    functions = {"gae": returns.gae, "policy_loss": ppo.policy_loss, "minibatches": ppo.minibatches}
    torch.manual_seed(0)
    return ppo.Learner(config, shape, ACTIONS, torch.device(device), **functions)


def compare(config: PPOConfig, half: str, device: str, rounds: int) -> dict[str, Any]:
    """Return speed-up and peaks of one network, float32 against `half`."""
    sides = {name: learner(config, name, device) for name in ("float32", half)}
    rollout, seconds = noise(config), {name: [] for name in sides}
    for round_number in range(rounds + 1):  # the first one starts everything up
        for name, side in sides.items():
            started = time.perf_counter()
            side.update(rollout)  # ends with numbers on the host: a card has finished by then
            if round_number:
                seconds[name].append(time.perf_counter() - started)
    peaks = {name: tensor_peak(lambda side=side: side.update(rollout), device)[1] for name, side in sides.items()}
    ratios = [plain / other for plain, other in zip(*seconds.values(), strict=True)]
    return {
        "minibatch_size": config.minibatch_size,
        "update_seconds": {name: round(statistics.median(times), 4) for name, times in seconds.items()},
        "speedup": round(statistics.median(ratios), 3),
        "speedups": [round(ratio, 3) for ratio in ratios],
        "peak_megabytes": {name: round(peak / 1e6, 1) for name, peak in peaks.items()},
        "peak_ratio": round(peaks[half] / peaks["float32"], 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="one short round; prints only")
    options = parser.parse_args()
    torch.set_num_threads(1)
    native = native_dtype(options.device)
    half = "float16" if native == torch.float16 else "bfloat16"
    found = {}
    for name, config in NETWORKS.items():
        if options.quick:
            config = dataclasses.replace(config, steps=32, epochs=1)
        found[name] = compare(config, half, options.device, 1 if options.quick else options.rounds)
        print(f"{name:<12}{found[name]}", flush=True)
    summary = {
        "nature_cnn_speedup": found["nature_cnn"]["speedup"],
        "small_cnn_speedup": found["small_cnn"]["speedup"],
        "peak_memory_ratio": found["nature_cnn"]["peak_ratio"],
        "dtype": half,
        "native": native != torch.float32,
    }
    if not options.quick:
        content = {**summary, "threads": 1, "device": options.device, "machine": describe(), "networks": found}
        path = RESULTS / ("precision.json" if options.device == "cpu" else f"precision_{options.device}.json")
        path.write_text(json.dumps(content, indent=1) + "\n")
    print(json.dumps(summary))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
