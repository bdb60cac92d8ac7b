"""The ledger: which exercises were tried and solved, in one JSON file under the course's home folder."""

from __future__ import annotations

import contextlib
import copy
import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from course_utils.machine import runtime


class Ledger:
    """Results of the checks. Each change reads, alters and replaces the file under a lock, so that two
    notebooks may write at once; a file that cannot be written costs the record, never the lesson."""

    _unsaved: ClassVar[dict[Path, dict[str, dict[str, Any]]]] = {}

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries = self._read()

    @classmethod
    def open(cls) -> Ledger:
        return cls(runtime.course_home() / "ledger.json")

    def status(self, name: str) -> str:
        return self._entries.get(name, {}).get("status", "not attempted")

    def solved(self, name: str) -> bool:
        return self._entries.get(name, {}).get("solved", False)

    def attempts(self, name: str) -> int:
        """Number of answers judged right or wrong."""
        return self._entries.get(name, {}).get("attempts", 0)

    def record(self, name: str, status: str, message: str = "") -> None:
        """Keep the verdict on an answer; a solved exercise stays solved."""

        def alter(entry: dict[str, Any]) -> None:
            entry["status"] = status
            entry["message"] = message
            entry["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            entry["attempts"] = entry.get("attempts", 0) + (status in ("right", "wrong"))
            entry["solved"] = entry.get("solved", False) or status == "right"

        self._change(name, alter)

    def count_hint(self, name: str) -> int:
        """Count one more hint and return how many were shown."""

        def alter(entry: dict[str, Any]) -> None:
            entry["hints"] = entry.get("hints", 0) + 1

        self._change(name, alter)
        return self._entries[name]["hints"]

    def _change(self, name: str, alter: Callable[[dict[str, Any]], None]) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path.with_suffix(".lock"), "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                entries = self._read()
                alter(entries.setdefault(name, {}))
                text = json.dumps({"version": 1, "exercises": entries}, indent=1, ensure_ascii=False)
                runtime.write_whole(self.path, text)
            self._unsaved.pop(self.path, None)
        except OSError as error:
            if self.path not in self._unsaved:
                print(
                    f"{self.path} cannot be written ({error.strerror}): results are kept until the kernel stops. "
                    "Set COURSE_HOME to a folder that can be written to."
                )
            entries = self._unsaved.setdefault(self.path, self._read())
            alter(entries.setdefault(name, {}))
        self._entries = entries

    def _read(self) -> dict[str, dict[str, Any]]:
        if self.path in self._unsaved:
            return copy.deepcopy(self._unsaved[self.path])
        try:
            entries = json.loads(self.path.read_text(encoding="utf-8"))["exercises"]
            if not all(isinstance(entry, dict) for entry in entries.values()):
                raise ValueError
            return entries
        except OSError:
            return {}
        except (ValueError, KeyError, TypeError, AttributeError):
            aside = self.path.with_suffix(f".unreadable-{time.time_ns()}")
            with contextlib.suppress(OSError):
                os.replace(self.path, aside)
                print(f"The ledger {self.path} was not readable. It is kept as {aside.name}; a new one begins.")
            return {}
