"""What the judges share: call an answer without trusting it, compare tensors with words for each fault, probe networks."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.lessons.exercise import Wrong


@contextlib.contextmanager
def explained(causes: Mapping[str, str]) -> Iterator[None]:
    """As a decorator of a judge or as a context: an error whose type and text hold a key becomes Wrong with its words.

    Wrong keeps the traceback, so that the verdict can still name the line of the answer.
    """
    try:
        yield
    except Wrong:
        raise
    except Exception as error:
        for part, words in causes.items():
            if part in f"{type(error).__name__}: {error}":
                raise Wrong(words).with_traceback(error.__traceback__) from error
        raise


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
            raise Wrong(f"It changes its argument {name!r}, which the course still needs. Work on a copy.")
    if result is None:
        raise Wrong("It returns None. Is a return missing?")
    return result


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, Tensor):
        return old.shape == new.shape and torch.equal(old.nan_to_num(), new.nan_to_num())
    if hasattr(old, "dtype"):
        return old.shape == new.shape and bool((old == new).all())
    if isinstance(old, nn.Module):
        return all(torch.equal(a, b) for a, b in zip(old.parameters(), new.parameters(), strict=True))
    return bool(old == new)


def tensor(
    result: Any, shape: tuple[int, ...], what: str, reasons: Mapping[tuple[int, ...], str] | None = None
) -> Tensor:
    """Return the result if it is a finite float32 tensor of this shape; else Wrong, naming what differs.

    reasons: for shapes that come from a known slip, what to do about it
    """
    if not isinstance(result, Tensor):
        raise Wrong(f"{what} must be a torch tensor, not {type(result).__name__}.")
    if (found := tuple(result.shape)) != shape:
        reason = (reasons or {}).get(found, "")
        raise Wrong(f"{what} must have the shape {shape}, not {found}. {reason}".strip())
    if result.dtype != torch.float32:
        raise Wrong(f"{what} must be float32, not {_short(result.dtype)}: the networks compute in float32.")
    if not result.isfinite().all():
        raise Wrong(f"{what} must be finite: there is an inf or nan.")
    return result


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def same(result: Tensor, expected: Any, tolerance: float = 1e-5) -> bool:
    """Whether two tensors of one shape agree within an absolute and relative tolerance."""
    other = torch.as_tensor(expected, dtype=result.dtype)
    return result.shape == other.shape and torch.allclose(result, other, rtol=tolerance, atol=tolerance)


def compare(result: Tensor, expected: Any, mistakes: Mapping[str, Any], asked: str) -> None:
    """Wrong with the mistake whose value was returned, else with both values; `asked` says for what, as in "For ..."."""
    if same(result, expected):
        return
    for message, mistaken in mistakes.items():
        if same(result, mistaken):
            raise Wrong(message)
    right = numbers(torch.as_tensor(expected))
    raise Wrong(f"{asked} it gives {numbers(result)} instead of {right}.")


def numbers(values: Tensor) -> str:
    """A number or a short tensor as text for a message."""
    if values.ndim == 0:
        return f"{values.item():.4g}"
    return "[" + ", ".join(f"{value:.4g}" for value in values.detach().flatten().tolist()) + "]"


def is_no_distribution(logits: Tensor) -> None:
    """Wrong where logits (batch, actions) have gone through a softmax or log-softmax over either dimension."""
    for dim, where in ((-1, ""), (0, " over the batch (dim=0)")):
        ones = torch.ones(logits.shape[1 + dim])
        if same(logits.sum(dim), ones) and (logits >= 0).all():
            raise Wrong(f"It ends in a softmax{where}. Return logits: Categorical(logits=...) does that step.")
        if same(logits.exp().sum(dim), ones):
            raise Wrong(f"It ends in a log-softmax{where}. Return plain logits; log_probabilities does that step.")


def layers_are_registered(answer: type[nn.Module], network: nn.Module, observations: Tensor, logits: Tensor) -> None:
    """Wrong where equal input gives other output, or where parameters() does not hold all that is learnt."""
    repeats = same(network(observations), logits)
    if not list(network.parameters()):
        cure = "Layers in a plain list are not seen: use nn.Sequential." if repeats else "Make the layers in __init__."
        raise Wrong(f"The network has no parameters to learn. {cure}")
    if not repeats:
        raise Wrong("Two calls on the same observations differ. Is there dropout, or a layer made in forward?")
    twin = answer(4, 2, 64)
    twin(observations)
    twin.load_state_dict(network.state_dict())
    if not same(twin(observations), logits):
        raise Wrong("Not every layer is in parameters(): some never learn. Is one in a plain list? Use nn.ModuleList.")


def gradient_reaches_every_layer(network: nn.Module, observations: Tensor, logits: Tensor) -> None:
    """Wrong where a parameter gets no gradient; a parameter that acts all the same has been cut off."""
    if not logits.requires_grad:
        raise Wrong("No gradient reaches the layers, so nothing can learn. Leave no_grad and detach out of forward.")
    logits.sum().backward()
    idle = [parameter for parameter in network.parameters() if parameter.grad is None]
    with torch.no_grad():
        for parameter in idle:
            parameter += 1.0
        if not same(network(observations), logits):
            raise Wrong("Some layers act but get no gradient. Does a detach or no_grad in forward cut the path?")
    if idle:
        raise Wrong("Some parameters get no gradient: forward does not use every layer.")


def logits_are_free(answer: type[nn.Module]) -> None:
    """Wrong where a fresh PolicyNet(4, 2, 64) cannot be taught logits of 8 and -8, each for its own observation."""
    network = answer(4, 2, 64)
    observations = torch.tensor([[1.0, -1.0, 0.5, 2.0], [-1.0, 1.0, -0.5, -2.0]])
    targets = torch.tensor([[8.0, -8.0], [-8.0, 8.0]])
    logits = network(observations)
    starts_at_zero = not any(parameter.any() for parameter in network.parameters())
    for step in range(200):  # by hand: importing torch's optimisers takes two seconds in the judge's process
        network.zero_grad()
        (logits - targets).pow(2).mean().backward()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter -= 0.02 * (1 - step / 200) * parameter.grad.sign()
        logits = network(observations)
    if same(logits, targets, 0.2):
        return
    if starts_at_zero:
        raise Wrong("All parameters start at 0: then most gradients are 0 too. Leave them as nn.Linear makes them.")
    if (logits >= 0).all():
        raise Wrong("The logits do not become negative when it learns. Does a ReLU or sigmoid follow the last layer?")
    top = logits.max().item()
    raise Wrong(f"A logit stops at {top:.2g} where 8 was asked for. Does a tanh or sigmoid follow the last layer?")
