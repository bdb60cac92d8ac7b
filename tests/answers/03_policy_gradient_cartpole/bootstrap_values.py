import torch

# %% right: where
def bootstrap_values(last_values, terminated, truncated):
    return torch.where(terminated, torch.zeros_like(last_values), last_values)

# %% right: multiply by the mask
def bootstrap_values(last_values, terminated, truncated):
    return last_values * (truncated & ~terminated).float()

# %% right: loop
def bootstrap_values(last_values, terminated, truncated):
    out = []
    for value, end in zip(last_values, terminated):
        out.append(0.0 if end else value.item())
    return torch.tensor(out)

# %% wrong: done means either -> Truncated episodes get 0 as well
def bootstrap_values(last_values, terminated, truncated):
    done = terminated | truncated
    return last_values * (~done).float()

# %% wrong: always bootstrapped -> Terminated episodes are bootstrapped too
def bootstrap_values(last_values, terminated, truncated):
    return last_values.clone()

# %% wrong: swapped -> The two cases are swapped
def bootstrap_values(last_values, terminated, truncated):
    return last_values * terminated

# %% wrong: truncated decides -> terminated decides
def bootstrap_values(last_values, terminated, truncated):
    return last_values * truncated.float()

# %% wrong: in place -> changes its argument 'last_values'
def bootstrap_values(last_values, terminated, truncated):
    last_values[terminated] = 0.0
    return last_values

# %% wrong: a Python list -> must be a torch tensor
def bootstrap_values(last_values, terminated, truncated):
    return [0.0 if end else float(value) for value, end in zip(last_values, terminated)]

# %% wrong: the truth value of a tensor -> RuntimeError
def bootstrap_values(last_values, terminated, truncated):
    if terminated:
        return torch.zeros_like(last_values)
    return last_values

# %% wrong: negative values cut off -> negative value
def bootstrap_values(last_values, terminated, truncated):
    return torch.where(terminated, torch.zeros_like(last_values), last_values).clamp(min=0)
