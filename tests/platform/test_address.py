"""One setting, read everywhere; taken out again it leaves no trace."""

import json
import shutil
import tomllib

import pytest

from docs import set_address as address

URL = "https://github.com/someone/some-course"


@pytest.fixture
def copy(tmp_path):
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(address.ROOT / name, tmp_path)
    shutil.copytree(address.ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns(".*"))
    return tmp_path


def contents(root):
    return {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_the_address_reaches_setting_badges_and_first_cells(copy):
    address.set_address(copy, URL)
    assert tomllib.loads((copy / "pyproject.toml").read_text())["project"]["urls"] == {"Repository": URL}
    assert "mybinder.org/v2/gh/someone/some-course/main" in (copy / "README.md").read_text()
    paths = list((copy / "notebooks").glob("*.ipynb"))
    for path in paths:
        cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]}
        assert f"/github/someone/some-course/blob/main/notebooks/{path.name})" in cells["title"]
        assert f'\nREPOSITORY = "{URL}"' in cells["setup"]
    assert paths


def test_setting_twice_and_taking_out_leave_the_files_as_they_were(copy):
    before = contents(copy)
    address.set_address(copy, "https://github.com/a/b")
    address.set_address(copy, URL)
    assert address.set_address(copy, URL) == []
    address.set_address(copy, "")
    assert contents(copy) == before


def test_an_address_that_is_not_understood_changes_nothing(capsys):
    assert address.main(["http://example.org/x"]) == 2
    assert "is not of the form" in capsys.readouterr().err
