"""Out-of-memory messages as they stand in public reports, each with the verdict that its numbers call for."""

import gc
import weakref

import numpy as np
import pytest
import torch

from course_utils.memory import oom
from course_utils.memory.oom import accumulate_gradients, growing, read, release, smaller_until_it_fits

GIB, MIB = 2**30, 2**20
TORCH_2 = (
    "CUDA out of memory. Tried to allocate {request}. GPU 0 has a total capacity of 23.69 GiB of which {free} is free. "
    "{others}Including non-PyTorch memory, this process has {process} memory in use. {limit}Of the allocated memory "
    "{allocated} is allocated by PyTorch, and {unallocated} is reserved by PyTorch but unallocated. If reserved but "
    "unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)


def torch_2(request, free, process, allocated, unallocated, others="", limit=""):
    return TORCH_2.format_map(locals())


MESSAGES = {
    "one step too large": (
        torch_2("2.00 GiB", "1.06 GiB", "22.62 GiB", "22.03 GiB", "213.21 MiB"),
        "too_large",
        "halve the minibatch",
    ),
    "more than the card has": (
        torch_2("56.32 GiB", "23.01 GiB", "680.00 MiB", "120.00 MiB", "20.00 MiB"),
        "too_large",
        "at least 4 pieces",
    ),
    "in pieces": (
        torch_2("1.50 GiB", "310.00 MiB", "23.37 GiB", "17.21 GiB", "5.75 GiB"),
        "fragmentation",
        "expandable_segments:True",
    ),
    "somebody else, unnamed": (
        torch_2("512.00 MiB", "102.44 MiB", "3.01 GiB", "2.61 GiB", "120.10 MiB"),
        "other_process",
        "Others hold 20.58 GiB",
    ),
    "somebody else, named": (
        torch_2(
            "512.00 MiB",
            "102.44 MiB",
            "3.01 GiB",
            "2.61 GiB",
            "120.10 MiB",
            others="Process 4711 has 20.50 GiB memory in use. ",
        ),
        "other_process",
        "Others hold 20.50 GiB",
    ),
    "a limit of one's own": (
        torch_2("1.00 GiB", "19.40 GiB", "4.29 GiB", "3.70 GiB", "90.00 MiB", limit="4.74 GiB allowed; "),
        "own_limit",
        "set_per_process_memory_fraction",
    ),
    "torch 2.1, with its misprint": (
        torch_2("2.00 GiB", "1.06 GiB", "22.62 GiB", "22.03 GiB", "213.21 MiB").replace("capacity", "capacty"),
        "too_large",
        "halve the minibatch",
    ),
    "torch 1.x": (
        "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.79 GiB total capacity; 6.89 GiB "
        "already allocated; 15.06 MiB free; 6.90 GiB reserved in total by PyTorch) If reserved memory is >> allocated "
        "memory try setting max_split_size_mb to avoid fragmentation.",
        "too_large",  # 0.87 GiB belong to nobody in the message: the context that it does not count
        "halve the minibatch",
    ),
    "torch 1.x in pieces": (
        "CUDA out of memory. Tried to allocate 734.00 MiB (GPU 0; 10.76 GiB total capacity; 6.84 GiB already "
        "allocated; 403.44 MiB free; 9.31 GiB reserved in total by PyTorch)",
        "fragmentation",
        "2.47 GiB are reserved but unused",
    ),
    "torch 1.0": (
        "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 11.00 GiB total capacity; 8.53 GiB already allocated; "
        "1.16 GiB free; 30.32 MiB cached)",
        "too_large",
        "halve the minibatch",
    ),
    "cuBLAS": (
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "library",
        "not the one to blame",
    ),
    "cuDNN": ("RuntimeError: cuDNN error: CUDNN_STATUS_ALLOC_FAILED", "library", "smaller minibatch"),
    "NVML inside the allocator": (
        "RuntimeError: NVML_SUCCESS == DriverAPI::get()->nvmlInit_v2_() INTERNAL ASSERT FAILED at "
        "CUDACachingAllocator.cpp",
        "library",
        "leave 1 GiB free",
    ),
    "CPU tensor": (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        "tried to allocate 112896000000 bytes. Error code 12 (Cannot allocate memory)",
        "host_limit",
        "105.14 GiB were asked for",
    ),
    "NumPy": (
        "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 105. GiB for an array with shape "
        "(1000000, 4, 84, 84) and data type float32",
        "host_limit",
        "105.00 GiB were asked for",
    ),
    "the kernel's log": (
        "Out of memory: Killed process 3172 (python) total-vm:31214000kB, anon-rss:24711000kB",
        "host_limit",
        "larger card would not help",
    ),
    "a worker's bus error": (
        "RuntimeError: DataLoader worker (pid 1234) is killed by signal: Bus error. It is possible that dataloader's "
        "workers are out of shared memory. Please try to raise your shared memory limit.",
        "shared_memory",
        "--shm-size",
    ),
    "no file in /dev/shm": (
        "RuntimeError: unable to write to file </torch_3441_2870331>",
        "shared_memory",
        "num_workers=0",
    ),
    "no numbers": ("RuntimeError: CUDA error: out of memory", "unknown", "nvidia-smi"),
    "another error": (
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied",
        "unknown",
        "no message of an allocator",
    ),
}


@pytest.mark.parametrize(("message", "kind", "advice"), MESSAGES.values(), ids=MESSAGES)
def test_each_message_gets_its_verdict(message, kind, advice):
    verdict = read(message)
    assert verdict.kind == kind
    assert advice in verdict.advice
    assert "empty_cache" not in str(verdict)
    assert "\n" not in str(verdict)


def test_every_kind_has_a_case_of_its_own():
    assert {kind for _, kind, _ in MESSAGES.values()} | {"leak", "leftover"} == set(oom.KINDS)


def test_the_numbers_of_a_message_are_bytes():
    numbers = read(MESSAGES["somebody else, named"][0]).numbers
    assert numbers["request"] == 512 * MIB
    assert numbers["total"] == int(23.69 * GIB)
    assert numbers["others"] == int(20.5 * GIB)


def test_an_earlier_run_of_one_s_own_is_a_leftover():
    verdict = read(MESSAGES["somebody else, named"][0], own_processes=[4711])
    assert verdict.kind == "leftover"
    assert "kill 4711" in verdict.advice


def test_growth_tells_a_leak_from_a_step_that_is_too_large():
    message = MESSAGES["one step too large"][0]
    leak = read(message, history=[GIB + step * 100 * MIB for step in range(20)])
    assert leak.kind == "leak"
    assert "1.86 GiB came on in 19 steps" in leak.advice
    assert read(message, history=[GIB, 22 * GIB, 22 * GIB, 22 * GIB, 22 * GIB, 22 * GIB]).kind == "too_large"


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], False),
        ([0, 5, 9, 14, 20], True),
        ([0, 10, 10, 10, 10, 10], False),  # the first step allocates optimiser states and buffers
        ([0, 6, 3, 6, 3, 6, 3, 6], False),
        ([5, 5, 5, 5, 5], False),
        ([20, 15, 9, 4], False),
    ],
)
def test_growing(history, expected):
    assert growing([step * MIB for step in history]) == expected


