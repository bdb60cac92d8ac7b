"""The typed record that the rules read, and `parse`, which makes it from raw evidence.

In every field None means unknown: nobody looked. "Looked and found nothing" is False, 0, "" or ().
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import smi, texts
from .schema import FIELDS, Reader, Values
from .smi import Smi
from .texts import Signal, Version

RENTED = ("colab", "kaggle", "autodl", "binder", "ci")


@dataclass(frozen=True)
class Facts(Values):
    """What is known about the machine: the evidence as given (`values`), and what had to be worked out from it."""

    values: dict[str, Any] = field(default_factory=dict)
    # where
    platform: str = "local"
    wsl: bool = False
    container: bool | None = None
    python: Version | None = None
    libc_name: str = ""
    libc: Version | None = None
    # torch
    torch_installed: bool | None = None
    torch_version: str = ""
    torch_has_cuda: bool | None = None
    torch_cuda: Version | None = None
    torch_hip: str = ""
    torch_build: str = ""
    available: bool | None = None
    operation_works: bool | None = None
    capabilities: tuple[Version, ...] = ()
    arch_list: tuple[str, ...] = ()
    # driver and card
    smi: Smi = field(default_factory=Smi)
    driver_cuda: Version | None = None
    driver_loaded: bool | None = None
    nvidia_cards: int | None = None
    nodes: tuple[str, ...] | None = None
    # software, by name in lower case
    environment: Mapping[str, str | None] = field(default_factory=dict)
    packages: Mapping[str, str | None] = field(default_factory=dict)
    programs: Mapping[str, str | None] = field(default_factory=dict)
    libraries: Mapping[str, str | None] = field(default_factory=dict)
    shadowing: tuple[str, ...] = ()
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

    def told(self, topic: str, outside: str = "") -> list[Signal]:
        """Return the known messages of a topic, causes before consequences, one of each kind."""
        first: dict[str, Signal] = {}
        for entry in self.signals:
            if entry.topic == topic and entry.field != outside:
                first.setdefault(entry.name, entry)
        return list(first.values())

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
    def slices(self) -> list[str]:
        """Return the identifiers of all MIG slices."""
        return [name for card in self.smi.cards for name in card.slices]

    @property
    def jetson(self) -> bool:
        """Say whether this is a Jetson board, whose card has no PCI bus and often no nvidia-smi."""
        return self.text("platform.machine") in ("aarch64", "arm64") and "tegra" in self.text("platform.kernel").lower()

    def variable(self, name: str) -> str:
        """Return an environment variable's value; empty where unset or unknown."""
        return self.environment.get(name) or ""


def card_of(facts: Facts) -> Version | None:
    """Return the compute capability of the first card, by torch or by its name."""
    if facts.capabilities:
        return facts.capabilities[0]
    return texts.capability_of_name(facts.smi.cards[0].name) if facts.smi.cards else None


def parse(evidence: Mapping[str, Any]) -> Facts:
    """Turn raw evidence into facts; never raises on a field of a wrong type, it lists it in `unreadable`."""
    reader = Reader(evidence)
    name, libc = reader.text("platform.name").strip().lower() or "local", reader.text("platform.libc")
    container, markers = reader.value("container.inside"), reader.words("container.markers")
    if markers or name in ("container", "docker"):
        container = True
    elif container is None and markers is not None:
        container = False
    loaded = reader.text("driver.proc_version") or "nvidia" in (reader.words("driver.modules") or ())
    found = [entry for path in FIELDS if FIELDS[path].messages for entry in texts.signals(path, reader.text(path))]
    return Facts(
        values=reader.values,
        # "wsl" and "docker" are not platforms of the course, but the natural words to write there.
        platform="local" if name in ("wsl", "wsl2", "container", "docker") else name,
        wsl="microsoft" in reader.text("platform.kernel").lower() or name in ("wsl", "wsl2"),
        container=container,
        python=texts.version(reader.text("platform.python")),
        libc_name="musl" if "musl" in libc.lower() else "glibc" if libc else "",
        libc=texts.version(libc),
        **_torch(reader),
        smi=smi.read(reader),
        driver_loaded=True if loaded else False if reader.known("driver.proc_version") else None,
        nvidia_cards=reader.value("driver.nvidia_cards"),
        nodes=reader.words("device_nodes.present"),
        environment=reader.section("environment"),
        packages=reader.named("packages"),
        programs=reader.named("programs"),
        libraries=reader.named("libraries"),
        shadowing=reader.words("libraries.shadowing") or (),
        signals=tuple(sorted(found, key=lambda entry: entry.order)),
        error_text=reader.text("error_text"),
        unreadable=tuple(reader.unreadable),
        unknown_fields=tuple(reader.unknown),
        empty=not any(path != "schema" for path in reader.values),
    )


def _torch(reader: Reader) -> dict[str, Any]:
    version = reader.text("torch.version") or reader.text("packages.torch")
    tag = texts.build_tag(reader.text("torch.version")) or texts.build_tag(reader.text("packages.torch"))
    build, hip = reader.text("torch.conda_build"), reader.text("torch.hip")
    error, operation = reader.text("torch.import_error"), reader.text("torch.operation").strip()
    cuda = texts.version(reader.text("torch.cuda"))
    # torch's own answer comes before the tag, which stands for a field that nobody filled in.
    if not cuda and (error or not reader.absent("torch.cuda")):
        cuda = texts.tag_cuda(tag)
    cpu_or_rocm = hip or tag.startswith(("cpu", "rocm")) or build.startswith("cpu") or "_cpu" in build
    said_none = reader.absent("torch.cuda") and version and not error
    missing = (
        re.search(r"No module named '?torch'?\s*$", error, re.MULTILINE)
        or reader.text("torch.error") == "missing"
        or (reader.absent("torch.version") and not version and not error)
    )
    said = "\n".join(reader.text(path) for path in ("torch.warnings", "torch.operation", "error_text"))
    # The card, as torch lists it, as a warning says it, or by its name.
    listed = reader.words("torch.capabilities") or ()
    if len(listed) == 2 and all(word.isdigit() for word in listed):
        listed = (".".join(listed),)  # one card, written as [8, 6]
    warned = re.findall(r"CUDA capability (sm_\d+\w?|\d+\.\d+)", said, re.IGNORECASE)[:1]
    kernels = re.search(r"supports CUDA capabilities ([^.\n]*(?:sm|compute)_\w+)", said)
    names = [texts.capability_of_name(name) for name in reader.words("torch.device_names") or ()]
    return {
        "torch_installed": False if missing else True if version or error else None,
        "torch_version": version,
        "torch_has_cuda": True if cuda else False if cpu_or_rocm or said_none else None,
        "torch_cuda": cuda,
        "torch_hip": hip or (tag if tag.startswith("rocm") else ""),
        "torch_build": build or tag,
        "available": reader.value("torch.available"),
        "operation_works": operation.lower() == "ok" if operation else None,
        "capabilities": _known(listed) or _known(warned) or tuple(filter(None, names)),
        "arch_list": reader.words("torch.arch_list") or (tuple(kernels.group(1).split()) if kernels else ()),
        "driver_cuda": texts.encoded_version(said),
    }


def _known(capabilities: Iterable[str]) -> tuple[Version, ...]:
    return tuple(filter(None, map(texts.capability, capabilities)))
