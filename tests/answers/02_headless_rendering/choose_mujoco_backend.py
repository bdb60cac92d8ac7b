import os

# %% right: or and a chain
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or ("egl" if egl else "osmesa" if osmesa else "disable")

# %% right: ifs
def choose_mujoco_backend(environ, *, egl, osmesa):
    if "MUJOCO_GL" in environ and environ["MUJOCO_GL"] != "":
        return environ["MUJOCO_GL"]
    if egl:
        return "egl"
    elif osmesa:
        return "osmesa"
    else:
        return "disable"

# %% right: a table of candidates
def choose_mujoco_backend(environ, *, egl, osmesa):
    user = environ.get("MUJOCO_GL", "")
    if len(user) > 0:
        return user
    choices = [("egl", egl), ("osmesa", osmesa), ("disable", True)]
    return next(name for name, works in choices if works)

# %% right: keyword defaults given
def choose_mujoco_backend(environ: dict[str, str], *, egl: bool = False, osmesa: bool = False) -> str:
    value = environ.get("MUJOCO_GL")
    if value:
        return value
    match egl, osmesa:
        case True, _:
            return "egl"
        case _, True:
            return "osmesa"
        case _:
            return "disable"

# %% right: strips blanks
def choose_mujoco_backend(environ, *, egl, osmesa):
    user = environ.get("MUJOCO_GL", "").strip()
    return user if user else "egl" if egl else "osmesa" if osmesa else "disable"

# %% right: works on a copy
def choose_mujoco_backend(environ, *, egl, osmesa):
    mine = dict(environ)
    if not mine.get("MUJOCO_GL"):
        mine["MUJOCO_GL"] = "egl" if egl else "osmesa" if osmesa else "disable"
    return mine["MUJOCO_GL"]

# %% wrong: empty counts as set -> MUJOCO_GL is set to an empty text, with EGL installed, and it gives ''
def choose_mujoco_backend(environ, *, egl, osmesa):
    if "MUJOCO_GL" in environ:
        return environ["MUJOCO_GL"]
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: KeyError -> It raises KeyError: 'MUJOCO_GL' where the variable is not set
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ["MUJOCO_GL"]:
        return environ["MUJOCO_GL"]
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: reads os.environ -> It reads os.environ
def choose_mujoco_backend(environ, *, egl, osmesa):
    return os.environ.get("MUJOCO_GL") or ("egl" if egl else "osmesa" if osmesa else "disable")

# %% wrong: OSMesa first -> EGL comes first: it can use the graphics card
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or ("osmesa" if osmesa else "egl" if egl else "disable")

# %% wrong: glfw as default -> GLFW opens a window, and there is no screen
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or ("egl" if egl else "osmesa" if osmesa else "glfw")

# %% wrong: OSMesa without asking -> it gives 'osmesa' instead of 'disable'
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or ("egl" if egl else "osmesa")

# %% wrong: no last return -> Without a value MuJoCo takes its default, GLFW
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ.get("MUJOCO_GL"):
        return environ["MUJOCO_GL"]
    if egl:
        return "egl"
    if osmesa:
        return "osmesa"

# %% wrong: writes into environ -> It sets the variable itself
def choose_mujoco_backend(environ, *, egl, osmesa):
    if not environ.get("MUJOCO_GL"):
        environ["MUJOCO_GL"] = "egl" if egl else "osmesa" if osmesa else "disable"
    return environ["MUJOCO_GL"]

# %% wrong: pop -> It changes environ, which belongs to the caller
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.pop("MUJOCO_GL", "") or ("egl" if egl else "osmesa" if osmesa else "disable")

# %% wrong: ignores the user -> The user has set MUJOCO_GL to 'glfw', and it gives 'egl'
def choose_mujoco_backend(environ, *, egl, osmesa):
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: overrules a user whose library is missing -> The user has set MUJOCO_GL to 'osmesa', and it gives 'egl'
def choose_mujoco_backend(environ, *, egl, osmesa):
    user = environ.get("MUJOCO_GL")
    if user == "egl" and egl or user == "osmesa" and osmesa or user in ("glfw", "disable"):
        return user
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: keeps only the four words -> The user has set MUJOCO_GL to 'wgl', and it gives 'egl'. What is set already is kept as it is, whatever the word
def choose_mujoco_backend(environ, *, egl, osmesa):
    user = environ.get("MUJOCO_GL")
    if user in ("egl", "osmesa", "glfw", "disable"):
        return user
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: does not keep the spelling -> The user has set MUJOCO_GL to 'EGL', and it gives 'egl'
def choose_mujoco_backend(environ, *, egl, osmesa):
    value = environ.get("MUJOCO_GL") or ("egl" if egl else "osmesa" if osmesa else "disable")
    return value.lower()

# %% wrong: capital letters -> Spell it in small letters
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or ("EGL" if egl else "OSMESA" if osmesa else "DISABLE")

# %% wrong: and instead of or -> With only EGL installed and nothing set it gives 'disable' instead of 'egl'
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ.get("MUJOCO_GL"):
        return environ["MUJOCO_GL"]
    if egl and osmesa:
        return "egl"
    if osmesa:
        return "osmesa"
    return "disable"

# %% wrong: any environment at all -> It raises KeyError: 'MUJOCO_GL' where the variable is not set
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ:
        return environ["MUJOCO_GL"]
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: a chain of or with the flags -> With EGL and OSMesa installed and nothing set it gives True instead
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or egl or osmesa or "disable"

# %% wrong: KeyError only where other variables are set -> It raises KeyError: 'MUJOCO_GL' where the variable is not set
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ and environ["MUJOCO_GL"]:
        return environ["MUJOCO_GL"]
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: other keyword names -> It cannot be called as the course calls it
def choose_mujoco_backend(environ, has_egl, has_osmesa):
    return environ.get("MUJOCO_GL") or ("egl" if has_egl else "osmesa" if has_osmesa else "disable")
