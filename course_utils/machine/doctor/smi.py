"""Reads nvidia-smi: its table, its exit status and its list of cards and slices."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from . import texts
from .schema import Reader
from .texts import Version

# Exit statuses that nvidia-smi documents, for output that carries no known words.
_STATUSES = {
    4: "permission", 6: "no_devices", 9: "no_communication", 12: "library_missing", 14: "gpu_faulty", 15: "gpu_lost",
    18: "mismatch", 124: "timeout", 127: "missing", 137: "timeout",
}  # fmt: skip
_SIGNAL_STATES = (
    ("driver_library_mismatch", "mismatch"), ("gpu_lost", "gpu_lost"), ("driver_not_loaded", "no_communication"),
    ("nvml_unknown", "nvml_unknown"), ("permission", "permission"), ("nvml_library_missing", "library_missing"),
    ("no_devices_found", "no_devices"), ("fabric", "fabric"),
)  # fmt: skip
_NOT_FOUND = re.compile(
    r"command not found|not found$|未找到命令|没有那个文件|No such file or directory|not recognized", re.M
)


@dataclass(frozen=True)
class Card:
    """One card as nvidia-smi shows it; memory in MiB; `slices` are the identifiers of its MIG parts."""

    name: str
    identifier: str | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    compute_mode: str | None = None
    slices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Smi:
    """What nvidia-smi says. `state` is "ok", one of the failures, "unreadable", or None: not looked at."""

    state: str | None = None
    path: str | None = None
    line: str = ""
    driver: Version | None = None
    driver_text: str = ""
    cuda: Version | None = None
    cards: tuple[Card, ...] = ()
    mig_enabled: bool = False
    errors_shown: bool = False
    ecc_errors: int = 0


def read(evidence: Reader) -> Smi:
    """Parse the fields `nvidia_smi.*` and `nvidia_smi_list.*` of the evidence."""
    text, listing = evidence.text("nvidia_smi.text"), evidence.text("nvidia_smi_list.text")
    if re.match(r"\s*GPU \d+: ", text) and not listing:
        listing = text
    cards = _merge(_table_cards(text), _listed_cards(listing))
    state, line = _state(evidence, text, cards)
    if state is None and listing:
        state = "ok" if cards else _state_of_text(listing)
    driver = re.search(r"Driver Version\s*:\s*([\d.]+)", text)
    # Newer drivers print "CUDA UMD Version" beside or instead of "CUDA Version".
    cuda = re.search(r"CUDA (?:UMD |Driver )?Version\s*:\s*([\d.]+)", text)
    return Smi(
        state=state,
        path=evidence.text("nvidia_smi.path") or None,
        line=line,
        driver_text=driver.group(1) if driver else evidence.text("nvml.driver_version"),
        driver=texts.version(driver.group(1)) if driver else texts.version(evidence.text("nvml.driver_version")),
        cuda=texts.version(cuda.group(1)) if cuda else None,
        cards=cards,
        mig_enabled=bool(re.search(r"\|\s*Enabled\s*\|?\s*$", text, re.MULTILINE))
        or any(card.slices for card in cards),
        errors_shown="ERR!" in text,
        ecc_errors=_ecc_errors(text),
    )


def _state(evidence: Reader, text: str, cards: tuple[Card, ...]) -> tuple[str | None, str]:
    error, status = evidence.text("nvidia_smi.error"), evidence.whole("nvidia_smi.exit_code")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if re.search(r"timed? ?out|hang|hung", error, re.IGNORECASE):
        return "timeout", f"nvidia_smi.error: {error}"
    by_text = _state_of_text(text)
    if by_text:
        found = texts.signals("nvidia_smi.text", text)
        line = next((entry.line for entry in found if (entry.name, by_text) in _SIGNAL_STATES), first)
        return by_text, f"nvidia_smi.text: {line}" + (f" (exit status {status})" if status is not None else "")
    if cards and status in (0, None):
        return "ok", f"nvidia_smi.text: {len(cards)} card(s), first {cards[0].name}"
    if re.search(r"missing|not found|no such file", error, re.IGNORECASE) or _NOT_FOUND.search(text) or status == 127:
        return "missing", f"nvidia_smi: {error or first or 'exit status 127'}"
    if status in _STATUSES:
        return _STATUSES[status], f"nvidia_smi.exit_code: {status} {first}".strip()
    if error or status not in (0, None):
        return "unreadable", f"nvidia_smi: {error or first} (exit status {status})"
    if "Driver Version" in text or "NVIDIA-SMI" in text:
        return "ok", f"nvidia_smi.text: {first}"
    if text:
        return "unreadable", f"nvidia_smi.text: {first}"
    if evidence.absent("nvidia_smi.path"):
        return "missing", "nvidia_smi.path: not found"
    return None, ""


def _state_of_text(text: str) -> str | None:
    names = {signal.name for signal in texts.signals("nvidia_smi.text", text)}
    return next((state for name, state in _SIGNAL_STATES if name in names), None)


def _table_cards(text: str) -> tuple[Card, ...]:
    """Read the rows of the table: a name row, then a row with "1234MiB / 16384MiB" and the compute mode."""
    cards: list[Card] = []
    for line in text.splitlines():
        name = re.match(
            r"\|\s*\d+\s+(?!N/A)([A-Za-z][^|]*?)(?:\s+(?:Off|On|N/A|WDDM|TCC))?\s*\|\s*[0-9A-Fa-f]{4,8}:", line
        )
        if name:
            cards.append(Card(re.sub(r"\s+(?:Off|On)$", "", name.group(1).strip())))
        memory = re.search(r"(\d{1,9})\s*MiB\s*/\s*(\d{1,9})\s*MiB", line)
        if memory and cards and cards[-1].memory_total is None:
            mode = re.search(r"\b(Default|E\. Process|Exclusive_Process|E\. Thread|Prohibited)\b", line)
            used, total = int(memory.group(1)), int(memory.group(2))
            mode_text = mode.group(1) if mode else None
            cards[-1] = replace(cards[-1], memory_used=used, memory_total=total, compute_mode=mode_text)
    return tuple(cards)


def _listed_cards(listing: str) -> tuple[Card, ...]:
    """Read the lines of `nvidia-smi -L`; lines of slices belong to the card above them."""
    cards: list[Card] = []
    for line in listing.splitlines():
        card = re.match(r"\s*GPU \d+: (.+?)(?: \(UUID: (\S+?)\))?\s*$", line)
        part = re.match(r"\s*MIG .*\(UUID: (\S+?)\)", line)
        if card:
            cards.append(Card(card.group(1), card.group(2)))
        elif part and cards:
            cards[-1] = replace(cards[-1], slices=(*cards[-1].slices, part.group(1)))
    return tuple(cards)


def _merge(table: tuple[Card, ...], listed: tuple[Card, ...]) -> tuple[Card, ...]:
    if len(table) != len(listed):
        return listed or table
    return tuple(
        replace(shown, name=full.name, identifier=full.identifier, slices=full.slices)
        for shown, full in zip(table, listed, strict=True)
    )


def _ecc_errors(text: str) -> int:
    """Add up the "Volatile Uncorr. ECC" column, which ends the first row of each card."""
    return sum(
        map(int, re.findall(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d\s+\w+\s*\|\s*(\d{1,9})\s*\|", text))
    )
