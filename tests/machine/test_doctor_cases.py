"""Raw evidence of faults that people met, through the real parsers: which causes, which advice, and never which."""

import json
from pathlib import Path
from typing import Any

import pytest

from course_utils.machine.doctor import diagnose, parse

CASES = Path(__file__).parents[1] / "cases"


def with_texts(value: Any) -> Any:
    """Put the text of a file under tests/cases/nvidia_smi in place of "file:NAME"."""
    if isinstance(value, dict):
        return {name: with_texts(inner) for name, inner in value.items()}
    if isinstance(value, str) and value.startswith("file:"):
        return (CASES / "nvidia_smi" / value.removeprefix("file:")).read_text(encoding="utf-8")
    return value


def load() -> list[Any]:
    """Return every case of tests/cases/doctor as a test parameter."""
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in sorted((CASES / "doctor").glob("*.json"))
        for case in json.loads(path.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("case", load())
def test_case(case: dict[str, Any]) -> None:
    findings = diagnose(parse(with_texts(case["evidence"])))
    causes = [finding for finding in findings if finding.severity not in ("ok", "info")]
    assert sorted(finding.code for finding in causes) == sorted(case["finds"])
    remarks = [finding for finding in findings if finding.code in case.get("remarks", [])]
    assert sorted(finding.code for finding in remarks) == sorted(case.get("remarks", []))
    shown = causes + remarks
    said = "\n".join([finding.title + "\n" + finding.cure + "\n" + "\n".join(finding.evidence) for finding in shown])
    for words in case.get("says", []):
        assert words.lower() in said.lower()
    advice = "\n".join(finding.cure for finding in shown).lower()
    for words in case.get("never_says", []):
        assert words.lower() not in advice
