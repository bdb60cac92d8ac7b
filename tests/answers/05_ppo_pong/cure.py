import dataclasses

from course_utils.agents.ppo_config import PPOConfig

# %% right: the rate of section 5
def cure(broken):
    return dataclasses.replace(broken, learning_rate=3e-3)

# %% right: CleanRL's rate
def cure(broken):
    return dataclasses.replace(broken, learning_rate=2.5e-4)

# %% right: a tenth, and again
def cure(broken):
    rate = broken.learning_rate
    while rate > 0.005:
        rate /= 10
    return dataclasses.replace(broken, learning_rate=rate)

# %% right: a new configuration from the fields
def cure(broken):
    settings = dataclasses.asdict(broken)
    settings["learning_rate"] = 1e-3
    return PPOConfig(**settings)

# %% wrong: gradients cut -> Not max_grad_norm: Adam divides each gradient by its usual size
def cure(broken):
    return dataclasses.replace(broken, max_grad_norm=0.5)

# %% wrong: cosine -> Not learning_rate_schedule: a schedule begins with the full rate
def cure(broken):
    return dataclasses.replace(broken, learning_rate_schedule="cosine")

# %% wrong: target_kl -> Not target_kl: it ends an update only after a pass that went too far
def cure(broken):
    return dataclasses.replace(broken, target_kl=0.02)

# %% wrong: a closer clip -> Not clip_range: the clip takes the pull away after
def cure(broken):
    return dataclasses.replace(broken, clip_range=0.05)

# %% wrong: one pass -> Not epochs: fewer steps, each of them as long
def cure(broken):
    return dataclasses.replace(broken, epochs=1)

# %% wrong: one big minibatch -> Not minibatch_size: fewer steps with less noise
def cure(broken):
    return dataclasses.replace(broken, minibatch_size=512)

# %% wrong: treats the entropy -> Not entropy_coefficient: the lost entropy is a symptom
def cure(broken):
    return dataclasses.replace(broken, entropy_coefficient=0.05)

# %% wrong: another seed -> Not seed: another seed may hide the fault
def cure(broken):
    return dataclasses.replace(broken, seed=3)

# %% wrong: gamma -> Not gamma: it leaves each step as long as it is
def cure(broken):
    return dataclasses.replace(broken, gamma=0.9)

# %% wrong: everything at once -> It changes learning_rate and learning_rate_schedule and max_grad_norm. One field
def cure(broken):
    return dataclasses.replace(broken, learning_rate=1e-3, learning_rate_schedule="linear", max_grad_norm=0.5)

# %% wrong: half of it -> The right field, but 0.05 is still long for Adam
def cure(broken):
    return dataclasses.replace(broken, learning_rate=broken.learning_rate / 2)

# %% wrong: down to nothing -> The right field, but with 1e-06 next to nothing is learned
def cure(broken):
    return dataclasses.replace(broken, learning_rate=1e-6)

# %% wrong: the copy is thrown away -> Nothing is changed
def cure(broken):
    dataclasses.replace(broken, learning_rate=1e-3)
    return broken

# %% wrong: in place -> A configuration cannot be changed in place
def cure(broken):
    broken.learning_rate = 1e-3
    return broken

# %% wrong: the change only -> Return a configuration, dataclasses.replace(broken, field=value), not dict
def cure(broken):
    return {"learning_rate": 1e-3}

# %% wrong: SB3's name of a field -> PPOConfig has no such field
def cure(broken):
    return dataclasses.replace(broken, lr=1e-3)

# %% wrong: no return -> It returns None
def cure(broken):
    broken = dataclasses.replace(broken, learning_rate=1e-3)
