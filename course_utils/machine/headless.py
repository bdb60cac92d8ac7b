"""Which renderer needs what, and how a machine without a screen gives it."""

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Collection, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from course_utils.machine.doctor import probes
from course_utils.machine.runtime import HERE

# --- which renderer needs what ---


@dataclass(frozen=True)
class Renderer:
    """A family of environments that draw in the same way."""

    name: str
    modules: tuple[str, ...]  # the environment's class lives in or below one of these
    needs: str = ""  # to return frames; empty: nothing, it draws into memory
    needs_display: bool = False  # a window on the screen always needs one


RENDERERS = (
    Renderer("ALE (Atari)", ("ale_py",)),
    Renderer(
        "pygame (classic control, toy text, Box2D)",
        ("gymnasium.envs.classic_control", "gymnasium.envs.toy_text", "gymnasium.envs.box2d"),
    ),
    Renderer(
        "MuJoCo",
        ("gymnasium.envs.mujoco", "mujoco", "dm_control", "gymnasium_robotics"),
        "OpenGL without a window: call prepare_rendering() before mujoco is imported",
    ),
    Renderer("pyglet (gym before 0.22)", ("gym.envs.classic_control",), "an X server: use virtual_display()", True),
)
UNKNOWN = Renderer("unknown", ())
STOP_SECONDS = 5.0
XVFB_CURE = "Xvfb is not installed (pip cannot supply it): apt-get install xvfb, or add xvfb to binder/apt.txt"


def register_environments(environment_id: str) -> None:
    """Make the Atari games known to gymnasium when the id is not; gymnasium itself reports an unknown id."""
    import gymnasium

    if environment_id not in gymnasium.registry:
        with suppress(ImportError):
            import ale_py  # noqa: F401  (its import registers the games)


def renderer_of(environment: Any) -> Renderer:
    """Return the row of `RENDERERS` that an environment, or an environment's id, belongs to, else `UNKNOWN`."""
    if isinstance(environment, str):
        import gymnasium

        register_environments(environment)
        modules = [str(gymnasium.spec(environment).entry_point).partition(":")[0]]
    else:
        modules = [one.__module__ for one in type(getattr(environment, "unwrapped", environment)).__mro__]
    for renderer in RENDERERS:
        if any(f"{module}.".startswith(f"{name}.") for module in modules for name in renderer.modules):
            return renderer
    return UNKNOWN


def needs_display(environment: Any) -> bool:
    """Say whether an environment, or an id, is known to need an X server before it returns frames."""
    return renderer_of(environment).needs_display


# --- preparing ---


def choose_mujoco_backend(environ: Mapping[str, str], *, egl: bool, osmesa: bool) -> str:
    """Return the value for MUJOCO_GL: the user's own, else what the installed OpenGL libraries allow."""
    if environ.get("MUJOCO_GL"):
        return environ["MUJOCO_GL"]
    return "egl" if egl else "osmesa" if osmesa else "disable"


def _libraries(environ: Mapping[str, str]) -> str:
    """Return the names of the shared libraries that the loader would find, one per line."""
    loader = probes.run(["ldconfig", "-p"], HERE, 10)["text"]
    folders = [*environ.get("LD_LIBRARY_PATH", "").split(":"), f"{sys.prefix}/lib"]
    return "\n".join([loader, *(name for folder in folders if os.path.isdir(folder) for name in os.listdir(folder))])


