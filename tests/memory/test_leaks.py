"""Leaks planted in small training steps are named with kind, size, line and holder; healthy steps are silent."""

import collections
import inspect

import matplotlib
import numpy as np
import pytest
import torch
from torch import nn

from course_utils.memory import leaks
from course_utils.memory.leaks import find_leaks

matplotlib.use("Agg")
losses: list[torch.Tensor] = []
FLOATS = 64 * 64 * 4  # bytes of one activation


class Trainer:
    """A network and a loop as a student writes them."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        self.optimizer = torch.optim.Adam(self.network.parameters())
        self.history: list = []
        self.recent: collections.deque = collections.deque(maxlen=3)

    def loss(self) -> torch.Tensor:
        return self.network(torch.randn(64, 64)).square().mean()

    def learn(self) -> torch.Tensor:
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def line_of(function, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def only(found: list[leaks.Leak]) -> leaks.Leak:
    assert len(found) == 1, [str(leak) for leak in found]
    assert "\n" not in str(found[0])
    return found[0]


def test_healthy_steps_are_silent():
    trainer, numbers = Trainer(), []
    buffer = np.zeros((100, 84, 84), np.uint8)

    def step() -> None:
        trainer.last = trainer.learn()  # replaced by the next one, graph and all
        numbers.append(trainer.last.item())
        trainer.recent.append(trainer.last.detach())
        buffer[len(numbers) % 100] = np.random.default_rng(0).integers(256, size=(84, 84))

    assert find_leaks(step) == []


def test_a_list_of_losses_that_were_not_backpropagated_keeps_every_graph():
    trainer = Trainer()
    leak = only(find_leaks(lambda: trainer.history.append(trainer.loss())))
    assert leak.kind == "graph"
    assert leak.bytes_per_step > 2 * FLOATS
    assert leak.holder == "attribute `history` of a Trainer"
    assert leak.line.endswith(f"test_leaks.py:{line_of(Trainer.loss, 'self.network(')}")
    assert "loss.item()" in str(leak)


def test_a_running_sum_of_losses_keeps_every_graph():
    trainer = Trainer()
    trainer.total = torch.zeros(())

    def step() -> None:
        trainer.total = trainer.total + trainer.loss()

    leak = only(find_leaks(step))
    assert (leak.kind, leak.holder) == ("graph", "attribute `total` of a Trainer")
    assert leak.bytes_per_step > 2 * FLOATS


def test_losses_in_a_global_list():
    trainer = Trainer()
    leak = only(find_leaks(lambda: losses.append(trainer.learn())))
    losses.clear()
    assert (leak.kind, leak.holder) == ("graph", "global variable `losses`")


def test_float_frames_in_torch_and_in_numpy():
    kept: list = []
    leak = only(find_leaks(lambda: kept.append(torch.zeros(4, 84, 84))))
    assert (leak.kind, leak.bytes_per_step) == ("float_frames", 4 * 84 * 84 * 4)
    kept.clear()
    leak = only(find_leaks(lambda: kept.append(np.zeros((4, 84, 84), np.float32))))
    assert leak.kind == "float_frames"
    assert leak.bytes_per_step == pytest.approx(4 * 84 * 84 * 4, rel=0.05)
    assert "uint8" in str(leak)


def test_a_container_of_detached_tensors_that_only_grows():
    trainer = Trainer()
    leak = only(find_leaks(lambda: trainer.history.append(torch.zeros(1_000))))
    assert (leak.kind, leak.bytes_per_step) == ("kept", 4_000)


def test_tensors_that_functions_have_captured():
    callbacks: list = []

    def make():
        weights = torch.zeros(1_000)
        return lambda: weights.sum()

    leak = only(find_leaks(lambda: callbacks.append(make())))
    assert leak.kind == "closure"
    assert leak.line.endswith(f":{line_of(make, 'torch.zeros')}")


def test_exceptions_that_are_kept_hold_the_tensors_of_their_frames():
    errors: list = []

    def fail() -> None:
        batch = torch.zeros(1_000)
        raise ValueError(f"bad batch of {len(batch)}")

    def step() -> None:
        try:
            fail()
        except ValueError as error:
            errors.append(error)

    leak = only(find_leaks(step))
    assert (leak.kind, leak.holder) == ("traceback", "`batch` in fail()")


def test_figures_that_stay_open():
    from matplotlib import pyplot

    def step() -> None:
        pyplot.figure().add_subplot().plot(np.arange(2_000.0))

    found = find_leaks(step)
    pyplot.close("all")
    assert "figures" in {leak.kind for leak in found}
    assert any("plt.close" in str(leak) for leak in found)


def test_two_leaks_are_told_apart_and_the_larger_comes_first():
    trainer, frames = Trainer(), []

    def step() -> None:
        trainer.history.append(trainer.learn())
        frames.append(torch.zeros(32, 84, 84))

    found = find_leaks(step)
    assert [leak.kind for leak in found] == ["float_frames", "graph"]


def test_too_few_steps_are_refused():
    with pytest.raises(ValueError, match="steps must be at least 4"):
        find_leaks(lambda: None, steps=3)
