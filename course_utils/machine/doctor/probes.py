"""Looking at the machine: programs, child processes and files. Nothing here raises or outlives its time limit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from ..runtime import View

TEXT_LIMIT = 200_000  # bytes; `ldconfig -p` of a desktop takes more than 100,000
_CHILD = Path(__file__).with_name("child.py")
_MARK = "DOCTOR-PROBE "


def which(program: str, view: View) -> str | None:
    """Return where a program is found, None where it is not on PATH."""
    return shutil.which(program, path=view.environ.get("PATH", os.defpath))


def run(arguments: list[str], view: View, seconds: float) -> dict[str, Any]:
    """Run a program in its own session; return path, text (both outputs), exit_code and error."""
    path = which(arguments[0], view)
    result: dict[str, Any] = {"path": path, "text": "", "exit_code": None, "error": None}
    if path is None:
        return {**result, "error": "missing"}
    # A file, not a pipe: a program stuck in the driver may keep a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        try:
            process = subprocess.Popen([path, *arguments[1:]], env={**view.environ}, start_new_session=True, **streams)
        except OSError as error:
            return {**result, "error": str(error)}
        try:
            result["exit_code"] = process.wait(seconds)
        except subprocess.TimeoutExpired:
            result["error"] = f"timed out after {seconds:g} s"
        finally:
            # Also ends what the program left behind; its own process may be gone.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
        output.seek(0)
        result["text"] = output.read(TEXT_LIMIT).decode("utf-8", "replace")
    return result


def child(name: str, view: View, seconds: float) -> dict[str, Any]:
    """Run one probe of child.py with this Python; return what it told, its exit_code and error."""
    done = run([sys.executable, "-c", _CHILD.read_text(encoding="utf-8"), name], view, seconds)
    fields: dict[str, Any] = {}
    for line in done["text"].splitlines():
        if line.startswith(_MARK):
            with suppress(ValueError):
                fields.update(json.loads(line.removeprefix(_MARK)))
    stopped = fields.pop("probe_error", None)
    return {**fields, "exit_code": done["exit_code"], "error": done["error"] or stopped}


def gather(probes: dict[str, Callable[[], Any]], seconds: float) -> dict[str, Any]:
    """Run the probes side by side; one that raises or is late gives {"error": ...}.

    The threads are daemons: a file system that hangs cannot hold the doctor.
    """
    results: dict[str, Any] = {}

    def work(name: str, probe: Callable[[], Any]) -> None:
        try:
            results[name] = probe()
        except Exception as error:
            results[name] = {"error": f"{type(error).__name__}: {error}"}

    threads = [threading.Thread(target=work, args=entry, daemon=True) for entry in probes.items()]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return {name: results.get(name, {"error": f"timed out after {seconds:g} s"}) for name in probes}


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Return the installed version of each package; None: not installed."""
    found: dict[str, str | None] = dict.fromkeys(packages)
    for name in found:
        with suppress(Exception):  # damaged metadata raises more than PackageNotFoundError
            found[name] = metadata.version(name)
    return found
