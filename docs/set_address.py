"""Set the course's public address: one setting that badges and the notebooks' first cell read.

    python docs/set_address.py https://github.com/OWNER/NAME    # or `none` to take it out again

The setting is `Repository` under `[project.urls]` in pyproject.toml. While it is unset there are no badges, and the
first cell tells how to install the course by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[1]
SETTING = re.compile(r'\n\[project\.urls\]\nRepository = "(.*)"\n')
FIRST_CELL = re.compile(r'^REPOSITORY = ".*?"', re.MULTILINE)
BADGES = re.compile(r"<!-- badges -->.*?<!-- /badges -->\n+", re.DOTALL)
GITHUB = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+")


def badges(address: str, path: str) -> str:
    """Return the Colab and Binder badges of one notebook, between markers, empty for an unset address."""
    if not address:
        return ""
    name = address.removeprefix("https://github.com/")
    colab = f"https://colab.research.google.com/github/{name}/blob/main/{path}"
    binder = f"https://mybinder.org/v2/gh/{name}/main?urlpath=lab/tree/{quote(path)}"
    return (
        "<!-- badges -->\n"
        f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({colab})\n"
        f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder})\n"
        "<!-- /badges -->\n\n"
    )


def _with_badges(text: str, block: str) -> str:
    """Put the block below the first line (the title), in place of an older one."""
    title, _, rest = BADGES.sub("", text).partition("\n")
    return f"{title}\n\n{block}{rest.lstrip()}"


def _changed_notebook(text: str, address: str, path: str) -> str:
    notebook = json.loads(text)
    title = notebook["cells"][0]
    title["source"] = _with_badges("".join(title["source"]), badges(address, path)).splitlines(keepends=True)
    for cell in notebook["cells"]:
        if cell["id"] == "setup":
            source = FIRST_CELL.sub(f'REPOSITORY = "{address}"', "".join(cell["source"]))
            cell["source"] = source.splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def set_address(root: Path, address: str) -> list[Path]:
    """Write the address (empty: none) into pyproject.toml, README.md and all notebooks; return what changed."""
    pyproject = root / "pyproject.toml"
    settings = SETTING.sub("", pyproject.read_text(encoding="utf-8"))
    if address:
        table = f'\n[project.urls]\nRepository = "{address}"\n'
        settings = settings.replace("\n[project.scripts]", f"{table}\n[project.scripts]", 1)
    readme = root / "README.md"
    first = "notebooks/00_start_here.ipynb"
    new = {pyproject: settings, readme: _with_badges(readme.read_text(encoding="utf-8"), badges(address, first))}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        new[path] = _changed_notebook(path.read_text(encoding="utf-8"), address, f"notebooks/{path.name}")
    changed = [path for path, text in new.items() if path.read_text(encoding="utf-8") != text]
    for path in changed:
        path.write_text(new[path], encoding="utf-8")
    return changed


def main(arguments: list[str]) -> int:
    """Return 0 when done, 2 for an address that is not understood."""
    parser = argparse.ArgumentParser(description="Set the course's public address everywhere.")
    parser.add_argument("address", help="https://github.com/OWNER/NAME, or 'none' to take it out again")
    address = parser.parse_args(arguments).address.removesuffix("/").removesuffix(".git")
    if address != "none" and not GITHUB.fullmatch(address):
        print(f"set_address: {address} is not of the form https://github.com/OWNER/NAME", file=sys.stderr)
        return 2
    changed = set_address(ROOT, "" if address == "none" else address)
    print("\n".join(f"changed {path.relative_to(ROOT)}" for path in changed) or "nothing to change")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
