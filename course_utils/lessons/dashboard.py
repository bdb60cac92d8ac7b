"""A live dashboard for PPO: the numbers, the curves, what the agent sees, the time and money left, and a diagnosis.

Numbers (`summary`), their words (`describe`), curves (`figure`) and picture (`clip`) are plain functions that need no
browser; `TrainingDashboard` only puts them on the screen, and limits what that costs.
"""

from __future__ import annotations

import base64
import html
import io
import math
import time
import warnings
from typing import Any

import ipywidgets
from IPython import get_ipython
from IPython.display import display
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from course_utils.agents.diagnosis import diagnose
from course_utils.agents.metrics import Log
from course_utils.agents.ppo import RECENT_EPISODES, PPOAgent
from course_utils.lessons import plots
from course_utils.machine import runtime
from course_utils.machine.estimate import rental_cost, training_hours

NUMBERS_SECONDS, PICTURES_SECONDS = 1.0, 5.0
SHARE = 0.03
"""of the time may go into drawing the curves: the slower the machine, the rarer they are"""
CLIP_PIXELS = 168
FRAME_MILLISECONDS = 70
"""a step of an Atari agent lasts four frames of 1/60 s"""
NUMBERS = {
    "policy_loss": "train/policy_gradient_loss",
    "value_loss": "train/value_loss",
    "KL": "train/approx_kl",
    "clip_fraction": "train/clip_fraction",
    "entropy": "train/entropy_loss",
    "explained_variance": "train/explained_variance",
}


def summary(agent: PPOAgent, price_per_hour: float | None = None, currency: str = "") -> dict[str, Any]:
    """Return what the dashboard shows: numbers of the last update, times in seconds, costs in `currency`.

    The speed is the mean over the last 20 updates. What is not known yet, and a cost without a price, is NaN.
    """
    config, rows = agent.config, agent.log.rows
    last = rows[-1] if rows else {}
    paces = [1 / row["time/fps"] for row in rows[-20:]]
    speed = len(paces) / sum(paces) if paces else math.nan
    over = agent.solved or agent.interrupted or agent.steps >= config.total_steps
    left = 0.0 if over else 3600 * training_hours(config.total_steps - agent.steps, speed)
    price = math.nan if price_per_hour is None else price_per_hour
    findings = diagnose(agent.log)
    return {
        "score": agent.recent_score,
        "games": len(agent.scores),
        "steps": agent.steps,
        "total_steps": config.total_steps,
        "steps_per_second": speed,
        "seconds": agent.seconds,
        "seconds_left": left,
        "cost": rental_cost(agent.seconds / 3600, 0, price),
        "cost_left": rental_cost(left / 3600, 0, price),
        "currency": currency,
        **{name: last.get(metric, math.nan) for name, metric in NUMBERS.items()},
        "entropy": -last.get(NUMBERS["entropy"], math.nan),  # the loss is minus the entropy
        "diagnosis": f"{findings[0].title}: {findings[0].cure}" if findings else "nothing wrong so far",
    }


def describe(state: dict[str, Any]) -> dict[str, str]:
    """Return a summary in words, label -> text, in the order in which it is read."""
    played = f"mean of the last {min(state['games'], RECENT_EPISODES)} games, {state['games']} played"
    clock = tqdm.format_interval  # 83 s: 01:23
    going_on = state["seconds_left"] > 0
    left = f", at most {clock(state['seconds_left'])} left" if going_on else ""
    texts = {
        "score": f"{state['score']:.1f} ({played})" if state["games"] else "no game is over yet",
        "steps": f"{state['steps']:,} of {state['total_steps']:,}",
        "speed": f"{state['steps_per_second']:,.0f} steps/s",
        "time": f"{clock(state['seconds'])} so far{left}",
    }
    if not math.isnan(state["cost"]):
        left = f", at most {state['cost_left']:.2f} {state['currency']} to come" if going_on else ""
        texts["cost"] = f"{state['cost']:.2f} {state['currency']} so far{left}"
    texts |= {name.replace("_", " "): f"{state[name]:,.4f}" for name in NUMBERS}
    return texts | {"diagnosis": state["diagnosis"]}


def figure(log: Log) -> Figure:
    """Return the curves of a run, one panel per metric. pyplot does not know this figure, so nobody must close it."""
    drawn = Figure(figsize=plots.PPO_INCHES, dpi=80)
    plots.draw_ppo(drawn, log)
    return drawn


