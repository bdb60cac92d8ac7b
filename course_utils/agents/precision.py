"""Precision: which part of a training step may be computed with 16 bits, on what hardware, and in which order.

Half precision is a property of the network's body alone (`ActorCritic.autocast_dtype`): its two heads, and with them
log-probabilities, ratio, entropy, advantages and both losses, stay in float32. Playing and learning go through the
same body, so the ratio of an unchanged policy is 1 in any precision.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
WORTH_PARAMETERS = 500_000
"""a smaller network is done before 16 bits can pay: casting its tensors and launching kernels takes the time"""


def native_dtype(device: str | torch.device, capability: tuple[int, int] | None = None) -> torch.dtype:
    """Return the 16-bit type that the device computes natively, float32 where it has none.

    `capability` is a card's compute capability; None asks the card itself. Ampere (8.0) and newer have bfloat16; Volta
    and Turing (7.0 to 7.5: V100, T4) have float16 only, which needs a gradient scaler. What is emulated does not count:
    a T4 accepts bfloat16, slowly. A CPU has bfloat16 with AVX512-BF16 or AMX. Source: NVIDIA, CUDA C++ Programming
    Guide, compute capabilities.
    """
    if torch.device(device).type == "cuda":
        capability = capability or torch.cuda.get_device_capability(device)
        if capability >= (8, 0):
            return torch.bfloat16
        return torch.float16 if capability >= (7, 0) else torch.float32
    if torch.device(device).type == "cpu":
        asked = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # private, so they may be gone one day
        if any(getattr(torch.cpu, name, lambda: False)() for name in asked):
            return torch.bfloat16
    return torch.float32


def choose(
    precision: str, device: str | torch.device, parameters: int, capability: tuple[int, int] | None = None
) -> torch.dtype:
    """Return the type for a network's body: the one asked for, or with "auto" the device's own where it can pay.

    `parameters` is the number of weights: with "auto", below WORTH_PARAMETERS all stays float32. Raises ValueError for
    another name.
    """
    if precision == "auto":
        return native_dtype(device, capability) if parameters >= WORTH_PARAMETERS else torch.float32
    if precision not in DTYPES:
        raise ValueError(f"precision must be one of auto, {', '.join(DTYPES)}, not {precision!r}")
    return DTYPES[precision]


class Stepper:
    """One gradient step in the right order: scale, backward, unscale, cut the gradient, step, adapt the scale.

    Only float16 has a scaler: its smallest number is 6e-8, and small gradients would become 0. A step whose gradients
    overflowed is left out, counted in `skipped`, and halves the scale. Source: Micikevicius et al., Mixed Precision
    Training, 2018.
    """

    def __init__(self, dtype: torch.dtype, device: str | torch.device) -> None:
        self.scaler = torch.amp.GradScaler(torch.device(device).type, enabled=dtype == torch.float16)
        self.skipped = 0

    def step(self, loss: Tensor, optimizer: torch.optim.Optimizer, max_grad_norm: float) -> tuple[Tensor, bool]:
        """Take the step; return the gradient's length before it was cut, and whether the weights have moved.

        A learning rate schedule that counts steps must advance only where they have.
        """
        parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(optimizer)  # before cutting: the scale must not count as length
        grad_norm = nn.utils.clip_grad_norm_(parameters, max_grad_norm)
        self.scaler.step(optimizer)
        before = self.scaler.get_scale()
        self.scaler.update()
        moved = self.scaler.get_scale() >= before
        self.skipped += not moved
        return grad_norm, moved

    def state_dict(self) -> dict[str, Any]:
        """Return what the next step depends on; empty without a scaler."""
        return self.scaler.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state`; an empty one, of a run in another precision, starts with the usual scale."""
        if state and self.scaler.is_enabled():
            self.scaler.load_state_dict(state)


def check_owned(optimizer: torch.optim.Optimizer, parameters: Iterable[Tensor]) -> None:
    """Raise ValueError unless the optimiser holds exactly these parameters.

    After loading a checkpoint it often holds those of the network from before: nothing learns, and a scaler stops with
    "No inf checks were recorded for this optimizer".
    """
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    if held != {id(parameter) for parameter in parameters}:
        raise ValueError(
            "the optimizer does not hold the network's parameters: build the network, then the optimizer on its "
            "parameters(), then load both states"
        )
