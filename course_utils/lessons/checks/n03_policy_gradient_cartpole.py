"""Judges of notebook 03: policy network, log-probabilities, returns, bootstrapping, policy loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from course_utils.agents import networks, reinforce, returns
from course_utils.lessons.checks import compare as probe
from course_utils.lessons.checks.compare import call, compare, explained, numbers, same, tensor
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
@explained(
    {
        ".__init__() call": "super().__init__() is not called before the layers are made.",
        "shapes cannot be multiplied": "The layers do not fit: observation_size goes in, action_count comes out.",
        "expected np.ndarray (got Tensor)": "The observations are a tensor already, one per row. Leave out from_numpy.",
    }
)
def PolicyNet(answer: type[nn.Module]) -> None:
    if not (isinstance(answer, type) and issubclass(answer, nn.Module)):
        raise Wrong("PolicyNet must be a class that inherits from torch.nn.Module.")
    torch.manual_seed(0)
    network = answer(4, 2, 64)
    observations = 3 * torch.randn(32, 4)
    try:
        logits = call(network.forward, observations)
    except NotImplementedError:
        raise Wrong("forward is missing or unfinished. Is it indented as far as __init__, not inside it?") from None
    tensor(logits, (32, 2), "The output for 32 observations of CartPole")
    probe.is_no_distribution(logits)
    probe.layers_are_registered(answer, network, observations, logits)
    _sizes_are_used(answer)
    probe.gradient_reaches_every_layer(network, observations, logits)
    with torch.no_grad():  # from here on no special start, such as a last layer of zeros, hides the structure
        for parameter in network.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
        logits = network(observations)
        if not same(network(observations[:2]), logits[:2], 1e-4):
            raise Wrong("Each observation must stand for itself. Is there a batch norm, or a mean over the batch?")
        tensor(network(observations[:1]), (1, 2), "The output for a single observation", {(2,): "Leave out squeeze."})
        middle = network((observations[:16] + observations[16:]) / 2)
        left, right = observations.split(2, dim=1)
        exchanged = network(torch.cat([left, right.roll(1, 0)], dim=1))
    if same(middle, (logits[:16] + logits[16:]) / 2, 1e-4):
        raise Wrong("The network is linear: without an activation between two nn.Linear they are worth one.")
    if same(exchanged.sum(0), logits.sum(0), 1e-4):  # as if each number of an observation went its own way
        raise Wrong("Does the activation act on the observations? It belongs between two nn.Linear.")
    probe.logits_are_free(answer)


def _sizes_are_used(answer: type[nn.Module]) -> None:
    fixed = "It works with the sizes 4, 2, 64 only. Use the sizes that __init__ is given instead of numbers."
    for sizes in ((3, 5, 16), (8, 3, 7)):
        with explained({"shapes cannot be multiplied": fixed}):
            output = answer(*sizes)(torch.randn(6, sizes[0]))
        tensor(output, (6, sizes[1]), f"The output of PolicyNet{sizes} for 6 observations", {(6, 2): fixed})
    small, large = answer(4, 2, 16), answer(4, 2, 64)
    small(torch.zeros(2, 4)), large(torch.zeros(2, 4))  # lazy layers get their size here
    if sum(p.numel() for p in small.parameters()) == sum(p.numel() for p in large.parameters()):
        raise Wrong("hidden_size changes nothing. The hidden layer must have that many units.")


@exercise(
    reference=networks.log_probabilities,
    points=2,
    hints=(
        "log pi(a|s) is the logit of a minus the logarithm of the sum of exp over all logits of that row.",
        "torch.log_softmax(logits, dim=-1) does this safely for all actions; what is left is to pick one per row.",
        "Pick with gather, or with log_probs[torch.arange(len(actions)), actions].",
    ),
)
@explained(
    {
        "parameter probs": "The first argument of Categorical is probs. Write Categorical(logits=logits).",
        "Index tensor must have the same number of dimensions": "gather takes a column: actions.unsqueeze(1). Then squeeze(1).",
        "out of bounds for dimension": "An index is too large. Rows come first: [torch.arange(len(actions)), actions].",
    }
)
def log_probabilities(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    logits, actions = torch.linspace(-2.0, 2.0, 1000).view(2, 500).T.contiguous(), torch.arange(500) % 2
    reasons = {
        (500, 500): "That takes those columns of every row. Index rows too: [torch.arange(len(actions)), actions].",
        (500, 1): "squeeze(1) removes the column.",
        (500, 2): "Pick the action taken in each row.",
        (): "One number per step; the loss takes the mean.",
    }
    result = tensor(call(answer, logits, actions), (500,), "The log-probabilities of 500 steps", reasons)
    if not same(call(answer, logits, actions), result):
        raise Wrong("Two calls with the same arguments differ. Is an action sampled? Use the actions that are given.")
    reasons = {(): "Is it squeeze() without a dimension? Write squeeze(1)."}
    tensor(call(answer, logits[:1], actions[:1]), (1,), "The log-probabilities of a single step", reasons)
    logits = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, -1.0]])
    result = tensor(call(answer, logits, torch.tensor([2, 1])), (2,), "The log-probabilities of 2 steps with 3 actions")
    every = torch.tensor([[np.log(np.exp(v) / sum(np.exp(row))) for v in row] for row in logits.numpy()])
    taken = [0, 1], [2, 1]
    mistakes = {
        "These are probabilities, not their logarithms.": every[taken].exp(),
        "The sign is wrong: a log-probability is never positive. The minus belongs to the loss.": -every[taken],
        "These are the bare logits. Subtract the log of the sum of exp over the actions (log_softmax).": logits[taken],
        "The sum runs over the batch (dim=0). It must run over the actions (dim=-1).": logits.log_softmax(0)[taken],
        "These belong to the likeliest actions. Use the actions that are given.": every.max(dim=-1).values,
        "This is the logarithm to base 10. It must be the natural one.": every[taken] / np.log(10),
    }
    compare(result, every[taken], mistakes, "For logits [0, 1, 2] with action 2 and [3, 0, -1] with action 1")
    _large_logits(answer)
    logits = torch.zeros(4, 2, requires_grad=True)
    output = call(answer, logits, torch.tensor([0, 1, 0, 1]))
    if not output.requires_grad:
        raise Wrong("No gradient flows back to the logits. Leave out detach, no_grad, item and numpy.")
    output.sum().backward()
    if same(logits.grad, [[1.0, 0.0], [0.0, 1.0]] * 2):
        raise Wrong("The log of the sum carries no gradient. Is it detached?")
    if not same(logits.grad, [[0.5, -0.5], [-0.5, 0.5]] * 2):
        raise Wrong("The gradient with respect to the logits is wrong. Does every operation stay in torch?")


def _large_logits(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    result = call(answer, torch.tensor([[1000.0, 0.0], [0.0, 1000.0], [0.0, 0.0]]), torch.tensor([1, 0, 0]))
    if result[:2].isfinite().all() and not result[2].isfinite():
        raise Wrong("One row's large logits spoil another row. Is the maximum of the whole batch taken? Use dim=-1.")
    if not result.isfinite().all():
        raise Wrong("With large logits it gives inf or nan: softmax and exp lose all digits. Use log_softmax.")
    if same(result[0], np.log(torch.finfo(torch.float32).eps)):
        raise Wrong("A tiny probability is clipped. Is it Categorical(probs)? Write Categorical(logits=logits).")
    compare(result, [-1000.0, -1000.0, np.log(0.5)], {}, "For unlikely actions (is there an epsilon, or a clip?)")


@exercise(
    reference=returns.discounted_returns,
    points=3,
    hints=(
        "Start at the end: the return of the last step is its reward plus gamma times bootstrap_value.",
        "Going backwards, each return is the reward of that step plus gamma times the return just computed.",
        "Collect the returns in a list, reverse it, and make a float32 tensor of it.",
    ),
)
@explained({"out of bounds for axis 0": "The last step is len(rewards) - 1. Does the loop start there?"})
def discounted_returns(answer: Callable[..., Tensor]) -> None:
    reasons = {(): "Give one return for each step.", (201,): "Is bootstrap_value among them? It is no step's return."}
    tensor(call(answer, np.ones(200), 0.99, 0.0), (200,), "The returns of an episode of 200 steps", reasons)
    result = tensor(call(answer, np.array([1.0, 2.0, 4.0]), 0.5, 0.0), (3,), "The returns of 3 steps")
    mistakes = {
        "gamma is not used: later rewards must count less.": [7.0, 6.0, 4.0],
        "Every step gets the return of the whole episode. G_t counts only rewards from step t on.": [3.0, 3.0, 3.0],
        "It sums from the start. G_t looks ahead: begin at the last reward.": [1.0, 2.5, 5.25],
        "The returns come out in reverse order: the first must belong to the first step.": [4.0, 4.0, 3.0],
        "The discount counts from the start of the episode. At step t its own reward has weight 1.": [3.0, 2.0, 1.0],
        "The step's own reward is discounted too. It has weight 1; the next one has weight gamma.": [1.5, 2.0, 2.0],
        "The reward of step t itself is missing.": [2.0, 2.0, 0.0],
        "Each step gets the return of the next one: G_t includes the reward r_t itself.": [4.0, 4.0, 0.0],
        "Step 0 keeps 0. Does the loop end too early? range(n - 1, -1, -1) reaches it.": [0.0, 4.0, 4.0],
        "The rewards are not used: each step counts as 1.": [1.75, 1.5, 1.0],
        "The rewards come back unchanged.": [1.0, 2.0, 4.0],
        "Each reward is discounted, but nothing is summed.": [1.0, 1.0, 1.0],
        "It sums from the start and without gamma. G_t looks ahead: begin at the last reward.": [1.0, 3.0, 7.0],
    }
    if abs(result.mean()) < 1e-4:
        raise Wrong("The returns are shifted to mean 0. Give them back as they are; the baseline comes later.")
    compare(result, [3.0, 4.0, 4.0], mistakes, "For rewards [1, 2, 4] and gamma 0.5")
    _bootstrap_is_used(answer)
    rewards = np.random.default_rng(3).normal(size=40)
    for gamma, value in ((0.9, 0.0), (1.0, 2.0), (0.0, 5.0)):
        slow = [sum(rewards[k] * gamma ** (k - t) for k in range(t, 40)) + value * gamma ** (40 - t) for t in range(40)]
        result = call(answer, rewards, gamma, value)
        if gamma == 0.0 and isinstance(result, Tensor) and not result.isfinite().all():
            raise Wrong("With gamma 0 it gives inf or nan. Does it divide by a power of gamma?")
        if not same(tensor(result, (40,), "The returns of 40 steps"), slow, 1e-4):
            raise Wrong(f"With gamma {gamma} and bootstrap_value {value} the sums are wrong. Is a number fixed?")


def _bootstrap_is_used(answer: Callable[..., Tensor]) -> None:
    result = call(answer, np.array([0.0, 0.0, 1.0]), 0.5, 8.0)
    everywhere = "bootstrap_value is added to every step. It belongs after the last; the recursion carries it back"
    mistakes = {
        "bootstrap_value is not used: it stands for the rewards after the last step.": [0.25, 0.5, 1.0],
        "bootstrap_value is undiscounted. It comes one step after the last: multiply it by gamma.": [2.25, 4.5, 9.0],
        "bootstrap_value reaches the last step only. Each step before must see it, discounted more.": [0.25, 0.5, 5.0],
        f"{everywhere}.": [8.25, 8.5, 9.0],
        f"{everywhere}, discounted.": [4.25, 4.5, 5.0],
        "bootstrap_value replaces the last reward. It comes one step later: add gamma times it.": [2.0, 4.0, 8.0],
        "Fractions are cut off. Is there an integer array or an int() in it?": [1.0, 2.0, 5.0],
    }
    tensor(result, (3,), "The returns of 3 steps with a bootstrap value")
    compare(result, [1.25, 2.5, 5.0], mistakes, "For rewards [0, 0, 1], gamma 0.5, bootstrap_value 8")


@exercise(
    reference=returns.bootstrap_values,
    points=2,
    hints=(
        "Ask for each episode: would rewards have followed? After the pole fell: no. After the time limit: yes.",
        "Terminated gives 0, whatever truncated says. Truncated and not terminated gives the last value.",
        "torch.where(condition, values, zeros) picks element by element; ~ is 'not' and & is 'and'.",
    ),
)
@explained(
    {
        "Boolean value of Tensor": "`if`, `not`, `and` want one truth value; here is one per episode. Use torch.where, ~, &.",
        "with a bool tensor is not supported": "A truth value has no minus. Write ~terminated for 'not terminated'.",
    }
)
def bootstrap_values(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    values = torch.tensor([10.0, 25.0, 70.0, -40.0, 8.0])
    terminated = torch.tensor([True, False, True, False, False])
    truncated = torch.tensor([False, True, True, True, True])
    never = torch.zeros(5, dtype=torch.bool)
    reasons = {(3,): "Keep an entry for each episode: torch.where puts the 0 in."}
    result = tensor(call(answer, values, terminated, truncated), (5,), "The bootstrap values of 5 episodes", reasons)
    if not result.any():  # which of three slips it is shows where no episode terminated
        alone = call(answer, values, never, ~never)
        if same(alone, values):
            raise Wrong("One episode that terminated sets all to 0. Each decides for itself: torch.where.")
        if same(alone, [10.0, 0.0, 0.0, 0.0, 0.0]):
            raise Wrong("Only the first episode is filled in. Is the return inside the loop?")
    mistakes = {
        "Truncated episodes get 0. A time limit is not the end of the task: its value still counts.": never,
        "Terminated episodes are bootstrapped too. After the task has ended nothing follows: 0.": values,
        "The two cases are swapped: episodes that terminated get a value, truncated ones 0.": values * terminated,
        "The two cases are swapped: the episode that terminated gets a value, truncated ones 0.": values * ~truncated,
        "An episode that terminated in its last step counts as cut off. terminated decides.": values * truncated,
        "terminated and truncated are compared. terminated alone decides.": values * (terminated ^ truncated),
        "This is the mask of the episodes that go on. Multiply it by the values.": ~terminated,
        "A negative value of a truncated episode must come back as it is.": [0.0, 25.0, 0.0, 0.0, 8.0],
    }
    compare(result, values * ~terminated, mistakes, "For values [10, 25, 70, -40, 8]")
    for count in (1, 8):
        minus, ended = -torch.ones(count), torch.zeros(count, dtype=torch.bool)
        result = tensor(call(answer, minus, ended, ~ended), (count,), f"The values of {count} truncated episodes")
        compare(result, minus, {}, f"For {count} truncated episodes of value -1")


@exercise(
    reference=reinforce.policy_loss,
    points=3,
    hints=(
        "The optimiser makes the loss smaller; we want log-probability times advantage to become larger.",
        "advantage = returns, or returns - values where values are given. The loss is minus the mean over the steps.",
        "values.detach(): otherwise this loss also moves the network that predicts the values.",
    ),
)
@explained(
    {
        "Boolean value of Tensor": "`if` and `or` want one truth value; values has one per step. Ask `values is None`.",
        "NoneType": "values is None where there is no baseline. Is that case handled?",
    }
)
def policy_loss(answer: Callable[..., Tensor]) -> None:
    log_probs = torch.tensor([-0.5, -1.0, -2.0, -0.1], requires_grad=True)
    targets = torch.tensor([4.0, -2.0, 1.0, 3.0])
    values = torch.tensor([1.0, 1.0, 2.0, 1.0], requires_grad=True)
    reasons = {
        (4,): "Take the mean over the steps.",
        (1,): "Leave out keepdim.",
        (4, 4): "Take row by row, and the mean.",
    }
    for given in ((targets,), (targets, values)):
        loss = call(answer, log_probs, *given)
        if isinstance(loss, Tensor) and loss.isnan().any():
            raise Wrong("The loss is nan. Is a logarithm taken? The log-probabilities are logarithms already.")
        tensor(loss, (), "The loss", reasons)
        if not loss.requires_grad:
            raise Wrong("The loss carries no gradient. Leave out detach, no_grad and item around log_probabilities.")
        if loss.is_leaf:
            raise Wrong("The loss is a new tensor, cut off from the graph. Return the calculation, without tensor().")
        _sign_and_size(loss.detach(), log_probs.detach(), targets, values.detach() if len(given) == 2 else None)
    gradient = torch.autograd.grad(answer(log_probs, targets, values), (log_probs, values), allow_unused=True)
    if gradient[1] is not None and gradient[1].abs().sum() > 0:
        raise Wrong("The policy's loss moves the baseline as well. Detach the values in the advantage.")
    if gradient[0] is None or not same(gradient[0], -(targets - values.detach()) / 4):
        raise Wrong("Its gradient is not minus the advantage over the number of steps. Is a part of it detached?")
    loss = call(answer, torch.full((1000,), -0.7, requires_grad=True), torch.ones(1000), torch.zeros(1000))
    if not same(tensor(loss, (), "The loss of 1000 steps"), 0.7, 1e-4):
        raise Wrong("With returns 1 and values 0 in all steps the loss must be minus the mean log-probability.")


def _sign_and_size(loss: Tensor, log_probs: Tensor, targets: Tensor, values: Tensor | None) -> None:
    advantages = targets if values is None else targets - values
    deviation, squared = advantages.std() + 1e-8, advantages.pow(2)
    centred = advantages - advantages.mean()

    def weighted(weights: Tensor) -> Tensor:
        return -(log_probs * weights).mean()

    expected = weighted(advantages)
    mistakes = {
        "The sign is wrong: this loss makes good actions less likely. "
        "One minus in front (two cancel), and return minus value.": -expected,
        "It sums over the steps. Take the mean, or the step size grows with the length of the episodes.": expected * 4,
        "It sums over the steps, and the sign is wrong.": -expected * 4,
        "It divides by the number of steps twice.": expected / 4,
        "The returns are not used: every action is made more likely.": -log_probs.mean(),
        "The advantages are standardised. A good trick, but not asked for here.": weighted(centred / deviation),
        "The advantages are divided by their standard deviation: not asked for here.": weighted(advantages / deviation),
        "The mean of the advantages is subtracted: not asked for here.": weighted(centred),
        "It uses the probability instead of its logarithm.": -(log_probs.exp() * advantages).mean(),
        "The log-probabilities and the advantages are added. Multiply them.": -(log_probs + advantages).mean(),
        "Every log-probability meets every advantage: are the shapes (n, 1) and (n,), or two means multiplied? "
        "Multiply step by step.": -log_probs.mean() * advantages.mean(),
        "The product is squared. Take it as it is, with a minus.": (log_probs * advantages).pow(2).mean(),
        "The advantage is squared. That is the baseline's loss, not the policy's.": weighted(squared),
        "Negative advantages become positive (abs?). They make an action less likely.": weighted(advantages.abs()),
        "Negative advantages are cut off. They make an action less likely.": weighted(advantages.clamp(min=0)),
    }
    if values is not None:
        baseline = "Is the loss of the baseline added? It has an optimiser of its own"
        mistakes |= {
            "The values are not used: the advantage is return minus value.": weighted(targets),
            "The values are added. The advantage is return minus value.": weighted(targets + values),
            "Each step has a value of its own: subtract it, not the mean of all.": weighted(targets - values.mean()),
            "The value is subtracted too late: brackets around return minus value.": weighted(targets) + values.mean(),
            f"{baseline}.": expected + 0.5 * squared.mean(),
            f"{baseline}, which gets it alone.": expected + squared.mean(),
        }
    compare(loss, expected, mistakes, f"For advantages {numbers(advantages)}")
