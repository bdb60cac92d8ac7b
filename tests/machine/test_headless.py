"""Machines without a screen: who needs what, which variables are set, and the virtual display."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import gymnasium
import pytest

from course_utils.machine import headless


@pytest.mark.parametrize(
    ("environment_id", "renderer"),
    [
        ("CartPole-v1", "pygame"),
        ("FrozenLake-v1", "pygame"),
        ("LunarLander-v3", "pygame"),
        ("ALE/Pong-v5", "ALE"),
        ("PongNoFrameskip-v4", "ALE"),
        ("HalfCheetah-v5", "MuJoCo"),
    ],
)
def test_nothing_in_the_course_needs_a_display(environment_id, renderer):
    assert headless.renderer_of(environment_id).name.startswith(renderer)
    assert headless.needs_display(environment_id) is False


def test_an_environment_is_known_through_its_wrappers_and_base_classes():
    wrapped = gymnasium.wrappers.TimeLimit(gymnasium.make("CartPole-v1"), 10)
    assert headless.renderer_of(wrapped).name.startswith("pygame")

    class Mine(gymnasium.Env):
        pass

    assert headless.renderer_of(Mine()) is headless.UNKNOWN
    old = type("CartPoleEnv", (), {"__module__": "gym.envs.classic_control.cartpole"})
    assert headless.needs_display(old()) is True


@pytest.mark.parametrize(
    ("libraries", "environ", "expected"),
    [
        ({"egl": True, "osmesa": True}, {}, "egl"),
        ({"egl": False, "osmesa": True}, {}, "osmesa"),
        ({"egl": False, "osmesa": False}, {}, "disable"),
        ({"egl": True, "osmesa": True}, {"MUJOCO_GL": "osmesa"}, "osmesa"),
        ({"egl": False, "osmesa": False}, {"MUJOCO_GL": "glfw"}, "glfw"),
        ({"egl": True, "osmesa": False}, {"MUJOCO_GL": ""}, "egl"),
    ],
)
def test_mujoco_backend(libraries, environ, expected):
    assert headless.choose_mujoco_backend(environ, **libraries) == expected


@pytest.mark.parametrize(
    ("libraries", "environ", "expected"),
    [
        (
            "libEGL.so.1\nlibEGL_mesa.so.0",
            {},
            {"MUJOCO_GL": "egl", "PYOPENGL_PLATFORM": "egl", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"},
        ),
        (
            "libEGL.so.1\nlibEGL_nvidia.so.0",
            {"MUJOCO_GL": "osmesa", "SDL_VIDEODRIVER": "x11"},
            {
                "MUJOCO_GL": "osmesa",
                "PYOPENGL_PLATFORM": "osmesa",
                "SDL_VIDEODRIVER": "x11",
                "SDL_AUDIODRIVER": "dummy",
            },
        ),
        # the switch library alone, or a name that only resembles it, draws nothing
        ("libEGL.so.1", {}, {"MUJOCO_GL": "disable", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}),
        ("libwayland-egl.so.1", {}, {"MUJOCO_GL": "disable", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}),
        # a desktop keeps its windows
        ("", {"DISPLAY": ":0"}, {"DISPLAY": ":0", "SDL_AUDIODRIVER": "dummy"}),
    ],
)
def test_prepare_rendering(monkeypatch, libraries, environ, expected):
    monkeypatch.setattr(headless, "_libraries", lambda environ: libraries)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = headless.prepare_rendering(environ, modules=())
        # what is set already counts as set in time
        assert headless.prepare_rendering(environ, modules=("pygame", "mujoco", "OpenGL")) == first
    assert environ == expected
    assert first.items() <= environ.items()


def test_a_late_call_names_what_was_imported_too_early(monkeypatch):
    monkeypatch.setattr(headless, "_libraries", lambda environ: "libEGL.so libEGL_mesa.so")
    with pytest.warns(UserWarning, match="mujoco and pygame was imported before prepare_rendering.*restart"):
        headless.prepare_rendering({}, modules=("mujoco", "pygame"))


def test_two_variables_that_disagree(monkeypatch):
    monkeypatch.setattr(headless, "_libraries", lambda environ: "")
    environ = {"MUJOCO_GL": "egl", "PYOPENGL_PLATFORM": "osmesa"}
    with pytest.warns(UserWarning, match="MUJOCO_GL=egl and PYOPENGL_PLATFORM=osmesa disagree"):
        headless.prepare_rendering(environ, modules=())
    assert environ["PYOPENGL_PLATFORM"] == "osmesa"


def test_libraries_outside_the_loader_cache_are_found(tmp_path):
    (tmp_path / "libOSMesa.so.8").write_bytes(b"")
    assert "libOSMesa.so.8" in headless._libraries({"LD_LIBRARY_PATH": f"/nowhere:{tmp_path}"})


MUJOCO = """
import os
from course_utils.machine.headless import prepare_rendering
backend = prepare_rendering()["MUJOCO_GL"]
try:
    import mujoco
except ImportError:
    backend = "no mujoco"
