"""What notebooks show beyond plain figures: the fault gallery as a widget, and the chain from driver to operation."""

from __future__ import annotations

import html
import textwrap
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
from ipywidgets import Layout
from matplotlib.patches import FancyBboxPatch

from course_utils.lessons.gallery import Judgement, choices, faults, finding, judge, symptoms
from course_utils.machine.doctor import Facts
from course_utils.machine.doctor.texts import as_text


def gallery(answers: dict[str, str]) -> ipywidgets.Widget:
    """Return the gallery as a widget; each diagnosis goes into `answers`, machine -> code, and nowhere else."""
    machines = ipywidgets.ToggleButtons(options=faults(), style={"button_width": "3.2em"})
    screen, verdict, progress = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
    causes = ipywidgets.RadioButtons(layout=Layout(width="auto"))
    button = ipywidgets.Button(description="Diagnose", button_style="primary")

    def show_progress() -> None:
        right = sum(answers.get(fault) == finding(fault).code for fault in faults())
        progress.value = f"<b>{right} of {len(faults())} machines diagnosed</b>"

    def show_verdict() -> None:
        chosen = answers.get(machines.value)
        verdict.value = _verdict_html(judge(machines.value, chosen)) if chosen else ""

    def open_machine(_change: Any = None) -> None:
        fault = machines.value
        screen.value = _SCREEN.format(html.escape(symptoms(fault)))
        causes.options = [(words, code) for code, words in choices(fault).items()]
        causes.value = answers[fault] if answers.get(fault) in choices(fault) else None
        show_verdict()

    def diagnose(_button: Any) -> None:
        if causes.value is None:
            verdict.value = "Pick a cause first."
            return
        answers[machines.value] = causes.value
        show_verdict()
        show_progress()

    machines.observe(open_machine, names="value")
    button.on_click(diagnose)
    open_machine()
    show_progress()
    for part, name in ((screen, "screen"), (verdict, "verdict"), (progress, "progress")):
        part.add_class(f"gallery-{name}")
    return ipywidgets.VBox(
        [machines, screen, causes, ipywidgets.HBox([button, progress], layout=Layout(grid_gap="12px")), verdict]
    )


# Fixed colours: readable in a light and in a dark theme.
_SCREEN = (
    '<pre style="background:#f6f8fa; color:#1f2328; border:1px solid #d0d7de; border-radius:4px; padding:8px; '
    'font-size:12px; line-height:1.3; overflow-x:auto; margin:4px 0">{}</pre>'
)


def _verdict_html(judgement: Judgement) -> str:
    colour, word = ("#009E73", "Right.") if judgement.right else ("#D55E00", "Not yet.")
    lines = "<br>".join(map(html.escape, judgement.text.splitlines()))
    return (
        f'<div style="border-left:4px solid {colour}; padding:4px 10px; line-height:1.45; max-width:760px; '
        f'white-space:normal; overflow-wrap:anywhere"><b>{word}</b> {lines}</div>'
    )


def draw_chain(facts: Facts) -> None:
    """Draw the five links that a computation on the card needs, each with what was found on this machine."""
    _, axes = plt.subplots(figsize=(10, 2.6), layout="constrained")
    axes.set(xlim=(0, 10), ylim=(0.4, 3))
    axes.set_axis_off()
    places = {"on the host": (0.1, 1.8), "in the wheels that pip installs": (2.1, 7.9), "in your process": (8.2, 9.9)}
    for place, (left, right) in places.items():
        axes.plot((left, left, right, right), (2.5, 2.6, 2.6, 2.5), color="grey", linewidth=1)
        axes.text((left + right) / 2, 2.7, place, ha="center", fontsize=10)
    for index, (name, meaning, found, absent) in enumerate(_links(facts)):
        middle = 0.95 + 2.025 * index
        edge, face, line = ("#0072B2", "#DCEBF5", "-") if found else ("grey", "white", "--")
        box = FancyBboxPatch((middle - 0.85, 1.15), 1.7, 1.15, boxstyle="round,pad=0.04", linewidth=1.5)
        box.set(facecolor=face, edgecolor=edge, linestyle=line)
        axes.add_patch(box)
        axes.text(middle, 2.08, name, ha="center", va="center", fontsize=11, fontweight="bold")
        axes.text(middle, 1.55, meaning, ha="center", va="center", fontsize=9)
        axes.text(middle, 1.0, f"here: {found or absent}", ha="center", va="top", fontsize=9.5)
        if index:
            axes.annotate("", (middle - 0.9, 1.72), (middle - 1.13, 1.72), arrowprops={"arrowstyle": "->"})


def _links(facts: Facts) -> list[tuple[str, str, str | None, str]]:
    """Name, meaning, what was found (None: nothing) and words for nothing, for each link of the chain."""
    driver = f"{as_text(facts.smi.driver)},\nup to CUDA {as_text(facts.smi.cuda)}" if facts.smi.driver else None
    kernels = "\n" + textwrap.fill(" ".join(facts.arch_list), 20) if facts.arch_list else None
    operation = {True: "it works", False: "it fails", None: None}[facts.operation_works]
    runtime = f"CUDA {as_text(facts.torch_cuda)}" if facts.torch_cuda else None
    return [
        ("driver", "lets programs use the\ncard; nvidia-smi asks it", driver, "no answer"),
        ("CUDA runtime", "libcudart, cuBLAS,\ncuDNN", runtime, "none, a CPU build"),
        ("torch", "compiled for one\nCUDA version", facts.torch_version or None, "not installed"),
        ("kernels", "machine code for\neach kind of card", kernels, "none for a card"),
        ("first operation", "shows whether\nall of it fits", operation, "not tried"),
    ]
