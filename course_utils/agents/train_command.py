"""`course train GAME`: learn with PPO, keep what was learned in a folder, then judge what was kept."""

import argparse
import contextlib
import json
import shlex
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from tqdm.auto import tqdm

from course_utils.agents import saved
from course_utils.agents.envs import seeds_for
from course_utils.agents.metrics import Log
from course_utils.agents.ppo import RECENT_EPISODES, PPOAgent, train
from course_utils.agents.ppo_config import CARTPOLE_PPO, PONG_PPO, PPOConfig
from course_utils.agents.rollout import evaluate_game
from course_utils.machine import card, estimate, runtime

PRESETS = {"pong": PONG_PPO, "cartpole": CARTPOLE_PPO}
AGENT, LEARNER = "agent.pt", "learner.pt"
"""in a run's folder: the network alone, small; and all that training goes on from exactly"""
EVALUATION = {"episodes": 20, "seed": 12_345}
MODES: dict[str, dict[str, Any]] = {
    "sampled": {"deterministic": False, "sticky": 0.0},
    "sampled_sticky_0.25": {"deterministic": False, "sticky": 0.25},
    "likeliest": {"deterministic": True, "sticky": 0.0},  # last: a policy that gets stuck plays on to the limit
}
say = tqdm.write  # prints above the progress bar


def run_training(
    config: PPOConfig,
    folder: str | Path | None,
    *,
    start: str | Path | None = None,
    minutes: float | None = None,
    device: str = "cpu",
    save_at: Sequence[float] = (),
    evaluation: bool = True,
    command: str = "",
) -> dict[str, Any]:
    """Train, save to `folder` (agent.pt with agent.json, learner.pt, metrics.csv, TensorBoard), evaluate agent.pt.

    None as `folder` makes a new one. `start` is a checkpoint to go on from; `minutes` ends the training early. When the
    mean of the last 20 training games reaches a score of `save_at` for the first time, the network is also kept as
    score_....pt. An interrupt ends the training: what was learned is saved and not evaluated. Returns what agent.json
    holds and the path of agent.pt; `minutes` there run from this call until agent.pt was saved. Raises ValueError where
    there is nothing to do or to go on from.
    """
    started, seeds = time.perf_counter(), {"training": config.seed}
    if minutes is not None and not minutes > 0:
        raise ValueError(f"minutes must be positive, got {minutes}")
    if folder is not None and Path(folder, "metrics.csv").exists():
        raise ValueError(f"{folder} holds a run already: choose another folder")
    if start is not None and not Path(start).is_file():
        raise ValueError(f"there is no checkpoint {start}: give a file such as RUN/{LEARNER}")
    state = None if start is None else saved.load_start(start, config)
    done = (state or {}).get("steps", 0)
    if done >= config.total_steps:
        raise ValueError(f"{start} has done {done:,} of {config.total_steps:,} steps: ask for more steps")
    folder = card.new_run(config.environment, seeds) if folder is None else card.write_card(folder, seeds).parent
    machine = json.loads((folder / "environment.json").read_text())
    say(f"{config.environment}, seed {config.seed}, on {device} with {machine['usable_cpus']} cores: {config.plan()}")
    targets, kept = sorted(save_at), {}

    def keep(agent: PPOAgent, name: str) -> None:
        path = saved.save_agent(folder / name, agent.network)
        kept[path] = {
            "environment": config.environment,
            "command": command,
            "seed": config.seed,
            "steps": agent.steps,
            "minutes": round((time.perf_counter() - started) / 60, 3),
            "steps_per_second": round((agent.steps - done) / max(agent.seconds, 1e-9), 1),
            "training_score": agent.recent_score if agent.scores else None,
            "score": None,
            "evaluation": {},
            "solved": agent.solved,
            "interrupted": agent.interrupted,
            "started_from": start and Path(start).name,
            "machine": {key: machine[key] for key in ("cpu", "usable_cpus", "cards", "python", "torch")},
            "device": device,
            "config": asdict(config),
        }
        _write_facts(path, kept[path])

    def after_update(agent: PPOAgent) -> bool:
        if len(agent.log.rows) == 5:  # the first rollout starts everything up
            speed = statistics.median(row["time/fps"] for row in agent.log.rows[1:])
            longest = 60 * estimate.training_hours(config.total_steps - done, speed)
            early = "" if config.solved_at is None else f", less once 20 games average {config.solved_at:g}"
            say(f"at this speed it takes {min(longest, minutes or longest):.1f} minutes{early}")
        while targets and len(agent.scores) >= RECENT_EPISODES and agent.recent_score >= targets[0]:
            keep(agent, f"score_{targets.pop(0):g}.pt")
        return minutes is not None and agent.seconds >= 60 * minutes

    with contextlib.closing(Log(folder)) as log:
        agent = train(config, log=log, device=device, start=state, on_update=after_update)
    keep(agent, AGENT)
    saved.save_learner(folder / LEARNER, agent.learner)
    facts = kept[folder / AGENT]
    say(f"saved {folder / AGENT} after {facts['minutes']:.2f} minutes and {agent.steps:,} steps", end="")
    say(f" ({facts['steps_per_second']:,.0f} per second); to go on: --from {folder / LEARNER}")
    if evaluation and not agent.interrupted:
        for path in kept:
            _evaluate(path, kept[path], config, device)
    return {**facts, "checkpoint": str(folder / AGENT)}


