"""Judges of notebook 01: which driver runs a wheel, which wheel has kernels for a card, and the fault gallery."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from course_utils.lessons import gallery
from course_utils.lessons.checks.compare import call, explained
from course_utils.lessons.exercise import Wrong, exercise
from course_utils.machine.doctor import wheels
from course_utils.machine.doctor.texts import as_text, capability

Version = tuple[int, int]


def _compare(
    answer: Callable[..., Any],
    reference: Callable[..., bool],
    cases: list[tuple[Any, Any]],
    mistakes: dict[str, Callable[[Any, Any], bool]],
    words: str,
) -> None:
    """Wrong with the mistake that gives just these answers, else with the first case that differs, put in `words`."""
    results = [_result(answer, case, words) for case in cases]
    if len(set(results)) == 1:
        raise Wrong(
            f"It always says {results[0]}. Use the two arguments: they describe any machine, not only this one."
        )
    expected = [reference(*case) for case in cases]
    for message, mistaken in mistakes.items():
        if results == [mistaken(*case) for case in cases] != expected:
            raise Wrong(message)
    for case, result, right in zip(cases, results, expected, strict=True):
        if result != right:
            raise Wrong(f"{_in_words(case, words)}: it should say {right}, yours says {result}.")


def _result(answer: Callable[..., Any], case: tuple[Any, Any], words: str) -> bool:
    empty = "It fails on an empty list. Such a list is allowed: no card fits then."
    with explained({} if case[1] else dict.fromkeys(("ValueError", "IndexError"), empty)):
        result = call(answer, *case)
    if not isinstance(result, bool | numpy.bool_):
        raise Wrong(f"{_in_words(case, words)}: return True or False, not {result!r:.60}.")
    return bool(result)


def _in_words(case: tuple[Any, Any], words: str) -> str:
    first, second = case
    return words.format(
        as_text(first), as_text(second) if isinstance(second, tuple) else ", ".join(second) or "an empty list"
    )


@exercise(
    reference=wheels.driver_runs_wheel,
    points=1,
    hints=(
        "Sort the rows of the table by what changes: the number before the dot, or the one after it?",
        "Two rows have a wheel that is newer than the driver's number, and differ in the answer. What sets them apart?",
        "Compare driver_cuda[0] with wheel_cuda[0]; the second numbers play no part.",
    ),
)
@explained(
    {"'tuple' object has no attribute": "A version is a pair of numbers, not a text: driver_cuda[0] is its first."}
)
def driver_runs_wheel(answer: Callable[[Version, Version], bool]) -> None:
    numbers = [(11, 4), (11, 8), (12, 0), (12, 2), (12, 8), (13, 0), (13, 2)]
    mistakes: dict[str, Callable[[Version, Version], bool]] = {
        "It compares the whole numbers. Within one major number a wheel may be newer than the driver: 12.2 runs 12.8.": lambda driver, wheel: (
            driver >= wheel
        ),
        "It asks for equal numbers. The driver's is an upper end: it runs older wheels as well.": lambda driver, wheel: (
            driver == wheel
        ),
        "It asks for equal major numbers. A driver runs wheels of older major numbers as well: 13.0 runs 11.8.": lambda driver, wheel: (
            driver[0] == wheel[0]
        ),
        "It is the wrong way round: a new driver runs an old wheel, an old driver does not run a new one.": lambda driver, wheel: (
            driver[0] <= wheel[0]
        ),
        "It compares the whole numbers, and the wrong way round: a new driver runs an old wheel.": lambda driver, wheel: (
            driver <= wheel
        ),
        "It compares the numbers after the dot on their own. 13.0 runs 12.6 although 0 is below 6.": lambda driver, wheel: (
            driver[0] >= wheel[0] and driver[1] >= wheel[1]
        ),
        "A driver with the same major number is refused: 12.2 runs 12.8, and 12.2 as well.": lambda driver, wheel: (
            driver[0] > wheel[0]
        ),
        "It is the opposite: True and False are exchanged.": lambda driver, wheel: driver[0] < wheel[0],
    }
    cases = [(driver, wheel) for driver in numbers for wheel in numbers]
    _compare(answer, wheels.driver_runs_wheel, cases, mistakes, "A driver up to CUDA {} and a wheel with CUDA {}")


_CURRENT = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
_OLDER = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]


def _fits(rule: Callable[[Version, str, Version], bool]) -> Callable[[Version, list[str]], bool]:
    """A whole answer from a rule for one entry of the list: card, kind ("sm" or "compute"), the entry's version."""
    return lambda card, names: any(rule(card, name.partition("_")[0], capability(name)) for name in names)


def _same_major(card: Version, version: Version) -> bool:
    return card[0] == version[0] and card[1] >= version[1]


