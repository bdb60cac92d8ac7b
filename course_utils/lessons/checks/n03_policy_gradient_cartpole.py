"""Judges of notebook 03: policy network, log-probabilities, returns, bootstrapping, policy loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from course_utils.agents import networks, reinforce, returns
from course_utils.lessons.checks.compare import call, numbers, same, tensor
from course_utils.lessons.exercise import Wrong, exercise


@exercise(
    reference=networks.PolicyNet,
    points=2,
    hints=(
        "Three layers are enough: nn.Linear, an activation such as nn.Tanh, nn.Linear. nn.Sequential holds them.",
        "The last layer gives one logit per action. A logit may be any real number: nothing comes after that layer.",
        "Call super().__init__() first, keep the layers in self, and use the three sizes that __init__ is given.",
    ),
)
def PolicyNet(answer: type[nn.Module]) -> None:
    if not (isinstance(answer, type) and issubclass(answer, nn.Module)):
        raise Wrong("PolicyNet must be a class that inherits from torch.nn.Module.")
    torch.manual_seed(0)
    try:
        network = answer(4, 2, 64)
    except AttributeError as error:
        if "__init__() call" in str(error):
            raise Wrong("super().__init__() is not called before the layers are made.") from None
        raise
    observations = torch.randn(32, 4)
    logits = tensor(call(network.forward, observations), (32, 2), "The output for 32 observations of CartPole")
    if not list(network.parameters()):
        raise Wrong("The network has no parameters to learn. Layers in a plain list are not seen: use nn.Sequential.")
    for sizes in ((3, 5, 16), (8, 3, 7)):
        output = answer(*sizes)(torch.randn(6, sizes[0]))
        tensor(output, (6, sizes[1]), f"The output of PolicyNet{sizes} for 6 observations")
    _logits_are_free(logits, answer)
    single = network(observations[:1])
    if not same(single, logits[:1]):
        raise Wrong("The output for one observation depends on the others in the batch. Each row stands for itself.")
    if not same(network(observations), logits):
        raise Wrong("The same observation gives different logits each time: the network must not be random itself.")
    middle = network((observations[:16] + observations[16:]) / 2)
    if same(middle, (logits[:16] + logits[16:]) / 2):
        raise Wrong("The network is linear: without an activation between two nn.Linear they are worth one.")
    network(observations).pow(2).sum().backward()
    if any(parameter.grad is None for parameter in network.parameters()):
        raise Wrong("Some parameters get no gradient: forward does not use every layer.")


def _logits_are_free(logits: Tensor, answer: type[nn.Module]) -> None:
    sums = logits.exp().sum(dim=-1)
    if same(logits.sum(dim=-1), torch.ones(len(logits))) and (logits >= 0).all():
        raise Wrong("It ends in a softmax. Return logits: Categorical(logits=...) turns them into probabilities.")
    if same(sums, torch.ones(len(logits))):
        raise Wrong("It ends in a log-softmax. Return plain logits; log_probabilities does that step.")
    network = answer(4, 2, 64)
    outputs = network(torch.randn(2000, 4) * 10)
    if (outputs >= 0).all():
        raise Wrong(
            "The logits are never negative. An activation after the last layer (ReLU?) keeps actions from being suppressed."
        )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    observation = torch.randn(1, 4)
    for _ in range(200):
        optimizer.zero_grad()
        (network(observation)[0, 0] - 8.0).pow(2).backward()
        optimizer.step()
    if (reached := network(observation)[0, 0].item()) < 4.0:
        raise Wrong(
            f"The first logit can hardly be raised (it stops at {reached:.2g}). Does a tanh or sigmoid follow the last layer?"
        )


@exercise(
    reference=networks.log_probabilities,
    points=2,
    hints=(
        "log pi(a|s) is the logit of a minus the logarithm of the sum of exp over all logits of that row.",
        "torch.log_softmax(logits, dim=-1) does this safely for all actions; what is left is to pick one per row.",
        "Pick with gather, or with log_probs[torch.arange(len(actions)), actions].",
    ),
)
def log_probabilities(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(500, 2, generator=generator)
    actions = torch.randint(0, 2, (500,), generator=generator)
    tensor(call(answer, logits, actions), (500,), "The log-probabilities of 500 steps")
    logits = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, -1.0]])
    actions = torch.tensor([2, 1])
    result = tensor(call(answer, logits, actions), (2,), "The log-probabilities of 2 steps with 3 actions")
    probabilities = torch.tensor([[np.exp(v) / sum(np.exp(row)) for v in row] for row in logits.numpy()])
    picked = probabilities[[0, 1], [2, 1]]
    mistakes = {
        "These are probabilities, not their logarithms.": picked,
        "The sign is wrong: a log-probability is never positive. The minus belongs to the loss.": -picked.log(),
        "These are the bare logits. Subtract the log of the sum of exp over the actions (log_softmax).": logits[
            [0, 1], [2, 1]
        ],
        "The sum runs over the batch (dim=0). It must run over the actions of one row (dim=-1).": torch.log_softmax(
            logits, 0
        )[[0, 1], [2, 1]],
    }
    for message, value in mistakes.items():
        if same(result, value):
            raise Wrong(message)
    if not same(result, picked.log()):
        raise Wrong(
            f"For logits {logits.tolist()} and actions [2, 1] it gives {numbers(result)} instead of {numbers(picked.log())}."
        )
    extreme = torch.tensor([[1000.0, 0.0], [0.0, 1000.0]])
    result = call(answer, extreme, torch.tensor([1, 0]))
    if not result.isfinite().all():
        raise Wrong(
            "With large logits it gives inf or nan: log(softmax(x)) loses all digits. Use log_softmax or logsumexp."
        )
    if not same(result, [-1000.0, -1000.0]):
        raise Wrong(
            f"For a very unlikely action it gives {numbers(result)} instead of [-1000, -1000]. Do not clip or add an epsilon."
        )
    logits = torch.zeros(4, 2, requires_grad=True)
    output = call(answer, logits, torch.tensor([0, 1, 0, 1]))
    if not output.requires_grad:
        raise Wrong("No gradient flows back to the logits. Leave out detach, no_grad, item and numpy.")
    output.sum().backward()
    if not same(logits.grad, [[0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [-0.5, 0.5]]):
        raise Wrong("The gradient with respect to the logits is wrong. Does every operation stay in torch?")


@exercise(
    reference=returns.discounted_returns,
    points=3,
    hints=(
        "Start at the end: the return of the last step is its reward plus gamma times bootstrap_value.",
        "Going backwards, each return is the reward of that step plus gamma times the return just computed.",
        "Collect the returns in a list, reverse it, and make a float32 tensor of it.",
    ),
)
def discounted_returns(answer: Callable[..., Tensor]) -> None:
    tensor(call(answer, np.ones(200), 0.99, 0.0), (200,), "The returns of an episode of 200 steps (float64 rewards)")
    tensor(call(answer, [1, 0, 2], 0.5, 0.0), (3,), "The returns for integer rewards")
    result = tensor(call(answer, np.array([1.0, 2.0, 4.0]), 0.5, 0.0), (3,), "The returns of 3 steps")
    mistakes = {
        (7.0, 6.0, 4.0): "gamma is not used: later rewards must count less.",
        (3.0, 3.0, 3.0): "Every step gets the return of the whole episode. G_t counts only rewards from step t on.",
        (1.0, 2.5, 5.25): "It sums from the start. G_t looks ahead: begin at the last reward.",
        (4.0, 4.0, 3.0): "The returns come out in reverse order: the first must belong to the first step.",
        (3.0, 2.0, 1.0): "The discount counts from the start of the episode. At step t its own reward has weight 1.",
        (1.5, 2.0, 2.0): "The step's own reward is discounted too. It has weight 1; the next one has weight gamma.",
        (2.0, 2.0, 0.0): "The reward of step t itself is missing.",
        (1.0, 2.0, 4.0): "The rewards come back unchanged.",
        (1.0, 1.0, 1.0): "Each reward is discounted, but nothing is summed.",
        (1.0, 3.0, 7.0): "It sums from the start and without gamma. G_t looks ahead: begin at the last reward.",
    }
    for values, message in mistakes.items():
        if same(result, values):
            raise Wrong(message)
    if abs(result.mean()) < 1e-4:
        raise Wrong("The returns are shifted to mean 0. Give them back as they are; the baseline comes later.")
    if not same(result, [3.0, 4.0, 4.0]):
        raise Wrong(f"For rewards [1, 2, 4] and gamma 0.5 it gives {numbers(result)} instead of [3, 4, 4].")
    _bootstrap_is_used(answer)
    random = np.random.default_rng(3)
    rewards = random.normal(size=40)
    for gamma, value in ((0.9, 0.0), (1.0, 2.0), (0.0, 5.0)):
        slow = [sum(rewards[k] * gamma ** (k - t) for k in range(t, 40)) + value * gamma ** (40 - t) for t in range(40)]
        result = tensor(call(answer, rewards, gamma, value), (40,), "The returns of 40 steps")
        if not same(result, slow, 1e-4):
            raise Wrong(
                f"With gamma {gamma} and bootstrap_value {value} it does not match the sum written out. Is a number fixed?"
            )


def _bootstrap_is_used(answer: Callable[..., Tensor]) -> None:
    result = tensor(
        call(answer, np.array([0.0, 0.0, 1.0]), 0.5, 8.0), (3,), "The returns of 3 steps with a bootstrap value"
    )
    mistakes = {
        (0.25, 0.5, 1.0): "bootstrap_value is not used: it stands for the rewards after the last step.",
        (
            2.25,
            4.5,
            9.0,
        ): "bootstrap_value is added to the last step undiscounted. It comes one step later: multiply it by gamma.",
        (
            0.25,
            0.5,
            5.0,
        ): "bootstrap_value reaches the last step only. The steps before it must see it too, discounted once more each.",
        (
            8.25,
            8.5,
            9.0,
        ): "bootstrap_value is added to every step. It belongs after the last one; the recursion carries it back.",
        (
            4.25,
            4.5,
            5.0,
        ): "bootstrap_value is added to every step. It belongs after the last one; the recursion carries it back.",
    }
    for values, message in mistakes.items():
        if same(result, values):
            raise Wrong(message)
    if not same(result, [1.25, 2.5, 5.0]):
        raise Wrong(
            f"For rewards [0, 0, 1], gamma 0.5, bootstrap_value 8 it gives {numbers(result)} instead of [1.25, 2.5, 5]."
        )


@exercise(
    reference=returns.bootstrap_values,
    points=2,
    hints=(
        "Ask for each episode: would rewards have followed? After the pole fell: no. After the time limit: yes.",
        "Terminated gives 0, whatever truncated says. Truncated and not terminated gives the last value.",
        "torch.where(condition, values, zeros) picks element by element; ~ is 'not' and & is 'and'.",
    ),
)
def bootstrap_values(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    values = torch.tensor([10.0, 20.0, 30.0])
    terminated = torch.tensor([True, False, True])
    truncated = torch.tensor([False, True, True])
    result = tensor(call(answer, values, terminated, truncated), (3,), "The bootstrap values of 3 episodes")
    mistakes = {
        (
            0.0,
            0.0,
            0.0,
        ): "Truncated episodes get 0 as well. A time limit is not the end of the task: its value still counts.",
        (10.0, 20.0, 30.0): "Terminated episodes are bootstrapped too. After the task has ended nothing follows: 0.",
        (10.0, 0.0, 30.0): "The two cases are swapped: the episode that terminated gets a value, the truncated one 0.",
        (10.0, 0.0, 0.0): "The two cases are swapped: the episode that terminated gets a value, the truncated one 0.",
        (
            0.0,
            20.0,
            30.0,
        ): "An episode that terminated in its very last step is treated as cut off. terminated decides.",
    }
    for expected, message in mistakes.items():
        if same(result, expected):
            raise Wrong(message)
    if not same(result, [0.0, 20.0, 0.0]):
        raise Wrong(f"For values [10, 20, 30] it gives {numbers(result)} instead of [0, 20, 0].")
    for count in (1, 8):
        ended = torch.zeros(count, dtype=torch.bool)
        result = tensor(
            call(answer, -torch.ones(count), ended, ~ended), (count,), f"The bootstrap values of {count} episodes"
        )
        if not same(result, -torch.ones(count)):
            raise Wrong("A negative value of a truncated episode must come back as it is.")


@exercise(
    reference=reinforce.policy_loss,
    points=3,
    hints=(
        "The optimiser makes the loss smaller; we want log-probability times advantage to become larger.",
        "advantage = returns, or returns - values where values are given. The loss is minus the mean over the steps.",
        "values.detach(): otherwise this loss also moves the network that predicts the values.",
    ),
)
def policy_loss(answer: Callable[..., Tensor]) -> None:
    log_probs = torch.tensor([-0.5, -1.0, -2.0, -0.1], requires_grad=True)
    targets = torch.tensor([4.0, -2.0, 1.0, 3.0])
    values = torch.tensor([1.0, 1.0, 2.0, 1.0], requires_grad=True)
    for given in ((targets,), (targets, values)):
        loss = tensor(call(answer, log_probs, *given), (), "The loss")
        if not loss.requires_grad:
            raise Wrong(
                "The loss carries no gradient. Do not detach the log-probabilities or turn the loss into a number."
            )
        advantages = targets if len(given) == 1 else targets - values.detach()
        _sign_and_size(loss, log_probs.detach(), targets, advantages)
    gradient = torch.autograd.grad(answer(log_probs, targets, values), (log_probs, values), allow_unused=True)
    if gradient[1] is not None and gradient[1].abs().sum() > 0:
        raise Wrong("The policy's loss moves the baseline as well. Detach the values in the advantage.")
    if gradient[0] is None or not same(gradient[0], -(targets - values.detach()) / 4):
        raise Wrong(
            "Its gradient is not minus the advantage over the number of steps. Is the advantage part of the graph?"
        )
    steps = 1000
    loss = call(answer, torch.full((steps,), -0.7, requires_grad=True), torch.ones(steps), torch.zeros(steps))
    if not same(tensor(loss, (), "The loss of 1000 steps"), 0.7, 1e-4):
        raise Wrong("With returns 1 and values 0 in all steps the loss must be minus the mean log-probability.")


def _sign_and_size(loss: Tensor, log_probs: Tensor, targets: Tensor, advantages: Tensor) -> None:
    expected = -(log_probs * advantages).mean()
    standard = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    mistakes = {
        "The sign is wrong: this loss makes good actions less likely. Optimisers minimise, so put a minus in front.": -expected,
        "It sums over the steps. Take the mean, or the step size grows with the length of the episodes.": expected
        * len(log_probs),
        "It sums over the steps, and the sign is wrong.": -expected * len(log_probs),
        "The returns are not used: every action is made more likely.": -log_probs.mean(),
        "The values are not used: the advantage is return minus value.": -(log_probs * targets).mean(),
        "The advantages are standardised. That is a good trick, but not asked for here.": -(
            log_probs * standard
        ).mean(),
        "It uses the probability instead of its logarithm.": -(log_probs.exp() * advantages).mean(),
        "The log-probabilities and the advantages are added. Multiply them.": -(log_probs + advantages).mean(),
    }
    if same(loss, expected):
        return
    for message, value in mistakes.items():
        if same(loss, value):
            raise Wrong(message)
    raise Wrong(f"For advantages {numbers(advantages)} it gives {loss.item():.4g} instead of {expected.item():.4g}.")
