"""Judges of notebook 05: clipped loss, generalised advantage estimation, minibatches, and a run to diagnose and cure."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from course_utils.agents import ppo, returns
from course_utils.agents.ppo_config import PPOConfig
from course_utils.lessons import lab
from course_utils.lessons.checks.compare import call, compare, explained, numbers, same, tensor
from course_utils.lessons.exercise import Wrong, exercise


@exercise(
    reference=ppo.policy_loss,
    points=3,
    hints=(
        "ratio = exp(new log-probability - old log-probability), one per step.",
        "ratio.clamp(1 - clip_range, 1 + clip_range) clips it. Multiply both ratios by the advantages, step by step.",
        "torch.min takes the smaller product of each step; the loss is minus the mean of that.",
    ),
)
@explained({"Boolean value of Tensor": "`if` wants one truth value; here is one per step. Use torch.min."})
def clipped_loss(answer: Callable[..., Tensor]) -> None:
    ratios, advantages = torch.tensor([1.6, 0.5, 1.5, 0.4, 1.1]), torch.tensor([2.0, 3.0, -1.0, -2.0, 1.5])
    old = torch.tensor([-0.6, -1.0, -2.0, -0.7, -1.5])
    new = (old + ratios.log()).requires_grad_()
    loss = call(answer, new, old, advantages, 0.3)
    if isinstance(loss, Tensor) and loss.isnan().any():
        raise Wrong("The loss is nan. Is a logarithm taken? The log-probabilities are logarithms already.")
    reasons = {(5,): "Take the mean over the batch.", (1,): "Leave out keepdim.", (5, 5): "Multiply step by step."}
    tensor(loss, (), "The loss", reasons)
    flipped = call(answer, new.detach(), old, -advantages, 0.3)
    plain, clipped = (ratios * advantages).mean(), (ratios.clamp(0.7, 1.3) * advantages).mean()
    if same(loss, -torch.min(plain, clipped)) and same(flipped, torch.max(plain, clipped)):
        raise Wrong("The minimum is taken of two means. Take it step by step, then the mean.")
    _loss_mistakes(loss.detach(), new.detach(), old, advantages, 0.3)
    if not loss.requires_grad or loss.is_leaf:
        raise Wrong(
            "The loss carries no gradient. Leave detach, no_grad and tensor() away from the new log-probabilities."
        )
    gradient = torch.autograd.grad(loss, new, allow_unused=True)[0]
    free = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0])  # a gain beyond the range is held, all else pulls
    if gradient is None or not same(gradient, -ratios * advantages * free / 5):
        raise Wrong("Its gradient is not that of the minimum: where the clip holds it is 0. Is a part detached?")
    generator = torch.Generator().manual_seed(0)
    new, old = (-torch.rand(256, generator=generator) for _ in range(2))
    advantages = torch.randn(256, generator=generator)
    loss = tensor(call(answer, new.requires_grad_(), old, advantages, 0.1), (), "The loss of 256 steps")
    pairs = zip((new - old).exp().tolist(), advantages.tolist(), strict=True)
    if not same(loss.detach(), -sum(min(r * a, max(0.9, min(r, 1.1)) * a) for r, a in pairs) / 256, 1e-4):
        raise Wrong("For 256 random steps and clip_range 0.1 the loss is wrong. Is a number fixed?")


def _loss_mistakes(loss: Tensor, new: Tensor, old: Tensor, advantages: Tensor, clip: float) -> None:
    def objective(ratio: Tensor, weights: Tensor = advantages, low: float = 1 - clip, high: float = 1 + clip) -> Tensor:
        return smaller(ratio * weights, ratio.clamp(low, high) * weights)

    def smaller(one: Tensor, other: Tensor) -> Tensor:
        return -torch.min(one, other).mean()

    ratio, column = torch.exp(new - old), torch.exp(new - old).unsqueeze(1)
    plain, clipped = ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages
    log_clipped = (new - old).clamp(-clip, clip).exp() * advantages
    normal, larger = (advantages - advantages.mean()) / (advantages.std() + 1e-8), -objective(ratio, -advantages)
    mistakes = {
        "The sign is wrong: optimisers minimise, so the loss is minus the mean.": -objective(ratio),
        "It takes the larger of the two. The smaller product counts, so of two losses the larger.": larger,
        "Nothing is clipped: this is the plain ratio times the advantage.": -plain.mean(),
        "The clipped product alone is used. A ratio that went the wrong way must still be pulled back: take the "
        "smaller of the clipped and the plain product.": -clipped.mean(),
        "It divides log-probabilities. The ratio of the probabilities is exp(new - old).": objective(new / old),
        "This ratio is a difference of log-probabilities. Take exp of it.": objective(new - old),
        "The ratio is upside down: new over old, exp(new - old).": objective(1 / ratio),
        "The old policy is left out: this ratio is the new probability alone.": objective(new.exp()),
        "The advantages are clipped. Clip the ratio.": smaller(plain, ratio * advantages.clamp(1 - clip, 1 + clip)),
        "The product is clipped. Clip the ratio, then multiply.": smaller(plain, plain.clamp(1 - clip, 1 + clip)),
        "It clips the ratio to -clip_range ... clip_range. A ratio is about 1.": objective(ratio, low=-clip, high=clip),
        "The logarithm of the ratio is clipped. Clip the ratio itself.": smaller(plain, log_clipped),
        "Only the upper end is clipped. A bad action gains nothing below 1 - clip_range.": objective(ratio, low=0),
        "clip_range is not used: 0.2 is fixed.": objective(ratio, low=0.8, high=1.2),
        "It sums over the batch. Take the mean, or the step size depends on the minibatch.": objective(ratio) * 5,
        "Every ratio meets every advantage: shapes (n, 1) and (n,)? Multiply step by step.": objective(column),
        "The advantages are normalised. The course has done that already.": objective(ratio, normal),
        "This is the loss of notebook 03. The ratio takes the log-probability's place.": -(new * advantages).mean(),
        "The advantages are not used: multiply both ratios by them.": objective(ratio, torch.ones(5)),
    }
    compare(loss, objective(ratio), mistakes, f"For advantages {numbers(advantages)} and ratios {numbers(ratio)}")


@exercise(
    reference=returns.gae,
    points=4,
    hints=(
        "First the one-step errors of all steps: rewards + gamma * next_values * (not terminated) - values.",
        "Then from the last step backwards: A = error + gamma * gae_lambda * (going on) * A of the step after.",
        "Going on is ~(terminated | truncated). Masks become numbers with .float(), one per environment.",
    ),
)
@explained(
    {
        "Boolean value of Tensor": "`if` and `not` want one truth value; here is one per environment. Multiply by a mask.",
        "with a bool tensor is not supported": "A truth value has no minus. Write ~terminated for 'not terminated'.",
        "out of bounds for dimension 0": "The last step is len(rewards) - 1; no row follows it, so its A is the error alone.",
    }
)
def gae(answer: Callable[..., Tensor]) -> None:
    reasons = {(8,): "One row for each step.", (129, 8): "The 0 after the last step is no step's advantage."}
    tensor(
        call(answer, *_rollout(128, 8), 0.99, 0.95), (128, 8), "The advantages of 128 steps of 8 environments", reasons
    )
    _without_ends(answer)
    _with_ends(answer)
    for steps, envs, gamma, gae_lambda in ((64, 16, 0.99, 0.95), (20, 3, 1, 1), (20, 3, 0.9, 0), (1, 1, 0.9, 0.5)):
        rollout = rewards, values, following, terminated, truncated = _rollout(steps, envs)
        result = tensor(call(answer, *rollout, gamma, gae_lambda), (steps, envs), f"The advantages of {steps} steps")
        errors = rewards + gamma * following * ~terminated - values
        if not same(result, _summed(errors, gamma * gae_lambda * ~(terminated | truncated)), 1e-3):
            raise Wrong(f"With gamma {gamma} and gae_lambda {gae_lambda} the sums are wrong. Is a number fixed?")


def _rollout(steps: int, envs: int) -> tuple[Tensor, ...]:
    """Noise for every argument; as in a real rollout, next_values[t] is values[t + 1] unless an episode ended."""
    generator = torch.Generator().manual_seed(steps)
    rewards, values, last = (torch.randn(steps, envs, generator=generator) for _ in range(3))
    terminated, truncated = (torch.rand(steps, envs, generator=generator) < 0.05 for _ in range(2))
    following = torch.where(terminated | truncated, last, torch.cat([values[1:], last[-1:]]))
    return rewards, values, following, terminated, truncated


def _summed(errors: Tensor, weights: Tensor | float) -> Tensor:
    """The sum written out: the errors from step t on, each times the weights of the steps between."""
    total = torch.zeros_like(errors)
    for start in range(len(errors)):
        weight = torch.ones_like(errors[0])
        for error, step_weight in zip(errors[start:], torch.as_tensor(weights).expand_as(errors)[start:], strict=True):
            total[start] += weight * error
            weight = weight * step_weight
    return total


def _without_ends(answer: Callable[..., Tensor]) -> None:
    r, v, n = (torch.tensor(column).view(3, 1) for column in ([1.0, 2.0, 4.0], [2.0, 1.0, 3.0], [1.0, 3.0, 2.0]))
    never = torch.zeros(3, 1, dtype=torch.bool)
    result = tensor(call(answer, r, v, n, never, never, 0.5, 0.8), (3, 1), "The advantages of 3 steps")
    errors, first, last = r + 0.5 * n - v, torch.tensor([[1.0], [0.0], [0.0]]), torch.tensor([[0.0], [0.0], [1.0]])
    expected = _summed(errors, 0.4)
    forward, shifted = _summed(errors.flip(0), 0.4).flip(0), r + 0.5 * n.roll(-1, 0) * (1 - last) - v
    mistakes = {
        "The sign is wrong: better than expected is positive, reward + gamma * next value - value.": -expected,
        "These are the one-step errors. Add gamma * gae_lambda times the advantage of the next step.": errors,
        "gae_lambda is not used: each later error counts gamma * gae_lambda as much.": _summed(errors, 0.5),
        "The recursion lacks gamma: each later error counts gamma * gae_lambda as much.": _summed(errors, 0.8),
        "The next value is not discounted: gamma * next_values.": _summed(r + n - v, 0.4),
        "The values are added again: these are the targets. The course adds them later.": expected + v,
        "The values are not subtracted: what came out minus what was expected.": _summed(r + 0.5 * n, 0.4),
        "next_values is not used: these are the returns of notebook 03 minus the values.": _summed(r, 0.5) - v,
        "next_values is not used: an error is reward + gamma * next value - value.": _summed(r - v, 0.4),
        "next_values is shifted: next_values[t] belongs to step t.": _summed(shifted, 0.4),
        "The rollout's last step has next_values too: the game goes on.": _summed(errors - 0.5 * n * last, 0.4),
        "It sums from the start. A step's advantage looks ahead: begin at the last step.": forward,
        "The advantages come out in reverse order: the first row must belong to the first step.": expected.flip(0),
        "Step 0 keeps 0. Does the loop end too early? range(steps - 1, -1, -1) reaches it.": expected * (1 - first),
        "The last step keeps 0. Its advantage is its own error.": _summed(errors * (1 - last), 0.4),
        "The advantages are normalised: not yet.": (expected - expected.mean()) / expected.std(),
    }
    asked = f"For rewards {numbers(r)}, values {numbers(v)}, next_values {numbers(n)}, gamma 0.5, gae_lambda 0.8"
    compare(result, expected, mistakes, asked)


def _with_ends(answer: Callable[..., Tensor]) -> None:
    """Six environments: one goes on; then terminated, truncated, both; then terminated and truncated in the last step."""
    terminated, truncated = (torch.zeros(4, 6, dtype=torch.bool) for _ in range(2))
    terminated[1, 1] = truncated[1, 2] = terminated[1, 3] = truncated[1, 3] = terminated[3, 4] = truncated[3, 5] = True
    rewards = torch.arange(1.0, 25.0).view(4, 6).sqrt()
    values, ended = rewards.flip(1) / 2, terminated | truncated
    neighbours = torch.cat([values[1:], values[:1]])
    following = neighbours + 5 * ended  # after an end the neighbour belongs to the next episode
    given = (rewards, values, following, terminated, truncated)
    result = tensor(call(answer, *given, 0.5, 0.8), (4, 6), "The advantages of 4 steps of 6 environments")
    alone = torch.cat([call(answer, *(part[:, [env]] for part in given), 0.5, 0.8) for env in range(6)], dim=1)
    if not same(result, alone):
        raise Wrong("The environments are mixed: the end of one changes another. Each column stands for itself.")

    def slow(bootstrap: Tensor, carry: Tensor, after: Tensor = following) -> Tensor:
        return _summed(rewards + 0.5 * after * bootstrap - values, 0.4 * carry)

    on, alive, watched, going = torch.ones_like(ended), ~terminated, ~truncated, ~ended
    late, expected = torch.cat([going[1:], going[-1:]]), slow(alive, going)
    mistakes = {
        "It knows no ends: one episode flows into the next.": slow(on, on),
        "The recursion runs across the end of an episode: advantages of the next one flow back.": slow(alive, on),
        "The recursion runs across the end of an episode, and a truncated step must bootstrap.": slow(going, on),
        "The recursion runs across an end by truncation. Cut it at every end.": slow(alive, alive),
        "The recursion runs across an end by termination. Cut it at every end.": slow(alive, watched),
        "A truncated step does not bootstrap. We only stopped watching: next_values counts there.": slow(going, going),
        "It bootstraps after a termination. The game is over: next_values counts 0 there.": slow(on, going),
        "The two masks are exchanged: terminated alone makes next_values 0.": slow(watched, going),
        "The two masks are exchanged: terminated makes next_values 0, both cut the recursion.": slow(watched, alive),
        "Where both are true the episode terminated: nothing follows.": slow(alive | truncated, going),
        "Where both are true the episode terminated: cut the recursion.": slow(alive, ~(terminated ^ truncated)),
        "The masks are taken from step t + 1. Row t tells how step t itself ended.": slow(late, late),
        "The recursion's mask is taken from step t + 1. Row t tells how step t itself ended.": slow(alive, late),
        "The next value after an end is that of another episode. Are they read from values[t + 1]? "
        "next_values[t] belongs to the episode that ended.": slow(alive, going, torch.cat([values[1:], following[3:]])),
        "The last reward of each episode is lost: an end stops what follows, not its own step.": expected * going,
    }
    if found := [message for message, mistaken in mistakes.items() if same(result, mistaken)]:
        raise Wrong(found[0])
    kinds = ("goes on", "terminates", "is truncated", "does both", "terminates at last", "is truncated at last")
    for env, kind in enumerate(kinds):
        compare(result[:, env], expected[:, env], {}, f"In an environment that {kind}")


@exercise(
    reference=ppo.minibatches,
    points=2,
    hints=(
        "torch.randperm(count, generator=generator) gives the indices 0 .. count - 1 in random order.",
        "order[start : start + size] is one minibatch; start goes from 0 to count in steps of size.",
        "yield each of them, or return them in a list.",
    ),
)
@explained({"is not iterable": "It must yield tensors of indices, or return a list of them."})
def minibatches(answer: Callable[[int, int, torch.Generator], Iterable[Tensor]]) -> None:
    before = torch.get_rng_state()
    first, again = (_epoch(answer, 1024, 256, torch.Generator().manual_seed(1)) for _ in range(2))
    if not torch.equal(torch.cat(first), torch.cat(again)):
        raise Wrong("The generator is not used: its state does not decide the order. Pass generator=generator.")
    if not torch.equal(before, torch.get_rng_state()):
        raise Wrong("It changes torch's own random state, which belongs to others. Draw from the given generator only.")
    for count, size in ((12, 4), (4, 4), (64, 2)):
        _epoch(answer, count, size, torch.Generator().manual_seed(1))
    generator = torch.Generator().manual_seed(1)
    orders = {tuple(torch.cat(_epoch(answer, 64, 16, generator)).tolist()) for _ in range(4)}
    if tuple(range(64)) in orders:
        raise Wrong("The order is not random: neighbours are moments of the same game. Shuffle with torch.randperm.")
    if len(orders) == 1:
        raise Wrong("Every epoch gets the same order. Draw from the generator that is given; do not seed it again.")
    even = (torch.cat(first).diff(n=2) == 0).float().mean() > 0.5
    if even or all(int(batch.max() - batch.min()) + 1 == len(batch) for batch in first):
        raise Wrong("Neighbours stay together, or at a fixed distance. Shuffle all steps, then cut.")


def _epoch(answer: Callable[..., Any], count: int, size: int, generator: torch.Generator) -> list[Tensor]:
    """All minibatches of one epoch, in which each index comes exactly once; Wrong says what is not so."""
    try:
        inspect.signature(answer).bind(count, size, generator)
    except TypeError as error:
        raise Wrong(f"It cannot be called as the course calls it: {error}. Keep the arguments of the stub.") from None
    result = answer(count, size, generator)
    if result is None:
        raise Wrong("It returns None. Is a yield or return missing?")
    batches = [_indices(batch) for batch in itertools.islice(result, count + 1)]
    if len(batches) > count:
        raise Wrong("It never ends. One call is one epoch: every step once.")
    asked = f"For count {count} and size {size}"
    if not batches or (len(batches) == 1 and count > size):
        raise Wrong(f"{asked} there is only one minibatch or none. An epoch goes through all of them.")
    if len(batches) == size != count // size:
        raise Wrong("size is the number of steps in a minibatch, not the number of minibatches.")
    if odd := [len(batch) for batch in batches if len(batch) != size]:
        raise Wrong(f"{asked} a minibatch has {odd[0]} {'index' if odd[0] == 1 else 'indices'}.")
    order = torch.cat(batches)
    if order.min() < 0 or order.max() >= count:
        raise Wrong(f"{asked} there is an index {int(order.max())}. The indices go from 0 to count - 1.")
    if any(len(batch.unique()) < size for batch in batches):
        raise Wrong("Some steps come twice in one minibatch: they are drawn with replacement. Use torch.randperm.")
    if len(order) > count:
        raise Wrong("Some steps come twice: do the minibatches overlap?")
    if len(order) < count:
        raise Wrong(f"{asked} {count - len(order)} steps are left out. Does the loop end too early?")
    if len(order.unique()) < count:
        raise Wrong("A new permutation for every minibatch: some steps come twice, others never. One for the epoch.")
    return batches


def _indices(batch: Any) -> Tensor:
    if not isinstance(batch, Tensor) or batch.ndim != 1:
        kind = f"one of shape {tuple(batch.shape)}" if isinstance(batch, Tensor) else type(batch).__name__
        raise Wrong(f"Each minibatch must be a tensor of indices (size,), not {kind}. Is it yield, or a list?")
    if batch.dtype != torch.int64:
        raise Wrong(f"Each minibatch must be int64, not {str(batch.dtype).removeprefix('torch.')}: give the indices.")
    return batch


@exercise(
    reference=lab.CODES,
    points=3,
    hints=(
        "Begin with KL: usual is 0.002 to 0.03. One run is far above it, two are far below.",
        "Two runs with a tiny KL: in one hardly anything is clipped, in the other nearly everything.",
        "Of the two with a usual KL look at the explained variance: in a healthy run it leaves 0.",
    ),
)
def run_diagnosis(answer: Any) -> None:
    if not isinstance(answer, dict):
        raise Wrong(f'It must be a dict such as {{"A": "healthy"}}, not {type(answer).__name__}.')
    if not answer:
        raise NotImplementedError
    if objection := lab.misdiagnosed(answer):
        raise Wrong(objection)


@exercise(
    reference=lab.cure,
    points=2,
    hints=(
        "KL is high from the first update on, so look for what makes a single step long.",
        "Adam's steps are about as long as the learning rate, whatever the gradient. 3e-3 did well in section 5.",
    ),
)
@explained(
    {
        "FrozenInstanceError": "A configuration cannot be changed in place. dataclasses.replace makes a changed copy.",
        "unexpected keyword argument": "PPOConfig has no such field: print(broken) in a new cell shows the names.",
    }
)
def cure(answer: Callable[[PPOConfig], PPOConfig]) -> None:
    config = call(answer, lab.UNSTABLE)
    if not isinstance(config, PPOConfig):
        raise Wrong(f"Return a configuration, dataclasses.replace(broken, field=value), not {type(config).__name__}.")
    if objection := lab.uncured(config):
        raise Wrong(objection)
