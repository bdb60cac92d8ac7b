"""Run a callable in a child process with limits on CPU time, memory, output and silence.

Code under test may loop for ever, eat the memory, print without end, exit, wait for input or crash. Here
it does so in a child that is killed with its whole process group, and the caller gets an `Outcome` that
names what happened. The caller's random state, tensors and file descriptors are never touched.

The child comes from multiprocessing's forkserver: a clean process that has imported torch once, so a call
costs milliseconds, and that never ran an OpenMP region, after which a fork would hang.
"""

import contextlib
import errno
import faulthandler
import math
import multiprocessing
import multiprocessing.connection
import multiprocessing.forkserver
import os
import pickle
import re
import signal
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal

Kind = Literal[
    "returned",  # value holds the result
    "raised",  # error_type, error and frames tell which exception
    "cpu_limit",  # used up its CPU time; frames tell where it was
    "wall_limit",  # still running at the wall limit
    "idle",  # slept or waited for idle_seconds without using the CPU
    "memory_limit",
    "output_limit",
    "exited",  # sys.exit, os._exit or exit()
    "crashed",  # killed by a signal, such as a segmentation fault
    "not_sendable",  # the callable, its arguments or its result cannot travel between processes
]
Frame = tuple[str, int, str]  # file name, line number, function name; outermost first
BY_VALUE = "<dynamic-code>"  # the file name that cloudpickle gives to code from a notebook or script


@dataclass(frozen=True)
class Limits:
    """What the child may use. CPU seconds are the judge; the wall limit is only a net for busy machines."""

    cpu_seconds: int = 5
    wall_seconds: float = 60.0
    idle_seconds: float = 5.0
    memory_bytes: int = 1 << 30  # above what the child holds at its start
    output_bytes: int = 1 << 20
    payload_bytes: int = 64 << 20  # pickled callable with its arguments and the globals it reads


@dataclass(frozen=True)
class Outcome:
    """How the child ended. `output` is what it printed (stdout and stderr, at most `Limits.output_bytes`)."""

    kind: Kind
    value: Any = None
    error_type: str = ""
    error: str = ""
    frames: tuple[Frame, ...] = field(default=())
    output: str = ""


def prepare(modules: Sequence[str]) -> None:
    """Name the modules that the server process imports once, before the first `run` starts it."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))


def start_server() -> None:
    """Start the server process now, in the background, so that the first `run` need not wait for its imports."""
    multiprocessing.forkserver.ensure_running()


def run(function: Callable[..., Any], *arguments: Any, limits: Limits | None = None) -> Outcome:
    """Call `function(*arguments)` in a child process and say how it ended; never raises for the child's faults.

    Functions and classes defined in a notebook or script travel by value (cloudpickle), all else by reference.
    """
    import cloudpickle

    limits = limits or Limits()
    try:
        payload = cloudpickle.dumps((function, arguments))
    except Exception as error:
        return Outcome("not_sendable", error_type=type(error).__name__, error=str(error))
    if len(payload) > limits.payload_bytes:
        size = f"{len(payload) / 2**20:.0f} MiB, over the limit of {limits.payload_bytes >> 20} MiB"
        return Outcome("not_sendable", error_type="TooLarge", error=size)
    context = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory(prefix="isolate-") as folder:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(sender, payload, folder, limits), daemon=True)
        try:
            with _without_main_module():
                process.start()
            sender.close()
            answer, reason = _wait(process, receiver, limits)
        finally:
            _kill_group(process)
            receiver.close()
        output = _read(Path(folder) / "output", limits.output_bytes)
        trace = _read(Path(folder) / "trace", 1 << 16)
    if answer is not None:
        try:
            return Outcome(**pickle.loads(answer), output=output)
        except Exception as error:
            return Outcome("not_sendable", error_type=type(error).__name__, error=str(error), output=output)
    if reason:
        return Outcome(reason, output=output)
    if trace:
        first_dump = re.findall(r'^  File "(.*)", line (\d+) in (.+)$', trace.split("\n\n")[0], flags=re.MULTILINE)
        frames = tuple((name, int(line), function) for name, line, function in reversed(first_dump))
        return Outcome("cpu_limit", frames=frames, output=output)
    if (process.exitcode or 0) < 0:
        name = signal.Signals(-process.exitcode).name
        return Outcome("crashed", error_type=name, error=f"ended by signal {name}", output=output)
    return Outcome("exited", error=f"exit code {process.exitcode}", output=output)


@contextlib.contextmanager
def _without_main_module() -> Iterator[None]:
    """Hide `__main__` while a child starts: it must not import the user's script or the test runner again."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _wait(
    process: BaseProcess, receiver: multiprocessing.connection.Connection, limits: Limits
) -> tuple[bytes | None, Kind | None]:
    """Wait for the child's answer, its end, or a limit; returns (answer or None, limit reached or None)."""
    start = last_active = time.monotonic()
    cpu_before = -1
    while True:
        ready = multiprocessing.connection.wait([receiver, process.sentinel], timeout=0.25)
        if receiver in ready:
            with contextlib.suppress(EOFError, OSError):
                return receiver.recv_bytes(), None
            process.join()
            return None, None
        if ready:
            return None, None
        now = time.monotonic()
        asleep, cpu_used = _activity(process.pid or 0)
        if not asleep or cpu_used != cpu_before:
            last_active, cpu_before = now, cpu_used
        if now - last_active > limits.idle_seconds:
            return None, "idle"
        if now - start > limits.wall_seconds:
            return None, "wall_limit"


