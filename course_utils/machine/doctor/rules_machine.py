"""Disk, memory, workers' shared memory, cores and clock limits."""

import re
from collections.abc import Iterator
from typing import Any

from .facts import Facts
from .findings import Finding, found

MEBIBYTE, GIBIBYTE = 1 << 20, 1 << 30
FULL_BYTES = 200 * MEBIBYTE
LOW_BYTES = 2 * GIBIBYTE
FULL_INODES = 1000
SMALL_SHARED_MEMORY = 256 * MEBIBYTE
SMALL_MEMORY = 2 * GIBIBYTE  # Binder's limit


def rules(facts: Facts) -> Iterator[Finding]:
    """Yield the findings about the machine's limits."""
    small = facts.value("shared_memory.total_bytes")
    workers_starve = small is not None and small < SMALL_SHARED_MEMORY
    yield from _disks(facts, workers_starve)
    yield from _shared_memory(facts, workers_starve)
    yield from _memory(facts)
    yield from _clocks(facts)
    usable, machine = facts.value("cpus.usable"), facts.value("cpus.machine")
    if usable and machine and usable < machine:
        yield found(facts, "cpu.fewer_than_shown", f"cpus: {usable} of {machine} cores", usable=usable)


def _megabytes(count: int | None) -> str:
    return "unknown" if count is None else f"{count // MEBIBYTE} MiB"


def _disks(facts: Facts, workers_starve: bool) -> Iterator[Finding]:
    names = sorted({path.split(".")[1] for path in facts.values if path.startswith("disks.")})
    disks = {name: facts.section(f"disks.{name}") for name in names}
    free = {name: disk["free_bytes"] for name, disk in disks.items() if disk.get("free_bytes") is not None}
    full = [name for name, size in free.items() if size < FULL_BYTES]
    low = [name for name, size in free.items() if size < LOW_BYTES and name != "temporary"]
    crowded = [name for name, disk in disks.items() if _few_entries(disk)]
    for code, found_on in {
        "disk.full": full,
        "disk.no_file_entries": crowded,
        "disk.low": [] if full or crowded else low,
    }.items():
        if found_on:
            lines = [_disk_line(name, disks[name]) for name in found_on]
            yield found(facts, code, *lines, path=", ".join(disks[name].get("path") or name for name in found_on))
    for signal in facts.told("disk"):
        explained = full or crowded or workers_starve or "/dev/shm" in signal.line
        if signal.name != "no_space" or not explained:
            yield found(facts, signal.code, signal)


def _few_entries(disk: dict[str, Any]) -> bool:
    free = disk.get("free_inodes")
    return free is not None and free < FULL_INODES and disk.get("total_inodes") != 0


def _disk_line(name: str, disk: dict[str, Any]) -> str:
    free, total = _megabytes(disk.get("free_bytes")), _megabytes(disk.get("total_bytes"))
    entries = f", but {disk['free_inodes']} of {disk.get('total_inodes')} file entries" if _few_entries(disk) else ""
    return f"disks.{name} {disk.get('path') or ''}: {free} of {total} free{entries}"


def _shared_memory(facts: Facts, workers_starve: bool) -> Iterator[Finding]:
    size, no_space = facts.value("shared_memory.total_bytes"), facts.signal("no_space")
    complaint = facts.signal("bus_error") or (no_space if no_space and "/dev/shm" in no_space.line else None)
    if workers_starve or (complaint and size is None):
        shown = size is not None and f"shared_memory.total_bytes: {_megabytes(size)}"
        yield found(facts, "memory.shared_memory_small", complaint, shown, severity="error" if complaint else "")


def _memory(facts: Facts) -> Iterator[Finding]:
    memory, killed = facts.value("memory.limit_bytes"), facts.signal("killed")
    limit, died = f"memory.limit_bytes: {_megabytes(memory)}", facts.value("torch.exit_code") == -9
    if killed or died:
        scarce = memory is not None and memory <= 2 * SMALL_MEMORY
        proof = (killed, died and "torch.exit_code: -9 (killed)", limit)
        yield found(facts, "memory.process_killed", *proof, severity="" if scarce else "unknown")
    elif memory is not None and memory < SMALL_MEMORY:
        yield found(facts, "memory.small", limit)


def _clocks(facts: Facts) -> Iterator[Finding]:
    text = facts.text("nvidia_smi_performance.text")
    active = re.findall(r"^\s*(\S[^:\n]*?)\s*:\s*Active\s*$", text, re.MULTILINE)
    codes = {"thermal": "card.thermal_throttling", "brake": "card.power_brake", "power cap": "card.power_cap"}
    reasons = {code: [line for line in active if word in line.lower()] for word, code in codes.items()}
    # "HW Slowdown" is the heading of the thermal and the power brake reasons.
    if not reasons["card.thermal_throttling"] and not reasons["card.power_brake"]:
        reasons["card.hardware_slowdown"] = [line for line in active if line.lower() == "hw slowdown"]
    for code, lines in reasons.items():
        if lines:
            yield found(facts, code, *(f"nvidia_smi_performance.text: {line}: Active" for line in lines))
