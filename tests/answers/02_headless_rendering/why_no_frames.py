# %% right: compare the mode
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return f"render_mode is {environment.render_mode!r}: make the environment with render_mode='rgb_array'"

# %% right: getattr and else
def why_no_frames(environment):
    mode = getattr(environment, "render_mode", None)
    if mode == "rgb_array":
        return None
    else:
        return "got " + str(mode) + ", use gymnasium.make(..., render_mode='rgb_array')"

# %% right: the unwrapped environment and a membership test
def why_no_frames(environment):
    found = environment.unwrapped.render_mode
    return None if found in {"rgb_array"} else "No frames with render_mode={}; rgb_array is needed.".format(found)

# %% wrong: only None -> That mode opens a window
def why_no_frames(environment):
    if environment.render_mode is None:
        return "render_mode is None: use rgb_array"

# %% wrong: only human -> An environment made without render_mode
def why_no_frames(environment):
    if environment.render_mode == "human":
        return "render_mode is human: use rgb_array"

# %% wrong: the beginning of the name -> Compare the whole name
def why_no_frames(environment):
    if not str(environment.render_mode).startswith("rgb_array"):
        return f"render_mode is {environment.render_mode}, use rgb_array"

# %% wrong: what the class can do -> not how this one was made
def why_no_frames(environment):
    if "rgb_array" not in environment.metadata["render_modes"]:
        return "render_mode must be rgb_array"

# %% wrong: draws to find out -> It calls render()
def why_no_frames(environment):
    if environment.render() is None:
        return f"render_mode {environment.render_mode}: no frames, use rgb_array"

# %% wrong: resets first -> It calls reset()
def why_no_frames(environment):
    environment.reset()
    if environment.render_mode != "rgb_array":
        return f"render_mode {environment.render_mode}: no frames, use rgb_array"

# %% wrong: closes what it refuses -> It calls close()
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        environment.close()
        return f"render_mode {environment.render_mode}: no frames, use rgb_array"

# %% wrong: raises -> Return the reason as a text
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        raise ValueError(f"render_mode {environment.render_mode}: no frames, use rgb_array")

# %% wrong: assert -> Return the reason as a text
def why_no_frames(environment):
    assert environment.render_mode == "rgb_array", "use rgb_array"

# %% wrong: returns True and False -> Return a text that says why, or None
def why_no_frames(environment):
    return environment.render_mode != "rgb_array"

# %% wrong: an empty text when all is well -> Return None where all is well
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return f"render_mode {environment.render_mode}: no frames, use rgb_array"
    return ""

# %% wrong: prints -> It has no objection to render_mode=None
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        print("please use rgb_array")

# %% wrong: no cure in the text -> does not say what to do
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return f"bad render_mode {environment.render_mode}"

# %% wrong: does not say what it found -> does not say which mode was found
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return "please make it with rgb_array"

# %% wrong: the wrong way round -> It objects to an environment
def why_no_frames(environment):
    if environment.render_mode == "rgb_array":
        return "render_mode rgb_array"

# %% wrong: other arguments -> It cannot be called as the course calls it
def why_no_frames(environment, render_mode):
    if render_mode != "rgb_array":
        return "render_mode: use rgb_array"

# %% wrong: a text, not the environment -> It objects to an environment
def why_no_frames(environment):
    if environment != "rgb_array":
        return f"render_mode is {environment}, use rgb_array"
