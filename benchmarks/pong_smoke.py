"""Check the assertion that ends training in the Pong notebook: it must fail without learning, and only then.

    python benchmarks/pong_smoke.py             # about ten minutes on two cores
    python benchmarks/pong_smoke.py --seeds 3   # a quick look

At smoke scale the notebook asserts `PPOAgent.value_learned`: by then the value network foresees lost points, while the
score has not moved yet. Here 20 seeds must pass it, and with learning rate 0 every seed must fail it.
Prints a table and one last line of JSON; exits with 1 where the assertion is wrong about one run.
"""

import argparse
import json
import sys
import time
from dataclasses import replace

import numpy as np

from course_utils.agents.ppo import PPOAgent, train
from course_utils.agents.ppo_config import PONG_PPO, PONG_SMOKE_STEPS

SEEDS = 20
SMOKE = replace(PONG_PPO, total_steps=PONG_SMOKE_STEPS)
VARIANTS = {"PONG_PPO": (SMOKE, True), "learning rate 0": (replace(SMOKE, learning_rate=0.0), False)}
"""each with what the assertion must say"""


def last_explained_variance(agent: PPOAgent) -> float:
    """Return what `value_learned` compares with its threshold."""
    explained = agent.log.series("train/explained_variance")[1]
    return float(np.mean(explained[-max(1, len(explained) // 4) :]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds for each variant")
    seeds = parser.parse_args().seeds
    print("variant          passed    explained variance lowest  highest  cpu s longest")
    summary: dict[str, object] = {"seeds": seeds, "steps": PONG_SMOKE_STEPS}
    right = True
    for name, (config, demanded) in VARIANTS.items():
        passed, explained, seconds = 0, [], []
        for seed in range(seeds):
            started = time.process_time()
            agent = train(replace(config, seed=seed))
            seconds.append(time.process_time() - started)
            explained.append(last_explained_variance(agent))
            passed += agent.value_learned
        right &= passed == (seeds if demanded else 0)
        print(
            f"{name:<15}  {passed:>2} of {seeds:<2}  {min(explained):>25.2f}  {max(explained):>7.2f}"
            f"  {max(seconds):>13.1f}",
            flush=True,
        )
        summary[name] = {
            "passed": passed,
            "explained_variance_lowest": round(min(explained), 3),
            "explained_variance_highest": round(max(explained), 3),
            "cpu_seconds_longest": round(max(seconds), 1),
        }
    print(json.dumps(summary))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
