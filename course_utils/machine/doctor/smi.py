"""Reads nvidia-smi: its table, its exit status and its list of cards and slices."""

import re
from dataclasses import dataclass, replace

from . import texts
from .schema import Reader
from .texts import Version

# Exit statuses that nvidia-smi documents, for output that carries no known words.
_STATUSES = {4: "permission", 6: "no_devices", 9: "no_communication", 12: "library_missing", 14: "gpu_faulty"}
_STATUSES |= {15: "gpu_lost", 18: "mismatch", 124: "timeout", 127: "missing", 137: "timeout"}
_NOT_FOUND = (
    r"command not found|not found$|No such file|not recognized|未找到命令|找不到命令|没有那个文件|内部或外部命令"
)
# A card is two rows of the table: its name and bus; then "1234MiB / 16384MiB" and the compute mode.
_CARD = re.compile(
    r"^\|\s*\d+\s+(?!N/A)([A-Za-z][^|\n]*?)(?:\s+(?:Off|On|N/A|WDDM|TCC))*\s*\|\s*[\dA-Fa-f]{4,8}:[^\n]*"
    r"(?:\n[^\n]*?\b(\d{1,9})\s*MiB\s*/\s*(\d{1,9})\s*MiB"
    r"(?:[^\n]*?\b(Default|E\. Process|Exclusive_Process|E\. Thread|Prohibited)\b)?)?",
    re.MULTILINE,
)
# The "Volatile Uncorr. ECC" column ends the first row of each card.
_UNCORRECTED = r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d\s+\w+\s*\|\s*(\d{1,9})\s*\|"


@dataclass(frozen=True)
class Card:
    """One card as nvidia-smi shows it; memory in MiB; `slices` are the identifiers of its MIG parts."""

    name: str
    identifier: str | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    compute_mode: str = ""
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
    rows, cards = _CARD.findall(text), _listed_cards(listing)
    if not cards or len(rows) == len(cards):
        # The list has the full names, the table the rest.
        listed, cards = cards or [Card(name) for name, *_ in rows], []
        for card, (_, used, total, mode) in zip(listed, rows, strict=True):
            memory = {"memory_used": int(used), "memory_total": int(total)} if total else {}
            cards.append(replace(card, compute_mode=mode, **memory))
    state, line = _state(evidence, text, cards)
    if state is None and listing:
        state = "ok" if cards else next((state for state, _ in _told(listing)), None)
    driver = re.search(r"(?:Driver|KMD) Version\s*:\s*([\d.]+)", text)
    driver_text = driver.group(1) if driver else evidence.text("nvml.driver_version")
    # Newer drivers print "KMD Version" and "CUDA UMD Version" beside or instead of the old words.
    cuda = re.search(r"CUDA (?:UMD |Driver )?Version\s*:\s*([\d.]+)", text)
    mig = re.search(r"\|\s*Enabled\s*\|?\s*$", text, re.MULTILINE)
    return Smi(
        state=state,
        path=evidence.text("nvidia_smi.path") or None,
        line=line,
        driver_text=driver_text,
        driver=texts.version(driver_text),
        cuda=texts.version(cuda.group(1)) if cuda else None,
        cards=tuple(cards),
        mig_enabled=bool(mig) or any(card.slices for card in cards),
        # "CUDA Version: ERR!" in the head is about libcuda, not about a card.
        errors_shown=any("ERR!" in line and "CUDA" not in line for line in text.splitlines()),
        ecc_errors=sum(map(int, re.findall(_UNCORRECTED, text))),
    )


def _told(text: str) -> list[tuple[str, str]]:
    """Return (state, line) for the known messages that nvidia-smi prints instead of its table."""
    found = texts.signals("nvidia_smi.text", text)
    return [(entry.state, entry.line) for entry in found if entry.state]


def _state(evidence: Reader, text: str, cards: list[Card]) -> tuple[str | None, str]:
    """Return the state, and the line of evidence for it."""
    error, status = evidence.text("nvidia_smi.error"), evidence.value("nvidia_smi.exit_code")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if re.search(r"timed? ?out|hang|hung", error, re.IGNORECASE):
        return "timeout", f"nvidia_smi.error: {error}"
    for state, line in _told(text):
        return state, f"nvidia_smi.text: {line}" + (f" (exit status {status})" if status is not None else "")
    if cards and status in (0, None):
        return "ok", f"nvidia_smi.text: {len(cards)} card(s), first {cards[0].name}"
    unfound = re.search(r"missing|not found|no such file", error, re.IGNORECASE)
    if unfound or re.search(_NOT_FOUND, text, re.MULTILINE) or status == 127:
        return "missing", f"nvidia_smi: {error or first or 'exit status 127'}"
    if status in _STATUSES:
        return _STATUSES[status], f"nvidia_smi.exit_code: {status} {first}".strip()
    if error or status not in (0, None):
        return "unreadable", f"nvidia_smi: {error or first} (exit status {status})"
    if text:
        table = "Driver Version" in text or "NVIDIA-SMI" in text
        return "ok" if table else "unreadable", f"nvidia_smi.text: {first}"
    if evidence.absent("nvidia_smi.path"):
        return "missing", "nvidia_smi.path: not found"
    return None, ""


def _listed_cards(listing: str) -> list[Card]:
    """Read the lines of `nvidia-smi -L`; lines of slices belong to the card above them."""
    cards: list[Card] = []
    for line in listing.splitlines():
        card = re.match(r"\s*GPU \d+: (.+?)(?: \(UUID: (\S+?)\))?\s*$", line)
        part = re.match(r"\s*MIG .*\(UUID: (\S+?)\)", line)
        if card:
            cards.append(Card(card.group(1), card.group(2)))
        elif part and cards:
            cards[-1] = replace(cards[-1], slices=(*cards[-1].slices, part.group(1)))
    return cards
