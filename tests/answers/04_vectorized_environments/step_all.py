import numpy as np

# %% right: five lists
def step_all(envs, actions):
    observations, rewards, terminated, truncated = [], [], [], []
    final_observations = {}
    for i, (env, action) in enumerate(zip(envs, actions)):
        obs, reward, term, trunc, info = env.step(action)
        if term or trunc:
            final_observations[i] = obs
            obs, info = env.reset()
        observations.append(obs)
        rewards.append(reward)
        terminated.append(term)
        truncated.append(trunc)
    return (
        np.stack(observations),
        np.array(rewards, dtype=np.float32),
        np.array(terminated),
        np.array(truncated),
        final_observations,
    )

# %% right: step all first, reset afterwards
def step_all(envs, actions):
    results = [env.step(int(a)) for env, a in zip(envs, actions)]
    obs, rewards, term, trunc, _ = map(list, zip(*results))
    final = {}
    for i, env in enumerate(envs):
        if term[i] or trunc[i]:
            final[i] = obs[i].copy()
            obs[i] = env.reset()[0]
    return np.array(obs), np.asarray(rewards, np.float32), np.array(term, bool), np.array(trunc, bool), final

# %% right: arrays made beforehand
def step_all(envs, actions):
    n = len(envs)
    rewards = np.zeros(n, dtype=np.float32)
    terminated = np.zeros(n, dtype=bool)
    truncated = np.zeros(n, dtype=bool)
    rows, final = [None] * n, dict()
    for i in range(n):
        rows[i], rewards[i], terminated[i], truncated[i], _ = envs[i].step(actions[i])
        if terminated[i] | truncated[i]:
            final[i], (rows[i], _) = rows[i], envs[i].reset()
    return np.stack(rows), rewards, terminated, truncated, final

# %% right: flatnonzero
def step_all(envs, actions):
    obs, rewards, term, trunc, _ = zip(*(env.step(a) for env, a in zip(envs, actions, strict=True)))
    obs, term, trunc = np.stack(obs), np.array(term), np.array(trunc)
    final = {}
    for i in np.flatnonzero(term | trunc):
        final[i] = obs[i].copy()
        obs[i], _ = envs[i].reset()
    return obs, np.array(rewards).astype("float32"), term, trunc, final

# %% wrong: no reset -> Episodes ended and nothing was reset
def step_all(envs, actions):
    results = [env.step(a) for env, a in zip(envs, actions)]
    obs, rewards, term, trunc, _ = zip(*results)
    final = {i: obs[i] for i in range(len(envs)) if term[i] or trunc[i]}
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: reset but the old observation stays -> After an ending the row must show the next episode
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            final[i] = o
            env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: final is the reset observation -> The dict holds the first observations of the next episodes
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            o, _ = env.reset()
            final[i] = o
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: only terminated resets -> A truncated episode has ended as well
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te:
            final[i] = o
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: one done resets all -> One ending resets all environments
def step_all(envs, actions):
    obs, rewards, term, trunc, _ = map(list, zip(*[env.step(a) for env, a in zip(envs, actions)]))
    final = {}
    if any(term) or any(trunc):
        for i, env in enumerate(envs):
            final[i] = obs[i]
            obs[i], _ = env.reset()
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: resets at every step -> An environment was reset though its episode goes on
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        env.reset()
        o, r, te, tr, _ = env.step(a)
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
        if te or tr:
            final[i] = o
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: swapped flags -> terminated and truncated are swapped
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, tr, te, _ = env.step(a)
        if te or tr:
            final[i] = o
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: a single done -> Keep terminated and truncated apart
def step_all(envs, actions):
    obs, rewards, dones, final = [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        done = te or tr
        if done:
            final[i] = o
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        dones.append(done)
    return np.stack(obs), np.array(rewards, np.float32), np.array(dones), np.array(dones), final

# %% wrong: reset pair kept -> env.reset() gives a pair: (observation, info)
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            final[i] = o
            o = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: old gym with four values -> env.step gives five things, env.reset two
def step_all(envs, actions):
    obs, rewards, dones, final = [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, done, info = env.step(a)
        if done:
            final[i] = o
            o = env.reset()
        obs.append(o)
        rewards.append(r)
        dones.append(done)
    return np.stack(obs), np.array(rewards, np.float32), np.array(dones), np.zeros(len(envs), bool), final

# %% wrong: reset with a seed -> reset(seed=...) at an ending plays the same episode again
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            final[i] = o
            o, _ = env.reset(seed=i)
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: one step for each value -> An environment took two steps
def step_all(envs, actions):
    obs = [env.step(a)[0] for env, a in zip(envs, actions)]
    rewards = [env.step(a)[1] for env, a in zip(envs, actions)]
    flags = np.zeros(len(envs), bool)
    return np.stack(obs), np.array(rewards, np.float32), flags, flags, {}

# %% wrong: return inside the loop -> observations must have one row for each of 4 environments
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            final[i] = o
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
        return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: final observations of all -> An episode that goes on is in the dict
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        final[i] = o
        if te or tr:
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: a list instead of a dict -> The final observations must be a dict by environment, not list
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], []
    for env, a in zip(envs, actions):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            final.append(o)
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: lists instead of arrays -> observations must be a NumPy array, not list
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            final[i] = o
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return obs, rewards, term, trunc, final

# %% wrong: float64 rewards -> rewards has the wrong type, float64
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            final[i] = o
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards), np.array(term), np.array(trunc), final

# %% wrong: the first action for all -> Each environment takes one step, with an action of its own
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, env in enumerate(envs):
        o, r, te, tr, _ = env.step(actions[0])
        if te or tr:
            final[i] = o
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: no final observations -> It must return five things
def step_all(envs, actions):
    obs, rewards, term, trunc = [], [], [], []
    for env, a in zip(envs, actions):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc)

# %% wrong: the written-over array -> The dict holds the first observations of the next episodes
def step_all(envs, actions):
    obs, rewards, term, trunc, _ = zip(*(env.step(a) for env, a in zip(envs, actions, strict=True)))
    obs, term, trunc = np.stack(obs), np.array(term), np.array(trunc)
    final = {}
    for i in np.flatnonzero(term | trunc):
        final[i] = obs[i]
        obs[i], _ = envs[i].reset()
    return obs, np.array(rewards, np.float32), term, trunc, final

# %% wrong: only truncated resets -> A terminated episode has ended as well
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if tr:
            final[i] = o
            o, _ = env.reset()
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final

# %% wrong: no reward at an ending -> The reward of a step that ended an episode is lost
def step_all(envs, actions):
    obs, rewards, term, trunc, final = [], [], [], [], {}
    for i, (env, a) in enumerate(zip(envs, actions)):
        o, r, te, tr, _ = env.step(a)
        if te or tr:
            final[i] = o
            o, _ = env.reset()
            r = 0.0
        obs.append(o)
        rewards.append(r)
        term.append(te)
        trunc.append(tr)
    return np.stack(obs), np.array(rewards, np.float32), np.array(term), np.array(trunc), final
