"""Parsers for what programs print: pure functions from text to values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from .signals import SIGNALS

Version = tuple[int, ...]
_LONGEST = 100_000  # characters of a long log that are read from its start and from its end

_FLAGS = re.IGNORECASE | re.MULTILINE
_COMPILED = {name: re.compile("|".join(words), _FLAGS) for name, words in SIGNALS.items()}


@dataclass(frozen=True)
class Signal:
    """A known message: its name, the field it stood in and the line that proves it."""

    name: str
    field: str
    line: str

    def __str__(self) -> str:
        return f"{self.field}: {self.line}"


def signals(field: str, text: str) -> list[Signal]:
    """Find the known messages of a text, one signal a kind, with the line each stood in."""
    return [Signal(name, field, line) for name, line in _search(text)]


@lru_cache(maxsize=64)
def _search(text: str) -> tuple[tuple[str, str], ...]:
    if len(text) > 2 * _LONGEST:
        text = text[:_LONGEST] + "\n" + text[-_LONGEST:]
    found = []
    for name, expression in _COMPILED.items():
        match = expression.search(text)
        if match:
            start = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            line = text[start : end if end >= 0 else len(text)].strip()
            found.append((name, line[-300:] if "\n" in line else line[:300]))
    return tuple(found)


def version(text: str) -> Version | None:
    """Return the first dotted number of a text: "2.13.0+cu130" -> (2, 13, 0)."""
    match = re.search(r"\d{1,9}(?:\.\d{1,9})*", text)
    return tuple(int(part) for part in match.group().split(".")[:4]) if match else None


def as_text(numbers: Version | None) -> str:
    """Write a version: (13, 0) -> "13.0"; None -> "unknown"."""
    return ".".join(map(str, numbers)) if numbers else "unknown"


def encoded_version(text: str) -> Version | None:
    """Decode CUDA's version in "(found version 10010)": 1000 x major + 10 x minor -> (10, 1)."""
    match = re.search(r"found version (\d{4,5})\b", text)
    return (int(match.group(1)) // 1000, int(match.group(1)) % 1000 // 10) if match else None


def build_tag(version_text: str) -> str | None:
    """Return what follows the plus sign of a version: "2.0.0+cu117" -> "cu117"."""
    return version_text.partition("+")[2].lower() or None


def tag_cuda(tag: str | None) -> Version | None:
    """Decode the CUDA version of a build tag: "cu117" -> (11, 7), "cu130" -> (13, 0)."""
    match = re.fullmatch(r"cu(\d{1,2})(\d)", tag or "")
    return (int(match.group(1)), int(match.group(2))) if match else None


def capability(text: str) -> Version | None:
    """Read a compute capability: "8.6", "(8, 6)", "sm_86" or "sm_120" -> (major, minor)."""
    match = re.search(r"(?:sm|compute)_(\d{1,3})(\d)", text)
    match = match or re.search(r"(\d{1,3})\s*[.,]\s*(\d{1,3})", text)
    return (int(match.group(1)), int(match.group(2))) if match else None


# Compute capability by name, for evidence that holds only nvidia-smi's text, which cuts long names short.
_NAMES: tuple[tuple[str, Version], ...] = (
    (r"RTX 50[5-9]|RTX PRO .*Blackwell", (12, 0)), (r"\bG?B300\b", (10, 3)), (r"\bG?B(200|100)\b", (10, 0)),
    (r"\bG?H(100|200|20|800)\b", (9, 0)), (r"RTX 40[5-9]|\bL(4|20|40S?)\b|Ada Generation", (8, 9)),
    (r"\bOrin\b", (8, 7)), (r"RTX 30[5-9]|\bA(10G?|16|2|40)\b|RTX A\d{4}", (8, 6)), (r"\bA(100|30|800)\b", (8, 0)),
    (r"\bT4\b|RTX 20[6-8]|GTX 16\d|TITAN RTX|Quadro RTX", (7, 5)), (r"\bV100|TITAN V\b", (7, 0)),
    (r"GTX 10[5-8]|\bP(4|40)\b|TITAN Xp?\b", (6, 1)), (r"\bP100\b", (6, 0)), (r"GTX 9\d0|\bM(40|60)\b", (5, 2)),
    (r"\bK80\b", (3, 7)), (r"\bK40\b|GTX 7[78]0|TITAN Black", (3, 5)), (r"GTX 6\d0|\bK10\b", (3, 0)),
)  # fmt: skip


def capability_of_name(name: str) -> Version | None:
    """Return the compute capability of a card by its name, None for a name not in the table."""
    return next((found for words, found in _NAMES if re.search(words, name, re.IGNORECASE)), None)


def active_reasons(text: str) -> list[str]:
    """Return the clock limits that `nvidia-smi -q -d PERFORMANCE` marks "Active"."""
    return [match.strip() for match in re.findall(r"^\s*([^:\n]+?)\s*:\s*Active\s*$", text, re.MULTILINE)]
