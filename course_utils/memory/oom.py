"""Out of memory: read what the message says, give the one advice that fits its numbers, and go on in smaller pieces.

"Empty the cache" is hardly ever that advice: torch empties it itself before it gives up.
"""

from __future__ import annotations

import gc
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
KINDS = {
    "too_large": "this step asks for more than fits beside what it already holds",
    "fragmentation": "enough is free, but in pieces",
    "other_process": "another process holds the memory",
    "leftover": "a run of yours that should be over still holds the memory",
    "leak": "memory has grown from step to step until nothing was left",
    "host_limit": "the machine's or the container's main memory is full, not the card's",
    "shared_memory": "/dev/shm, through which worker processes pass data, is full",
    "own_limit": "the program has limited itself",
    "library": "a CUDA library found no room for its workspace: torch's cache has taken it all",
    "unknown": "no numbers in the message",
}
"""kinds of running out of memory, each with what it means"""

CUDA_CONTEXT = 600 * 2**20
"""bytes at most that a process holds on a card beside its tensors; messages of torch 1.x do not count it"""
_UNITS = {"bytes": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
_SIZE = r"([\d.]+) (PiB|TiB|GiB|MiB|KiB|bytes)"
# One name per number; torch has changed the sentences around them in 1.x, 2.0 and 2.1.
_PATTERNS = {
    "request": (
        rf"[Tt]ried to allocate {_SIZE}",
        r"you tried to allocate (\d+) (bytes)",
        rf"Unable to allocate {_SIZE}",
    ),
    "total": (rf"total capaci?ty of {_SIZE}", rf"; {_SIZE} total capacity"),
    "free": (rf"of which {_SIZE} is free", rf"; {_SIZE} free"),
    "process": (rf"this process has {_SIZE} memory in use",),
    "allocated": (rf"{_SIZE} is allocated by PyTorch", rf"; {_SIZE} already allocated"),
    "unallocated": (rf"{_SIZE} is reserved by PyTorch but unallocated", rf"; {_SIZE} cached"),
    "reserved": (rf"; {_SIZE} reserved in total by PyTorch",),
    "allowed": (rf"{_SIZE} allowed",),
}
_OTHERS = re.compile(rf"Process (\d+) has {_SIZE} memory in use")
_SHARED = re.compile(r"Bus error|/dev/shm|shared memory|unable to mmap|unable to write to file </torch_")
_LIBRARY = re.compile(r"CU\w+_(ALLOC_FAILED|NOT_INITIALIZED)|nvmlInit.*INTERNAL ASSERT")
_HOST = re.compile(r"DefaultCPUAllocator|Unable to allocate|MemoryError|oom-kill|Out of memory: Killed|^Killed$", re.M)
_ANY = re.compile(r"out of memory", re.I)


@dataclass(frozen=True)
class Verdict:
    """What a message says: its kind, the one thing to do, and its numbers in bytes."""

    kind: str
    advice: str
    numbers: dict[str, int] = field(default_factory=dict)
    """request, total, free, process, allocated, unallocated, reserved, others, allowed: those that were found"""
    processes: dict[int, int] = field(default_factory=dict)
    """other processes named in the message: bytes by process id"""

    def __str__(self) -> str:
        return f"{self.kind}: {KINDS[self.kind]}. {self.advice}"


def show_bytes(size: float) -> str:
    """Return a size as people read it, such as "2.00 GiB"."""
    for unit in ("PiB", "TiB", "GiB", "MiB", "KiB"):
        if size >= _UNITS[unit]:
            return f"{size / _UNITS[unit]:.2f} {unit}"
    return f"{size:.0f} bytes"


def read(message: str | BaseException, *, history: Sequence[int] = (), own_processes: Sequence[int] = ()) -> Verdict:
    """Return the verdict on an out-of-memory message, of torch 1.x to 2.x, NumPy, cuBLAS or the kernel's log.

    `history` holds allocated bytes after each of the last steps: with it a leak is told from a step that is too large.
    `own_processes` are ids of earlier runs of yours: with them a leftover is told from somebody else's process.
    """
    text = f"{type(message).__name__}: {message}" if isinstance(message, BaseException) else message
    numbers = {}
    for name, patterns in _PATTERNS.items():
        found = next(filter(None, (re.search(pattern, text) for pattern in patterns)), None)
        if found:
            numbers[name] = int(float(found[1].rstrip(".")) * _UNITS[found[2]])
    processes = {int(pid): int(float(size) * _UNITS[unit]) for pid, size, unit in _OTHERS.findall(text)}
    if "reserved" in numbers and "allocated" in numbers:
        numbers.setdefault("unallocated", max(0, numbers["reserved"] - numbers["allocated"]))
    if processes:
        numbers["others"] = sum(processes.values())
    elif {"total", "free"} <= numbers.keys():
        tensors = numbers.get("allocated", 0) + numbers.get("unallocated", 0)
        held = numbers.get("process", tensors + CUDA_CONTEXT)
        numbers["others"] = max(0, numbers["total"] - numbers["free"] - held)
    kind, advice = _judge(text, numbers, processes, history, own_processes)
    return Verdict(kind, advice, numbers, processes)


def _judge(
    text: str, numbers: dict[str, int], processes: dict[int, int], history: Sequence[int], own: Sequence[int]
) -> tuple[str, str]:
    request, total = numbers.get("request", 0), numbers.get("total", 0)
    asked = show_bytes(request)
    if _SHARED.search(text):
        return "shared_memory", (
            "Start the container with a larger one (--shm-size 2g), or use fewer workers (num_workers=0 needs none). "
            "The minibatch has nothing to do with it."
        )
    if _HOST.search(text):
        wanted = f"{asked} were asked for at once. " if request else ""
        return "host_limit", (
            f"{wanted}Keep frames as uint8 and once each, make the buffer shorter, or take a machine with more main "
            f"memory; a larger card would not help."
        )
    if _LIBRARY.search(text):
        return "library", (
            "The card was full already: leave 1 GiB free with torch.cuda.set_per_process_memory_fraction, or use a "
            "smaller minibatch; the line that failed is not the one to blame."
        )
    if not total:
        if _ANY.search(text):
            return "unknown", "Look with nvidia-smi who holds the memory: if nobody does, the first step was too large."
        return "unknown", "This is no message of an allocator that is known here."
    if growing(history):
        return "leak", (
            f"{show_bytes(history[-1] - history[0])} came on in {len(history) - 1} steps: find who keeps the tensors "
            f"before making anything smaller, for that only delays it."
        )
    allowed = numbers.get("allowed", total)
    if request > total:
        return "too_large", (
            f"{asked} are more than the whole card has ({show_bytes(total)}): split the minibatch into at least "
            f"{-(-request // total) + 1} pieces, or make the tensor smaller. Freeing cannot help."
        )
    if allowed < total:
        return "own_limit", (
            f"This process may use {show_bytes(allowed)} of {show_bytes(total)}: raise "
            f"torch.cuda.set_per_process_memory_fraction, or stay below it."
        )
    if numbers.get("unallocated", 0) >= request:
        return "fragmentation", (
            f"{show_bytes(numbers['unallocated'])} are reserved but unused, {asked} were asked for in one piece: set "
            f"PYTORCH_ALLOC_CONF=expandable_segments:True (PYTORCH_CUDA_ALLOC_CONF before torch 2.9) before torch "
            f"starts."
        )
    others = numbers.get("others", 0)
    if others >= max(request - numbers.get("free", 0), total // 10):
        mine = [pid for pid in processes if pid in own]
        if mine:
            return "leftover", (
                f"Process {mine[0]} is an earlier run of yours and holds {show_bytes(processes[mine[0]])}: shut its "
                f"kernel down, or `kill {mine[0]}` and look again."
            )
        return "other_process", (
            f"Others hold {show_bytes(others)} of {show_bytes(total)}: nvidia-smi lists them. A kernel of another "
            f"notebook of yours? Shut it down. Somebody else's? Take another card."
        )
    missing = request - numbers.get("free", 0)
    return "too_large", (
        f"{show_bytes(missing)} are missing: halve the minibatch and add up the gradients (the same step, less "
        f"memory at once), or keep fewer activations."
    )


def growing(history: Sequence[int], least: int = 2**20) -> bool:
    """Whether bytes after each step grow by at least `least`, and so steadily that the halves do not overlap."""
    if len(history) < 4 or history[-1] - history[0] < least:
        return False
    settled = history[1:]  # the first step makes buffers and optimiser states
    middle = len(settled) // 2
    return min(settled[middle:]) > max(settled[:middle])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an exception means that memory ran out, on a card or on the host; other errors must not be retried."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and bool(
        re.search(r"out of memory|can't allocate memory|not enough memory|_ALLOC_FAILED", str(error))
    )


def release() -> None:
    """Let go of what a failed cell still holds: frames of the last traceback keep every tensor of the call alive.

    In Jupyter the last error stays in `sys.last_value`, and with it its frames. Their local variables are cleared, then
    the garbage collector runs, and only then can the allocator's cache go back to the card.
    """
    for name in ("last_exc", "last_value"):
        error = getattr(sys, name, None)
        while error is not None:
            if error.__traceback__ is not None:
                traceback.clear_frames(error.__traceback__)
            error.__traceback__, error = None, error.__cause__ or error.__context__
        if hasattr(sys, name):
            setattr(sys, name, None)
    if getattr(sys, "last_traceback", None) is not None:
        traceback.clear_frames(sys.last_traceback)
        sys.last_traceback = None
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def smaller_until_it_fits(step: Callable[[int], T], size: int, least: int = 1) -> tuple[T, int]:
    """Call `step(size)`, and with half the size as long as memory runs out; return its result and the size that fitted.

    `step` must leave nothing behind where it fails (start with zero_grad). The retry stands outside `except`: inside,
    the exception still holds the failed call's tensors. Raises the last error where `least` does not fit either.
    """
    while True:
        try:
            return step(size), size
        except Exception as error:
            if not is_out_of_memory(error) or size <= least:
                raise
        release()
        size = max(least, size // 2)


def accumulate_gradients(mean_loss: Callable[..., Tensor], tensors: Sequence[Tensor], size: int) -> float:
    """Add up the gradient of `mean_loss(*tensors)` in pieces of at most `size` rows; return the whole loss.

    Each piece is weighted by its share of the rows, so the gradient is that of the whole batch, also where the last
    piece is shorter. `mean_loss` must be a mean over rows, and nothing in it may depend on the other rows: normalise
    advantages before. Raises ValueError where the tensors differ in length or are empty.
    """
    rows = {len(tensor) for tensor in tensors}
    if len(rows) != 1 or 0 in rows or size < 1:
        raise ValueError(f"tensors of one length and a size of at least 1 are needed, got {sorted(rows)} and {size}")
    count, total = rows.pop(), 0.0
    for piece in zip(*(tensor.split(size) for tensor in tensors), strict=True):
        loss = mean_loss(*piece) * (len(piece[0]) / count)
        loss.backward()
        total += loss.item()
    return total
