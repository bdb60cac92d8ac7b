"""Disk, memory, workers' shared memory, cores and clock limits."""

from __future__ import annotations

from collections.abc import Iterator

from .facts import Disk, Facts
from .findings import Found

MEBIBYTE, GIBIBYTE = 1 << 20, 1 << 30
FULL_BYTES = 200 * MEBIBYTE
LOW_BYTES = 2 * GIBIBYTE
FULL_INODES = 1000
SMALL_SHARED_MEMORY = 256 * MEBIBYTE
SMALL_MEMORY = 2 * GIBIBYTE  # Binder's limit


def rules(facts: Facts) -> Iterator[Found]:
    """Yield the findings about the machine's limits."""
    yield from _disks(facts)
    yield from _memory(facts)
    yield from _clocks(facts)
    if facts.usable_cpus and facts.machine_cpus and facts.usable_cpus < facts.machine_cpus:
        shown = f"{facts.usable_cpus} of {facts.machine_cpus} cores"
        yield Found("cpu.fewer_than_shown", (f"cpus: {shown}",), {"usable": str(facts.usable_cpus)})


def megabytes(count: int | None) -> str:
    """Write bytes as whole MiB."""
    return "unknown" if count is None else f"{count // MEBIBYTE} MiB"


def _disks(facts: Facts) -> Iterator[Found]:
    full = [disk for disk in facts.disks if disk.free_bytes is not None and disk.free_bytes < FULL_BYTES]
    crowded = [disk for disk in facts.disks if disk.total_inodes != 0 and _few(disk.free_inodes)]
    low = [disk for disk in facts.disks if disk.free_bytes is not None and FULL_BYTES <= disk.free_bytes < LOW_BYTES]
    if full:
        yield Found("disk.full", tuple(map(_bytes_line, full)), _where(full))
    if crowded:
        lines = tuple(
            f"{_bytes_line(disk)}, but {disk.free_inodes} of {disk.total_inodes} file entries" for disk in crowded
        )
        yield Found("disk.no_file_entries", lines, _where(crowded))
    low = [disk for disk in low if disk.name != "temporary"]
    if low and not full and not crowded:
        yield Found("disk.low", tuple(map(_bytes_line, low)), _where(low))
    for name, code in (("quota", "disk.quota"), ("read_only", "disk.read_only"), ("no_space", "disk.no_space")):
        signal = facts.signal(name)
        shared = signal and name == "no_space" and ("/dev/shm" in signal.line or _shared_memory_is_small(facts))
        if signal and not shared and not (name == "no_space" and (full or crowded)):
            yield Found(code, (str(signal),))


def _few(free_inodes: int | None) -> bool:
    return free_inodes is not None and free_inodes < FULL_INODES


def _bytes_line(disk: Disk) -> str:
    return f"disks.{disk.name} {disk.path}: {megabytes(disk.free_bytes)} of {megabytes(disk.total_bytes)} free"


def _where(disks: list[Disk]) -> dict[str, str]:
    return {"path": ", ".join(disk.path or disk.name for disk in disks)}


def _shared_memory_is_small(facts: Facts) -> bool:
    return facts.shared_memory is not None and facts.shared_memory < SMALL_SHARED_MEMORY


def _memory(facts: Facts) -> Iterator[Found]:
    bus, no_space = facts.signal("bus_error"), facts.signal("no_space")
    in_shared = no_space if no_space and "/dev/shm" in no_space.line else None
    size = f"shared_memory.total_bytes: {megabytes(facts.shared_memory)}"
    complaint = bus or in_shared
    if _shared_memory_is_small(facts):
        proof = (*([str(complaint)] if complaint else []), size)
        yield Found("memory.shared_memory_small", proof, severity="error" if complaint else None)
    elif complaint and facts.shared_memory is None:
        yield Found("memory.shared_memory_small", (str(complaint),), severity="error")
    killed = facts.signal("killed")
    proof = [str(killed)] if killed else []
    if facts.torch_exit_code == -9:
        proof.append("torch.exit_code: -9 (killed)")
    limit = f"memory.limit_bytes: {megabytes(facts.memory)}"
    if proof and facts.memory is not None and facts.memory <= 2 * SMALL_MEMORY:
        yield Found("memory.process_killed", (*proof, limit))
    elif proof:
        yield Found("memory.process_killed", (*proof, limit), severity="unknown")
    elif facts.memory is not None and facts.memory < SMALL_MEMORY:
        yield Found("memory.small", (limit,))


def _clocks(facts: Facts) -> Iterator[Found]:
    thermal = [reason for reason in facts.throttle if "thermal" in reason.lower()]
    brake = [reason for reason in facts.throttle if "brake" in reason.lower()]
    cap = [reason for reason in facts.throttle if "power cap" in reason.lower()]
    slowdown = [reason for reason in facts.throttle if reason.lower() == "hw slowdown"]
    # "HW Slowdown" is the heading of the thermal and the power brake reasons.
    for code, reasons in (
        ("card.thermal_throttling", thermal), ("card.power_brake", brake), ("card.power_cap", cap),
        ("card.hardware_slowdown", [] if thermal or brake else slowdown),
    ):  # fmt: skip
        if reasons:
            yield Found(code, tuple(f"nvidia_smi_performance.text: {reason}: Active" for reason in reasons))
