"""Where does this process run, and how much of the machine may it use?

Every function reads a `View` and nothing else, so a test hands it a fake root folder and a fake environment.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

SCALES = ("smoke", "standard", "full")
# cgroup v1 has no word for "no limit": it reports the largest page-aligned 64-bit number.
UNLIMITED_BYTES = 1 << 60
CONTAINER_WORDS = ("docker", "kubepods", "containerd", "libpod", "lxc", "buildkit")


def _allowed_cores() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


@dataclass(frozen=True)
class View:
    """What these functions see: a root folder, environment variables, cores and file-system sizes."""

    root: Path = Path("/")
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    working_folder: Path | None = None
    affinity: frozenset[int] | None = field(default_factory=_allowed_cores)
    statvfs: Callable[[Path], Any] = os.statvfs

    def path(self, absolute: str) -> Path:
        """Return `absolute` ("/proc/version") below the root of this view."""
        return self.root / absolute.lstrip("/")

    def has(self, absolute: str) -> bool:
        """Say whether the path exists; a folder that may not be read counts as missing."""
        return os.path.exists(self.path(absolute))

    def read(self, absolute: str) -> str:
        """Return the file's text, or an empty text where it cannot be read."""
        return _text(self.path(absolute))

    def variable(self, name: str) -> str:
        """Return an environment variable without surrounding blanks; an empty one counts as not set."""
        return self.environ.get(name, "").strip()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _first_number(text: str) -> int | None:
    words = text.split()
    return int(words[0]) if words and words[0].isdecimal() else None


def _is_on(value: str) -> bool:
    return value.lower() not in ("", "0", "false", "no")


# --- where am I ---


def platform_name(view: View | None = None) -> str:
    """Return "colab", "kaggle", "autodl", "binder", "ci" or "local"."""
    view = view or View()
    names = [name for name, value in view.environ.items() if value]
    if any(name.startswith("COLAB_") for name in names) or view.has("/opt/google/colab"):
        return "colab"
    if any(name.startswith("KAGGLE_") for name in names) or view.has("/kaggle/working"):
        return "kaggle"
    marks = ("/root/autodl-tmp", "/root/autodl-fs", "/root/autodl-pub", "/etc/network_turbo")
    if any(name.startswith("AutoDL") for name in names) or any(map(view.has, marks)):
        return "autodl"
    if any(name.startswith("BINDER_") for name in names):
        return "binder"
    if _is_on(view.variable("CI")) or _is_on(view.variable("GITHUB_ACTIONS")):
        return "ci"
    return "local"


def in_container(view: View | None = None) -> bool:
    """Say whether this process runs in a container (Docker, Podman, Kubernetes, LXC)."""
    view = view or View()
    if view.has("/.dockerenv") or view.has("/run/.containerenv"):
        return True
    if view.variable("container") or view.variable("KUBERNETES_SERVICE_HOST"):
        return True
    groups = view.read("/proc/1/cgroup")
    return any(word in groups for word in CONTAINER_WORDS)


def is_wsl(view: View | None = None) -> bool:
    """Say whether this is the Windows Subsystem for Linux, whose kernel names Microsoft."""
    view = view or View()
    return "microsoft" in (view.read("/proc/sys/kernel/osrelease") + view.read("/proc/version")).lower()


def nvidia_devices(view: View | None = None) -> list[str]:
    """Return the device nodes of NVIDIA cards; WSL2 has one for all cards, /dev/dxg."""
    view = view or View()
    try:
        names = sorted(os.listdir(view.path("/dev")))
    except OSError:
        return []
    cards = [f"/dev/{name}" for name in names if name.startswith("nvidia") and name[6:].isdecimal()]
    return cards or (["/dev/dxg"] if "dxg" in names and is_wsl(view) else [])


# --- folders ---


def _working_folder(view: View) -> Path:
    try:
        return view.working_folder or Path.cwd()
    except FileNotFoundError:
        raise FileNotFoundError(
            "the working folder no longer exists: change to another folder and start again"
        ) from None


def course_home(view: View | None = None) -> Path:
    """Return the folder of the exercise ledger and `runs/`, on the disk most likely to last; never create it.

    The order is COURSE_HOME, AutoDL's shared file storage, AutoDL's data disk, Colab's mounted Drive, the
    checkout that holds the working folder, and the working folder itself.
    """
    view = view or View()
    here = _working_folder(view)
    chosen = view.variable("COURSE_HOME")
    if chosen:
        home = view.variable("HOME")
        if home and (chosen == "~" or chosen.startswith("~/")):
            chosen = home + chosen[1:]
        return here / Path(chosen).expanduser()
    platform = platform_name(view)
    if platform == "autodl":
        for disk in ("/root/autodl-fs", "/root/autodl-tmp"):
            if os.path.isdir(view.path(disk)):
                return view.path(disk) / "course_home"
    if platform == "colab":
        drive = "/content/drive/MyDrive"
        return view.path(drive if view.has(drive) else "/content") / "course_home"
    for folder in (here, *here.parents):
        if os.path.isdir(folder / "notebooks") and os.path.isfile(folder / "pyproject.toml"):
            return folder / "course_home"
    return here / "course_home"


def is_persistent(view: View | None = None) -> bool:
    """Say whether `course_home` outlives the session.

    Colab keeps only the mounted Drive; Kaggle, Binder and CI keep nothing.
    """
    view = view or View()
    platform = platform_name(view)
    if platform == "colab":
        return course_home(view).is_relative_to(view.path("/content/drive"))
    return platform not in ("kaggle", "binder", "ci")


