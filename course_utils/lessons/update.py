"""`course update`: bring the course's new notebooks without losing what the student wrote.

A student's notebook and the new release are joined by cell ids: the release gives every cell but the answers, the
student gives the answers and the cells of their own. What was there before is kept in the course's home folder.
"""

from __future__ import annotations

import argparse
import copy
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from course_utils.machine import runtime

Cell = dict[str, Any]
Notebook = dict[str, Any]


class UpdateError(Exception):
    """What stops an update, with the cure; nothing was changed."""


def _is_answer(cell: Cell) -> bool:
    return bool(cell.get("metadata", {}).get("nbgrader", {}).get("solution"))


def _source(cell: Cell) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def merge(mine: Notebook, release: Notebook, base: Notebook | None = None) -> Notebook:
    """Return the release with my answers in it, and my own cells after the cells they followed.

    Cells are matched by id. `base` is the release that I started from: a cell of it that the new release dropped is
    dropped, unless it holds an answer of mine. A cell of the course that I changed, other than an answer, comes
    from the release.
    """
    merged = copy.deepcopy(release)
    place = {cell.get("id"): cell for cell in merged["cells"]}
    known = {cell.get("id"): _source(cell) for cell in base["cells"]} if base else {}
    own_after: dict[Any, list[Cell]] = {}
    last_known = None
    for cell in mine["cells"]:
        name = cell.get("id")
        if name in place:
            last_known = name
            if _is_answer(place[name]):
                place[name]["source"] = cell["source"]
        elif name not in known or (_is_answer(cell) and _source(cell) != known[name]):
            own = copy.deepcopy(cell)
            own.get("metadata", {}).pop("nbgrader", None)
            own_after.setdefault(last_known, []).append(own)
    cells = list(own_after.get(None, []))
    for cell in merged["cells"]:
        cells += [cell, *own_after.get(cell.get("id"), [])]
    merged["cells"] = cells
    return merged


def _git(root: Path, *arguments: str) -> str:
    """Run git in the checkout and return what it printed; UpdateError with its last line where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, timeout=300)
    except FileNotFoundError:
        raise UpdateError(
            "git is not installed. Download the course anew and run: course update --from FOLDER"
        ) from None
    except subprocess.TimeoutExpired:
        raise UpdateError(
            f"git {arguments[0]} did not answer within 5 minutes. Check the network, then try again."
        ) from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UpdateError(f"git {arguments[0]} failed: {reason}")
    return done.stdout


def _load(source: str | Path, name: str) -> Notebook:
    try:
        notebook = json.loads(source.read_text(encoding="utf-8") if isinstance(source, Path) else source)
        if not isinstance(notebook["cells"], list):
            raise TypeError
        return notebook
    except (OSError, ValueError, KeyError, TypeError):
        raise UpdateError(f"{name} is not a readable notebook. Move it away, then run course update again.") from None


def _back_up(paths: list[Path], home: Path) -> Path:
    folder = home / "backups" / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            shutil.copy2(path, folder / path.name)
    except OSError as error:
        raise UpdateError(f"No backup could be written to {folder} ({error.strerror}). Nothing was changed.") from None
    return folder


def update_from_folder(root: Path, source: Path, home: Path) -> list[str]:
    """Bring the notebooks of an unpacked download; returns what was done, a line each."""
    releases = sorted((source / "notebooks").glob("*.ipynb"))
    if not releases:
        raise UpdateError(f"There is no notebooks folder with notebooks in {source}.")
    merged = {}
    for path in releases:
        target = root / "notebooks" / path.name
        release = _load(path, str(path))
        mine = _load(target, target.name) if target.exists() else release
        merged[target] = merge(mine, release)
    return _put(merged, _back_up([path for path in merged if path.exists()], home))


def update_from_git(root: Path, home: Path) -> list[str]:
    """Fetch the course's new version, move the checkout to it, and put my answers back into its notebooks."""
    _git(root, "fetch", "--quiet")
    new, old = _git(root, "rev-parse", "@{upstream}").strip(), _git(root, "rev-parse", "HEAD").strip()
    if new == _git(root, "merge-base", "HEAD", new).strip():
        return ["The course is up to date."]
    if old != _git(root, "merge-base", "HEAD", new).strip():
        raise UpdateError("Your copy holds commits of its own. Bring the course's with: git pull --rebase")
    names = _git(root, "ls-tree", "--name-only", new, "notebooks/").split()
    before = set(_git(root, "ls-tree", "--name-only", old, "notebooks/").split())
    merged, mine_paths = {}, []
    for name in (name for name in names if name.endswith(".ipynb")):
        release = _load(_git(root, "show", f"{new}:{name}"), name)
        path = root / name
        if not path.exists():
            continue
        mine = _load(path, name)
        base = _load(_git(root, "show", f"{old}:{name}"), name) if name in before else None
        mine_paths.append(path)
        merged[path] = merge(mine, release, base)
    folder = _back_up(mine_paths, home)
    tracked = [str(path.relative_to(root)) for path in mine_paths if str(path.relative_to(root)) in before]
    try:
        if tracked:
            _git(root, "checkout", "--quiet", "HEAD", "--", *tracked)
        _git(root, "merge", "--ff-only", "--quiet", new)
        lines = _put(merged, folder)
    except BaseException as error:  # an interrupt too must not leave notebooks without their answers
        for path in mine_paths:
            shutil.copy2(folder / path.name, path)
        if isinstance(error, UpdateError):
            cure = "Nothing was changed. Files you changed outside notebooks/: git stash, then again."
            raise UpdateError(f"{error} {cure}") from None
        raise
    return [f"The course moved from {old[:7]} to {new[:7]}.", *lines]


def _put(merged: dict[Path, Notebook], folder: Path) -> list[str]:
    for path, notebook in merged.items():
        runtime.write_whole(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    return [f"{len(merged)} notebooks hold your answers.", f"What they were before is in {folder}."]


def main(arguments: list[str]) -> int:
    """Run `course update`; returns 0 when done, 1 when it stopped and changed nothing."""
    parser = argparse.ArgumentParser(prog="course update", description=__doc__.splitlines()[0].split(": ", 1)[1])
    parser.add_argument("--from", dest="source", type=Path, help="an unpacked download of the course, instead of git")
    options = parser.parse_args(arguments)
    root = Path(__file__).resolve().parents[2]
    try:
        home = runtime.course_home()
        lines = update_from_folder(root, options.source, home) if options.source else update_from_git(root, home)
    except (UpdateError, OSError) as error:
        print(f"course update: {error}", file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0
