import numpy as np
import torch
import torch.nn.functional as F
from torch.distributions import Categorical

# %% right: log_softmax and gather
def log_probabilities(logits, actions):
    return torch.log_softmax(logits, dim=-1).gather(1, actions[:, None])[:, 0]

# %% right: logsumexp and indexing
def log_probabilities(logits, actions):
    rows = torch.arange(len(actions))
    return logits[rows, actions] - logits.logsumexp(dim=1)

# %% right: Categorical
def log_probabilities(logits, actions):
    return Categorical(logits=logits).log_prob(actions)

# %% right: cross entropy
def log_probabilities(logits, actions):
    return -F.cross_entropy(logits, actions, reduction="none")

# %% right: stable by hand
def log_probabilities(logits, actions):
    z = logits - logits.max(dim=-1, keepdim=True).values
    logp = z - z.exp().sum(-1, keepdim=True).log()
    return logp.gather(-1, actions[:, None])[:, 0]

# %% right: loop and stack
def log_probabilities(logits, actions):
    return torch.stack([torch.log_softmax(row, 0)[a] for row, a in zip(logits, actions)])

# %% wrong: detached -> No gradient flows back to the logits
def log_probabilities(logits, actions):
    with torch.no_grad():
        return torch.log_softmax(logits, dim=-1).gather(1, actions[:, None])[:, 0]

# %% wrong: nothing picked -> must have the shape (500,), not (500, 2). Pick the action taken in each row
def log_probabilities(logits, actions):
    return torch.log_softmax(logits, dim=-1)

# %% wrong: log of softmax -> With large logits it gives inf or nan: softmax and exp lose all digits
def log_probabilities(logits, actions):
    probs = torch.softmax(logits, dim=-1)
    return torch.log(probs.gather(1, actions.unsqueeze(1)).squeeze(1))

# %% wrong: log of softmax plus epsilon -> is there an epsilon, or a clip?
def log_probabilities(logits, actions):
    probs = F.softmax(logits, dim=-1)
    return torch.log(probs[torch.arange(len(actions)), actions] + 1e-8)

# %% wrong: formula naive exp overflow -> With large logits it gives inf or nan: softmax and exp lose all digits
def log_probabilities(logits, actions):
    z = logits.gather(1, actions.unsqueeze(1)).squeeze(1)
    return z - torch.log(torch.exp(logits).sum(dim=1))

# %% wrong: max over the whole batch -> Is the maximum of the whole batch taken?
def log_probabilities(logits, actions):
    z = logits - logits.max()
    lp = z - torch.log(torch.exp(z).sum(dim=1, keepdim=True))
    return lp.gather(1, actions.unsqueeze(1)).squeeze(1)

# %% wrong: softmax over batch -> The sum runs over the batch (dim=0)
def log_probabilities(logits, actions):
    return F.log_softmax(logits, dim=0).gather(1, actions.unsqueeze(1)).squeeze(1)

# %% wrong: columns of every row -> not (500, 500). That takes those columns of every row
def log_probabilities(logits, actions):
    return F.log_softmax(logits, dim=-1)[:, actions]

# %% wrong: rows and actions swapped -> An index is too large. Rows come first: [torch.arange(len(actions)), actions]
def log_probabilities(logits, actions):
    lp = torch.log_softmax(logits, dim=-1)
    return lp[actions, torch.arange(len(actions))]

# %% wrong: gather without unsqueeze -> gather takes a column: actions.unsqueeze(1)
def log_probabilities(logits, actions):
    return torch.log_softmax(logits, 1).gather(1, actions)

# %% wrong: column not squeezed -> must have the shape (500,), not (500, 1). squeeze(1) removes the column
def log_probabilities(logits, actions):
    return F.log_softmax(logits, dim=1).gather(1, actions.unsqueeze(1))

# %% wrong: squeeze without dim -> must have the shape (1,), not (). Is it squeeze() without a dimension? Write squeeze(1)
def log_probabilities(logits, actions):
    return F.log_softmax(logits, dim=1).gather(1, actions.unsqueeze(1)).squeeze()

# %% wrong: Categorical of logits as probs -> Write Categorical(logits=logits)
def log_probabilities(logits, actions):
    return torch.distributions.Categorical(logits).log_prob(actions)

# %% wrong: Categorical of probabilities -> Is it Categorical(probs)?
def log_probabilities(logits, actions):
    dist = Categorical(F.softmax(logits, dim=-1))
    return dist.log_prob(actions)

# %% wrong: samples a new action -> Is an action sampled?
def log_probabilities(logits, actions):
    d = torch.distributions.Categorical(logits=logits)
    return d.log_prob(d.sample())

# %% wrong: likeliest action instead of the taken one -> These belong to the likeliest actions
def log_probabilities(logits, actions):
    return F.log_softmax(logits, dim=1).max(dim=1).values

# %% wrong: sign from cross entropy -> The sign is wrong: a log-probability is never positive
def log_probabilities(logits, actions):
    return F.cross_entropy(logits, actions, reduction="none")

# %% wrong: cross entropy mean -> must have the shape (500,), not (). One number per step; the loss takes the mean
def log_probabilities(logits, actions):
    return -F.cross_entropy(logits, actions)

# %% wrong: forgets the normaliser -> These are the bare logits
def log_probabilities(logits, actions):
    return logits.gather(1, actions.unsqueeze(1)).squeeze(1)

# %% wrong: probabilities not log -> These are probabilities, not their logarithms
def log_probabilities(logits, actions):
    return torch.softmax(logits, -1).gather(1, actions.unsqueeze(1)).squeeze(1)

# %% wrong: only binary, sigmoid -> it gives [-1.313, -3.049] instead of [-0.4076, -3.066]
def log_probabilities(logits, actions):
    z = logits[:, 1] - logits[:, 0]
    return torch.where(actions == 1, F.logsigmoid(z), F.logsigmoid(-z))

# %% wrong: shifts logits in place -> It changes its argument 'logits', which the course still needs
def log_probabilities(logits, actions):
    with torch.no_grad():
        logits -= logits.max(dim=1, keepdim=True).values
    return F.log_softmax(logits, dim=1).gather(1, actions.unsqueeze(1)).squeeze(1)

# %% wrong: detached normaliser -> The log of the sum carries no gradient
def log_probabilities(logits, actions):
    z = logits.gather(1, actions[:, None]).squeeze(1)
    return z - torch.logsumexp(logits, 1).detach()

# %% wrong: log base 10 -> This is the logarithm to base 10
def log_probabilities(logits, actions):
    return torch.distributions.Categorical(logits=logits).log_prob(actions) / np.log(10)
