"""Frames and recordings: real environments without a display, and environments that misbehave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from course_utils.machine import display
from course_utils.machine.video import find_ffmpeg, why_unplayable


class Fake(gymnasium.Env):
    """A bright dot that moves with every step; `frame_of` may replace the picture."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 25}  # noqa: RUF012
    observation_space = gymnasium.spaces.Discrete(1000)

    def __init__(self, render_mode="rgb_array", length=8, frame_of=None):
        self.render_mode = render_mode
        self.length = length
        self.frame_of = frame_of
        self.action_space = gymnasium.spaces.Discrete(2)
        self.calls, self.actions, self.closed = [], [], False
        self.position = 0

    def reset(self, *, seed=None, options=None):
        self.calls.append(("reset", seed))
        self.position = 0
        return 0, {}

    def step(self, action):
        self.calls.append("step")
        self.actions.append(action)
        self.position += 1
        return self.position, 1.0, False, self.position >= self.length, {}

    def render(self):
        if self.frame_of is not None:
            return self.frame_of(self)
        picture = np.zeros((31, 45, 3), np.uint8)
        if not self.closed:
            picture[10, self.position % 45] = 255
        return picture

    def close(self):
        self.closed = True


def count_frames(path) -> int:
    command = [find_ffmpeg(), "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "gray", "-"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    return len(data) // (32 * 46)  # even sizes


# --- without a display ---

WITHOUT_A_DISPLAY = """
import os, shutil, sys
assert "DISPLAY" not in os.environ and shutil.which("Xvfb") is None
from course_utils.machine import display
import gymnasium
with display.virtual_display() as message:
    assert "Xvfb is not installed" in message
folder = sys.argv[1]
for name in ("CartPole-v1", "ALE/Pong-v5"):
    path = display.record(name, path=f"{folder}/{name.split('/')[-1]}.mp4", max_steps=30)
    env = gymnasium.make(name, render_mode="rgb_array")
    env.reset(seed=0)
    frame = display.render_frame(env)
    print(name, frame.shape, frame.dtype, display.why_unplayable(path))
"""


def test_cartpole_and_pong_draw_without_display_and_xvfb(tmp_path):
    empty = tmp_path / "bin"
    empty.mkdir()
    kept = ("HOME", "LANG", "TMPDIR")  # neither DISPLAY nor SDL_VIDEODRIVER
    environ = {name: os.environ[name] for name in kept if name in os.environ} | {"PATH": str(empty)}
    command = [sys.executable, "-c", WITHOUT_A_DISPLAY, str(tmp_path)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "CartPole-v1 (400, 600, 3) uint8 None",
        "ALE/Pong-v5 (210, 160, 3) uint8 None",
    ]


def test_import_needs_the_standard_library_alone():
    code = "import sys; from course_utils.machine import card, display; print({'numpy', 'torch'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


# --- single frames ---


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            lambda: gymnasium.make("CartPole-v1"),
            "render_mode is None, so there are no frames: make the environment with",
        ),
        (lambda: Fake("human"), "render_mode is 'human'"),
        (lambda: Fake("rgb_array_list"), "render_mode is 'rgb_array_list'"),
        (lambda: gymnasium.make_vec("CartPole-v1", num_envs=2, render_mode="rgb_array"), "a vector of environments"),
        (lambda: Fake(frame_of=lambda env: None), "returned NoneType instead of a picture: was the environment closed"),
        (lambda: Fake(frame_of=lambda env: []), "returned list instead of a picture"),
        (lambda: Fake(frame_of=lambda env: np.zeros((4, 4), np.uint8)), r"returned uint8 of shape \(4, 4\)"),
        (lambda: Fake(frame_of=lambda env: np.zeros((4, 4, 4), np.uint8)), r"returned uint8 of shape \(4, 4, 4\)"),
        (lambda: Fake(frame_of=lambda env: np.zeros((4, 4, 3))), "returned float64 of shape"),
        (lambda: Fake(frame_of=lambda env: np.zeros((0, 4, 3), np.uint8)), "must be uint8 of shape"),
    ],
)
def test_what_is_no_frame(environment, message):
    with pytest.raises(ValueError, match=message) as caught:
        display.render_frame(environment())
    assert "\n" not in str(caught.value)


def test_a_frame_before_reset():
    with pytest.raises(RuntimeError, match=r"has not started yet: call reset\(\)"):
        display.render_frame(gymnasium.make("CartPole-v1", render_mode="rgb_array"))


def test_a_failing_renderer_is_told_in_one_line_with_its_cure():
    def fails(env):
        raise OSError("an OpenGL platform library has not been loaded\nsecond line")

    robot = type("Robot", (Fake,), {"__module__": "gymnasium.envs.mujoco.robot"})
    with pytest.raises(RuntimeError) as caught:
        display.render_frame(robot(frame_of=fails))
    assert str(caught.value) == (
        "drawing failed (OSError: an OpenGL platform library has not been loaded); this renderer needs "
        "OpenGL without a window: call prepare_rendering() before mujoco is imported"
    )


# --- recordings ---