if backend in ("egl", "osmesa"):
    scene = '<mujoco><worldbody><light pos="0 0 3"/><geom type="sphere" size="0.3"/></worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(scene)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, 48, 64) as renderer:
        renderer.update_scene(data)
        frame = renderer.render()
    assert frame.shape == (48, 64, 3) and frame.std() > 5, frame.std()
print("backend:", backend)
"""


def test_mujoco_draws_without_a_display_where_a_library_is_there():
    environ = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL", "PYOPENGL_PLATFORM")
    }
    done = subprocess.run([sys.executable, "-c", MUJOCO], env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = headless._libraries(environ)
    drawable = "libEGL.so" in found and ("libEGL_mesa" in found or "libEGL_nvidia" in found)
    if drawable and "no mujoco" not in done.stdout:
        assert "backend: egl" in done.stdout


# --- virtual display ---


@pytest.fixture
def no_display(monkeypatch, tmp_path):
    """No DISPLAY, and a PATH with nothing but what the test puts into the folder returned."""
    monkeypatch.delenv("DISPLAY", raising=False)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def fake_server(folder: Path, body: str) -> None:
    # The real one is called with `-displayfd N` and writes the number it took to that descriptor.
    script = folder / "Xvfb"
    script.write_text(f"#!{sys.executable}\nimport os, signal, sys, time\ndescriptor = int(sys.argv[2])\n{body}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def ended(pid: int) -> bool:
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.05)
    return False


def test_no_xvfb_is_explained_and_the_block_still_runs(no_display):
    with headless.virtual_display() as message:
        assert "DISPLAY" not in os.environ
    assert "Xvfb is not installed (pip cannot supply it): apt-get install xvfb" in message
    assert "binder/apt.txt" in message


def test_nothing_starts_for_what_needs_no_display(no_display, tmp_path):
    fake_server(no_display, f"open({str(tmp_path / 'started')!r}, 'w')")
    for environment_id in ("CartPole-v1", "ALE/Pong-v5"):
        with headless.virtual_display(environment_id) as message:
            assert message.startswith("no display needed")
    with headless.virtual_display(object()) as message:
        assert message.startswith("no display started: this renderer is not known")
    assert not (tmp_path / "started").exists()


def test_the_number_is_the_servers_choice_and_it_is_stopped(no_display, tmp_path):
    started = tmp_path / "started"
    fake_server(
        no_display,
        f"open({str(started)!r}, 'w').write(str(os.getpid()))\nos.write(descriptor, b'57\\n')\ntime.sleep(60)",
    )
    with pytest.raises(ZeroDivisionError), headless.virtual_display() as message:
        assert message == "started Xvfb as display :57"
        assert os.environ["DISPLAY"] == ":57"
        raise ZeroDivisionError
    assert "DISPLAY" not in os.environ
    assert ended(int(started.read_text()))


def test_a_server_that_will_not_end_is_killed(no_display, tmp_path, monkeypatch):
    started = tmp_path / "started"
    fake_server(
        no_display,
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(started)!r}, 'w').write(str(os.getpid()))\nos.write(descriptor, b'57\\n')\ntime.sleep(60)",
    )
    monkeypatch.setattr(headless, "STOP_SECONDS", 0.2)
    with headless.virtual_display():
        pass
    assert ended(int(started.read_text()))


def test_a_server_that_fails_says_why(no_display):
    fake_server(no_display, "print('(EE)\\nCannot establish any listening sockets', file=sys.stderr)\nsys.exit(1)")
    with headless.virtual_display() as message:
        assert "DISPLAY" not in os.environ
    assert message == "no display: Xvfb did not start (Cannot establish any listening sockets)"


def test_a_dead_display_is_replaced_and_comes_back_afterwards(no_display, monkeypatch):
    monkeypatch.setenv("DISPLAY", ":6543")
    fake_server(no_display, "os.write(descriptor, b'57\\n')\ntime.sleep(60)")
    with headless.virtual_display() as message:
        assert message == "started Xvfb as display :57"
    assert os.environ["DISPLAY"] == ":6543"


@pytest.mark.parametrize("name", ["", "nonsense", ":", "host:x", "127.0.0.1:61", "127.0.0.1:99999"])
def test_names_that_lead_to_no_display(name):
    assert headless._is_usable(name) is False


def test_the_real_server_among_stale_locks(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    if shutil.which("Xvfb") is None:  # then the cure is what there is to test
        with headless.virtual_display() as message:
            assert "apt-get install xvfb" in message
        return
    locks = [Path(f"/tmp/.X{number}-lock") for number in range(3)]
    created = [lock for lock in locks if not lock.exists()]
    for lock in created:
        lock.write_text("   4194304\n")  # no process has this number
    try:
        with headless.virtual_display() as message:
            display = os.environ["DISPLAY"]
            assert message == f"started Xvfb as display {display}"
            assert headless._is_usable(display)
            with headless.virtual_display() as inner:
                assert inner == f"the display {display} is used"
        assert not headless._is_usable(display)
        assert "DISPLAY" not in os.environ
    finally:
        for lock in created:
            lock.unlink(missing_ok=True)
