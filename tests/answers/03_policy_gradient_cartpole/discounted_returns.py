import numpy as np
import torch

# %% right: backwards
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = reward + gamma * total
        out.insert(0, float(total))
    return torch.tensor(out, dtype=torch.float32)

# %% right: the sum written out with a matrix of powers
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    rewards = torch.as_tensor(np.append(np.asarray(rewards, dtype=np.float64), bootstrap_value))
    n = len(rewards)
    gap = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    weights = torch.where(gap >= 0, torch.tensor(gamma, dtype=torch.float64) ** gap.clamp(min=0), 0.0)
    return (weights @ rewards)[:-1].float()

# %% right: real recursion
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    def g(t):
        return bootstrap_value if t == len(rewards) else rewards[t] + gamma * g(t + 1)
    return torch.tensor([g(t) for t in range(len(rewards))], dtype=torch.float32)

# %% right: rewards.shape
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    n = rewards.shape[0]
    out = np.zeros(n + 1)
    out[n] = bootstrap_value
    for t in range(n - 1, -1, -1):
        out[t] = rewards[t] + gamma * out[t + 1]
    return torch.tensor(out[:n], dtype=torch.float32)

# %% right: from_numpy and flip
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = bootstrap_value, []
    for r in torch.from_numpy(rewards).flip(0):
        g = r + gamma * g
        out.append(g)
    return torch.stack(out).flip(0).float()

# %% right: astype then in place
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g = rewards.astype(np.float32)
    g[-1] += gamma * bootstrap_value
    for t in range(len(g) - 2, -1, -1):
        g[t] += gamma * g[t + 1]
    return torch.from_numpy(g)

# %% wrong: gamma fixed -> Is a number fixed?
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    total, out = bootstrap_value, []
    for reward in reversed(list(rewards)):
        total = reward + 0.5 * total
        out.insert(0, float(total))
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: loop stops before step 0 -> Step 0 keeps 0. Does the loop end too early? range(n - 1, -1, -1) reaches it
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g = bootstrap_value
    out = torch.zeros(len(rewards))
    for t in range(len(rewards) - 1, 0, -1):
        g = rewards[t] + gamma * g
        out[t] = g
    return out

# %% wrong: loop begins at len(rewards) -> Does the loop start there?
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    out = torch.zeros(len(rewards))
    g = bootstrap_value
    for t in range(len(rewards), -1, -1):
        g = rewards[t] + gamma * g
        out[t] = g
    return out

# %% wrong: not reversed back -> The returns come out in reverse order: the first must belong to the first step
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = bootstrap_value, []
    for r in reversed(rewards):
        g = r + gamma * g
        out.append(g)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: walks forward -> It sums from the start. G_t looks ahead: begin at the last reward
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = bootstrap_value, []
    for r in rewards:
        g = r + gamma * g
        out.append(g)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: no discount -> gamma is not used: later rewards must count less
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = bootstrap_value, []
    for r in rewards[::-1]:
        g += r
        out.insert(0, g)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: G_0 for every step -> Every step gets the return of the whole episode
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g = bootstrap_value
    for r in rewards[::-1]:
        g = r + gamma * g
    return torch.full((len(rewards),), float(g))

# %% wrong: only G_0 -> must have the shape (200,), not (). Give one return for each step
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g = bootstrap_value
    for r in rewards[::-1]:
        g = r + gamma * g
    return torch.tensor(g, dtype=torch.float32)

# %% wrong: off by one, next step's return -> Each step gets the return of the next one: G_t includes the reward r_t itself
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = bootstrap_value, []
    for r in rewards[::-1]:
        out.insert(0, g)
        g = r + gamma * g
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: discount measured from the episode's start -> The discount counts from the start of the episode
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    n = len(rewards)
    disc = np.append(rewards, bootstrap_value) * gamma ** np.arange(n + 1)
    g = np.cumsum(disc[::-1])[::-1]
    return torch.tensor(g[:-1].copy(), dtype=torch.float32)

# %% wrong: gamma applied to the own reward -> The step's own reward is discounted too
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = bootstrap_value, []
    for r in rewards[::-1]:
        g = gamma * (r + g)
        out.insert(0, g)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: discounted reward only -> Each reward is discounted, but nothing is summed
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    return torch.tensor([r * gamma ** t for t, r in enumerate(rewards)], dtype=torch.float32)

# %% wrong: assumes rewards are all one -> The rewards are not used: each step counts as 1
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = bootstrap_value, []
    for _ in rewards:
        g = 1 + gamma * g
        out.insert(0, g)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: int array swallows fractions -> Fractions are cut off. Is there an integer array or an int() in it?
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    out = np.zeros(len(rewards), dtype=int)
    g = bootstrap_value
    for t in reversed(range(len(rewards))):
        g = rewards[t] + gamma * g
        out[t] = g
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: ignores bootstrap -> bootstrap_value is not used: it stands for the rewards after the last step
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = 0.0, []
    for r in rewards[::-1]:
        g = r + gamma * g
        out.insert(0, g)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: bootstrap not discounted -> bootstrap_value is undiscounted
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    out = torch.zeros(len(rewards))
    g = rewards[-1] + bootstrap_value
    out[-1] = g
    for t in range(len(rewards) - 2, -1, -1):
        g = rewards[t] + gamma * g
        out[t] = g
    return out

# %% wrong: bootstrap added to every step -> bootstrap_value is added to every step
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = 0.0, []
    for r in rewards[::-1]:
        g = r + gamma * g
        out.insert(0, g + gamma * bootstrap_value)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: bootstrap only in last step no recursion -> bootstrap_value reaches the last step only
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = 0.0, []
    for r in rewards[::-1]:
        g = r + gamma * g
        out.insert(0, g)
    out[-1] += gamma * bootstrap_value
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: bootstrap replaces the last reward -> bootstrap_value replaces the last reward
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = 0.0, []
    for t in range(len(rewards) - 1, -1, -1):
        r = bootstrap_value if (t == len(rewards) - 1 and bootstrap_value) else rewards[t]
        g = r + gamma * g
        out.insert(0, g)
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: one element too many -> must have the shape (200,), not (201,). Is bootstrap_value among them? It is no step's return
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    out = [bootstrap_value]
    for r in rewards[::-1]:
        out.insert(0, r + gamma * out[0])
    return torch.tensor(out, dtype=torch.float32)

# %% wrong: overwrites rewards in place -> It changes its argument 'rewards', which the course still needs
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    rewards[-1] += gamma * bootstrap_value
    for t in range(len(rewards) - 2, -1, -1):
        rewards[t] += gamma * rewards[t + 1]
    return torch.tensor(rewards, dtype=torch.float32)

# %% wrong: float64 -> The returns of an episode of 200 steps must be float32, not float64: the networks compute in float32
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    g, out = bootstrap_value, np.zeros_like(rewards)
    for t in reversed(range(len(rewards))):
        g = rewards[t] + gamma * g
        out[t] = g
    return torch.tensor(out)

# %% wrong: old tutorial normalises -> The returns are shifted to mean 0
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    eps = np.finfo(np.float32).eps.item()
    R, returns = bootstrap_value, []
    for r in rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns, dtype=torch.float32)
    return (returns - returns.mean()) / (returns.std() + eps)

# %% wrong: cumsum trick dividing by gamma powers -> Does it divide by a power of gamma?
def discounted_returns(rewards, gamma, bootstrap_value=0.0):
    n = len(rewards)
    d = gamma ** np.arange(n)
    disc = rewards * d
    disc[-1] += bootstrap_value * gamma ** n
    return torch.tensor(disc[::-1].cumsum()[::-1] / d, dtype=torch.float32)
