"""What rules return and what users read: the rule decides the code, the catalogue holds its words."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from .facts import RENTED, Facts

SEVERITIES = ("error", "warning", "unknown", "info", "ok")
_CATALOGUE = Path(__file__).with_name("catalogue")


@dataclass(frozen=True)
class Found:
    """What a rule returns: a code, the lines that prove it, and words for the catalogue's placeholders."""

    code: str
    evidence: tuple[str, ...]
    words: dict[str, str] = field(default_factory=dict)
    severity: str | None = None


@dataclass(frozen=True)
class Finding:
    """One cause: stable code, severity, what it is, the proof, the cure for this platform, where to read."""

    code: str
    severity: str
    title: str
    evidence: tuple[str, ...]
    cure: str
    link: str

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-able fields."""
        return {**asdict(self), "evidence": list(self.evidence)}


@cache
def catalogue() -> dict[str, dict[str, Any]]:
    """Return every finding's severity, title, cures, link, symptom and example evidence, by code."""
    entries: dict[str, dict[str, Any]] = {}
    for path in sorted(_CATALOGUE.glob("*.json")):
        entries.update(json.loads(path.read_text(encoding="utf-8")))
    return entries


def examples() -> dict[str, dict[str, Any]]:
    """Return for each code the symptom a user sees and the evidence that leads to it."""
    return {code: {"symptom": entry["symptom"], "evidence": entry["evidence"]} for code, entry in catalogue().items()}


def severity_of(entry: Found) -> str:
    """Return the rule's severity, or the catalogue's."""
    return entry.severity or catalogue()[entry.code]["severity"]


class _Words(dict):
    def __missing__(self, key: str) -> str:
        return "unknown"


def worded(entry: Found, facts: Facts) -> Finding:
    """Put a rule's result into the catalogue's words, with the cure for this platform."""
    words, text = _Words(entry.words), catalogue()[entry.code]
    setting = facts.setting
    choices = [setting, *(["rented"] if setting in RENTED else []), "default"]
    cure = next(text["cure"][choice] for choice in choices if choice in text["cure"])
    return Finding(
        entry.code,
        severity_of(entry),
        text["title"].format_map(words),
        entry.evidence,
        cure.format_map(words),
        text["link"],
    )
