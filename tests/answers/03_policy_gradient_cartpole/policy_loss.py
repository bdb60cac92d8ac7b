import torch

# %% right: mean of products
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values.detach()
    return -(log_probabilities * advantages).mean()

# %% right: sum over the count
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns.clone()
    if values is not None:
        with torch.no_grad():
            advantages -= values
    return -torch.dot(log_probabilities, advantages) / len(returns)

# %% right: minus inside
def policy_loss(log_probabilities, returns, values=None):
    if values is None:
        values = torch.zeros_like(returns)
    weights = (values - returns).detach()
    return torch.mean(weights * log_probabilities)

# %% wrong: the sign -> The sign is wrong
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values.detach()
    return (log_probabilities * advantages).mean()

# %% wrong: sum -> It sums over the steps
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values.detach()
    return -(log_probabilities * advantages).sum()

# %% wrong: baseline not detached -> moves the baseline
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values
    return -(log_probabilities * advantages).mean()

# %% wrong: baseline ignored -> values are not used
def policy_loss(log_probabilities, returns, values=None):
    return -(log_probabilities * returns).mean()

# %% wrong: returns forgotten -> The returns are not used
def policy_loss(log_probabilities, returns, values=None):
    return -log_probabilities.mean()

# %% wrong: probability for log-probability -> probability instead of its logarithm
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values.detach()
    return -(log_probabilities.exp() * advantages).mean()

# %% wrong: advantage the wrong way round -> The sign is wrong
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else values.detach() - returns
    return -(log_probabilities * advantages).mean()

# %% wrong: loss as a number -> must be a torch tensor
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values.detach()
    return -(log_probabilities * advantages).mean().item()

# %% wrong: one loss per step -> must have the shape ()
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values.detach()
    return -(log_probabilities * advantages)

# %% wrong: values required -> cannot be called as the course calls it
def policy_loss(log_probabilities, returns, values):
    return -(log_probabilities * (returns - values.detach())).mean()

# %% wrong: standardised -> standardised
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values.detach()
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return -(log_probabilities * advantages).mean()
