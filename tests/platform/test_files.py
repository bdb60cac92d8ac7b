"""The files that set the course up are consistent, and the rules that say so can fail."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from course_utils.machine.doctor.wheels import index_for
from tests.platform import lints

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PYPROJECT["project"].get("optional-dependencies", {})
PINS = lints.requirements((ROOT / "requirements.txt").read_text())
CPU = lints.requirements((ROOT / "requirements-cpu.txt").read_text())
COLAB = lints.requirements((ROOT / "requirements-colab.txt").read_text())
OWN_FOLDERS = ("course_utils", "tests", "notebooks", "benchmarks", ".ci", "binder")


def own_files(*suffixes: str) -> list[Path]:
    folders = [ROOT / name for name in OWN_FOLDERS]
    found = [path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes]
    found += [path for path in ROOT.glob("*") if path.suffix in suffixes]
    return sorted(path for path in found if ".ipynb_checkpoints" not in path.parts)


# --- requirements ---


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-cpu.txt", "requirements-colab.txt"])
def test_requirements_hold_nothing_known_to_break(name):
    assert lints.requirement_findings((ROOT / name).read_text(), hosted="colab" in name) == []


@pytest.mark.parametrize(
    ("line", "hosted", "word"),
    [
        ("torch==2.0.0", True, "torch"),
        ("torch==2.0.0+cu117", False, "local build tag"),
        ("torchaudio", False, "torchaudio"),
        ("gym[atari]==0.26.2", False, "gymnasium"),
        ("gymnasium[box2d]", False, "swig"),
        ("pygame-ce", True, "pygame-ce"),
        ("numpy==2.4.6", True, "numpy"),
        ("opencv-python", False, "headless"),
    ],
)
def test_a_bad_requirement_is_found(line, hosted, word):
    (first, *_) = lints.requirement_findings(line, hosted=hosted)
    assert word in first


@pytest.mark.pins
def test_everything_is_pinned_but_torch():
    loose = [name for name, requirement in PINS.items() if not str(requirement.specifier).startswith("==")]
    assert loose == ["torch"]
    assert str(CPU["torch"].specifier).startswith("==")
    assert "-r requirements.txt" in (ROOT / "requirements-cpu.txt").read_text().splitlines()


@pytest.mark.pins
def test_the_package_s_dependencies_are_pinned_inside_their_bounds():
    for line in PYPROJECT["project"]["dependencies"]:
        bound = Requirement(line)
        name = bound.name.lower()
        pin = CPU["torch"] if name == "torch" else PINS.get(name)
        assert pin is not None, f"{name} is missing in requirements.txt"
        version = str(pin.specifier).removeprefix("==")
        assert bound.specifier.contains(version), f"{name}: {version} is outside {bound.specifier}"
        shipped = ("torch", "numpy", "opencv-python-headless")
        assert name in COLAB or name in shipped, f"{name} is missing in requirements-colab.txt"


@pytest.mark.pins
def test_colab_s_bounds_are_lower_bounds_below_the_pins():
    assert PINS["torch"].specifier.contains(str(CPU["torch"].specifier).removeprefix("=="))
    for name, requirement in COLAB.items():
        assert re.fullmatch(r">=[\d.]+", str(requirement.specifier)), name
        pinned = PINS["pygame-ce" if name == "pygame" else name]
        assert requirement.specifier.contains(str(pinned.specifier).removeprefix("==")), name


OPTIONAL = {"envpool"}  # large, for one row of a benchmark: not part of the tested set


def test_no_extra_is_dead():
    text = "".join(
        path.read_text(errors="replace")
        for path in own_files(".py", ".ipynb", ".yml", "")
        if path.is_file() and path.stat().st_size < 1e6 and path.name != "lints.py"  # which spells every name
    )
    text += (ROOT / "pyproject.toml").read_text().partition("[tool.")[2]
    installed = re.search(r'"\[([\w,]+)\]" if development', (ROOT / "bootstrap.py").read_text())
    assert installed is not None
    assert sorted(set(EXTRAS) - OPTIONAL) == sorted(installed.group(1).split(","))
    packages = [Requirement(line).name.lower() for lines in EXTRAS.values() for line in lines]
    assert lints.unused(packages, text) == []


def test_an_unused_package_is_found():
    assert lints.unused(["some-package", "pickle5"], "import some_package") == ["pickle5"]


# --- conda and Binder ---


@pytest.mark.parametrize("name", ["environment.yml", "binder/environment.yml"])
def test_conda_files(name):
    assert lints.conda_findings(yaml.safe_load((ROOT / name).read_text())) == []


def test_conda_pip_lines_exist():
    (pip,) = [
        e["pip"] for e in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"] if isinstance(e, dict)
    ]
    assert pip == ["-r requirements.txt", "-e ."]


def test_bad_conda_entries_are_found():
    findings = lints.conda_findings({"dependencies": ["python", "gymnasium-atari", {"pip": ["ale-py"]}]})
    assert [finding.split(":")[0] for finding in findings] == ["python", "gymnasium-atari"]


def test_binder_is_complete_and_runs_the_pinned_cpu_files():
    assert lints.binder_findings(ROOT) == []
    build = (ROOT / "binder" / "postBuild").read_text()
    assert "requirements-cpu.txt" in build and "download.pytorch.org/whl/cpu" in build
    assert lints.apt_findings((ROOT / "binder" / "apt.txt").read_text()) == []


def test_binder_start_sets_the_scale_and_hands_over():
    command = [str(ROOT / "binder" / "start"), "sh", "-c", "echo $COURSE_SCALE"]
    for given, expected in (({}, "smoke"), ({"COURSE_SCALE": "full"}, "full")):
        done = subprocess.run(
            command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **given}, check=True
        )
        assert done.stdout.strip() == expected


def test_bad_binder_folders_are_found(tmp_path):
    (tmp_path / "binder").mkdir()
    (tmp_path / "apt.txt").write_text("xvfb\n")
    (tmp_path / "binder" / "postBuild").write_text("pip install x\n")
    (tmp_path / "binder" / "start").write_text("#!/bin/sh\nexport A=1\n")
    text = "\n".join(lints.binder_findings(tmp_path))
    for words in ("apt.txt: configured in the root", "postBuild: not exec", "set -e", "--no-cache-dir", 'exec "$@"'):
        assert words in text
    assert lints.apt_findings("libgl1-mesa-glx\nxvfb\n") == ["libgl1-mesa-glx: not needed, the wheels are headless"]


# --- sources ---


def test_no_source_uses_the_old_interfaces():
    findings = {}
    for path in own_files(".py"):
        if found := lints.source_findings(path.read_text()):
            findings[path.name] = found
    for path in own_files(".ipynb"):
        for cell in json.loads(path.read_text())["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code":
                found = lints.source_findings(lints.python_of_cell(source)) + lints.cell_findings(source)
                findings.update({f"{path.name} {cell.get('id')}": found} if found else {})
    assert findings == {}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import gym", 1),
        ("from gym.spaces import Box", 1),
        ("import numpy as np\nnp.bool8 = np.bool_", 1),
        ("import gymnasium as gym\nfrom gymnasium import spaces\nfrom . import gym", 0),
    ],
)
def test_old_interfaces_are_found(source, count):
    assert len(lints.source_findings(source)) == count


@pytest.mark.parametrize(
    ("cell", "count"),
    [
        ("!pip install -q stable-baselines3", 1),
        ("%%capture\n%pip install ale-py", 1),
        ("!python -m pip install --quiet x", 1),
        ("%pip install ale-py\nprint(1)", 0),
    ],
)
def test_installations_that_hide_their_failure_are_found(cell, count):
    assert len(lints.cell_findings(cell)) == count
    assert lints.source_findings(lints.python_of_cell(cell)) == []


# --- scripts, workflows, documents ---


def test_scripts_are_executable_and_strict():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & stat.S_IXUSR
    assert "set -euo pipefail" in script.read_text().splitlines()
    subprocess.run(["bash", "-n", str(script)], check=True)


def jobs(workflow: str) -> dict[str, dict]:
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{workflow}.yml").read_text())["jobs"]


def test_workflows_run_what_ci_runs():
    versions = []
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        (job,) = [job for name, job in jobs(path.stem).items() if name not in OPTIONAL]
        assert "bash .ci/run" in [step.get("run") for step in job["steps"]], path.name
        (upload,) = [step for step in job["steps"] if "upload-artifact" in step.get("uses", "")]
        assert upload["with"]["path"] == "build/artifacts" and upload["if"] == "failure() || cancelled()"
        versions += job["strategy"]["matrix"]["python"]
    assert set(versions) == {"3.11", "3.12", "3.13", "3.14"}


def test_the_weekly_run_turns_every_pin_into_a_lower_bound(tmp_path):
    job = jobs("weekly")["newest"]
    (command,) = [step["run"] for step in job["steps"] if step.get("run", "").startswith("sed")]
    names = ["requirements.txt", "requirements-cpu.txt", "pyproject.toml"]
    for name in names:
        (tmp_path / name).write_text((ROOT / name).read_text())
    subprocess.run(["bash", "-c", command], cwd=tmp_path, check=True)
    assert [name for name in names if "==" in (tmp_path / name).read_text()] == []
    assert tomllib.loads((tmp_path / "pyproject.toml").read_text())["project"]["name"] == "course-utils"


def test_the_weekly_run_leaves_out_only_what_is_pinned():
    job = jobs("weekly")["newest"]
    (step,) = [step for step in job["steps"] if step.get("run") == "bash .ci/run"]
    command = ["make", "--no-print-directory", "--dry-run", "test", "PYTHON=python3"]
    # This test may itself run below make, whose settings a second make would inherit.
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")} | step["env"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=True)
    assert shlex.split(done.stdout) == ["python3", "bootstrap.py", "test", "-m", "not pins"]


def test_optional_extras_have_a_job_that_installs_and_tests_them():
    weekly = jobs("weekly")
    for extra in OPTIONAL:
        commands = " ".join(step.get("run", "") for step in weekly[extra]["steps"])
        assert f".[{extra}," in commands and f"-k {extra}" in commands


def test_makefile_targets_named_in_the_readme_exist():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"`?make (\w+)", (ROOT / "README.md").read_text()))
    assert {"lab", "test"} <= named <= targets


@pytest.mark.parametrize("name", ["README.md", *sorted(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))])
def test_links_resolve(name):
    document = ROOT / name
    assert lints.link_findings(document.read_text(), document.parent) == []


def test_a_dead_link_is_found(tmp_path):
    text = "[a](missing.md) [b](https://example.org/x) [c](#part)"
    assert lints.link_findings(text, tmp_path) == ["missing.md: no such file"]


def covers(words: str, value: float) -> bool:
    """Say whether a cell of the table, such as "525 to 579", "below 5.0" or "7.5 or higher (T4)", holds for a value."""
    first, *last = map(float, re.findall(r"[\d.]+", words.partition("(")[0])) if words != "any" else [0.0]
    return value < first if words.startswith("below") else first <= value <= (last[0] if last else math.inf)


def test_the_table_of_builds_says_what_set_up_does():
    table = (ROOT / "docs" / "platforms.md").read_text().partition("| Driver |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    for driver in (470, 524, 525, 550, 579, 580, 600):
        for card in (3.7, 4.9, 5.0, 7.4, 7.5, 8.9, 9.9, 10.0, 12.0):
            builds = {build for drivers, cards, build in rows if covers(drivers, driver) and covers(cards, card)}
            chosen = index_for((driver, 99), tuple(map(int, str(card).split("."))))
            assert [f"`{chosen}`" in build for build in builds] == [True], (driver, card, builds, chosen)


def test_the_readme_links_every_notebook_that_exists_and_no_other():
    linked = re.findall(r"\((notebooks/\w+\.ipynb)\)", (ROOT / "README.md").read_text())
    existing = sorted(f"notebooks/{path.name}" for path in ROOT.glob("notebooks/*.ipynb"))
    assert sorted(set(linked)) == existing


def test_citation_and_licence_agree_with_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["license"], citation["version"]) == ("MIT", PYPROJECT["project"]["version"])
    assert (ROOT / "LICENSE").read_text().startswith("MIT License")


# --- resolution, by pip itself ---


def resolve(python: str, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", *options]
    command += ["--only-binary=:all:", "--python-version", python, "--target", "build/nowhere"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_the_pins_resolve_to_wheels_on_every_python():
    """The newest Python, which lacks wheels first, resolves in full; on the others every direct pin has a wheel."""
    pins = ("--requirement", "requirements-cpu.txt")
    runs = {python: resolve(python, "--no-deps", *pins) for python in ("3.11", "3.12", "3.13")}
    runs["3.14"] = resolve("3.14", *pins)
    failed = {python: run.communicate(timeout=240)[1][-1000:] for python, run in runs.items()}
    assert {python: failed[python] for python, run in runs.items() if run.returncode} == {}


@pytest.mark.slow
def test_a_pin_without_a_wheel_does_not_resolve():
    run = resolve("3.14", "--no-deps", "numpy==1.26.4")
    assert "numpy" in run.communicate(timeout=240)[1] and run.returncode != 0
