"""Rules for the files that set the course up: pure functions, each returning one line per finding."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

# Ubuntu and Debian renamed or dropped these; headless wheels need none of them.
GL_PACKAGES = (
    "libgl1-mesa-glx",
    "libgl1",
    "libgl1-mesa-dri",
    "libglib2.0-0",
    "libosmesa6",
    "libglu1-mesa",
    "freeglut3",
)
BINDER_CONFIGURATION = ("Dockerfile", "environment.yml", "apt.txt", "postBuild", "start", "runtime.txt", "Pipfile")


def requirements(text: str) -> dict[str, Requirement]:
    """Return the requirements of a requirements file by name, without comments and options."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    found = [Requirement(line) for line in lines if line and not line.startswith("-")]
    return {requirement.name.lower(): requirement for requirement in found}


def requirement_findings(text: str, *, hosted: bool = False) -> list[str]:
    """Find requirements that are known to break an installation; `hosted`: the platform brings its own torch."""
    findings = []
    for name, requirement in requirements(text).items():
        if name in ("gym", "atari-py", "autorom", "pickle5"):
            findings.append(f"{name}: unmaintained, use gymnasium and ale-py")
        if name in ("torchvision", "torchaudio"):
            findings.append(f"{name}: the course does not use it")
        if "box2d" in requirement.extras or name in ("box2d-py", "box2d"):
            findings.append(f"{name}: Box2D needs swig to build")
        if "+" in str(requirement.specifier):
            findings.append(f"{name}: a local build tag exists in one index only")
        if hosted and name in ("torch", "triton"):
            findings.append(f"{name}: the platform's own build stays")
        if hosted and (name in ("pygame-ce", "opencv-python-headless") or "==" in str(requirement.specifier)):
            findings.append(f"{name}: would move what the platform has installed")
        if name.startswith("opencv") and "headless" not in name:
            findings.append(f"{name}: needs GL libraries, use opencv-python-headless")
    return findings


def apt_findings(text: str) -> list[str]:
    """Find GL packages in an apt.txt."""
    names = [line.split("#")[0].strip() for line in text.splitlines()]
    return [f"{name}: not needed, the wheels are headless" for name in names if name in GL_PACKAGES]


def conda_findings(environment: dict[str, Any]) -> list[str]:
    """Find unpinned Python, and packages whose conda build is incomplete, in a parsed environment.yml."""
    names = [entry for entry in environment["dependencies"] if isinstance(entry, str)]
    findings = []
    if not any(re.fullmatch(r"python=3\.\d+", name) for name in names):
        findings.append("python: pin the minor version")
    for name in names:
        if re.match(r"(gymnasium|ale-py|pytorch|opencv)", name):
            findings.append(f"{name}: take it from PyPI, in the pip section")
    return findings


def source_findings(source: str) -> list[str]:
    """Find the old gym interface and removed NumPy names in Python source."""
    findings = []
    for node in ast.walk(ast.parse(source)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        if any(module.split(".")[0] == "gym" for module in modules):
            findings.append(f"line {node.lineno}: gym is unmaintained, import gymnasium")
        if isinstance(node, ast.Attribute) and node.attr in ("bool8", "float_"):
            findings.append(f"line {node.lineno}: NumPy has no {node.attr} any more")
    return findings


def cell_findings(source: str) -> list[str]:
    """Find installation lines in a notebook cell that hide their own failure."""
    lines = source.splitlines()
    installs = [line for line in lines if re.match(r"\s*[!%]+\s*(\S*python\S* -m )?pip3? install", line)]
    findings = [f"{line.strip()}: -q hides why it failed" for line in installs if re.search(r" (-q+|--quiet)\b", line)]
    if lines and lines[0].startswith("%%capture") and installs:
        findings.append("%%capture hides why an installation failed")
    return findings


def python_of_cell(source: str) -> str:
    """Return a cell's source with magics and shell lines blanked, so that it parses as Python."""
    if source.startswith("%%"):
        return ""
    return re.sub(r"^(\s*)[!%].*$", r"\1pass", source, flags=re.MULTILINE)


def binder_findings(root: Path) -> list[str]:
    """Find what repo2docker would ignore or could not run; with a binder folder it ignores such files in the root."""
    findings = []
    folder = root / "binder"
    if (root / ".binder").exists():
        findings.append("binder and .binder exclude each other")
    for name in BINDER_CONFIGURATION:
        if (root / name).exists() and not (folder / name).exists():
            findings.append(f"{name}: configured in the root alone, which Binder ignores")
    for name in ("postBuild", "start"):
        script = folder / name
        if not script.exists():
            findings.append(f"{name}: missing")
            continue
        text = script.read_text()
        if not script.stat().st_mode & 0o111:
            findings.append(f"{name}: not executable")
        if not text.startswith("#!"):
            findings.append(f"{name}: no interpreter line")
        if name == "postBuild" and not re.search(r"^set -e", text, re.MULTILINE):
            findings.append("postBuild: without set -e its errors are ignored")
        if name == "postBuild" and "pip install" in text and "--no-cache-dir" not in text:
            findings.append("postBuild: pip without --no-cache-dir fills the image")
        if name == "start" and text.strip().splitlines()[-1] != 'exec "$@"':
            findings.append('start: must end with exec "$@"')
    return findings


def link_findings(markdown: str, folder: Path) -> list[str]:
    """Find relative links in Markdown whose target does not exist."""
    targets = re.findall(r"\]\(([^)\s#]+)", markdown)
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    return [f"{target}: no such file" for target in local if not (folder / target).exists()]


def unused(names: list[str], text: str) -> list[str]:
    """Return the packages that `text`, the rest of the repository, never names by module, command or setting."""
    spelled = {
        "import-linter": "lint-imports",
        "pyyaml": "import yaml",
        "pytest-timeout": "\ntimeout = ",
        "nbval": "--nbval",
        "pip": '"-m", "pip"',
    }
    return [name for name in names if spelled.get(name, name.replace("-", "_")) not in text]