def test_one_frame_for_the_reset_and_one_for_each_step(tmp_path):
    env = Fake(length=8)
    path = display.record(env, lambda observation: observation % 2, tmp_path / "fake.mp4", episodes=2, seed=5)
    assert count_frames(path) == 2 * (8 + 1)
    assert [call for call in env.calls if call != "step"] == [("reset", 5), ("reset", 6)]
    assert env.actions == [0, 1] * 8
    assert env.closed is False


def test_max_steps_counts_over_all_episodes(tmp_path):
    env = Fake(length=8)
    path = display.record(env, path=tmp_path / "fake.mp4", episodes=5, max_steps=11)
    assert env.calls.count("step") == 11
    assert count_frames(path) == 9 + 4


def test_one_seed_plays_one_random_episode(tmp_path):
    first, again, other = Fake(length=30), Fake(length=30), Fake(length=30)
    for env, seed in ((first, 1), (again, 1), (other, 2)):
        display.record(env, path=tmp_path / "fake.mp4", seed=seed)
    assert first.actions == again.actions != other.actions


def test_a_function_makes_the_environment_and_it_is_closed(tmp_path):
    made = []

    def make():
        made.append(Fake())
        return made[-1]

    display.record(make, path=tmp_path / "fake.mp4")
    assert len(made) == 1 and made[0].closed is True


@pytest.mark.parametrize(("fps", "expected"), [(None, "25 fps"), (10, "10 fps")])
def test_speed(tmp_path, fps, expected):
    path = display.record(Fake(), path=tmp_path / "fake.mp4", fps=fps)
    about = subprocess.run([find_ffmpeg(), "-i", str(path)], capture_output=True, text=True).stderr
    assert expected in about


@pytest.mark.parametrize("mode", [None, "human", "rgb_array_list", "ansi"])
def test_an_environment_without_frames_is_refused_before_any_step(tmp_path, mode):
    env = Fake(mode)
    with pytest.raises(ValueError, match="make the environment with render_mode='rgb_array'"):
        display.record(env, path=tmp_path / "fake.mp4")
    assert env.calls == []
    assert list(tmp_path.iterdir()) == []


def test_an_environment_reused_after_close_is_not_saved(tmp_path):
    env = Fake()
    display.record(env, path=tmp_path / "first.mp4")
    env.close()
    with pytest.raises(ValueError, match=r"all frames are blank, so nothing was saved: .*closed; make a new one"):
        display.record(env, path=tmp_path / "second.mp4")
    assert [file.name for file in tmp_path.iterdir()] == ["first.mp4"]


def test_frames_that_never_change_are_not_saved(tmp_path):
    picture = np.random.default_rng(0).integers(0, 255, (30, 30, 3), np.uint8)
    with pytest.raises(ValueError, match="all frames are the same, so nothing was saved"):
        display.record(Fake(frame_of=lambda env: picture), path=tmp_path / "fake.mp4")
    assert list(tmp_path.iterdir()) == []


def test_an_environment_that_reuses_its_array_is_saved(tmp_path):
    buffer = np.zeros((30, 30, 3), np.uint8)

    def draw(env):
        buffer[:] = 10 * env.position
        return buffer

    assert why_unplayable(display.record(Fake(frame_of=draw), path=tmp_path / "fake.mp4")) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_recording_leaves_the_older_file(tmp_path, error):
    path = display.record(Fake(), path=tmp_path / "fake.mp4")
    before = path.read_bytes()

    def policy(observation):
        if observation == 3:
            raise error
        return 0

    with pytest.raises(error):
        display.record(Fake(), policy, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


INTERRUPTED = """
import sys
from course_utils.machine import display
def policy(observation):
    print("step", flush=True)
    return 0
display.record("MountainCar-v0", policy, sys.argv[1], episodes=100, max_steps=100_000)
"""


def test_a_real_interrupt_leaves_neither_file_nor_process(tmp_path):
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "car.mp4")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout.readline() == "step\n"
    os.killpg(child.pid, signal.SIGINT)
    _, errors = child.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert list(tmp_path.iterdir()) == []
    for _ in range(100):
        if not processes_naming(str(tmp_path)):
            break
        time.sleep(0.05)
    assert processes_naming(str(tmp_path)) == []


def processes_naming(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and folder.name != str(os.getpid()):
            try:
                command = (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            if text in command:
                found.append(command)
    return found


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"policy": 3}, TypeError, "policy is a int: give a function from observation to action"),
        ({"episodes": 0}, ValueError, "episodes is 0: give at least 1"),
        ({"max_steps": 0}, ValueError, "max_steps is 0"),
        ({"fps": 0}, ValueError, "fps is 0: give a number above 0"),
        ({"path": "movie.avi"}, ValueError, r"end the name in \.mp4 or \.gif"),
    ],
)
def test_bad_arguments(tmp_path, monkeypatch, arguments, error, message):
    monkeypatch.chdir(tmp_path)
    env = Fake()
    with pytest.raises(error, match=message):
        display.record(env, **arguments)
    assert env.calls == [] and list(tmp_path.iterdir()) == []
