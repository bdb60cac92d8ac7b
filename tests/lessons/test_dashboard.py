"""The dashboard: its numbers are those of the run, it costs little, it leaves a plain output and nothing else."""

import dataclasses
import gc
import io
import json
import math
import tracemalloc
import types

import ipywidgets
import matplotlib.pyplot as plt
import nbclient
import nbformat
import numpy as np
import pytest
import torch
from IPython.core.events import EventManager, available_events
from matplotlib.figure import Figure
from PIL import Image

from course_utils.agents.metrics import Log
from course_utils.agents.ppo import PPOAgent, train
from course_utils.agents.ppo_config import PONG_PPO, PPOConfig
from course_utils.lessons import dashboard, plots
from course_utils.lessons.dashboard import TrainingDashboard, clip, describe, figure, summary

SHORT = PPOConfig(total_steps=256, envs=4, steps=16, minibatch_size=32, epochs=1)
ROW = {
    "train/policy_gradient_loss": -0.01,
    "train/value_loss": 0.25,
    "train/approx_kl": 0.012,
    "train/clip_fraction": 0.1,
    "train/entropy_loss": -0.6,
    "train/explained_variance": 0.5,
}


def agent_after(updates: int, **facts) -> PPOAgent:
    """An agent half-way through 2,000 steps, whose last two updates ran at 1000 and 250 steps per second."""
    agent = PPOAgent(types.SimpleNamespace(steps=1_000), dataclasses.replace(SHORT, total_steps=2_000), Log())
    for update in range(updates):
        pace = {"time/fps": 250.0 if update % 2 else 1_000.0, "rollout/ep_rew_mean": -21.0 + update}
        agent.log.record(64 * (update + 1), ROW | pace)
    for name, value in facts.items():
        setattr(agent, name, value)
    return agent


def test_the_summary_is_what_the_run_is():
    state = summary(agent_after(2, scores=[-21.0, -19.0], seconds=1_800.0), 2.0, "CNY")
    # One step in 1 ms, one in 4 ms: 2 steps in 5 ms, not the mean of 1000 and 250.
    assert state["steps_per_second"] == pytest.approx(400)
    assert state["seconds_left"] == pytest.approx(1_000 / 400)
    assert (state["score"], state["games"], state["steps"], state["total_steps"]) == (-20.0, 2, 1_000, 2_000)
    assert state["cost"] == pytest.approx(1.0)
    assert state["cost_left"] == pytest.approx(2.5 / 3_600 * 2.0)
    assert (state["entropy"], state["KL"], state["clip_fraction"], state["value_loss"]) == (0.6, 0.012, 0.1, 0.25)
    assert (state["policy_loss"], state["explained_variance"]) == (-0.01, 0.5)


def test_the_words_say_what_is_left_only_while_something_is():
    agent = agent_after(2, scores=[-21.0] * 25, seconds=90.0)
    assert describe(summary(agent, 3.6, "EUR")) | {"diagnosis": ""} == {
        "score": "-21.0 (mean of the last 20 games, 25 played)",
        "steps": "1,000 of 2,000",
        "speed": "400 steps/s",
        "time": "01:30 so far, at most 00:02 left",
        "cost": "0.09 EUR so far, at most 0.00 EUR to come",
        "policy loss": "-0.0100",
        "value loss": "0.2500",
        "KL": "0.0120",
        "clip fraction": "0.1000",
        "entropy": "0.6000",
        "explained variance": "0.5000",
        "diagnosis": "",
    }
    for end in ({"solved": True}, {"interrupted": True}, {"learner": types.SimpleNamespace(steps=2_048)}):
        for name, value in end.items():
            setattr(agent, name, value)
        texts = describe(summary(agent, 3.6, "EUR"))
        assert (texts["time"], texts["cost"]) == ("01:30 so far", "0.09 EUR so far")
        agent = agent_after(2, seconds=90.0)


def test_before_the_first_update_nothing_is_known_and_nothing_is_claimed():
    state = summary(agent_after(0), 2.0, "CNY")
    assert all(math.isnan(state[name]) for name in ("score", "KL", "entropy", "steps_per_second", "seconds_left"))
    texts = describe(state)
    assert texts["score"] == "no game is over yet"
    assert (texts["time"], texts["cost"]) == ("00:00 so far", "0.00 CNY so far")
    assert "cost" not in describe(summary(agent_after(2)))


def test_the_diagnosis_comes_from_diagnose(monkeypatch):
    found = types.SimpleNamespace(title="The steps are too large", cure="lower the learning rate")
    monkeypatch.setattr(dashboard, "diagnose", lambda log: [found] if len(log.rows) == 2 else [])
    assert summary(agent_after(2))["diagnosis"] == "The steps are too large: lower the learning rate"
    assert summary(agent_after(3))["diagnosis"] == "nothing wrong so far"


