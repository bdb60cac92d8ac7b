"""Videos: what is written plays in a browser, what does not is refused, and nothing half-made stays."""

from __future__ import annotations

import base64
import os
import re
import subprocess

import numpy as np
import pytest
from PIL import Image

from course_utils.machine import video
from course_utils.machine.video import VideoWriter, embedded_size, show_video, side_by_side, why_unplayable


def frames(count: int, height: int = 40, width: int = 60) -> list[np.ndarray]:
    """A white square that moves to the right over blue."""
    pictures = []
    for index in range(count):
        picture = np.zeros((height, width, 3), np.uint8)
        picture[..., 2] = 200
        picture[5:15, index % (width - 10) : index % (width - 10) + 10] = 255
        pictures.append(picture)
    return pictures


def write(path, pictures, frames_per_second=20):
    writer = VideoWriter(path, frames_per_second)
    for picture in pictures:
        writer.add(picture)
    return writer.finish()


def decode(path, height, width) -> np.ndarray:
    command = [video.find_ffmpeg(), "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    data = subprocess.run(command, capture_output=True, check=True).stdout
    return np.frombuffer(data, np.uint8).reshape(-1, height, width, 3)


def test_h264_with_the_frames_that_went_in(tmp_path):
    path = write(tmp_path / "new folder" / "square.mp4", frames(25))
    about = subprocess.run([video.find_ffmpeg(), "-i", str(path)], capture_output=True, text=True).stderr
    assert re.search(r"Video: h264 .*avc1.*yuv420p.*60x40.* 20 fps", about)
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")  # a browser can start before it has the whole file
    assert why_unplayable(path) is None
    decoded = decode(path, 40, 60)
    assert len(decoded) == 25
    assert np.abs(decoded[10].astype(int) - frames(25)[10]).mean() < 8
    assert [file.name for file in path.parent.iterdir()] == ["square.mp4"]


@pytest.mark.parametrize(("height", "width"), [(41, 61), (1, 1), (210, 161)])
def test_odd_sizes_are_padded(tmp_path, height, width):
    path = write(tmp_path / "odd.mp4", [np.full((height, width, 3), 50 * i, np.uint8) for i in range(4)])
    assert len(decode(path, height + height % 2, width + width % 2)) == 4


def test_a_changed_size_is_refused(tmp_path):
    writer = VideoWriter(tmp_path / "video.mp4", 20)
    writer.add(frames(1)[0])
    with pytest.raises(ValueError, match=r"changed its size from \(40, 60, 3\) to \(42, 60, 3\)"):
        writer.add(frames(1, height=42)[0])
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_abort_and_no_frames_keep_the_older_file(tmp_path):
    path = tmp_path / "video.mp4"
    path.write_bytes(b"older")
    writer = VideoWriter(path, 20)
    writer.add(frames(1)[0])
    writer.abort()
    with pytest.raises(ValueError, match="there are no frames"):
        VideoWriter(path, 20).finish()
    assert path.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("when", ["while writing", "at the end"])
def test_an_ffmpeg_that_dies_is_reported_and_leaves_nothing(tmp_path, monkeypatch, when):
    program = tmp_path / "ffmpeg"
    reads = "" if when == "while writing" else "cat > /dev/null; "
    program.write_text(f"#!/bin/sh\n{reads}echo 'av_interleaved_write_frame(): No space left on device' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(video, "find_ffmpeg", lambda: str(program))
    folder = tmp_path / "out"
    with pytest.raises(RuntimeError, match=r"ffmpeg stopped: .*No space left on device .nothing was saved"):
        write(folder / "video.mp4", frames(2000))
    assert list(folder.iterdir()) == []


def test_an_ffmpeg_that_writes_nothing_useful_is_noticed(tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text('#!/bin/sh\ncat > /dev/null\nfor last; do :; done\n: > "$last"\n')
    program.chmod(0o755)
    monkeypatch.setattr(video, "find_ffmpeg", lambda: str(program))
    with pytest.raises(RuntimeError, match="is empty"):
        write(tmp_path / "out" / "video.mp4", frames(3))
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["video", "video.avi", "video.webm"])
def test_other_suffixes(tmp_path, name):
    with pytest.raises(ValueError, match=r"end the name in \.mp4 or \.gif"):
        VideoWriter(tmp_path / name, 20)


@pytest.mark.parametrize("frames_per_second", [0, -1, float("nan")])
def test_bad_speed(tmp_path, frames_per_second):
    with pytest.raises(ValueError, match="give a number above 0"):
        VideoWriter(tmp_path / "video.mp4", frames_per_second)


# --- without ffmpeg ---


def test_no_ffmpeg_makes_an_animated_image_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(video, "find_ffmpeg", lambda: None)
    with pytest.warns(UserWarning, match=r"no ffmpeg .* video\.gif instead .*pip install imageio-ffmpeg"):
        path = write(tmp_path / "video.mp4", frames(12))
    assert path == tmp_path / "video.gif"
    with Image.open(path) as image:
        assert (image.n_frames, image.size, image.info["duration"]) == (12, (60, 40), 50)
    assert '<img src="data:image/gif;base64,' in show_video(path).data


def test_a_long_animation_is_thinned_and_keeps_its_length(tmp_path):
    count = 2 * video.IMAGE_FRAMES + 50
    path = write(tmp_path / "long.gif", [np.full((4, 700, 3), i % 256, np.uint8) for i in range(count)], 50)
    with Image.open(path) as image:
        assert image.n_frames <= video.IMAGE_FRAMES
        assert image.width == video.IMAGE_WIDTH
        seconds = 0.0
        for index in range(image.n_frames):
            image.seek(index)
            seconds += image.info["duration"] / 1000
    assert seconds == pytest.approx(count / 50, rel=0.02)


@pytest.fixture
def fresh_search():
    video.find_ffmpeg.cache_clear()
    yield
    video.find_ffmpeg.cache_clear()


def test_an_ffmpeg_without_h264_is_no_ffmpeg(tmp_path, monkeypatch, fresh_search):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho ' V..... mpeg4  MPEG-4 part 2'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("IMAGEIO_FFMPEG_EXE", str(program))
    assert video.find_ffmpeg() is None
    program.write_text("#!/bin/sh\necho ' V..... libx264  H.264'\n")
    video.find_ffmpeg.cache_clear()
    assert video.find_ffmpeg() == str(program)


# --- reading files ---


def box(kind: bytes, content: bytes = b"") -> bytes:
    return (len(content) + 8).to_bytes(4, "big") + kind + content


def mp4(tag: bytes, settings: bytes = b"", data: bytes = b"", other_tracks: bytes = b"") -> bytes:
    entries = bytes(4) + (1).to_bytes(4, "big") + box(tag, bytes(78) + settings)
    track = box(b"trak", box(b"mdia", box(b"minf", box(b"stbl", box(b"stsd", entries)))))
    return box(b"ftyp", b"isom") + box(b"moov", other_tracks + track) + box(b"mdat", data)


SOUND = box(
    b"trak", box(b"mdia", box(b"minf", box(b"stbl", box(b"stsd", bytes(4) + b"\0\0\0\1" + box(b"mp4a", bytes(28))))))
)
HIGH = box(b"avcC", b"\x01\x64\x00\x1f")
HIGH_444 = box(b"avcC", b"\x01\xf4\x00\x1f")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (mp4(b"avc1", HIGH), None),
        (mp4(b"avc1", HIGH, other_tracks=SOUND), None),
        (mp4(b"av01"), None),
        (mp4(b"mp4v"), "the codec 'mp4v', which browsers do not play: record it again as H.264"),
        (mp4(b"mp4v", data=b"avc1"), "the codec 'mp4v'"),
        (mp4(b"avc1", HIGH_444), "unusual colours.*yuv420p"),
        (box(b"ftyp", b"isom") + box(b"mdat", b"avc1" * 9), "cut off, or is no mp4"),
        (mp4(b"avc1", HIGH, bytes(500))[:-100], "cut off, or is no mp4"),
        (box(b"ftyp", b"isom") + box(b"moov", SOUND), "cut off, or is no mp4"),
        (b"\x00" * 5000, "cut off, or is no mp4"),
        (b"this is text", "cut off, or is no mp4"),
        (b"", "is empty"),
    ],
)
def test_playability_is_read_from_the_boxes(tmp_path, content, reason):
    path = tmp_path / "video.mp4"
    path.write_bytes(content)
    found = why_unplayable(path)
    if reason is None:
        assert found is None
        assert "<video" in show_video(path).data
    else:
        assert re.search(reason, found)
        with pytest.raises(ValueError, match=reason):
            show_video(path)


