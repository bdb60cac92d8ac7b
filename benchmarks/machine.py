"""Machine: what a measurement was made on, without naming the computer."""

import os
import platform
from datetime import date
from pathlib import Path

import torch

from course_utils.machine import runtime


def describe() -> dict[str, object]:
    """Return processor, usable cores, load and versions: what a reader needs to judge the seconds."""
    return {
        "processor": _processor(),
        "usable_cores": runtime.usable_cpus(),
        "load_average_1_minute": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": platform.system(),
        "date": date.today().isoformat(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
