"""Networks: what turns an observation into a decision or into an estimate."""

import contextlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

Convolution = tuple[int, int, int]
"""channels, kernel size, stride"""
NATURE: tuple[Convolution, ...] = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""the network of Mnih et al., Nature 2015, made for 84 x 84 pixels; followed by 512 units"""


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


class ActorCritic(nn.Module):
    """Logits and a value from one body. Images (envs, stack, height, width) uint8 go through convolutions, vectors
    (envs, size) float32 through a hidden layer; `convolutions` is empty for vectors.

    `prepare` turns what an environment gives into what `forward` takes, and is apart from it so that a rollout is
    converted once and not once per minibatch. Orthogonal initialisation; the policy's last layer starts near 0, so that
    the first actions are all about as likely. Source: Huang et al., The 37 Implementation Details of PPO, 2022.
    """

    def __init__(
        self,
        observation_shape: Sequence[int],
        action_count: int,
        convolutions: Sequence[Convolution] = (),
        hidden_size: int = 64,
        pixel_mean: float = 0.0,
        pixel_scale: float = 255.0,
    ) -> None:
        super().__init__()
        self.observation_shape = tuple(observation_shape)
        self.pixel_mean, self.pixel_scale = pixel_mean, pixel_scale
        self.autocast_dtype = torch.float32  # of the body; the heads stay float32. Not part of the state
        if bool(convolutions) != (len(self.observation_shape) == 3):
            raise ValueError(f"convolutions are for images: observations {self.observation_shape}, got {convolutions}")
        activation = nn.ReLU if convolutions else nn.Tanh
        layers: list[nn.Module] = []
        channels = self.observation_shape[0]
        for width, kernel, stride in convolutions:
            layers += [nn.Conv2d(channels, width, kernel, stride), activation()]
            channels = width
        self.body = nn.Sequential(*layers, nn.Flatten())
        size = self.body(torch.zeros(1, *self.observation_shape)).shape[1]
        self.hidden = nn.Sequential(nn.Linear(size, hidden_size), activation())
        self.policy = nn.Linear(hidden_size, action_count)
        self.value = nn.Linear(hidden_size, 1)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                gain = {self.policy: 0.01, self.value: 1.0}.get(module, 2**0.5)
                nn.init.orthogonal_(module.weight, gain)
                nn.init.zeros_(module.bias)

    def prepare(self, observations: np.ndarray | Tensor) -> Tensor:
        """Return observations (batch, *shape) as float32 on the network's device; images become channels_last.

        Bytes travel, floats do not: images are moved to the device as uint8 and converted there.
        """
        if tuple(observations.shape[1:]) != self.observation_shape:
            raise ValueError(
                f"the network expects observations (batch, {', '.join(map(str, self.observation_shape))}), got "
                f"{tuple(observations.shape)}: images are (stack, height, width), channels first"
            )
        inputs = torch.as_tensor(observations).to(self.value.weight.device, non_blocking=True)
        if inputs.dim() != 4:
            return inputs.float()
        inputs = inputs.to(torch.float32, memory_format=torch.channels_last)
        return inputs.sub_(self.pixel_mean).div_(self.pixel_scale)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits (batch, action_count) and values (batch,), float32, for prepared observations (batch, *shape).

        With a 16-bit `autocast_dtype` the layers before the two heads compute in it; the weights stay float32.
        """
        half = self.autocast_dtype != torch.float32
        with torch.autocast(inputs.device.type, self.autocast_dtype) if half else contextlib.nullcontext():
            features = self.hidden(self.body(inputs)).float()
        return self.policy(features), self.value(features).squeeze(-1)


def take(inputs: Tensor, indices: Tensor) -> Tensor:
    """Return the rows `indices` of prepared inputs; the same as inputs[indices], but images stay in channels_last.

    Copying whole rows of (batch, height, width, channels) takes a third of the time of indexing in that layout.
    """
    if inputs.dim() != 4:
        return inputs[indices]
    return inputs.permute(0, 2, 3, 1).index_select(0, indices).permute(0, 3, 1, 2)


def log_probabilities(logits: Tensor, actions: Tensor) -> Tensor:
    """Return log pi(action | observation), shape (batch,), from logits (batch, action_count) and actions (batch,).

    Formula: logits[action] - logsumexp(logits). The sum runs over actions, never over the batch.
    """
    return torch.log_softmax(logits, dim=-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)
