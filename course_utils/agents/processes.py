"""Processes: how the workers that environments run in are started, kept quiet, and ended."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterable
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from course_utils.machine.runtime import usable_cpus

PER_CPU = 16
DIED = (
    "a worker process died without a word, often for lack of memory: try fewer environments, or "
    'backend="sync", where the error itself is shown'
)
NOT_STARTED = (
    "a worker process died before it had begun; its own error stands above. In a script, whatever starts workers "
    'belongs under `if __name__ == "__main__":`, because each worker begins by importing the script'
)
Vector = TypeVar("Vector")


def start_method() -> str:
    """Return how worker processes are started: never by fork, which after CUDA or OpenMP has started fails or hangs."""
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def start(make: Callable[..., Vector], make_one: Callable[[], Any], count: int) -> Vector:
    """Return make([make_one] * count), which starts `count` processes; where that fails, none of them stays behind.

    Far more processes than cores would only wait for each other and fill the memory: ValueError. RuntimeError where a
    worker dies at once.
    """
    most = PER_CPU * usable_cpus()
    if count > most:
        raise ValueError(
            f"{count} environments would be {count} processes on {usable_cpus()} cores: take at most {most}"
        )
    before = set(multiprocessing.active_children())
    try:
        return make([make_one] * count)
    except BaseException as error:
        end(set(multiprocessing.active_children()) - before)
        if isinstance(error, EOFError | ConnectionError):
            raise RuntimeError(NOT_STARTED) from error
        raise


def end(workers: Iterable[BaseProcess]) -> None:
    """End these processes, whatever they are doing, and wait until they are gone."""
    for worker in workers:
        if worker.is_alive():
            worker.kill()
        worker.join()


def quiet() -> None:
    """In a worker process, keep each library to one thread: many workers with many threads fight for the cores."""
    if multiprocessing.parent_process() is not None:
        for name, setter in (("torch", "set_num_threads"), ("cv2", "setNumThreads")):
            if name in sys.modules:
                getattr(sys.modules[name], setter)(1)
