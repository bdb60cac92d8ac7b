"""Check the two assertions that end training in the Pong notebook: each must fail without learning, and only then.

    python benchmarks/pong_smoke.py             # about fifteen minutes on two cores
    python benchmarks/pong_smoke.py --seeds 3   # a quick look

At smoke scale the notebook asserts that CartPole's last 20 episodes average more than twice the first 20, and for Pong
`PPOAgent.value_learned`: the value network foresees lost points long before the score moves. Here 20 seeds must pass
each of them, and with learning rate 0 every seed must fail it.
Prints a table and one last line of JSON; exits with 1 where an assertion is wrong about one run.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from course_utils.agents.diagnosis import HEALTHY
from course_utils.agents.ppo import PPOAgent, train
from course_utils.agents.ppo_config import PONG_PPO, PONG_SMOKE_STEPS, PPOConfig

SEEDS = 20


@dataclass(frozen=True)
class Assertion:
    """What the notebook trains at smoke scale, the number that it looks at, and whether that is enough."""

    config: PPOConfig
    measure: Callable[[PPOAgent], float]
    holds: Callable[[PPOAgent], bool]


def growth(agent: PPOAgent) -> float:
    """Return by how much the return grew: the mean of the last 20 episodes over that of the first 20."""
    return agent.recent_score / float(np.mean(agent.scores[:20]))


def explained_variance(agent: PPOAgent) -> float:
    """Return what `value_learned` compares with its threshold."""
    explained = agent.log.series("train/explained_variance")[1]
    return float(np.mean(explained[-max(1, len(explained) // 4) :]))


ASSERTIONS = {
    "CartPole": Assertion(replace(HEALTHY, total_steps=6_144), growth, lambda agent: growth(agent) > 2),
    "Pong": Assertion(
        replace(PONG_PPO, total_steps=PONG_SMOKE_STEPS), explained_variance, lambda agent: agent.value_learned
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds for each variant")
    seeds = parser.parse_args().seeds
    print("environment  learning rate    passed    lowest  highest  cpu s longest")
    summary: dict[str, object] = {"seeds": seeds}
    right = True
    for name, assertion in ASSERTIONS.items():
        for rate, demanded in ((assertion.config.learning_rate, seeds), (0.0, 0)):
            passed, numbers, seconds = 0, [], []
            for seed in range(seeds):
                started = time.process_time()
                agent = train(replace(assertion.config, seed=seed, learning_rate=rate))
                seconds.append(time.process_time() - started)
                numbers.append(assertion.measure(agent))
                passed += assertion.holds(agent)
            right &= passed == demanded
            print(
                f"{name:<11}  {rate:>13g}  {passed:>2} of {seeds:<2}  {min(numbers):>8.2f}  {max(numbers):>7.2f}"
                f"  {max(seconds):>13.1f}",
                flush=True,
            )
            summary[f"{name}, learning rate {rate:g}"] = {
                "passed": passed,
                "lowest": round(min(numbers), 3),
                "highest": round(max(numbers), 3),
                "cpu_seconds_longest": round(max(seconds), 1),
            }
    print(json.dumps(summary))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
