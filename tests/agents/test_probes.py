"""A right learner passes every probe; a broken part fails the probe that names it."""

import pytest
import torch

from course_utils.agents import ppo, returns
from course_utils.agents.probes import PROBES, run_probe, run_probes, with_ppo, with_reinforce
from course_utils.agents.reinforce import policy_loss

REWARD, DISCOUNT, ACTION, TRUNCATION = PROBES


@pytest.mark.parametrize("learn", [with_reinforce, with_ppo])
def test_the_course_passes_all_probes(learn):
    assert [str(result) for result in run_probes(learn) if not result.passed] == []


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


def gae_without(**changes):
    """The course's estimates with some arguments replaced: what a mistake in the student's own would do."""

    def broken(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
        given = {"rewards": rewards, "terminated": terminated, "truncated": truncated, "gamma": gamma}
        given |= {name: change(given) for name, change in changes.items()}
        return returns.gae(values=values, next_values=next_values, gae_lambda=gae_lambda, **given)

    return broken


@pytest.mark.parametrize(
    ("probe", "broken"),
    [
        (REWARD, {"gae": gae_without(rewards=lambda given: given["rewards"] * 0)}),
        (DISCOUNT, {"gae": gae_without(gamma=lambda given: 1.0)}),
        (ACTION, {"policy_loss": lambda *arguments: -ppo.policy_loss(*arguments)}),
        (TRUNCATION, {"gae": gae_without(terminated=lambda given: given["terminated"] | given["truncated"])}),
    ],
    ids=["rewards ignored", "no discount", "sign flipped", "truncation taken for an end"],
)
def test_a_broken_part_of_ppo_fails_its_probe(probe, broken):
    assert not run_probe(probe, with_ppo, **broken).passed
