"""Precision: the type for each device, the order of a scaled step, and what stays float32 in PPO."""

import copy
import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from course_utils.agents import ppo, precision
from course_utils.agents.networks import ActorCritic
from course_utils.agents.ppo_config import PPOConfig
from course_utils.agents.precision import Stepper, check_owned, choose, native_dtype

SHORT = PPOConfig(total_steps=512, envs=4, steps=32, minibatch_size=32, epochs=2)
HALF = ("bfloat16", "float16")


@pytest.mark.parametrize(
    ("capability", "expected"),
    [
        ((6, 1), torch.float32),  # GTX 1080: float16 is slower than float32
        ((7, 0), torch.float16),  # V100
        ((7, 5), torch.float16),  # T4: accepts bfloat16, but emulates it
        ((8, 0), torch.bfloat16),  # A100
        ((8, 9), torch.bfloat16),  # RTX 4090
        ((12, 0), torch.bfloat16),  # RTX 5090
    ],
)
def test_the_type_that_a_card_computes_natively(capability, expected):
    assert native_dtype("cuda", capability) == expected


@pytest.mark.parametrize(("avx512", "amx", "expected"), [(0, 0, "float32"), (1, 0, "bfloat16"), (0, 1, "bfloat16")])
def test_a_cpu_has_bfloat16_with_either_instruction_set(monkeypatch, avx512, amx, expected):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: bool(avx512), raising=False)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: bool(amx), raising=False)
    assert native_dtype("cpu") == precision.DTYPES[expected]


def test_auto_leaves_a_small_network_alone_and_an_explicit_choice_stands():
    assert choose("auto", "cuda", 5_000, (8, 0)) == torch.float32
    assert choose("auto", "cuda", 1_700_000, (8, 0)) == torch.bfloat16
    assert choose("float16", "cpu", 5_000) == torch.float16
    with pytest.raises(ValueError, match="precision must be one of auto, float32, bfloat16, float16, not 'bf16'"):
        choose("bf16", "cpu", 1)
    with pytest.raises(ValueError, match="precision must be one of auto"):
        PPOConfig(precision="half")


def linear(weight: float = 1.0) -> tuple[nn.Linear, torch.optim.Optimizer]:
    layer = nn.Linear(1, 1, bias=False)
    nn.init.constant_(layer.weight, weight)
    return layer, torch.optim.SGD(layer.parameters(), lr=1.0)


def test_a_scaled_step_moves_the_weights_as_far_as_a_plain_one():
    """Cut before unscaling, a gradient of 0.3 x 65,536 would be cut to 1 and become 1 / 65,536."""
    moved = {}
    for dtype in (torch.float32, torch.float16):
        layer, optimizer = linear()
        norm, stepped = Stepper(dtype, "cpu").step(layer(torch.tensor([[0.3]])).sum(), optimizer, 1.0)
        assert stepped
        assert norm.item() == pytest.approx(0.3)
        moved[dtype] = layer.weight.item()
    assert moved[torch.float16] == pytest.approx(moved[torch.float32]) == pytest.approx(0.7)


def test_the_order_of_a_step(monkeypatch):
    layer, optimizer = linear()
    stepper, order = Stepper(torch.float16, "cpu"), []

    def spy(owner: object, name: str) -> None:
        original = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **k: (order.append(name), original(*a, **k))[1])

    for name in ("scale", "unscale_", "step", "update"):
        spy(stepper.scaler, name)
    spy(nn.utils, "clip_grad_norm_")
    stepper.step(layer(torch.ones(1, 1)).sum(), optimizer, 1.0)
    assert order == ["scale", "unscale_", "clip_grad_norm_", "step", "update"]


def test_a_step_that_overflows_is_left_out_and_halves_the_scale():
    layer, optimizer = linear()
    stepper = Stepper(torch.float16, "cpu")
    _, moved = stepper.step(layer(torch.ones(1, 1)).sum() * float("inf"), optimizer, 1.0)
    assert (moved, stepper.skipped, layer.weight.item()) == (False, 1, 1.0)
    assert stepper.scaler.get_scale() == 65_536 / 2
    assert stepper.step(layer(torch.ones(1, 1)).sum(), optimizer, 1.0)[1]


def test_the_scale_survives_a_checkpoint_and_plain_runs_have_none():
    layer, optimizer = linear()
    stepper = Stepper(torch.float16, "cpu")
    stepper.step(layer(torch.ones(1, 1)).sum() * float("inf"), optimizer, 1.0)
    again = Stepper(torch.float16, "cpu")
    again.load_state_dict(stepper.state_dict())
    assert again.scaler.get_scale() == stepper.scaler.get_scale()
    plain = Stepper(torch.bfloat16, "cpu")
    assert plain.state_dict() == {}
    again.load_state_dict(plain.state_dict())
    assert again.scaler.get_scale() == stepper.scaler.get_scale()


def test_an_optimizer_that_holds_another_network_is_found():
    layer, optimizer = linear()
    check_owned(optimizer, layer.parameters())
    with pytest.raises(ValueError, match="does not hold the network's parameters"):
        check_owned(optimizer, copy.deepcopy(layer).parameters())


@pytest.mark.parametrize("name", HALF)
def test_the_body_is_half_and_the_heads_and_weights_are_float32(name):
    network = ActorCritic((4, 42, 42), 3, ((16, 8, 4),), 32)
    network.autocast_dtype = precision.DTYPES[name]
    seen = {}
    network.body.register_forward_hook(lambda module, inputs, output: seen.update(body=output.dtype))
    logits, values = network(network.prepare(np.zeros((2, 4, 42, 42), np.uint8)))
    assert (seen["body"], logits.dtype, values.dtype) == (precision.DTYPES[name], torch.float32, torch.float32)
    assert {parameter.dtype for parameter in network.parameters()} == {torch.float32}


@pytest.mark.parametrize("name", HALF)
def test_ppo_trains_and_the_ratio_of_an_unchanged_policy_is_one(name):
    still = ppo.train(dataclasses.replace(SHORT, precision=name, learning_rate=0.0))
    assert max(still.log.series("train/approx_kl")[1]) < 1e-5
    assert still.learner.stepper.scaler.is_enabled() == (name == "float16")
    agent = ppo.train(dataclasses.replace(SHORT, precision=name))
    assert agent.learner.stepper.state_dict().keys() == Stepper(precision.DTYPES[name], "cpu").state_dict().keys()
    assert max(agent.log.series("train/approx_kl")[1]) > 1e-5


def test_ppo_goes_on_where_a_step_is_skipped():
    config = dataclasses.replace(SHORT, precision="float16", total_steps=128)

    def overflowing(new, old, advantages, clip_range):
        return ppo.policy_loss(new, old, advantages, clip_range) * 1e37

    agent = ppo.train(config, policy_loss=overflowing)
    assert agent.learner.stepper.skipped > 0
    assert agent.log.rows[-1]["train/skipped_steps"] == agent.learner.stepper.skipped


def test_the_scale_is_part_of_the_learner_s_state():
    agent = ppo.train(dataclasses.replace(SHORT, precision="float16"))
    state = agent.learner.state_dict()
    state["scaler"]["scale"] = 1024.0
    again = ppo.train(dataclasses.replace(SHORT, precision="float16", total_steps=640), start=state)
    assert again.learner.stepper.scaler.get_scale() == 1024.0
