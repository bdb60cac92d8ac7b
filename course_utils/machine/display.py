"""Draw environments on machines without a screen: single frames and recordings.

What a renderer needs is in `headless`, how a video is written in `video`; what notebooks use of them is here too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_utils.machine.headless import prepare_rendering, register_environments, renderer_of, virtual_display
from course_utils.machine.video import VideoWriter, show_video, side_by_side, why_unplayable

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "prepare_rendering",
    "record",
    "render_frame",
    "renderer_of",
    "show_video",
    "side_by_side",
    "virtual_display",
    "why_no_frames",
    "why_unplayable",
]


def why_no_frames(environment: Any) -> str | None:
    """Return why an environment was not made to give pictures, and the cure; None: it was. It is left untouched."""
    if hasattr(environment, "num_envs"):
        return "this is a vector of environments: give a single one, made with gymnasium.make"
    mode = getattr(environment, "render_mode", None)
    if mode != "rgb_array":
        return f"render_mode is {mode!r}, so there are no frames: make the environment with render_mode='rgb_array'"
    return None


def render_frame(environment: Any) -> np.ndarray:
    """Return the current picture, (H, W, 3) uint8 with red, green, blue in 0..255.

    Raises ValueError when the environment cannot give frames, RuntimeError when its renderer fails.
    """
    import numpy as np

    reason = why_no_frames(environment)
    if reason:
        raise ValueError(reason)
    try:
        frame = environment.render()
    except Exception as error:
        if type(error).__name__ == "ResetNeeded":
            raise RuntimeError("the environment has not started yet: call reset() before drawing it") from error
        reason = (str(error).strip().splitlines() or [""])[0]
        needs = renderer_of(environment).needs
        cure = f"; this renderer needs {needs}" if needs else ""
        raise RuntimeError(f"drawing failed ({type(error).__name__}: {reason}){cure}") from error
    if not isinstance(frame, np.ndarray):
        raise ValueError(f"render() returned {type(frame).__name__} instead of a picture: was the environment closed?")
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or frame.size == 0:
        raise ValueError(f"render() returned {frame.dtype} of shape {frame.shape}: it must be uint8 of shape (H, W, 3)")
    return frame


def record(
    environment: Any,
    policy: Callable[[Any], Any] | None = None,
    path: Path | str = "video.mp4",
    *,
    episodes: int = 1,
    max_steps: int = 2_000,
    seed: int = 0,
    fps: float | None = None,
) -> Path:
    """Play episodes, write what they look like to `path` (H.264 mp4) and return the path.

    `environment` is an environment (left open), or an id or a function that makes one (closed here). `policy` maps an
    observation to an action; None acts at random. `max_steps` counts over all episodes. Without an ffmpeg the result
    is an animated GIF, and the path returned says so. An error or an interrupt saves nothing and keeps an older file.
    Raises ValueError for an environment without frames, before any step, and for a recording in which nothing moves.
    """
    if policy is not None and not callable(policy):
        raise TypeError(f"policy is a {type(policy).__name__}: give a function from observation to action")
    for name, value in (("episodes", episodes), ("max_steps", max_steps)):
        if value < 1:
            raise ValueError(f"{name} is {value}: give at least 1")
    made_here = isinstance(environment, str) or (callable(environment) and not hasattr(environment, "step"))
    if isinstance(environment, str):
        import gymnasium

        register_environments(environment)
        env = gymnasium.make(environment, render_mode="rgb_array")
    else:
        env = environment() if made_here else environment
    try:
        reason = why_no_frames(env)
        if reason:
            raise ValueError(reason)
        metadata = getattr(env, "metadata", None) or {}
        writer = VideoWriter(path, metadata.get("render_fps", 30) if fps is None else fps)
        try:
            _write(_frames(env, policy, episodes, max_steps, seed), writer)
            return writer.finish()
        finally:
            writer.abort()
    finally:
        if made_here:
            env.close()


def _frames(env: Any, policy: Any, episodes: int, max_steps: int, seed: int) -> Iterator[np.ndarray]:
    """Play and yield a picture after each reset and each step."""
    if policy is None:
        env.action_space.seed(seed)
    steps = 0
    for episode in range(episodes):
        observation, _ = env.reset(seed=seed + episode)
        yield render_frame(env)
        ended = False
        while not ended and steps < max_steps:
            action = env.action_space.sample() if policy is None else policy(observation)
            observation, _, terminated, truncated, _ = env.step(action)
            steps += 1
            ended = terminated or truncated
            yield render_frame(env)
        if steps == max_steps:
            break


def _write(frames: Iterator[np.ndarray], writer: VideoWriter) -> None:
    first, moves = None, False
    for frame in frames:
        writer.add(frame)
        first = frame.copy() if first is None else first  # some environments draw into the same array again
        moves = moves or bool((frame != first).any())
    if not moves:
        blank = "blank" if first.min() == first.max() else "the same"
        raise ValueError(
            f"all frames are {blank}, so nothing was saved: the environment was probably closed; make a new one"
        )
