"""Settings for the whole suite: a home folder of its own, the judge's server with torch, strict skips on CI."""

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest

os.environ["COURSE_HOME"] = tempfile.mkdtemp(prefix="course-home-")
os.environ["COURSE_SCALE"] = "smoke"
os.environ.pop("NBGRADER_EXECUTION", None)

import course_utils.lessons.exercise  # noqa: F401  (names what the judge's server imports, before it starts)

ROOT = Path(__file__).parent
ARTIFACTS = ROOT / "build" / "artifacts"
ALLOWED_SKIPS = ("needs a CUDA device", "needs EnvPool")
COLOURS = r"\x1b\[[\d;]*m"


def pytest_runtest_logreport(report):
    _refuse_skip(report)
    notebook = ROOT / report.nodeid.partition("::")[0]
    if report.failed and notebook.suffix == ".ipynb":
        with contextlib.suppress(OSError):  # a full disk must not hide the failure itself
            ARTIFACTS.mkdir(parents=True, exist_ok=True)
            shutil.copy(notebook, ARTIFACTS)
            with (ARTIFACTS / f"{notebook.stem}.txt").open("a") as file:
                file.write(f"{report.nodeid}\n{re.sub(COLOURS, '', report.longreprtext)}\n\n")


def pytest_collectreport(report):
    _refuse_skip(report)


def _refuse_skip(report):
    if report.skipped and os.environ.get("COURSE_CI_STRICT") and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(allowed in reason for allowed in ALLOWED_SKIPS):
            _refused_skips.append(f"{report.nodeid}: {reason}")


_refused_skips: list[str] = []


def pytest_sessionfinish(session):
    if _refused_skips:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    for skip in _refused_skips:
        terminalreporter.write_line(f"SKIP NOT ALLOWED ON CI  {skip}", red=True)


def pytest_collection_modifyitems(items):
    for item in items:
        if hasattr(item, "output_timeout"):  # nbval waits 5 s for outputs, too short on a busy machine
            item.output_timeout = 60
