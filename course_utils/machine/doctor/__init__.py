"""The doctor: why does the GPU, the display or the installation not work?

`collect()` gathers raw evidence, `parse` turns it into facts, `diagnose` turns facts into findings: one cause for one
fault, and never a guess.
"""

from . import chain, rules_display, rules_machine, rules_software
from .collect import collect
from .facts import Facts, parse
from .findings import SEVERITIES, Finding, examples, found
from .texts import last_line

__all__ = ["Facts", "Finding", "collect", "diagnose", "examples", "main", "parse"]


def diagnose(facts: Facts) -> list[Finding]:
    """Return the findings, worst first: one cause for one fault, unknown where the evidence does not decide."""
    entries = [*chain.rules(facts)]
    entries += rules_software.rules(facts, {entry.code for entry in entries})
    entries += [*rules_display.rules(facts), *rules_machine.rules(facts)]
    entries += [found(facts, signal.code, signal, severity=signal.severity) for signal in facts.told("alone")]
    # A message that no rule explained is named, never guessed at. A remark that quotes it has explained it.
    loud = any(entry.severity not in ("info", "ok") for entry in entries)
    if facts.error_text.strip() and not loud and not any("error_text" in "".join(entry.evidence) for entry in entries):
        entries.append(found(facts, "evidence.unknown_message", f"error_text: {last_line(facts.error_text)}"))
    if facts.unreadable:
        entries.append(found(facts, "evidence.unreadable", *facts.unreadable))
    elif facts.empty:
        entries.append(found(facts, "evidence.empty", "the evidence holds no field"))
    if facts.unknown_fields:
        entries.append(found(facts, "evidence.unknown_fields", *facts.unknown_fields))
    first = {entry.code: entry for entry in reversed(entries)}.values()
    return sorted(first, key=lambda finding: (SEVERITIES.index(finding.severity), finding.code))


def main(arguments: list[str]) -> int:
    """Run `course doctor`; return 0 without errors found, 1 with, 2 for bad input."""
    from .command import main as run

    return run(arguments)
