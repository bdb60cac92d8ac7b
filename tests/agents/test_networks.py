"""Networks: shapes, real-valued logits, exact log-probabilities, and gradients of the branch that ran."""

import numpy as np
import pytest
import torch

from course_utils.agents.networks import NATURE, ActorCritic, MemoryPolicy, PolicyNet, ValueNet, log_probabilities, take


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


def test_the_actor_critic_of_images_has_the_size_of_the_nature_network():
    network = ActorCritic((4, 84, 84), 6, NATURE, 512)
    convolutions = 32 * (4 * 64 + 1) + 64 * (32 * 16 + 1) + 64 * (64 * 9 + 1)
    assert sum(p.numel() for p in network.parameters()) == convolutions + 512 * (64 * 49 + 1) + 7 * 513


def test_images_become_floats_in_channels_last_and_keep_their_contrast():
    network = ActorCritic((2, 42, 42), 3, ((4, 8, 4),), 16, pixel_mean=100.0, pixel_scale=50.0)
    images = np.full((5, 2, 42, 42), 100, np.uint8)
    images[0, 0, 0, 0] = 200
    inputs = network.prepare(images)
    assert inputs.dtype == torch.float32
    assert inputs.is_contiguous(memory_format=torch.channels_last)
    assert inputs[0, 0, 0, 0] == 2.0
    assert inputs.sum() == 2.0
    assert images[0, 0, 0, 0] == 200, "prepare must not write into the environment's array"
    logits, values = network(inputs)
    assert (logits.shape, values.shape) == ((5, 3), (5,))


def test_the_first_policy_is_nearly_even():
    torch.manual_seed(0)
    network = ActorCritic((4, 84, 84), 6, NATURE, 512)
    images = torch.randint(0, 255, (8, 4, 84, 84), dtype=torch.uint8)
    probabilities = network(network.prepare(images))[0].softmax(-1)
    assert (probabilities - 1 / 6).abs().max() < 0.02


@pytest.mark.parametrize("shape", [(84, 84, 4), (1, 84, 84, 4), (1, 4, 42, 42), (1, 210, 160, 3)])
def test_images_with_another_order_or_size_are_refused(shape):
    with pytest.raises(ValueError, match="channels first"):
        ActorCritic((4, 84, 84), 6, NATURE, 512).prepare(np.zeros(shape, np.uint8))


def test_convolutions_are_for_images_only():
    for shape, convolutions in (((4,), NATURE), ((4, 84, 84), ())):
        with pytest.raises(ValueError, match="convolutions are for images"):
            ActorCritic(shape, 2, convolutions)


def test_taking_rows_is_indexing_that_keeps_channels_last():
    images, indices = torch.randn(6, 2, 5, 7).to(memory_format=torch.channels_last), torch.tensor([4, 0, 0])
    rows = take(images, indices)
    assert torch.equal(rows, images[indices])
    assert rows.is_contiguous(memory_format=torch.channels_last)
    vectors = torch.randn(6, 3)
    assert torch.equal(take(vectors, indices), vectors[indices])