def clip(seen: Tensor | None) -> bytes | None:
    """Return as a GIF what the agent saw, (steps, stack, height, width) uint8; None where that is not pictures."""
    if seen is None or seen.ndim != 4:
        return None
    scale = max(1, CLIP_PIXELS // seen.shape[-1])
    newest = seen[:, -1].repeat_interleave(scale, 1).repeat_interleave(scale, 2)
    first, *others = map(Image.fromarray, newest.numpy())
    buffer = io.BytesIO()
    first.save(buffer, "GIF", save_all=True, append_images=others, duration=FRAME_MILLISECONDS, loop=0)
    return buffer.getvalue()


class TrainingDashboard:
    """Give it to `ppo.train` as `on_update`, and it shows the run below the cell.

    price_per_hour and currency: of the rented machine, such as 1.58 and "CNY"; without them no costs are shown. At
    smoke scale, where nobody watches, it draws once, when the cell ends; outside a notebook it draws nothing. Raises
    ValueError where the price is not a number >= 0.
    """

    def __init__(self, *, price_per_hour: float | None = None, currency: str = "") -> None:
        plain = isinstance(price_per_hour, int | float | None) and 0 <= (price_per_hour or 0) < math.inf
        if not plain:
            raise ValueError(
                f"price_per_hour is {price_per_hour!r}: give a plain number, and the currency apart, "
                'such as price_per_hour=1.58, currency="CNY"'
            )
        self._price = (price_per_hour, currency)
        self._agent: PPOAgent | None = None

    def __call__(self, agent: PPOAgent) -> None:
        """Show the run as it is after this update."""
        if agent is not self._agent:
            self._finish()
            self._start(agent)
        if self._handle is not None and time.perf_counter() >= self._numbers_due:
            try:
                self._update(agent)
            except Exception as error:  # hours of training must not be lost because a picture cannot be drawn
                warnings.warn(f"the dashboard stands still, training goes on: {error!r}", stacklevel=2)
                self._numbers_due = math.inf

    def _start(self, agent: PPOAgent) -> None:
        self._agent, self._shell, self._handle = agent, get_ipython(), None
        self._numbers_due = self._pictures_due = 0.0
        if not hasattr(self._shell, "kernel"):
            return
        # However the training ends, by an interrupt too: its end is drawn when the cell is over.
        self._shell.events.register("post_run_cell", self._finish)
        if runtime.scale() != "smoke":
            # No Stop button: whether a busy kernel hears a click depends on the versions of JupyterLab and ipykernel.
            self._numbers, self._game, self._curves = (ipywidgets.HTML() for _ in range(3))
            above = ipywidgets.HBox([self._numbers, self._game], layout={"grid_gap": "24px"})
            self._widgets = [above, self._numbers, self._game, self._curves, ipywidgets.VBox([above, self._curves])]
            self._widgets[-1].add_class("training-dashboard")
            self._handle = display(self._widgets[-1], display_id=True)

    def _update(self, agent: PPOAgent) -> None:
        self._numbers.value = _table(describe(summary(agent, *self._price))) + f"<div>{STOP}</div>"
        now = time.perf_counter()
        if now >= self._pictures_due:
            self._game.value, self._curves.value = _pictures(agent)
            self._pictures_due = now + max(PICTURES_SECONDS, (time.perf_counter() - now) / SHARE)
        self._numbers_due = time.perf_counter() + NUMBERS_SECONDS

    def _finish(self, _result: Any = None) -> None:
        """Leave the run as it ended as a plain output, which stays in the notebook, and let go of everything."""
        agent, self._agent = self._agent, None
        if agent is None or not hasattr(self._shell, "kernel"):
            return
        self._shell.events.unregister("post_run_cell", self._finish)
        texts, (game, curves) = describe(summary(agent, *self._price)), _pictures(agent)
        output = {
            "text/html": f'<div style="{ROW}"><div>{_table(texts)}</div><div>{game}</div></div>{curves}',
            "text/plain": "\n".join(f"{label}: {text}" for label, text in texts.items()),
        }
        if self._handle is None:
            display(output, raw=True)
            return
        self._handle.update(output, raw=True)
        for widget in self._widgets:
            for part in filter(None, (widget.layout, getattr(widget, "style", None), widget)):
                part.close()


STOP = "To stop early, interrupt the kernel (■ in the toolbar): the agent is kept as it is then."
ROW = "display:flex; gap:24px; align-items:flex-start"
GREY = "opacity:.7"
GRID = "display:grid; grid-template-columns:auto auto; gap:0 12px; line-height:1.5; white-space:nowrap"


def _table(texts: dict[str, str]) -> str:
    """Return as HTML the run's state on the left, the update's numbers on the right, and the diagnosis below."""
    columns: tuple[list[str], list[str]] = [], []
    for label, text in texts.items():
        if label != "diagnosis":
            cells = f'<span style="{GREY}">{label}</span><span>{html.escape(text)}</span>'
            columns[label.replace(" ", "_") in NUMBERS].append(cells)
    grids = "".join(f'<div style="{GRID}">{"".join(column)}</div>' for column in columns)
    return f'<div style="{ROW}">{grids}</div><div>Diagnosis: {html.escape(texts["diagnosis"])}</div>'


def _pictures(agent: PPOAgent) -> tuple[str, str]:
    """Return as HTML what the agent saw (nothing, if that is not pictures) and the curves."""
    curves, game = io.BytesIO(), clip(agent.seen)
    figure(agent.log).savefig(curves, format="png")
    watched = f'<div style="{GREY}">what the agent sees</div>{_image("gif", game)}' if game else ""
    return watched, _image("png", curves.getvalue())


def _image(kind: str, content: bytes) -> str:
    data = base64.b64encode(content).decode("ascii")
    return f'<img decoding="sync" alt="" style="max-width:100%" src="data:image/{kind};base64,{data}">'
