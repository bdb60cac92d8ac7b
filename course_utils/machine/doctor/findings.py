"""What users read: a rule decides the code, the catalogue holds its words."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from . import wheels
from .facts import RENTED, Facts, card_of
from .schema import CATALOGUE
from .texts import as_text

SEVERITIES = ("error", "warning", "unknown", "info", "ok")


@dataclass(frozen=True)
class Finding:
    """One cause: stable code, severity, what it is, the proof, the cure for this platform, where to read."""

    code: str
    severity: str
    title: str
    evidence: tuple[str, ...]
    cure: str
    link: str


@cache
def catalogue() -> dict[str, dict[str, Any]]:
    """Return every finding's severity, title, cures, link, symptom and example evidence, by code."""
    entries: dict[str, dict[str, Any]] = {}
    for path in sorted(CATALOGUE.glob("*.json")):
        entries.update(json.loads(path.read_text(encoding="utf-8")))
    return entries


def examples() -> dict[str, dict[str, Any]]:
    """Return for each code the symptom a user sees and the evidence that leads to it."""
    return {code: {"symptom": entry["symptom"], "evidence": entry["evidence"]} for code, entry in catalogue().items()}


def found(facts: Facts, code: str, *proof: object, severity: str = "", **words: object) -> Finding:
    """Put a rule's result into the catalogue's words, with the cure for this platform.

    Proof that is not there (None, False, "") is left out; `words` fill placeholders that the facts do not.
    """
    text, setting, card = catalogue()[code], facts.setting, card_of(facts)
    known = {
        "card": as_text(card),
        "cuda": as_text(facts.torch_cuda),
        "driver_cuda": as_text(facts.driver_cuda or facts.smi.cuda),
        "python": as_text(facts.python),
        "version": facts.torch_version or "unknown",
        "wheel": wheels.advice(facts.smi.driver, card),
        **words,
    }
    choices = [setting, *(["rented"] if setting in RENTED else []), "default"]
    cure = next(text["cure"][choice] for choice in choices if choice in text["cure"])
    return Finding(
        code=code,
        severity=severity or text["severity"],
        title=text["title"].format_map(known),
        evidence=tuple(str(line) for line in proof if line),
        cure=cure.format_map(known),
        link=text["link"],
    )
