import torch
from torch.distributions import Categorical

# %% right: log_softmax and gather
def log_probabilities(logits, actions):
    return torch.log_softmax(logits, dim=-1).gather(1, actions[:, None])[:, 0]

# %% right: Categorical
def log_probabilities(logits, actions):
    return Categorical(logits=logits).log_prob(actions)

# %% right: logsumexp and indexing
def log_probabilities(logits, actions):
    rows = torch.arange(len(actions))
    return logits[rows, actions] - logits.logsumexp(dim=1)

# %% right: cross entropy with a minus
def log_probabilities(logits, actions):
    return -torch.nn.functional.cross_entropy(logits, actions, reduction="none")

# %% wrong: probabilities -> not their logarithms
def log_probabilities(logits, actions):
    return torch.softmax(logits, dim=-1)[torch.arange(len(actions)), actions]

# %% wrong: cross entropy without the minus -> The sign is wrong
def log_probabilities(logits, actions):
    return torch.nn.functional.cross_entropy(logits, actions, reduction="none")

# %% wrong: bare logits -> bare logits
def log_probabilities(logits, actions):
    return logits[torch.arange(len(actions)), actions]

# %% wrong: over the batch -> over the batch
def log_probabilities(logits, actions):
    return torch.log_softmax(logits, dim=0)[torch.arange(len(actions)), actions]

# %% wrong: log of softmax -> log(softmax(x)) loses
def log_probabilities(logits, actions):
    return torch.log(torch.softmax(logits, dim=-1))[torch.arange(len(actions)), actions]

# %% wrong: epsilon in the log -> Do not clip or add an epsilon
def log_probabilities(logits, actions):
    return torch.log(torch.softmax(logits, dim=-1) + 1e-8)[torch.arange(len(actions)), actions]

# %% wrong: nothing picked -> must have the shape (500,)
def log_probabilities(logits, actions):
    return torch.log_softmax(logits, dim=-1)

# %% wrong: gather without squeeze -> must have the shape (500,), not (500, 1)
def log_probabilities(logits, actions):
    return torch.log_softmax(logits, dim=-1).gather(1, actions[:, None])

# %% wrong: detached -> No gradient flows
def log_probabilities(logits, actions):
    with torch.no_grad():
        return torch.log_softmax(logits, dim=-1).gather(1, actions[:, None])[:, 0]

# %% wrong: mean over the batch -> must have the shape (500,), not ()
def log_probabilities(logits, actions):
    return torch.log_softmax(logits, dim=-1).gather(1, actions[:, None]).mean()
