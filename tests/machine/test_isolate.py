"""Every way in which code under test can misbehave ends as a named outcome, and the caller goes on."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from course_utils.machine import isolate
from course_utils.machine.isolate import Limits


def here(source: str, name: str = "answer"):
    """A function defined as in a notebook: in no importable module, with a file name of its own."""
    namespace = {"__name__": "__main__"}
    exec(compile(source, "/tmp/ipykernel_1/cell.py", "exec"), namespace)
    return namespace[name]


def test_a_result_comes_back():
    outcome = isolate.run(here("def answer(a, b):\n    return {'sum': a + b}"), 2, 3)
    assert (outcome.kind, outcome.value) == ("returned", {"sum": 5})


def test_tensors_and_random_state_of_the_caller_stay_as_they_are():
    torch.manual_seed(7)
    random.seed(7)
    tensor = torch.ones(3)
    state = torch.random.get_rng_state(), random.getstate()
    source = "import torch\ndef answer(t):\n    torch.manual_seed(0); torch.rand(9); t.zero_(); return t.sum().item()"
    outcome = isolate.run(here(source), tensor)
    assert outcome.value == 0.0
    assert tensor.sum() == 3
    assert torch.equal(torch.random.get_rng_state(), state[0]) and random.getstate() == state[1]


def test_an_exception_is_named_with_its_line():
    outcome = isolate.run(here("def answer():\n    a = {}\n    return a['missing']"))
    assert (outcome.kind, outcome.error_type, outcome.error) == ("raised", "KeyError", "'missing'")
    assert outcome.frames[-1] == (isolate.BY_VALUE, 3, "answer")


HOSTILE = {
    "endless loop": ("def answer():\n    while True:\n        pass", "cpu_limit"),
    "endless loop that swallows everything": (
        "def answer():\n    while True:\n        try: pass\n        except BaseException: pass",
        "cpu_limit",
    ),
    "endless recursion": ("def answer():\n    return answer()", "raised"),
    "sleeps for ever": ("import time\ndef answer():\n    while True:\n        time.sleep(0.05)", "idle"),
    "waits for a lock": ("import threading\ndef answer():\n    threading.Event().wait()", "idle"),
    "asks for input": ("def answer():\n    return input('name? ')", "raised"),
    "list without end": (
        "def answer():\n    a = []\n    while True:\n        a.append(bytearray(10**6))",
        "memory_limit",
    ),
    "tensor too large": ("import torch\ndef answer():\n    return torch.ones(2**33)", "memory_limit"),
    "prints without end": ("def answer():\n    while True:\n        print('x' * 999)", "output_limit"),
    "sys.exit": ("import sys\ndef answer():\n    sys.exit(3)", "exited"),
    "os._exit": ("import os\ndef answer():\n    os._exit(0)", "exited"),
    "quit": (
        "import signal, os\ndef answer():\n    os.kill(os.getpid(), signal.SIGTERM)\n    signal.pause()",
        "crashed",
    ),
    "segmentation fault": ("import ctypes\ndef answer():\n    ctypes.string_at(0)", "crashed"),
    "result cannot travel": ("import threading\ndef answer():\n    return threading.Lock()", "not_sendable"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_code_ends_as_a_named_outcome(case):
    source, kind = HOSTILE[case]
    limits = Limits(cpu_seconds=1, idle_seconds=1.0, memory_bytes=300 << 20)
    assert isolate.run(here(source), limits=limits).kind == kind


def test_the_looping_line_is_named():
    source = "def answer():\n    count = 0\n    while count >= 0:\n        count = 0\n    return count"
    outcome = isolate.run(here(source), limits=Limits(cpu_seconds=1))
    assert outcome.kind == "cpu_limit"
    filename, line, name = outcome.frames[-1]
    assert (filename, name) == (isolate.BY_VALUE, "answer") and line in (3, 4)


def test_what_the_code_prints_is_kept():
    outcome = isolate.run(here("import os\ndef answer():\n    print('hello'); os.system('echo from a shell')"))
    assert "hello" in outcome.output and "from a shell" in outcome.output


def test_a_callable_that_cannot_travel_is_not_run():
    lock = threading.Lock()
    outcome = isolate.run(lambda: lock)
    assert outcome.kind == "not_sendable" and "lock" in outcome.error
    big = bytes(3 << 20)
    assert isolate.run(lambda: len(big), limits=Limits(payload_bytes=1 << 20)).error_type == "TooLarge"


def test_grandchildren_die_too():
    source = "import subprocess\ndef answer():\n    return subprocess.Popen(['sleep', '300']).pid"
    pid = isolate.run(here(source)).value
    for _ in range(50):
        try:
            if open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the grandchild was still running")


def test_cuda_is_hidden():
    source = "import os\ndef answer():\n    return os.environ['CUDA_VISIBLE_DEVICES']"
    assert isolate.run(here(source)).value == ""


def test_a_script_without_a_main_guard_is_not_run_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from course_utils.machine import isolate\nprint('started')\nprint(isolate.run(lambda: 42).value)\n"
    )
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert run.stdout.split() == ["started", "42"], run.stderr