def test_a_box_with_a_64_bit_size(tmp_path):
    path = tmp_path / "video.mp4"
    large = (1).to_bytes(4, "big") + b"mdat" + (16 + 7).to_bytes(8, "big") + bytes(7)
    path.write_bytes(large + mp4(b"avc1", HIGH))
    assert why_unplayable(path) is None


def test_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file gone\.mp4: record it first"):
        show_video(tmp_path / "gone.mp4")


# --- showing ---


def test_a_small_file_is_embedded_whole(tmp_path):
    path = tmp_path / "small.mp4"
    path.write_bytes(mp4(b"avc1", HIGH, os.urandom(1_000_000)))
    data = re.search(r'src="data:video/mp4;base64,([^"]+)"', show_video(path).data).group(1)
    assert base64.b64decode(data) == path.read_bytes()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 1000])
def test_embedded_size_is_what_base64_gives(size):
    assert embedded_size(size) == len(base64.b64encode(bytes(size)))


def test_a_large_file_is_linked_with_reason_and_size(tmp_path, monkeypatch):
    folder = tmp_path / "course home"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    path = folder / "large.mp4"
    start = mp4(b"avc1", HIGH)[:-8]
    with path.open("wb") as file:
        file.write(start + (60_000_000).to_bytes(4, "big") + b"mdat")
        file.truncate(len(start) + 60_000_000)
    shown = show_video(path).data
    assert '<a href="course%20home/large.mp4"' in shown
    assert "has 60.0 MB and would add 80.0 MB" in shown
    assert "base64" not in shown and len(shown) < 1000


def test_side_by_side_shares_the_limit(tmp_path):
    for name in ("random", "trained"):
        (tmp_path / f"{name}.mp4").write_bytes(mp4(b"avc1", HIGH, bytes(3000)))
    videos = {"random <agent>": tmp_path / "random.mp4", "trained": tmp_path / "trained.mp4"}
    both = side_by_side(videos, max_bytes=9000).data
    assert both.count("<video") == 2
    assert "random &lt;agent&gt;" in both and both.index("random &lt;") < both.index("<figcaption>trained")
    assert side_by_side(videos, max_bytes=4000).data.count("<a href=") == 2
