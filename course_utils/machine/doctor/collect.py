"""`collect`: the machine's raw evidence, in the fields that catalogue/fields.toml describes."""

import ctypes.util
import importlib.util
import json
import os
import platform
import re
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from .. import runtime
from ..runtime import HERE, View
from . import probes
from .schema import ENVIRONMENT_VARIABLES, PACKAGES, VERSION, pattern_of

# Names of font files with Chinese glyphs, in lower case and without hyphens.
_CJK = r"notosanscjk|notoserifcjk|sourcehan|wqy|simhei|simsun|msyh|droidsansfallback|uming"
_SMI_SECONDS = 10.0
_CHILD_SECONDS = {"torch": 60.0, "opencv": 30.0, "atari": 30.0, "nvml": 10.0}
# CUDA reads the first, the renderers the others, once.
_READ_ONCE = ("CUDA_VISIBLE_DEVICES", "MUJOCO_GL", "PYOPENGL_PLATFORM", "SDL_VIDEODRIVER")


def collect(view: View = HERE) -> dict[str, Any]:
    """Look at everything and return nested, JSON-able evidence; never raises, whatever is broken.

    Shell history, tokens and environment variables outside the list are not read; home folders are shortened.
    """
    found = probes.gather(
        {
            "platform": lambda: _platform(view),
            "container": lambda: {
                "inside": runtime.in_container(view),
                "markers": [path for path in runtime.CONTAINER_FILES if view.has(path)],
            },
            "torch": lambda: _torch(view),
            "driver": lambda: _driver(view),
            "nvidia_smi": lambda: probes.run(["nvidia-smi"], view, _SMI_SECONDS),
            "nvidia_smi_list": lambda: probes.run(["nvidia-smi", "-L"], view, _SMI_SECONDS),
            "nvidia_smi_performance": lambda: probes.run(["nvidia-smi", "-q", "-d", "PERFORMANCE"], view, _SMI_SECONDS),
            "nvml": lambda: _child("nvml", view),
            "device_nodes": lambda: _device_nodes(view),
            "environment": lambda: {name: view.environ.get(name) for name in ENVIRONMENT_VARIABLES},
            "process": _process,
            "packages": lambda: probes.versions(PACKAGES),
            "atari": lambda: _atari(view),
            "opencv": lambda: _child("opencv", view),
            "programs": lambda: _programs(view),
            "libraries": lambda: _libraries(view),
            "fonts": lambda: _fonts(view),
            "disks": lambda: _disks(view),
            "shared_memory": lambda: {"total_bytes": runtime.shared_memory(view)},
            "memory": lambda: {"limit_bytes": runtime.memory_limit(view)},
            "cpus": lambda: {"usable": runtime.usable_cpus(view), "machine": os.cpu_count()},
        },
        seconds=75.0,
    )
    return view.without_names({"schema": VERSION, **found})


def _child(name: str, view: View) -> dict[str, Any]:
    """Return what a probe of child.py told in the fields that are described."""
    told = probes.child(name, view, _CHILD_SECONDS[name])
    return {field: value for field, value in told.items() if pattern_of(f"{name}.{field}")}


def _platform(view: View) -> dict[str, Any]:
    libc, number = platform.libc_ver()
    if not libc and view.has("/lib/ld-musl-x86_64.so.1"):
        libc = "musl"
    packages = None
    if runtime.is_wsl(view):
        line = "${db:Status-Abbrev} ${Package} ${Version}\n"
        listed = probes.run(["dpkg-query", "-W", "-f", line, "*nvidia*"], view, 10)["text"]
        packages = "\n".join(line for line in listed.splitlines() if line.startswith("ii"))
    return {
        "name": runtime.platform_name(view),
        "system": platform.system(),
        "machine": platform.machine(),
        "kernel": view.read("/proc/version").strip(),
        "python": platform.python_version(),
        "libc": f"{libc} {number}".strip(),
        "driver_packages": packages,
    }


def _torch(view: View) -> dict[str, Any]:
    told = probes.child("torch", view, _CHILD_SECONDS["torch"])
    build = None
    for package in sorted(Path(sys.prefix, "conda-meta").glob("pytorch-[0-9]*.json")):
        with suppress(OSError, ValueError):
            build = json.loads(package.read_text(encoding="utf-8")).get("build")
    # Questions that torch answered with an error ("available_error") have no field: they go into the warnings.
    failed = [f"{name}: {told.pop(name)}" for name in list(told) if not pattern_of(f"torch.{name}")]
    if failed:
        told["warnings"] = "\n".join([told.get("warnings", ""), *failed]).strip()
    if told.get("import_error"):
        told["version"] = None
    return {**told, "conda_build": build}


