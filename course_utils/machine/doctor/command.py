"""`course doctor`: looks, judges and prints."""

import argparse
import json
import sys
import textwrap
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..runtime import write_whole
from . import collect, diagnose, parse
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
        prog="course doctor",
        description="Find out why the GPU, the display or the installation does not work.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON for another program")
    parser.add_argument("--facts", metavar="FILE", help="judge the evidence in FILE instead of this machine")
    parser.add_argument("--save", metavar="FILE", help="write the raw evidence to FILE")
    parser.add_argument("--schema", action="store_true", help="describe every evidence field, with examples")
    options = parser.parse_args(arguments)
    if options.schema:
        print(_json(schema()))
        return 0
    try:
        evidence = _read(options.facts) if options.facts else collect()
        if options.save:
            _write(options.save, evidence)
    except (OSError, ValueError) as error:
        print(f"course doctor: {error}", file=sys.stderr)
        return 2
    facts = parse(evidence)
    findings = diagnose(facts)
    code = 1 if any(finding.severity == "error" for finding in findings) else 0
    if options.json:
        report = {"schema": VERSION, "setting": facts.setting, "verdict": verdict(findings), "exit_code": code}
        print(_json({**report, "findings": [asdict(finding) for finding in findings]}))
    else:
        print(as_text(findings))
    return code


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def schema() -> dict[str, Any]:
    """Return the description of every evidence field and one filled example for each finding."""
    fields = {name: {"nullable": True, **asdict(field)} for name, field in FIELDS.items()}
    for field in fields.values():
        field["description"] = field.pop("meaning")
        del field["messages"]  # the doctor's own affair
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
        evidence = json.loads(text)
    except UnicodeDecodeError:
        raise ValueError(f"{shown} is not a UTF-8 text file: save the evidence as JSON") from None
    except OSError as error:
        raise OSError(f"cannot read {shown}: {error.strerror}; check the name") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{shown} is not JSON ({error}): see course doctor --schema") from None
    if not isinstance(evidence, dict):
        raise ValueError(f"{shown} holds a {type(evidence).__name__}, not a JSON object: see course doctor --schema")
    return evidence


def _write(name: str, evidence: dict[str, Any]) -> None:
    try:
        write_whole(Path(name), _json(evidence))
    except OSError as error:
        raise OSError(f"cannot write {name}: {error.strerror}; choose another folder") from None


def verdict(findings: list[Finding]) -> str:
    """Return the last line: how many of what, and where to start."""
    parts = []
    for severity in SEVERITIES[:3]:  # the others are remarks
        count = sum(finding.severity == severity for finding in findings)
        if count:
            parts.append(f"{count} {severity}{'s' if count > 1 and severity != 'unknown' else ''}")
    return f"Verdict: {', '.join(parts)}. Start with {findings[0].code}." if parts else "Verdict: nothing wrong found."


def as_text(findings: list[Finding]) -> str:
    """Write one block a finding, worst first, and the verdict."""
    blocks = []
    for finding in findings:
        lines = [f"{finding.severity.upper()}  {finding.title}  [{finding.code}]"]
        for name, text in (("evidence", "\n".join(finding.evidence)), ("cure", finding.cure), ("read", finding.link)):
            # Commands and paths stay in one piece.
            wrap = partial(textwrap.wrap, width=100, break_long_words=False, break_on_hyphens=False)
            wrapped = [part for line in text.splitlines() for part in wrap(line) or [""]]
            lines += [f"  {'' if index else name:<9} {part}" for index, part in enumerate(wrapped)]
        blocks.append("\n".join(lines))
    return "\n\n".join([*blocks, verdict(findings)])
