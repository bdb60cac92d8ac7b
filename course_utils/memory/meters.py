"""Meters: how much memory a piece of work takes, seen from the tensors' allocator and from the system."""

from collections.abc import Callable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile


def tensor_peak(function: Callable[[], Any], device: str | torch.device = "cpu") -> tuple[Any, int]:
    """Call `function`; return what it returned and the bytes that its tensors took at the highest point.

    Only what is allocated during the call counts: parameters and optimiser states that exist before are not in it, and
    what the function frees of them is not subtracted. On the CPU the allocator's own events are added up
    (torch.profiler), so the call is slower and is no measure of time; on CUDA the allocator keeps the peak itself.
    """
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        result = function()
        torch.cuda.synchronize(device)
        return result, torch.cuda.max_memory_allocated(device) - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        result = function()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return result, peak
