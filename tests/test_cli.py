"""The command line: one help text, known exit codes, no torch where it is not needed."""

import os
import subprocess
import sys
from pathlib import Path

from course_utils import cli

ROOT = Path(__file__).resolve().parents[1]


def test_help_names_every_command(capsys):
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in cli.COMMANDS) and "exit codes" in text
    assert "130 interrupted" in text


def test_an_interrupt_is_one_line_and_130(capsys, monkeypatch):
    monkeypatch.setattr(cli.importlib, "import_module", lambda name: (_ for _ in ()).throw(KeyboardInterrupt))
    assert cli.main(["train", "pong"]) == 130
    assert capsys.readouterr().err == "course: interrupted\n"


def test_no_or_an_unknown_command_is_bad_input(capsys):
    assert cli.main([]) == 2
    assert cli.main(["doktor"]) == 2
    assert "no command 'doktor'; choose one of: doctor, card, train, update" in capsys.readouterr().err


def test_a_missing_package_or_folder_is_one_line_with_the_cure(capsys, monkeypatch):
    for error, cure in ((ImportError("No module named 'x'"), "bootstrap.py install"), (OSError("gone"), "Check that")):
        monkeypatch.setattr(cli.importlib, "import_module", lambda name, error=error: (_ for _ in ()).throw(error))
        assert cli.main(["card"]) == 1
        text = capsys.readouterr().err
        assert cure in text and text.count("\n") == 1


def test_the_module_runs_and_its_exit_code_comes_through():
    run = subprocess.run([sys.executable, "-m", "course_utils", "nothing"], capture_output=True, timeout=60)
    assert run.returncode == 2


def test_the_doctor_and_the_card_start_without_torch():
    code = (
        "import sys; sys.modules['torch'] = sys.modules['numpy'] = None; from course_utils import cli;"
        "import course_utils.machine.doctor, course_utils.machine.card; print('ok')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "ok", run.stderr


def test_make_pong_sets_up_and_trains_with_the_options_given():
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", "--dry-run", "pong", "PYTHON=python3", "ARGS=--seed 1"]
    lines = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True).stdout
    setup, train = lines.splitlines()
    assert setup == "python3 bootstrap.py install"
    assert train.endswith("-m course_utils train pong --seed 1")


def test_make_pong_uses_the_course_s_environment_where_there_is_one(tmp_path):
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    for place in ("bin", ".venv/bin"):  # stand-ins that print how they were called
        name = tmp_path / place / ("python" if place.startswith(".") else "python3")
        name.parent.mkdir(parents=True)
        name.write_text(f"#!/bin/sh\necho {place} $@\n")
        name.chmod(0o755)
        environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        command = ["make", "--no-print-directory", "pong", f"PYTHON={tmp_path}/bin/python3", "ARGS=--steps 5"]
        run = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
        assert run.stdout.splitlines() == [
            "bin bootstrap.py install",
            f"{place} -m course_utils train pong --steps 5",
        ]
