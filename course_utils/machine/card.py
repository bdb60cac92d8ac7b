"""The environment card: what a run needs to be repeated, without names of people or machines.

The keys are the same everywhere; a value of None means unknown. `cards` is an empty list only where there is no NVIDIA
device at all.
"""

import argparse
import json
import operator
import os
import platform
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from course_utils.machine import runtime
from course_utils.machine.doctor import child, probes, smi
from course_utils.machine.doctor.schema import PACKAGES, Reader
from course_utils.machine.runtime import HERE, View

COMMAND_SECONDS = 10.0
# A first import from a slow network disk takes tens of seconds.
TORCH_SECONDS = 90.0


def _output(command: list[str], view: View) -> str | None:
    """Return what a command prints; None where it is missing, fails or takes too long."""
    # Git must not take locks for a card, and programs must not translate their output.
    quiet = replace(view, environ={**view.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"})
    done = probes.run(command, quiet, COMMAND_SECONDS)
    return done["text"] if done["exit_code"] == 0 else None


def _search(pattern: str, text: str | None) -> str | None:
    found = re.search(pattern, text or "")
    return found.group(1).strip() if found else None


def torch_facts(view: View = HERE) -> dict[str, Any]:
    """Return torch's version, CUDA runtime, cuDNN and import error, without touching a card."""
    if "torch" in sys.modules:
        return child.torch_facts()
    # A broken torch may crash the interpreter or never return, so the first import is not made in this process.
    told = probes.child("card", view, TORCH_SECONDS)
    if "torch" not in told:
        told["torch_error"] = "import torch crashed or did not end: run `course doctor`"
    return {name: told.get(name) for name in ("torch", "torch_cuda", "cudnn", "torch_error")}


def _graphics_cards(view: View) -> dict[str, Any]:
    """Return the NVIDIA cards, the driver's version and the newest CUDA that the driver can run."""
    summary, answer = _output(["nvidia-smi"], view), None
    if summary is not None:
        query = ["nvidia-smi", "--format=csv,noheader,nounits", "--query-gpu=name,memory.total"]
        # Old drivers do not know the compute capability and refuse the whole question.
        answer = _output([*query[:2], query[2] + ",compute_cap"], view) or _output(query, view)
    cards: list[dict[str, Any]] | None = [
        {
            "name": name,
            "memory_bytes": int(mebibytes) << 20 if mebibytes.isdecimal() else None,
            "compute_capability": capability or None,
        }
        for name, mebibytes, capability in re.findall(r"(?m)^([^,\n]+), *([^,\s]+)(?:, *([\d.]+))?", answer or "")
    ]
    seen = smi.read(Reader({"nvidia_smi": {"text": summary}}))
    module = view.read("/proc/driver/nvidia/version")
    driver = seen.driver_text or _search(r"Kernel Module(?:\s+for\s+\S+)?\s+(\d+(?:\.\d+)+)", module)
    if not cards and (driver or runtime.nvidia_devices(view)):
        cards = None
    # Three CUDA numbers: what the driver can run, what torch was built with, what nvcc compiles for.
    return {"cards": cards, "driver": driver, "driver_cuda": seen.cuda and ".".join(map(str, seen.cuda))}


def git_state(folder: Path, view: View = HERE) -> dict[str, Any]:
    """Return the commit of the repository around `folder` and whether tracked files differ; None outside one."""
    commit = _output(["git", "-C", str(folder), "rev-parse", "--verify", "HEAD"], view)
    changes = _output(["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"], view)
    return {
        "commit": commit.strip() if commit else None,
        "dirty": bool(changes.strip()) if commit and changes is not None else None,
    }


def environment_card(seeds: Mapping[str, int] | None = None, view: View = HERE) -> dict[str, Any]:
    """Return the card as a JSON-able dictionary; `seeds` maps what was seeded to its seed.

    Raises TypeError when a seed is not an integer.
    """
    if seeds is not None and not isinstance(seeds, Mapping):
        raise TypeError(f"seeds is {seeds!r}: give a dictionary such as {{'environment': 0}}")
    system, (libc, libc_version) = os.uname(), platform.libc_ver()
    nvcc = f"{view.variable('CUDA_HOME') or '/usr/local/cuda'}/bin/nvcc"
    compiler = _output(["nvcc", "--version"], view) or _output([nvcc, "--version"], view)
    scale = None
    with suppress(ValueError):  # a misspelt COURSE_SCALE stops a training, not the card that is to help
        scale = runtime.scale(view)
    card = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "platform": runtime.platform_name(view),
        "container": runtime.in_container(view),
        "wsl": runtime.is_wsl(view),
        "scale": scale,
        "python": sys.version.split()[0],
        "kernel": f"{system.sysname} {system.release} {system.machine}",
        "glibc": libc_version if libc == "glibc" else None,
        "cpu": _search(r"model name\s*:([^\n]+)", view.read("/proc/cpuinfo")),
        "usable_cpus": runtime.usable_cpus(view),
        "memory_bytes": runtime.memory_limit(view),
        "shared_memory_bytes": runtime.shared_memory(view),
        **_graphics_cards(view),
        "toolkit_cuda": _search(r"release (\d+\.\d+)", compiler),
        **torch_facts(view),
        "packages": probes.versions(PACKAGES),
        "git": git_state(view.working_folder or Path("."), view),
        "seeds": None if seeds is None else {str(name): operator.index(seed) for name, seed in seeds.items()},
    }
    return view.without_names(card)


def _shown(key: str, value: Any, card: Mapping[str, Any]) -> str:
    if key == "seeds":
        return ", ".join(f"{name} {seed}" for name, seed in (value or {}).items()) or "none"
    if value is None:
        no_card = key in ("driver", "driver_cuda") and card["cards"] == []
        no_cuda = key in ("torch_cuda", "cudnn") and card["torch"] is not None
        return "none" if no_card or no_cuda or key == "torch_error" else "unknown"
    if key == "cards":
        cards = [f"{one['name']}, {_shown('memory_bytes', one['memory_bytes'], card)}" for one in value]
        return "; ".join(cards) or "none"
    if key == "git":
        return (value["commit"] or "no commit") + (" (changed files)" if value["dirty"] else "")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value / (1 << 30):.1f} GiB" if key.endswith("_bytes") else str(value)


def as_text(card: Mapping[str, Any]) -> str:
    """Return the card as aligned lines, to be copied into a question or a report."""
    lines: list[tuple[str, str]] = []
    for key, value in card.items():
        if key == "packages":
            installed = [f"{name} {version}" for name, version in value.items() if version]
            lines += [("packages" if i == 0 else "", name) for i, name in enumerate(installed)]
        else:
            lines.append((key.removesuffix("_bytes"), _shown(key, value, card)))
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)


def write_card(folder: Path | str, seeds: Mapping[str, int] | None = None) -> Path:
    """Write the card to `environment.json` in a run folder, whole or not at all, and return its path."""
    text = json.dumps(environment_card(seeds), indent=2, ensure_ascii=False) + "\n"
    path = Path(folder, "environment.json")
    path.parent.mkdir(parents=True, exist_ok=True)
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
