"""Where does a training's time go? t_step = t_env + t_infer + t_update, and the loads of CPU and GPU (0 to 1)."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import dataclass

from course_utils.machine import runtime
from course_utils.machine.runtime import HERE, View

PHASES = ("env", "infer", "update")
BUSY = 0.7  # Rules of thumb, and what they tell apart lies far from them. A load is a mean and hardly ever reaches 1.
LARGEST, OVERLAPPED = 0.5, 1.15  # of the wall-clock time: a phase that is the bottleneck; phases run side by side
SAMPLE_SECONDS = 0.25  # NVML reports the mean over its last 1/6 to 1 second

CAUSES = {  # code: cause, cure
    "gpu_saturated": ("the GPU is busy", "mixed precision, larger minibatches; a busy GPU need not be a full one"),
    "cpu_saturated": ("the emulator keeps the cores busy", "cheaper steps or more cores, not more environments"),
    "gpu_starved": ("the GPU waits for the emulator", "more environments, up to one per core; not a faster GPU"),
    "emulator": ("the emulator takes longest", "more environments where cores are idle, else cheaper steps"),
    "inference": ("choosing actions takes longest", "more environments per forward pass, or a smaller network"),
    "update": ("learning takes longest", "larger minibatches, fewer epochs, overlap with playing; else a GPU"),
    "launches": ("the GPU waits for Python between kernels", "larger minibatches, CUDA graphs; or learn on the CPU"),
    "waiting": ("time passes outside the phases", "save, draw, log less; fewer workers. More /dev/shm does not help"),
    "overlapped": ("playing and learning fill the time side by side", "nothing is wasted: cheaper work or more cores"),
    "balanced": ("no phase takes half of the time", "overlap playing with learning, then measure again"),
}
# A small /dev/shm makes programs crash, not wait. GPU load says that some kernel ran, not how much of the card it used.


@dataclass(frozen=True)
class Measurement:
    """Seconds of a training by phase, and loads, None where not measured. Raises ValueError where no time passed."""

    env_seconds: float
    infer_seconds: float
    update_seconds: float
    wall_seconds: float
    cpu_load: float | None = None  # of the usable cores, on average
    gpu_load: float | None = None  # share of the time in which some kernel ran

    def __post_init__(self) -> None:
        if not self.wall_seconds > 0:
            raise ValueError("no time was measured: train for at least one rollout, then give from_log the log's rows")

    @property
    def shares(self) -> dict[str, float]:
        """Share of the wall-clock time of each phase; above 1 together where phases ran side by side."""
        return {phase: getattr(self, f"{phase}_seconds") / self.wall_seconds for phase in PHASES}


@dataclass(frozen=True)
class Verdict:
    """What holds a training back: a key of CAUSES, and in words the cause, what shows it and what to do."""

    code: str
    cause: str
    evidence: str
    cure: str

    def __str__(self) -> str:
        return f"{self.cause}. {self.evidence}. Cure: {self.cure}."


def from_log(rows: list[dict[str, float]], cpu_load: float | None = None, gpu_load: float | None = None) -> Measurement:
    """Return the measurement of `agent.log.rows`, without the first rollout (warming up) where there are others."""
    rows = [row for row in rows if "time/update_seconds" in row]
    ends = [0.0] + [row["time/time_elapsed"] for row in rows]
    skip = 1 if len(rows) > 1 else 0
    sums = [sum(row[f"time/{phase}_seconds"] for row in rows[skip:]) for phase in PHASES]
    return Measurement(*sums, ends[-1] - ends[skip], cpu_load, gpu_load)


def classify(measured: Measurement) -> Verdict:
    """Name what holds this training back; the evidence says what twice the speed in the longest phase would gain."""
    shares, cpu, gpu = measured.shares, measured.cpu_load, measured.gpu_load
    longest, total = max(PHASES, key=shares.__getitem__), sum(shares.values())
    seen = shares | {"CPU load": cpu, "GPU load": gpu}
    evidence = ", ".join(f"{name} {part:.0%}" for name, part in seen.items() if part is not None)
    if total <= 1:  # side by side, Amdahl's law does not hold
        evidence += f"; {longest} twice as fast makes all {speedup(shares[longest], 2):.2f} times as fast"
    holds = {  # the first that is true
        "waiting": total < LARGEST,
        "gpu_saturated": (gpu or 0) >= BUSY,
        "overlapped": total > OVERLAPPED and min(shares["update"], total - shares["update"]) > BUSY,
        "balanced": shares[longest] < LARGEST,
        "inference": longest == "infer",
        "launches": longest == "update" and gpu is not None,
        "update": longest == "update",
        "cpu_saturated": (cpu or 0) >= BUSY,
        "gpu_starved": gpu is not None,
        "emulator": True,
    }
    code = next(code for code, true in holds.items() if true)
    return Verdict(code, CAUSES[code][0], evidence, CAUSES[code][1])


def speedup(fraction: float, factor: float) -> float:
    """Return how many times faster all becomes once `fraction` (0 to 1) of the time becomes `factor` times faster.

    Source: Amdahl, Validity of the single processor approach, 1967. Raises ValueError outside these ranges.
    """
    if not 0 <= fraction <= 1 or not factor > 0:
        raise ValueError(f"fraction must lie between 0 and 1 and factor be positive, got {fraction} and {factor}")
    return 1 / (1 - fraction + fraction / factor)


class CpuMeter:
    """Measures while its block runs: `with CpuMeter() as meter: train(...)`, then `meter.cpu_load`, `meter.gpu_load`.

    gpu_load is of the first card that nvidia-smi lists, and None without one or without nvidia-ml-py.
    """

    cpu_load: float | None = None
    gpu_load: float | None = None

    def __enter__(self) -> CpuMeter:
        self._samples, self._stop = [], threading.Event()
        self._thread = threading.Thread(target=self._sample_gpu, daemon=True)
        self._thread.start()
        self._started = time.perf_counter(), busy_seconds()
        return self

    def __exit__(self, *_: object) -> None:
        wall, busy = time.perf_counter() - self._started[0], busy_seconds() - self._started[1]
        self._stop.set()
        self._thread.join()
        self.cpu_load = min(1.0, max(0.0, busy / wall / runtime.usable_cpus()))
        self.gpu_load = sum(self._samples) / len(self._samples) if self._samples else None

    def _sample_gpu(self) -> None:
        with contextlib.suppress(Exception):  # no package, no driver, no card, or one that does not tell
            import pynvml

            pynvml.nvmlInit()
            card = pynvml.nvmlDeviceGetHandleByIndex(0)
            while not self._stop.wait(SAMPLE_SECONDS):
                self._samples.append(pynvml.nvmlDeviceGetUtilizationRates(card).gpu / 100)


def busy_seconds(view: View = HERE) -> float:
    """Return the CPU seconds so far of all processes in sight: in a container its own, whatever the host does.

    /proc/stat would count the host's other guests too. Without /proc: this process and its ended children.
    """
    # The command's name, in parentheses, may hold blanks: read behind it. utime, stime, and those of ended children.
    texts = [view.read(f"/proc/{name}/stat").rpartition(")")[2] for name in view.listing("/proc") if name.isdecimal()]
    ticks = sum(int(part) for text in texts for part in text.split()[11:15])
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else sum(os.times()[:4])
