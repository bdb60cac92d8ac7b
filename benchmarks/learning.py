"""How long until Pong is won? Trains several seeds as `course train pong` does, one after the other, and judges each.

    python benchmarks/learning.py                     # five seeds, under an hour; writes results/learning.json
    python benchmarks/learning.py --seeds 0 1         # some seeds; the file keeps the others
    python benchmarks/learning.py --quick             # under three minutes: one seed, a tenth of the way; prints only

A seed is solved where the network that was saved scores at least 18 on average over 20 games: the game's own score, no
sticky actions, up to 30 no-ops, sampled actions. Minutes run from the start of training until that network was saved.
With sticky actions, and with the likeliest action each time, it is judged beside that. The folders of the runs stay in
build/learning: `benchmarks/trained_pong.py` takes the checkpoints that ship from there. The last line is JSON.
"""

import argparse
import dataclasses
import json
import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from machine import describe

from course_utils.agents.metrics import STEP, read_rows
from course_utils.agents.ppo_config import PONG_PPO
from course_utils.agents.train_command import run_training

RESULT = Path(__file__).parent / "results" / "learning.json"
RUNS = Path(__file__).resolve().parents[1] / "build" / "learning"
TARGET = 18.0
SAVE_AT = (-19.0, -17.0, -15.0, -5.0, 0.0, 5.0, 10.0)
QUICK_STEPS = 100_000


def train_seed(seed: int, folder: Path, quick: bool) -> dict[str, Any]:
    """Train one seed in a folder of its own; return its figures and its curve."""
    shutil.rmtree(folder, ignore_errors=True)
    config = dataclasses.replace(PONG_PPO, seed=seed)
    if quick:
        constant = {"learning_rate_schedule": "constant", "entropy_schedule": "constant"}
        config = dataclasses.replace(config, total_steps=QUICK_STEPS, **constant)
    command = f"course train pong --seed {seed} --save-at {' '.join(f'{score:g}' for score in SAVE_AT)}"
    facts = run_training(config, folder, save_at=() if quick else SAVE_AT, command=command)
    rows = [row for row in read_rows(folder / "metrics.csv") if "rollout/ep_rew_mean" in row]
    evaluation = facts["evaluation"]
    return {
        "seed": seed,
        "solved": evaluation["sampled"]["mean"] >= TARGET,
        "minutes": facts["minutes"],
        "steps": facts["steps"],
        "steps_per_second": facts["steps_per_second"],
        "score": evaluation["sampled"]["mean"],
        "score_sticky_0.25": evaluation["sampled_sticky_0.25"]["mean"],
        "score_likeliest_action": evaluation["likeliest"]["mean"],
        "reset_seeds": evaluation["reset_seeds"],
        "load_average": describe()["load_average_1_minute"],
        "curve": [
            [int(row[STEP]), round(row["rollout/ep_rew_mean"], 2), round(row["time/time_elapsed"], 1)]
            for row in rows[:: max(1, len(rows) // 150)]
        ],
    }


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the medians over all seeds; an unsolved one counts as one that takes for ever, and as a median is null."""

    def median(key: str) -> float | None:
        found = statistics.median_high([run[key] if run["solved"] else float("inf") for run in runs])
        return None if found == float("inf") else found

    return {
        "minutes_to_18": median("minutes"),
        "steps_to_18": median("steps"),
        "seeds_solved": sum(run["solved"] for run in runs),
        "seeds": len(runs),
        "steps_per_second": round(statistics.median(run["steps_per_second"] for run in runs)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--quick", action="store_true", help="one seed, a tenth of the way; prints only")
    options = parser.parse_args()
    runs: dict[int, dict[str, Any]] = {}
    if not options.quick and RESULT.exists():
        before = json.loads(RESULT.read_text())
        if before["config"] == json.loads(json.dumps(dataclasses.asdict(PONG_PPO))):
            runs = {run["seed"]: run for run in before["runs"]}
    for seed in options.seeds[:1] if options.quick else options.seeds:
        runs[seed] = train_seed(seed, RUNS / (f"quick_{seed}" if options.quick else f"seed_{seed}"), options.quick)
        if not options.quick:  # after each seed, so that an interruption loses one at most
            content = {
                "target": TARGET,
                "machine": describe(),
                "config": dataclasses.asdict(PONG_PPO),
                "summary": summary(list(runs.values())),
                "runs": [runs[one] for one in sorted(runs)],
            }
            RESULT.write_text(json.dumps(content, indent=1) + "\n")
    print("seed  solved  minutes      steps  steps/s  score  sticky 0.25  likeliest action")
    for run in runs.values():
        print(
            f"{run['seed']:>4}  {'yes' if run['solved'] else 'no':<6}  {run['minutes']:>7.2f}  {run['steps']:>9,}  "
            f"{run['steps_per_second']:>7,.0f}  {run['score']:>5.1f}  {run['score_sticky_0.25']:>11.1f}  "
            f"{run['score_likeliest_action']:>16.1f}"
        )
    print(json.dumps(summary(list(runs.values()))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
