"""`course doctor`: looks, judges and prints."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from .collect import collect
from .diagnosis import diagnose
from .facts import Facts, parse
from .findings import SEVERITIES, Finding, examples
from .schema import FIELDS, VERSION

_HELP = """\
exit status:
  0  no finding of severity "error"
  1  at least one error found
  2  bad input: an evidence file that cannot be read, a file that cannot be written

examples:
  course doctor                         look at this machine
  course doctor --save evidence.json    keep the raw evidence, to send or to judge later
  course doctor --facts evidence.json   judge saved or hand-written evidence (- reads standard input)
"""


def main(arguments: list[str]) -> int:
    """Run the command; see `course doctor --help` for the exit status."""
    parser = argparse.ArgumentParser(
        prog="course doctor", description="Find out why the GPU, the display or the installation does not work.",
        epilog=_HELP, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON for another program")
    parser.add_argument("--facts", metavar="FILE", help="judge the evidence in FILE instead of this machine")
    parser.add_argument("--save", metavar="FILE", help="write the raw evidence to FILE")
    parser.add_argument(
        "--schema", action="store_true", help="describe every evidence field, with an example a finding"
    )
    options = parser.parse_args(arguments)
    if options.schema:
        print(json.dumps(schema(), indent=2, ensure_ascii=False))
        return 0
    try:
        evidence = _read(options.facts) if options.facts else collect()
        if options.save:
            _write(Path(options.save), evidence)
    except (OSError, ValueError) as error:
        print(f"course doctor: {error}", file=sys.stderr)
        return 2
    facts = parse(evidence)
    findings = diagnose(facts)
    code = 1 if any(finding.severity == "error" for finding in findings) else 0
    if options.json:
        print(json.dumps(_report(facts, findings, code), indent=2, ensure_ascii=False))
    else:
        print(as_text(findings))
    return code


def schema() -> dict[str, Any]:
    """Return the description of every evidence field and one filled example for each finding."""
    fields = {
        name: {
            "type": field.type,
            "nullable": True,
            "description": field.meaning,
            "source": field.source,
            "example": field.example,
        }
        for name, field in FIELDS.items()
    }
    return {
        "schema": VERSION,
        "title": "Evidence for course doctor --facts FILE",
        "description": "A JSON object. A dot in a name is one level of nesting, * is any name. Every field may be left "
        "out: then it is unknown. null (or an empty list) means: somebody looked and found nothing.",
        "fields": fields,
        "examples": examples(),
    }


def _read(name: str) -> dict[str, Any]:
    shown = "standard input" if name == "-" else name
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{shown} is not a UTF-8 text file: save the evidence as JSON") from None
    except OSError as error:
        raise OSError(f"cannot read {shown}: {error.strerror}; check the name") from None
    try:
        evidence = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "nested too deeply"
        raise ValueError(f"{shown} is not JSON ({reason}): see course doctor --schema") from None
    if not isinstance(evidence, dict):
        raise ValueError(f"{shown} holds a {type(evidence).__name__}, not a JSON object: see course doctor --schema")
    return evidence


def _write(path: Path, evidence: dict[str, Any]) -> None:
    """Write through a temporary file beside the target, so that no half-written file is left."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(evidence, file, indent=2, ensure_ascii=False)
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise OSError(f"cannot write {path}: {error.strerror}; choose another folder") from None


def _report(facts: Facts, findings: list[Finding], code: int) -> dict[str, Any]:
    return {
        "schema": VERSION,
        "setting": facts.setting,
        "verdict": verdict(findings),
        "exit_code": code,
        "findings": [finding.as_dict() for finding in findings],
    }


def verdict(findings: list[Finding]) -> str:
    """Return the last line: how many of what, and where to start."""
    counts = {severity: sum(finding.severity == severity for finding in findings) for severity in SEVERITIES}
    loud = [(severity, count) for severity, count in counts.items() if count and severity not in ("info", "ok")]
    parts = [f"{count} {severity}{'s' if count > 1 and severity != 'unknown' else ''}" for severity, count in loud]
    if not parts:
        return "Verdict: nothing wrong found."
    return f"Verdict: {', '.join(parts)}. Start with {findings[0].code}."


def as_text(findings: list[Finding]) -> str:
    """Write one block a finding, worst first, and the verdict."""
    blocks = []
    for finding in findings:
        lines = [f"{finding.severity.upper()}  {finding.title}  [{finding.code}]"]
        lines += _entry("evidence", "\n".join(finding.evidence))
        lines += _entry("cure", finding.cure)
        lines += _entry("read", finding.link)
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, verdict(findings)])


def _entry(name: str, text: str) -> list[str]:
    lines = [
        part
        for line in text.splitlines()
        for part in textwrap.wrap(line, 100, break_long_words=False, break_on_hyphens=False) or [""]
    ]
    return [f"  {name if not index else '':<9} {line}" for index, line in enumerate(lines)]
