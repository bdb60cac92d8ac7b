"""Faults that a notebook's source shows before it runs: order of cells, old packages, rendering, silent installs."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

# Variable -> modules that read it once, when they are imported (or, for CUDA, when they first count the cards).
READ_ONCE = {
    "CUDA_VISIBLE_DEVICES": ("torch",),
    "MUJOCO_GL": ("mujoco", "dm_control", "OpenGL"),
    "PYOPENGL_PLATFORM": ("mujoco", "dm_control", "OpenGL"),
    "SDL_VIDEODRIVER": ("pygame",),
}
LARGEST_OUTPUT = 2_000_000  # characters of one notebook's outputs


def problems(notebook: dict[str, Any]) -> list[str]:
    """Return one line for each fault, with the numbers (from 1) of the code cells concerned."""
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = [line for number, source in enumerate(cells, 1) for line in _silent_install(number, source)]
    trees = [(number, _tree(source)) for number, source in enumerate(cells, 1)]
    found += [*_late_variables(trees), *_old_gym(trees), *_render_without_mode(trees)]
    outputs = [cell.get("outputs", []) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if len(json.dumps(outputs)) > LARGEST_OUTPUT:
        found.append(f"outputs hold over {LARGEST_OUTPUT} characters: strip them, or link long videos")
    return found


def _tree(source: str) -> ast.Module:
    """Parse a cell; lines of the shell and magics are blanked, so that line numbers stay."""
    lines = [re.sub(r"^(\s*)[!%].*", r"\1pass", line) for line in source.splitlines()]
    return ast.parse("\n".join(lines))


def _silent_install(number: int, source: str) -> Iterator[str]:
    for line in source.splitlines():
        if re.match(r"\s*!\s*(python3? -m )?pip3?\b.*\s(-q+|--quiet)\b", line):
            yield f"cell {number}: !pip with -q hides a failed installation: use %pip without -q"


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name.split(".")[0] for name in node.names]
    return [node.module.split(".")[0]] if isinstance(node, ast.ImportFrom) and node.module else []


def _variable_set(node: ast.AST) -> str | None:
    """Return the name in os.environ[NAME] = ..., os.environ.setdefault(NAME, ...) and os.putenv(NAME, ...)."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and ast.unparse(target.value).endswith("environ"):
                return target.slice.value if isinstance(target.slice, ast.Constant) else None
    if isinstance(node, ast.Call) and re.search(r"environ\.setdefault$|putenv$", ast.unparse(node.func)) and node.args:
        return node.args[0].value if isinstance(node.args[0], ast.Constant) else None
    return None


def _in_order(trees: list[tuple[int, ast.Module]]) -> Iterator[tuple[int, ast.AST]]:
    for number, tree in trees:
        for node in sorted((node for node in ast.walk(tree) if hasattr(node, "lineno")), key=lambda node: node.lineno):
            yield number, node


def _late_variables(trees: list[tuple[int, ast.Module]]) -> Iterator[str]:
    imported: dict[str, int] = {}
    for number, node in _in_order(trees):
        for module in _modules(node):
            imported.setdefault(module, number)
        name = _variable_set(node)
        for module in READ_ONCE.get(name or "", ()):
            if module in imported:
                yield f"cell {number}: {name} is set after cell {imported[module]} imported {module}: set it before"
                break


def _old_gym(trees: list[tuple[int, ast.Module]]) -> Iterator[str]:
    for number, node in _in_order(trees):
        if "gym" in _modules(node):
            yield f"cell {number}: import gym: use import gymnasium as gym"
        if isinstance(node, ast.Assign) and any(
            re.fullmatch(r"(np|numpy)\.bool8", ast.unparse(t)) for t in node.targets
        ):
            yield f"cell {number}: numpy is patched for old gym: use gymnasium"


def _render_without_mode(trees: list[tuple[int, ast.Module]]) -> Iterator[str]:
    modeless: dict[str, int] = {}
    for number, node in _in_order(trees):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
            made = bool(re.search(r"(^|\.)make$", ast.unparse(node.value.func)))
            if made and not any(word.arg in ("render_mode", None) for word in node.value.keywords):
                modeless[node.targets[0].id] = number
            else:
                modeless.pop(node.targets[0].id, None)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "render":
            name = ast.unparse(node.func.value)
            if name in modeless:
                yield f"cell {number}: {name}.render(), but cell {modeless[name]} made it without render_mode"
