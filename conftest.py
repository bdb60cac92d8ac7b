"""Settings for the whole suite: a home folder of its own, the judge's server with torch, strict skips on CI."""

import os
import tempfile

import pytest

os.environ["COURSE_HOME"] = tempfile.mkdtemp(prefix="course-home-")
os.environ["COURSE_SCALE"] = "smoke"
os.environ.pop("NBGRADER_EXECUTION", None)

import course_utils.lessons.exercise  # noqa: F401  (names what the judge's server imports, before it starts)

ALLOWED_SKIPS = ("needs a CUDA device",)


def pytest_runtest_logreport(report):
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
