"""A right learner passes every probe; a broken part fails the probe that names it."""

import pytest
import torch

from course_utils.agents import returns
from course_utils.agents.probes import PROBES, run_probe, run_probes
from course_utils.agents.reinforce import policy_loss

REWARD, DISCOUNT, ACTION, TRUNCATION = PROBES


def test_the_course_passes_all_probes():
    assert [str(result) for result in run_probes() if not result.passed] == []


@pytest.mark.parametrize(
    ("probe", "broken"),
    [
        (
            REWARD,
            {"discounted_returns": lambda rewards, gamma, following: returns.discounted_returns(rewards * 0, gamma)},
        ),
        (DISCOUNT, {"discounted_returns": lambda rewards, gamma, following: returns.discounted_returns(rewards, 1.0)}),
        (ACTION, {"policy_loss": lambda *arguments: -policy_loss(*arguments)}),
        (ACTION, {"policy_loss": lambda log_probs, earned, values: -log_probs.mean()}),
        (TRUNCATION, {"bootstrap_values": lambda values, terminated, truncated: torch.zeros_like(values)}),
    ],
    ids=["rewards ignored", "no discount", "sign flipped", "advantage ignored", "truncation taken for an end"],
)
def test_a_broken_part_fails_its_probe(probe, broken):
    result = run_probe(probe, **broken)
    assert not result.passed
    assert str(result).startswith("FAILED")
