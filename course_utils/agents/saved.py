"""Saved: keep a trained network in a small file that any machine can load.

Only tensors and plain numbers are read back (`weights_only=True`): a downloaded file of this kind cannot run code.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_utils.agents.networks import ActorCritic, PolicyNet
from course_utils.agents.ppo import Learner
from course_utils.agents.ppo_config import PPOConfig
from course_utils.machine import runtime

TRAINED_CARTPOLE = Path(__file__).parent / "trained" / "cartpole_seed0.pt"
"""A CartPole policy that comes with the course; the .json beside it says how it was made"""


def save_policy(policy: PolicyNet, path: str | Path, facts: Mapping[str, object] | None = None) -> Path:
    """Write the weights to `path` and, if given, `facts` (seed, steps, score, ...) to a .json beside it.

    The file is complete or absent: it is written under another name and then moved. Returns the path.
    """
    return _save({name: tensor.detach().cpu() for name, tensor in policy.state_dict().items()}, path, facts)


def load_policy(path: str | Path = TRAINED_CARTPOLE) -> PolicyNet:
    """Return the PolicyNet saved at `path`; its sizes are read off the weights. Raises ValueError on other content."""
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
        hidden_size, observation_size = weights["layers.0.weight"].shape
        policy = PolicyNet(observation_size, len(weights["layers.2.bias"]), hidden_size)
        policy.load_state_dict(weights)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path} does not hold the weights of a PolicyNet: save it again with save_policy") from error
    return policy


def save_agent(path: str | Path, network: ActorCritic, facts: Mapping[str, object] | None = None) -> Path:
    """Write a network, sizes and weights, to `path`, complete or absent, and `facts` to a .json beside it.

    Weights are rounded to float16, half the size: that moves a policy a little, so judge it as it was loaded.
    """
    weights = {name: tensor.detach().cpu().half() for name, tensor in network.state_dict().items()}
    return _save({"arguments": _arguments(network), "network": weights}, path, facts)


def load_agent(path: str | Path, device: str | torch.device = "cpu") -> ActorCritic:
    """Return the ActorCritic saved at `path`, in float32. Raises ValueError where the file holds something else."""
    return _read(path)[0].to(device, memory_format=torch.channels_last)


def save_learner(path: str | Path, learner: Learner) -> Path:
    """Write all that training goes on from exactly (network, optimiser, generators, counters), complete or absent."""
    return _save({"arguments": _arguments(learner.network), **learner.state_dict()}, path)


def load_start(path: str | Path, config: PPOConfig) -> dict[str, Any]:
    """Return what `ppo.train(config, start=...)` goes on from; `path` was written by save_learner or save_agent.

    From a network alone steps count from 0 and the optimiser starts afresh. Raises ValueError where the network has
    other settings than `config`: weights that fit in shape may still expect other pixels.
    """
    network, content = _read(path)
    for name, value in _arguments(network).items():
        if value != getattr(config, name, value):
            raise ValueError(f"the network in {path} has {name} {value}, this run asks for {getattr(config, name)}")
    return content


def _save(content: Mapping[str, Any], path: str | Path, facts: Mapping[str, object] | None = None) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        torch.save(content, partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    if facts is not None:
        runtime.write_whole(path.with_suffix(".json"), json.dumps(dict(facts), indent=2) + "\n")
    return path


def _read(path: str | Path) -> tuple[ActorCritic, dict[str, Any]]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        network = ActorCritic(**content["arguments"])
        network.load_state_dict(content["network"])
    except OSError:
        raise
    except Exception as error:
        raise ValueError(f"{path} does not hold an agent: save it again with save_agent") from error
    return network, content


def _arguments(network: ActorCritic) -> dict[str, Any]:
    """Return the arguments that make a network of the same kind."""
    layers = [layer for layer in network.body if isinstance(layer, nn.Conv2d)]
    return {
        "observation_shape": network.observation_shape,
        "action_count": network.policy.out_features,
        "convolutions": tuple((layer.out_channels, layer.kernel_size[0], layer.stride[0]) for layer in layers),
        "hidden_size": network.policy.in_features,
        "pixel_mean": network.pixel_mean,
        "pixel_scale": network.pixel_scale,
    }
