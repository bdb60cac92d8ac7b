"""The fault gallery of notebook 01: machines to diagnose.

The evidence is the doctor's own, and the doctor's `diagnose` decides who is right. These are plain functions;
`widgets.gallery` shows them in a notebook.
"""

from __future__ import annotations

import difflib
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from course_utils.machine import doctor
from course_utils.machine.doctor import chain


@dataclass(frozen=True)
class Machine:
    """One machine of the gallery: what its user tells, the doctor's example behind it, plausible wrong causes."""

    story: str
    example: str
    others: list[str]


@dataclass(frozen=True)
class Judgement:
    """Whether a diagnosis is right, and the evidence that says so."""

    right: bool
    text: str


_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_MACHINES = {name: Machine(**fields) for name, fields in _DATA["machines"].items()}
# Code -> (what the student reads, what the evidence would show).
_CAUSES = {code: (fields["words"], fields["sign"]) for code, fields in _DATA["causes"].items()}


def faults() -> list[str]:
    """Return the names of the machines in the gallery."""
    return list(_MACHINES)


def choices(fault: str) -> dict[str, str]:
    """Return the causes to choose from, code -> words; the right one is among them.

    Raises ValueError for a machine that is not in the gallery.
    """
    machine = _machine(fault)
    offered = {machine.example, *machine.others}
    return {code: words for code, (words, _) in _CAUSES.items() if code in offered}


def symptoms(fault: str) -> str:
    """Return what a user of that machine tells and sees: nvidia-smi, the environment, Python's messages."""
    return "\n".join(_symptoms(_machine(fault).story, _evidence(fault)))


def as_text(fault: str) -> str:
    """Return the gallery's page of one machine without widgets: the symptoms and the codes to choose from."""
    offered = "\n".join(f"  {code:<30} {words}" for code, words in choices(fault).items())
    return f"Machine {fault}: {symptoms(fault)}\n\nWhich cause fits?\n{offered}"


@cache
def finding(fault: str) -> doctor.Finding:
    """Return the doctor's own diagnosis of a machine: its worst finding."""
    return doctor.diagnose(doctor.parse(_evidence(fault)))[0]


def judge(fault: str, choice: str) -> Judgement:
    """Compare a chosen code with the doctor's diagnosis; the text names the evidence for or against it.

    Raises ValueError for a machine or a code that does not exist.
    """
    found = finding(fault)
    if choice == found.code:
        return Judgement(True, f"{found.title}.\nEvidence: {'; '.join(found.evidence)}\nCure: {found.cure}")
    if choice not in _CAUSES and choice not in doctor.examples():
        close = difflib.get_close_matches(str(choice), choices(fault), n=1, cutoff=0.5)
        raise ValueError(f"{choice!r} is no code." + (f" Do you mean {close[0]!r}?" if close else ""))
    if choice not in _CAUSES:
        symptom = doctor.examples()[choice]["symptom"]
        return Judgement(False, f"Not {choice}. Its symptom would be: {symptom}")
    facts = doctor.parse(_evidence(fault))
    words, sign = _CAUSES[choice]
    return Judgement(False, f"Not this: {words}. {sign.format(**_shown(facts))}")


def right_diagnosis() -> dict[str, str]:
    """Return the doctor's code for every machine of the gallery."""
    return {fault: finding(fault).code for fault in faults()}


def _machine(fault: str) -> Machine:
    if fault not in _MACHINES:
        raise ValueError(f"There is no machine {fault!r} in the gallery: it has {', '.join(_MACHINES)}.")
    return _MACHINES[fault]


def _evidence(fault: str) -> dict[str, Any]:
    """The doctor's example, and an environment variable that its user has looked up."""
    evidence = doctor.examples()[_machine(fault).example]["evidence"]
    environment = {"CUDA_VISIBLE_DEVICES": None, **evidence.get("environment", {})}
    return {**evidence, "environment": environment}


