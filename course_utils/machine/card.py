"""The environment card: what a run needs to be repeated, without names of people or machines.

The keys are the same everywhere; a value of None means unknown. `cards` is an empty list only where there is no NVIDIA
device at all.
"""

from __future__ import annotations

import argparse
import json
import operator
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from course_utils.machine import runtime
from course_utils.machine.doctor import probes
from course_utils.machine.runtime import View

PACKAGES = (
    "course-utils",
    "numpy",
    "gymnasium",
    "ale-py",
    "pygame",
    "pygame-ce",
    "mujoco",
    "stable-baselines3",
    "tensorboard",
    "matplotlib",
    "tqdm",
    "ipywidgets",
    "jupyterlab",
    "cloudpickle",
    "imageio-ffmpeg",
    "pillow",
    "packaging",
)
COMMAND_SECONDS = 10.0
# A first import from a slow network disk takes tens of seconds.
TORCH_SECONDS = 90.0


def _output(command: list[str], view: View, seconds: float | None = None) -> str | None:
    """Return what a command prints; None where it is missing, fails or takes too long."""
    # Git must not take locks for a card, and programs must not translate their output.
    quiet = replace(view, environ={**view.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"})
    done = probes.run(command, quiet, seconds or COMMAND_SECONDS)
    return done["text"] if done["exit_code"] == 0 else None


def _search(pattern: str, text: str | None) -> str | None:
    found = re.search(pattern, text or "")
    return found.group(1).strip() if found else None


def _without_names(text: str) -> str:
    return re.sub(r"/(home|Users)/[^/\s'\"]+", r"/\1/…", text)


def torch_facts() -> dict[str, Any]:
    """Import torch here and return its version, CUDA runtime, cuDNN and the import error, without touching a card."""
    facts: dict[str, Any] = dict.fromkeys(("torch", "torch_cuda", "cudnn", "torch_error"))
    try:
        import torch

        facts["torch"] = str(torch.__version__)
        facts["torch_cuda"] = torch.version.cuda
        facts["cudnn"] = torch.backends.cudnn.version()
    except Exception as error:  # a broken installation raises anything: ImportError, OSError, AttributeError
        last_line = str(error).strip().splitlines()[-1:] or [""]
        facts["torch_error"] = _without_names(f"{type(error).__name__}: {last_line[0]}")[:300]
    return facts


def _torch_facts_from_a_child(view: View) -> dict[str, Any]:
    # A broken torch may crash the interpreter or never return, so the first import is not made in this process.
    code = (
        f"import json, sys; sys.path[:] = {sys.path!r}\n"
        "from course_utils.machine.card import torch_facts\n"
        "print('\\n' + json.dumps(torch_facts()))"
    )
    text = _output([sys.executable, "-c", code], view, TORCH_SECONDS)
    if text is None:
        facts: dict[str, Any] = dict.fromkeys(("torch", "torch_cuda", "cudnn"))
        return facts | {"torch_error": "import torch crashed or did not end: run `course doctor`"}
    return json.loads(next(line for line in reversed(text.splitlines()) if line.startswith('{"torch"')))


def _graphics_cards(view: View) -> dict[str, Any]:
    """Return the NVIDIA cards, the driver's version and the newest CUDA that the driver can run."""
    summary = _output(["nvidia-smi"], view)
    module = view.read("/proc/driver/nvidia/version")
    driver = _search(r"Kernel Module(?:\s+for\s+\S+)?\s+(\d+(?:\.\d+)+)", module)
    cards: list[dict[str, Any]] | None = []
    if summary is not None:
        driver = _search(r"(?:Driver|KMD) Version\s*:\s*(\d+(?:\.\d+)+)", summary) or driver
        query = ["nvidia-smi", "--format=csv,noheader,nounits", "--query-gpu=name,memory.total"]
        # Old drivers do not know the compute capability and refuse the whole question.
        answer = _output([*query[:2], query[2] + ",compute_cap"], view) or _output(query, view) or ""
        for line in answer.splitlines():
            name, mebibytes, capability, *_ = [*(part.strip() for part in line.split(",")), "", ""]
            if mebibytes:
                cards.append(
                    {
                        "name": name,
                        "memory_bytes": int(mebibytes) << 20 if mebibytes.isdecimal() else None,
                        "compute_capability": capability if re.fullmatch(r"\d+\.\d+", capability) else None,
                    }
                )
    if not cards and (driver or runtime.nvidia_devices(view)):
        cards = None
    return {
        "cards": cards,
        "driver": driver,
        # Three CUDA numbers: what the driver can run, what torch was built with, what nvcc compiles for.
        "driver_cuda": _search(r"CUDA (?:UMD )?Version\s*:\s*(\d+\.\d+)", summary),
    }


def git_state(folder: Path, view: View | None = None) -> dict[str, Any]:
    """Return the commit of the repository around `folder` and whether tracked files differ; None outside one."""
    view = view or View()
    commit = _output(["git", "-C", str(folder), "rev-parse", "--verify", "HEAD"], view)
    changes = _output(["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"], view)
    return {
        "commit": commit.strip() if commit else None,
        "dirty": bool(changes.strip()) if commit and changes is not None else None,
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _c_library() -> str | None:
    try:
        return (os.confstr("CS_GNU_LIBC_VERSION") or "").removeprefix("glibc ") or None
    except (ValueError, OSError, AttributeError):
        return None


def _scale(view: View) -> str | None:
    try:
        return runtime.scale(view)
    except ValueError:  # a misspelt COURSE_SCALE stops a training, not the card that is to help
        return None


def environment_card(seeds: Mapping[str, int] | None = None, view: View | None = None) -> dict[str, Any]:
    """Return the card as a JSON-able dictionary; `seeds` maps what was seeded to its seed.

    Raises TypeError when a seed is not an integer.
    """
    view = view or View()
    if seeds is not None and not isinstance(seeds, Mapping):
        raise TypeError(f"seeds is {seeds!r}: give a dictionary such as {{'environment': 0}}")
    system = os.uname()
    nvcc = "/usr/local/cuda/bin/nvcc"
    if folder := view.variable("CUDA_HOME"):
        nvcc = f"{folder}/bin/nvcc"
    compiler = _output(["nvcc", "--version"], view) or _output([nvcc, "--version"], view)
    if "torch" in sys.modules:
        torch = torch_facts()
    else:
        torch = _torch_facts_from_a_child(view)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "platform": runtime.platform_name(view),
        "container": runtime.in_container(view),
        "wsl": runtime.is_wsl(view),
        "scale": _scale(view),
        "python": sys.version.split()[0],
        "kernel": f"{system.sysname} {system.release} {system.machine}",
        "glibc": _c_library(),
        "cpu": _search(r"model name\s*:([^\n]+)", view.read("/proc/cpuinfo")),
        "usable_cpus": runtime.usable_cpus(view),
        "memory_bytes": runtime.memory_limit(view),
        "shared_memory_bytes": runtime.shared_memory(view),
        **_graphics_cards(view),
        "torch_cuda": torch["torch_cuda"],
        "toolkit_cuda": _search(r"release (\d+\.\d+)", compiler),
        "cudnn": torch["cudnn"],
        "torch": torch["torch"],
        "torch_error": torch["torch_error"],
        "packages": {package: _version(package) for package in PACKAGES},
        "git": git_state(view.working_folder or Path("."), view),
        "seeds": None if seeds is None else {str(name): operator.index(seed) for name, seed in seeds.items()},
    }


def _shown(key: str, value: Any, card: Mapping[str, Any]) -> str:
    if value is None:
        no_card = key in ("driver", "driver_cuda") and card["cards"] == []
        no_cuda = key in ("torch_cuda", "cudnn") and card["torch"] is not None
        return "none" if no_card or no_cuda or key == "torch_error" else "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.endswith("_bytes"):
        return f"{value / (1 << 30):.1f} GiB"
    return str(value)


def as_text(card: Mapping[str, Any]) -> str:
    """Return the card as aligned lines, to be copied into a question or a report."""
    lines: list[tuple[str, str]] = []
    for key, value in card.items():
        if key == "cards" and value is not None:
            names = [f"{one['name']}, {_shown('memory_bytes', one['memory_bytes'], card)}" for one in value]
            lines.append((key, "; ".join(names) or "none"))
        elif key == "packages":
            installed = [f"{name} {version}" for name, version in value.items() if version]
            lines += [("packages" if i == 0 else "", name) for i, name in enumerate(installed)]
        elif key == "git":
            state = {True: " (changed files)", False: "", None: ""}[value["dirty"]]
            lines.append((key, (value["commit"] or "no commit") + state))
        elif key == "seeds":
            lines.append((key, ", ".join(f"{name} {seed}" for name, seed in (value or {}).items()) or "none"))
        else:
            lines.append((key.removesuffix("_bytes"), _shown(key, value, card)))
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)


def write_card(folder: Path | str, seeds: Mapping[str, int] | None = None) -> Path:
    """Write the card to `environment.json` in a run folder, whole or not at all, and return its path."""
    folder = Path(folder)
    text = json.dumps(environment_card(seeds), indent=2, ensure_ascii=False) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "environment.json"
    runtime.write_whole(path, text)
    return path


def new_run(name: str, seeds: Mapping[str, int] | None = None) -> Path:
    """Make a folder for one run below the runs folder, named after it and the time, with the card in it."""
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = runtime.runs_folder() / f"{name}-{stamp}"
    count = 1
    while folder.exists():  # two runs within one second
        count += 1
        folder = runtime.runs_folder() / f"{name}-{stamp}-{count}"
    write_card(folder, seeds)
    return folder


def main(arguments: list[str]) -> int:
    """Run `course card [--json]`."""
    parser = argparse.ArgumentParser(
        prog="course card", description="Print what this machine is made of, to be copied into a question."
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of aligned text")
    options = parser.parse_args(arguments)
    card = environment_card()
    print(json.dumps(card, indent=2, ensure_ascii=False) if options.json else as_text(card))
    return 0
