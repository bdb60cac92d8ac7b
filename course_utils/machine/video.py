"""Write frames to a video that browsers play, and show videos in a notebook."""

from __future__ import annotations

import base64
import html
import mmap
import os
import shutil
import subprocess
import tempfile
import urllib.parse
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from course_utils.machine.doctor import probes
from course_utils.machine.runtime import HERE, usable_cpus

if TYPE_CHECKING:
    import numpy as np
    from IPython.display import HTML

EMBED_BYTES = 5_000_000
# Codec tags that current browsers play inside mp4. The tag of MPEG-4 part 2, OpenCV's habit, is "mp4v".
BROWSER_CODECS = ("avc1", "avc3", "vp09", "av01")
# H.264 profiles with 8 bits and 4:2:0 colour (baseline, main, extended, high). Browsers refuse most others.
BROWSER_H264_PROFILES = (66, 77, 88, 100)
# An animated image keeps every frame as a picture, so it is thinned and shrunk.
IMAGE_FRAMES = 300
IMAGE_WIDTH = 320


@cache
def find_ffmpeg() -> str | None:
    """Return a working ffmpeg that writes H.264, imageio-ffmpeg's or the one on PATH; None: there is none."""
    candidates = [shutil.which("ffmpeg")]
    with suppress(ImportError, RuntimeError):
        import imageio_ffmpeg

        candidates.insert(0, imageio_ffmpeg.get_ffmpeg_exe())
    for program in filter(None, candidates):
        # Some distributions build ffmpeg without the H.264 encoder.
        if "libx264" in probes.run([program, "-hide_banner", "-encoders"], HERE, 20)["text"]:
            return program
    return None