def prepare_rendering(
    environ: MutableMapping[str, str] | None = None, modules: Collection[str] | None = None
) -> dict[str, str]:
    """Set what rendering without a screen needs, leave every value that is already set, and return all of them.

    Call it before pygame or mujoco are imported, since they read these variables once; a late call warns.
    """
    environ = os.environ if environ is None else environ
    modules = sys.modules if modules is None else modules
    found = _libraries(environ)
    # libEGL.so is only a switch: without a vendor's library behind it, it draws nothing.
    egl = "libEGL.so" in found and ("libEGL_nvidia.so" in found or "libEGL_mesa.so" in found)
    backend = choose_mujoco_backend(environ, egl=egl, osmesa="libOSMesa.so" in found)
    wanted = {"MUJOCO_GL": backend, "SDL_AUDIODRIVER": "dummy"}
    if backend in ("egl", "osmesa"):
        wanted["PYOPENGL_PLATFORM"] = backend
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
        # A desktop has windows, so pygame may use them, and MuJoCo can draw with them where it has nothing else.
        if backend == "disable":
            del wanted["MUJOCO_GL"]
    else:
        wanted["SDL_VIDEODRIVER"] = "dummy"
    readers = {"MUJOCO_GL": "mujoco", "PYOPENGL_PLATFORM": "OpenGL", "SDL_VIDEODRIVER": "pygame"}
    late = [
        reader for name, reader in readers.items() if name in wanted and not environ.get(name) and reader in modules
    ]
    if late:
        warnings.warn(
            f"{' and '.join(late)} was imported before prepare_rendering(): restart the kernel and call it first",
            stacklevel=2,
        )
    values = {name: environ.get(name) or value for name, value in wanted.items()}
    environ.update(values)
    if values.get("PYOPENGL_PLATFORM", backend) != backend:
        warnings.warn(
            f"MUJOCO_GL={backend} and PYOPENGL_PLATFORM={values['PYOPENGL_PLATFORM']} disagree: unset one of them",
            stacklevel=2,
        )
    return values


# --- a virtual display ---


def _is_usable(display: str) -> bool:
    """Say whether an X server answers at ":1", ":1.0" or "host:1"."""
    host, _, number = display.rpartition(":")
    number = number.partition(".")[0]
    if not number.isdecimal():
        return False
    path = f"/tmp/.X11-unix/X{number}"
    tcp = (socket.AF_INET, (host, 6000 + int(number)))
    # A local server listens on a file or, on Linux, on a name without a file.
    local = [(socket.AF_UNIX, path), (socket.AF_UNIX, "\0" + path)]
    for family, address in [tcp] if host not in ("", "unix") else local:
        with socket.socket(family, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            with suppress(OSError, OverflowError):
                connection.connect(address)
                return True
    return False


@contextmanager
def virtual_display(environment: Any = None) -> Iterator[str]:
    """Give the block an X server where it needs one and has none; yield a sentence that says what was done.

    With `environment` (or an id) nothing starts unless that environment needs a display. Where Xvfb is missing or does
    not start the block still runs, and the sentence holds the cure. What was started is stopped at the end.
    """
    if environment is not None and not needs_display(environment):
        renderer = renderer_of(environment)
        if renderer is UNKNOWN:
            yield "no display started: this renderer is not known; if it asks for one, use virtual_display()"
        else:
            yield f"no display needed: {renderer.name} needs {renderer.needs or 'nothing, it draws into memory'}"
        return
    before = os.environ.get("DISPLAY", "")
    if before and _is_usable(before):
        yield f"the display {before} is used"
        return
    program = shutil.which("Xvfb")
    if program is None:
        yield f"no display: {XVFB_CURE}; CartPole, Atari and most others draw without one (render_mode='rgb_array')"
        return
    # Xvfb picks a free number itself and prints it, so locks that crashed servers left behind do not matter.
    command = [program, "-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
    with tempfile.TemporaryFile() as messages:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": messages}
        server = subprocess.Popen(command, start_new_session=True, **streams)
        try:
            ready, _, _ = select.select([server.stdout], [], [], 15)
            answer = server.stdout.readline() if ready else b""
            if answer.endswith(b"\n"):
                os.environ["DISPLAY"] = f":{answer.decode().strip()}"
                yield f"started Xvfb as display {os.environ['DISPLAY']}"
            else:
                messages.seek(0)
                last = messages.read().decode("utf-8", "replace").strip().splitlines()[-1:] or ["it printed nothing"]
                yield f"no display: Xvfb did not start ({last[0]})"
        finally:
            server.stdout.close()
            if before:
                os.environ["DISPLAY"] = before
            else:
                os.environ.pop("DISPLAY", None)
            server.terminate()
            try:
                server.wait(timeout=STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
