import torch
from torch import nn

# %% right: sequential
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count)
        )

    def forward(self, observations):
        return self.net(observations)

# %% right: two layers by hand
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super(PolicyNet, self).__init__()
        self.first = nn.Linear(observation_size, hidden_size)
        self.second = nn.Linear(hidden_size, action_count)

    def forward(self, observations):
        return self.second(torch.tanh(self.first(observations)))

# %% right: deeper, with layer norm
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(observation_size, hidden_size), nn.LayerNorm(hidden_size), nn.SiLU(),
            nn.Linear(hidden_size, hidden_size), nn.SiLU(),
        )
        self.head = nn.Linear(hidden_size, action_count)

    def forward(self, observations):
        return self.head(self.body(observations))

# %% wrong: softmax at the end -> ends in a softmax
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count), nn.Softmax(dim=-1)
        )

    def forward(self, observations):
        return self.net(observations)

# %% wrong: log-softmax at the end -> ends in a log-softmax
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))

    def forward(self, observations):
        return torch.log_softmax(self.net(observations), dim=-1)

# %% wrong: relu at the end -> never negative
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count), nn.ReLU()
        )

    def forward(self, observations):
        return self.net(observations)

# %% wrong: tanh at the end -> tanh or sigmoid
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count), nn.Tanh()
        )

    def forward(self, observations):
        return self.net(observations)

# %% wrong: no activation -> The network is linear
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.Linear(hidden_size, action_count))

    def forward(self, observations):
        return self.net(observations)

# %% wrong: super forgotten -> super().__init__() is not called
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        self.net = nn.Sequential(
            nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count)
        )

    def forward(self, observations):
        return self.net(observations)

# %% wrong: sizes of CartPole written in -> mat1 and mat2
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, observations):
        return self.net(observations)

# %% wrong: layers in a list -> no parameters
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.layers = [nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count)]

    def forward(self, observations):
        for layer in self.layers:
            observations = layer(observations)
        return observations

# %% wrong: an action instead of logits -> must have the shape (32, 2)
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))

    def forward(self, observations):
        return self.net(observations).argmax(dim=-1)

# %% wrong: an object instead of the class -> must be a class
PolicyNet = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))

# %% wrong: batch norm -> depends on the others in the batch
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.norm = nn.BatchNorm1d(observation_size, affine=False, track_running_stats=False)
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))

    def forward(self, observations):
        if len(observations) > 1:
            observations = self.norm(observations)
        return self.net(observations)