class VideoWriter:
    """Write (H, W, 3) uint8 frames one at a time; nothing is at `path` until `finish` put the whole file there.

    Without an ffmpeg the file is an animated GIF, and `path` says so.
    """

    def __init__(self, path: Path | str, frames_per_second: float) -> None:
        path = Path(path)
        suffix = path.suffix.lower()
        if suffix not in (".mp4", ".gif"):
            raise ValueError(f"cannot write {path.name!r}: end the name in .mp4 or .gif")
        if not frames_per_second > 0:
            raise ValueError(f"fps is {frames_per_second!r}: give a number above 0")
        self._ffmpeg = find_ffmpeg() if suffix == ".mp4" else None
        if suffix == ".mp4" and self._ffmpeg is None:
            path = path.with_suffix(".gif")
            warnings.warn(
                f"no ffmpeg with H.264 here: writing the animated image {path.name} instead "
                "(for a video: pip install imageio-ffmpeg)",
                stacklevel=3,
            )
        self.path = path
        self._frames_per_second = frames_per_second
        path.parent.mkdir(parents=True, exist_ok=True)
        # The suffix tells ffmpeg the format. The same folder, since a rename across disks is a copy.
        self._partial = path.with_name(f".{path.stem}-{os.getpid()}.partial{path.suffix}")
        self._shape: tuple[int, ...] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: IO[bytes] | None = None
        self._pictures: list[Any] = []
        self._stride = 1
        self._count = 0

    def add(self, frame: np.ndarray) -> None:
        """Append a frame. Raises ValueError when its size differs from the first, RuntimeError when ffmpeg stopped."""
        if self._shape is None:
            self._shape = frame.shape
            if self._ffmpeg:
                self._start(frame)
        if frame.shape != self._shape:
            raise ValueError(f"the frame changed its size from {self._shape} to {frame.shape}: record one environment")
        if self._process is None:
            self._add_picture(frame)
        else:
            try:
                self._process.stdin.write(frame.tobytes())
            except BrokenPipeError:
                raise RuntimeError(self._failure()) from None
        self._count += 1

    def _start(self, frame: np.ndarray) -> None:
        height, width, _ = frame.shape
        self._messages = tempfile.TemporaryFile()
        command = [self._ffmpeg, "-hide_banner", "-loglevel", "error", "-y"]
        command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}"]
        command += ["-r", str(self._frames_per_second), "-i", "-", "-an"]
        # H.264 with 4:2:0 colour has even sizes; the index first lets a browser start before it has the whole file.
        command += ["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-c:v", "libx264", "-pix_fmt", "yuv420p"]
        command += ["-preset", "veryfast", "-crf", "20", "-threads", str(usable_cpus())]
        command += ["-movflags", "+faststart", str(self._partial)]
        # Its own session: an interrupt of the notebook must reach this writer, not ffmpeg behind its back.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._messages,
            start_new_session=True,
        )

    def _add_picture(self, frame: np.ndarray) -> None:
        from PIL import Image

        if self._count % self._stride:
            return
        picture = Image.fromarray(frame)
        picture.thumbnail((IMAGE_WIDTH, IMAGE_WIDTH * picture.height // picture.width + 1))
        self._pictures.append(picture.quantize())
        if len(self._pictures) > IMAGE_FRAMES:
            self._pictures = self._pictures[::2]
            self._stride *= 2

    def _failure(self) -> str:
        self._process.wait(timeout=10)
        self._messages.seek(0)
        lines = self._messages.read().decode("utf-8", "replace").strip().splitlines() or ["no message"]
        return f"ffmpeg stopped: {lines[-1]} (nothing was saved; is the disk full?)"

    def finish(self) -> Path:
        """Complete the file, check that it can be played, put it at `path` and return that path."""
        try:
            if self._count == 0:
                raise ValueError("there are no frames: nothing was saved")
            if self._process is None:
                first, *others = self._pictures
                # GIF counts in hundredths of a second, and browsers slow down anything under two.
                pause = max(20, round(1000 * self._stride / self._frames_per_second))
                first.save(self._partial, save_all=True, append_images=others, duration=pause, loop=0)
            else:
                with suppress(BrokenPipeError):
                    self._process.stdin.close()
                if self._process.wait(timeout=600) != 0:
                    raise RuntimeError(self._failure())
            reason = why_unplayable(self._partial)
            if reason:
                raise RuntimeError(f"{reason} (nothing was saved)")
            os.replace(self._partial, self.path)
        finally:
            self.abort()
        return self.path

    def abort(self) -> None:
        """Stop and remove what is not finished; a video that was at `path` before stays."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            with suppress(OSError):
                self._process.stdin.close()
            self._messages.close()
            self._process = None
        self._partial.unlink(missing_ok=True)


# --- what is in a file ---


def _boxes(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Yield (kind, start of content, end) of the mp4 boxes between two offsets; stop at the first broken one."""
    while start + 8 <= end:
        size, kind, header = int.from_bytes(data[start : start + 4], "big"), data[start + 4 : start + 8], 8
        if size == 1:  # the size does not fit into 32 bits and follows
            size, header = int.from_bytes(data[start + 8 : start + 16], "big"), 16
        elif size == 0:  # up to the end
            size = end - start
        if size < header or start + size > end:
            return
        yield kind, start + header, start + size
        start += size


def _entries(data: mmap.mmap) -> list[bytes]:
    """Return the sample entries of all tracks, each from its codec tag on."""
    spans = [(0, len(data))]
    for wanted in (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsd"):
        spans = [(first, last) for span in spans for kind, first, last in _boxes(data, *span) if kind == wanted]
    found = [box for first, last in spans for box in _boxes(data, first + 8, last)]
    return [tag + data[first : min(last, first + 4096)] for tag, first, last in found]


def _image_kind(path: Path) -> str:
    """Return "gif" or "webp" for an animated image, by its first bytes, and an empty text for another file."""
    with path.open("rb") as file:
        start = file.read(12)
    return "gif" if start[:4] == b"GIF8" else "webp" if start[8:12] == b"WEBP" else ""


def why_unplayable(path: Path | str) -> str | None:
    """Return why a browser would not play this mp4 or animated image, read from its bytes; None: it would."""
    path = Path(path)
    if not path.is_file():
        return f"there is no file {path.name}: record it first"
    if path.stat().st_size == 0:
        return f"{path.name} is empty: record it again"
    if _image_kind(path):
        return None
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        whole = max((end for _, _, end in _boxes(data, 0, len(data))), default=0) == len(data)
        entries = _entries(data)
    entries = [entry for entry in entries if entry[:4] not in (b"mp4a", b"Opus", b"ac-3", b"tx3g")]
    if not entries or not whole:
        return f"{path.name} is cut off, or is no mp4 video: record it again"
    tag = entries[0][:4].decode("latin-1")
    if tag not in BROWSER_CODECS:
        return f"{path.name} has the codec {tag!r}, which browsers do not play: record it again as H.264"
    settings = entries[0].find(b"avcC")
    profile = entries[0][settings + 5 : settings + 6]
    if settings >= 0 and profile and profile[0] not in BROWSER_H264_PROFILES:
        return f"{path.name} is H.264 with unusual colours, which browsers do not play: record it with yuv420p"
    return None


# --- showing ---


def embedded_size(file_bytes: int) -> int:
    """Return how many bytes of text a file becomes in a notebook: base64, RFC 4648, 4 letters for 3 bytes begun."""
    return 4 * ((file_bytes + 2) // 3)


def _tag(path: Path, max_bytes: int, label: str) -> str:
    reason = why_unplayable(path)
    if reason:
        raise ValueError(reason)
    size = path.stat().st_size
    if embedded_size(size) > max_bytes:
        link = urllib.parse.quote(os.path.relpath(path))
        return (
            f'<a href="{link}" download>{html.escape(path.name)}</a> has {size / 1e6:.1f} MB '
            f"and would add {embedded_size(size) / 1e6:.1f} MB of text to the notebook. "
            f"More than {max_bytes / 1e6:.1f} MB makes a notebook heavy, so it is linked, not embedded. "
            "If the link does not open, download the file in the file browser."
        )
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    name = html.escape(label or path.stem, quote=True)
    style = 'style="max-width:100%"'
    if kind := _image_kind(path):
        return f'<img src="data:image/{kind};base64,{data}" alt="{name}" {style}>'
    return (
        f'<video controls loop muted playsinline aria-label="{name}" {style} '
        f'src="data:video/mp4;base64,{data}"></video>'
    )


def show_video(path: Path | str, max_bytes: int = EMBED_BYTES) -> HTML:
    """Return a notebook output that plays the file, embedded where this adds at most `max_bytes`, else as a link.

    Raises ValueError when a browser would not play the file.
    """
    from IPython.display import HTML

    return HTML(_tag(Path(path), max_bytes, ""))


def side_by_side(videos: Mapping[str, Path | str], max_bytes: int = EMBED_BYTES) -> HTML:
    """Return a notebook output with the videos next to each other under their labels; `max_bytes` is for all."""
    from IPython.display import HTML

    figures = [
        f'<figure style="margin:0;flex:1 1 240px"><figcaption>{html.escape(label)}</figcaption>'
        f"{_tag(Path(path), max_bytes // len(videos), label)}</figure>"
        for label, path in videos.items()
    ]
    return HTML(f'<div style="display:flex;flex-wrap:wrap;gap:1em">{"".join(figures)}</div>')
