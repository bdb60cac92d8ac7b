"""The notebooks themselves: their shape, and a run with every exercise solved, within Binder's memory.

The run with nothing solved is nbval's: pytest collects the notebooks folder with it.
"""

import json
import re

import nbformat
import pytest

from course_utils.lessons import exercise
from tests.notebooks import running

CAP_MEGABYTES = 1_500
IDS = [path.stem for path in running.NOTEBOOKS]


@pytest.fixture(params=running.NOTEBOOKS, ids=IDS)
def path(request):
    return request.param


def read(path):
    return nbformat.read(path, as_version=4)


def test_every_exercise_solved_earns_full_marks(path, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    answers = {name: answer.source for name, answer in running.right_answers().items()}
    notebook = running.fill(read(path), answers)
    try:
        run = running.execute(notebook, CAP_MEGABYTES)
    except BaseException:
        running.ARTIFACTS.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, running.ARTIFACTS / path.name)
        raise
    ledger = json.loads((tmp_path / "ledger.json").read_text())["exercises"]
    mine = [name for name, entry in exercise.exercises().items() if entry.notebook == path.stem]
    assert mine and [name for name in mine if not ledger.get(name, {}).get("solved")] == []
    with capsys.disabled():
        print(f"\n{path.stem}: {run.seconds:.1f} s, peak {run.peak_megabytes:.0f} MB at smoke, all solved")


def test_first_code_cell_is_the_same_everywhere(path):
    sources = [next(cell.source for cell in read(each).cells if cell.cell_type == "code") for each in running.NOTEBOOKS]
    assert next(cell.source for cell in read(path).cells if cell.cell_type == "code") == sources[0]


def test_exercises_have_an_answer_cell_a_check_cell_and_the_points_of_the_judge(path):
    cells = read(path).cells
    answers = {name: cell for cell in cells if (name := running.exercise_of(cell, "solution"))}
    checks = {name: cell for cell in cells if (name := running.exercise_of(cell, "grade"))}
    entries = {name: entry for name, entry in exercise.exercises().items() if entry.notebook == path.stem}
    assert answers.keys() == checks.keys() == entries.keys()
    for name, entry in entries.items():
        assert checks[name].source == f"{name} = check.{name}({name})"
        assert checks[name].metadata["nbgrader"]["points"] == entry.points
        assert checks[name].metadata["nbgrader"]["locked"] and not answers[name].metadata["nbgrader"]["locked"]
        slug = name.replace("_", "-")
        assert (answers[name].id, checks[name].id) == (f"{slug}-answer", f"{slug}-check")


def test_size_ids_and_format(path):
    notebook = read(path)
    words = sum(len(cell.source.split()) for cell in notebook.cells if cell.cell_type == "markdown")
    ids = [cell.id for cell in notebook.cells]
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert len(ids) == len(set(ids)) and len(ids) <= 48 and words <= 2_500
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", name) for name in ids)
    assert all(not cell.get("outputs") for cell in notebook.cells)


def test_time_and_memory_are_the_measured_ones(path):
    measured = json.loads((running.ROOT / "benchmarks" / "results" / "notebooks.json").read_text())["notebooks"]
    title = read(path).cells[0].source
    row = next(line for line in (running.ROOT / "README.md").read_text().splitlines() if path.name in line)
    if path.stem not in measured:  # then both say so, and neither quotes a figure
        assert "All cells at standard scale: not measured yet." in title
        assert row.endswith("| not measured yet | |")
        return
    seconds, megabytes = measured[path.stem]["seconds"], measured[path.stem]["peak_megabytes"]
    assert f"all cells {seconds} s, memory {megabytes} MB" in title
    assert row.endswith(f"| {seconds} s | {megabytes} MB |")


def test_links_between_notebooks_lead_somewhere(path):
    for cell in read(path).cells:
        for target in re.findall(r"\]\(([\w./-]+\.ipynb)", cell.source):
            assert (path.parent / target).exists(), target


class TestTheRunnerItself:
    """A runner that cannot fail proves nothing."""

    def notebook(self, *sources):
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])

    def test_an_error_and_an_unknown_magic_stop_the_run(self):
        for source in ("1 / 0", "%no_such_magic"):
            with pytest.raises(Exception, match=r"division by zero|no_such_magic"):
                running.execute(self.notebook(source))

    def test_a_dead_kernel_is_noticed(self):
        with pytest.raises(RuntimeError, match="Kernel died"):
            running.execute(self.notebook("import os; os._exit(1)", "1"))

    def test_too_much_memory_ends_the_kernel(self):
        hungry = "import time\nheap = bytearray(400 << 20)\nheap[::4096] = b'x' * len(heap[::4096])\ntime.sleep(20)"
        with pytest.raises(RuntimeError, match="Kernel died"):
            running.execute(self.notebook(hungry), cap_megabytes=300)

    def test_the_peak_is_measured(self):
        sources = ("import time\nheap = bytearray(200 << 20)\nheap[::4096] = b'x' * len(heap[::4096])\ntime.sleep(1)",)
        assert 200 < running.execute(self.notebook(*sources)).peak_megabytes < 600
