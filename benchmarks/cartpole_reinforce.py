"""Train REINFORCE on CartPole with five seeds, with and without a baseline, and write what it took.

    python benchmarks/cartpole_reinforce.py            # about two minutes on two cores
    python benchmarks/cartpole_reinforce.py --seeds 1  # a quick look, writes no file

Prints a table and one last line of JSON; the full run writes benchmarks/results/cartpole_reinforce.json.
A seed counts as solved where 100 evaluation episodes with sampled actions average at least 475.
"""

import argparse
import json
import statistics
import sys
import time
from dataclasses import asdict
from pathlib import Path

from machine import describe

from course_utils.agents.metrics import STEP
from course_utils.agents.reinforce import ReinforceConfig, TrainedAgent, train
from course_utils.agents.rollout import evaluate

RESULT = Path(__file__).parent / "results" / "cartpole_reinforce.json"
SEEDS = 5
TARGET = 475.0
CURVE_POINTS = 40


def measure(config: ReinforceConfig) -> dict[str, object]:
    """Train once, evaluate twice and return one row of the table."""
    wall, cpu = time.perf_counter(), time.process_time()
    agent = train(config)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sampled = evaluate(agent.policy, deterministic=False)
    likeliest = evaluate(agent.policy, deterministic=True)
    row = {
        "seed": config.seed,
        "baseline": config.baseline,
        "stopped_early": agent.solved,
        "steps": agent.steps,
        "episodes": len(agent.episode_returns),
        "wall_seconds": round(wall, 1),
        "cpu_seconds": round(cpu, 1),
        "mean_return_sampled": round(sampled.mean, 1),
        "mean_return_likeliest": round(likeliest.mean, 1),
        "solved": sampled.mean >= TARGET,
        "curve": curve(agent),
    }
    print(
        f"{config.seed:>4}  {'yes' if config.baseline else 'no':>8}  {agent.steps:>8}  {wall:>6.1f}  {cpu:>6.1f}"
        f"  {sampled.mean:>8.1f}  {likeliest.mean:>9.1f}  {'yes' if row['solved'] else 'no':>6}",
        flush=True,
    )
    return row


def curve(agent: TrainedAgent) -> list[list[float]]:
    """Return up to CURVE_POINTS points [steps, mean return of the last 100 episodes], the last one included."""
    rows = agent.log.rows
    stride = -(-len(rows) // CURVE_POINTS)
    return [[row[STEP], round(row["rollout/ep_rew_mean"], 1)] for row in rows[::-1][::stride]][::-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds for each variant")
    seeds = parser.parse_args().seeds
    print("seed  baseline     steps  wall s   cpu s   sampled  likeliest  solved")
    rows = [
        measure(ReinforceConfig(seed=seed, baseline=baseline)) for baseline in (True, False) for seed in range(seeds)
    ]
    with_baseline = [row for row in rows if row["baseline"]]
    summary = {
        "seeds": seeds,
        "evaluation_episodes": 100,
        "solved_with_baseline": sum(row["solved"] for row in with_baseline),
        "solved_without_baseline": sum(row["solved"] for row in rows if not row["baseline"]),
        "median_seconds": statistics.median(row["wall_seconds"] for row in with_baseline),
        "longest_seconds": max(row["wall_seconds"] for row in with_baseline),
        "median_cpu_seconds": statistics.median(row["cpu_seconds"] for row in with_baseline),
        "median_steps": statistics.median(row["steps"] for row in with_baseline),
    }
    if seeds == SEEDS:
        RESULT.parent.mkdir(exist_ok=True)
        config = {name: value for name, value in asdict(ReinforceConfig()).items() if name not in ("seed", "baseline")}
        content = {
            "target": TARGET,
            "measured": "training only; seconds are wall clock on a machine that may have had other work, "
            "cpu seconds are this process's own; medians are over the runs with a baseline",
            "machine": describe(),
            "config": config,
            "summary": summary,
            "runs": rows,
        }
        RESULT.write_text(json.dumps(content, indent=1) + "\n")
    print(json.dumps(summary))
    return 0 if summary["solved_with_baseline"] >= 0.8 * seeds else 1


if __name__ == "__main__":
    sys.exit(main())