@pytest.mark.parametrize("price", ["1.58 CNY", -1, math.nan, math.inf])
def test_a_price_is_a_plain_number(price):
    with pytest.raises(ValueError, match="give a plain number, and the currency apart"):
        TrainingDashboard(price_per_hour=price)


def test_the_figure_shows_every_metric_with_its_unit_and_is_nobodys_to_close():
    before = plt.get_fignums()
    panels = {panel.get_title(): panel for panel in figure(agent_after(30).log).axes}
    assert plt.get_fignums() == before
    assert len(panels) == 8
    assert panels["score (points, mean of 20 games)"].lines[0].get_ydata()[-1] == -21 + 29
    assert list(panels["entropy (nats)"].lines[0].get_ydata()) == [0.6] * 30
    assert list(panels["KL divergence (nats)"].lines[0].get_xdata()[:2]) == [64, 128]
    means = {panel.get_title(): panel for panel in figure(agent_after(120).log).axes}["speed (steps per second)"].lines[
        1
    ]
    assert (means.get_xdata()[0], set(means.get_ydata())) == (128, {625.0})  # of every two updates
    assert panels["KL divergence (nats)"].get_xlabel() == "environment steps"
    assert [text.get_text() for text in figure(Log()).axes[0].texts] == ["nothing yet"]


def test_the_notebooks_figure_is_pyplots():
    plots.ppo_curves(agent_after(3).log)
    titles = [panel.get_title() for panel in plt.gcf().axes]
    plt.close()
    assert titles == list(plots.PPO_PANELS.values())


def test_the_band_spans_all_seeds_and_a_seed_that_is_done_keeps_its_score(monkeypatch, tmp_path):
    curves = [[[0, -20], [100, 20]], [[0, -20], [200, 0]], [[0, -20], [200, 10]]]
    data = {"target": 18, "runs": [{"seed": seed, "curve": curve} for seed, curve in enumerate(curves)]}
    (tmp_path / "learning.json").write_text(json.dumps(data))
    monkeypatch.setattr(plots, "RESULTS", tmp_path)
    plt.figure()
    plots.score_band()
    lines = {line.get_label(): line for line in plt.gca().lines}
    band = plt.gca().collections[0].get_paths()[0].vertices
    texts = [text.get_text() for text in plt.gca().get_legend().get_texts()]
    plt.close()
    steps, median = lines["median"].get_data()
    assert (steps[0], steps[-1]) == (0, 200)
    assert median[-1] == 10
    at_end = band[band[:, 0] == 200][:, 1]
    assert (at_end.min(), at_end.max()) == (0, 20)
    assert texts == ["lowest to highest of 3 seeds", "median", "target 18"]


def test_the_clip_shows_the_newest_frame_of_each_step():
    seen = torch.zeros(5, 4, 42, 42, dtype=torch.uint8)
    seen[:, -1, 0, 0] = torch.tensor([10, 60, 110, 160, 210])
    picture = Image.open(io.BytesIO(clip(seen)))
    assert (picture.n_frames, picture.size, picture.info["duration"]) == (5, (168, 168), 70)
    brightness = []
    for frame in range(5):
        picture.seek(frame)
        brightness.append(np.asarray(picture.convert("L"))[3, 3])
    assert brightness == [10, 60, 110, 160, 210]
    assert clip(torch.zeros(16, 4)) is None
    assert clip(None) is None


def test_the_agent_keeps_what_its_first_environment_showed():
    pong = dataclasses.replace(PONG_PPO, total_steps=32, envs=2, steps=16, minibatch_size=32, epochs=1, stack=4)
    agent = train(pong)
    assert agent.seen.shape == (16, 4, 42, 42)
    assert agent.seen.dtype == torch.uint8
    first = np.asarray(Image.open(io.BytesIO(clip(agent.seen))).convert("L"))
    assert np.array_equal(first[::4, ::4], agent.seen[0, -1])
    assert train(SHORT).seen.shape == (16, 4)


@pytest.fixture
def notebook(monkeypatch):
    """A notebook without a kernel: what was shown, the end of a cell, and a clock that ticks at every look."""
    shown, ticks = [], iter(range(10**9))
    shell = types.SimpleNamespace(kernel=object())
    shell.events = EventManager(shell, available_events, print_on_error=False)

    def display(content, **options):
        shown.append(content)
        return types.SimpleNamespace(update=lambda content, **options: shown.append(content))

    monkeypatch.setattr(dashboard, "get_ipython", lambda: shell)
    monkeypatch.setattr(dashboard, "display", display)
    monkeypatch.setattr(dashboard.time, "perf_counter", lambda: 0.02 * next(ticks))
    monkeypatch.setenv("COURSE_SCALE", "standard")
    end_cell = lambda: shell.events.trigger("post_run_cell", None)  # noqa: E731
    return types.SimpleNamespace(shown=shown, shell=shell, end_cell=end_cell)


