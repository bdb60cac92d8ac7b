"""`bootstrap.py` where something fails: one line with the cure, and nothing left that breaks the next run."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import bootstrap
from tests.platform.conftest import OWN, Checkout

ROOT = Path(__file__).resolve().parents[2]
CREATE = bootstrap.create


def stopped(capsys) -> str:
    """Return the one line on stderr."""
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("Stopped")
    return lines[0]


def test_old_pythons_can_parse_the_file():
    ast.parse((ROOT / "bootstrap.py").read_text(), feature_version=(3, 6))


def test_the_cure_for_a_wrong_python_names_one_that_is_here():
    assert bootstrap.wrong_python((3, 11, 0), []) == "" and bootstrap.wrong_python((3, 14, 2), []) == ""
    assert "Run: python3.12 bootstrap.py lab" in bootstrap.wrong_python((3, 8, 10), ["python3.12", "python3.11"])
    assert "too old" in bootstrap.wrong_python((3, 10, 1), []) and "conda create" in bootstrap.wrong_python(
        (3, 10, 1), []
    )
    assert "too new" in bootstrap.wrong_python((3, 15, 0), [])


def test_an_old_python_ends_with_one_line():
    code = f"import sys, runpy; sys.version_info = (3, 8, 10); runpy.run_path({str(ROOT / 'bootstrap.py')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("Stopped: Python 3.8 is too old") and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("NewConnectionError\nERROR: No matching distribution found for torch\n", "the package index does not answer"),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
            "the disk is full",
        ),
        ("OSError: [Errno 13] Permission denied: '/x'\n", "no permission to write"),
    ],
)
def test_a_failed_installation_leaves_nothing_and_the_next_run_succeeds(checkout, capsys, log, cause):
    checkout.fail_with(log)
    assert bootstrap.main(["install"]) == 1
    assert cause in stopped(capsys)
    assert not checkout.environment.exists()
    checkout.fail_with(None)
    assert bootstrap.main(["install"]) == 0


def test_a_failed_update_keeps_the_environment(checkout, capsys):
    bootstrap.prepare(development=False)
    before = checkout.record.read_text()
    (checkout.folder / "requirements.txt").write_text("numpy\n")
    checkout.fail_with("ReadTimeoutError: Read timed out.\n")
    assert bootstrap.main(["install"]) == 1
    assert "does not answer" in stopped(capsys)
    assert checkout.record.read_text() == before


def half_made(kind: str, checkout: Checkout) -> None:
    if kind == "empty folder":
        checkout.environment.mkdir()
    elif kind == "no interpreter":
        (checkout.environment / "lib").mkdir(parents=True)
        (checkout.environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    elif kind == "interrupted pip":
        checkout.stub()
        checkout.record.write_text("{}")
    elif kind == "interrupted record":
        checkout.stub()
        checkout.record.write_text('{"python": "3.1')
    elif kind == "dangling link":
        checkout.environment.symlink_to(checkout.folder / "gone")
    elif kind == "broken interpreter":
        checkout.stub()
        (checkout.environment / "bin" / "python").write_text("#!/bin/sh\nexit 1\n")
    (checkout.environment / "stale").touch() if checkout.environment.is_dir() else None


@pytest.mark.parametrize(
    "kind",
    ["empty folder", "no interpreter", "interrupted pip", "interrupted record", "dangling link", "broken interpreter"],
)
def test_a_half_made_environment_is_made_again(checkout, kind):
    half_made(kind, checkout)
    assert bootstrap.main(["install"]) == 0
    assert not (checkout.environment / "stale").exists()
    assert json.loads(checkout.record.read_text())["folder"] == str(checkout.folder)


def test_somebody_else_s_environment_is_left_alone(checkout, capsys):
    checkout.stub()
    assert bootstrap.main(["install"]) == 1
    assert "was not made by this script" in stopped(capsys)
    assert (checkout.environment / "bin" / "python").exists() and checkout.installed == []


def test_packages_that_do_not_work_are_reported_and_not_recorded_as_ready(checkout, capsys, monkeypatch):
    monkeypatch.setattr(bootstrap, "VERIFY", "broken")
    real = bootstrap.ask
    broken = (1, "", "AssertionError: the Pong ROM is missing")
    monkeypatch.setattr(
        bootstrap, "ask", lambda command, *a, **k: broken if "broken" in command else real(command, *a, **k)
    )
    assert bootstrap.main(["install"]) == 1
    assert "the Pong ROM is missing" in stopped(capsys)
    assert checkout.record.read_text() == "{}"


@pytest.fixture
def real_create(checkout, monkeypatch):
    monkeypatch.setattr(bootstrap, "create", CREATE)


@pytest.mark.parametrize("module", ["ensurepip", "venv"])
def test_a_python_without_venv_names_the_package(checkout, real_create, monkeypatch, capsys, module):
    find = bootstrap.importlib.util.find_spec
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda name: None if name == module else find(name))
    assert bootstrap.main(["lab"]) == 1
    assert re.search(r"apt-get install python3\.\d+-venv", stopped(capsys))
    assert not checkout.environment.exists()


def test_too_little_room_is_said_before_anything_is_downloaded(checkout, real_create, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap.shutil, "disk_usage", lambda _: SimpleNamespace(free=10**8))
    assert bootstrap.main(["lab"]) == 1
    assert "100 MB are free" in stopped(capsys)
    assert checkout.installed == [] and not checkout.environment.exists()


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("Error: [Errno 28] No space left on device: '/x/.venv'", "the disk is full"),
        ("Error: [Errno 13] Permission denied: '/x/.venv'", "no permission to write"),
        ("something else", "venv failed: something else"),
    ],
)
def test_a_failed_venv_leaves_nothing(checkout, real_create, monkeypatch, capsys, message, cause):
    real = bootstrap.ask
    failed = (1, "", message)
    monkeypatch.setattr(
        bootstrap, "ask", lambda command, *a, **k: failed if "venv" in command else real(command, *a, **k)
    )
    assert bootstrap.main(["lab"]) == 1
    assert cause in stopped(capsys)
    assert not checkout.environment.exists()


def test_a_run_killed_while_venv_works_starts_afresh(checkout, monkeypatch):
    def killed(*_):
        checkout.stub()
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "create", killed)
    assert bootstrap.main(["install"]) == 130
    monkeypatch.setattr(bootstrap, "create", checkout.stub)
    assert bootstrap.main(["install"]) == 0


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(OSError(28, "No space left on device"), 1, "the disk is full"), (KeyboardInterrupt(), 130, "Stopped by you")],
)
def test_faults_anywhere_end_in_one_line(checkout, monkeypatch, capsys, error, code, words):
    def raising(*_):
        raise error

    monkeypatch.setattr(bootstrap, "install", raising)
    assert bootstrap.main(["install"]) == code
    assert words in stopped(capsys)
    monkeypatch.undo()


def test_a_card_s_build_is_not_replaced_by_another_when_its_index_is_silent(checkout, monkeypatch, capsys):
    chosen = OWN._replace(torch="torch==2.13.0", index="https://example.org/whl/cu126")
    monkeypatch.setattr(bootstrap, "plan", lambda machine, torch: chosen)
    assert bootstrap.main(["install"]) == 1
    assert "does not answer" in stopped(capsys)
    assert checkout.installed == [] and not checkout.environment.exists()
