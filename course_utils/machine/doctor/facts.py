"""The typed record that the rules read, and `parse`, which makes it from raw evidence.

In every field None means unknown: nobody looked. "Looked and found nothing" is False, 0, "" or ().
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import smi, texts
from .schema import Reader
from .smi import Smi
from .texts import Signal, Version

RENTED = ("colab", "kaggle", "autodl", "binder", "ci")
# Fields that hold free text in which known messages are looked for.
_TEXT_FIELDS = (
    "container.engine_error", "error_text", "torch.import_error", "torch.warnings", "torch.operation", "torch.error",
    "nvml.error", "driver.kernel_log", "nvidia_smi.text", "opencv.import_error", "atari.import_error",
)  # fmt: skip


@dataclass(frozen=True)
class Disk:
    """Free and total bytes and file entries of one folder's disk."""

    name: str
    path: str
    free_bytes: int | None
    total_bytes: int | None
    free_inodes: int | None
    total_inodes: int | None


@dataclass(frozen=True)
class Facts:
    """What is known about the machine."""

    # where
    platform: str = "local"
    wsl: bool = False
    container: bool | None = None
    system: str = ""
    machine: str = ""
    kernel: str = ""
    python: Version | None = None
    libc_name: str = ""
    libc: Version | None = None
    driver_packages: str | None = None
    # torch
    torch_known: bool = False
    torch_installed: bool | None = None
    torch_version: str = ""
    torch_has_cuda: bool | None = None
    torch_cuda: Version | None = None
    torch_hip: str = ""
    torch_build: str = ""
    torch_import_error: str = ""
    torch_imports: bool | None = None
    torch_probe_error: str = ""
    torch_exit_code: int | None = None
    torch_file: str = ""
    available: bool | None = None
    operation_works: bool | None = None
    device_count: int | None = None
    capabilities: tuple[Version, ...] = ()
    arch_list: tuple[str, ...] | None = None
    driver_cuda: Version | None = None
    # driver and card
    smi: Smi = field(default_factory=Smi)
    driver_loaded: bool | None = None
    modules: tuple[str, ...] | None = None
    nvidia_cards: int | None = None
    amd_cards: int | None = None
    nvml_count: int | None = None
    compute_modes: tuple[str, ...] = ()
    nodes: tuple[str, ...] | None = None
    denied_nodes: tuple[str, ...] = ()
    throttle: tuple[str, ...] = ()
    # software
    environment: Mapping[str, str | None] = field(default_factory=dict)
    packages: Mapping[str, str | None] = field(default_factory=dict)
    programs: Mapping[str, str | None] = field(default_factory=dict)
    libraries: Mapping[str, str | None] = field(default_factory=dict)
    shadowing: tuple[str, ...] = ()
    cjk_fonts: tuple[str, ...] | None = None
    rom_files: int | None = None
    atari_installer: str = ""
    atari_error: str = ""
    opencv_error: str = ""
    # the notebook's own process
    process_cuda: bool | None = None
    process_count: int | None = None
    process_modules: tuple[str, ...] = ()
    changed_variables: tuple[str, ...] = ()
    # limits
    disks: tuple[Disk, ...] = ()
    shared_memory: int | None = None
    memory: int | None = None
    usable_cpus: int | None = None
    machine_cpus: int | None = None
    # texts
    signals: tuple[Signal, ...] = ()
    error_text: str = ""
    unreadable: tuple[str, ...] = ()
    unknown_fields: tuple[str, ...] = ()
    empty: bool = False

    def signal(self, *names: str, outside: str = "") -> Signal | None:
        """Return the first known message of these kinds; `outside` leaves out one field."""
        found = (entry for name in names for entry in self.signals if entry.name == name)
        return next((entry for entry in found if entry.field != outside), None)

    @property
    def setting(self) -> str:
        """Return whose advice applies: a rented platform's name, else wsl, container or local."""
        if self.platform in RENTED:
            return self.platform
        return "wsl" if self.wsl else "container" if self.container else "local"

    @property
    def card_nodes(self) -> list[str]:
        """Return the device files of single cards: /dev/nvidia0 and so on."""
        return [node for node in self.nodes or () if re.fullmatch(r"/dev/nvidia\d+", node)]

    @property
    def jetson(self) -> bool:
        """Say whether this is a Jetson board, whose card has no PCI bus and often no nvidia-smi."""
        return self.machine in ("aarch64", "arm64") and "tegra" in self.kernel.lower()

    def variable(self, name: str) -> str:
        """Return an environment variable's value; empty where unset or unknown."""
        return self.environment.get(name) or ""


