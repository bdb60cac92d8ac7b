import torch

# %% right: mean of products
def policy_loss(log_probabilities, returns, values=None):
    advantages = returns if values is None else returns - values.detach()
    return -(log_probabilities * advantages).mean()

# %% right: minus inside
def policy_loss(log_probabilities, returns, values=None):
    if values is None:
        values = torch.zeros_like(returns)
    weights = (values - returns).detach()
    return torch.mean(weights * log_probabilities)

# %% right: no_grad block, sum over len
def policy_loss(log_probabilities, returns, values=None):
    with torch.no_grad():
        adv = returns.clone()
        if values is not None:
            adv -= values
    return -torch.sum(log_probabilities * adv) / len(log_probabilities)

# %% right: dot
def policy_loss(log_probabilities, returns, values=None):
    baseline = 0.0 if values is None else values.detach()
    weight = returns - baseline
    return torch.dot(-log_probabilities, weight) / log_probabilities.numel()

# %% right: tutorial style loop with stack
def policy_loss(log_probabilities, returns, values=None):
    losses = []
    for i, (lp, R) in enumerate(zip(log_probabilities, returns)):
        b = values[i].item() if values is not None else 0.0
        losses.append(-lp * (R - b))
    return torch.stack(losses).mean()

# %% right: one liner conditional
def policy_loss(log_probabilities, returns, values=None):
    adv = (returns - values if values is not None else returns).detach()
    return torch.mean(-log_probabilities * adv)

# %% wrong: returns forgotten -> The returns are not used: every action is made more likely
def policy_loss(log_probabilities, returns, values=None):
    return -log_probabilities.mean()

# %% wrong: values required -> It cannot be called as the course calls it
def policy_loss(log_probabilities, returns, values):
    return -(log_probabilities * (returns - values.detach())).mean()

# %% wrong: plus sign -> The sign is wrong: this loss makes good actions less likely
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    return (log_probabilities * adv).mean()

# %% wrong: double minus -> One minus in front (two cancel)
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    loss = -log_probabilities * -adv
    return loss.mean()

# %% wrong: values minus returns -> and return minus value
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else values.detach() - returns
    return -(log_probabilities * adv).mean()

# %% wrong: not detached -> The policy's loss moves the baseline as well
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values
    return -(log_probabilities * adv).mean()

# %% wrong: if values truthiness -> Ask `values is None`
def policy_loss(log_probabilities, returns, values=None):
    if values:
        returns = returns - values.detach()
    return -(log_probabilities * returns).mean()

# %% wrong: None not handled -> Is that case handled?
def policy_loss(log_probabilities, returns, values=None):
    adv = returns - values.detach()
    return -(log_probabilities * adv).mean()

# %% wrong: sum -> It sums over the steps. Take the mean, or the step size grows with the length of the episodes
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    return -(log_probabilities * adv).sum()

# %% wrong: no mean -> must have the shape (), not (4,). Take the mean over the steps
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    return -log_probabilities * adv

# %% wrong: column broadcast -> Every log-probability meets every advantage: are the shapes (n, 1) and (n,), or two means
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    return -(log_probabilities.unsqueeze(1) * adv).mean()

# %% wrong: precedence, baseline after product -> The value is subtracted too late: brackets around return minus value
def policy_loss(log_probabilities, returns, values=None):
    if values is None:
        return -(log_probabilities * returns).mean()
    return -(log_probabilities * returns - values.detach()).mean()

# %% wrong: plus values -> The values are added. The advantage is return minus value
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns + values.detach()
    return -(log_probabilities * adv).mean()

# %% wrong: ignores baseline -> The values are not used: the advantage is return minus value
def policy_loss(log_probabilities, returns, values=None):
    return -(log_probabilities * returns).mean()

# %% wrong: baseline is the mean of values -> Each step has a value of its own: subtract it, not the mean of all
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach().mean()
    return -(log_probabilities * adv).mean()

# %% wrong: own mean subtracted -> The mean of the advantages is subtracted: not asked for here
def policy_loss(log_probabilities, returns, values=None):
    adv = returns - returns.mean() if values is None else returns - values.detach()
    return -(log_probabilities * adv).mean()

# %% wrong: divides by std only -> The advantages are divided by their standard deviation: not asked for here
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    adv = adv / (adv.std() + 1e-8)
    return -(log_probabilities * adv).mean()

# %% wrong: abs advantage -> Negative advantages become positive (abs?)
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else (returns - values.detach()).abs()
    return -(log_probabilities * adv).mean()

# %% wrong: clips negative advantages -> Negative advantages are cut off
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else (returns - values.detach()).clamp(min=0)
    return -(log_probabilities * adv).mean()

# %% wrong: squared -> The product is squared. Take it as it is, with a minus
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    return (log_probabilities * adv).pow(2).mean()

# %% wrong: adds value loss -> Is the loss of the baseline added?
def policy_loss(log_probabilities, returns, values=None):
    if values is None:
        return -(log_probabilities * returns).mean()
    adv = returns - values
    return -(log_probabilities * adv.detach()).mean() + 0.5 * adv.pow(2).mean()

# %% wrong: takes log again -> The loss is nan. Is a logarithm taken? The log-probabilities are logarithms already
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    return -(torch.log(log_probabilities) * adv).mean()

# %% wrong: exp of log probability -> It uses the probability instead of its logarithm
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    return -(log_probabilities.exp() * adv).mean()

# %% wrong: new tensor cuts the policy -> The loss is a new tensor, cut off from the graph
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values.detach()
    return torch.tensor(-(log_probabilities * adv).mean(), requires_grad=True)

# %% wrong: detaches the policy too -> The loss carries no gradient
def policy_loss(log_probabilities, returns, values=None):
    adv = returns if values is None else returns - values
    return -(log_probabilities * adv).mean().detach()
