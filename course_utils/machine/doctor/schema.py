"""Every field of the evidence: its type, its meaning and the command that produces it.

The same table prints `course doctor --schema`, reads evidence files and names what could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

VERSION = 1
ENVIRONMENT_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES",
    "LD_LIBRARY_PATH", "LD_PRELOAD", "CUDA_HOME", "PYTORCH_CUDA_ALLOC_CONF", "DISPLAY", "WAYLAND_DISPLAY",
    "MUJOCO_GL", "PYOPENGL_PLATFORM", "SDL_VIDEODRIVER", "SDL_AUDIODRIVER", "OMP_NUM_THREADS", "LANG",
    "CONDA_DEFAULT_ENV", "COURSE_HOME", "COURSE_SCALE",
)  # fmt: skip
TYPES = {
    "string": str, "boolean": bool, "integer": int, "number": (int, float), "list": list, "object": dict
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """One field: JSON type, meaning (with what null says), the command behind it and an example."""

    type: str
    meaning: str
    source: str
    example: Any


def _command(name: str, command: str, example: str) -> dict[str, Field]:
    return {
        f"{name}.path": Field(
            "string", "where the program was found; null: not on PATH", f"which {command.split()[0]}",
            "/usr/bin/nvidia-smi",
        ),
        f"{name}.text": Field("string", "standard output and errors, unchanged", command, example),
        f"{name}.exit_code": Field("integer", "exit status of the command", f"{command}; echo $?", 0),
        f"{name}.error": Field(
            "string", "why there is no output: 'missing', 'timed out' or the error's text", "the doctor", None
        ),
    }  # fmt: skip


_TORCH = "python -c 'import torch; print({})'"
FIELDS: dict[str, Field] = {
    "schema": Field("integer", "version of this description", "the doctor", VERSION),
    "error_text": Field(
        "string", "a traceback, warning, pip log or other message, pasted unchanged", "you",
        "RuntimeError: CUDA error: device-side assert triggered",
    ),
    "platform.name": Field("string", "colab, kaggle, autodl, binder, ci or local", "the doctor", "autodl"),
    "platform.system": Field("string", "operating system", "uname -s", "Linux"),
    "platform.machine": Field("string", "processor family", "uname -m", "x86_64"),
    "platform.kernel": Field(
        "string", "kernel version; names Microsoft under WSL, tegra on a Jetson", "cat /proc/version",
        "Linux version 5.15.153.1-microsoft-standard-WSL2",
    ),
    "platform.python": Field("string", "version of this Python", "python --version", "3.12.3"),
    "platform.libc": Field("string", "C library and version", "ldd --version", "glibc 2.39"),
    "platform.driver_packages": Field(
        "string", "installed system packages of the NVIDIA driver; empty: none", "dpkg -l | grep nvidia",
        "ii  nvidia-driver-550  550.144.03  amd64",
    ),
    "container.inside": Field("boolean", "runs in a container", "the doctor", True),
    "container.markers": Field(
        "list", "marker files found; an empty list: looked, none there", "ls /.dockerenv /run/.containerenv",
        ["/.dockerenv"],
    ),
    "container.engine_error": Field(
        "string", "what docker or podman said when the container would not start", "you",
        'could not select device driver "" with capabilities: [[gpu]]',
    ),
    "torch.version": Field(
        "string", "null: torch is not installed", _TORCH.format("torch.__version__"), "2.13.0+cu130"
    ),
    "torch.cuda": Field(
        "string", "CUDA of the build; null: built without CUDA", _TORCH.format("torch.version.cuda"), "13.0"
    ),
    "torch.hip": Field("string", "ROCm version of an AMD build; null: none", _TORCH.format("torch.version.hip"), None),
    "torch.conda_build": Field(
        "string", "build string of the conda package; null: not from conda", "conda list pytorch", None
    ),
    "torch.file": Field(
        "string", "file that `import torch` loads", _TORCH.format("torch.__file__"), "/opt/lab/torch/__init__.py"
    ),
    "torch.import_error": Field(
        "string", "last lines of the failed `import torch`; null: it imports", "python -c 'import torch'", None
    ),
    "torch.available": Field("boolean", "answer of is_available()", _TORCH.format("torch.cuda.is_available()"), True),
    "torch.device_count": Field("integer", "cards torch counts", _TORCH.format("torch.cuda.device_count()"), 1),
    "torch.device_names": Field(
        "list", "names of the cards", _TORCH.format("torch.cuda.get_device_name(0)"), ["Tesla T4"]
    ),
    "torch.capabilities": Field(
        "list", "compute capability of each card", _TORCH.format("torch.cuda.get_device_capability(0)"), ["7.5"]
    ),
    "torch.arch_list": Field(
        "list", "kernels inside the build", _TORCH.format("torch.cuda.get_arch_list()"), ["sm_75", "sm_80", "sm_90"]
    ),
    "torch.warnings": Field("string", "warnings torch printed meanwhile; empty: none", "python -c '...' 2>&1", ""),
    "torch.operation": Field(
        "string", "'ok' or the error of the first small operation on the card",
        "python -c 'import torch; print((torch.ones(8, device=\"cuda\") * 2).sum().item())'", "ok",
    ),
    "torch.error": Field("string", "why the probe gave no answer: 'missing', 'timed out', text", "the doctor", None),
    "torch.exit_code": Field("integer", "exit status of the probe; below 0: killed by that signal", "the doctor", 0),
    "driver.proc_version": Field(
        "string", "loaded kernel module; null: none is loaded", "cat /proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05",
    ),
    "driver.modules": Field(
        "list", "loaded graphics modules; an empty list: none", "lsmod | grep -E 'nvidia|nouveau|amdgpu'",
        ["nvidia", "nvidia_uvm"],
    ),
    "driver.nvidia_cards": Field("integer", "NVIDIA cards on the PCI bus", "lspci -d 10de: | grep -cE 'VGA|3D'", 1),
    "driver.amd_cards": Field("integer", "AMD cards on the PCI bus", "lspci -d 1002: | grep -cE 'VGA|Display'", 0),
    "driver.kernel_log": Field(
        "string", "driver messages of the kernel (NVRM, Xid)", "dmesg | grep NVRM", "NVRM: Xid (PCI:0000:01:00): 79"
    ),
    **_command("nvidia_smi", "nvidia-smi", "| NVIDIA-SMI 580.95.05   Driver Version: 580.95.05   CUDA Version: 13.0 |"),
    **_command("nvidia_smi_list", "nvidia-smi -L", "GPU 0: Tesla T4 (UUID: GPU-3f1c9d2e)"),
    **_command("nvidia_smi_performance", "nvidia-smi -q -d PERFORMANCE", "SW Thermal Slowdown : Not Active"),
    "nvml.device_count": Field("integer", "cards that the driver's library counts", "python -c 'import pynvml ...'", 1),
    "nvml.driver_version": Field("string", "driver version", "python -c 'import pynvml ...'", "580.95.05"),
    "nvml.compute_modes": Field(
        "list", "compute mode of each card", "nvidia-smi --query-gpu=compute_mode", ["Default"]
    ),
    "nvml.error": Field("string", "why the library gave no answer; null: it answered", "the doctor", None),
    "device_nodes.present": Field(
        "list", "NVIDIA and WSL device files; an empty list: none", "ls /dev/nvidia* /dev/dxg",
        ["/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"],
    ),
    "device_nodes.denied": Field("list", "device files this user may not open", "test -r F -a -w F", []),
    **{
        f"environment.{name}": Field("string", "value; null: not set, '': set but empty", f"printenv {name}", None)
        for name in ENVIRONMENT_VARIABLES
    },
    "process.cuda_initialised": Field(
        "boolean", "CUDA was already used in the notebook's own process", "torch.cuda.is_initialized()", False
    ),
    "process.device_count": Field(
        "integer", "cards that process counts (kept once counted)", "torch.cuda.device_count()", 1
    ),
    "process.modules": Field("list", "of torch, pygame, mujoco: those already imported", "sys.modules", ["torch"]),
    "process.changed_variables": Field(
        "list", "environment variables changed after that process started", "/proc/self/environ", []
    ),
    "packages.*": Field("string", "installed version; null: not installed", "pip list", "1.4.0"),
    "atari.import_error": Field(
        "string", "error of `import ale_py`; null: it imports", "python -c 'import ale_py'", None
    ),
    "atari.registered": Field("integer", "ids that start with ALE/", "gymnasium.registry", 104),
    "atari.rom_files": Field("integer", "ROM files inside the package; 0: none", "ls .../ale_py/roms/*.bin", 104),
    "atari.installer": Field("string", "who installed ale-py: pip or conda", "conda list ale-py", "pip"),
    "opencv.import_error": Field("string", "error of `import cv2`; null: it imports", "python -c 'import cv2'", None),
    "programs.*": Field(
        "string", "path of Xvfb, ffmpeg, imageio_ffmpeg or swig; null: not there", "which Xvfb", "/usr/bin/Xvfb"
    ),
    "libraries.*": Field("string", "library (EGL, OSMesa, GL, cuda) or null: not found", "ldconfig -p", "libEGL.so.1"),
    "libraries.shadowing": Field(
        "list", "CUDA libraries found in the folders of LD_LIBRARY_PATH", "ls $LD_LIBRARY_PATH | grep libcud",
        ["/usr/local/cuda/lib64/libcudnn.so.8"],
    ),
    "fonts.cjk": Field("list", "fonts with Chinese glyphs; an empty list: none", "fc-list :lang=zh", []),
    "disks.*.path": Field("string", "folder (names: home, temporary, course, persistent)", "the doctor", "/root"),
    "disks.*.total_bytes": Field("integer", "size of its disk", "df -B1", 32212254720),
    "disks.*.free_bytes": Field("integer", "free bytes", "df -B1", 21474836480),
    "disks.*.total_inodes": Field("integer", "file entries in all; 0: not counted there", "df -i", 1966080),
    "disks.*.free_inodes": Field("integer", "free file entries", "df -i", 1500000),
    "disks.*.error": Field("string", "why it could not be read", "df", None),
    "shared_memory.total_bytes": Field("integer", "size of /dev/shm; null: there is none", "df -B1 /dev/shm", 67108864),
    "memory.limit_bytes": Field("integer", "RAM this process may use", "cat /sys/fs/cgroup/memory.max", 2147483648),
    "cpus.usable": Field(
        "integer", "cores this process may use (affinity and quota)", "nproc; cat /sys/fs/cgroup/cpu.max", 2
    ),
    "cpus.machine": Field("integer", "cores of the whole machine", "os.cpu_count()", 64),
}  # fmt: skip


def pattern_of(path: str) -> str | None:
    """Return the field that describes a dotted path ("packages.numpy" -> "packages.*"), or None."""
    if path in FIELDS:
        return path
    parts = path.split(".", 2)
    wild = [".".join([parts[0], "*", *parts[2:]])] if len(parts) > 1 else []
    wild.append(f"{parts[0]}.*")  # a package's name may hold a dot
    return next((name for name in wild if name in FIELDS), None)


def flatten(evidence: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (dotted path, value) for every field; an object that is no section is a value."""
    for section, value in evidence.items():
        if not isinstance(value, dict) or not _is_section(section):
            yield str(section), value
            continue
        for name, inner in value.items():
            if isinstance(inner, dict) and section == "disks":
                yield from ((f"disks.{name}.{last}", entry) for last, entry in inner.items())
            else:
                yield f"{section}.{name}", inner


