import torch

# %% right: min of the two
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = (new_log_probabilities - old_log_probabilities).exp()
    return -torch.minimum(ratio * advantages, torch.clamp(ratio, 1 - clip_range, 1 + clip_range) * advantages).mean()

# %% right: max of the losses, as CleanRL writes it
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    loss1 = -advantages * ratio
    loss2 = -advantages * torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
    return torch.max(loss1, loss2).mean()

# %% right: where, by the sign of the advantage
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities.detach())
    capped = torch.where(advantages >= 0, ratio.clamp(max=1 + clip_range), ratio.clamp(min=1 - clip_range))
    return -(capped * advantages).mean()

# %% right: quotient of the probabilities, sum over n
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities) / torch.exp(old_log_probabilities)
    low, high = torch.tensor(1 - clip_range), torch.tensor(1 + clip_range)
    clipped = torch.max(torch.min(ratio, high), low)
    both = torch.stack([ratio * advantages, clipped * advantages])
    return -both.amin(dim=0).sum() / len(advantages)

# %% right: the limit of the paper's appendix, g(c, A)
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    r = torch.exp(new_log_probabilities - old_log_probabilities)
    g = (1 + clip_range * torch.sign(advantages)) * advantages
    return torch.mean(-torch.min(r * advantages, g))

# %% wrong: max instead of min -> It takes the larger of the two
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.max(ratio * advantages, clipped * advantages).mean()

# %% wrong: minus forgotten -> The sign is wrong
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: minimum of the losses -> It takes the larger of the two
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    loss1 = -advantages * ratio
    loss2 = -advantages * torch.clamp(ratio, 1 - clip_range, 1 + clip_range)
    return torch.min(loss1, loss2).mean()

# %% wrong: no clip -> Nothing is clipped
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    return -(ratio * advantages).mean()

# %% wrong: clip without min -> The clipped product alone is used
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    return -(ratio.clamp(1 - clip_range, 1 + clip_range) * advantages).mean()

# %% wrong: quotient of the log-probabilities -> It divides log-probabilities
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = new_log_probabilities / old_log_probabilities
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: exp forgotten -> This ratio is a difference of log-probabilities
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = new_log_probabilities - old_log_probabilities
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: log instead of exp -> log-probabilities are logarithms already
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.log(new_log_probabilities) - torch.log(old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: ratio upside down -> The ratio is upside down
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(old_log_probabilities - new_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: probability of the new policy alone -> The old policy is left out
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: clips the advantages -> The advantages are clipped
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = advantages.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, ratio * clipped).mean()

# %% wrong: clips the product -> The product is clipped
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = (ratio * advantages).clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped).mean()

# %% wrong: clip around 0 -> clips the ratio to -clip_range ... clip_range
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(-clip_range, clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: clips the log-ratio -> The logarithm of the ratio is clipped
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    log_ratio = new_log_probabilities - old_log_probabilities
    clipped = log_ratio.clamp(-clip_range, clip_range).exp()
    return -torch.min(log_ratio.exp() * advantages, clipped * advantages).mean()

# %% wrong: upper end only -> Only the upper end is clipped
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(max=1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: clip fixed at 0.2 -> clip_range is not used
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(0.8, 1.2)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: min of the means -> The minimum is taken of two means
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min((ratio * advantages).mean(), (clipped * advantages).mean())

# %% wrong: sum over the batch -> It sums over the batch
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).sum()

# %% wrong: no mean -> must have the shape (), not (5,). Take the mean over the batch
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages)

# %% wrong: a column meets a row -> Every ratio meets every advantage
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities).unsqueeze(-1)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: normalises the advantages itself -> The advantages are normalised
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: the loss of notebook 03 -> This is the loss of notebook 03
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    return -(new_log_probabilities * advantages).mean()

# %% wrong: the ratio is detached -> The loss carries no gradient
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    with torch.no_grad():
        ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: the ratio detached inside the clip -> Its gradient is not that of the minimum
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio + (ratio.clamp(1 - clip_range, 1 + clip_range) - ratio).detach()
    return -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: item -> The loss must be a torch tensor, not float
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio * advantages, clipped * advantages).mean().item()

# %% wrong: no return -> It returns None
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    -torch.min(ratio * advantages, clipped * advantages).mean()

# %% wrong: ratio of the probabilities without the advantage -> The advantages are not used
def clipped_loss(new_log_probabilities, old_log_probabilities, advantages, clip_range):
    ratio = torch.exp(new_log_probabilities - old_log_probabilities)
    clipped = ratio.clamp(1 - clip_range, 1 + clip_range)
    return -torch.min(ratio, clipped).mean()
