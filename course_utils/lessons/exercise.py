"""Exercises: judge an answer in an isolated child, say what is wrong, keep a ledger, never block the student.

A check module registers one judge per exercise with `@exercise(reference=..., points=..., hints=...)`. The
judge gets the student's answer and raises `Wrong` with a named misconception. In a notebook,

    discounted_returns = check.discounted_returns(discounted_returns)

prints the verdict and gives back the student's own function when it is right, else the course's own.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from course_utils.lessons.ledger import Ledger
from course_utils.machine import isolate

Status = Literal["right", "wrong", "not attempted", "not judged"]
CHECKS = "course_utils.lessons.checks"
CHECK_MODULES = [
    f"{CHECKS}.{module.name}"
    for module in pkgutil.iter_modules([str(Path(__file__).with_name("checks"))])
    if module.name.startswith("n")
]
# What the judge's server process imports once, so that a check costs milliseconds.
isolate.prepare(["torch", "cloudpickle", *CHECK_MODULES])


class Wrong(Exception):
    """Raised by a judge: its text names the misconception and says what to look at."""


class CheckFailed(Exception):
    """Raised by a check under nbgrader when the answer is not right, so that the cell earns no points."""


@dataclass(frozen=True)
class Exercise:
    """One exercise. `reference` is the object of the course that solves it; nothing is written twice."""

    name: str
    notebook: str
    reference: Any
    judge: Callable[[Any], None]
    points: int
    hints: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    status: Status
    message: str = ""


_registry: dict[str, Exercise] = {}


def exercise(*, reference: Any, points: int, hints: tuple[str, ...]) -> Callable[[Callable[[Any], None]], Any]:
    """Register the decorated judge as the exercise of the same name; its module names the notebook."""

    def register(judge: Callable[[Any], None]) -> Callable[[Any], None]:
        notebook = judge.__module__.rsplit(".", 1)[1].removeprefix("n")
        _registry[judge.__name__] = Exercise(judge.__name__, notebook, reference, judge, points, hints)
        return judge

    return register


@functools.cache
def exercises() -> dict[str, Exercise]:
    """All exercises of the course by name, in the order of the notebooks."""
    for module in CHECK_MODULES:
        importlib.import_module(module)
    return dict(sorted(_registry.items(), key=lambda item: item[1].notebook))


def judge(name: str, answer: Any) -> None:
    """Run one exercise's judge on an answer; this is what runs in the child."""
    exercises()[name].judge(answer)


def verdict_of(entry: Exercise, answer: Any) -> Verdict:
    """Judge an answer in an isolated child and put how it ended into words."""
    if callable(entry.reference) and not callable(answer):
        kind = "class" if inspect.isclass(entry.reference) else "function"
        return Verdict("wrong", f"A {kind} is expected here, not {answer!r:.60}. Pass it without calling it.")
    outcome = isolate.run(judge, entry.name, answer)
    if outcome.kind == "returned":
        return Verdict("right")
    if outcome.kind == "not_sendable":
        return Verdict("not judged", _explain_not_sendable(answer, outcome))
    if outcome.kind == "raised" and outcome.error_type == Wrong.__name__:
        return Verdict("wrong", outcome.error + _where(outcome.frames))
    if outcome.kind == "raised" and outcome.error_type == NotImplementedError.__name__:
        return Verdict("not attempted")
    where = _where(outcome.frames)
    texts = {
        "raised": f"It raised {outcome.error_type}: {_in_short(outcome.error)}{where}",
        "cpu_limit": f"It did not end{where}. Is there a loop whose condition never becomes false?",
        "wall_limit": f"It did not end within a minute{where}.",
        "idle": "It waits and does nothing: a sleep, a lock or an input that never comes.",
        "memory_limit": f"It asked for over 1 GiB of memory{where}. Does a list or tensor grow without end?",
        "output_limit": f"It printed over a megabyte{where}. Remove the print from the loop.",
        "exited": f"It ended the whole process{where}. Use return instead of exit.",
        "crashed": f"It crashed the Python process ({outcome.error_type}).",
    }
    text = texts[outcome.kind]
    if outcome.error_type == "EOFError":
        text = f"It asks for keyboard input{where}. Take what you need from the arguments."
    return Verdict("wrong", text)


def _in_short(text: object, limit: int = 200) -> str:
    """The text on one line; an error may print a whole tensor, and nobody reads 20,000 characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def _where(frames: tuple[isolate.Frame, ...]) -> str:
    lines = [line for filename, line, _ in frames if filename == isolate.BY_VALUE]
    return f" (line {lines[-1]} of your cell)" if lines else ""


def _explain_not_sendable(answer: Any, outcome: isolate.Outcome) -> str:
    """Name the notebook variable that keeps a function from being sent to the judge's process."""
    for name, value in _variables_read(answer).items():
        probe = isolate.run(_nothing, value)
        if probe.kind == "not_sendable":
            size = f" ({probe.error})" if probe.error_type == "TooLarge" else ""
            return (
                f"It reads the notebook's variable {name!r}{size}, which cannot be sent along. Pass it as an argument."
            )
    reason = f"{outcome.error_type}: {_in_short(outcome.error)}"
    return f"It could not be sent to the judge ({reason}). Pass what it needs as arguments."


def _nothing(value: Any) -> None:
    """Take a value and ignore it."""


def _variables_read(answer: Any) -> dict[str, Any]:
    functions = [answer, *vars(answer).values()] if inspect.isclass(answer) else [answer]
    found: dict[str, Any] = {}
    for function in filter(inspect.isfunction, functions):
        read = inspect.getclosurevars(function)
        found |= {**read.globals, **read.nonlocals}
    return {name: value for name, value in found.items() if not inspect.ismodule(value)}


