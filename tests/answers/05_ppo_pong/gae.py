import torch

# %% right: backwards, two masks
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    ended = terminated | truncated
    advantages = torch.zeros_like(rewards)
    last = torch.zeros(rewards.shape[1])
    for t in range(rewards.shape[0] - 1, -1, -1):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * last * ~ended[t]
        advantages[t] = last
    return advantages

# %% right: list, stacked
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, following = [], 0.0
    for r, v, n, end, cut in reversed(list(zip(rewards, values, next_values, terminated, truncated, strict=True))):
        delta = r + gamma * torch.where(end, 0.0, n) - v
        following = delta + gamma * gae_lambda * torch.where(end | cut, 0.0, following)
        out.insert(0, following)
    return torch.stack(out)

# %% right: lambda-returns, then minus the values
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    steps = len(rewards)
    following = next_values * (1 - terminated.float())
    targets = torch.empty_like(rewards)
    for t in reversed(range(steps)):
        if t == steps - 1:
            tail = following[t]
        else:
            stop = (terminated[t] | truncated[t]).float()
            tail = stop * following[t] + (1 - stop) * ((1 - gae_lambda) * following[t] + gae_lambda * targets[t + 1])
        targets[t] = rewards[t] + gamma * tail
    return targets - values

# %% right: one environment and one step at a time
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    steps, envs = rewards.shape
    out = torch.zeros(steps, envs)
    for e in range(envs):
        A = 0.0
        for t in range(steps - 1, -1, -1):
            done = bool(terminated[t, e]) or bool(truncated[t, e])
            bootstrap = 0.0 if terminated[t, e] else float(next_values[t, e])
            delta = float(rewards[t, e]) + gamma * bootstrap - float(values[t, e])
            A = delta + (0.0 if done else gamma * gae_lambda * A)
            out[t, e] = A
    return out

# %% right: clone and in place
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    A = rewards + gamma * next_values * terminated.logical_not() - values
    A = A.clone()
    keep = gamma * gae_lambda * torch.logical_not(torch.logical_or(terminated, truncated)).float()
    for t in range(A.size(0) - 2, -1, -1):
        A[t] += keep[t] * A[t + 1]
    return A

# %% wrong: cleanrl's done, masks one step late -> The masks are taken from step t + 1
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    steps = len(rewards)
    dones = (terminated | truncated).float()
    advantages = torch.zeros_like(rewards)
    lastgaelam = 0
    for t in reversed(range(steps)):
        nonterminal = 1.0 - (dones[t + 1] if t < steps - 1 else dones[t])
        delta = rewards[t] + gamma * next_values[t] * nonterminal - values[t]
        advantages[t] = lastgaelam = delta + gamma * gae_lambda * nonterminal * lastgaelam
    return advantages

# %% wrong: one mask, done for both -> A truncated step does not bootstrap
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    nonterminal = 1.0 - (terminated | truncated).float()
    advantages = torch.zeros_like(rewards)
    lastgaelam = 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * nonterminal[t] - values[t]
        advantages[t] = lastgaelam = delta + gamma * gae_lambda * nonterminal[t] * lastgaelam
    return advantages

# %% wrong: one mask, terminated for both -> The recursion runs across an end by truncation
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    nonterminal = 1.0 - terminated.float()
    advantages = torch.zeros_like(rewards)
    last = 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * nonterminal[t] - values[t]
        advantages[t] = last = delta + gamma * gae_lambda * nonterminal[t] * last
    return advantages

# %% wrong: no mask on the recursion -> The recursion runs across the end of an episode
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    advantages = torch.zeros_like(rewards)
    last = 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        advantages[t] = last = delta + gamma * gae_lambda * last
    return advantages

# %% wrong: no mask at all -> It knows no ends
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    deltas = rewards + gamma * next_values - values
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        last = deltas[t] + gamma * gae_lambda * last
        out[t] = last
    return out

# %% wrong: bootstraps everywhere -> It bootstraps after a termination
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    deltas = rewards + gamma * next_values - values
    going_on = (~(terminated | truncated)).float()
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        last = deltas[t] + gamma * gae_lambda * going_on[t] * last
        out[t] = last
    return out

# %% wrong: bootstrap masked by truncated -> The two masks are exchanged
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~truncated[t] - values[t]
        last = delta + gamma * gae_lambda * last * ~(terminated[t] | truncated[t])
        out[t] = last
    return out

# %% wrong: terminated only without truncated -> Where both are true the episode terminated
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    dead = terminated & ~truncated
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~dead[t] - values[t]
        last = delta + gamma * gae_lambda * last * ~(terminated[t] | truncated[t])
        out[t] = last
    return out

# %% wrong: xor lets both-at-once go on -> Where both are true the episode terminated
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * last * ~(terminated[t] ^ truncated[t])
        out[t] = last
    return out