def _write_facts(path: Path, facts: dict[str, Any]) -> None:
    runtime.write_whole(path.with_suffix(".json"), json.dumps(facts, indent=2) + "\n")


def _evaluate(path: Path, facts: dict[str, Any], config: PPOConfig, device: str) -> None:
    """Play with the network as it is on the disk and add the scores to the facts beside it."""
    network = saved.load_agent(path, device)
    seeds = seeds_for(EVALUATION["episodes"], EVALUATION["seed"]).tolist()
    facts["evaluation"] = {"reset_seeds": seeds}
    say(f"evaluation of {path.name}: {len(seeds)} games, reset seeds {' '.join(map(str, seeds))}")
    for mode, arguments in MODES.items():
        # Kept on the way: one mode says enough. Only the emulator has sticky actions.
        if (mode == "sampled" or path.name == AGENT) and (config.convolutions or not arguments["sticky"]):
            result = evaluate_game(network, config, **EVALUATION, **arguments)
            facts["evaluation"][mode] = {"mean": result.mean, "scores": result.returns, "at_limit": result.truncated}
            facts["score"] = facts["evaluation"]["sampled"]["mean"]
            _write_facts(path, facts)
            say(f"  {mode}: {result}")


def main(arguments: list[str]) -> int:
    """Run `course train`; returns 0 when done, 1 or 2 where it could not start, 130 where interrupted and saved."""
    parser = argparse.ArgumentParser(prog="course train", description=__doc__.split(": ", 1)[1])
    parser.add_argument("game", help=" or ".join(PRESETS))
    parser.add_argument("--seed", type=int, help="of everything that is random (default 0)")
    parser.add_argument("--steps", type=int, dest="total_steps", help="environment steps at most, all together")
    parser.add_argument("--minutes", type=float, help="end the training after so many minutes")
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda where there is one")
    parser.add_argument("--from", dest="start", metavar="CHECKPOINT", help=f"go on from a run's {LEARNER} or {AGENT}")
    parser.add_argument("--output", dest="folder", metavar="FOLDER", help="default: a new one below course_home/runs")
    parser.add_argument(
        "--save-at", type=float, nargs="+", default=(), metavar="SCORE", help="keep the agent there too"
    )
    parser.add_argument(
        "--no-evaluation", dest="evaluation", action="store_false", help="do not play 20 games after it"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and all else to standard error")
    options = vars(parser.parse_args(arguments))
    game, as_json = options.pop("game"), options.pop("json")
    if game not in PRESETS:
        print(f"course train: there is no game {game!r}; choose one of: {', '.join(PRESETS)}", file=sys.stderr)
        return 2
    asked = {name: options.pop(name) for name in ("seed", "total_steps")}
    sys.stdout.reconfigure(line_buffering=True)  # a log file shows each line at once
    try:
        config = replace(PRESETS[game], **{name: value for name, value in asked.items() if value is not None})
        if options["device"] == "cuda" and not torch.cuda.is_available():
            raise ValueError("torch sees no CUDA device: `course doctor` finds out why; --device cpu works")
        options["device"] = options["device"] or ("cuda" if torch.cuda.is_available() else "cpu")
        with contextlib.redirect_stdout(sys.stderr if as_json else sys.stdout):
            facts = run_training(config, command=shlex.join(["course", "train", *arguments]), **options)
    except ValueError as error:
        print(f"course train: {error}", file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(facts, indent=2))
    return 130 if facts["interrupted"] else 0
