"""The package's own rules: its size, the length of a module, and a ground floor that needs nothing installed."""

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import course_utils

PACKAGE = Path(course_utils.__file__).parent
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
CHECKS = PACKAGE / "lessons" / "checks"
LARGEST_MODULE, LARGEST_PACKAGE = 330, 6_000


LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def lines_of_code(path: Path) -> int:
    """Count as cloc does: blank lines, comments and docstrings are not code, and nobody should save on them."""
    source = path.read_text(encoding="utf-8")
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, node.end_lineno + 1))
    return len(code)


def test_a_module_is_read_in_ten_minutes():
    assert {path.name: lines(path) for path in MODULES if lines(path) > LARGEST_MODULE} == {}


def test_the_package_stays_small(capsys):
    counted = [path for path in MODULES if CHECKS not in path.parents]
    total, whole = sum(map(lines_of_code, counted)), sum(map(lines, counted))
    with capsys.disabled():
        print(
            f"\ncourse_utils without lessons/checks: {total} lines of code, at most {LARGEST_PACKAGE}; {whole} in all"
        )
    assert total < LARGEST_PACKAGE


def test_lines_of_code_leave_out_what_is_only_read(tmp_path):
    module = tmp_path / "module.py"
    code = ["x = (", "    1", ")  # y", "def f():", '    return "a"']
    prose = ['"""What."""', "", "# why", '    """How.', "", '    Long."""']
    module.write_text("\n".join([*prose[:3], *code[:4], *prose[3:], code[4], ""]))
    assert lines_of_code(module) == 5


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