def _activity(pid: int) -> tuple[bool, int]:
    """(every thread sleeps, CPU ticks used). A process that waits for a free core is not asleep."""
    asleep, ticks = True, 0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            state, *numbers = (task / "stat").read_text().rsplit(")", 1)[1].split()
            asleep = asleep and state == "S"
            ticks += int(numbers[10]) + int(numbers[11])
    except (OSError, ValueError, IndexError):
        return False, ticks
    return asleep, ticks


def _kill_group(process: BaseProcess) -> None:
    """Kill the child and all that it started (it leads its own session), and collect it."""
    if process.pid is None:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.is_alive():
        process.kill()
    process.join()


def _read(path: Path, limit: int) -> str:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(limit).decode(errors="replace")
    return ""


# What follows runs in the child.


def _child(sender: multiprocessing.connection.Connection, payload: bytes, folder: str, limits: Limits) -> None:
    os.setsid()
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    _redirect(Path(folder) / "output")
    trace = open(Path(folder) / "trace", "wb", buffering=0)
    import cloudpickle

    try:
        function, arguments = pickle.loads(payload)
    except BaseException as error:
        fields = _failure("not_sendable", error)
    else:
        _limit(limits, trace)  # only now: what the callable has to import is not its own work
        fields = _call(function, arguments)
    try:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        sender.send_bytes(cloudpickle.dumps(fields))
    except Exception as error:
        sender.send_bytes(cloudpickle.dumps(_failure("not_sendable", error)))
    os._exit(0)  # no atexit handlers, no waiting for threads that the code under test left behind


def _redirect(output: Path) -> None:
    """Point file descriptors 0, 1 and 2 at nothing and at the output file, for Python and C code alike."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(nothing, 0)
    os.dup2(target, 1)
    os.dup2(target, 2)
    sys.stdin = open(0, closefd=False)
    sys.stdout = open(1, "w", closefd=False)
    sys.stderr = open(2, "w", buffering=1, closefd=False)


def _limit(limits: Limits, trace: Any) -> None:
    import resource

    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    # At the soft limit the kernel sends SIGXCPU, whose handler writes where the code is; the hard limit kills.
    faulthandler.register(signal.SIGXCPU, file=trace, all_threads=False, chain=False)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu_seconds = math.ceil(usage.ru_utime + usage.ru_stime) + limits.cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.output_bytes, limits.output_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        start_size = re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())
        if start_size:
            most = int(start_size[1]) * 1024 + limits.memory_bytes
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> dict[str, Any]:
    try:
        value = function(*arguments)
        sys.stdout.flush()
        return {"kind": "returned", "value": value}
    except SystemExit as error:
        return _failure("exited", error)
    except BaseException as error:
        return _failure(_kind_of(error), error)


def _failure(kind: Kind, error: BaseException) -> dict[str, Any]:
    frames = tuple(
        (entry.filename, entry.lineno or 0, entry.name) for entry in traceback.extract_tb(error.__traceback__)
    )
    return {"kind": kind, "error_type": type(error).__name__, "error": _text_of(error), "frames": frames[1:]}


def _kind_of(error: BaseException) -> Kind:
    if isinstance(error, MemoryError) or "can't allocate memory" in _text_of(error):
        return "memory_limit"
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "output_limit"
    return "raised"


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # a broken __str__ in the code under test
        return ""
