"""A temporary copy of the set-up files, with a stub in place of the environment's interpreter and of pip."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import bootstrap
from course_utils.machine.installation import Machine, Plan

ROOT = Path(__file__).resolve().parents[2]
OWN = Plan("own", "requirements-cpu.txt", "", "", (), False, ("a reason",))
# Answers as an interpreter with pip: notes each installation, and fails with $STUB/log when that file exists.
STUB = """#!/bin/sh
case "$*" in
  *"-m pip install"*)
    echo "$*" >> "$STUB/installed"
    [ -e "$STUB/log" ] || exit 0
    while [ "$1" != "--log" ]; do shift; done
    cp "$STUB/log" "$2"; exit 1;;
  *) echo "checked";;
esac
"""


class Checkout:
    """A copy of the set-up files in a temporary folder, with what happened there."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = folder / ".venv"
        self.record = self.environment / "course-setup.json"

    def stub(self, *_: object) -> None:
        (self.environment / "bin").mkdir(parents=True)
        python = self.environment / "bin" / "python"
        python.write_text(STUB)
        python.chmod(0o755)

    @property
    def installed(self) -> list[str]:
        path = self.folder / "installed"
        return path.read_text().splitlines() if path.exists() else []

    def fail_with(self, log: str | None) -> None:
        path = self.folder / "log"
        path.write_text(log) if log is not None else path.unlink()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    for name in ("requirements.txt", "requirements-cpu.txt", "requirements-colab.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    made = Checkout(tmp_path)
    monkeypatch.setenv("STUB", str(tmp_path))
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(bootstrap, "ENVIRONMENT", made.environment)
    monkeypatch.setattr(bootstrap, "create", made.stub)
    monkeypatch.setattr(bootstrap, "look", lambda python: Machine("local"))
    monkeypatch.setattr(bootstrap, "plan", lambda machine, torch: OWN)
    monkeypatch.setattr(bootstrap, "platform_name", lambda: "local")
    monkeypatch.setattr(bootstrap, "index_answers", lambda index: False)
    return made
