"""Run a notebook in a kernel as a student's Jupyter would, with answers filled in, and watch its memory."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
import psutil
from nbclient import NotebookClient

from tests.answers import Answer, load

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ARTIFACTS = ROOT / "build" / "artifacts"
CELL_SECONDS = 120


@dataclass
class Run:
    notebook: nbformat.NotebookNode
    seconds: float
    peak_megabytes: float


class MemoryWatch(threading.Thread):
    """Sum the memory (PSS) of a process and all its children, as Binder's limit does; kill them past the cap."""

    def __init__(self, pid: int, cap_megabytes: float) -> None:
        super().__init__(daemon=True)
        self.process = psutil.Process(pid)
        self.cap = cap_megabytes
        self.peak = 0.0
        self.exceeded = False
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.2):
            family, total = self._family(), 0.0
            for member in family:
                try:
                    total += member.memory_full_info().pss / 2**20
                except psutil.Error:
                    continue
            self.peak = max(self.peak, total)
            if total > self.cap:
                self.exceeded = True
                for member in family:
                    if member.is_running():
                        member.kill()
                return

    def _family(self) -> list[psutil.Process]:
        try:
            return [self.process, *self.process.children(recursive=True)]
        except psutil.Error:
            return []

    def stop(self) -> None:
        self._done.set()
        self.join()


def right_answers() -> dict[str, Answer]:
    """The first right answer to every exercise."""
    answers: dict[str, Answer] = {}
    for answer in load():
        if answer.right:
            answers.setdefault(answer.exercise, answer)
    return answers


def fill(notebook: nbformat.NotebookNode, answers: dict[str, str]) -> nbformat.NotebookNode:
    """Put an answer's source into each answer cell whose exercise is given."""
    for cell in notebook.cells:
        exercise = exercise_of(cell, "solution")
        if exercise in answers:
            cell.source = answers[exercise]
    return notebook


def exercise_of(cell: nbformat.NotebookNode, kind: str) -> str | None:
    """The exercise whose answer ("solution") or check ("grade") a cell is, or None."""
    metadata = cell.metadata.get("nbgrader", {})
    return metadata["grade_id"].rsplit("-", 1)[0] if metadata.get(kind) else None


def execute(notebook: nbformat.NotebookNode, cap_megabytes: float = 2_000) -> Run:
    """Run all cells; raises what nbclient raises for an error, a time-out or a dead kernel."""
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(ROOT / "notebooks")}},
    )
    started = time.perf_counter()
    with client.setup_kernel():
        watch = MemoryWatch(client.km.provisioner.pid, cap_megabytes)
        watch.start()
        try:
            for index, cell in enumerate(notebook.cells):
                client.execute_cell(cell, index)
            seconds = time.perf_counter() - started
        finally:
            watch.stop()
    return Run(notebook, seconds, watch.peak)