def guarded(entry: Exercise, answer: Any) -> Any:
    """Wrap an accepted function: should it still raise during training, say so once and use the course's own."""
    if not inspect.isfunction(answer) or not callable(entry.reference):
        return answer
    failed = False

    @functools.wraps(answer)
    def function(*arguments: Any, **keywords: Any) -> Any:
        nonlocal failed
        if not failed:
            try:
                return answer(*arguments, **keywords)
            except Exception as error:
                failed = True
                print(
                    f"{entry.name}: your function raised {type(error).__name__}: {_in_short(error)} here, after its "
                    "check had passed. The course's own function is used from here on. Please report this."
                )
        return entry.reference(*arguments, **keywords)

    return function


class Check:
    """`check.NAME(answer)` judges an answer; `check.hint`, `check.solution` and `check.report` help and sum up."""

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        entry = _find(name, AttributeError)
        return functools.partial(_check, entry)

    def __dir__(self) -> list[str]:
        return [*exercises(), "hint", "report", "solution"]

    def hint(self, name: str) -> None:
        """Print the next hint of an exercise; after the last one say so, then start again."""
        entry = _find(name, KeyError)
        count = Ledger.open().count_hint(name)
        number = (count - 1) % (len(entry.hints) + 1)
        if number == len(entry.hints):
            print(
                f"No more hints for {name}: check.solution({name!r}) shows what the course uses, once you have tried. "
                "The next call shows hint 1 again."
            )
        else:
            print(f"Hint {number + 1} of {len(entry.hints)} for {name}: {entry.hints[number]}")

    def solution(self, name: str) -> None:
        """Print the source of what the course itself uses, once you have tried."""
        entry = _find(name, KeyError)
        if Ledger.open().attempts(name) == 0:
            print(f"Try {name} once first: write an answer and run its check. Hints: check.hint({name!r}).")
        elif callable(entry.reference):
            print(inspect.getsource(entry.reference))
        else:
            print(f"{name} = {entry.reference!r}")

    def report(self, notebook: str | int | None = None) -> None:
        """Print status, points and attempts: of one notebook such as "03", else of all in which you have begun.

        Raises ValueError where no notebook with exercises has that number.
        """
        ledger = Ledger.open()
        names = list(dict.fromkeys(entry.notebook for entry in exercises().values()))
        if notebook is None:
            begun = {entry.notebook for entry in exercises().values() if _begun(ledger, entry.name)}
            chosen = [name for name in names if name in begun]
        else:
            chosen = [name for name in names if name.startswith(f"{notebook:0>2}")]
            if not chosen:
                raise ValueError(
                    f"No notebook {notebook!r} has exercises. Choose from {', '.join(n[:2] for n in names)}."
                )
        for name in chosen:
            _print_report(ledger, name)
        if notebook is None and (others := [name[:2] for name in names if name not in chosen]):
            count = f"{len(others)} notebook{'s' if len(others) != 1 else ''}"
            print(f"Nothing tried yet in {count}: {', '.join(others)}. check.report({others[0]!r}) shows one.")


def _begun(ledger: Ledger, name: str) -> bool:
    return ledger.attempts(name) > 0 or ledger.status(name) != "not attempted"


def _print_report(ledger: Ledger, notebook: str) -> None:
    mine = [entry for entry in exercises().values() if entry.notebook == notebook]
    earned = sum(entry.points for entry in mine if ledger.solved(entry.name))
    print(f"{notebook}: {earned} of {sum(entry.points for entry in mine)} points")
    for entry in mine:
        status = "right" if ledger.solved(entry.name) else ledger.status(entry.name)
        attempts = ledger.attempts(entry.name)
        tried = f", {attempts} attempt{'s' if attempts != 1 else ''}" if attempts else ""
        print(f"    {entry.name:<28} {status}{tried}")


def _find(name: str, error: type[Exception]) -> Exercise:
    if name in exercises():
        return exercises()[name]
    close = difflib.get_close_matches(name, exercises(), n=1)
    raise error(f"There is no exercise {name!r}." + (f" Do you mean {close[0]!r}?" if close else ""))


def _check(entry: Exercise, answer: Any) -> Any:
    original = inspect.unwrap(answer) if callable(answer) else answer
    if original is entry.reference:
        print(f"{entry.name}: this is the course's own. Run your answer cell again, then this cell.")
        if "NBGRADER_EXECUTION" in os.environ:
            _fail(entry, "the course's own object was handed in instead of an answer")
        return answer
    verdict = verdict_of(entry, original)
    Ledger.open().record(entry.name, verdict.status, verdict.message)
    print(_text_of(entry, verdict))
    if verdict.status == "right":
        return guarded(entry, original)
    if "NBGRADER_EXECUTION" in os.environ:
        _fail(entry, verdict.message or verdict.status)
    return entry.reference


def _text_of(entry: Exercise, verdict: Verdict) -> str:
    if verdict.status == "right":
        points = f"{entry.points} point{'s' if entry.points != 1 else ''}"
        return f"{entry.name}: right ({points}). Your own answer is used from here on."
    stand_in = "The course's own is used from here on, so you can go on"
    if verdict.status == "not attempted":
        return f"{entry.name}: not attempted yet. {stand_in}."
    ending = "" if verdict.message.endswith((".", "?")) else "."
    return f"{entry.name}: {verdict.status}. {verdict.message}{ending}\n{stand_in}. Hint: check.hint({entry.name!r})"


def _fail(entry: Exercise, message: str) -> NoReturn:
    """Bind the course's own object in the notebook, so that later cells still run, and fail this cell."""
    if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()):
        shell.user_ns[entry.name] = entry.reference
    raise CheckFailed(f"{entry.name}: {message}")


check = Check()
