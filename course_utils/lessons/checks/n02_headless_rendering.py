"""Judges of notebook 02: environments that give no frames, MuJoCo's backend, the size of an embedded video."""

from __future__ import annotations

import contextlib
import inspect
import io
import math
import numbers
import os
from collections.abc import Callable, Mapping
from typing import Any
from unittest import mock

import gymnasium
from gymnasium.wrappers import RenderCollection

from course_utils.lessons.checks.compare import call, explained
from course_utils.lessons.exercise import Wrong, exercise
from course_utils.machine import display, headless, video


class Watched(gymnasium.Env):
    """An environment that could return pictures in general, and notes whatever is done with it."""

    def __init__(self, render_mode: str | None) -> None:
        self.render_mode = render_mode
        self.done: list[str] = []

    def __setattr__(self, name: str, value: Any) -> None:
        if "done" in vars(self):
            self.done.append(f"changes {name}")
        super().__setattr__(name, value)

    @property
    def metadata(self) -> dict[str, Any]:
        self.done.append("metadata")
        return {"render_modes": ["human", "rgb_array", "rgb_array_list"], "render_fps": 30}

    @property
    def spec(self) -> None:
        self.done.append("spec")

    @property
    def unwrapped(self) -> Watched:
        self.done.append("unwrapped")
        return self

    def reset(self, **_: Any) -> tuple[int, dict[str, Any]]:
        self.done.append("calls reset()")
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.done.append("calls step()")
        return 0, 0.0, False, False, {}

    def render(self) -> None:
        self.done.append("calls render()")

    def close(self) -> None:
        self.done.append("calls close()")


def _watched(mode: str | None) -> tuple[gymnasium.Env, list[str]]:
    """An environment of this mode and the list of what is done with it; gymnasium makes lists with a wrapper."""
    inner = Watched("rgb_array" if mode == "rgb_array_list" else mode)
    environment = RenderCollection(inner) if mode == "rgb_array_list" else inner
    inner.done.clear()
    return environment, inner.done


@exercise(
    reference=display.why_no_frames,
    points=2,
    hints=(
        "The environment itself knows how it was made: environment.render_mode is None or a text.",
        "One mode alone gives single pictures: 'rgb_array'. Compare for equality; all others are refused.",
        "if environment.render_mode != 'rgb_array': return a text with the mode found and the mode to use. Else None.",
    ),
)
def why_no_frames(answer: Callable[[Any], str | None]) -> None:
    _takes(answer, object())
    for environment, done in (_watched("rgb_array"), (gymnasium.make("CartPole-v1", render_mode="rgb_array"), [])):
        reason = _reason(answer, environment, done)
        if reason is not None:
            raise Wrong(
                f"It objects to an environment that was made with render_mode='rgb_array': {reason!r}. "
                "Return None where all is well."
            )
    reasons: dict[str, str | None] = {}
    for mode in (None, "human", "ansi", "rgb_array_list"):
        environment, done = _watched(mode)
        reason = _reason(answer, environment, done)
        if reason is None:
            raise Wrong(_explain_accepted(mode, done))
        if "{" in reason:
            raise Wrong(f"The braces are still in the text {reason!r}: put an f before the quotes.")
        if "rgb_array" not in reason.replace("rgb_array_list", ""):
            raise Wrong(f"The text {reason!r} does not say what to do: name the cure, render_mode='rgb_array'.")
        named = ("none", "without", "not given", "not set", "no render") if mode is None else (mode,)
        if not any(word in reason.lower() for word in named):
            raise Wrong(f"The text {reason!r} does not say which mode was found, here {mode!r}.")
        if reason in reasons:
            raise Wrong(f"It gives the same text for {reasons[reason]!r} and {mode!r}. Say which of them was found.")
        reasons[reason] = mode


def _reason(answer: Callable[[Any], str | None], environment: Any, done: list[str]) -> str | None:
    mode = environment.render_mode
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            reason = answer(environment)
    except NotImplementedError:
        raise
    except Exception as error:
        raise Wrong(_explain_error(error, mode, done)).with_traceback(error.__traceback__) from None
    for what in done:
        if what.startswith(("calls", "changes")):
            raise Wrong(f"It {what} on the environment. Only look at render_mode, before anything is spent.")
    if reason is None and mode != "rgb_array" and printed.getvalue():
        raise Wrong("It prints the text and gives None back. Is a return missing?")
    if reason is not None and not isinstance(reason, str):
        raise Wrong(f"For render_mode={mode!r} it returns {reason!r}. Return a text that says why, or None.")
    return reason