def _is_section(name: str) -> bool:
    return any(path.startswith(f"{name}.") for path in FIELDS)


class Reader:
    """Reads evidence field by field; a wrong type is named in `unreadable` and counts as unknown."""

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        self.values: dict[str, Any] = {}
        self.unreadable: list[str] = []
        self.unknown: list[str] = []
        for path, value in flatten(evidence):
            pattern = pattern_of(path)
            if isinstance(value, float) and value.is_integer() and pattern and FIELDS[pattern].type == "integer":
                value = int(value)  # a program wrote 2147483648.0
            if pattern is None and value is None:
                continue  # an empty section is an unknown one
            if pattern is None:
                known = _is_section(path.split(".")[0])
                (self.unreadable if known else self.unknown).append(f"{path} is not a field" if known else path)
            elif value is None or self._fits(FIELDS[pattern].type, value):
                self.values[path] = value
            else:
                self.unreadable.append(f"{path} should be {FIELDS[pattern].type}, found {type(value).__name__}")

    @staticmethod
    def _fits(kind: str, value: Any) -> bool:
        if isinstance(value, bool):
            return kind == "boolean"
        return isinstance(value, TYPES[kind])

    def known(self, path: str) -> bool:
        """Say whether the evidence holds this field, null included."""
        return path in self.values

    def absent(self, path: str) -> bool:
        """Say whether somebody looked and found nothing (null or empty)."""
        return self.known(path) and self.values[path] in (None, "", [])

    def text(self, path: str) -> str:
        """Return the field's text, empty where unknown or null."""
        value = self.values.get(path)
        return value if isinstance(value, str) else ""

    def whole(self, path: str) -> int | None:
        """Return the field's whole number, None where unknown."""
        value = self.values.get(path)
        return value if isinstance(value, int) else None

    def truth(self, path: str) -> bool | None:
        """Return the field's boolean, None where unknown."""
        value = self.values.get(path)
        return value if isinstance(value, bool) else None

    def words(self, path: str) -> tuple[str, ...] | None:
        """Return the field's list as texts, None where unknown; null counts as an empty list."""
        if not self.known(path):
            return None
        return tuple(str(entry) for entry in self.values[path] or ())

    def section(self, name: str) -> dict[str, Any]:
        """Return the known fields of a section by their last name."""
        start = f"{name}."
        return {path[len(start) :]: value for path, value in self.values.items() if path.startswith(start)}
