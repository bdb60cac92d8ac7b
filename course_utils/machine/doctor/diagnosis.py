"""`diagnose`: facts in, findings out; one cause for one fault, and never a guess."""

from __future__ import annotations

from collections.abc import Iterator

from . import chain, rules_display, rules_machine, rules_software
from .facts import Facts
from .findings import SEVERITIES, Finding, Found, severity_of, worded


def diagnose(facts: Facts) -> list[Finding]:
    """Return the findings, worst first: one cause for one fault, unknown where the evidence does not decide."""
    found = [*_about_evidence(facts), *chain.rules(facts)]
    found += [*rules_software.rules(facts, found), *rules_display.rules(facts), *rules_machine.rules(facts)]
    found += _unexplained(facts, found)
    findings = [worded(entry, facts) for entry in {entry.code: entry for entry in reversed(found)}.values()]
    return sorted(findings, key=lambda finding: (SEVERITIES.index(finding.severity), finding.code))


def _about_evidence(facts: Facts) -> Iterator[Found]:
    if facts.unreadable:
        yield Found("evidence.unreadable", facts.unreadable)
    if facts.unknown_fields:
        yield Found("evidence.unknown_fields", facts.unknown_fields)
    if facts.empty and not facts.unreadable:
        yield Found("evidence.empty", ("the evidence holds no field",))


def _unexplained(facts: Facts, found: list[Found]) -> Iterator[Found]:
    """A pasted message that no rule explained is named, never guessed at."""
    if facts.error_text.strip() and all(_quiet(entry) for entry in found):
        last = facts.error_text.strip().splitlines()[-1]
        yield Found("evidence.unknown_message", (f"error_text: {last[:300]}",))


def _quiet(entry: Found) -> bool:
    # A remark that quotes the message has explained it.
    return severity_of(entry) in ("info", "ok") and not any("error_text" in line for line in entry.evidence)
