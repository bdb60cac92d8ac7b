"""Figures that more than one notebook draws. Each draws on the current axes or makes its own, and returns nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

import course_utils
from course_utils.agents.metrics import Log
from course_utils.agents.reinforce import TrainedAgent

RESULTS = Path(course_utils.__file__).parents[1] / "benchmarks" / "results"
PPO_INCHES = (11, 4.4)
PPO_PANELS = {
    "rollout/ep_rew_mean": "score (points, mean of 20 games)",
    "train/policy_gradient_loss": "policy loss",
    "train/value_loss": "value loss",
    "time/fps": "speed (steps per second)",
    "train/approx_kl": "KL divergence (nats)",
    "train/clip_fraction": "clip fraction (of all ratios)",
    "train/entropy_loss": "entropy (nats)",
    "train/explained_variance": "explained variance (at most 1)",
}


def learning_curves(agents: Mapping[str, TrainedAgent]) -> None:
    """Draw every episode's return as a dot and the mean of the last 20 as a line, per labelled agent."""
    for label, agent in agents.items():
        returns = np.array(agent.episode_returns)
        means = [returns[max(0, end - 20) : end].mean() for end in range(1, len(returns) + 1)]
        (line,) = plt.plot(means, label=f"{label}, mean of 20")
        plt.plot(returns, ".", color=line.get_color(), alpha=0.25, markersize=3)
    plt.xlabel("episode")
    plt.ylabel("return of an episode (steps)")
    plt.legend()


def metrics(log: Log, names: Iterable[str]) -> None:
    """Draw one small panel per metric of a log, over environment steps."""
    names = list(names)
    _, panels = plt.subplots(1, len(names), figsize=(4 * len(names), 3), layout="constrained", squeeze=False)
    for name, panel in zip(names, panels[0], strict=True):
        panel.plot(*log.series(name))
        panel.set(xlabel="environment steps", title=name)


def ppo_curves(log: Log) -> None:
    """Draw the curves of a PPO run, one panel per metric, over environment steps."""
    draw_ppo(plt.figure(figsize=PPO_INCHES), log)


def draw_ppo(figure: Figure, log: Log) -> None:
    """Draw the curves of a PPO run on an empty figure."""
    panels = figure.subplots(2, 4, sharex=True)
    # Fixed margins: to fit them costs as much time as to draw, and the dashboard draws all the time.
    figure.subplots_adjust(left=0.05, right=0.99, bottom=0.11, top=0.94, wspace=0.25, hspace=0.25)
    for panel, (name, title) in zip(panels.flat, PPO_PANELS.items(), strict=True):
        steps, values = log.series(name)
        # The loss is minus the entropy; what is read is the entropy.
        values = np.negative(values) if name == "train/entropy_loss" else np.array(values)
        window = max(1, len(steps) // 60)  # a long run is noise: a mean over the last updates is drawn on it
        panel.plot(steps, values, linewidth=1, marker="." * (len(steps) < 10), alpha=1 if window == 1 else 0.3)
        panel.set_title(title, fontsize=10)
        panel.tick_params(labelsize=8)
        panel.locator_params(nbins=5)
        panel.ticklabel_format(axis="y", scilimits=(-3, 5))
        panel.yaxis.get_offset_text().set_fontsize(8)
        panel.xaxis.set_major_formatter(EngFormatter(sep=""))
        if steps:
            panel.plot(steps[window - 1 :], np.convolve(values, np.ones(window) / window, "valid"), color="C0")
        else:
            panel.set_yticks([])
            panel.text(0.5, 0.5, "nothing yet", ha="center", transform=panel.transAxes)
    for panel in panels[1]:
        panel.set_xlabel("environment steps", fontsize=9)


def score_band(name: str = "learning") -> None:
    """Draw the score over environment steps of a committed benchmark: each seed, their median and their range.

    A seed that reached the target early keeps its last score, so that the median stays one over all seeds.
    """
    data = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    curves = [np.array(run["curve"], float).T[:2] for run in data["runs"]]
    grid = np.linspace(max(steps[0] for steps, _ in curves), max(steps[-1] for steps, _ in curves), 400)
    scores = np.array([np.interp(grid, *curve) for curve in curves])
    for one in scores:
        plt.plot(grid, one, color="grey", linewidth=0.6, alpha=0.6)
    plt.fill_between(grid, scores.min(0), scores.max(0), alpha=0.2, label=f"lowest to highest of {len(curves)} seeds")
    plt.plot(grid, np.median(scores, axis=0), label="median")
    plt.axhline(data["target"], color="black", linestyle=":", linewidth=1, label=f"target {data['target']:g}")
    plt.gca().xaxis.set_major_formatter(EngFormatter(sep=""))
    plt.xlabel("environment steps")
    plt.ylabel("score of a game (points, mean of 20)")
    plt.legend()


def committed_curves(name: str) -> None:
    """Draw the curves of a committed benchmark: one line per seed, one panel with and one without a baseline."""
    data = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    _, panels = plt.subplots(1, 2, figsize=(9, 3.2), sharex=True, sharey=True, layout="constrained")
    for panel, baseline in zip(panels, (True, False), strict=True):
        runs = [run for run in data["runs"] if run["baseline"] == baseline]
        for run in runs:
            panel.plot(*np.array(run["curve"]).T, label=f"seed {run['seed']}")
        solved = sum(run["solved"] for run in runs)
        panel.set_title(
            f"{'with' if baseline else 'without'} baseline: {solved} of {len(runs)} seeds score {data['target']:.0f}"
        )
        panel.set_xlabel("environment steps")
    panels[0].set_ylabel("mean return of 100 episodes")
    panels[0].legend(fontsize="small")
