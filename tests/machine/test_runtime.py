"""Runtime functions on fake machines: a folder stands for the root, a dictionary for the environment."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_utils.machine import runtime
from course_utils.machine.runtime import View

GIB = 1 << 30
EIGHT_CORES = frozenset(range(8))


def machine(root: Path, files=None, environ=None, working_folder=None, affinity=EIGHT_CORES, statvfs=None) -> View:
    """Write `files` (absolute path -> text; a path that ends in "/" is a folder) below `root`."""
    for name, text in (files or {}).items():
        path = root / name.lstrip("/")
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    folder = working_folder or root / "somewhere"
    return View(root, environ or {}, folder, lambda: affinity, statvfs or (lambda path: None))


@pytest.mark.parametrize(
    ("files", "environ", "expected"),
    [
        ({}, {}, "local"),
        ({}, {"COLAB_RELEASE_TAG": "release-colab"}, "colab"),
        ({"/opt/google/colab/": ""}, {}, "colab"),
        ({}, {"KAGGLE_KERNEL_RUN_TYPE": "Interactive"}, "kaggle"),
        ({"/kaggle/working/": ""}, {}, "kaggle"),
        ({"/etc/network_turbo": "export http_proxy=x"}, {}, "autodl"),
        ({"/root/autodl-tmp/": ""}, {}, "autodl"),
        ({}, {"AutoDLContainerUUID": "abc"}, "autodl"),
        ({}, {"BINDER_SERVICE_HOST": "10.0.0.1"}, "binder"),
        ({}, {"CI": "true"}, "ci"),
        ({}, {"GITHUB_ACTIONS": "true"}, "ci"),
        ({}, {"CI": "false"}, "local"),
        ({}, {"CI": ""}, "local"),
        ({}, {"COLAB_RELEASE_TAG": ""}, "local"),
        ({}, {"BINDER_REPO_URL": "x", "CI": "1"}, "binder"),
    ],
)
def test_platform(tmp_path, files, environ, expected):
    assert runtime.platform_name(machine(tmp_path, files, environ)) == expected


@pytest.mark.parametrize(
    ("files", "environ", "expected"),
    [
        ({}, {}, False),
        ({"/proc/1/cgroup": "0::/init.scope\n"}, {}, False),
        ({"/.dockerenv": ""}, {}, True),
        ({"/run/.containerenv": ""}, {}, True),
        ({}, {"container": "podman"}, True),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, True),
        ({"/proc/1/cgroup": "4:memory:/docker/0a1b\n0::/\n"}, {}, True),
    ],
)
def test_container(tmp_path, files, environ, expected):
    assert runtime.in_container(machine(tmp_path, files, environ)) is expected


def test_wsl_is_known_by_its_kernel(tmp_path):
    windows = {"/proc/sys/kernel/osrelease": "5.15.153.1-microsoft-standard-WSL2\n", "/dev/dxg": ""}
    view = machine(tmp_path / "wsl", windows)
    assert runtime.is_wsl(view) is True
    assert runtime.nvidia_devices(view) == ["/dev/dxg"]
    assert runtime.is_wsl(machine(tmp_path / "linux", {"/proc/sys/kernel/osrelease": "6.8.0-60-generic"})) is False


def test_nvidia_devices_are_cards_only(tmp_path):
    nodes = dict.fromkeys(("/dev/nvidia1", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dxg"), "")
    assert runtime.nvidia_devices(machine(tmp_path, nodes)) == ["/dev/nvidia0", "/dev/nvidia1"]
    assert runtime.nvidia_devices(machine(tmp_path / "nothing")) == []


# --- folders ---

CHECKOUT = {"/somewhere/course/pyproject.toml": "", "/somewhere/course/notebooks/deep/": ""}


@pytest.mark.parametrize(
    ("files", "environ", "here", "expected"),
    [
        ({}, {}, "somewhere", "somewhere/course_home"),
        (CHECKOUT, {}, "somewhere/course/notebooks/deep", "somewhere/course/course_home"),
        ({"/somewhere/pyproject.toml": ""}, {}, "somewhere", "somewhere/course_home"),
        ({"/root/autodl-tmp/": "", **CHECKOUT}, {}, "somewhere/course", "root/autodl-tmp/course_home"),
        ({"/root/autodl-tmp/": "", "/root/autodl-fs/": ""}, {}, "somewhere", "root/autodl-fs/course_home"),
        ({"/etc/network_turbo": ""}, {}, "somewhere", "somewhere/course_home"),
        ({}, {"COLAB_GPU": "0"}, "content", "content/course_home"),
        (
            {"/content/drive/MyDrive/": ""},
            {"COLAB_GPU": "0"},
            "content",
            "content/drive/MyDrive/course_home",
        ),
        ({"/root/autodl-fs/": ""}, {"COURSE_HOME": "mine"}, "somewhere", "somewhere/mine"),
        ({}, {"COURSE_HOME": ""}, "somewhere", "somewhere/course_home"),
        ({}, {"COURSE_HOME": "   "}, "somewhere", "somewhere/course_home"),
    ],
)
def test_course_home(tmp_path, files, environ, here, expected):
    view = machine(tmp_path, files, environ, tmp_path / here)
    assert runtime.course_home(view) == tmp_path / expected
    assert runtime.runs_folder(view) == tmp_path / expected / "runs"
    assert not (tmp_path / expected).exists()


def test_course_home_as_the_user_wrote_it(tmp_path):
    def home(text):
        return runtime.course_home(machine(tmp_path, environ={"COURSE_HOME": text, "HOME": "/home/student"}))

    assert home("~/course") == Path("/home/student/course")
    assert home("~") == Path("/home/student")
    assert home("/data/course") == Path("/data/course")


def test_nearest_checkout_wins(tmp_path):
    outer = {"/course/pyproject.toml": "", "/course/notebooks/": ""}
    inner = {"/course/inner/pyproject.toml": "", "/course/inner/notebooks/": ""}
    view = machine(tmp_path, outer | inner, working_folder=tmp_path / "course/inner/notebooks")
    assert runtime.course_home(view) == tmp_path / "course/inner/course_home"


def test_a_deleted_working_folder_is_explained(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(FileNotFoundError, match="no longer exists: change to another folder"):
        runtime.course_home(View(tmp_path, {}))


@pytest.mark.parametrize(
    ("files", "environ", "expected"),
    [
        ({}, {}, True),
        ({"/root/autodl-tmp/": ""}, {}, True),
        ({}, {"COLAB_GPU": "0"}, False),
        ({"/content/drive/MyDrive/": ""}, {"COLAB_GPU": "0"}, True),
        ({"/content/drive/MyDrive/": ""}, {"COLAB_GPU": "0", "COURSE_HOME": "/content/elsewhere"}, False),
        ({}, {"BINDER_REPO_URL": "x"}, False),
        ({}, {"KAGGLE_KERNEL_RUN_TYPE": "x"}, False),
        ({}, {"CI": "true"}, False),
    ],
)
def test_what_outlives_the_session(tmp_path, files, environ, expected):
    assert runtime.is_persistent(machine(tmp_path, files, environ)) is expected


def test_tensorboard_folder(tmp_path):
    autodl = machine(tmp_path, {"/etc/network_turbo": "", "/root/autodl-tmp/": ""})
    assert runtime.tensorboard_folder(autodl) == tmp_path / "root/tf-logs"
    local = machine(tmp_path / "local")
    assert runtime.tensorboard_folder(local) == runtime.runs_folder(local)


# --- quotas ---


def version_2(quota: str, path: str = "/", groups: str = "/") -> dict[str, str]:
    return {"/proc/self/cgroup": f"0::{path}\n", f"/sys/fs/cgroup{groups.rstrip('/')}/cpu.max": quota}


def version_1(quota: str, line: str, folder: str, period: str = "100000") -> dict[str, str]:
    return {
        "/proc/self/cgroup": line,
        f"/sys/fs/cgroup/{folder}/cpu.cfs_quota_us": quota,
        f"/sys/fs/cgroup/{folder}/cpu.cfs_period_us": period,
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8),
        (version_2("max 100000\n"), 8),
        (version_2("200000 100000\n"), 2),
        (version_2("150000 100000\n"), 2),
        (version_2("50000 100000\n"), 1),
        (version_2("1600000 100000\n"), 8),
        (version_2("garbage\n"), 8),
        # own group free, the parent limited
        (
            version_2("300000 100000", "/kube/pod", "/kube") | {"/sys/fs/cgroup/kube/pod/cpu.max": "max 100000"},
            3,
        ),
        # own group stricter than the parent
        (version_2("600000 100000", "/a/b", "/a") | {"/sys/fs/cgroup/a/b/cpu.max": "100000 100000"}, 1),
        # a neighbour's limit is none of ours
        (version_2("100000 100000", "/a", "/b") | {"/sys/fs/cgroup/a/cpu.max": "max 100000"}, 8),
        # the host's path, while the mount starts at the container's group
        (version_2("400000 100000", "/system.slice/docker-0a1b.scope", "/"), 4),
        (version_2("400000 100000", "/docker/0a1b/inner", "/inner"), 4),
        # a group outside the namespace
        (version_2("400000 100000", "/../other", "/"), 4),
        (version_1("-1\n", "3:cpu,cpuacct:/\n", "cpu,cpuacct"), 8),
        (version_1("250000\n", "3:cpu,cpuacct:/\n", "cpu,cpuacct"), 3),
        (version_1("200000\n", "3:cpuacct,cpu:/docker/0a\n", "cpu,cpuacct/docker/0a"), 2),
        (version_1("200000\n", "3:cpu,cpuacct:/docker/0a\n", "cpu,cpuacct"), 2),
        (version_1("200000\n", "1:name=systemd:/x\n3:cpu:/a/b\n", "cpu/a"), 2),
        (version_1("25000\n", "3:cpu:/\n", "cpu", period="50000"), 1),
        (version_1("200000\n", "3:cpu:/\n", "cpu", period="0"), 8),
        # cpuset is another controller: its folder must not be taken for the one of cpu
        (version_1("200000\n", "3:cpuset:/a\n4:cpu:/\n", "cpuset"), 8),
        # hybrid: the controller sits in version 1, the version 2 tree holds no limits
        (
            version_1("300000\n", "4:cpu:/\n0::/user.slice\n", "cpu") | {"/sys/fs/cgroup/unified/user.slice/": ""},
            3,
        ),
        # hybrid: the controller sits in version 2
        (
            {
                "/proc/self/cgroup": "4:memory:/\n0::/user\n",
                "/sys/fs/cgroup/unified/user/cpu.max": "200000 100000",
                "/sys/fs/cgroup/memory/": "",
            },
            2,
        ),
    ],
)
def test_usable_cpus(tmp_path, files, expected):
    assert runtime.usable_cpus(machine(tmp_path, files)) == expected


def test_affinity_below_the_quota(tmp_path):
    assert runtime.usable_cpus(machine(tmp_path, version_2("400000 100000"), affinity=frozenset({5}))) == 1


def test_unknown_affinity_counts_the_cores_of_the_machine(tmp_path):
    cores = {"/proc/cpuinfo": "".join(f"processor\t: {core}\nmodel name\t: X\n\n" for core in range(6))}
    assert runtime.usable_cpus(machine(tmp_path, cores, affinity=None)) == 6
    assert runtime.usable_cpus(machine(tmp_path / "nothing", affinity=None)) == 1


MEMORY = {"/proc/meminfo": f"MemTotal:       {16 * GIB // 1024} kB\nMemFree:  12 kB\n"}
UNLIMITED_V1 = "9223372036854771712\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        (MEMORY, 16 * GIB),
        (MEMORY | {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "max\n"}, 16 * GIB),
        (MEMORY | {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": f"{2 * GIB}\n"}, 2 * GIB),
        (MEMORY | {"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": f"{64 * GIB}\n"}, 16 * GIB),
        (
            MEMORY
            | {
                "/proc/self/cgroup": "0::/user/pod\n",
                "/sys/fs/cgroup/user/pod/memory.max": f"{4 * GIB}",
                "/sys/fs/cgroup/user/memory.max": f"{3 * GIB}",
            },
            3 * GIB,
        ),
        (
            {
                "/proc/self/cgroup": "4:memory:/\n",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED_V1,
            },
            None,
        ),
        (
            MEMORY
            | {
                "/proc/self/cgroup": "9:name=systemd:/\n4:memory:/docker/0a1b\n0::/\n",
                "/sys/fs/cgroup/memory/docker/0a1b/memory.limit_in_bytes": f"{5 * GIB}\n",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes": UNLIMITED_V1,
            },
            5 * GIB,
        ),
        (
            MEMORY
            | {
                "/proc/self/cgroup": "4:memory:/docker/0a1b\n",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{5 * GIB}\n",
            },
            5 * GIB,
        ),
    ],
)
def test_memory_limit(tmp_path, files, expected):
    assert runtime.memory_limit(machine(tmp_path, files)) == expected


def test_shared_memory(tmp_path):
    asked = []

    def statvfs(path):
        asked.append(path)
        return SimpleNamespace(f_frsize=4096, f_blocks=16384)

    assert runtime.shared_memory(machine(tmp_path, statvfs=statvfs)) == 64 << 20
    assert asked == [tmp_path / "dev/shm"]


def test_no_shared_memory(tmp_path):
    def statvfs(path):
        raise FileNotFoundError(path)

    assert runtime.shared_memory(machine(tmp_path, statvfs=statvfs)) is None


# --- scale ---


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "standard"),
        ({"COURSE_SCALE": "full"}, "full"),
        ({"COURSE_SCALE": " Smoke "}, "smoke"),
        ({"COURSE_SCALE": ""}, "standard"),
        ({"CI": "true"}, "smoke"),
        ({"CI": "true", "COURSE_SCALE": "standard"}, "standard"),
        ({"BINDER_REPO_URL": "x"}, "smoke"),
        ({"COLAB_GPU": "1"}, "standard"),
        ({"NBGRADER_EXECUTION": "autograde"}, "smoke"),
        # a student's cell or an instructor's shell must not turn grading into hours of training
        ({"NBGRADER_EXECUTION": "autograde", "COURSE_SCALE": "full"}, "smoke"),
    ],
)
def test_scale_and_budget(tmp_path, environ, expected):
    view = machine(tmp_path, environ=environ)
    assert runtime.scale(view) == expected
    assert runtime.budget(smoke="smoke", standard="standard", full="full", view=view) == expected


def test_unknown_scale_names_the_three(tmp_path):
    with pytest.raises(ValueError, match="COURSE_SCALE is 'huge': set it to smoke, standard or full"):
        runtime.scale(machine(tmp_path, environ={"COURSE_SCALE": "huge"}))


def test_the_real_machine():
    assert runtime.usable_cpus() >= 1
    limit = runtime.memory_limit()
    assert limit is None or limit > 100 << 20


def test_a_file_is_replaced_whole_through_a_link_and_a_pipe_is_written_to(tmp_path):
    target, link, pipe = tmp_path / "target", tmp_path / "link", tmp_path / "pipe"
    target.write_text("old")
    link.symlink_to(target)
    runtime.write_whole(link, "new")
    assert target.read_text() == "new" and link.is_symlink()
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    runtime.write_whole(pipe, "through")
    assert os.read(reader, 20) == b"through" and pipe.is_fifo()
    os.close(reader)
