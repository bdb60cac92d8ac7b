"""Leaks: run a step a few times and name what stays: how much, made on which line, held by whom.

Tensors are followed by their storage, from the operation that made them: also those that no Python object holds, such
as the activations that a kept graph keeps. NumPy arrays are followed by tracemalloc. What is made once and stays
(optimiser states, buffers) and what replaces itself from step to step is healthy, and nothing is said about it.
"""

from __future__ import annotations

import gc
import itertools
import sys
import tracemalloc
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_utils.memory.oom import show_bytes

KINDS = {
    "graph": "a tensor is kept with the graph that made it: keep loss.item() or tensor.detach() instead",
    "traceback": "frames of an exception hold it: memory.oom.release() lets go; keep str(error), not the error",
    "closure": "a function that lives on has captured it: pass it as an argument",
    "float_frames": "images are kept as floats: keep them as uint8, a quarter of the size, and convert when used",
    "device": "tensors pile up on the card: move what you keep to the CPU, or overwrite it",
    "figures": "figures stay open: plt.close(figure) after showing or saving it",
    "kept": "a container grows: overwrite it, bound its length, or empty it",
}
"""kinds of leaks, each with its cure"""
NAMELESS = "something without a name"
LEAST = 1_024
"""bytes per step below which a growth without a graph is no leak but a log"""


@dataclass(frozen=True)
class Leak:
    """Something that stays behind after every step."""

    kind: str
    bytes_per_step: int
    line: str
    """file:line that made it"""
    holder: str
    """what keeps it alive, as far as it has a name"""

    def __str__(self) -> str:
        return (
            f"{self.kind}: {show_bytes(self.bytes_per_step)} more after every step, made at {self.line}, held by "
            f"{self.holder}; {KINDS[self.kind]}"
        )


def find_leaks(step: Callable[[], Any], *, steps: int = 6, warm_up: int = 2) -> list[Leak]:
    """Call `step` warm_up + steps times and return what stays behind each time, the largest first; [] if nothing does.

    A step that is seen to leave something behind in at least half of the watched steps, the last two aside, leaks
    there. Runs several times slower than the step alone. Raises ValueError for fewer than 4 steps: too few to tell.
    """
    if steps < 4:
        raise ValueError(f"steps must be at least 4 to tell growth from what replaces itself, got {steps}")
    for _ in range(warm_up):
        step()
    figures, arrays, made = [], [], []
    gc.collect()
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start(12)
    try:
        for _ in range(steps):
            with _Maker() as maker:
                step()
            made.append(maker.storages)
            gc.collect()
            figures.append(_open_figures())
            arrays.append(_array_bytes())
    finally:
        if not tracing:
            tracemalloc.stop()
    leaks = _tensor_leaks(made) + _array_leaks(arrays)
    if all(after > before for before, after in itertools.pairwise(figures)):
        per_step = (figures[-1] - figures[0]) / (steps - 1)
        leaks = [leak for leak in leaks if "matplotlib" not in leak.holder]
        leaks.append(Leak("figures", 0, "pyplot", f"pyplot's list of open figures, {per_step:.0f} more after each"))
    return sorted(leaks, key=lambda leak: leak.bytes_per_step, reverse=True)


