import torch
import torch.nn.functional as F
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

# %% right: fc1 fc2 relu
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super(PolicyNet, self).__init__()
        self.fc1 = nn.Linear(observation_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, action_count)
    def forward(self, x):
        x = F.relu(self.fc1(x))
        return self.fc2(x)

# %% right: two hidden layers from a list
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        sizes = [observation_size, hidden_size, hidden_size]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.head = nn.Linear(hidden_size, action_count)
    def forward(self, observations):
        h = observations.float()
        for layer in self.layers:
            h = F.silu(layer(h))
        return self.head(h)

# %% right: hand-made parameters
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(observation_size, hidden_size) / observation_size ** 0.5)
        self.b1 = nn.Parameter(torch.zeros(hidden_size))
        self.w2 = nn.Parameter(torch.randn(hidden_size, action_count) * 0.01)
        self.b2 = nn.Parameter(torch.zeros(action_count))
    def forward(self, observations):
        return torch.tanh(observations @ self.w1 + self.b1) @ self.w2 + self.b2

# %% right: last layer of zeros
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.Tanh(), nn.Linear(hidden_size, action_count))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)
    def forward(self, x):
        return self.net(x)

# %% right: lazy linear
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.LazyLinear(hidden_size), nn.ReLU(), nn.LazyLinear(action_count))
    def forward(self, x):
        return self.net(x)

# %% wrong: relu at the end -> Does a ReLU or sigmoid follow the last layer?
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count), nn.ReLU()
        )

    def forward(self, observations):
        return self.net(observations)

# %% wrong: tanh at the end -> Does a tanh or sigmoid follow the last layer?
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count), nn.Tanh()
        )

    def forward(self, observations):
        return self.net(observations)

# %% wrong: an object instead of the class -> PolicyNet must be a class that inherits from torch.nn.Module
PolicyNet = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))

# %% wrong: old tutorial softmax -> It ends in a softmax. Return logits: Categorical(logits=...) does that step
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.affine1 = nn.Linear(observation_size, 128)
        self.dropout = nn.Dropout(p=0.6)
        self.affine2 = nn.Linear(128, action_count)
    def forward(self, x):
        x = self.affine1(x)
        x = self.dropout(x)
        x = F.relu(x)
        action_scores = self.affine2(x)
        return F.softmax(action_scores, dim=1)

# %% wrong: log_softmax at the end -> It ends in a log-softmax. Return plain logits; log_probabilities does that step
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count), nn.LogSoftmax(dim=-1))
    def forward(self, x):
        return self.net(x)

# %% wrong: log_softmax in forward over the batch -> It ends in a log-softmax over the batch (dim=0)
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))
    def forward(self, x):
        return F.log_softmax(self.net(x), dim=0)

# %% wrong: no super init -> super().__init__() is not called before the layers are made
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        self.fc1 = nn.Linear(observation_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, action_count)
    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

# %% wrong: hard coded 4 and 2 -> Use the sizes that __init__ is given
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2))
    def forward(self, x):
        return self.net(x)

# %% wrong: sizes swapped -> The layers do not fit: observation_size goes in, action_count comes out
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(action_count, hidden_size), nn.ReLU(), nn.Linear(hidden_size, observation_size))
    def forward(self, x):
        return self.net(x)

# %% wrong: hidden_size ignored -> hidden_size changes nothing
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, 128), nn.ReLU(), nn.Linear(128, action_count))
    def forward(self, x):
        return self.net(x)

# %% wrong: no nonlinearity -> The network is linear: without an activation between two nn.Linear they are worth one
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.Linear(hidden_size, action_count))
    def forward(self, x):
        return self.net(x)

# %% wrong: activation only before the first layer -> It belongs between two nn.Linear
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.fc1 = nn.Linear(observation_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, action_count)
    def forward(self, x):
        return self.fc2(self.fc1(torch.relu(x)))

# %% wrong: layers in a plain list -> Layers in a plain list are not seen
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.layers = [nn.Linear(observation_size, hidden_size), nn.Linear(hidden_size, action_count)]
    def forward(self, x):
        return self.layers[1](torch.relu(self.layers[0](x)))

# %% wrong: first layer in a plain list, second registered -> Is one in a plain list? Use nn.ModuleList
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.hidden = [nn.Linear(observation_size, hidden_size)]
        self.out = nn.Linear(hidden_size, action_count)
    def forward(self, x):
        for layer in self.hidden:
            x = torch.tanh(layer(x))
        return self.out(x)

# %% wrong: layers made in forward -> Make the layers in __init__
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.observation_size, self.action_count, self.hidden_size = observation_size, action_count, hidden_size
    def forward(self, x):
        x = nn.Linear(self.observation_size, self.hidden_size)(x)
        x = torch.tanh(x)
        return nn.Linear(self.hidden_size, self.action_count)(x)

# %% wrong: forward not written yet -> forward is missing or unfinished
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))
    def forward(self, x):
        raise NotImplementedError

# %% wrong: forward inside init by indentation -> Is it indented as far as __init__, not inside it?
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))
        def forward(self, x):
            return self.net(x)

# %% wrong: no_grad in forward -> No gradient reaches the layers, so nothing can learn
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))
    def forward(self, x):
        with torch.no_grad():
            return self.net(x)

# %% wrong: detach in the middle -> Does a detach or no_grad in forward cut the path?
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.fc1 = nn.Linear(observation_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, action_count)
    def forward(self, x):
        h = torch.relu(self.fc1(x)).detach()
        return self.fc2(h)

# %% wrong: batch norm -> Is there a batch norm, or a mean over the batch?
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.BatchNorm1d(hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))
    def forward(self, x):
        return self.net(x)

# %% wrong: dropout left from a tutorial -> Is there dropout, or a layer made in forward?
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.Dropout(0.6), nn.ReLU(), nn.Linear(hidden_size, action_count))
    def forward(self, x):
        return self.net(x)

# %% wrong: squeeze at the end -> must have the shape (1, 2), not (2,). Leave out squeeze
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))
    def forward(self, x):
        return self.net(x).squeeze()

# %% wrong: zero initialised everything -> All parameters start at 0: then most gradients are 0 too
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(observation_size, hidden_size), nn.ReLU(), nn.Linear(hidden_size, action_count))
        for p in self.parameters():
            nn.init.zeros_(p)
    def forward(self, x):
        return self.net(x)

# %% wrong: from_numpy left from a tutorial -> The observations are a tensor already, one per row
class PolicyNet(nn.Module):
    def __init__(self, observation_size, action_count, hidden_size=64):
        super().__init__()
        self.fc1 = nn.Linear(observation_size, hidden_size)
        self.fc2 = nn.Linear(hidden_size, action_count)
    def forward(self, x):
        x = torch.from_numpy(x).float().unsqueeze(0)
        return self.fc2(F.relu(self.fc1(x)))