def runs_folder(view: View | None = None) -> Path:
    """Return the folder with one subfolder per training run."""
    return course_home(view) / "runs"


def tensorboard_folder(view: View | None = None) -> Path:
    """Return the folder TensorBoard shows: on AutoDL the one its TensorBoard tile reads, else the runs."""
    view = view or View()
    return view.path("/root/tf-logs") if platform_name(view) == "autodl" else runs_folder(view)


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all: an interrupt or a full disk leaves what was there before."""
    path = path.resolve()
    if path.exists() and not path.is_file():  # a pipe or a device such as /dev/stdout is written to, not replaced
        path.write_text(text, encoding="utf-8")
        return
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


# --- how much of the machine ---


def _control_groups(view: View, controller: str) -> tuple[list[Path], bool]:
    """Return the groups that limit `controller`, own group first, then each ancestor; and "is version 2".

    A line of /proc/self/cgroup is `number:controllers:path`. Version 2 has number 0 and no controllers. A
    hybrid machine lists both, and a controller that has its own folder belongs to version 1.
    """
    paths = {}
    for line in view.read("/proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        # One line, and one folder, may serve several controllers: "cpu,cpuacct".
        paths.update(dict.fromkeys(controllers.split(","), path))
    mounts = view.path("/sys/fs/cgroup")
    for folder in _subfolders(mounts):
        if controller in folder.name.split(","):
            return _own_and_ancestors(folder, paths.get(controller, "/")), False
    base = mounts / "unified" if os.path.isdir(mounts / "unified") else mounts
    return _own_and_ancestors(base, paths.get("", "/")), True


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _own_and_ancestors(base: Path, path: str) -> list[Path]:
    # A group namespace shows groups outside it as "..", and there the base is all this process can see.
    parts = [] if ".." in path.split("/") else [part for part in path.split("/") if part]
    # Without a group namespace the path is the host's while the mount starts at the container's own group:
    # drop the leading names that do not exist here.
    while parts and not os.path.isdir(base / parts[0]):
        parts = parts[1:]
    return [base.joinpath(*parts[:length]) for length in range(len(parts), -1, -1)]


def usable_cpus(view: View | None = None) -> int:
    """Return how many cores this process may use: at least 1: the least of its affinity and all its quotas.

    `os.cpu_count()` reports the host's cores instead. A quota of 1.5 cores counts as 2.
    """
    view = view or View()
    if view.affinity is not None:
        limits = [len(view.affinity)]
    else:
        limits = [view.read("/proc/cpuinfo").count("processor\t:") or 1]
    groups, version_2 = _control_groups(view, "cpu")
    for group in groups:
        if version_2:
            words = _text(group / "cpu.max").split()
            quota, period = (words[0], words[1]) if len(words) == 2 else ("", "")
        else:
            quota = _text(group / "cpu.cfs_quota_us").strip()
            period = _text(group / "cpu.cfs_period_us").strip()
        # "max" (version 2) and "-1" (version 1) mean: no quota here.
        if quota.isdecimal() and period.isdecimal() and int(quota) > 0 and int(period) > 0:
            limits.append(-(-int(quota) // int(period)))
    return max(1, min(limits))


def memory_limit(view: View | None = None) -> int | None:
    """Return the bytes of RAM this process may use, the least of RAM and every group limit; None: unknown."""
    view = view or View()
    limits = []
    groups, version_2 = _control_groups(view, "memory")
    for group in groups:
        limit = _first_number(_text(group / ("memory.max" if version_2 else "memory.limit_in_bytes")))
        if limit is not None and limit < UNLIMITED_BYTES:
            limits.append(limit)
    for line in view.read("/proc/meminfo").splitlines():
        name, _, amount = line.partition(":")
        kibibytes = _first_number(amount)
        if name == "MemTotal" and kibibytes is not None:
            limits.append(kibibytes * 1024)
    return min(limits, default=None)


def shared_memory(view: View | None = None) -> int | None:
    """Return the bytes of /dev/shm, through which worker processes hand over arrays; None: there is none."""
    view = view or View()
    try:
        size = view.statvfs(view.path("/dev/shm"))
    except OSError:
        return None
    return size.f_frsize * size.f_blocks


# --- how large are the experiments ---


def scale(view: View | None = None) -> str:
    """Return "smoke", "standard" or "full".

    Grading is always smoke. Otherwise COURSE_SCALE decides; where it is not set, CI and Binder are smoke and
    other machines standard. Raises ValueError when COURSE_SCALE holds another word.
    """
    view = view or View()
    if view.variable("NBGRADER_EXECUTION"):
        return "smoke"
    chosen = view.variable("COURSE_SCALE")
    if chosen:
        if chosen.lower() not in SCALES:
            raise ValueError(f"COURSE_SCALE is {chosen!r}: set it to smoke, standard or full, or unset it")
        return chosen.lower()
    return "smoke" if platform_name(view) in ("ci", "binder") else "standard"


def budget(*, smoke: T, standard: T, full: T, view: View | None = None) -> T:
    """Return the value of the current scale: `steps = budget(smoke=1_000, standard=90_000, full=900_000)`."""
    return {"smoke": smoke, "standard": standard, "full": full}[scale(view)]
