import torch

# %% right: where and cat
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], last_values.unsqueeze(0)))
    return torch.where(ended, final_values, following)

# %% right: clone and index
def next_values(values, last_values, final_values, ended):
    result = torch.empty_like(values)
    result[:-1] = values[1:]
    result[-1] = last_values
    result[ended] = final_values[ended]
    return result

# %% right: masks
def next_values(values, last_values, final_values, ended):
    following = torch.vstack([values[1:], last_values])
    mask = ended.float()
    return mask * final_values + (1 - mask) * following

# %% right: loops
def next_values(values, last_values, final_values, ended):
    steps, envs = values.shape
    out = torch.zeros(steps, envs)
    for e in range(envs):
        for t in range(steps):
            if ended[t, e]:
                out[t, e] = final_values[t, e]
            elif t == steps - 1:
                out[t, e] = last_values[e]
            else:
                out[t, e] = values[t + 1, e]
    return out

# %% right: backwards
def next_values(values, last_values, final_values, ended):
    rows, following = [], last_values
    for t in reversed(range(len(values))):
        rows.append(torch.where(ended[t], final_values[t], following))
        following = values[t]
    return torch.stack(rows[::-1])

# %% right: roll and repair
def next_values(values, last_values, final_values, ended):
    following = values.roll(-1, dims=0)
    following[-1] = last_values
    return following.masked_fill(ended, 0.0) + final_values

# %% wrong: endings ignored -> At an ending it takes the next row: the first observation of another episode
def next_values(values, last_values, final_values, ended):
    return torch.cat((values[1:], last_values[None]))

# %% wrong: zero at endings -> At an ending it gives 0
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], last_values[None]))
    return following * (~ended).float()

# %% wrong: values unshifted -> These are the values before each step
def next_values(values, last_values, final_values, ended):
    return values.clone()

# %% wrong: values unshifted with finals -> The rows do not move
def next_values(values, last_values, final_values, ended):
    return torch.where(ended, final_values, values)

# %% wrong: shifted down -> The rows move down
def next_values(values, last_values, final_values, ended):
    following = torch.cat((last_values[None], values[:-1]))
    return torch.where(ended, final_values, following)

# %% wrong: swapped where -> The two cases are swapped
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], last_values[None]))
    return torch.where(ended, following, final_values)

# %% wrong: roll -> The first row comes round to the end
def next_values(values, last_values, final_values, ended):
    return torch.where(ended, final_values, values.roll(-1, 0))

# %% wrong: last row repeated -> The last row is repeated
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], values[-1:]))
    return torch.where(ended, final_values, following)

# %% wrong: last row zero -> The last row gets 0
def next_values(values, last_values, final_values, ended):
    following = torch.zeros_like(values)
    following[:-1] = values[1:]
    return torch.where(ended, final_values, following)

# %% wrong: last row set at the end -> In the last row an ended episode gets last_values
def next_values(values, last_values, final_values, ended):
    out = torch.empty_like(values)
    for t in range(len(values) - 1):
        out[t] = torch.where(ended[t], final_values[t], values[t + 1])
    out[-1] = last_values
    return out

# %% wrong: added -> At an ending both values are added
def next_values(values, last_values, final_values, ended):
    return torch.cat((values[1:], last_values[None])) + final_values

# %% wrong: only finals -> These are the final values alone
def next_values(values, last_values, final_values, ended):
    return final_values * ended

# %% wrong: asks for zeros -> An ended episode of value 0 is overlooked
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], last_values[None]))
    return torch.where(final_values != 0, final_values, following)

# %% wrong: any environment -> One ending fills the row of all environments
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], last_values[None]))
    for t in range(len(values)):
        if ended[t].any():
            following[t] = final_values[t]
    return following

# %% wrong: one row too few -> must have the shape (4, 2), not (3, 2). After the last row comes last_values
def next_values(values, last_values, final_values, ended):
    return torch.where(ended[:-1], final_values[:-1], values[1:])

# %% wrong: runs over the end -> No row follows the last one
def next_values(values, last_values, final_values, ended):
    out = torch.zeros_like(values)
    for t in range(len(values)):
        out[t] = torch.where(ended[t], final_values[t], values[t + 1])
    return out

# %% wrong: row without None -> last_values is one row
def next_values(values, last_values, final_values, ended):
    return torch.where(ended, final_values, torch.cat((values[1:], last_values)))

# %% wrong: an if -> here is one per step and environment
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], last_values[None]))
    return final_values if ended else following

# %% wrong: minus on booleans -> A truth value has no minus
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], last_values[None]))
    return ended * final_values + (1 - ended) * following

# %% wrong: writes into final_values -> It changes its argument 'final_values'
def next_values(values, last_values, final_values, ended):
    following = torch.cat((values[1:], last_values[None]))
    final_values[~ended] = following[~ended]
    return final_values