def _explain_error(error: Exception, mode: str | None, done: list[str]) -> str:
    text = f"For render_mode={mode!r} it raises {type(error).__name__}: {error}."
    if isinstance(error, TypeError) and "is not callable" in str(error):
        return f"{text} render_mode is a value: no parentheses."
    if isinstance(error, TypeError) and "NoneType" in str(error):
        return f"{text} A mode that was not given is None, not a text: compare with == or !=."
    if isinstance(error, AttributeError) and "spec" in done:
        return f"{text} Look at environment.render_mode: not every environment has a spec."
    if isinstance(error, AttributeError):
        return f"{text} Look at environment.render_mode."
    return f"{text} Return the reason as a text."


def _explain_accepted(mode: str | None, done: list[str]) -> str:
    text = f"It has no objection to render_mode={mode!r}."
    if "metadata" in done:
        return (
            f"{text} metadata['render_modes'] lists what this kind of environment can do, not how this one was made. "
            "Look at render_mode."
        )
    if "unwrapped" in done:
        return f"{text} Below its wrappers (unwrapped) the mode reads 'rgb_array'. Ask the environment itself."
    why = {
        None: "An environment made without render_mode gives no pictures.",
        "human": "That mode opens a window, and render() returns None.",
        "ansi": "That mode gives text.",
        "rgb_array_list": "That mode gives a list of many pictures. Compare the whole name, not its beginning.",
    }
    return f"{text} {why[mode]}"


@exercise(
    reference=headless.choose_mujoco_backend,
    points=3,
    hints=(
        "Three questions, in this order: did the user set MUJOCO_GL? Is there EGL? Is there OSMesa?",
        "environ.get('MUJOCO_GL') is None when it is not set and '' when it is empty: both count as false.",
        "The last line answers for a machine that has neither library: 'disable', so that MuJoCo at least simulates.",
    ),
)
def choose_mujoco_backend(answer: Callable[..., str]) -> None:
    _takes(answer, {}, egl=True, osmesa=True)
    # A judge also runs in the tests' own process, whose environment must stay as it is.
    with mock.patch.dict(os.environ, MUJOCO_GL=FROM_THE_PROCESS):
        _judge_backends(answer)


def _judge_backends(answer: Callable[..., str]) -> None:
    for environ in ({}, {"HOME": "/root"}):
        for libraries, expected in LIBRARIES:
            result = _backend(answer, environ, *libraries)
            if result != expected:
                raise Wrong(_explain_backend(result, *libraries, expected))
    for mine in ("glfw", "osmesa", "egl", "disable", "wgl", "EGL"):
        for libraries, _ in LIBRARIES:
            result = _backend(answer, {"MUJOCO_GL": mine}, *libraries)
            if result != mine:
                raise Wrong(
                    f"The user has set MUJOCO_GL to {mine!r}, and it gives {result!r}. What is set already is kept as "
                    f"it is, whatever the word and whatever libraries are found (here {_named(*libraries)})."
                )
    result = _backend(answer, {"MUJOCO_GL": "", "HOME": "/root"}, True, False)
    if result != "egl":
        raise Wrong(
            f"MUJOCO_GL is set to an empty text, with EGL installed, and it gives {result!r}. Empty counts as not set."
        )


FROM_THE_PROCESS = "set in the process"
LIBRARIES = (((True, True), "egl"), ((True, False), "egl"), ((False, True), "osmesa"), ((False, False), "disable"))


def _backend(answer: Callable[..., str], environ: Mapping[str, str], egl: bool, osmesa: bool) -> str:
    given = dict(environ)
    try:
        result = answer(given, egl=egl, osmesa=osmesa)
    except KeyError as error:
        raise Wrong(f"It raises KeyError: {error} where the variable is not set. Use environ.get.") from None
    if given.get("MUJOCO_GL", "") not in ("", environ.get("MUJOCO_GL")) or os.environ["MUJOCO_GL"] != FROM_THE_PROCESS:
        raise Wrong("It sets the variable itself. It should only return the value; whoever calls it sets it.")
    if given != environ:
        raise Wrong("It changes environ, which belongs to the caller. Only read it, with environ.get.")
    if result == FROM_THE_PROCESS:
        raise Wrong("It reads os.environ. Look only into the argument environ: then it can be tested with any machine.")
    return result


