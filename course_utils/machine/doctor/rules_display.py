"""Rendering without a screen: windows, SDL, OpenGL backends, video encoders, fonts. None of it concerns torch."""

from collections.abc import Iterator

from .facts import Facts
from .findings import Finding, found

_BACKENDS = ("egl", "osmesa", "glfw", "off", "disable", "disabled", "cgl", "wgl", "")


def rules(facts: Facts) -> Iterator[Finding]:
    """Yield the findings about rendering, video and fonts."""
    window = _window(facts)
    opengl = window or _mujoco(facts)
    if opengl:
        yield opengl
    if facts.programs.get("xvfb", "?") is None and window is None:
        yield found(facts, "display.xvfb_missing", "programs.Xvfb: not found")
    bundled = facts.programs.get("imageio-ffmpeg") or facts.packages.get("imageio-ffmpeg")
    if facts.programs.get("ffmpeg", "?") is None and not bundled and not facts.signal("ffmpeg"):
        yield found(facts, "video.ffmpeg_missing", "programs.ffmpeg: not found", "programs.imageio_ffmpeg: not found")
    if facts.words("fonts.cjk") == () and not facts.signal("glyph"):
        yield found(facts, "font.cjk_missing", "fonts.cjk: none")


def _no_screen(facts: Facts) -> bool:
    """Say whether it is known that DISPLAY is not set."""
    return "DISPLAY" in facts.environment and not facts.environment["DISPLAY"]


def _window(facts: Facts) -> Finding | None:
    """Calls that want to open a window; SDL, which pygame draws with, reads SDL_VIDEODRIVER when its display starts."""
    for signal in facts.told("window"):
        display = facts.variable("DISPLAY") if signal.name == "no_server" else ""
        return found(facts, signal.code, signal, display and f"DISPLAY={display!r}", severity=signal.severity)
    driver, signal, dummy = facts.variable("SDL_VIDEODRIVER"), facts.signal("sdl_video"), facts.signal("gl_with_dummy")
    no_screen = _no_screen(facts) and not facts.variable("WAYLAND_DISPLAY")
    shown = f"SDL_VIDEODRIVER={driver or 'not set'}"
    if dummy:
        return found(facts, "display.gl_with_dummy_driver", dummy, shown)
    if driver in ("x11", "wayland") and (no_screen or signal):
        return found(facts, "display.sdl_needs_window", signal, shown, "DISPLAY is not set")
    if signal and driver in ("dummy", "offscreen"):
        return found(facts, "display.sdl_set_late", signal, shown)
    return found(facts, "display.sdl_no_video", signal) if signal else None


def _mujoco(facts: Facts) -> Finding | None:
    """MuJoCo reads MUJOCO_GL (and PyOpenGL reads PYOPENGL_PLATFORM) once, at the first import."""
    chosen, other = facts.variable("MUJOCO_GL").lower(), facts.variable("PYOPENGL_PLATFORM").lower()
    no_egl, no_osmesa = (facts.libraries.get(name, "?") is None for name in ("egl", "osmesa"))
    signal = facts.signal("gl_platform", "egl", "osmesa", "glfw")
    name, shown = signal.name if signal else "", f"MUJOCO_GL={chosen!r}"
    if chosen not in _BACKENDS:
        return found(facts, "display.mujoco_unknown_backend", shown, value=chosen)
    if chosen and other and chosen != other:
        return found(facts, "display.mujoco_variables_conflict", shown, f"PYOPENGL_PLATFORM={other!r}")
    if chosen == "egl" and no_egl:
        return found(facts, "display.egl_missing", signal, shown, "libraries.EGL: not found")
    if chosen == "osmesa" and (no_osmesa or facts.signal("osmesa")):
        return found(facts, "display.osmesa_missing", signal, shown, "libraries.OSMesa: not found")
    if chosen == "glfw" and (_no_screen(facts) or facts.signal("glfw")):
        return found(facts, "display.mujoco_needs_window", signal, shown, "DISPLAY is not set")
    if name == "gl_platform" and chosen in ("egl", "osmesa"):
        return found(facts, "display.mujoco_set_late", signal, shown)
    if signal and name == "egl":
        missing = "cannot open" in signal.line or "NoneType" in signal.line
        return found(facts, "display.egl_missing" if missing else "display.egl_no_device", signal, shown)
    if name == "osmesa":
        return found(facts, "display.osmesa_missing", signal, shown)
    if signal:
        return found(facts, "display.mujoco_backend_unset", signal, shown if chosen else "MUJOCO_GL is not set")
    if facts.packages.get("mujoco") and no_egl and no_osmesa:
        return found(facts, "display.no_opengl", "libraries.EGL: not found", "libraries.OSMesa: not found")
    return None
