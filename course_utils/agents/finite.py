"""Finite: find the first tensor that went bad, where it went bad."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn


def first_non_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """Return the name of the first tensor that holds NaN or infinity, or None."""
    return next((name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()), None)


def check_finite(**tensors: Tensor) -> None:
    """Raise ValueError naming the first of the tensors, in the order given, that holds NaN or infinity."""
    name = first_non_finite(tensors)
    if name is not None:
        bad = tensors[name][~torch.isfinite(tensors[name])]
        raise ValueError(
            f"{name} holds {bad.numel()} value(s) that are not finite (first: {bad[0].item()}): "
            "look at what was computed just before it; often a learning rate too high or a broken observation"
        )


def diagnose_policy_input(policy: nn.Module, observations: Tensor, probabilities: Tensor | None = None) -> str | None:
    """Say in one sentence why a distribution refuses its parameters, or None where nothing is wrong.

    The message "must satisfy the constraint Simplex()" has two different causes: a NaN that arrived from an
    observation or a weight, and probabilities that miss a sum of one by rounding. `probabilities` is
    (batch, action_count); leave it out where the policy gives logits.
    """
    name = first_non_finite({"observation": observations})
    if name is not None:
        return "the observation holds NaN or infinity: check the environment and its normalisation"
    name = first_non_finite(dict(policy.named_parameters()))
    if name is not None:
        return f"the parameter {name} holds NaN or infinity: an earlier update broke it (lower the learning rate)"
    if probabilities is None:
        return None
    name = first_non_finite({"probabilities": probabilities})
    if name is not None:
        return "the probabilities hold NaN or infinity: pass logits, Categorical(logits=...), which cannot overflow"
    if not torch.distributions.constraints.simplex.check(probabilities).all():
        worst = (probabilities.sum(-1) - 1).abs().max().item()
        return (
            f"the probabilities miss a sum of one by {worst:.1e}: pass logits, Categorical(logits=...), "
            "which normalises them itself"
        )
    return None
