"""Every field of the evidence, from catalogue/fields.toml, and the reader that holds evidence against it.

The same table prints `course doctor --schema`, reads evidence files and names what could not be read.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).with_name("catalogue")
_TABLE = tomllib.loads((CATALOGUE / "fields.toml").read_text(encoding="utf-8"))
VERSION: int = _TABLE["version"]
ENVIRONMENT_VARIABLES: list[str] = _TABLE["environment_variables"]
PACKAGES: list[str] = _TABLE["packages"]
_TYPES = {"string": str, "boolean": bool, "integer": int, "list": list}


@dataclass(frozen=True)
class Field:
    """One field: JSON type, meaning (with what null says), the command behind it and an example."""

    type: str
    meaning: str
    source: str
    example: Any = None
    messages: bool = False  # known messages are looked for in it


FIELDS = {path: Field(**entry) for path, entry in _TABLE["fields"].items()}
FIELDS |= {
    f"environment.{name}": Field("string", "value; null: not set, '': set but empty", f"printenv {name}")
    for name in ENVIRONMENT_VARIABLES
}
_SECTIONS = {path.split(".")[0] for path in FIELDS if "." in path}


def pattern_of(path: str) -> str | None:
    """Return the field that describes a dotted path ("packages.numpy" -> "packages.*"), or None."""
    first, *rest = path.split(".", 2)
    # A package's name may hold a dot.
    candidates = [path, ".".join([first, "*", *rest[1:]]), f"{first}.*"]
    return next((name for name in candidates if name in FIELDS), None)


def flatten(evidence: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (dotted path, value) for every field; an object that is no section is a value."""
    for section, value in evidence.items():
        if not isinstance(value, dict) or section not in _SECTIONS:
            yield str(section), value
            continue
        for name, inner in value.items():
            if isinstance(inner, dict) and section == "disks":
                yield from ((f"disks.{name}.{last}", entry) for last, entry in inner.items())
            else:
                yield f"{section}.{name}", inner


class Values:
    """Typed access to evidence by dotted path: a missing path is unknown, null is the answer "nothing there"."""

    values: dict[str, Any]

    def known(self, path: str) -> bool:
        """Say whether the evidence holds this field, null included."""
        return path in self.values

    def absent(self, path: str) -> bool:
        """Say whether somebody looked and found nothing (null or empty)."""
        return self.known(path) and self.values[path] in (None, "", [])

    def text(self, path: str) -> str:
        """Return the field's text, empty where unknown or null."""
        return self.values.get(path) or ""

    def value(self, path: str) -> Any:
        """Return the field's number or truth, None where unknown."""
        return self.values.get(path)

    def words(self, path: str) -> tuple[str, ...] | None:
        """Return the field's list as texts, None where unknown; null counts as an empty list."""
        return tuple(str(entry) for entry in self.values[path] or ()) if self.known(path) else None

    def section(self, name: str) -> dict[str, Any]:
        """Return the known fields of a section by their last name."""
        start = f"{name}."
        return {path.removeprefix(start): value for path, value in self.values.items() if path.startswith(start)}

    def named(self, section: str) -> dict[str, Any]:
        """Return a section by names in lower case and with hyphens; "" counts as null."""
        return {name.lower().replace("_", "-"): value or None for name, value in self.section(section).items()}


class Reader(Values):
    """Reads evidence field by field; a wrong type is named in `unreadable` and counts as unknown."""

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        self.values = {}
        self.unreadable: list[str] = []
        self.unknown: list[str] = []
        for path, value in flatten(evidence):
            pattern = pattern_of(path)
            kind = FIELDS[pattern].type if pattern else ""
            if kind == "integer" and isinstance(value, float) and value.is_integer():
                value = int(value)  # a program wrote 2147483648.0
            if pattern and (value is None or _fits(kind, value)):
                self.values[path] = value
            elif pattern:
                self.unreadable.append(f"{path} should be {kind}, found {type(value).__name__}")
            elif path.split(".")[0] not in _SECTIONS:
                self.unknown.append(path)
            elif value is not None:  # a section that is null is unknown
                self.unreadable.append(f"{path} is not a field")


def _fits(kind: str, value: Any) -> bool:
    # In Python True is also an integer.
    return isinstance(value, _TYPES[kind]) and isinstance(value, bool) == (kind == "boolean")
