"""Collecting evidence: on this machine, on pretended ones, and where everything is broken."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from course_utils.machine.doctor import collect, diagnose, main, parse, probes
from course_utils.machine.doctor.schema import FIELDS, flatten, pattern_of
from course_utils.machine.runtime import View

FAKE_TORCH = """
import warnings
__version__ = "2.13.0+cu130"
class version:
    cuda, hip = {cuda!r}, None
class cuda:
    @staticmethod
    def is_available():
        warnings.warn("CUDA initialization: Found no NVIDIA driver on your system.")
        return False
    device_count = staticmethod(lambda: 0)
    get_arch_list = staticmethod(lambda: ["sm_75"])
def ones(*_, device):
    raise RuntimeError("Found no NVIDIA driver on your system.")
"""


def executable(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.fixture
def pretended(tmp_path: Path) -> Any:
    """Return a function that makes a view of an empty machine with a fake torch and the given files."""

    def make(files: dict[str, str] | None = None, cuda: str | None = "13.0", **variables: str) -> View:
        for name, text in (files or {}).items():
            place = tmp_path / "root" / name.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        package = tmp_path / "packages" / "torch"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(FAKE_TORCH.format(cuda=cuda))
        for name in ("ale_py", "cv2"):  # quick to import
            (tmp_path / "packages" / f"{name}.py").write_text("")
        (tmp_path / "packages" / "gymnasium.py").write_text("registry = {}")
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "root").mkdir(exist_ok=True)
        environ = {
            "PATH": str(tmp_path / "bin"),
            "PYTHONPATH": str(tmp_path / "packages"),
            "HOME": str(tmp_path),
            **variables,
        }
        return View(root=tmp_path / "root", environ=environ, working_folder=tmp_path)

    return make


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    """Collect this machine's evidence once."""
    return collect()


def codes(view: View) -> list[str]:
    return [finding.code for finding in diagnose(parse(collect(view))) if finding.severity not in ("ok", "info")]


def software(found: list[str]) -> list[str]:
    return [code for code in found if code.startswith(("cuda.", "torch.", "container."))]


def test_this_machine_fills_the_described_fields(here: dict[str, Any]) -> None:
    evidence = here
    json.dumps(evidence)
    paths = [path for path, _ in flatten(evidence)]
    assert [path for path in paths if pattern_of(path) is None] == []
    facts = parse(evidence)
    assert facts.unreadable == [] and facts.unknown_fields == []
    given = {"error_text", "container.engine_error"}  # written by a person
    sections = {path.split(".")[0] for path in FIELDS} - given
    assert {path.split(".")[0] for path in paths} == sections
    assert facts.torch_installed is True and facts.python == sys.version_info[:3]


def test_every_described_field_can_be_collected(here: dict[str, Any], pretended: Any) -> None:
    produced = {pattern_of(path) for evidence in (here, collect(pretended())) for path, _ in flatten(evidence)}
    only_with_a_fault_or_a_card = {
        "error_text", "container.engine_error", "disks.*.error", "torch.operation", "torch.device_names",
        "torch.capabilities", "nvml.device_count", "nvml.driver_version", "nvml.compute_modes", "opencv.import_error",
        "atari.registered", "atari.rom_files", "atari.import_error",
    }  # fmt: skip
    assert set(FIELDS) - produced <= only_with_a_fault_or_a_card


def test_importing_the_doctor_imports_no_torch() -> None:
    script = (
        "import course_utils.machine.doctor, sys; print(sorted({'torch', 'numpy', 'gymnasium'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_command_runs_where_torch_is_broken(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(
        "raise ImportError('libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent')"
    )
    script = "import sys; from course_utils.machine.doctor import main; sys.exit(main(['--json']))"
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, env=environ)
    report = json.loads(done.stdout)
    assert done.returncode == report["exit_code"] == 1
    assert "torch.mkl_mismatch" in [finding["code"] for finding in report["findings"]]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("raise ModuleNotFoundError(\"No module named 'torch'\")", "torch.missing"),
        ("import os; os.kill(os.getpid(), 11)", "torch.crashed"),
        ("raise SystemExit", "torch.import_failed"),
        ("print('noise'); raise RuntimeError('never seen')", "torch.import_failed"),
    ],
)
def test_broken_torch(pretended: Any, tmp_path: Path, source: str, code: str) -> None:
    view = pretended()
    (tmp_path / "packages" / "torch" / "__init__.py").write_text(source)
    assert software(codes(view)) == [code]


