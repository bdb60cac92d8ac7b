"""A policy survives saving and loading, and the one that comes with the course is as good as it says."""

import json

import pytest
import torch

from course_utils.agents.networks import PolicyNet
from course_utils.agents.rollout import evaluate
from course_utils.agents.saved import TRAINED_CARTPOLE, load_policy, save_policy


def test_a_loaded_policy_answers_as_the_saved_one(tmp_path):
    torch.manual_seed(0)
    policy, observations = PolicyNet(6, 3, 17), torch.randn(5, 6)
    path = save_policy(policy, tmp_path / "new" / "policy.pt", {"seed": 0})
    torch.testing.assert_close(load_policy(path)(observations), policy(observations))
    assert json.loads(path.with_suffix(".json").read_text()) == {"seed": 0}
    assert sorted(file.name for file in path.parent.iterdir()) == ["policy.json", "policy.pt"]


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_policy(tmp_path / "none.pt")


@pytest.mark.parametrize("content", ["garbage", "other network"])
def test_a_file_that_holds_something_else_is_refused(tmp_path, content):
    path = tmp_path / "policy.pt"
    if content == "garbage":
        path.write_bytes(b"not weights")
    else:
        torch.save(torch.nn.Linear(2, 2).state_dict(), path)
    with pytest.raises(ValueError, match="does not hold the weights of a PolicyNet"):
        load_policy(path)


def test_the_trained_policy_that_comes_with_the_course_balances_the_pole():
    facts = json.loads(TRAINED_CARTPOLE.with_suffix(".json").read_text())
    assert TRAINED_CARTPOLE.stat().st_size < 50_000
    assert min(facts["mean_return_sampled_actions"], facts["mean_return_likeliest_action"]) >= 475
    assert evaluate(load_policy(), deterministic=True, episodes=10).mean >= 450
    assert evaluate(PolicyNet(4, 2), deterministic=True, episodes=10).mean < 250
