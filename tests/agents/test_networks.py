"""Networks: shapes, real-valued logits, exact log-probabilities, and gradients of the branch that ran."""

import pytest
import torch

from course_utils.agents.networks import MemoryPolicy, PolicyNet, ValueNet, log_probabilities


def test_shapes_and_dtypes():
    observations = torch.zeros(7, 4)
    assert PolicyNet(4, 2)(observations).shape == (7, 2)
    assert PolicyNet(4, 2)(observations).dtype == torch.float32
    assert ValueNet(4)(observations).shape == (7,)


def test_hidden_size_is_used():
    small, large = (sum(p.numel() for p in PolicyNet(4, 2, size).parameters()) for size in (8, 16))
    assert (small, large) == (8 * 5 + 2 * 9, 16 * 5 + 2 * 17)


def test_logits_are_neither_probabilities_nor_clipped_at_zero():
    torch.manual_seed(0)
    logits = PolicyNet(4, 3)(torch.randn(200, 4))
    assert (logits < 0).any() and (logits > 0).any()
    assert not torch.allclose(logits.sum(-1), torch.ones(200))


def test_log_probabilities_agree_with_the_definition():
    logits, actions = torch.tensor([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]]), torch.tensor([2, 0])
    expected = torch.stack([logits[0].softmax(0)[2], logits[1].softmax(0)[0]]).log()
    torch.testing.assert_close(log_probabilities(logits, actions), expected)
    torch.testing.assert_close(
        log_probabilities(logits, actions), torch.distributions.Categorical(logits=logits).log_prob(actions)
    )


def test_adding_a_constant_to_logits_changes_nothing():
    logits, actions = torch.randn(5, 3, generator=torch.Generator().manual_seed(1)), torch.tensor([0, 1, 2, 1, 0])
    torch.testing.assert_close(log_probabilities(logits + 7.0, actions), log_probabilities(logits, actions))


def test_extreme_logits_stay_finite():
    logits = torch.tensor([[1000.0, -1000.0]])
    assert log_probabilities(logits, torch.tensor([1])).item() == pytest.approx(-2000.0)
    assert log_probabilities(logits, torch.tensor([0])).item() == 0.0


def branches(policy: MemoryPolicy) -> tuple[set[str], set[str]]:
    """Names of the top-level parts that got a gradient, and of those that got none."""
    parts = {name: any(p.grad is not None for p in part.parameters()) for name, part in policy.named_children()}
    return {name for name, got in parts.items() if got}, {name for name, got in parts.items() if not got}


@pytest.mark.parametrize(
    ("recent_return", "learns"),
    [(-1.0, {"plain"}), (5.0, {"plain"}), (5.1, {"memory_cell", "memory_head"})],
    ids=["below", "at the threshold", "above"],
)
def test_only_the_branch_that_ran_gets_gradients(recent_return, learns):
    policy = MemoryPolicy(4, 2, threshold=5.0)
    logits, _ = policy(torch.ones(3, 4), recent_return)
    logits.sum().backward()
    assert branches(policy) == (learns, {"plain", "memory_cell", "memory_head"} - learns)


def test_memory_carries_what_was_seen_and_only_when_used():
    torch.manual_seed(0)
    policy = MemoryPolicy(4, 2)
    observation = torch.ones(1, 4)
    _, unused = policy(observation, recent_return=-1.0)
    assert unused is None
    first, memory = policy(observation, recent_return=1.0)
    second, _ = policy(observation, recent_return=1.0, memory=memory)
    assert not torch.allclose(first, second)
    _, kept = policy(observation, recent_return=-1.0, memory=memory)
    assert kept is memory
