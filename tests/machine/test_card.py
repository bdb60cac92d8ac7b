"""The environment card on fake machines: programs are small scripts on a PATH of their own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from course_utils.machine import card
from course_utils.machine.runtime import View

NVIDIA_SMI = """#!/bin/sh
case "$*" in
*query-gpu*) echo 'NVIDIA GeForce RTX 4090, 24564, 8.9' ;;
*) echo '| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |' ;;
esac
"""
NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release 11.8, V11.8.89'\n"


def machine(root: Path, programs=None, files=None, environ=None) -> View:
    """A view whose PATH holds only the given programs (name -> script)."""
    folder = root / "bin"
    folder.mkdir(parents=True)
    for name, script in (programs or {}).items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    for name, text in (files or {}).items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    # No CUDA of the machine under test may be seen through its usual place.
    return View(root, {"PATH": str(folder), "CUDA_HOME": str(root / "cuda")} | (environ or {}), root)


@pytest.fixture(autouse=True)
def quick_torch(monkeypatch):
    """The facts about torch have tests of their own."""
    monkeypatch.setattr(
        card,
        "torch_facts",
        lambda view: {"torch": "2.9.0+cu128", "torch_cuda": "12.8", "cudnn": 91002, "torch_error": None},
    )
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def keys(value, path=""):
    if not isinstance(value, dict) or path in (".seeds",):
        return {path}
    return {name for key, part in value.items() for name in keys(part, f"{path}.{key}")}


def test_the_three_cuda_numbers_and_the_card(tmp_path):
    found = card.environment_card(view=machine(tmp_path, {"nvidia-smi": NVIDIA_SMI, "nvcc": NVCC}))
    assert found["cards"] == [
        {"name": "NVIDIA GeForce RTX 4090", "memory_bytes": 24564 << 20, "compute_capability": "8.9"}
    ]
    assert (found["driver"], found["driver_cuda"]) == ("550.54.15", "12.4")
    assert (found["torch_cuda"], found["toolkit_cuda"]) == ("12.8", "11.8")


def test_nvcc_of_cuda_home_is_found_off_the_path(tmp_path):
    view = machine(tmp_path)
    shutil.copytree(machine(tmp_path / "toolkit", {"nvcc": NVCC}).root, tmp_path / "cuda")
    assert card.environment_card(view=view)["toolkit_cuda"] == "11.8"


def test_keys_are_the_same_with_and_without_everything(tmp_path):
    rich = card.environment_card(
        {"environment": 0}, machine(tmp_path / "rich", {"nvidia-smi": NVIDIA_SMI, "nvcc": NVCC})
    )
    poor = card.environment_card(view=machine(tmp_path / "poor"))
    assert keys(rich) == keys(poor)
    assert poor["cards"] == [] and poor["driver"] is None and poor["git"] == {"commit": None, "dirty": None}
    assert rich["seeds"] == {"environment": 0} and poor["seeds"] is None


@pytest.mark.parametrize(
    ("version_file", "driver"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5\nGCC version: x", "550.54.15"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build\n",
            "580.82.07",
        ),
    ],
)
@pytest.mark.parametrize("programs", [{}, {"nvidia-smi": "#!/bin/sh\necho 'Driver mismatch'\nexit 18\n"}])
def test_a_card_whose_tool_fails_is_unknown_not_absent(tmp_path, programs, version_file, driver):
    view = machine(tmp_path, programs, {"/proc/driver/nvidia/version": version_file, "/dev/nvidia0": ""})
    found = card.environment_card(view=view)
    assert found["cards"] is None
    assert found["driver"] == driver


def test_values_the_tool_does_not_know(tmp_path):
    tool = NVIDIA_SMI.replace("NVIDIA GeForce RTX 4090, 24564, 8.9", "NVIDIA GB10, [N/A], [N/A]")
    tool = tool.replace("CUDA Version: 12.4", "CUDA Version: N/A")
    found = card.environment_card(view=machine(tmp_path, {"nvidia-smi": tool}))
    assert found["cards"] == [{"name": "NVIDIA GB10", "memory_bytes": None, "compute_capability": None}]
    assert found["driver_cuda"] is None
    assert "NVIDIA GB10, unknown" in card.as_text(found)


def test_an_old_driver_that_does_not_know_the_capability(tmp_path):
    refuses = "*compute_cap*) echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2 ;;\n*query-gpu*)"
    tool = NVIDIA_SMI.replace("*query-gpu*)", refuses).replace(", 8.9", "")
    found = card.environment_card(view=machine(tmp_path, {"nvidia-smi": tool}))
    expected = {"name": "NVIDIA GeForce RTX 4090", "memory_bytes": 24564 << 20, "compute_capability": None}
    assert found["cards"] == [expected]


def test_a_hanging_tool_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(card, "COMMAND_SECONDS", 0.3)
    started = tmp_path / "started"
    sleeper = f"#!/bin/sh\necho $$ >> {started}\nexec {shutil.which('sleep')} 600\n"
    view = machine(tmp_path / "machine", {"nvidia-smi": sleeper}, {"/dev/nvidia0": ""})
    assert card.environment_card(view=view)["cards"] is None
    for _ in range(100):
        alive = [pid for pid in started.read_text().split() if _is_running(int(pid))]
        if not alive:
            break
        time.sleep(0.05)
    assert alive == []


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_git_state(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=n", "-c", "user.email=e"]
        command = ["git", "-C", str(tmp_path), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    real = View(working_folder=tmp_path)
    assert card.git_state(tmp_path, real) == {"commit": None, "dirty": None}
    git("init", "-q")
    assert card.git_state(tmp_path, real) == {"commit": None, "dirty": None}
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    commit = git("rev-parse", "HEAD")
    (tmp_path / "untracked").write_text("notes")
    assert card.git_state(tmp_path, real) == {"commit": commit, "dirty": False}
    (tmp_path / "file").write_text("two")
    assert card.git_state(tmp_path, real) == {"commit": commit, "dirty": True}


def test_no_names_of_people_or_machines(tmp_path, monkeypatch):
    real = os.uname()
    named = os.uname_result((real.sysname, "lab-7", real.release, real.version, real.machine))
    monkeypatch.setattr(os, "uname", lambda: named)
    secrets = {"HOME": "/home/alice", "USER": "alice", "HOSTNAME": "lab-7", "API_TOKEN": "s3cr3t"}
    text = json.dumps(card.environment_card(view=machine(tmp_path, environ=secrets)))
    for word in ("alice", "lab-7", "s3cr3t", str(tmp_path)):
        assert word not in text


def test_the_c_library_is_named_once(tmp_path):
    line = next(
        line for line in card.as_text(card.environment_card(view=machine(tmp_path))).splitlines() if "glibc" in line
    )
    assert re.fullmatch(r"glibc +(\d+\.\d+|unknown)", line)


def test_misspelt_scale_does_not_stop_the_card(tmp_path):
    assert card.environment_card(view=machine(tmp_path, environ={"COURSE_SCALE": "huge"}))["scale"] is None


def test_written_into_a_run_folder(tmp_path):
    path = card.write_card(tmp_path / "runs" / "first", {"torch": np.int64(3)})
    assert path == tmp_path / "runs" / "first" / "environment.json"
    assert json.loads(path.read_text())["seeds"] == {"torch": 3}
    assert [file.name for file in path.parent.iterdir()] == ["environment.json"]


def test_a_failed_write_keeps_the_old_card(tmp_path, monkeypatch):
    path = card.write_card(tmp_path, {"torch": 1})

    def full_disk(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(card.os, "replace", full_disk)
    with pytest.raises(OSError, match="No space left"):
        card.write_card(tmp_path, {"torch": 2})
    assert json.loads(path.read_text())["seeds"] == {"torch": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["environment.json"]


@pytest.mark.parametrize("seeds", [7, {"torch": 0.5}])
def test_bad_seeds(seeds):
    with pytest.raises(TypeError):
        card.environment_card(seeds)


def test_text_is_aligned_and_tells_none_from_unknown(tmp_path):
    found = card.environment_card({"torch": 1, "environment": 2}, machine(tmp_path))
    found |= {"cards": [], "driver": None, "cpu": None, "memory_bytes": 3 << 29}
    rows = dict(line.split(maxsplit=1) for line in card.as_text(found).splitlines() if line[0] != " ")
    assert rows["cards"] == "none" and rows["driver"] == "none" and rows["cpu"] == "unknown"
    assert rows["memory"] == "1.5 GiB"
    assert rows["seeds"] == "torch 1, environment 2"
    starts = {len(line) - len(line[15:].lstrip()) for line in card.as_text(found).splitlines()}
    assert len(starts) == 1
    found["cards"] = None
    assert "cards          unknown" in card.as_text(found)


def test_every_requirement_of_the_package_is_on_the_card():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    names = {line.split(">")[0].split("=")[0].split("[")[0].strip() for line in project["dependencies"]}
    assert names - {"torch"} <= set(card.PACKAGES)


def command(*arguments, **environ):
    code = "import sys; from course_utils.machine import card; sys.exit(card.main(sys.argv[1:]))"
    call = [sys.executable, "-c", code, *arguments]
    return subprocess.run(call, capture_output=True, text=True, env=os.environ | environ)


@pytest.mark.parametrize(
    ("torch_module", "message"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\")", "ModuleNotFoundError: No module named 'torch'"),
        (
            "raise OSError('/home/alice/lib/libtorch_cuda.so: undefined symbol')",
            "OSError: /home/~/lib/libtorch_cuda.so: undefined symbol",
        ),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "import torch crashed or did not end"),
    ],
)
def test_the_command_runs_where_torch_is_broken(tmp_path, torch_module, message):
    (tmp_path / "torch.py").write_text(torch_module + "\n")
    done = command("--json", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["torch"] is None
    assert message in found["torch_error"]
    assert found["packages"]["numpy"] == np.__version__
    assert done.stderr == ""


def test_torch_facts_match_the_module():
    code = (
        "import json, torch; from course_utils.machine import card;"
        "print(json.dumps([torch.__version__, torch.version.cuda, card.torch_facts()]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, cuda, facts = json.loads(done.stdout)
    assert (facts["torch"], facts["torch_cuda"], facts["torch_error"]) == (version, cuda, None)


def test_every_run_gets_a_folder_of_its_own_with_the_card(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    first, second = (card.new_run("cartpole", seeds={"training": 3}) for _ in range(2))
    assert first != second and first.parent == tmp_path / "runs"
    assert json.loads((second / "environment.json").read_text())["seeds"] == {"training": 3}
