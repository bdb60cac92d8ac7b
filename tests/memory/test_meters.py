"""Meters against sums that can be done by hand."""

import pytest
import torch

from course_utils.memory.meters import tensor_peak

MEGABYTE = 250_000  # float32 numbers


def test_the_peak_of_two_tensors_that_live_together_and_one_that_comes_later():
    def work() -> str:
        first, second = torch.zeros(MEGABYTE), torch.zeros(2 * MEGABYTE)
        del first, second
        third = torch.zeros(MEGABYTE)
        return f"{third.numel()}"

    result, peak = tensor_peak(work)
    assert result == "250000"
    assert peak == pytest.approx(3e6, rel=1e-3)


def test_what_was_there_before_does_not_count():
    before = torch.zeros(10 * MEGABYTE)
    assert tensor_peak(lambda: before.add_(1))[1] < 1_000


def test_a_graph_that_is_kept_costs_its_activations():
    layers = torch.nn.Sequential(*[torch.nn.ReLU() for _ in range(4)])
    inputs = torch.zeros(MEGABYTE, requires_grad=True)
    with torch.no_grad():
        _, without = tensor_peak(lambda: layers(inputs))
    _, kept = tensor_peak(lambda: layers(inputs))
    assert without == pytest.approx(2e6, rel=1e-2)
    assert kept == pytest.approx(4e6, rel=1e-2)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_peak_on_a_card():
    assert tensor_peak(lambda: torch.zeros(MEGABYTE, device="cuda").sum(), "cuda")[1] >= 1e6