class _Maker(TorchDispatchMode):
    """Notes for every tensor that an operation returns: its storage (weakly), its bytes and the line."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: dict[int, tuple[StorageWeakRef, int, str]] = {}

    def __torch_dispatch__(self, function: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        given = {tensor.untyped_storage()._cdata for tensor in tree_leaves((args, kwargs)) if _has_storage(tensor)}
        for tensor in tree_leaves(result):
            if (
                _has_storage(tensor) and tensor.untyped_storage()._cdata not in given
            ):  # not a view or an in-place result
                storage = tensor.untyped_storage()
                self.storages[storage._cdata] = (StorageWeakRef(storage), storage.nbytes(), _line())
        return result


def _has_storage(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided and value.untyped_storage().nbytes() > 0


def _own(file: str) -> bool:
    """Whether a file is the user's: no library, and not this package's tool itself."""
    return not ("site-packages" in file or "dist-packages" in file or file == __file__ or file.startswith("<frozen"))


def _line() -> str:
    """Return file:line of the innermost frame that is the user's own code."""
    frame = sys._getframe(2)
    while frame is not None and not _own(frame.f_code.co_filename):
        frame = frame.f_back
    return "unknown" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _tensor_leaks(made: list[dict[int, tuple[StorageWeakRef, int, str]]]) -> list[Leak]:
    """Group the storages that live on by the line that made them; the last two steps may still replace theirs."""
    old = made[:-2]
    alive: dict[str, list[dict[int, int]]] = defaultdict(lambda: [{} for _ in old])
    for number, storages in enumerate(old):
        for key, (reference, size, line) in storages.items():
            if not reference.expired():
                alive[line][number][key] = size
    grown = {line: counts for line, counts in alive.items() if sum(map(bool, counts)) >= max(2, len(old) / 2)}
    keys = {key for counts in grown.values() for count in counts for key in count}
    held = [tensor for tensor in gc.get_objects() if _is_tensor(tensor) and _has_storage(tensor)]
    by_storage = {tensor.untyped_storage()._cdata: tensor for tensor in held}
    # What a graph alone keeps has no name of its own: it goes by that of a tensor whose graph it is.
    # A running sum is replaced by every step: only its latest value is there to be asked.
    keys |= made[-1].keys()
    graphs = [_held(tensor) for key, tensor in by_storage.items() if key in keys and tensor.grad_fn is not None]
    graph = next((held for held in graphs if held[1] != NAMELESS), ("graph", NAMELESS))
    leaks = []
    for line, counts in grown.items():
        size = sum(sum(count.values()) for count in counts) // len(counts)
        found = next((by_storage[key] for count in counts for key in count if key in by_storage), None)
        kind, holder = graph if found is None else _held(found)
        if holder == NAMELESS and graphs:
            kind, holder = graph
        if size >= LEAST or kind == "graph":
            leaks.append(Leak(kind, size, line, holder))
    return _merged(leaks)


def _merged(leaks: list[Leak]) -> list[Leak]:
    """Add up what one holder keeps through graphs: the line of the largest part stands for all of them."""
    whole: dict[tuple[str, str], list[Leak]] = defaultdict(list)
    for leak in leaks:
        whole[leak.kind, leak.holder].append(leak)
    return [
        Leak(kind, sum(leak.bytes_per_step for leak in parts), max(parts, key=lambda p: p.bytes_per_step).line, holder)
        for (kind, holder), parts in whole.items()
    ]


def _is_tensor(value: Any) -> bool:
    # type(), not isinstance(): some objects answer __class__ by doing something
    return issubclass(type(value), Tensor)


def _held(value: Tensor | np.ndarray) -> tuple[str, str]:
    """Return the kind of leak and the name of what holds a tensor or an array."""
    holder, way = _holder(value)
    if isinstance(value, Tensor) and value.grad_fn is not None:
        return "graph", holder
    if way in ("traceback", "closure"):
        return way, holder
    floats = value.is_floating_point() if isinstance(value, Tensor) else value.dtype.kind == "f"
    if floats and value.ndim >= 3 and min(value.shape[-2:]) >= 16:
        return "float_frames", holder
    if isinstance(value, Tensor) and value.is_cuda:
        return "device", holder
    return "kept", holder


