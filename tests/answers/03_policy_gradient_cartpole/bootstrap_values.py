import numpy as np
import torch

# %% right: where
def bootstrap_values(last_values, terminated, truncated):
    return torch.where(terminated, torch.zeros_like(last_values), last_values)

# %% right: multiply by the mask
def bootstrap_values(last_values, terminated, truncated):
    return last_values * (truncated & ~terminated).float()

# %% right: loop
def bootstrap_values(last_values, terminated, truncated):
    out = torch.zeros_like(last_values)
    for i in range(len(last_values)):
        if truncated[i] and not terminated[i]:
            out[i] = last_values[i]
    return out

# %% right: masked_fill
def bootstrap_values(last_values, terminated, truncated):
    return last_values.masked_fill(terminated, 0.0)

# %% right: clone and index
def bootstrap_values(last_values, terminated, truncated):
    values = last_values.detach().clone()
    values[terminated] = 0
    return values

# %% right: list comprehension
def bootstrap_values(last_values, terminated, truncated):
    return torch.tensor([0.0 if t else v.item() for v, t in zip(last_values, terminated)], dtype=torch.float32)

# %% wrong: done means zero -> Truncated episodes get 0. A time limit is not the end of the task: its value still counts
def bootstrap_values(last_values, terminated, truncated):
    done = terminated | truncated
    return last_values * (~done).float()

# %% wrong: always bootstraps -> Terminated episodes are bootstrapped too
def bootstrap_values(last_values, terminated, truncated):
    return last_values

# %% wrong: swapped where -> The two cases are swapped: episodes that terminated get a value, truncated ones 0
def bootstrap_values(last_values, terminated, truncated):
    return torch.where(terminated, last_values, torch.zeros_like(last_values))

# %% wrong: truncated wins when both -> An episode that terminated in its last step counts as cut off. terminated decides
def bootstrap_values(last_values, terminated, truncated):
    return torch.where(truncated, last_values, torch.zeros_like(last_values))

# %% wrong: xor -> terminated and truncated are compared. terminated alone decides
def bootstrap_values(last_values, terminated, truncated):
    return last_values * (terminated ^ truncated)

# %% wrong: any of the batch -> Each decides for itself
def bootstrap_values(last_values, terminated, truncated):
    if terminated.any():
        return torch.zeros_like(last_values)
    return last_values

# %% wrong: return inside the loop -> Is the return inside the loop?
def bootstrap_values(last_values, terminated, truncated):
    out = torch.zeros_like(last_values)
    for i in range(len(out)):
        if not terminated[i]:
            out[i] = last_values[i]
        return out

# %% wrong: if on a tensor -> Use torch.where, ~, &
def bootstrap_values(last_values, terminated, truncated):
    if terminated:
        return torch.zeros_like(last_values)
    return last_values

# %% wrong: not on tensor -> `if`, `not`, `and` want one truth value; here is one per episode
def bootstrap_values(last_values, terminated, truncated):
    return last_values * (not terminated)

# %% wrong: one minus bool -> Write ~terminated
def bootstrap_values(last_values, terminated, truncated):
    return last_values * (1 - terminated)

# %% wrong: boolean selection shortens -> must have the shape (5,), not (3,). Keep an entry for each episode: torch.where puts the 0 in
def bootstrap_values(last_values, terminated, truncated):
    return last_values[~terminated]

# %% wrong: returns mask -> This is the mask of the episodes that go on
def bootstrap_values(last_values, terminated, truncated):
    return (~terminated & truncated).float()

# %% wrong: in place -> It changes its argument 'last_values', which the course still needs
def bootstrap_values(last_values, terminated, truncated):
    last_values[terminated] = 0.0
    return last_values

# %% wrong: detach then in place (shares memory) -> It changes its argument 'last_values', which the course still needs
def bootstrap_values(last_values, terminated, truncated):
    values = last_values.detach()
    values[terminated] = 0
    return values

# %% wrong: mean value -> it gives [0, 14.6, 0, 14.6, 14.6] instead of [0, 25, 0, -40, 8]
def bootstrap_values(last_values, terminated, truncated):
    return torch.where(terminated, 0.0, last_values.mean())

# %% wrong: negative values cut off -> A negative value of a truncated episode must come back as it is
def bootstrap_values(last_values, terminated, truncated):
    return torch.clamp(last_values, min=0) * (~terminated)

# %% wrong: minus value for a fall -> it gives [-10, 25, -70, -40, 8] instead of [0, 25, 0, -40, 8]
def bootstrap_values(last_values, terminated, truncated):
    return torch.where(terminated, -last_values, last_values)

# %% wrong: discounts here already -> it gives [0, 24.75, 0, -39.6, 7.92] instead of [0, 25, 0, -40, 8]
def bootstrap_values(last_values, terminated, truncated):
    return torch.where(terminated, 0.0, 0.99 * last_values)

# %% wrong: integers -> The bootstrap values of 5 episodes must be float32, not int64: the networks compute in float32
def bootstrap_values(last_values, terminated, truncated):
    return torch.tensor([0 if t else int(v) for v, t in zip(last_values, terminated)])

# %% wrong: a numpy array -> The bootstrap values of 5 episodes must be a torch tensor, not ndarray
def bootstrap_values(last_values, terminated, truncated):
    return np.where(terminated, 0.0, last_values)
