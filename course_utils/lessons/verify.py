"""Verify the installation and say where we are: what `lessons.start` does at the end of every notebook's first cell."""

from __future__ import annotations

import importlib.metadata
import os
import platform

import matplotlib.pyplot as plt
import torch
from matplotlib import font_manager

from course_utils.machine import display, runtime

SCALE_HELP = {
    "smoke": "everything runs, numbers are small",
    "standard": "what a lesson needs",
    "full": "long runs for good curves",
}
# Okabe and Ito's palette: told apart with any kind of colour vision.
STYLE = {
    "axes.prop_cycle": plt.cycler(color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]),
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.figsize": (8, 3.5),
    "grid.alpha": 0.3,
}
CHINESE_FONTS = ("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Micro Hei", "Microsoft YaHei", "PingFang SC")


def verify_and_greet() -> None:
    """Verify what the course needs and print three lines: versions, machine, scale.

    Raises RuntimeError, with the command that cures it, where a package is missing or too old.
    """
    _verify()
    installed = set(font_manager.get_font_names())  # a name that is not installed costs a warning per figure
    plt.rcParams.update(STYLE)
    plt.rcParams["font.family"] = ["DejaVu Sans", *(name for name in CHINESE_FONTS if name in installed)]
    display.prepare_rendering()  # before any notebook imports pygame or mujoco
    device = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU: everything runs on the CPU"
    cpus = runtime.usable_cpus()
    scale = runtime.scale()
    print(f"Python {platform.python_version()}, torch {torch.__version__}; {device}")
    print(f"Platform {runtime.platform_name()}, {cpus} CPU core{'s' if cpus != 1 else ''}; results in {_home()}")
    print(f"Scale {scale}: {SCALE_HELP[scale]}")


def _home() -> str:
    """The course's home folder, short and without the user's name."""
    home = str(runtime.course_home())
    relative = os.path.relpath(home)
    return relative if relative.count("..") < 3 else home.replace(os.path.expanduser("~"), "~", 1)


def _verify() -> None:
    for requirement in importlib.metadata.requires("course-utils") or []:
        if "extra ==" in requirement:
            continue
        problem = _problem_with(requirement)
        if problem:
            raise RuntimeError(
                f"{problem} Cure: run `python bootstrap.py install` in the course's folder, then restart."
            )


def _problem_with(requirement: str) -> str | None:
    from packaging.requirements import Requirement

    wanted = Requirement(requirement)
    if wanted.marker and not wanted.marker.evaluate():
        return None
    try:
        installed = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        return f"The package {wanted.name} is not installed."
    if wanted.specifier.contains(installed, prereleases=True):
        return None
    return f"{wanted.name} {installed} is installed; the course needs {wanted.specifier}."
