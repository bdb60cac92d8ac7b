"""Every field of the evidence, from catalogue/fields.toml, and the reader that holds evidence against it.

The same table prints `course doctor --schema`, reads evidence files and names what could not be read.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

CATALOGUE = Path(__file__).with_name("catalogue")


@cache
def table(name: str) -> dict[str, Any]:
    """Return catalogue/NAME.toml."""
    return tomllib.loads((CATALOGUE / f"{name}.toml").read_text(encoding="utf-8"))


_TABLE = table("fields")
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


class Reader:
    """Typed access to evidence by dotted path: a missing path is unknown, null is the answer "nothing there".

    A value of a wrong type is named in `unreadable` and counts as unknown.
    """

    def __init__(self, evidence: Mapping[str, Any]) -> None:
        self.values: dict[str, Any] = {}
        self.unreadable: list[str] = []
        self.unknown_fields: list[str] = []
        for path, value in flatten(evidence):
            field = FIELDS.get(pattern_of(path) or "")
            if field and field.type == "integer" and isinstance(value, float) and value.is_integer():
                value = int(value)  # a program wrote 2147483648.0
            if field and (value is None or type(value) is _TYPES[field.type]):  # True is not an integer here
                self.values[path] = value
            elif field:
                self.unreadable.append(f"{path} should be {field.type}, found {type(value).__name__}")
            elif path.split(".")[0] not in _SECTIONS:
                self.unknown_fields.append(path)
            elif value is not None:  # a section that is null is unknown
                self.unreadable.append(f"{path} is not a field")

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