def _holder(value: Any) -> tuple[str, str]:
    """Go from holder to holder until one has a name; return it and how it holds: traceback, closure or name."""
    seen, layer, below = {id(value)}, [value], {}
    hidden = {id(sys._getframe(depth)) for depth in range(4)}
    for _ in range(6):
        above = []
        for thing in layer:
            for referrer in gc.get_referrers(thing):
                if id(referrer) in seen or id(referrer) in hidden or referrer is layer or referrer is above:
                    continue
                seen.add(id(referrer))
                below[id(referrer)] = thing
                named = _name(referrer, below, value)
                if named:
                    return named
                above.append(referrer)
        layer = above[:50]
    return NAMELESS, "name"


def _name(referrer: Any, below: dict[int, Any], value: Any) -> tuple[str, str] | None:
    """Return a holder's name and how it holds, None where it has none; `below` maps a holder's id to what it holds."""
    thing = below[id(referrer)]
    if isinstance(referrer, types.FrameType):
        if not _own(referrer.f_code.co_filename):
            return None
        name = next((name for name, value in referrer.f_locals.items() if value is thing), "a local variable")
        running, frame = False, sys._getframe()
        while frame is not None:
            running, frame = running or frame is referrer, frame.f_back
        kind = "name" if running else "traceback"
        return f"`{name}` in {referrer.f_code.co_name}()", kind
    if isinstance(referrer, types.FunctionType):
        for name, cell in zip(referrer.__code__.co_freevars, referrer.__closure__ or (), strict=False):
            if id(cell) in below:  # a container that it shares with others is an ordinary variable
                kind = "closure" if below[id(cell)] is value else "name"
                return f"`{name}`, captured by {referrer.__name__}()", kind
        return None
    if isinstance(referrer, dict):
        key = next((key for key, value in referrer.items() if value is thing and isinstance(key, str)), None)
        if key and "__name__" in referrer and "__builtins__" in referrer:
            return f"global variable `{key}`", "name"
        return None
    if isinstance(referrer, type | types.ModuleType):
        return None
    attributes = getattr(referrer, "__dict__", None)
    if isinstance(attributes, dict) and not isinstance(referrer, Tensor):
        key = next((key for key, value in attributes.items() if value is thing), None)
        if key:
            return f"attribute `{key}` of a {type(referrer).__name__}", "name"
    return None


def _open_figures() -> int:
    pyplot = sys.modules.get("matplotlib.pyplot")
    return len(pyplot.get_fignums()) if pyplot else 0


def _array_bytes() -> dict[str, int]:
    """Return the bytes of NumPy arrays by the line of the user's that made them."""
    domain = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    sizes: dict[str, int] = defaultdict(int)
    for trace in tracemalloc.take_snapshot().filter_traces([domain]).traces:
        own = [frame for frame in trace.traceback if _own(frame.filename)]
        frame = own[-1] if own else trace.traceback[-1]
        sizes[f"{frame.filename}:{frame.lineno}"] += trace.size
    return sizes


def _array_leaks(arrays: list[dict[str, int]]) -> list[Leak]:
    leaks = []
    for line in arrays[-1]:
        sizes = [found.get(line, 0) for found in arrays]
        growth = [after - before for before, after in itertools.pairwise(sizes)]
        per_step = sum(growth) // len(growth)
        if sum(more > 0 for more in growth) > len(growth) / 2 and per_step >= LEAST:
            found = next(_arrays_of_size(per_step), None)
            kind, holder = _held(found) if found is not None else ("kept", NAMELESS)
            leaks.append(Leak(kind, per_step, line, holder))
    return leaks


def _arrays_of_size(size: int) -> Iterator[np.ndarray]:
    """Yield arrays of at most `size` bytes, the largest first: the garbage collector knows only what holds them."""
    found: dict[int, np.ndarray] = {}
    for container in gc.get_objects():
        if type(container) in (list, tuple, dict) or type(container).__name__ == "deque":
            for thing in gc.get_referents(container):
                if type(thing) is np.ndarray and thing.base is None and thing.nbytes <= size:
                    found[id(thing)] = thing
    yield from sorted(found.values(), key=lambda array: array.nbytes, reverse=True)