def test_slow_torch_is_stopped(pretended: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view = pretended()
    (tmp_path / "packages" / "torch" / "__init__.py").write_text("import time; time.sleep(600)")
    monkeypatch.setitem(sys.modules["course_utils.machine.doctor.collect"]._CHILD_SECONDS, "torch", 1.0)
    assert software(codes(view)) == ["torch.probe_timed_out"]


def test_cpu_build_beside_a_working_nvidia_smi(pretended: Any, tmp_path: Path) -> None:
    table = (Path(__file__).parents[1] / "cases" / "nvidia_smi" / "driver_580_t4.txt").read_text()
    (tmp_path / "table").write_text(table)
    executable(
        tmp_path / "bin" / "nvidia-smi", f'while IFS= read -r line; do echo "$line"; done < {tmp_path / "table"}\n'
    )
    assert software(codes(pretended(cuda=None))) == ["cuda.cpu_only_build"]


def test_mismatch_is_read_with_its_exit_status(pretended: Any, tmp_path: Path) -> None:
    executable(
        tmp_path / "bin" / "nvidia-smi", "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18\n"
    )
    evidence = collect(pretended())
    assert evidence["nvidia_smi"]["exit_code"] == 18
    assert evidence["nvidia_smi"]["path"] == "~/bin/nvidia-smi"
    assert software([finding.code for finding in diagnose(parse(evidence))]) == ["cuda.driver_library_mismatch"]


def test_hanging_nvidia_smi(pretended: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(tmp_path / "bin" / "nvidia-smi", "while :; do :; done\n")
    monkeypatch.setattr(sys.modules["course_utils.machine.doctor.collect"], "_SMI_SECONDS", 0.5)
    assert software(codes(pretended())) == ["cuda.driver_hangs"]


def test_container_without_the_card(pretended: Any) -> None:
    assert software(codes(pretended({"/.dockerenv": ""}))) == ["cuda.container_without_gpu"]


def test_container_that_was_told_to_hide_the_card(pretended: Any) -> None:
    view = pretended({"/.dockerenv": ""}, NVIDIA_VISIBLE_DEVICES="void")
    assert software(codes(view)) == ["cuda.hidden_from_container"]


def test_card_on_the_bus_with_nouveau(pretended: Any) -> None:
    files = {
        "/sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n", "/sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n",
        "/sys/bus/pci/devices/0000:01:00.1/vendor": "0x10de\n", "/sys/bus/pci/devices/0000:01:00.1/class": "0x040300\n",
        "/proc/modules": "nouveau 2498560 1 - Live 0x0\nsnd 1 0 - Live 0x0\n",
    }  # fmt: skip
    evidence = collect(pretended(files))
    assert evidence["driver"]["nvidia_cards"] == 1
    assert evidence["driver"]["modules"] == ["nouveau"]
    assert software([finding.code for finding in diagnose(parse(evidence))]) == ["cuda.nouveau_loaded"]


def test_incomplete_device_nodes(pretended: Any) -> None:
    evidence = collect(pretended({"/dev/nvidia0": "", "/dev/nvidiactl": ""}))
    assert evidence["device_nodes"]["present"] == ["/dev/nvidia0", "/dev/nvidiactl"]
    assert software([finding.code for finding in diagnose(parse(evidence))]) == ["cuda.device_nodes_incomplete"]


def test_empty_and_unset_variables_are_told_apart(pretended: Any) -> None:
    evidence = collect(pretended(CUDA_VISIBLE_DEVICES=""))
    assert evidence["environment"]["CUDA_VISIBLE_DEVICES"] == ""
    assert evidence["environment"]["NVIDIA_VISIBLE_DEVICES"] is None


def test_foreign_libraries_on_the_library_path(pretended: Any) -> None:
    evidence = collect(pretended({"/opt/cuda/libcudnn.so.8": "", "/opt/cuda/readme": ""}, LD_LIBRARY_PATH="/opt/cuda"))
    assert evidence["libraries"]["shadowing"] == ["/opt/cuda/libcudnn.so.8"]


def test_a_library_is_found_at_the_end_of_a_long_list(pretended: Any, tmp_path: Path) -> None:
    lines = "for number in 1 2 3 4 5 6 7 8 9; do echo " + "x" * 10_000 + "; done\n"
    executable(tmp_path / "bin" / "ldconfig", lines + "echo '\tlibcuda.so.1 (libc6,x86-64) => /opt/libcuda.so.1'\n")
    assert collect(pretended())["libraries"]["cuda"] == "/opt/libcuda.so.1"


def test_full_disk_without_file_entries(pretended: Any) -> None:
    class Size:
        f_frsize, f_blocks, f_bavail, f_files, f_favail = 4096, 7_864_320, 2_000_000, 1_966_080, 0

    view = pretended()
    view = View(root=view.root, environ=view.environ, working_folder=view.working_folder, statvfs=lambda _: Size())
    assert "disk.no_file_entries" in codes(view)


def test_no_secret_and_no_name_is_collected(pretended: Any, tmp_path: Path) -> None:
    view = pretended(
        {"/proc/driver/nvidia/version": "built by /home/alice/build"}, API_TOKEN="s3cret", COURSE_TOKEN="s3cret",
        LD_LIBRARY_PATH="/home/alice/lib", COURSE_HOME=str(tmp_path / "work"),
    )  # fmt: skip
    text = json.dumps(collect(view))
    assert "s3cret" not in text and "alice" not in text and str(tmp_path) + "/work" not in text
    assert '"COURSE_HOME": "~/work"' in text


def test_one_broken_probe_leaves_the_others(pretended: Any) -> None:
    def broken(_: object) -> Any:
        raise RuntimeError("statvfs is broken")

    view = pretended()
    view = View(root=view.root, environ=view.environ, working_folder=view.working_folder, statvfs=broken)
    evidence = collect(view)
    assert "statvfs is broken" in evidence["disks"]["home"]["error"]
    assert "statvfs is broken" in evidence["shared_memory"]["error"]
    assert evidence["torch"]["version"] == "2.13.0+cu130"


def test_gather_does_not_wait_for_a_late_probe() -> None:
    start = time.monotonic()
    found = probes.gather({"late": lambda: time.sleep(30), "good": lambda: 1, "bad": lambda: 1 / 0}, seconds=0.3)
    assert time.monotonic() - start < 10
    assert found["good"] == 1
    assert found["late"] == {"error": "timed out after 0.3 s"}
    assert found["bad"] == {"error": "ZeroDivisionError: division by zero"}


def test_run_ends_what_a_program_leaves_behind(tmp_path: Path) -> None:
    executable(tmp_path / "tool", "sleep 300 & echo $!\n")
    done = probes.run(["tool"], View(environ={"PATH": f"{tmp_path}:/usr/bin:/bin"}), 20)
    child = int(done["text"])
    assert done["exit_code"] == 0
    for _ in range(100):
        state = Path(f"/proc/{child}/stat")
        if not state.exists() or state.read_text().split()[2] == "Z":
            break
        time.sleep(0.05)
    else:
        pytest.fail("the program's child still runs")


def test_run_names_a_missing_program() -> None:
    assert probes.run(["no-such-program"], View(), 1) == {
        "path": None,
        "text": "",
        "exit_code": None,
        "error": "missing",
    }


def test_save_then_judge_gives_the_same_findings(
    here: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("course_utils.machine.doctor.command.collect", lambda: here)
    file = tmp_path / "evidence.json"
    code = main(["--save", str(file), "--json"])
    first = json.loads(capsys.readouterr().out)
    assert main(["--facts", str(file), "--json"]) == code
    assert json.loads(capsys.readouterr().out) == first
    assert [path.name for path in tmp_path.iterdir()] == ["evidence.json"]
