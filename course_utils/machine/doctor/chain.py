"""Why CUDA does not work: the links of the chain in order; the first broken one is the cause.

build -> hidden by the environment -> driver and device nodes -> driver's age -> kernels for the card -> first
operation -> this process. Later links are consequences, so they are not reported as further causes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import texts, wheels
from .driver import driver_step
from .facts import Facts
from .findings import Found
from .hidden import environment_step, set_late
from .texts import Version, as_text

# Messages that say that CUDA fails without saying why.
_SYMPTOMS = ("cuda_unknown", "cuda_initialization", "no_device", "busy", "launch_timeout", "no_driver", "not_compiled",
             "driver_too_old", "no_kernel_image", "compatibility", "fabric", "driver_library_mismatch")  # fmt: skip


def rules(facts: Facts) -> Iterator[Found]:
    """Yield the one cause of a CUDA fault, or the state of a working or absent card, then remarks."""
    cause = _engine_step(facts) or set_late(facts)
    if not cause and not works(facts):
        steps: tuple[Callable[[Facts], Found | None], ...] = (
            build_step, environment_step, driver_step, age_step, kernel_step, operation_step
        )  # fmt: skip
        cause = next((found for step in steps if (found := step(facts))), None)
    # A card that is merely absent does not explain a message about this process.
    if cause is None or cause.code in ("cuda.no_gpu", "cuda.amd_card"):
        cause = process_step(facts) or cause
    cause = cause or _undecided(facts)
    if cause:
        yield cause
    if cause and cause.code == "cuda.ok":
        yield from remarks(facts)


def works(facts: Facts) -> bool:
    """Say whether torch finished an operation on the card."""
    return bool(facts.operation_works)


def card_of(facts: Facts) -> Version | None:
    """Return the compute capability of the first card, by torch or by its name."""
    if facts.capabilities:
        return facts.capabilities[0]
    return texts.capability_of_name(facts.smi.cards[0].name) if facts.smi.cards else None


def _wheel(facts: Facts) -> dict[str, str]:
    card = card_of(facts)
    return {
        "wheel": wheels.advice(facts.smi.driver, card),
        "version": facts.torch_version or "unknown",
        "cuda": as_text(facts.torch_cuda),
        "driver": as_text(facts.smi.driver),
        "driver_cuda": as_text(facts.driver_cuda or facts.smi.cuda),
        "card": as_text(card),
        "name": facts.smi.cards[0].name if facts.smi.cards else "this card",
    }


def claims_card(facts: Facts) -> bool | None:
    """Say whether anything shows an NVIDIA card here; None where nobody looked."""
    nodes = [node for node in facts.nodes or () if node.startswith("/dev/nvidia")]
    state = facts.smi.state
    # A container sees its host's PCI bus, which does not mean that the card was given to it.
    on_bus = facts.nvidia_cards if not facts.container else None
    if (
        state not in (None, "missing", "no_devices", "unreadable", "library_missing")
        or nodes
        or on_bus
        or facts.nvml_count
    ):
        return True
    if facts.jetson or (facts.driver_loaded and not facts.container and state != "no_devices"):
        return True
    if state == "unreadable":
        return None
    looked = [
        state is not None,
        facts.nodes is not None,
        facts.nvidia_cards is not None,
        facts.driver_loaded is not None,
    ]
    return False if any(looked) else None


def _engine_step(facts: Facts) -> Found | None:
    for name, code in (
        ("runtime_unrecognised", "container.runtime_unrecognised"), ("cdi_missing", "container.cdi_missing"),
        ("toolkit_missing", "container.toolkit_missing"), ("engine_no_driver", "container.host_driver_missing"),
    ):  # fmt: skip
        signal = facts.signal(name)
        if signal and not (name == "engine_no_driver" and facts.signal("driver_library_mismatch")):
            return Found(code, (str(signal),))
    return None


def build_step(facts: Facts) -> Found | None:
    """Is torch there, and was it built for this kind of card?"""
    signal = facts.signal("not_compiled")
    proof = (f"torch {facts.torch_version or '(version unknown)'}, torch.version.cuda is null",)
    if facts.torch_build:
        proof += (f"build {facts.torch_build}",)
    if signal:
        proof += (str(signal),)
    claimed = claims_card(facts)
    if facts.torch_hip:
        if claimed:
            return Found(
                "cuda.rocm_build",
                (f"torch.hip: {facts.torch_hip}", facts.smi.line or "an NVIDIA card is present"),
                _wheel(facts),
            )
        return _absent(facts)
    cpu_only = facts.torch_has_cuda is False or (signal and facts.torch_has_cuda is None)
    if not cpu_only:
        return None
    if claimed or (signal and claimed is None):
        if facts.jetson:
            return Found("cuda.jetson_wheel", (*proof, f"platform.kernel: {facts.kernel[:80]}"))
        return Found("cuda.cpu_only_build", (*proof, *([facts.smi.line] if facts.smi.line else [])), _wheel(facts))
    if signal:
        return Found("cuda.code_asks_for_gpu", proof)
    return _absent(facts)


def _absent(facts: Facts) -> Found | None:
    """No card and nobody claims one: a remark, with another where an AMD card is present."""
    if facts.signal(*_SYMPTOMS) and facts.error_text and facts.signal(*_SYMPTOMS).field == "error_text":
        return None
    looked = f"torch {facts.torch_version or '(unknown)'}; {facts.smi.line or 'no NVIDIA card seen'}"
    if facts.amd_cards:
        return Found("cuda.amd_card", (f"driver.amd_cards: {facts.amd_cards}", looked))
    return Found("cuda.no_gpu", (looked,))


def age_step(facts: Facts) -> Found | None:
    """Is the driver new enough for the CUDA version inside the wheel?"""
    signal = facts.signal("driver_too_old")
    found = facts.driver_cuda or facts.smi.cuda
    if facts.driver_cuda and facts.smi.cuda and facts.driver_cuda < facts.smi.cuda:
        return None  # torch met another libcuda than the driver's: which one, the evidence does not say
    runs = wheels.driver_runs(facts.smi.driver, found, facts.torch_cuda)
    if runs is False or (signal and runs is None):
        proof = [str(signal)] if signal else []
        if facts.driver_cuda:
            proof.append(f"the driver supports CUDA {as_text(facts.driver_cuda)} (decoded from the message)")
        if facts.smi.driver:
            proof.append(f"driver {facts.smi.driver_text}, torch carries CUDA {as_text(facts.torch_cuda)}")
        needed = wheels.minimum_driver(facts.torch_cuda) if facts.torch_cuda else None
        words = {**_wheel(facts), "needed": f"{as_text(needed)} or later" if needed else "see the notebook's table"}
        if not facts.smi.driver:
            words["wheel"] = "take an older build: --index-url https://download.pytorch.org/whl/cu126, or cpu"
        return Found("cuda.driver_too_old", tuple(proof) or (f"driver CUDA {as_text(found)}",), words)
    return None


def kernel_step(facts: Facts) -> Found | None:
    """Has the wheel kernels for this card?"""
    signal, card = facts.signal("no_kernel_image"), card_of(facts)
    fits = wheels.kernels_for(card, facts.arch_list, facts.torch_cuda) if card else None
    proof = [str(signal)] if signal else []
    if card:
        proof.append(f"card {as_text(card)}; kernels {' '.join(facts.arch_list or ()) or 'not listed'}")
    codes = {"card too old": "cuda.card_too_old", "card too new": "cuda.card_too_new", "no": "cuda.no_kernel_for_card"}
    if fits in codes:
        return Found(codes[fits], tuple(proof), _wheel(facts))
    if signal and "too old" in signal.line:
        return Found("cuda.card_too_old", tuple(proof), _wheel(facts))
    # torch has kernels and still says so: an extension was compiled for other cards, or the card is unknown.
    return Found("cuda.no_kernel_for_card", tuple(proof), _wheel(facts)) if signal and fits != "yes" else None


def operation_step(facts: Facts) -> Found | None:
    """The build, the driver and the kernels fit: what stops the first operation?"""
    for name, code in (
        ("fabric", "cuda.fabric_manager"),
        ("compatibility", "cuda.forward_compatibility"),
        ("ecc", "cuda.ecc_errors"),
    ):
        signal = facts.signal(name)
        if signal:
            return Found(code, (str(signal),))
    modes = " ".join([*facts.compute_modes, *(card.compute_mode or "" for card in facts.smi.cards)])
    failing = facts.operation_works is False or facts.available is False or facts.signal("busy", "prohibited")
    if failing and ("prohibited" in modes.lower() or facts.signal("prohibited")):
        return Found("cuda.compute_mode_prohibited", (f"compute mode: {modes.strip() or 'prohibited'}",))
    if facts.signal("busy") and _exclusive(modes):
        return Found("cuda.compute_mode_exclusive", (str(facts.signal("busy")), f"compute mode: {modes.strip()}"))
    if failing and facts.smi.mig_enabled and not any(card.slices for card in facts.smi.cards):
        return Found("cuda.mig_without_slices", (facts.smi.line, "MIG is enabled, and nvidia-smi -L lists no slice"))
    signal = facts.signal("cudnn")
    if signal:
        return Found("cuda.cudnn_conflict", (str(signal), *shadow_lines(facts)))
    if failing and facts.smi.ecc_errors and not facts.signal("out_of_memory"):
        return Found("cuda.ecc_errors", (f"nvidia_smi.text: {facts.smi.ecc_errors} volatile uncorrected ECC errors",))
    if failing and facts.smi.errors_shown:
        return Found("cuda.card_reports_errors", ("nvidia_smi.text shows ERR!",), severity="error")
    return None


def _exclusive(modes: str) -> bool:
    """Say whether a compute mode lets only one process use the card."""
    return "e. process" in modes.lower() or "exclusive" in modes.lower()


def shadow_lines(facts: Facts) -> tuple[str, ...]:
    """Return the evidence for foreign CUDA libraries on the library path."""
    path = facts.variable("LD_LIBRARY_PATH")
    lines = [f"LD_LIBRARY_PATH={path}"] if path else []
    return (*lines, *(f"libraries.shadowing: {name}" for name in facts.shadowing))


def process_step(facts: Facts) -> Found | None:
    """Faults of one running process, which a fresh process does not have."""
    for names, code in (
        (("device_assert", "illegal_address"), "cuda.context_poisoned"), (("fork",), "cuda.forked_subprocess"),
        (("ordinal",), "cuda.invalid_device_number"),
    ):  # fmt: skip
        signal = facts.signal(*names)
        if signal:
            return Found(
                code,
                (str(signal),),
                {"count": str(facts.device_count if facts.device_count is not None else "unknown")},
            )
    signal = facts.signal("out_of_memory")
    if signal and (facts.wsl and facts.operation_works is False):
        return None  # under WSL this message can also come from a driver conflict: undecided
    if signal:
        full = [
            card for card in facts.smi.cards if card.memory_total and (card.memory_used or 0) > 0.9 * card.memory_total
        ]
        if full and facts.operation_works is False:
            shown = f"nvidia_smi.text: {full[0].memory_used} of {full[0].memory_total} MiB in use"
            return Found("cuda.memory_taken", (str(signal), shown))
        return Found("cuda.out_of_memory", (str(signal),))
    return None


def _undecided(facts: Facts) -> Found | None:
    if works(facts):
        signal = facts.signal(*_SYMPTOMS)
        if signal and signal.field == "error_text":
            return Found("cuda.not_reproduced", (str(signal), "torch.operation: ok"))
        return Found("cuda.ok", (f"torch {facts.torch_version}: the first operation on the card works",))
    slices = [name for card in facts.smi.cards for name in card.slices]
    if slices and facts.device_count == 0 and facts.operation_works is None:
        proof = tuple(f"nvidia_smi_list.text: {name}" for name in slices)
        return Found("cuda.mig_slices", proof, {"slice": slices[0], "count": str(len(slices))}, "warning")
    seen = [str(entry) for name in _SYMPTOMS if (entry := facts.signal(name))]
    if facts.operation_works is False or facts.available is False or seen:
        if claims_card(facts) is False and not seen:
            return _absent(facts)
        state = [f"torch.available: {facts.available}, nvidia-smi: {facts.smi.state or 'not looked at'}"]
        failed = [str(entry) for entry in facts.signals if entry.field in ("torch.operation", "torch.warnings")]
        return Found("cuda.unknown", tuple(dict.fromkeys([*seen, *failed, *state])))
    if facts.available:
        return Found("cuda.ok", (f"torch {facts.torch_version} sees the card; no operation was tried",))
    if facts.smi.state == "unreadable":
        return Found("cuda.unknown", (facts.smi.line,))
    return None


def remarks(facts: Facts) -> Iterator[Found]:
    """What is worth knowing about a card that works."""
    slices = [name for card in facts.smi.cards for name in card.slices]
    if slices:
        proof = tuple(f"nvidia_smi_list.text: {name}" for name in slices)
        severity = "warning" if facts.device_count == 0 else None
        yield Found("cuda.mig_slices", proof, {"slice": slices[0], "count": str(len(slices))}, severity)
    elif facts.device_count == 0:
        yield Found("cuda.unknown", ("torch.device_count: 0 although an operation on the card works",))
    if facts.smi.ecc_errors:
        proof = (f"nvidia_smi.text: {facts.smi.ecc_errors} volatile uncorrected ECC errors",)
        yield Found("cuda.ecc_errors", proof, severity="warning")
    elif facts.smi.errors_shown:
        yield Found("cuda.card_reports_errors", ("nvidia_smi.text shows ERR!",))
