"""Rendering without a screen: windows, SDL, OpenGL backends, video encoders, fonts. None of it concerns torch."""

from __future__ import annotations

from collections.abc import Iterator

from .facts import Facts
from .findings import Found

_BACKENDS = ("egl", "osmesa", "glfw", "off", "disable", "disabled", "cgl", "wgl", "")


def rules(facts: Facts) -> Iterator[Found]:
    """Yield the findings about rendering, video and fonts."""
    window = _window(facts) or _sdl(facts)
    if window:
        yield window
    opengl = None if window else _mujoco(facts)
    if opengl:
        yield opengl
    yield from _programs(facts, window)
    glyph = facts.signal("glyph")
    if glyph:
        yield Found("font.cjk_missing", (str(glyph),), severity="warning")
    elif facts.cjk_fonts == ():
        yield Found("font.cjk_missing", ("fonts.cjk: none",))


def _unset(facts: Facts, name: str) -> bool:
    return name in facts.environment and not facts.environment[name]


def _window(facts: Facts) -> Found | None:
    """Calls that want to open a window."""
    for name, code in (("xvfb", "display.xvfb_missing"), ("old_render", "display.old_render_call"),
                       ("render_mode", "display.render_mode_missing"), ("no_server", "display.no_server")):  # fmt: skip
        signal = facts.signal(name)
        if signal:
            display = facts.environment.get("DISPLAY")
            extra = (f"DISPLAY={display!r}",) if name == "no_server" and display else ()
            return Found(code, (str(signal), *extra), severity="warning" if name == "xvfb" else None)
    return None


def _sdl(facts: Facts) -> Found | None:
    driver = facts.variable("SDL_VIDEODRIVER")
    dummy_gl = facts.signal("gl_with_dummy")
    if dummy_gl:
        return Found("display.gl_with_dummy_driver", (str(dummy_gl), f"SDL_VIDEODRIVER={driver or 'not set'}"))
    signal = facts.signal("sdl_video")
    no_screen = _unset(facts, "DISPLAY") and not facts.variable("WAYLAND_DISPLAY")
    proof = (str(signal),) if signal else ()
    if driver in ("x11", "wayland") and (no_screen or signal):
        return Found("display.sdl_needs_window", (*proof, f"SDL_VIDEODRIVER={driver}", "DISPLAY is not set"))
    if signal and driver in ("dummy", "offscreen"):
        return Found("display.sdl_set_late", (*proof, f"SDL_VIDEODRIVER={driver}"))
    return Found("display.sdl_no_video", proof) if signal else None


def _mujoco(facts: Facts) -> Found | None:
    """MuJoCo reads MUJOCO_GL (and PyOpenGL reads PYOPENGL_PLATFORM) once, at the first import."""
    chosen, other = facts.variable("MUJOCO_GL").lower(), facts.variable("PYOPENGL_PLATFORM").lower()
    egl, osmesa = facts.libraries.get("egl", "?"), facts.libraries.get("osmesa", "?")
    shown = f"MUJOCO_GL={chosen!r}"
    if chosen not in _BACKENDS:
        return Found("display.mujoco_unknown_backend", (shown,), {"value": chosen})
    if chosen and other and chosen != other:
        return Found("display.mujoco_variables_conflict", (shown, f"PYOPENGL_PLATFORM={other!r}"))
    signal = facts.signal("gl_platform", "egl", "osmesa", "glfw")
    proof = (str(signal),) if signal else ()
    if chosen == "egl" and egl is None:
        return Found("display.egl_missing", (*proof, shown, "libraries.EGL: not found"))
    if chosen == "osmesa" and (osmesa is None or facts.signal("osmesa")):
        return Found("display.osmesa_missing", (*proof, shown, "libraries.OSMesa: not found"))
    if chosen == "glfw" and (_unset(facts, "DISPLAY") or facts.signal("glfw")):
        return Found("display.mujoco_needs_window", (*proof, shown, "DISPLAY is not set"))
    if signal and signal.name == "gl_platform" and chosen in ("egl", "osmesa"):
        return Found("display.mujoco_set_late", (*proof, shown))
    if signal and signal.name in ("egl", "osmesa"):
        missing = "cannot open" in signal.line or "NoneType" in signal.line
        codes = {
            "egl": "display.egl_missing" if missing else "display.egl_no_device",
            "osmesa": "display.osmesa_missing",
        }
        return Found(codes[signal.name], (*proof, shown))
    if signal:
        return Found(
            "display.mujoco_backend_unset", (*proof, "MUJOCO_GL is not set") if not chosen else (*proof, shown)
        )
    if facts.packages.get("mujoco") and egl is None and osmesa is None:
        return Found("display.no_opengl", ("libraries.EGL: not found", "libraries.OSMesa: not found"))
    return None


def _programs(facts: Facts, window: Found | None) -> Iterator[Found]:
    if facts.programs.get("xvfb", "?") is None and window is None:
        yield Found("display.xvfb_missing", ("programs.Xvfb: not found",))
    signal = facts.signal("ffmpeg")
    bundled = facts.programs.get("imageio_ffmpeg") or facts.packages.get("imageio-ffmpeg")
    if signal:
        yield Found("video.ffmpeg_missing", (str(signal),))
    elif facts.programs.get("ffmpeg", "?") is None and not bundled:
        yield Found("video.ffmpeg_missing", ("programs.ffmpeg: not found", "programs.imageio_ffmpeg: not found"))
