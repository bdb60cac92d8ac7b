import numpy as np
import torch

# %% right: backwards
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = reward + gamma * total
        out.insert(0, float(total))
    return torch.tensor(out, dtype=torch.float32)

# %% right: numpy array filled from the end
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    out = np.zeros(len(rewards), dtype=np.float32)
    following = bootstrap_value
    for t in range(len(rewards) - 1, -1, -1):
        out[t] = following = rewards[t] + gamma * following
    return torch.from_numpy(out)

# %% right: the sum written out with a matrix of powers
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    rewards = torch.as_tensor(np.append(np.asarray(rewards, dtype=np.float64), bootstrap_value))
    n = len(rewards)
    gap = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    weights = torch.where(gap >= 0, torch.tensor(gamma, dtype=torch.float64) ** gap.clamp(min=0), 0.0)
    return (weights @ rewards)[:-1].float()

# %% wrong: no discount -> gamma is not used
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    return torch.tensor(np.cumsum(np.asarray(rewards, float)[::-1])[::-1].copy(), dtype=torch.float32)

# %% wrong: the whole episode's return for every step -> the return of the whole episode
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total = sum(gamma**k * r for k, r in enumerate(rewards))
    return torch.full((len(rewards),), float(total))

# %% wrong: forgot to reverse -> reverse order
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = reward + gamma * total
        out.append(float(total))
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: sums from the start -> sums from the start
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = 0.0, []
    for reward in rewards:
        total = float(reward) + gamma * total
        out.append(total)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: discount counted from the start of the episode -> counts from the start of the episode
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    r = np.array([gamma**k * x for k, x in enumerate(rewards)], dtype=float)
    return torch.tensor(np.cumsum(r[::-1])[::-1].copy(), dtype=torch.float32)

# %% wrong: own reward discounted -> own reward is discounted too
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = gamma * (float(reward) + total)
        out.insert(0, total)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: bootstrap ignored -> bootstrap_value is not used
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = 0.0, []
    for reward in reversed(list(rewards)):
        total = float(reward) + gamma * total
        out.insert(0, total)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: bootstrap undiscounted -> undiscounted
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    rewards = [float(r) for r in rewards]
    rewards[-1] += bootstrap_value
    total, out = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        out.insert(0, total)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: changes the rewards in place -> changes its argument 'rewards'
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    rewards[-1] += gamma * bootstrap_value
    for t in range(len(rewards) - 2, -1, -1):
        rewards[t] += gamma * rewards[t + 1]
    return torch.tensor(rewards, dtype=torch.float32)

# %% wrong: float64 out -> float32, not float64
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    out = np.zeros(len(rewards))
    following = bootstrap_value
    for t in range(len(rewards) - 1, -1, -1):
        out[t] = following = rewards[t] + gamma * following
    return torch.from_numpy(out)

# %% wrong: a list -> must be a torch tensor
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = reward + gamma * total
        out.insert(0, float(total))
    return out

# %% wrong: normalised -> shifted to mean 0
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = reward + gamma * total
        out.insert(0, float(total))
    out = torch.tensor(out, dtype=torch.float32)
    return (out - out.mean()) / (out.std() + 1e-8)

# %% wrong: gamma fixed -> Is a number fixed
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = reward + 0.5 * total
        out.insert(0, float(total))
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: no return -> returns None
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = reward + gamma * total
        out.insert(0, float(total))
    torch.tensor(out, dtype=torch.float32)
