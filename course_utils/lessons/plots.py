"""Figures that more than one notebook draws. Each draws on the current axes or makes its own, and returns nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import course_utils
from course_utils.agents.metrics import Log
from course_utils.agents.reinforce import TrainedAgent

RESULTS = Path(course_utils.__file__).parents[1] / "benchmarks" / "results"


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
