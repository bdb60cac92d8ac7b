"""The package's own rules: its size, the length of a module, and a ground floor that needs nothing installed."""

import subprocess
import sys
from pathlib import Path

import course_utils

PACKAGE = Path(course_utils.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
CHECKS = PACKAGE / "lessons" / "checks"
LARGEST_MODULE, LARGEST_PACKAGE = 330, 6_000


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_a_module_is_read_in_ten_minutes():
    assert {path.name: lines(path) for path in MODULES if lines(path) > LARGEST_MODULE} == {}


def test_the_package_stays_small(capsys):
    total = sum(lines(path) for path in MODULES if CHECKS not in path.parents)
    with capsys.disabled():
        print(f"\ncourse_utils without lessons/checks: {total} of at most {LARGEST_PACKAGE} lines")
    assert total < LARGEST_PACKAGE


def test_the_ground_floor_imports_only_the_standard_library():
    names = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if PACKAGE / "machine" in path.parents
    ]
    code = (
        "import importlib, sys\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "allowed = sys.stdlib_module_names | {'course_utils', '__main__', '__mp_main__'}\n"
        "print([name for name in sys.modules if name.split('.')[0] not in allowed])\n"
    )
    command = [sys.executable, "-S", "-c", code]  # -S: nothing that is installed can be found
    run = subprocess.run(command, cwd=PACKAGE.parent, capture_output=True, text=True, timeout=60)
    assert run.stdout.strip() == "[]", run.stdout + run.stderr