def _symptoms(story: str, evidence: dict[str, Any]) -> Iterator[str]:
    yield from textwrap.wrap(story, 90)
    yield ""
    if evidence.get("error_text"):
        yield from ("The last lines of the failed cell:", evidence["error_text"].strip(), "")
    smi = evidence.get("nvidia_smi")
    if smi:
        yield "$ nvidia-smi"
        yield smi["text"].strip() if smi.get("text") else "nvidia-smi: command not found"
        if smi.get("exit_code"):
            yield f"(exit status {smi['exit_code']})"
    for marker in evidence.get("container", {}).get("markers", []):
        yield from (f"$ ls {marker}", marker)
    if "device_nodes" in evidence:
        yield "$ ls /dev/nvidia*"
        yield (
            "  ".join(evidence["device_nodes"]["present"])
            or "ls: cannot access '/dev/nvidia*': No such file or directory"
        )
    visible = evidence["environment"]["CUDA_VISIBLE_DEVICES"]
    yield "$ env | grep CUDA_VISIBLE"
    yield "(no line: it is not set)" if visible is None else f"CUDA_VISIBLE_DEVICES={visible}"
    torch = evidence["torch"]
    warning = torch.get("warnings") or ""
    raised = warning if warning.startswith("RuntimeError") else ""
    if torch.get("conda_build"):
        yield from ("$ conda list pytorch", f"pytorch  {torch['version']}  {torch['conda_build']}")
    yield "$ python"
    yield from (">>> import torch; torch.__version__, torch.version.cuda", f"{(torch['version'], torch['cuda'])}")
    yield ">>> torch.cuda.is_available()"
    if "CUDA initialization" in warning:
        yield from textwrap.wrap(warning, 90)
    yield str(torch["available"])
    if torch.get("capabilities"):
        yield ">>> torch.cuda.get_device_capability()"
        if "not compatible" in warning:
            yield from textwrap.wrap(f"UserWarning: {warning}", 90)
        yield f"({torch['capabilities'][0].replace('.', ', ')})"
    if torch.get("arch_list"):
        yield from (">>> torch.cuda.get_arch_list()", str(torch["arch_list"]))
    if operation := torch.get("operation") or raised:
        yield '>>> torch.ones(8, device="cuda").sum()'
        yield from ["tensor(8., device='cuda:0')"] if operation == "ok" else textwrap.wrap(operation, 90)


def _shown(facts: doctor.Facts) -> dict[str, str]:
    """What the evidence shows, in words that end the sentences of the causes."""
    smi, card, visible = facts.smi, chain.card_of(facts), facts.environment["CUDA_VISIBLE_DEVICES"]
    works = "a fresh process computes on the card" if facts.operation_works else ""
    wheel = _dotted(facts.torch_cuda) if facts.torch_cuda else "None"
    if smi.state == "ok":
        answer = f"nvidia-smi works and lists {smi.cards[0].name}"
    elif smi.state == "missing":
        answer = "nvidia-smi is not there at all"
    else:
        answer = f'nvidia-smi says "{smi.line.partition(": ")[2]}"' if smi.state else works
    number = f"the driver's is {_dotted(smi.cuda)}" if smi.cuda else answer
    failed = f"torch.cuda.is_available() is {facts.available}"
    operation = next((entry.line for entry in facts.signals if entry.field == "torch.operation"), "")
    message = facts.error_text.partition("\n")[0]
    return {
        "wheel": wheel,
        "visible": "not set" if visible is None else repr(visible),
        "place": "/.dockerenv says that this is a container" if facts.container else answer,
        "nvidia_smi": answer,
        "numbers": works or (f"{number}, the wheel's is {wheel}" if smi.cuda else number),
        "operation": "it works" if works else failed,
        "card": _dotted(card) if card else "unknown",
        "list": " ".join(facts.arch_list) if facts.arch_list else "not shown",
        "process": "no cell shows one",
        "failure": message or operation or failed,
    }


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
