"""`bootstrap.py` where all goes well: it installs once, in the right place, and opens what it should."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import bootstrap
from course_utils.machine.installation import Plan
from tests.platform.conftest import OWN

ROOT = Path(__file__).resolve().parents[2]


def test_the_second_run_installs_nothing(checkout, capsys):
    assert bootstrap.main(["install"]) == 0
    (line,) = checkout.installed
    assert "--requirement requirements-cpu.txt --editable ." in line and "--extra-index-url" not in line
    assert bootstrap.main(["install"]) == 0
    assert len(checkout.installed) == 1
    assert "Already set up" in capsys.readouterr().out


def test_the_tests_tools_are_added_once(checkout):
    bootstrap.prepare(development=False)
    bootstrap.prepare(development=True)
    bootstrap.prepare(development=False)
    bootstrap.prepare(development=True)
    assert [line.endswith("--editable .[dev,grade,robots]") for line in checkout.installed] == [False, True]


def test_changed_requirements_are_installed_into_the_same_environment(checkout):
    bootstrap.prepare(development=True)
    keep = checkout.environment / "keep"
    keep.touch()
    (checkout.folder / "requirements.txt").write_text("numpy\n")
    bootstrap.prepare(development=False)
    assert keep.exists() and len(checkout.installed) == 2
    assert checkout.installed[1].endswith("[dev,grade,robots]")


@pytest.mark.parametrize("name", ["folder", "python"])
def test_an_environment_of_another_folder_or_python_is_made_again(checkout, name):
    bootstrap.prepare(development=False)
    state = json.loads(checkout.record.read_text())
    checkout.record.write_text(json.dumps({**state, name: "another"}))
    (checkout.environment / "stale").touch()
    bootstrap.prepare(development=False)
    assert not (checkout.environment / "stale").exists() and len(checkout.installed) == 2


@pytest.mark.parametrize("answers", [True, False])
def test_the_cpu_index_is_used_where_it_answers(checkout, monkeypatch, answers):
    monkeypatch.setattr(bootstrap, "index_answers", lambda index: answers)
    monkeypatch.setattr(bootstrap, "plan", lambda machine, torch: OWN._replace(index="https://example.org/whl/cpu"))
    bootstrap.prepare(development=False)
    (line,) = checkout.installed
    assert ("--extra-index-url https://example.org/whl/cpu" in line) is answers


def test_a_card_s_build_comes_first_from_its_own_index(checkout, monkeypatch):
    chosen = OWN._replace(torch="torch==2.13.0", index="https://example.org/whl/cu126", requirements="requirements.txt")
    monkeypatch.setattr(bootstrap, "plan", lambda machine, torch: chosen)
    monkeypatch.setattr(bootstrap, "index_answers", lambda index: True)
    bootstrap.prepare(development=False)
    first, second = checkout.installed
    assert first.endswith("torch==2.13.0 --index-url https://example.org/whl/cu126")
    assert "--requirement requirements.txt" in second and "index" not in second


def test_a_hosted_notebook_is_installed_in_place_under_constraints(checkout, monkeypatch, capsys):
    checkout.stub()
    chosen = Plan("in place", "requirements-colab.txt", "", "", ("torch==2.11.0+cu128",), False, ())
    monkeypatch.setattr(bootstrap, "plan", lambda machine, torch: chosen)
    monkeypatch.setattr(bootstrap, "platform_name", lambda: "colab")
    monkeypatch.setattr(bootstrap.sys, "executable", str(checkout.environment / "bin" / "python"))
    assert bootstrap.main(["lab"]) == 0
    first, second = checkout.installed
    assert "--constraint" in first and first.endswith("--requirement requirements-colab.txt")
    assert second.endswith("--no-deps --editable .")
    assert bootstrap.main(["lab"]) == 0
    assert len(checkout.installed) == 2
    assert "Open notebooks/00_start_here.ipynb in the page" in capsys.readouterr().out


def test_autodl_gets_a_kernel_and_the_way_to_its_own_jupyterlab(checkout, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap, "platform_name", lambda: "autodl")
    monkeypatch.setattr(bootstrap, "plan", lambda machine, torch: OWN._replace(place="shared", kernel=True))
    monkeypatch.setattr(bootstrap.os, "execve", lambda *_: pytest.fail("a second JupyterLab was started"))
    assert bootstrap.main(["lab"]) == 0
    out = capsys.readouterr().out
    assert 'kernel "Course"' in out and "内核选择 Course" in out


def test_lab_hands_its_options_to_jupyterlab(checkout, monkeypatch):
    called = []
    monkeypatch.chdir(checkout.folder)
    monkeypatch.setattr(bootstrap.os, "execve", lambda path, command, environ: called.append((command, environ)) or 0)
    bootstrap.main(["lab", "--no-browser", "--port", "9999"])
    ((command, environ),) = called
    assert environ["PATH"].startswith(f"{checkout.environment}/bin:")
    assert command[1:4] == ["-m", "jupyterlab", f"--ServerApp.root_dir={checkout.folder}"]
    assert command[4:8] == [
        "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb",
        "--no-browser",
        "--port",
        "9999",
    ]
    assert ("--allow-root" in command) is (os.geteuid() == 0)


def test_test_runs_every_check_and_fails_with_any(checkout, capsys):
    (checkout.folder / "notebooks").mkdir()
    (checkout.folder / "notebooks" / "a.ipynb").touch()
    bootstrap.prepare(development=True)
    (checkout.environment / "bin" / "lint-imports").symlink_to("/bin/false")
    assert bootstrap.main(["test", "-k", "x"]) == 1
    out = capsys.readouterr().out
    assert [line.split("Running ")[1] for line in out.splitlines() if "Running" in line] == [
        *("ruff check", "ruff format", "lint-imports", "nbstripout", "pytest")
    ]
    assert "Failed: lint-imports" in out


def test_plan_changes_nothing(checkout, capsys):
    assert bootstrap.main(["plan"]) == 0
    assert capsys.readouterr().out == "own: requirements-cpu.txt\n  a reason\n"
    assert not checkout.environment.exists()


def test_pip_gets_autodl_s_proxy(checkout, monkeypatch):
    checkout.stub()
    python = checkout.environment / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$https_proxy" > "$STUB/proxy"\n')
    monkeypatch.setattr(bootstrap, "proxy_settings", lambda view: {"https_proxy": "http://10.0.0.1:1"})
    bootstrap.pip_install(str(python), ["x"])
    assert (checkout.folder / "proxy").read_text() == "http://10.0.0.1:1\n"


@pytest.mark.pins
def test_the_tested_torch_survives_the_weekly_run(checkout):
    assert bootstrap.tested_torch().startswith("torch==")
    path = checkout.folder / "requirements-cpu.txt"
    path.write_text(path.read_text().replace("==", ">="))
    assert bootstrap.tested_torch().startswith("torch>=")


def test_make_takes_python_where_there_is_no_python3(tmp_path):
    for name in ("sh", "make"):
        (tmp_path / name).symlink_to(shutil.which(name))
    stub = tmp_path / "python"
    stub.write_text(f'#!{shutil.which("sh")}\necho "called: $*"\n')
    stub.chmod(0o755)
    command = ["make", "lab", "ARGS=--port 9999", f"SHELL={tmp_path / 'sh'}"]
    done = subprocess.run(command, cwd=ROOT, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert done.stdout == "called: bootstrap.py lab --port 9999\n"
