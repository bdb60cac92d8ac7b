"""Where does this process run, and how much of the machine may it use?

Every function reads a `View` and nothing else, so a test hands it a fake root folder and a fake environment.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

SCALES = ("smoke", "standard", "full")
# cgroup v1 has no word for "no limit": it reports the largest page-aligned 64-bit number.
UNLIMITED_BYTES = 1 << 60
CONTAINER_FILES = ("/.dockerenv", "/run/.containerenv")
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
    affinity: Callable[[], frozenset[int] | None] = _allowed_cores
    statvfs: Callable[[Path], Any] = os.statvfs

    def path(self, absolute: str) -> Path:
        """Return `absolute` ("/proc/version") below the root of this view."""
        return self.root / absolute.lstrip("/")

    def has(self, absolute: str) -> bool:
        """Say whether the path exists; a folder that may not be read counts as missing."""
        return os.path.exists(self.path(absolute))

    def read(self, absolute: str) -> str:
        """Return the file's text, or an empty text where it cannot be read."""
        try:
            return self.path(absolute).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def listing(self, absolute: str) -> list[str]:
        """Return the names in a folder, sorted; empty where it cannot be read."""
        try:
            return sorted(os.listdir(self.path(absolute)))
        except OSError:
            return []

    def variable(self, name: str) -> str:
        """Return an environment variable without surrounding blanks; an empty one counts as not set."""
        return self.environ.get(name, "").strip()

    def without_names(self, value: Any) -> Any:
        """Shorten home folders to "~" in all texts of a JSON-able value, so that no user's name leaves the machine."""
        if isinstance(value, dict):
            return {name: self.without_names(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.without_names(inner) for inner in value]
        if not isinstance(value, str):
            return value
        home = self.variable("HOME")
        text = value.replace(home, "~") if len(home) > 1 else value
        return re.sub(r"(/home|/Users|/mnt/\w/Users)/[^/\s:;,'\"]+", r"\1/~", text)


HERE = View()  # this machine


# --- where am I ---


def platform_name(view: View = HERE) -> str:
    """Return "colab", "kaggle", "autodl", "binder", "ci" or "local"."""
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
    switches = {view.variable("CI").lower(), view.variable("GITHUB_ACTIONS").lower()}
    return "ci" if switches - {"", "0", "false", "no"} else "local"


def in_container(view: View = HERE) -> bool:
    """Say whether this process runs in a container (Docker, Podman, Kubernetes, LXC)."""
    marks = [*map(view.has, CONTAINER_FILES), view.variable("container"), view.variable("KUBERNETES_SERVICE_HOST")]
    groups = view.read("/proc/1/cgroup")
    return any(marks) or any(word in groups for word in CONTAINER_WORDS)


def is_wsl(view: View = HERE) -> bool:
    """Say whether this is the Windows Subsystem for Linux, whose kernel names Microsoft."""
    return "microsoft" in (view.read("/proc/sys/kernel/osrelease") + view.read("/proc/version")).lower()


def nvidia_devices(view: View = HERE) -> list[str]:
    """Return the device nodes of NVIDIA cards; WSL2 has one for all cards, /dev/dxg."""
    names = view.listing("/dev")
    cards = [f"/dev/{name}" for name in names if name.startswith("nvidia") and name[6:].isdecimal()]
    return cards or (["/dev/dxg"] if "dxg" in names and is_wsl(view) else [])


# --- folders ---


def course_home(view: View = HERE) -> Path:
    """Return the folder of the exercise ledger and `runs/`, on the disk most likely to last; never create it.

    The order is COURSE_HOME, AutoDL's shared file storage, AutoDL's data disk, Colab's mounted Drive, the
    checkout that holds the working folder, and the working folder itself.
    """
    try:
        here = view.working_folder or Path.cwd()
    except FileNotFoundError:
        cure = "the working folder no longer exists: change to another folder and start again"
        raise FileNotFoundError(cure) from None
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


def is_persistent(view: View = HERE) -> bool:
    """Say whether `course_home` outlives the session.

    Colab keeps only the mounted Drive; Kaggle, Binder and CI keep nothing.
    """
    platform = platform_name(view)
    if platform == "colab":
        return course_home(view).is_relative_to(view.path("/content/drive"))
    return platform not in ("kaggle", "binder", "ci")


def runs_folder(view: View = HERE) -> Path:
    """Return the folder with one subfolder per training run."""
    return course_home(view) / "runs"


def tensorboard_folder(view: View = HERE) -> Path:
    """Return the folder TensorBoard shows: on AutoDL the one its TensorBoard tile reads, else the runs."""
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


def _group_limits(view: View, controller: str, version_2: list[str], version_1: list[str]) -> list[str]:
    """Return what the limit files (by version) of this process's control group say, and of each ancestor.

    A line of /proc/self/cgroup is `number:controllers:path`. Version 2 has number 0 and no controllers. A
    hybrid machine lists both, and a controller that has its own folder belongs to version 1.
    """
    paths = {}
    for controllers, path in re.findall(r"^\d+:([^:\n]*):(.*)$", view.read("/proc/self/cgroup"), re.MULTILINE):
        # One line, and one folder, may serve several controllers: "cpu,cpuacct".
        paths.update(dict.fromkeys(controllers.split(","), path))
    base, own, files = "/sys/fs/cgroup", paths.get("", "/"), version_2
    folder = next((name for name in view.listing(base) if controller in name.split(",")), None)
    if folder:
        base, own, files = f"{base}/{folder}", paths.get(controller, "/"), version_1
    elif view.has(f"{base}/unified"):
        base = f"{base}/unified"
    # A group namespace shows groups outside it as "..", and there the base is all this process can see.
    parts = [] if ".." in own.split("/") else [part for part in own.split("/") if part]
    # Without a group namespace the path is the host's while the mount starts at the container's own group:
    # drop the leading names that do not exist here.
    while parts and not view.has(f"{base}/{parts[0]}"):
        parts = parts[1:]
    groups = ["/".join([base, *parts[:length]]) for length in range(len(parts), -1, -1)]
    return [" ".join(view.read(f"{group}/{name}") for name in files).strip() for group in groups]


def usable_cpus(view: View = HERE) -> int:
    """Return how many cores this process may use: at least 1: the least of its affinity and all its quotas.

    `os.cpu_count()` reports the host's cores instead. A quota of 1.5 cores counts as 2.
    """
    allowed = view.affinity()
    limits = [max(1, view.read("/proc/cpuinfo").count("processor\t:")) if allowed is None else len(allowed)]
    for text in _group_limits(view, "cpu", ["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
        quota = re.fullmatch(r"([1-9]\d*)\s+([1-9]\d*)", text)  # "max" (version 2) and "-1" (version 1): none here
        if quota:
            limits.append(-(-int(quota[1]) // int(quota[2])))
    return min(limits)


def memory_limit(view: View = HERE) -> int | None:
    """Return the bytes of RAM this process may use, the least of RAM and every group limit; None: unknown."""
    texts = _group_limits(view, "memory", ["memory.max"], ["memory.limit_in_bytes"])
    limits = [int(text) for text in texts if text.isdecimal() and int(text) < UNLIMITED_BYTES]
    total = re.search(r"^MemTotal:\s*(\d+)", view.read("/proc/meminfo"), re.MULTILINE)
    if total:
        limits.append(int(total[1]) * 1024)
    return min(limits, default=None)


def shared_memory(view: View = HERE) -> int | None:
    """Return the bytes of /dev/shm, through which worker processes hand over arrays; None: there is none."""
    try:
        size = view.statvfs(view.path("/dev/shm"))
    except OSError:
        return None
    return size.f_frsize * size.f_blocks


# --- how large are the experiments ---


def scale(view: View = HERE) -> str:
    """Return "smoke", "standard" or "full".

    Grading is always smoke. Otherwise COURSE_SCALE decides; where it is not set, CI and Binder are smoke and
    other machines standard. Raises ValueError when COURSE_SCALE holds another word.
    """
    if view.variable("NBGRADER_EXECUTION"):
        return "smoke"
    chosen = view.variable("COURSE_SCALE")
    if chosen:
        if chosen.lower() not in SCALES:
            raise ValueError(f"COURSE_SCALE is {chosen!r}: set it to smoke, standard or full, or unset it")
        return chosen.lower()
    return "smoke" if platform_name(view) in ("ci", "binder") else "standard"


def budget(*, smoke: T, standard: T, full: T, view: View = HERE) -> T:
    """Return the value of the current scale: `steps = budget(smoke=1_000, standard=90_000, full=900_000)`."""
    return {"smoke": smoke, "standard": standard, "full": full}[scale(view)]
