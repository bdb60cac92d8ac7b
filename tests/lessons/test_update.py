"""Updating never loses an answer: merged by id, with a backup, and all or nothing."""

import copy
import json
import subprocess

import pytest

from course_utils.lessons import update


def cell(name, source, answer=False):
    metadata = {"nbgrader": {"grade_id": name, "solution": True}} if answer else {}
    return {"id": name, "cell_type": "code", "source": source, "metadata": metadata, "outputs": []}


def notebook(*cells):
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


BASE = notebook(cell("intro", "old text"), cell("gae-answer", "stub", answer=True), cell("gone", "dropped later"))
RELEASE = notebook(cell("intro", "new text"), cell("new", "a new cell"), cell("gae-answer", "stub 2", answer=True))


def mine():
    changed = copy.deepcopy(BASE)
    changed["cells"][1]["source"] = "my answer"
    changed["cells"].insert(2, cell("1234abcd", "my own experiment"))
    return changed


def sources(notebook):
    return [cell["source"] for cell in notebook["cells"]]


def test_answers_and_own_cells_stay_and_the_rest_is_new():
    merged = update.merge(mine(), RELEASE, BASE)
    assert sources(merged) == ["new text", "a new cell", "my answer", "my own experiment"]
    assert merged["cells"][2]["metadata"] == RELEASE["cells"][2]["metadata"]


def test_without_a_base_nothing_of_mine_is_dropped():
    assert sources(update.merge(mine(), RELEASE))[2:] == ["my answer", "my own experiment", "dropped later"]


def test_an_answer_to_a_dropped_exercise_stays_as_a_cell_of_mine():
    release = notebook(cell("intro", "new text"))
    merged = update.merge(mine(), release, BASE)
    assert sources(merged) == ["new text", "my answer", "my own experiment"]
    assert "nbgrader" not in merged["cells"][1]["metadata"]


def test_an_untouched_stub_of_a_dropped_exercise_goes():
    assert sources(update.merge(BASE, notebook(cell("intro", "new text")), BASE)) == ["new text"]


@pytest.fixture
def checkout(tmp_path):
    """A course in a repository, and a student's clone of it with an answer in its notebook."""

    def git(folder, *arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)

    course, clone = tmp_path / "course", tmp_path / "clone"
    (course / "notebooks").mkdir(parents=True)
    path = course / "notebooks" / "05_x.ipynb"
    path.write_text(json.dumps(BASE))
    (course / "code.py").write_text("old")
    git(course, "init")
    git(course, "add", ".")
    git(course, "commit", "-m", "first")
    git(tmp_path, "clone", str(course), str(clone))
    path.write_text(json.dumps(RELEASE))
    (course / "code.py").write_text("new")
    git(course, "commit", "-am", "second")
    (clone / "notebooks" / "05_x.ipynb").write_text(json.dumps(mine()))
    return clone


def test_a_clone_moves_to_the_new_version_with_its_answers(checkout, tmp_path):
    lines = update.update_from_git(checkout, tmp_path / "home")
    path = checkout / "notebooks" / "05_x.ipynb"
    assert sources(json.loads(path.read_text())) == ["new text", "a new cell", "my answer", "my own experiment"]
    assert (checkout / "code.py").read_text() == "new"
    (backup,) = (tmp_path / "home" / "backups").glob("*/05_x.ipynb")
    assert json.loads(backup.read_text()) == mine()
    assert lines[0].startswith("The course moved from")
    assert update.update_from_git(checkout, tmp_path / "home") == ["The course is up to date."]


def test_a_change_that_blocks_the_update_leaves_everything_as_it_was(checkout, tmp_path):
    (checkout / "code.py").write_text("edited by the student")
    with pytest.raises(update.UpdateError, match="Nothing was changed"):
        update.update_from_git(checkout, tmp_path / "home")
    assert json.loads((checkout / "notebooks" / "05_x.ipynb").read_text()) == mine()
    assert (checkout / "code.py").read_text() == "edited by the student"


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_full_disk_or_an_interrupt_at_the_end_keeps_the_answers(checkout, tmp_path, monkeypatch, error):
    def fail(path, text):
        path.write_text("half")
        raise error

    monkeypatch.setattr(update.runtime, "write_whole", fail)
    with pytest.raises(type(error)):
        update.update_from_git(checkout, tmp_path / "home")
    assert json.loads((checkout / "notebooks" / "05_x.ipynb").read_text()) == mine()


def test_a_broken_notebook_stops_before_anything_changes(checkout, tmp_path):
    path = checkout / "notebooks" / "05_x.ipynb"
    path.write_text("<<<<<<< HEAD")
    latin = path.with_name("latin.ipynb")
    latin.write_bytes("é".encode("latin-1"))
    with pytest.raises(update.UpdateError, match="not a readable notebook"):
        update._load(latin, "latin.ipynb")
    with pytest.raises(update.UpdateError, match="not a readable notebook"):
        update.update_from_git(checkout, tmp_path / "home")
    assert path.read_text() == "<<<<<<< HEAD" and (checkout / "code.py").read_text() == "old"


def test_a_folder_that_is_no_repository_is_named(tmp_path):
    with pytest.raises(update.UpdateError, match="git fetch failed"):
        update.update_from_git(tmp_path, tmp_path / "home")


def test_a_download_brings_new_notebooks(tmp_path):
    root, download = tmp_path / "mine", tmp_path / "download"
    for folder, content in ((root, mine()), (download, RELEASE)):
        (folder / "notebooks").mkdir(parents=True)
        (folder / "notebooks" / "05_x.ipynb").write_text(json.dumps(content))
    (download / "notebooks" / "06_y.ipynb").write_text(json.dumps(RELEASE))
    update.update_from_folder(root, download, tmp_path / "home")
    assert "my answer" in sources(json.loads((root / "notebooks" / "05_x.ipynb").read_text()))
    assert sources(json.loads((root / "notebooks" / "06_y.ipynb").read_text())) == sources(RELEASE)
    with pytest.raises(update.UpdateError, match="no notebooks folder"):
        update.update_from_folder(root, tmp_path, tmp_path / "home")
