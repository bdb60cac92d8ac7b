# %% right: f-string
def why_no_frames(environment):
    if environment.render_mode == "rgb_array":
        return None
    return f"render_mode is {environment.render_mode!r}, use render_mode='rgb_array'"

# %% right: falls through to None
def why_no_frames(environment):
    mode = environment.render_mode
    if mode != "rgb_array":
        return "Found " + str(mode) + "; please make it with rgb_array."

# %% right: get_wrapper_attr and format
def why_no_frames(environment):
    mode = environment.get_wrapper_attr("render_mode")
    text = "the render mode is {}, but it must be rgb_array".format(mode)
    return None if mode == "rgb_array" else text

# %% right: getattr
def why_no_frames(environment):
    mode = getattr(environment, "render_mode", None)
    return None if mode == "rgb_array" else f"You chose {mode}, choose rgb_array"

# %% right: None said in words
def why_no_frames(environment):
    mode = environment.render_mode
    if mode is None:
        return "It was made without a render mode (None). Use rgb_array."
    if mode == "rgb_array":
        return None
    return f"It was made with {mode}. Use rgb_array."

# %% wrong: tries it -> It calls reset() on the environment
def why_no_frames(environment):
    environment.reset()
    if environment.render() is None:
        return f"render_mode is {environment.render_mode}, use rgb_array"
    return None

# %% wrong: only None is refused -> It has no objection to render_mode='human'. That mode opens a window
def why_no_frames(environment):
    if environment.render_mode is None:
        return "render_mode is None, use rgb_array"
    return None

# %% wrong: startswith -> Compare the whole name, not its beginning
def why_no_frames(environment):
    mode = environment.render_mode or ""
    if not mode.startswith("rgb_array"):
        return f"render_mode is {environment.render_mode}, use rgb_array"
    return None

# %% wrong: in on None -> A mode that was not given is None, not a text
def why_no_frames(environment):
    if "rgb_array" in environment.render_mode:
        return None
    return f"render_mode is {environment.render_mode}, use rgb_array"

# %% wrong: does not name the mode found -> does not say which mode was found, here None
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return "wrong render mode, use rgb_array"
    return None

# %% wrong: does not name the mode to use -> does not say what to do: name the cure
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return f"render_mode is {environment.render_mode}: no frames"
    return None

# %% wrong: forgot the f -> put an f before the quotes
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return "render_mode is {environment.render_mode}, use rgb_array"
    return None

# %% wrong: looks below the wrappers -> It has no objection to render_mode='rgb_array_list'. Below its wrappers
def why_no_frames(environment):
    mode = environment.unwrapped.render_mode
    if mode != "rgb_array":
        return f"render_mode is {mode}, use rgb_array"
    return None

# %% wrong: reads the spec -> Look at environment.render_mode: not every environment has a spec
def why_no_frames(environment):
    mode = environment.spec.kwargs.get("render_mode")
    if mode != "rgb_array":
        return f"render_mode is {mode}, use rgb_array"
    return None

# %% wrong: reads the metadata -> lists what this kind of environment can do, not how this one was made
def why_no_frames(environment):
    if "rgb_array" not in environment.metadata["render_modes"]:
        return f"render_mode is {environment.render_mode}, use rgb_array"
    return None

# %% wrong: raises -> For render_mode=None it raises ValueError: render_mode is None, use rgb_array. Return the reason as a text
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        raise ValueError(f"render_mode is {environment.render_mode}, use rgb_array")

# %% wrong: prints -> It prints the text and gives None back. Is a return missing?
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        print(f"render_mode is {environment.render_mode}, use rgb_array")

# %% wrong: returns False when fine -> For render_mode='rgb_array' it returns False
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return f"render_mode is {environment.render_mode}, use rgb_array"
    return False

# %% wrong: closes it -> It calls close() on the environment
def why_no_frames(environment):
    mode = environment.render_mode
    environment.close()
    return None if mode == "rgb_array" else f"render_mode is {mode}, use rgb_array"

# %% wrong: the wrong way round -> It objects to an environment that was made with
def why_no_frames(environment):
    if environment.render_mode == "rgb_array":
        return f"render_mode is {environment.render_mode}, use rgb_array"
    return None

# %% wrong: repairs it -> It changes render_mode on the environment
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        found = environment.render_mode
        environment.unwrapped.render_mode = "rgb_array"
        return f"render_mode is {found}, use rgb_array"
    return None

# %% wrong: calls render_mode -> render_mode is a value: no parentheses. (line
def why_no_frames(environment):
    mode = environment.render_mode()
    return None if mode == "rgb_array" else f"render_mode is {mode}, use rgb_array"

# %% wrong: overwrites render_mode -> It changes render_mode on the environment
def why_no_frames(environment):
    mode = environment.render_mode
    if mode != "rgb_array":
        environment.render_mode = "rgb_array"
        return f"render_mode was {mode}, it is rgb_array now"
    return None

# %% wrong: only the first letters of the text, a constant for all -> It gives the same text for None and 'human'
def why_no_frames(environment):
    if environment.render_mode != "rgb_array":
        return "render_mode is None, human, ansi or rgb_array_list: use rgb_array"
    return None

# %% right: no mode, in words
def why_no_frames(environment):
    mode = environment.render_mode
    if mode == "rgb_array":
        return
    found = f"with {mode}" if mode else "without a render mode"
    return f"This environment was made {found}. Make it with rgb_array."

# %% wrong: a property of its name -> Look at environment.render_mode
def why_no_frames(environment):
    if environment.mode != "rgb_array":
        return f"{environment.mode}: use rgb_array"

# %% wrong: one text for None, one for the rest -> It gives the same text for 'human' and 'ansi'
def why_no_frames(environment):
    if environment.render_mode is None:
        return "no render_mode given, use rgb_array"
    if environment.render_mode != "rgb_array":
        return "human, ansi and rgb_array_list give no single pictures, use rgb_array"
