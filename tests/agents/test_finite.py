"""The helper names the tensor that went bad, and stays silent where nothing did."""

import pytest
import torch

from course_utils.agents.finite import check_finite, diagnose_policy_input, first_non_finite
from course_utils.agents.networks import PolicyNet

HEALTHY = torch.zeros(2, 4)
NAN = torch.tensor([[0.0, float("nan"), 0.0, 0.0]])


def test_healthy_input_is_silent():
    assert diagnose_policy_input(PolicyNet(4, 2), HEALTHY) is None
    assert diagnose_policy_input(PolicyNet(4, 2), HEALTHY, torch.tensor([[0.25, 0.75]])) is None
    check_finite(observation=HEALTHY)


def test_a_bad_observation_is_named_before_the_parameters_it_ruined():
    policy = PolicyNet(4, 2)
    policy.layers[0].weight.data[0, 0] = float("nan")
    assert "observation" in diagnose_policy_input(policy, NAN)


def test_a_bad_parameter_is_named():
    policy = PolicyNet(4, 2)
    policy.layers[2].bias.data[1] = float("inf")
    assert "layers.2.bias" in diagnose_policy_input(policy, HEALTHY)


def test_probabilities_that_miss_one_by_rounding_get_the_advice_to_use_logits():
    probabilities = torch.tensor([[0.5, 0.5 + 2e-6]])
    message = diagnose_policy_input(PolicyNet(4, 2), HEALTHY, probabilities)
    assert "logits" in message and "sum of one" in message


def test_the_first_bad_tensor_is_reported_with_count_and_value():
    assert first_non_finite({"reward": torch.ones(2), "loss": torch.tensor(float("inf")), "weight": NAN}) == "loss"
    with pytest.raises(ValueError, match=r"loss holds 1 value\(s\) that are not finite \(first: inf\)"):
        check_finite(reward=torch.ones(2), loss=torch.tensor(float("inf")))