def test_a_real_failure_on_the_cpu_is_recognised():
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**55, dtype=torch.uint8)
    assert oom.is_out_of_memory(caught.value)
    verdict = read(caught.value)
    assert (verdict.kind, verdict.numbers["request"]) == ("host_limit", 2**55)
    with pytest.raises(MemoryError) as caught:
        np.empty(2**55, dtype=np.uint8)
    assert read(caught.value).numbers["request"] == 2**55
    assert not oom.is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_release_frees_what_a_failed_call_holds(monkeypatch):
    kept = []

    def step() -> None:
        large = torch.zeros(1_000)
        kept.append(weakref.ref(large))
        raise RuntimeError("CUDA out of memory")

    try:
        step()
    except RuntimeError as error:
        monkeypatch.setattr("sys.last_value", error, raising=False)  # as IPython does
        monkeypatch.setattr("sys.last_traceback", error.__traceback__, raising=False)
    gc.collect()
    assert kept[0]() is not None
    release()
    assert kept[0]() is None


def test_the_size_is_halved_until_it_fits_and_nothing_of_a_failure_is_held():
    sizes, alive, held = [], [], []

    def step(size: int) -> str:
        held.append(sum(reference() is not None for reference in alive))
        large = torch.zeros(1_000)
        alive.append(weakref.ref(large))
        sizes.append(size)
        if size > 100:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return "done"

    assert smaller_until_it_fits(step, 512) == ("done", 64)
    assert sizes == [512, 256, 128, 64]
    assert held == [0, 0, 0, 0]
    with pytest.raises(torch.OutOfMemoryError):
        smaller_until_it_fits(step, 512, least=200)


def test_other_errors_are_not_retried():
    calls = []

    def step(size: int) -> None:
        calls.append(size)
        raise RuntimeError("shapes")

    with pytest.raises(RuntimeError, match="shapes"):
        smaller_until_it_fits(step, 8)
    assert calls == [8]


@pytest.mark.parametrize("size", [1, 3, 4, 10, 99])
def test_accumulated_gradients_are_those_of_the_whole_batch(size):
    torch.manual_seed(0)
    layer = torch.nn.Linear(5, 1)
    inputs, targets = torch.randn(10, 5), torch.randn(10)

    def loss(some, wanted):
        return (layer(some).squeeze(-1) - wanted).square().mean()

    whole = loss(inputs, targets)
    whole.backward()
    expected = layer.weight.grad.clone()
    layer.zero_grad()
    assert accumulate_gradients(loss, (inputs, targets), size) == pytest.approx(whole.item(), rel=1e-5)
    torch.testing.assert_close(layer.weight.grad, expected)


def test_accumulation_refuses_what_it_cannot_split():
    for tensors, size in (((torch.zeros(3), torch.zeros(4)), 2), ((torch.zeros(0),), 2), ((torch.zeros(3),), 0)):
        with pytest.raises(ValueError, match="tensors of one length"):
            accumulate_gradients(torch.mean, tensors, size)
