"""What is better than PONG_PPO? Successive halving over settings, by the score after few steps and over seeds.

    python benchmarks/pong_search.py             # hours on two cores; goes on where it stopped
    python benchmarks/pong_search.py --only "16 x 32 steps" --rounds 250000 --seeds 0 1    # a closer look at some
    python benchmarks/pong_search.py --quick     # under a minute: two candidates, few steps; prints only

Every candidate is PONG_PPO with one change (or a few that belong together). Round one plays 150,000 steps with three
seeds each and keeps the better third, PONG_PPO itself always among them; round two plays 300,000. The score is the
mean of the last 20 training games. Every run is kept with its settings and its curve in
benchmarks/results/pong_search.json, those of an earlier PONG_PPO too: a run counts only where its settings are the
candidate's of today.
"""

import argparse
import dataclasses
import json
import math
import multiprocessing
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from machine import describe

from course_utils.agents import processes
from course_utils.agents.metrics import STEP
from course_utils.agents.networks import NATURE
from course_utils.agents.ppo import PPOAgent, train
from course_utils.agents.ppo_config import PONG_PPO, PPOConfig

RESULT = Path(__file__).parent / "results" / "pong_search.json"
ROUNDS = (150_000, 300_000)
SEEDS = (0, 1, 2)
CANDIDATES: dict[str, dict[str, Any]] = {
    "PONG_PPO": {},
    "pixels / 255": {"pixel_mean": 0.0, "pixel_scale": 255.0},
    "points do not end episodes": {"end_at_points": False},
    "all six actions": {"moves": None},
    "84 pixels": {"image_size": 84},
    "Nature network, 84 pixels": {"image_size": 84, "convolutions": NATURE, "hidden_size": 512},
    "finer first layer": {"convolutions": ((16, 6, 3), (32, 3, 2))},
    "twice as wide": {"convolutions": ((32, 8, 4), (64, 4, 2)), "hidden_size": 256},
    "two frames": {"stack": 2},
    "8 x 128 steps": {"envs": 8, "steps": 128},
    "32 x 32 steps": {"envs": 32, "steps": 32},
    "16 x 128 steps": {"steps": 128},
    "16 x 32 steps": {"steps": 32},
    "minibatch 32": {"minibatch_size": 32},
    "minibatch 128": {"minibatch_size": 128},
    "minibatch 256": {"minibatch_size": 256},
    "2 epochs": {"epochs": 2},
    "8 epochs": {"epochs": 8},
    "learning rate 5e-4": {"learning_rate": 5e-4},
    "learning rate 7e-4": {"learning_rate": 7e-4},
    "learning rate 2e-3": {"learning_rate": 2e-3},
    "constant learning rate": {"learning_rate_schedule": "constant"},
    "target KL 0.02": {"target_kl": 0.02},
    "constant entropy weight": {"entropy_schedule": "constant"},
    "entropy weight 0.003": {"entropy_coefficient": 0.003},
    "entropy weight 0.02": {"entropy_coefficient": 0.02},
    "gamma 0.97": {"gamma": 0.97},
    "gamma 0.995": {"gamma": 0.995},
    "lambda 0.9": {"gae_lambda": 0.9},
    "lambda 0.98": {"gae_lambda": 0.98},
    "clip 0.1": {"clip_range": 0.1},
    "no overlap": {"overlap": False},
}


def candidate(changes: Mapping[str, Any], seed: int = 0) -> PPOConfig:
    """Return PONG_PPO with the changes; it plays on where PONG_PPO would stop."""
    return dataclasses.replace(PONG_PPO, seed=seed, solved_at=None, **changes)


def play(changes: Mapping[str, Any], seed: int, steps: int) -> dict[str, Any]:
    """Train one candidate with one seed for so many steps; the schedule stays that of the whole run."""
    config = candidate(changes, seed)
    cpu = time.process_time()
    agent: PPOAgent = train(config, on_update=lambda agent: agent.steps >= steps)
    rows = [row for row in agent.log.rows if "rollout/ep_rew_mean" in row]
    return {
        "score": None if math.isnan(agent.recent_score) else round(agent.recent_score, 2),
        "steps": agent.steps,
        "cpu_seconds": round(time.process_time() - cpu, 1),
        "curve": [[int(row[STEP]), round(row["rollout/ep_rew_mean"], 2)] for row in rows[:: max(1, len(rows) // 30)]],
    }


def settings(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a candidate's settings where they are not the defaults of PPOConfig, as JSON gives them back."""
    defaults, chosen = dataclasses.asdict(PPOConfig()), dataclasses.asdict(candidate(changes))
    different = {name: value for name, value in chosen.items() if value != defaults[name]}
    return json.loads(json.dumps(different))


def mean_score(runs: list[dict[str, Any]]) -> float:
    """Return the mean score over seeds; a run without a finished game counts as lost."""
    return sum(-21.0 if run["score"] is None else run["score"] for run in runs) / len(runs)


def search(
    candidates: Mapping[str, Mapping[str, Any]],
    rounds: tuple[int, ...],
    seeds: tuple[int, ...],
    workers: int,
    known: dict[str, dict[str, Any]],
    keep: Any = lambda known: None,
) -> list[list[str]]:
    """Play all rounds and return the names, best first, of each; `known` holds runs by 'name|steps|seed' and grows."""
    ranking, names = [], list(candidates)
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context(processes.start_method())) as pool:
        for steps in rounds:
            keys = {f"{name}|{steps}|{seed}": (name, seed) for seed in seeds for name in names}
            waiting = {
                pool.submit(play, candidates[name], seed, steps): key
                for key, (name, seed) in keys.items()
                if key not in known
            }
            for done in as_completed(waiting):
                key = waiting[done]
                name, seed = keys[key]
                about = {"key": key, "name": name, "seed": seed, "settings": settings(candidates[name])}
                known[key] = about | done.result()
                print(f"{key:<44}{known[key]['score']}", flush=True)
                keep(known)
            scores = {name: mean_score([known[f"{name}|{steps}|{seed}"] for seed in seeds]) for name in names}
            names = sorted(names, key=scores.__getitem__, reverse=True)
            ranking.append(names)
            best = names[: max(2, math.ceil(len(names) / 3))]
            names = best + [name for name in names if name == "PONG_PPO" and name not in best]
    return ranking


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2, help="runs at the same time")
    parser.add_argument("--only", nargs="+", choices=CANDIDATES, default=list(CANDIDATES), metavar="NAME")
    parser.add_argument("--rounds", nargs="+", type=int, default=ROUNDS, metavar="STEPS")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="two candidates, few steps; prints only")
    options = parser.parse_args()
    if options.quick:
        few = {name: CANDIDATES[name] for name in ("PONG_PPO", "pixels / 255")}
        ranking = search(few, (4_096, 8_192), (0,), options.workers, {})
        print(json.dumps({"ranking": ranking}))
        return 0
    chosen = {name: CANDIDATES[name] for name in options.only}
    earlier = json.loads(RESULT.read_text())["runs"] if RESULT.exists() else []
    known = {run["key"]: run for run in earlier if run["settings"] == settings(CANDIDATES.get(run["name"], {}))}
    others = [run for run in earlier if run not in known.values()]

    def keep(known: dict[str, dict[str, Any]], ranking: list[list[str]] | None = None) -> None:
        content = {"machine": describe(), "ranking": ranking, "runs": others + list(known.values())}
        RESULT.write_text(json.dumps(content, indent=1) + "\n")

    ranking = search(chosen, options.rounds, options.seeds, options.workers, known, keep)
    keep(known, ranking)
    print(json.dumps({"ranking": ranking}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
