"""Saved: keep a trained policy in a small file that any machine can load."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import torch

from course_utils.agents.networks import PolicyNet
from course_utils.machine import runtime

TRAINED_CARTPOLE = Path(__file__).parent / "trained" / "cartpole_seed0.pt"
"""A CartPole policy that comes with the course; the .json beside it says how it was made"""


def save_policy(policy: PolicyNet, path: str | Path, facts: Mapping[str, object] | None = None) -> Path:
    """Write the weights to `path` and, if given, `facts` (seed, steps, score, ...) to a .json beside it.

    The file is complete or absent: it is written under another name and then moved. Returns the path.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        torch.save({name: tensor.detach().cpu() for name, tensor in policy.state_dict().items()}, partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    if facts is not None:
        runtime.write_whole(path.with_suffix(".json"), json.dumps(dict(facts), indent=2) + "\n")
    return path


def load_policy(path: str | Path = TRAINED_CARTPOLE) -> PolicyNet:
    """Return the PolicyNet saved at `path`; its sizes are read off the weights.

    Only tensors are read (`weights_only=True`): a downloaded file of this kind cannot run code. Raises ValueError
    where the file holds something else.
    """
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
