"""Networks: what turns an observation into a decision or into an estimate."""

import torch
from torch import Tensor, nn


class PolicyNet(nn.Module):
    """Map observations (batch, observation_size) to logits (batch, action_count), float32.

    A logit is an unnormalised log-probability: any real number, so nothing is squashed or clipped at the end.
    `torch.distributions.Categorical(logits=...)` turns logits into probabilities without losing precision.
    """

    def __init__(self, observation_size: int, action_count: int, hidden_size: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(observation_size, hidden_size),
            nn.Tanh(),
            nn.Linear(hidden_size, action_count),
        )

    def forward(self, observations: Tensor) -> Tensor:
        """Return logits (batch, action_count) for observations (batch, observation_size)."""
        return self.layers(observations)


class ValueNet(nn.Module):
    """Map observations (batch, observation_size) to value estimates (batch,), float32: the baseline."""

    def __init__(self, observation_size: int, hidden_size: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(observation_size, hidden_size),
            nn.Tanh(),
            nn.Linear(hidden_size, 1),
        )

    def forward(self, observations: Tensor) -> Tensor:
        """Return values (batch,) for observations (batch, observation_size)."""
        return self.layers(observations).squeeze(-1)


class MemoryPolicy(nn.Module):
    """Policy that consults its memory only when things go well: the graph is built by the branch that runs.

    While the recent return is at or below `threshold` a plain network decides; above it, a recurrent cell reads
    the observation into a memory (batch, hidden_size), and the memory decides. In eager PyTorch this is an
    ordinary `if` ("define by run"). Gradients reach only the branch that ran, and none reaches the decision
    itself: `recent_return` is a Python number, not a tensor in the graph.
    """

    def __init__(self, observation_size: int, action_count: int, hidden_size: int = 64, threshold: float = 0.0) -> None:
        super().__init__()
        self.threshold = threshold
        self.plain = PolicyNet(observation_size, action_count, hidden_size)
        self.memory_cell = nn.GRUCell(observation_size, hidden_size)
        self.memory_head = nn.Linear(hidden_size, action_count)

    def forward(
        self, observations: Tensor, recent_return: float, memory: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Return logits (batch, action_count) for (batch, observation_size), and the memory for the next step."""
        if recent_return > self.threshold:
            memory = self.memory_cell(observations, memory)
            return self.memory_head(memory), memory
        return self.plain(observations), memory


def log_probabilities(logits: Tensor, actions: Tensor) -> Tensor:
    """Return log pi(action | observation), shape (batch,), from logits (batch, action_count) and actions (batch,).

    Formula: logits[action] - logsumexp(logits). The sum runs over actions, never over the batch.
    """
    return torch.log_softmax(logits, dim=-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)
