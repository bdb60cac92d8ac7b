# %% right: three ifs
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ.get("MUJOCO_GL"):
        return environ["MUJOCO_GL"]
    if egl:
        return "egl"
    if osmesa:
        return "osmesa"
    return "disable"

# %% right: or
def choose_mujoco_backend(environ, egl, osmesa):
    return environ.get("MUJOCO_GL", "") or (egl and "egl") or (osmesa and "osmesa") or "disable"

# %% right: a list of wishes
def choose_mujoco_backend(environ, *, egl, osmesa):
    candidates = [("egl", egl), ("osmesa", osmesa), ("disable", True)]
    if "MUJOCO_GL" in environ and environ["MUJOCO_GL"] != "":
        candidates.insert(0, (environ["MUJOCO_GL"], True))
    for name, available in candidates:
        if available:
            return name

# %% wrong: always egl -> Forcing EGL where it is not installed
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or "egl"

# %% wrong: the user's value is ignored -> What is set already is kept
def choose_mujoco_backend(environ, *, egl, osmesa):
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: the user's value comes last -> What is set already is kept
def choose_mujoco_backend(environ, *, egl, osmesa):
    if egl:
        return "egl"
    if osmesa:
        return "osmesa"
    return environ.get("MUJOCO_GL") or "disable"

# %% wrong: the user's value only where its library is there -> What is set already is kept
def choose_mujoco_backend(environ, *, egl, osmesa):
    mine = environ.get("MUJOCO_GL")
    if mine == "glfw" or (mine == "egl" and egl) or (mine == "osmesa" and osmesa):
        return mine
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: osmesa first -> EGL comes first
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ.get("MUJOCO_GL"):
        return environ["MUJOCO_GL"]
    return "osmesa" if osmesa else "egl" if egl else "disable"

# %% wrong: nothing at the end -> takes its default, GLFW
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ.get("MUJOCO_GL"):
        return environ["MUJOCO_GL"]
    if egl:
        return "egl"
    if osmesa:
        return "osmesa"

# %% wrong: glfw at the end -> GLFW opens a window
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or ("egl" if egl else "osmesa" if osmesa else "glfw")

# %% wrong: empty counts as set -> Empty counts as not set
def choose_mujoco_backend(environ, *, egl, osmesa):
    if "MUJOCO_GL" in environ:
        return environ["MUJOCO_GL"]
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: square brackets -> Use environ.get
def choose_mujoco_backend(environ, *, egl, osmesa):
    if environ["MUJOCO_GL"]:
        return environ["MUJOCO_GL"]
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: os.environ -> It reads os.environ
import os
def choose_mujoco_backend(environ, *, egl, osmesa):
    if os.environ.get("MUJOCO_GL"):
        return os.environ["MUJOCO_GL"]
    return "egl" if egl else "osmesa" if osmesa else "disable"

# %% wrong: sets it -> It sets the variable itself
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.setdefault("MUJOCO_GL", "egl" if egl else "osmesa" if osmesa else "disable")

# %% wrong: capitals -> small letters
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or ("EGL" if egl else "OSMESA" if osmesa else "disable")

# %% wrong: other keyword names -> It cannot be called as the course calls it
def choose_mujoco_backend(environ, has_egl, has_osmesa):
    return environ.get("MUJOCO_GL") or ("egl" if has_egl else "osmesa" if has_osmesa else "disable")

# %% wrong: another last word -> instead of 'disable'
def choose_mujoco_backend(environ, *, egl, osmesa):
    return environ.get("MUJOCO_GL") or ("egl" if egl else "osmesa" if osmesa else "none")
