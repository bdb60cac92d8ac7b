"""The command line: one help text, known exit codes, no torch where it is not needed."""

import subprocess
import sys

from course_utils import cli


def test_help_names_every_command(capsys):
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in cli.COMMANDS) and "exit codes" in text


def test_no_or_an_unknown_command_is_bad_input(capsys):
    assert cli.main([]) == 2
    assert cli.main(["doktor"]) == 2
    assert "no command 'doktor'; choose one of: doctor, card, update" in capsys.readouterr().err


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