def test_widgets_show_the_run_and_give_way_to_a_plain_output(notebook):
    before = set(ipywidgets.widgets.widget._instances)
    show = TrainingDashboard(price_per_hour=1.58, currency="CNY")
    agent = agent_after(2, scores=[-20.0], seconds=10.0, seen=torch.zeros(3, 4, 42, 42, dtype=torch.uint8))
    show(agent)
    (box,) = notebook.shown
    numbers, game = box.children[0].children
    assert "-20.0 (mean of the last 1 games, 1 played)" in numbers.value and "CNY so far" in numbers.value
    assert "interrupt the kernel" in numbers.value
    assert "data:image/gif;base64," in game.value and "data:image/png;base64," in box.children[1].value
    agent.interrupted = True
    notebook.end_cell()
    assert len(notebook.shown) == 2
    assert "score: -20.0 (mean" in notebook.shown[1]["text/plain"]
    assert "time: 00:10 so far\n" in notebook.shown[1]["text/plain"]
    assert "data:image/gif" in notebook.shown[1]["text/html"] and "data:image/png" in notebook.shown[1]["text/html"]
    assert set(ipywidgets.widgets.widget._instances) == before
    notebook.end_cell()  # of another cell
    assert len(notebook.shown) == 2


def test_a_second_run_gets_a_screen_of_its_own(notebook):
    show = TrainingDashboard()
    for _ in range(2):
        train(SHORT, on_update=show)
    notebook.end_cell()
    assert [type(content) for content in notebook.shown] == [ipywidgets.VBox, dict, ipywidgets.VBox, dict]
    assert "steps: 256 of 256" in notebook.shown[-1]["text/plain"]


def test_at_smoke_scale_one_output_is_drawn_when_the_cell_ends(notebook, monkeypatch):
    monkeypatch.setenv("COURSE_SCALE", "smoke")
    drawn = []
    monkeypatch.setattr(dashboard, "figure", lambda log: drawn.append(log) or figure(log))
    train(SHORT, on_update=TrainingDashboard())
    assert (notebook.shown, drawn) == ([], [])
    notebook.end_cell()
    assert len(drawn) == len(notebook.shown) == 1
    assert "explained variance: " in notebook.shown[0]["text/plain"]


def test_outside_a_notebook_nothing_is_drawn(notebook, monkeypatch):
    for shell in (None, types.SimpleNamespace()):  # a script; IPython in a terminal
        monkeypatch.setattr(dashboard, "get_ipython", lambda shell=shell: shell)
        show = TrainingDashboard()
        for _ in range(2):
            assert train(SHORT, on_update=show).steps == 256
    assert notebook.shown == []


def test_watching_does_not_change_the_training(notebook):
    watched, alone = (train(SHORT, on_update=watcher) for watcher in (TrainingDashboard(), None))
    for one, other in zip(watched.network.parameters(), alone.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_picture_that_cannot_be_drawn_does_not_end_the_training(notebook, monkeypatch):
    def broken(log):
        raise RuntimeError("no font")

    monkeypatch.setattr(dashboard, "figure", broken)
    with pytest.warns(UserWarning, match=r"the dashboard stands still, training goes on: RuntimeError\('no font'\)"):
        assert train(SHORT, on_update=TrainingDashboard()).steps == 256


def test_drawing_takes_a_small_share_and_memory_stays_flat_over_500_updates(notebook, monkeypatch):
    taken = []  # when a drawing began, on the clock of the test, which a drawing moves on by half a second

    def slow(log):
        taken.append(clock[0])
        clock[0] += 0.5
        return figure(log)

    clock = [0.0]
    monkeypatch.setattr(dashboard.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(dashboard, "figure", slow)
    show = TrainingDashboard()
    agent = agent_after(300, seen=torch.zeros(16, 4, 42, 42, dtype=torch.uint8))
    tracemalloc.start()
    for update in range(500):
        show(agent)
        clock[0] += 0.2
        if update == 100:
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert min(np.diff(taken)) >= 0.5 / dashboard.SHARE
    assert 5 <= len(taken) <= 7
    assert grown < 100_000
    assert sum(type(thing) is Figure for thing in gc.get_objects()) == 0
    notebook.end_cell()


def test_in_a_kernel_the_cell_keeps_one_plain_output_at_every_scale():
    cell = """
import os
os.environ["COURSE_SCALE"] = "{scale}"
os.environ["CI"] = "true"
from course_utils.agents.ppo import train
from course_utils.agents.ppo_config import PPOConfig
from course_utils.lessons.dashboard import TrainingDashboard
train(PPOConfig(total_steps=256, envs=4, steps=16, minibatch_size=32), on_update=TrainingDashboard());
"""
    cells = [nbformat.v4.new_code_cell(cell.format(scale=scale)) for scale in ("smoke", "standard")]
    document = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(document, timeout=120, kernel_name="python3").execute()
    for executed in document.cells:
        (output,) = executed.outputs
        assert output["output_type"] == "display_data"
        assert "steps: 256 of 256" in output["data"]["text/plain"]
        assert "data:image/png;base64," in output["data"]["text/html"]