def _explain_backend(result: Any, egl: bool, osmesa: bool, expected: str) -> str:
    where = f"With {_named(egl, osmesa)} installed and nothing set it gives {result!r} instead of {expected!r}."
    if isinstance(result, str) and result != expected and result.lower() == expected:
        return f"{where} Spell it in small letters."
    if egl and osmesa and result == "osmesa":
        return f"{where} EGL comes first: it can use the graphics card, OSMesa always draws on the CPU."
    if result in (None, ""):
        return f"{where} Without a value MuJoCo takes its default, GLFW, which needs a screen."
    if result == "glfw":
        return f"{where} GLFW opens a window, and there is no screen."
    if result == "egl":
        return f"{where} Forcing EGL where it is not installed makes the import fail, even for those who never draw."
    return where


def _named(egl: bool, osmesa: bool) -> str:
    return {
        (True, True): "EGL and OSMesa",
        (True, False): "only EGL",
        (False, True): "only OSMesa",
        (False, False): "neither EGL nor OSMesa",
    }[egl, osmesa]


@exercise(
    reference=video.embedded_size,
    points=2,
    hints=(
        "How many groups of three bytes does the file have, the last one perhaps not full? Each becomes four letters.",
        "Rounding up without decimals: (file_bytes + 2) // 3 is the number of groups begun.",
        "Four letters for each group begun: 1, 2 and 3 bytes all become 4 letters, 4 bytes become 8.",
    ),
)
@explained({"bytes-like object": "file_bytes is a number, not the bytes of the file: count the groups of three."})
def embedded_size(answer: Callable[[int], int]) -> None:
    results = {size: call(answer, size) for size in (3_000, 1, 2, 3, 4, 5, 0, 1_000, 4_999_999)}
    for message, mistake in MISTAKES.items():
        if all(result == mistake(size) for size, result in results.items()):
            raise Wrong(message)
    for size, result in results.items():
        unit = "byte" if size == 1 else "bytes"
        if result != (expected := 4 * math.ceil(size / 3)):
            given = f"{result:,}" if isinstance(result, numbers.Real) else repr(result)
            raise Wrong(f"For {size:,} {unit} it gives {given} instead of {expected:,}.")
        if not isinstance(result, numbers.Integral):
            raise Wrong(f"For {size:,} {unit} it gives {result!r}, a float. Letters come whole: return an int.")


MISTAKES: dict[str, Callable[[int], float]] = {
    "It gives the size of the file. Base64 makes it a third larger.": lambda n: n,
    "It has no rounding: a last group of 1 or 2 bytes also becomes 4 letters.": lambda n: n * 4 / 3,
    "It rounds down, so the last group is lost when it has only 1 or 2 bytes.": lambda n: n // 3 * 4,
    "It rounds down at the end: a last group of 1 or 2 bytes becomes 4 whole letters.": lambda n: n * 4 // 3,
    "It rounds up at the end, so 1 byte gives 2 letters. The last group is filled up to 4 letters.": lambda n: (
        math.ceil(n * 4 / 3)
    ),
    "It always adds a group, even when the bytes fill the last group exactly.": lambda n: (n // 3 + 1) * 4,
    "It rounds to the nearest group: every group that has begun counts.": lambda n: round(n / 3) * 4,
    "It is the wrong way round: 3 bytes become 4 letters, not 4 bytes 3 letters.": lambda n: math.ceil(n / 4) * 3,
    "It counts bits: base64 is text, and each letter is one byte.": lambda n: 8 * n,
    "It counts line breaks too: an embedded video is one long line.": lambda n: (
        4 * math.ceil(n / 3) + math.ceil(4 * math.ceil(n / 3) / 76)
    ),
}


def _takes(answer: Callable[..., Any], *arguments: Any, **keywords: Any) -> None:
    try:
        inspect.signature(answer).bind(*arguments, **keywords)
    except TypeError as error:
        raise Wrong(f"It cannot be called as the course calls it: {error}. Keep the arguments of the stub.") from None
