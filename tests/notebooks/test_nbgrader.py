"""nbgrader's own programs on a notebook as committed: release it, then grade a solved, a wrong and a blank copy."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_utils.lessons import exercise
from tests.answers import load
from tests.notebooks import running

ASSIGNMENT = "03_policy_gradient_cartpole"


@pytest.fixture(scope="module", autouse=True)
def programs_on_the_path():
    """nbgrader starts `alembic` by name, which an environment that is not activated does not have on PATH."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        yield


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A grading folder in which the assignment was released."""
    folder = tmp_path_factory.mktemp("grading")
    shutil.copy(running.ROOT / "docs" / "nbgrader_config.py", folder)
    (folder / "source" / ASSIGNMENT).mkdir(parents=True)
    shutil.copy(running.ROOT / "notebooks" / f"{ASSIGNMENT}.ipynb", folder / "source" / ASSIGNMENT)
    nbgrader(folder, "generate_assignment", ASSIGNMENT)
    return folder


def nbgrader(folder, *arguments):
    environment = {**os.environ, "COURSE_HOME": str(folder / "home")}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400)
    assert run.returncode == 0, run.stderr[-3000:]


def released(course):
    return course / "release" / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"


def test_what_is_released_is_what_is_committed(course):
    committed = nbformat.read(running.ROOT / "notebooks" / f"{ASSIGNMENT}.ipynb", as_version=4)
    release = nbformat.read(released(course), as_version=4)
    assert [(c.id, c.cell_type, c.source) for c in release.cells] == [
        (c.id, c.cell_type, c.source) for c in committed.cells
    ]


def test_solved_wrong_and_blank_copies_get_the_points_they_earned(course):
    right = {name: answer.source for name, answer in running.right_answers().items()}
    wrong = {answer.exercise: answer.source for answer in load() if not answer.right}
    for student, answers in (("solved", right), ("wrong", wrong), ("blank", {})):
        target = course / "submitted" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        target.parent.mkdir(parents=True)
        nbformat.write(running.fill(nbformat.read(released(course), as_version=4), answers), target)
    nbgrader(course, "autograde", ASSIGNMENT)
    full = sum(entry.points for entry in exercise.exercises().values() if entry.notebook == ASSIGNMENT)
    assert scores(course) == {"solved": full, "wrong": 0, "blank": 0}
    for student in ("wrong", "blank"):
        path = course / "autograded" / student / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        failed = [cell.id for cell in nbformat.read(path, as_version=4).cells if has_error(cell)]
        assert failed and all(name.endswith("-check") for name in failed)  # every later cell still ran


def scores(course):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        return {submission.student.id: submission.score for submission in gradebook.assignment_submissions(ASSIGNMENT)}


def has_error(cell):
    return any(output.output_type == "error" for output in cell.get("outputs", []))
