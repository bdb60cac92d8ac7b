"""`collect`: the machine's raw evidence, in the fields that schema.py describes."""

from __future__ import annotations

import ctypes.util
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import runtime
from ..runtime import View
from . import probes
from .schema import ENVIRONMENT_VARIABLES, VERSION

PACKAGES = (
    "torch", "torchvision", "torchaudio", "numpy", "gymnasium", "gym", "ale-py", "stable-baselines3", "pygame",
    "pygame-ce", "mujoco", "opencv-python", "opencv-python-headless", "opencv-contrib-python",
    "opencv-contrib-python-headless", "imageio-ffmpeg", "moviepy", "nvidia-ml-py", "ray", "setuptools",
)  # fmt: skip
# (name of the font's files, in lower case) that hold Chinese glyphs
_CJK = ("notosanscjk", "notoserifcjk", "sourcehan", "wqy", "simhei", "simsun", "msyh", "droidsansfallback", "uming")
_SMI_SECONDS = 10.0
_CHILD_SECONDS = {"torch": 60.0, "opencv": 30.0, "atari": 30.0, "nvml": 10.0}


def collect(view: View | None = None) -> dict[str, Any]:
    """Look at everything and return nested, JSON-able evidence; never raises, whatever is broken.

    Shell history, tokens and environment variables outside the list are not read; home folders are shortened.
    """
    view = view or View()
    found = probes.gather(
        {
            "platform": lambda: _platform(view), "container": lambda: _container(view),
            "torch": lambda: _torch(view), "driver": lambda: _driver(view),
            "nvidia_smi": lambda: probes.run(["nvidia-smi"], view, _SMI_SECONDS),
            "nvidia_smi_list": lambda: probes.run(["nvidia-smi", "-L"], view, _SMI_SECONDS),
            "nvidia_smi_performance": lambda: probes.run(["nvidia-smi", "-q", "-d", "PERFORMANCE"], view, _SMI_SECONDS),
            "nvml": lambda: _fields(probes.child("nvml", view, _CHILD_SECONDS["nvml"]), "exit_code"),
            "device_nodes": lambda: _device_nodes(view), "environment": lambda: _environment(view),
            "process": _process, "packages": _packages, "atari": lambda: _atari(view),
            "opencv": lambda: _fields(probes.child("opencv", view, _CHILD_SECONDS["opencv"]), "exit_code", "error"),
            "programs": lambda: _programs(view), "libraries": lambda: _libraries(view), "fonts": lambda: _fonts(view),
            "disks": lambda: _disks(view),
            "shared_memory": lambda: {"total_bytes": runtime.shared_memory(view)},
            "memory": lambda: {"limit_bytes": runtime.memory_limit(view)},
            "cpus": lambda: {"usable": runtime.usable_cpus(view), "machine": os.cpu_count()},
        },
        seconds=75.0,
    )  # fmt: skip
    return _scrubbed({"schema": VERSION, **found}, view)


def _fields(values: dict[str, Any], *dropped: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in dropped}


def _platform(view: View) -> dict[str, Any]:
    libc, number = platform.libc_ver()
    if not libc and view.has("/lib/ld-musl-x86_64.so.1"):
        libc = "musl"
    packages = None
    if runtime.is_wsl(view):
        listed = probes.run(
            ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package} ${Version}\n", "*nvidia*"], view, 10
        )
        packages = "\n".join(line for line in listed["text"].splitlines() if line.startswith("ii"))
    return {
        "name": runtime.platform_name(view),
        "system": platform.system(),
        "machine": platform.machine(),
        "kernel": view.read("/proc/version").strip(),
        "python": platform.python_version(),
        "libc": f"{libc} {number}".strip(),
        "driver_packages": packages,
    }


def _container(view: View) -> dict[str, Any]:
    markers = [path for path in ("/.dockerenv", "/run/.containerenv") if view.has(path)]
    return {"inside": runtime.in_container(view), "markers": markers}


def _torch(view: View) -> dict[str, Any]:
    told = probes.child("torch", view, _CHILD_SECONDS["torch"])
    conda = sorted(Path(sys.prefix, "conda-meta").glob("pytorch-[0-9]*.json"))
    build = None
    if conda:
        try:
            build = json.loads(conda[-1].read_text(encoding="utf-8")).get("build")
        except (OSError, ValueError):
            build = "unreadable"
    # Names that the description does not know ("available_error") go into the warnings.
    failed = [f"{name}: {value}" for name, value in told.items() if name.endswith("_error") and name != "import_error"]
    told = {name: value for name, value in told.items() if not name.endswith("_error") or name == "import_error"}
    if failed:
        told["warnings"] = "\n".join([told.get("warnings", ""), *failed]).strip()
    if told.get("import_error"):
        told["version"] = None
    return {**told, "conda_build": build}


def _driver(view: View) -> dict[str, Any]:
    loaded = view.read("/proc/driver/nvidia/version")
    names = [line.split()[0] for line in view.read("/proc/modules").splitlines() if line.strip()]
    cards = {"0x10de": 0, "0x1002": 0}
    for device in probes.listing(view, "/sys/bus/pci/devices"):
        vendor = view.read(f"/sys/bus/pci/devices/{device}/vendor").strip()
        kind = view.read(f"/sys/bus/pci/devices/{device}/class").strip()
        if vendor in cards and kind.startswith("0x03"):  # class 03: display controllers
            cards[vendor] += 1
    log = probes.run(["dmesg"], view, 5)
    lines = [line for line in log["text"].splitlines() if re.search(r"NVRM|\bXid\b|nouveau", line)]
    return {
        "proc_version": loaded.strip() or None,
        "modules": [name for name in names if re.match(r"nvidia|nouveau|amdgpu", name)],
        "nvidia_cards": cards["0x10de"],
        "amd_cards": cards["0x1002"],
        "kernel_log": "\n".join(lines[-40:]) if log["exit_code"] == 0 else None,
    }


