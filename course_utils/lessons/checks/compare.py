"""What the judges share: call an answer without trusting it, and compare tensors with words for each fault."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_utils.lessons.exercise import Wrong


def call(answer: Callable[..., Any], *arguments: Any) -> Any:
    """Call the answer; Wrong where it does not take the arguments, changes one of them or returns None."""
    try:
        inspect.signature(answer).bind(*arguments)
    except TypeError as error:
        raise Wrong(f"It cannot be called as the course calls it: {error}. Keep the arguments of the stub.") from None
    before = copy.deepcopy(arguments)
    result = answer(*arguments)
    for name, old, new in zip(inspect.signature(answer).parameters, before, arguments, strict=False):
        if not _equal(old, new):
            raise Wrong(
                f"It changes its argument {name!r}, which the training still needs. Work on a new list or tensor."
            )
    if result is None:
        raise Wrong("It returns None. Is a return missing?")
    return result


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, Tensor):
        return old.shape == new.shape and torch.equal(old.nan_to_num(), new.nan_to_num())
    if hasattr(old, "dtype"):
        return old.shape == new.shape and bool((old == new).all())
    if isinstance(old, torch.nn.Module):
        return all(torch.equal(a, b) for a, b in zip(old.parameters(), new.parameters(), strict=True))
    return bool(old == new)


def tensor(result: Any, shape: tuple[int, ...], what: str, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return the result if it is a finite tensor of this shape and dtype; else Wrong, naming what differs."""
    if not isinstance(result, Tensor):
        raise Wrong(f"{what} must be a torch tensor, not {type(result).__name__}.")
    if tuple(result.shape) != shape:
        raise Wrong(f"{what} must have the shape {shape}, not {tuple(result.shape)}.")
    if result.dtype != dtype:
        raise Wrong(
            f"{what} must be {_short(dtype)}, not {_short(result.dtype)}: the networks compute in {_short(dtype)}."
        )
    if result.is_floating_point() and not result.isfinite().all():
        raise Wrong(f"{what} holds a value that is not finite (inf or nan).")
    return result


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def same(result: Tensor, expected: Any, tolerance: float = 1e-5) -> bool:
    """Whether two tensors of one shape agree within an absolute and relative tolerance."""
    other = torch.as_tensor(expected, dtype=result.dtype)
    return result.shape == other.shape and torch.allclose(result, other, rtol=tolerance, atol=tolerance)


def numbers(values: Tensor) -> str:
    """A short tensor as text for a message."""
    return "[" + ", ".join(f"{value:.4g}" for value in values.detach().flatten().tolist()) + "]"