def parse(evidence: Mapping[str, Any]) -> Facts:
    """Turn raw evidence into facts; never raises on a field of a wrong type, it lists it in `unreadable`."""
    reader = Reader(evidence)
    return Facts(
        **_platform(reader),
        **_torch(reader),
        **_driver(reader),
        **_software(reader),
        **_limits(reader),
        signals=_signals(reader),
        error_text=reader.text("error_text"),
        unreadable=tuple(reader.unreadable),
        unknown_fields=tuple(reader.unknown),
        empty=not any(path != "schema" for path in reader.values),
    )


def _signals(reader: Reader) -> tuple[Signal, ...]:
    found = [entry for name in _TEXT_FIELDS for entry in texts.signals(name, reader.text(name))]
    for name in ("nvidia_smi.error", "nvidia_smi_list.text"):
        found += texts.signals(name, reader.text(name))
    return tuple(found)


def _platform(reader: Reader) -> dict[str, Any]:
    kernel, libc = reader.text("platform.kernel"), reader.text("platform.libc")
    inside, markers = reader.truth("container.inside"), reader.words("container.markers")
    container = inside if inside is not None else bool(markers) if markers is not None else None
    name = reader.text("platform.name").strip().lower() or "local"
    packages = reader.text("platform.driver_packages")
    return {
        # "wsl" is not a platform of the course, but the natural word to write there.
        "platform": "local" if name in ("wsl", "wsl2", "container", "docker") else name,
        "wsl": "microsoft" in kernel.lower() or name in ("wsl", "wsl2"),
        "container": True if container or name in ("container", "docker") or markers else container,
        "system": reader.text("platform.system"),
        "machine": reader.text("platform.machine"),
        "kernel": kernel,
        "python": texts.version(reader.text("platform.python")),
        "libc_name": "musl" if "musl" in libc.lower() else "glibc" if libc else "",
        "libc": texts.version(libc),
        "driver_packages": packages if reader.known("platform.driver_packages") else None,
    }


def _torch(reader: Reader) -> dict[str, Any]:
    version, error = reader.text("torch.version"), reader.text("torch.import_error")
    package = reader.text("packages.torch")
    tag = texts.build_tag(version) or texts.build_tag(package) or ""
    build, hip = reader.text("torch.conda_build"), reader.text("torch.hip")
    cuda = texts.version(reader.text("torch.cuda"))
    # torch's own answer comes before the tag, which stands for a field that nobody filled in.
    if not reader.absent("torch.cuda") or error:
        cuda = cuda or texts.tag_cuda(tag)
    has_cuda = True if cuda else None
    if not cuda and (hip or tag.startswith(("cpu", "rocm")) or build.startswith("cpu") or "_cpu" in build):
        has_cuda = False
    elif not cuda and reader.absent("torch.cuda") and (version or package) and not error:
        has_cuda = False
    missing = bool(re.search(r"No module named '?torch'?\s*$", error, re.MULTILINE))
    missing = missing or reader.text("torch.error") == "missing"
    absent = reader.absent("torch.version") and not reader.text("packages.torch") and not error
    installed = False if missing or absent else True if version or package or error else None
    warnings = reader.text("torch.warnings") + "\n" + reader.text("torch.operation") + "\n" + reader.text("error_text")
    operation = reader.text("torch.operation").strip()
    names = [name for name in map(texts.capability_of_name, reader.words("torch.device_names") or ()) if name]
    arch_list = reader.words("torch.arch_list") or _supported(warnings)
    return {
        "torch_known": any(path.startswith("torch.") for path in reader.values),
        "torch_installed": installed,
        "torch_version": version or package,
        "torch_has_cuda": has_cuda,
        "torch_cuda": cuda,
        "torch_hip": hip or (tag if tag.startswith("rocm") else ""),
        "torch_build": build or tag,
        "torch_import_error": error,
        "torch_imports": _imports(reader),
        "torch_probe_error": reader.text("torch.error"),
        "torch_exit_code": reader.whole("torch.exit_code"),
        "torch_file": reader.text("torch.file"),
        "available": reader.truth("torch.available"),
        "operation_works": operation.lower() == "ok" if operation else None,
        "device_count": reader.whole("torch.device_count"),
        "capabilities": _capabilities(reader) or _warned_capability(warnings) or tuple(names),
        "arch_list": arch_list,
        "driver_cuda": texts.encoded_version(warnings),
    }