def _driver(view: View) -> dict[str, Any]:
    names = [line.split()[0] for line in view.read("/proc/modules").splitlines() if line.strip()]
    devices = [f"/sys/bus/pci/devices/{name}" for name in view.listing("/sys/bus/pci/devices")]
    displays = [device for device in devices if view.read(f"{device}/class").startswith("0x03")]  # display controllers
    makers = [view.read(f"{device}/vendor").strip() for device in displays]
    log = probes.run(["dmesg"], view, 5)
    lines = [line for line in log["text"].splitlines() if re.search(r"NVRM|\bXid\b|nouveau", line)]
    return {
        "proc_version": view.read("/proc/driver/nvidia/version").strip() or None,
        "modules": [name for name in names if re.match(r"nvidia|nouveau|amdgpu", name)],
        "nvidia_cards": makers.count("0x10de"),
        "amd_cards": makers.count("0x1002"),
        "kernel_log": "\n".join(lines[-40:]) if log["exit_code"] == 0 else None,
    }


def _device_nodes(view: View) -> dict[str, Any]:
    names = [name for name in view.listing("/dev") if re.fullmatch(r"nvidia[\w-]*|nvhost-gpu|dxg|kfd", name)]
    files = [f"/dev/{name}" for name in names if not view.path(f"/dev/{name}").is_dir()]
    denied = [name for name in files if not os.access(view.path(name), os.R_OK | os.W_OK)]
    return {"present": files, "denied": denied}


def _process() -> dict[str, Any]:
    """Look at this very process: in a notebook, the kernel. Nothing is imported and CUDA is not started."""
    torch = sys.modules.get("torch")
    started = bool(torch and torch.cuda.is_initialized())
    first = dict(entry.partition("=")[::2] for entry in HERE.read("/proc/self/environ").split("\0"))
    return {
        "cuda_initialised": started,
        "device_count": torch.cuda.device_count() if torch and started else None,
        "modules": [name for name in ("torch", "pygame", "mujoco") if name in sys.modules],
        "changed_variables": [name for name in _READ_ONCE if any(first) and first.get(name) != os.environ.get(name)],
    }


def _atari(view: View) -> dict[str, Any]:
    conda = list(Path(sys.prefix, "conda-meta").glob("ale-py-*.json"))
    return {**_child("atari", view), "installer": "conda" if conda else "pip"}


def _programs(view: View) -> dict[str, Any]:
    package = importlib.util.find_spec("imageio_ffmpeg")
    binaries = Path(package.origin).parent.glob("binaries/ffmpeg-*") if package and package.origin else ()
    bundled = next(map(str, binaries), None)
    return {name: probes.which(name, view) for name in ("Xvfb", "ffmpeg", "swig")} | {"imageio_ffmpeg": bundled}


def _libraries(view: View) -> dict[str, Any]:
    found: dict[str, Any] = {name: ctypes.util.find_library(name) for name in ("EGL", "OSMesa", "GL")}
    match = re.search(r"libcuda\.so\.1 .*=> (\S+)", probes.run(["ldconfig", "-p"], view, 5)["text"])
    found["cuda"] = match.group(1) if match else ctypes.util.find_library("cuda")
    folders = [folder for folder in view.variable("LD_LIBRARY_PATH").split(os.pathsep) if folder]
    files = [(folder, name) for folder in folders for name in view.listing(folder)]
    foreign = [f"{folder}/{name}" for folder, name in files if re.match(r"lib(cudnn|cublas|cudart|nccl)\w*\.so", name)]
    return {**found, "shadowing": foreign[:20]}


def _fonts(view: View) -> dict[str, Any]:
    folders = [view.path("/usr/share/fonts"), view.path("/usr/local/share/fonts")]
    home = view.variable("HOME")
    folders += [Path(home, ".local/share/fonts"), Path(home, ".fonts")] if home else []
    names = {name for folder in folders for _, _, files in os.walk(folder) for name in files}
    return {"cjk": sorted(name for name in names if re.search(_CJK, name.lower().replace("-", "")))[:10]}


def _disks(view: View) -> dict[str, Any]:
    course = runtime.course_home(view)
    while not course.exists() and course != course.parent:
        course = course.parent
    places = {"home": Path(view.variable("HOME") or "/"), "temporary": view.path("/tmp"), "course": course}

    def probe(place: Path) -> dict[str, Any]:
        size = view.statvfs(place)
        return {
            "path": str(place),
            "total_bytes": size.f_frsize * size.f_blocks,
            "free_bytes": size.f_frsize * size.f_bavail,
            "total_inodes": size.f_files,
            "free_inodes": size.f_favail,
        }

    return probes.gather({name: partial(probe, place) for name, place in places.items()}, seconds=10.0)
