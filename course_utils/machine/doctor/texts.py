"""Parsers for what programs print: pure functions from text to values."""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from .schema import table

Version = tuple[int, ...]
_LONGEST = 100_000  # characters of a long log that are read from its start and from its end


@dataclass(frozen=True)
class Signal:
    """A known message that was seen: the field it stood in, the line that proves it, what signals.toml says of it."""

    name: str
    field: str
    line: str
    order: int  # place in signals.toml
    topic: str = ""
    code: str = ""
    state: str = ""
    severity: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.line}"


@cache
def _messages() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    """Return for each known message its expression and what is known about it."""
    known = []
    for order, (name, entry) in enumerate(table("signals").items()):
        pattern = re.compile("|".join(entry["patterns"]), re.IGNORECASE | re.MULTILINE)
        known.append((pattern, {"name": name, "order": order} | {k: v for k, v in entry.items() if k != "patterns"}))
    return known


@lru_cache(maxsize=256)
def signals(field: str, text: str) -> tuple[Signal, ...]:
    """Find the known messages of a text, one signal a kind, with the line each stood in."""
    if len(text) > 2 * _LONGEST:
        text = text[:_LONGEST] + "\n" + text[-_LONGEST:]
    found = []
    for pattern, known in _messages() if text else ():
        match = pattern.search(text)
        if match:
            start, end = text.rfind("\n", 0, match.start()) + 1, text.find("\n", match.end())
            line = text[start : end if end >= 0 else len(text)].strip()
            found.append(Signal(field=field, line=line[-300:] if "\n" in line else line[:300], **known))
    return tuple(found)


def last_line(text: str) -> str:
    """Return the end of a text that says most: its last line, at most 300 characters of it."""
    return (text.strip().splitlines() or [""])[-1][:300]


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


def build_tag(version_text: str) -> str:
    """Return what follows the plus sign of a version: "2.0.0+cu117" -> "cu117"; empty without one."""
    return version_text.partition("+")[2].lower()


def tag_cuda(tag: str) -> Version | None:
    """Decode the CUDA version of a build tag: "cu117" -> (11, 7), "cu130" -> (13, 0)."""
    match = re.fullmatch(r"cu(\d{1,2})(\d)", tag)
    return (int(match.group(1)), int(match.group(2))) if match else None


def capability(text: str) -> Version | None:
    """Read a compute capability: "8.6", "(8, 6)", "sm_86" or "sm_120" -> (major, minor)."""
    match = re.search(r"(?:sm|compute)_(\d{1,3})(\d)", text)
    match = match or re.search(r"(\d{1,3})\s*[.,]\s*(\d{1,3})", text)
    return (int(match.group(1)), int(match.group(2))) if match else None


def capability_of_name(name: str) -> Version | None:
    """Return the compute capability of a card by its name, None for a name not in names.toml."""
    fitting = (card for card in table("names")["cards"] if re.search(card["name"], name, re.IGNORECASE))
    return next((tuple(card["capability"]) for card in fitting), None)
