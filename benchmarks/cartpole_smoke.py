"""Check the assertion that ends training in the CartPole notebook: it must fail without learning, and only then.

    python benchmarks/cartpole_smoke.py     # about three minutes on one core

At smoke scale the notebook asserts that the last 50 episodes average more than twice the first 50. Here 20 seeds
must pass it with the baseline, and with learning rate 0 every seed must fail it. Without a baseline learning is less
steady: how many pass is shown, not demanded, and the notebook asserts nothing there.
Prints a table and one last line of JSON; exits with 1 where the assertion is wrong about one run.
"""

import json
import sys
import time
from dataclasses import replace

from course_utils.agents.reinforce import SMOKE_STEPS, ReinforceConfig, train

SEEDS = 20
VARIANTS = {
    "baseline": (ReinforceConfig(total_steps=SMOKE_STEPS), SEEDS),
    "no baseline": (ReinforceConfig(total_steps=SMOKE_STEPS, baseline=False), None),
    "learning rate 0": (ReinforceConfig(total_steps=SMOKE_STEPS, learning_rate=0.0), 0),
}
"""each with the number of seeds that must pass, or None"""


def main() -> int:
    print("variant          passed    ratio lowest  ratio highest  cpu s longest")
    summary: dict[str, object] = {"seeds": SEEDS, "steps": SMOKE_STEPS}
    right = True
    for name, (config, demanded) in VARIANTS.items():
        passed, ratios, seconds = 0, [], []
        for seed in range(SEEDS):
            started = time.process_time()
            agent = train(replace(config, seed=seed))
            seconds.append(time.process_time() - started)
            first, last = agent.first_and_last()
            ratios.append(last / first)
            passed += agent.learned
        right &= demanded in (None, passed)
        print(f"{name:<15}  {passed:>2} of {SEEDS}  {min(ratios):>12.2f}  {max(ratios):>13.2f}  {max(seconds):>13.1f}")
        summary[name] = {
            "passed": passed,
            "ratio_lowest": round(min(ratios), 2),
            "ratio_highest": round(max(ratios), 2),
            "cpu_seconds_longest": round(max(seconds), 1),
        }
    print(json.dumps(summary))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