# %% wrong: the values of the next row -> Are they read from values[t + 1]?
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    steps = len(rewards)
    going_on = (~(terminated | truncated)).float()
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(steps)):
        following = next_values[t] if t == steps - 1 else values[t + 1]
        delta = rewards[t] + gamma * following * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * going_on[t] * last
        out[t] = last
    return out

# %% wrong: next_values shifted -> next_values is shifted: next_values[t] belongs to step t
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    shifted = torch.cat([next_values[1:], torch.zeros_like(next_values[:1])])
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * shifted[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: forward loop -> It sums from the start
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    deltas = rewards + gamma * next_values * ~terminated - values
    out, last = torch.zeros_like(rewards), 0
    for t in range(len(rewards)):
        last = deltas[t] + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: not reversed back -> in reverse order
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    deltas = rewards + gamma * next_values * ~terminated - values
    going_on = (~(terminated | truncated)).float()
    out, last = [], 0
    for t in reversed(range(len(rewards))):
        last = deltas[t] + gamma * gae_lambda * going_on[t] * last
        out.append(last)
    return torch.stack(out)

# %% wrong: lambda forgotten -> gae_lambda is not used
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: the recursion lacks gamma -> The recursion lacks gamma
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: the bootstrap lacks gamma -> The next value is not discounted
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: only the TD errors -> These are the one-step errors
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    return rewards + gamma * next_values * ~terminated - values

# %% wrong: returns the targets -> The values are added again
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out + values

# %% wrong: values not subtracted -> The values are not subtracted
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: the returns of notebook 03 -> next_values is not used
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        last = rewards[t] + gamma * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out - values

# %% wrong: sign of the TD error -> The sign is wrong
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = values[t] - (rewards[t] + gamma * next_values[t] * ~terminated[t])
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: loop stops before step 0 -> Step 0 keeps 0
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in range(len(rewards) - 1, 0, -1):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: loop starts one step early -> The last step keeps 0
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out = torch.zeros_like(rewards)
    deltas = rewards + gamma * next_values * ~terminated - values
    for t in range(len(rewards) - 2, -1, -1):
        out[t] = deltas[t] + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * out[t + 1]
    return out

# %% wrong: index beyond the rollout -> The last step is len(rewards) - 1
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out = torch.zeros_like(rewards)
    for t in range(len(rewards) - 1, -1, -1):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        out[t] = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * out[t + 1]
    return out

# %% wrong: normalised at once -> The advantages are normalised
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return (out - out.mean()) / (out.std() + 1e-8)

# %% wrong: one environment's end stops all -> The environments are mixed
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        if (terminated[t] | truncated[t]).any():
            last = torch.zeros_like(last)
        last = delta + gamma * gae_lambda * last
        out[t] = last
    return out

# %% wrong: if on a row of environments -> one truth value; here is one per environment
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        following = 0 if terminated[t] else next_values[t]
        delta = rewards[t] + gamma * following - values[t]
        last = delta + (0 if terminated[t] or truncated[t] else gamma * gae_lambda * last)
        out[t] = last
    return out

# %% wrong: minus of a bool -> A truth value has no minus
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * (1 - terminated[t]) - values[t]
        last = delta + gamma * gae_lambda * (1 - (terminated[t] | truncated[t])) * last
        out[t] = last
    return out

# %% wrong: overwrites the rewards -> It changes its argument 'rewards'
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    rewards += gamma * next_values * ~terminated - values
    for t in range(len(rewards) - 2, -1, -1):
        rewards[t] += gamma * gae_lambda * ~(terminated[t] | truncated[t]) * rewards[t + 1]
    return rewards

# %% wrong: double precision -> must be float32, not float64
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros(rewards.shape, dtype=torch.float64), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: a list of tensors -> must be a torch tensor, not list
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = [], 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out.insert(0, last)
    return out

# %% wrong: only the first step's -> must have the shape (128, 8), not (8,). One row for each step
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    last = torch.zeros(rewards.shape[1])
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + gamma * next_values[t] * ~terminated[t] - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
    return last

# %% wrong: gamma as a constant -> Is a number fixed?
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        delta = rewards[t] + 0.5 * next_values[t] * ~terminated[t] - values[t]
        last = delta + 0.5 * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out

# %% wrong: the last row never bootstraps -> The rollout's last step has next_values too
def gae(rewards, values, next_values, terminated, truncated, gamma, gae_lambda):
    out, last = torch.zeros_like(rewards), 0
    for t in reversed(range(len(rewards))):
        following = next_values[t] * ~terminated[t] if t < len(rewards) - 1 else 0
        delta = rewards[t] + gamma * following - values[t]
        last = delta + gamma * gae_lambda * ~(terminated[t] | truncated[t]) * last
        out[t] = last
    return out
