"""The typed record that the rules read, made from raw evidence.

In every fact None means unknown: nobody looked. "Looked and found nothing" is False, 0, "" or ().
"""

import re
from collections.abc import Mapping
from typing import Any

from . import smi, texts
from .schema import FIELDS, Reader
from .texts import Signal, Version

RENTED = ("colab", "kaggle", "autodl", "binder", "ci")


class Facts(Reader):
    """What is known about the machine: the evidence as given (`values`), and what had to be worked out from it."""

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        super().__init__(evidence)
        self.empty = not any(path != "schema" for path in self.values)
        self._read_place()
        self._read_torch()
        # Driver and card.
        self.smi = smi.read(self)
        loaded = self.text("driver.proc_version") or "nvidia" in (self.words("driver.modules") or ())
        self.driver_loaded = True if loaded else False if self.known("driver.proc_version") else None
        self.nvidia_cards: int | None = self.value("driver.nvidia_cards")
        self.nodes = self.words("device_nodes.present")
        # Software, by name in lower case.
        self.environment: dict[str, str | None] = self.section("environment")
        self.packages: dict[str, str | None] = self.named("packages")
        self.programs: dict[str, str | None] = self.named("programs")
        self.libraries: dict[str, str | None] = self.named("libraries")
        self.shadowing = self.words("libraries.shadowing") or ()
        # Texts, and the known messages in them.
        self.error_text = self.text("error_text")
        found = [entry for path in FIELDS if FIELDS[path].messages for entry in texts.signals(path, self.text(path))]
        self.signals = tuple(sorted(found, key=lambda entry: entry.order))

    def _read_place(self) -> None:
        name, libc = self.text("platform.name").strip().lower() or "local", self.text("platform.libc")
        # "wsl" and "docker" are not platforms of the course, but the natural words to write there.
        self.platform = "local" if name in ("wsl", "wsl2", "container", "docker") else name
        self.wsl = "microsoft" in self.text("platform.kernel").lower() or name in ("wsl", "wsl2")
        self.container: bool | None = self.value("container.inside")
        markers = self.words("container.markers")
        if markers or name in ("container", "docker"):
            self.container = True
        elif self.container is None and markers is not None:
            self.container = False
        self.python = texts.version(self.text("platform.python"))
        self.libc_name = "musl" if "musl" in libc.lower() else "glibc" if libc else ""
        self.libc = texts.version(libc)

    def _read_torch(self) -> None:
        version = self.text("torch.version") or self.text("packages.torch")
        tag = texts.build_tag(self.text("torch.version")) or texts.build_tag(self.text("packages.torch"))
        build, hip = self.text("torch.conda_build"), self.text("torch.hip")
        error, operation = self.text("torch.import_error"), self.text("torch.operation").strip()
        missing = (
            re.search(r"No module named '?torch'?\s*$", error, re.MULTILINE)
            or self.text("torch.error") == "missing"
            or (self.absent("torch.version") and not version and not error)
        )
        self.torch_installed = False if missing else True if version or error else None
        self.torch_version = version
        self.torch_cuda = texts.version(self.text("torch.cuda"))
        # torch's own answer comes before the tag, which stands for a field that nobody filled in.
        if not self.torch_cuda and (error or not self.absent("torch.cuda")):
            self.torch_cuda = texts.tag_cuda(tag)
        without_cuda = hip or tag.startswith(("cpu", "rocm")) or build.startswith("cpu") or "_cpu" in build
        without_cuda = without_cuda or (self.absent("torch.cuda") and version and not error)
        self.torch_has_cuda = True if self.torch_cuda else False if without_cuda else None
        self.torch_hip = hip or (tag if tag.startswith("rocm") else "")
        self.torch_build = build or tag
        self.available: bool | None = self.value("torch.available")
        self.operation_works = operation.lower() == "ok" if operation else None
        said = "\n".join(self.text(path) for path in ("torch.warnings", "torch.operation", "error_text"))
        self.driver_cuda = texts.encoded_version(said)
        # The card, as torch lists it, as a warning says it, or by its name.
        listed = self.words("torch.capabilities") or ()
        if len(listed) == 2 and all(word.isdigit() for word in listed):
            listed = (".".join(listed),)  # one card, written as [8, 6]
        warned = re.findall(r"CUDA capability (sm_\d+\w?|\d+\.\d+)", said, re.IGNORECASE)[:1]
        named = map(texts.capability_of_name, self.words("torch.device_names") or ())
        tellings = (map(texts.capability, listed), map(texts.capability, warned), named)
        known = [[version for version in telling if version] for telling in tellings]
        self.capabilities: list[Version] = known[0] or known[1] or known[2]
        kernels = re.search(r"supports CUDA capabilities ([^.\n]*(?:sm|compute)_\w+)", said)
        self.arch_list = self.words("torch.arch_list") or (tuple(kernels.group(1).split()) if kernels else ())

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
    return Facts(evidence)
