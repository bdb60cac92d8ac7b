"""What to install where, on tables of machines; and what a failed installation's log says."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from course_utils.machine.installation import (
    Machine,
    Problem,
    explain,
    half_pair,
    look,
    plan,
    proxy_settings,
    read_pip_log,
    wheel_for,
)
from course_utils.machine.runtime import View

TESTED = "torch==2.13.0"
WORKING = {"installed": {"torch": "2.8.0+cu128"}, "cuda_build": "12.8", "card_works": True}
CARD = {"driver": "580.65.06", "capability": "8.9"}


@pytest.mark.parametrize(
    ("driver", "capability", "wheel"),
    [
        ("", "", "cpu"),
        ("580.65.06", "8.9", "cu130"),  # RTX 4090
        ("580.65.06", "7.5", "cu130"),  # T4
        ("580.65.06", "7.0", "cu126"),  # V100: no kernels in CUDA 13 builds
        ("580.65.06", "6.0", "cu126"),  # P100
        ("580.65.06", "12.0", "cu130"),  # RTX 5090
        ("570.124.06", "12.0", "cu128"),
        ("550.54.14", "8.6", "cu126"),
        ("525.60.13", "8.0", "cu126"),
        ("550.54.14", "", "cu126"),
        ("470.199.02", "8.6", "cpu"),  # too old for CUDA 12
        ("580.65.06", "3.7", "cpu"),  # K80
    ],
)
def test_the_build_of_torch_suits_driver_and_card(driver, capability, wheel):
    found, why = wheel_for(driver, capability)
    assert found == wheel
    assert "CPU build" in why if wheel == "cpu" else driver in why


@pytest.mark.parametrize(
    ("machine", "place", "requirements", "index", "words"),
    [
        # A hosted notebook keeps all it has.
        (Machine("colab", **WORKING), "in place", "requirements-colab.txt", "", "stays as it is"),
        (
            Machine("kaggle", installed={"torch": "2.6.0"}),
            "in place",
            "requirements-colab.txt",
            "",
            "reset the runtime",
        ),
        (Machine("binder", installed={"torch": "2.13.0+cpu"}), "in place", "requirements-cpu.txt", "cpu", "image"),
        # CI takes the CPU build whatever it finds.
        (Machine("ci", **WORKING, **CARD), "own", "requirements-cpu.txt", "cpu", "ci"),
        # A torch that works is kept.
        (Machine("autodl", **WORKING, **CARD), "shared", "requirements.txt", "", "2.8.0+cu128 works here and is kept"),
        (Machine("local", **WORKING, **CARD), "shared", "requirements.txt", "", "kept"),
        (Machine("local", installed={"torch": "2.13.0"}), "shared", "requirements.txt", "", "kept"),
        # An AutoDL instance started without its card still has a torch built for it.
        (
            Machine("autodl", installed={"torch": "2.8.0+cu128"}, cuda_build="12.8"),
            "shared",
            "requirements.txt",
            "",
            "kept",
        ),
        # A torch that does not work, or is too old, or was built for something else, is not.
        (
            Machine("autodl", installed={"torch": "2.3.0+cu121"}, **CARD),
            "own",
            "requirements.txt",
            "cu130",
            "2.8 to below 3",
        ),
        (
            Machine("autodl", installed={"torch": "2.3.0+cu121"}),
            "own",
            "requirements.txt",
            "cu126",
            "no card is attached",
        ),
        (
            Machine("local", installed={"torch": "2.9.0"}, torch_error="libcudart.so.13: cannot open", **CARD),
            *("own", "requirements.txt", "cu130", "libcudart"),
        ),
        (Machine("local", installed={"torch": "2.9.0+cpu"}, **CARD), "own", "requirements.txt", "cu130", "cannot use"),
        (
            Machine("local", installed={"torch": "2.13.0"}, cuda_build="13.0", driver="550.54.14", capability="8.0"),
            *("own", "requirements.txt", "cu126", "cannot use"),
        ),
        # The card fails though the build is the suited one: another copy of it would not help.
        (
            Machine("local", installed={"torch": "2.13.0"}, cuda_build="13.0", **CARD),
            "shared",
            "requirements.txt",
            "",
            "kept",
        ),
        # Nothing is installed.
        (Machine("local"), "own", "requirements-cpu.txt", "cpu", "no NVIDIA driver"),
        (
            Machine("local", driver_error="nvidia-smi fails (x)"),
            "own",
            "requirements-cpu.txt",
            "cpu",
            "nvidia-smi fails",
        ),
        (Machine("local", **CARD), "own", "requirements.txt", "cu130", "CUDA 13.0"),
        (Machine("local", driver="580.1", capability="7.0"), "own", "requirements.txt", "cu126", "CUDA 12.6"),
        (Machine("local", driver="470.1", capability="8.0"), "own", "requirements-cpu.txt", "cpu", "too old"),
        (Machine("local", "Darwin"), "own", "requirements-cpu.txt", "", "macOS"),
    ],
)
def test_the_plan_and_its_reasons(machine, place, requirements, index, words):
    found = plan(machine, TESTED)
    assert (found.place, found.requirements) == (place, requirements)
    assert found.index.rpartition("/")[2] == index
    assert words in " | ".join(found.reasons)
    assert bool(found.torch) == index.startswith("cu")


def test_a_kept_torch_is_held_by_constraints_and_gets_a_kernel():
    pair = {"torch": "2.8.0+cu128", "torchvision": "0.23.0+cu128"}
    for name, kernel in (("colab", False), ("autodl", True), ("local", True)):
        found = plan(Machine(name, installed=pair, cuda_build="12.8", card_works=True), TESTED)
        assert found.constraints == ("torch==2.8.0+cu128", "torchvision==0.23.0+cu128")
        assert found.kernel is kernel
    assert plan(Machine("autodl"), TESTED).kernel
    assert not plan(Machine("local"), TESTED).kernel


def test_the_first_blackwell_build_takes_the_range_because_the_tested_torch_has_none():
    assert plan(Machine(driver="570.1", capability="12.0"), TESTED).torch == "torch>=2.8,<3"
    assert plan(Machine(driver="580.99", capability="12.0"), TESTED).torch == TESTED


def test_half_a_pair_is_reported_and_left_alone():
    pair = {"torch": "2.9.0+cu126", "torchvision": "0.24.0+cu128"}
    found = plan(Machine("colab", installed=pair, cuda_build="12.6", card_works=True), TESTED)
    assert "2.9.0+cu126" in found.reasons[1] and "0.24.0+cu128" in found.reasons[1]
    assert found.constraints == ("torch==2.9.0+cu126", "torchvision==0.24.0+cu128")
    assert half_pair({"torch": "2.9.0+cu126", "torchvision": "0.24.0+cu126"}) == ""
    assert half_pair({"torch": "2.9.0", "torchvision": "0.24.0+cu126"}) == ""
    assert half_pair({"torch": "2.9.0+cu126"}) == ""


def test_native_windows_is_sent_to_wsl():
    with pytest.raises(Problem, match="WSL"):
        plan(Machine("local", "Windows"), TESTED)


CONNECTION = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)': /simple/torch/\n"
MISSING = "ERROR: No matching distribution found for torch<3,>=2.8\n"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
            "the disk is full",
        ),
        ("OSError: [Errno 122] Disk quota exceeded: '/home/u/x'\n", "the disk is full"),
        (
            "error in gym setup command: 'extras_require' must be a dictionary whose values are strings or lists\n"
            "ERROR: Failed to build 'gym'\nModuleNotFoundError: No module named 'stable_baselines3'\n",
            "gym 0.21",
        ),
        (
            "error: command 'swig' failed: No such file or directory\nModuleNotFoundError: No module named 'Box2D'\n",
            "swig",
        ),
        ("error: externally-managed-environment\n", "belongs to the system"),
        (
            "ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '/usr/x'\n",
            "no permission",
        ),
        (CONNECTION + MISSING, "the package index does not answer"),
        (MISSING, "no build of torch<3,>=2.8 fits"),
        ("ERROR: ResolutionImpossible: for help visit ...\n", "contradict"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n", "damaged"),
        ("MemoryError\n", "memory ran out"),
        ("fatal error: Python.h: No such file or directory\nERROR: Failed building wheel for x\n", "headers"),
        ("2026-01-01T00:00:00,000 ERROR: first\n2026-01-01T00:00:01,000 ERROR: something new\n", "something new"),
        ("ModuleNotFoundError: No module named 'stable_baselines3'\n", "No module named 'stable_baselines3'"),
        ("", "it gave no reason"),
    ],
)
def test_a_log_s_root_cause_comes_in_one_line(log, cause):
    line = read_pip_log(log)
    assert cause in line
    assert "\n" not in line
    assert "No module named" not in line or "No module named" in cause


@pytest.mark.parametrize(
    ("number", "cause"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EACCES, "no permission to write /x"),
        (errno.EROFS, "no permission to write /x"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_file_system_errors_come_with_a_cure(number, cause):
    assert cause in explain(OSError(number, os.strerror(number), "/x"))


def script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_look_reads_torch_driver_and_the_weakest_card(tmp_path, monkeypatch):
    answer = '{"installed": {"torch": "2.8.0"}, "cuda_build": "12.8", "card_works": true, "torch_error": ""}'
    python = script(tmp_path / "python", f"[ -z \"$CUDA_VISIBLE_DEVICES\" ] && echo noise && echo '{answer}'\n")
    script(tmp_path / "nvidia-smi", "printf '550.54.14, 8.9\\n550.54.14, 7.0\\n'\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    machine = look(str(python))
    assert (machine.driver, machine.capability, machine.card_works) == ("550.54.14", "7.0", True)
    assert machine.installed == {"torch": "2.8.0"}


def test_look_survives_a_failing_nvidia_smi_and_a_crashing_torch(tmp_path, monkeypatch):
    script(tmp_path / "nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    machine = look(str(script(tmp_path / "python", "echo 'Illegal instruction' >&2; exit 132\n")))
    assert (machine.driver, machine.torch_error) == ("", "Illegal instruction")
    assert "Driver/library version mismatch" in machine.driver_error
    reasons = " ".join(plan(machine._replace(platform="local"), TESTED).reasons)
    assert "does not work: Illegal instruction" in reasons and "version mismatch" in reasons


def test_autodl_s_proxy_script_is_read_in_the_shell_that_uses_it(tmp_path):
    assert proxy_settings(View(root=tmp_path)) == {}
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "network_turbo").write_text("export https_proxy=http://10.0.0.1:8080 secret=1\necho on\n")
    found = proxy_settings(View(root=tmp_path))
    assert found["https_proxy"] == "http://10.0.0.1:8080"
    assert "secret" not in found
