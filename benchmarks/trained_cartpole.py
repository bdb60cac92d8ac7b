"""Make the trained CartPole policy that comes with the course, with a .json beside it that says how.

    python benchmarks/trained_cartpole.py     # about a quarter of a minute on one core

Exits with 1, and writes nothing, where the policy does not average 475 over 100 episodes.
"""

import json
import sys

from machine import describe

from course_utils.agents.reinforce import ReinforceConfig, train
from course_utils.agents.rollout import evaluate
from course_utils.agents.saved import TRAINED_CARTPOLE, save_policy


def main() -> int:
    config = ReinforceConfig(seed=0)
    agent = train(config)
    sampled = evaluate(agent.policy, deterministic=False)
    likeliest = evaluate(agent.policy, deterministic=True)
    facts = {
        "command": "python benchmarks/trained_cartpole.py",
        "environment": config.environment,
        "seed": config.seed,
        "steps": agent.steps,
        "episodes": len(agent.episode_returns),
        "seconds": round(agent.seconds, 1),
        "mean_return_sampled_actions": round(sampled.mean, 1),
        "mean_return_likeliest_action": round(likeliest.mean, 1),
        "evaluation_episodes": len(sampled.returns),
        "machine": describe(),
    }
    print(json.dumps(facts))
    if min(sampled.mean, likeliest.mean) < config.solved_at:
        print("the policy is not good enough to ship: try another seed", file=sys.stderr)
        return 1
    save_policy(agent.policy, TRAINED_CARTPOLE, facts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