@exercise(
    reference=wheels.has_kernels,
    points=2,
    hints=(
        "One fitting entry is enough. Go through the list: turn each name into (major, minor) with capability(name).",
        "sm_ names hold finished machine code: same major number, and the card's minor number is not below the entry's.",
        "compute_ names hold code that the driver translates for any card at or above: card >= capability(name).",
    ),
)
def has_kernels(answer: Callable[[Version, list[str]], bool]) -> None:
    mistakes: dict[str, Callable[[Version, list[str]], bool]] = {
        "Only exact matches count. sm_80 also runs on a card 8.6, and compute_ entries on newer cards.": _fits(
            lambda card, kind, version: card == version
        ),
        "Only exact matches of sm_ entries count. sm_80 also runs on 8.6, and compute_80 on 8.0 and all newer cards.": _fits(
            lambda card, kind, version: kind == "sm" and card == version
        ),
        "Every card newer than an entry is accepted. That holds for compute_ entries; sm_80 does not run on a card 9.0.": _fits(
            lambda card, kind, version: card >= version
        ),
        "compute_ entries are left out: compute_90 runs on a card 12.0, which translates it on first use.": _fits(
            lambda card, kind, version: kind == "sm" and _same_major(card, version)
        ),
        "compute_ entries are treated as sm_ entries. compute_90 also runs on a card of a higher major number.": _fits(
            lambda card, kind, version: _same_major(card, version)
        ),
        "sm_ entries are accepted for every card of their major number. sm_86 does not run on a card 8.0.": _fits(
            lambda card, kind, version: card[0] == version[0] if kind == "sm" else card >= version
        ),
        "The minor numbers are compared the wrong way round: sm_80 runs on 8.6, sm_86 does not run on 8.0.": _fits(
            lambda card, kind, version: (
                card[0] == version[0] and card[1] <= version[1] if kind == "sm" else card >= version
            )
        ),
        "An sm_ entry is asked to match exactly. sm_80 also runs on a card 8.6.": _fits(
            lambda card, kind, version: card == version if kind == "sm" else card >= version
        ),
        "A card equal to a compute_ entry is refused: compute_80 also runs on a card 8.0.": _fits(
            lambda card, kind, version: _same_major(card, version) if kind == "sm" else card > version
        ),
        "The two numbers of a compute_ entry are compared apart. compute_86 runs on a card 9.0 although 0 is below 6.": _fits(
            lambda card, kind, version: (
                _same_major(card, version) if kind == "sm" else card[0] >= version[0] and card[1] >= version[1]
            )
        ),
        "compute_ entries are compared by the major number alone. compute_86 does not run on a card 8.0.": _fits(
            lambda card, kind, version: _same_major(card, version) if kind == "sm" else card[0] >= version[0]
        ),
        "compute_ entries are accepted for older cards too. compute_80 does not run on a card 7.5.": _fits(
            lambda card, kind, version: _same_major(card, version) if kind == "sm" else True
        ),
        "sm_ and compute_ are exchanged.": _fits(
            lambda card, kind, version: _same_major(card, version) if kind == "compute" else card >= version
        ),
        "sm_120 is read as 1.20 or 12.00. The last digit alone is the minor number: 12.0; capability(name) does it.": _misread,
        "All entries must fit. One that fits is enough.": lambda card, names: all(
            _fits(_right)(card, [name]) for name in names
        ),
        "Only the first entry of the list is looked at.": lambda card, names: _fits(_right)(card, names[:1]),
        "Only the last entry of the list is looked at.": lambda card, names: _fits(_right)(card, names[-1:]),
        "It only asks whether the card is within the oldest and the newest entry. sm_60 and sm_80 leave a gap at 7.5.": lambda card, names: (
            bool(names) and min(map(capability, names)) <= card <= max(map(capability, names))
        ),
    }
    cards = [(6, 1), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0), (12, 1)]
    # The short lists come first, so that the counterexample is a short one.
    single = ["sm_80", "sm_86", "compute_75", "compute_80", "compute_86"]
    lists = [[name] for name in single] + [["sm_60", "sm_80"], ["sm_80", "compute_90"], _CURRENT, _OLDER, []]
    cases = [(card, list(names)) for names in lists for card in cards]
    _compare(answer, wheels.has_kernels, cases, mistakes, "A card {} and a wheel with {}")


def _right(card: Version, kind: str, version: Version) -> bool:
    return _same_major(card, version) if kind == "sm" else card >= version


def _misread(card: Version, names: list[str]) -> bool:
    """The rule applied to names split after the first digit: sm_120 as 1.20."""
    split = [(name.partition("_")[0], name.partition("_")[2]) for name in names]
    return any(_right(card, kind, (int(digits[0]), int(digits[1:]))) for kind, digits in split)


@exercise(
    reference=gallery.right_diagnosis(),
    points=4,
    hints=(
        "Walk the chain: nvidia-smi, the environment, torch.version.cuda, the two CUDA numbers, the kernels, the operation.",
        "The first link that fails is the cause. What comes after it can only fail too.",
        "print(gallery.as_text('A')) shows a machine with the codes to choose from; the verdict above names the evidence.",
    ),
)
def diagnosis(answer: Any) -> None:
    if not isinstance(answer, dict):
        raise Wrong(f'It must be a dict such as {{"A": "cuda.ok"}}, not {type(answer).__name__}.')
    if not answer:
        raise NotImplementedError
    strange = [name for name in answer if name not in gallery.faults()]
    if strange:
        raise Wrong(f"There is no machine {strange[0]!r}: the gallery has {', '.join(gallery.faults())}.")
    wrong = {}
    for fault, choice in answer.items():
        if not isinstance(choice, str):
            raise Wrong(f"Machine {fault}: give one code, as text, not {choice!r:.60}.")
        codes = {words: code for code, words in gallery.choices(fault).items()}
        if choice in codes:
            raise Wrong(f"Machine {fault}: give the code, {codes[choice]!r}, not its description.")
        try:
            judgement = gallery.judge(fault, choice)
        except ValueError as error:
            raise Wrong(f"Machine {fault}: {error}") from None
        if not judgement.right:
            wrong[fault] = judgement.text
    if wrong:
        fault, text = next(iter(wrong.items()))
        others = [name for name in wrong if name != fault]
        raise Wrong(f"Machine {fault}. {text}" + (f" Look again at {', '.join(others)}, too." if others else ""))
    missing = [fault for fault in gallery.faults() if fault not in answer]
    if missing:
        raise Wrong(f"What you have is right. Still without a diagnosis: {', '.join(missing)}.")