def _device_nodes(view: View) -> dict[str, Any]:
    names = [
        f"/dev/{name}"
        for name in probes.listing(view, "/dev")
        if re.fullmatch(r"nvidia[\w-]*|nvhost-gpu|dxg|kfd", name)
    ]
    files = [name for name in names if not view.path(name).is_dir()]
    denied = [name for name in files if not os.access(view.path(name), os.R_OK | os.W_OK)]
    return {"present": files, "denied": denied}


def _environment(view: View) -> dict[str, Any]:
    return {name: view.environ.get(name) for name in ENVIRONMENT_VARIABLES}


def _process() -> dict[str, Any]:
    """Look at this very process: in a notebook, the kernel. Nothing is imported and CUDA is not started."""
    torch = sys.modules.get("torch")
    started = bool(torch and torch.cuda.is_initialized())
    try:
        entries = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:
        entries = []
    first = dict(entry.decode("utf-8", "replace").partition("=")[::2] for entry in entries if entry)
    watched = ("CUDA_VISIBLE_DEVICES", "MUJOCO_GL", "PYOPENGL_PLATFORM", "SDL_VIDEODRIVER")
    return {
        "cuda_initialised": started,
        "device_count": torch.cuda.device_count() if torch and started else None,
        "modules": [name for name in ("torch", "pygame", "mujoco") if name in sys.modules],
        "changed_variables": [name for name in watched if entries and first.get(name) != os.environ.get(name)],
    }


def _packages() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except Exception:  # damaged metadata raises more than PackageNotFoundError
            found[name] = None
    return found


def _atari(view: View) -> dict[str, Any]:
    told = _fields(probes.child("atari", view, _CHILD_SECONDS["atari"]), "exit_code", "error")
    conda = bool(list(Path(sys.prefix, "conda-meta").glob("ale-py-*.json")))
    return {**told, "installer": "conda" if conda else "pip"}


def _programs(view: View) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("Xvfb", "ffmpeg", "swig"):
        found[name] = probes.run([name, "-version" if name != "Xvfb" else "-help"], view, 5)["path"]
    try:
        binaries = metadata.files("imageio-ffmpeg") or []
    except metadata.PackageNotFoundError:
        binaries = []
    places = [str(file.locate()) for file in binaries if re.search(r"binaries/ffmpeg-[\w.-]+$", str(file))]
    found["imageio_ffmpeg"] = next((place for place in places if os.path.exists(place)), None)
    return found


def _libraries(view: View) -> dict[str, Any]:
    found: dict[str, Any] = {name: ctypes.util.find_library(name) for name in ("EGL", "OSMesa", "GL")}
    listed = probes.run(["ldconfig", "-p"], view, 5)["text"]
    match = re.search(r"libcuda\.so\.1 .*=> (\S+)", listed)
    found["cuda"] = match.group(1) if match else ctypes.util.find_library("cuda")
    folders = [folder for folder in view.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if folder]
    pattern = re.compile(r"lib(cudnn|cublas|cudart|nccl)\w*\.so")
    found["shadowing"] = [
        f"{folder}/{name}" for folder in folders for name in probes.listing(view, folder) if pattern.match(name)
    ][:20]
    return found


def _fonts(view: View) -> dict[str, Any]:
    folders = [view.path("/usr/share/fonts"), view.path("/usr/local/share/fonts")]
    home = view.environ.get("HOME")
    folders += [Path(home, ".local/share/fonts"), Path(home, ".fonts")] if home else []
    names: list[str] = []
    for folder in folders:
        for _, _, files in os.walk(folder):
            names += [name for name in files if any(part in name.lower().replace("-", "") for part in _CJK)]
    return {"cjk": sorted(set(names))[:10]}


def _disks(view: View) -> dict[str, Any]:
    course = runtime.course_home(view)
    while not course.exists() and course != course.parent:
        course = course.parent
    places = {"home": Path(view.environ.get("HOME") or "/"), "temporary": view.path("/tmp"), "course": course}
    return probes.gather({name: _disk_probe(view, place) for name, place in places.items()}, seconds=10.0)


def _disk_probe(view: View, place: Path) -> Callable[[], dict[str, Any]]:
    def probe() -> dict[str, Any]:
        size = view.statvfs(place)
        return {
            "path": str(place),
            "total_bytes": size.f_frsize * size.f_blocks,
            "free_bytes": size.f_frsize * size.f_bavail,
            "total_inodes": size.f_files,
            "free_inodes": size.f_favail,
        }

    return probe


def _scrubbed(value: Any, view: View) -> Any:
    """Shorten home folders to "~", so that no user's name leaves the machine."""
    if isinstance(value, dict):
        return {name: _scrubbed(inner, view) for name, inner in value.items()}
    if isinstance(value, list):
        return [_scrubbed(inner, view) for inner in value]
    if not isinstance(value, str):
        return value
    home = view.environ.get("HOME") or ""
    text = value.replace(home, "~") if len(home) > 1 else value
    return re.sub(r"(/home|/Users|/mnt/\w/Users)/[^/\s:;,'\"]+", r"\1/~", text)