def _imports(reader: Reader) -> bool | None:
    if reader.text("torch.import_error"):
        return False
    answered = reader.truth("torch.available") is not None or reader.text("torch.operation")
    return True if answered or reader.absent("torch.import_error") else None


def _capabilities(reader: Reader) -> tuple[Version, ...]:
    words = reader.words("torch.capabilities") or ()
    if len(words) == 2 and all(word.isdigit() for word in words):
        words = (".".join(words),)  # one card, written as [8, 6]
    return tuple(found for found in map(texts.capability, words) if found)


def _warned_capability(text: str) -> tuple[Version, ...]:
    match = re.search(r"(?:CUDA capability|cuda capability) (sm_\d+\w?|\d+\.\d+)", text)
    found = texts.capability(match.group(1)) if match else None
    return (found,) if found else ()


def _supported(text: str) -> tuple[str, ...] | None:
    match = re.search(r"supports CUDA capabilities ([^.\n]*(?:sm|compute)_\w+)", text)
    return tuple(match.group(1).split()) if match else None


def _driver(reader: Reader) -> dict[str, Any]:
    module = reader.text("driver.proc_version")
    nodes, modules = reader.words("device_nodes.present"), reader.words("driver.modules")
    loaded = True if module or "nvidia" in (modules or ()) else None
    if loaded is None and reader.known("driver.proc_version"):
        loaded = False
    return {
        "smi": smi.read(reader),
        "driver_loaded": loaded,
        "modules": modules,
        "nvidia_cards": reader.whole("driver.nvidia_cards"),
        "amd_cards": reader.whole("driver.amd_cards"),
        "nvml_count": reader.whole("nvml.device_count"),
        "compute_modes": reader.words("nvml.compute_modes") or (),
        "nodes": nodes,
        "denied_nodes": reader.words("device_nodes.denied") or (),
        "throttle": tuple(texts.active_reasons(reader.text("nvidia_smi_performance.text"))),
    }  # fmt: skip


def _software(reader: Reader) -> dict[str, Any]:
    libraries = reader.section("libraries")
    libraries.pop("shadowing", None)
    return {
        "environment": reader.section("environment"),
        "packages": {name.lower().replace("_", "-"): value for name, value in reader.section("packages").items()},
        "programs": {name.lower(): value or None for name, value in reader.section("programs").items()},
        "libraries": {name.lower(): value or None for name, value in libraries.items()},
        "shadowing": reader.words("libraries.shadowing") or (),
        "cjk_fonts": reader.words("fonts.cjk"),
        "rom_files": reader.whole("atari.rom_files"),
        "atari_installer": reader.text("atari.installer"),
        "atari_error": reader.text("atari.import_error"),
        "opencv_error": reader.text("opencv.import_error"),
        "process_cuda": reader.truth("process.cuda_initialised"),
        "process_count": reader.whole("process.device_count"),
        "process_modules": reader.words("process.modules") or (),
        "changed_variables": reader.words("process.changed_variables") or (),
    }


def _limits(reader: Reader) -> dict[str, Any]:
    names = sorted({path.split(".")[1] for path in reader.values if path.startswith("disks.")})
    sizes = ("free_bytes", "total_bytes", "free_inodes", "total_inodes")
    disks = tuple(
        Disk(name, reader.text(f"disks.{name}.path"), *(reader.whole(f"disks.{name}.{size}") for size in sizes))
        for name in names
    )
    return {
        "disks": disks,
        "shared_memory": reader.whole("shared_memory.total_bytes"),
        "memory": reader.whole("memory.limit_bytes"),
        "usable_cpus": reader.whole("cpus.usable"),
        "machine_cpus": reader.whole("cpus.machine"),
    }
