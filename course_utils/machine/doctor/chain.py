"""Why CUDA does not work: the links of the chain in order; the first broken one is the cause.

build -> hidden by the environment -> driver and device nodes -> driver's age -> kernels for the card -> first
operation -> this process. Later links are consequences, so they are not reported as further causes.
"""

from collections.abc import Iterator

from . import wheels
from .driver import driver_step
from .facts import Facts, card_of
from .findings import Finding, found
from .hidden import environment_step, set_late
from .texts import as_text

# Messages that say that CUDA fails; most do not say why.
_SYMPTOMS = (
    *("cuda_unknown", "cuda_initialization", "no_device", "busy", "launch_timeout", "no_driver", "not_compiled"),
    *("driver_too_old", "no_kernel_image", "compatibility", "fabric", "driver_library_mismatch"),
)
_STATES_WITHOUT_CARD = (None, "missing", "no_devices", "unreadable", "library_missing")


def rules(facts: Facts) -> Iterator[Finding]:
    """Yield the one cause of a CUDA fault, or the state of a working or absent card, then remarks."""
    engine = facts.told("engine")  # what docker or podman said
    if engine and (engine[0].name != "engine_no_driver" or not facts.signal("driver_library_mismatch")):
        cause = found(facts, engine[0].code, engine[0])
    else:
        cause = set_late(facts)
    if not cause and not facts.operation_works:
        steps = (build_step, environment_step, driver_step, age_step, kernel_step, operation_step)
        cause = next((result for step in steps if (result := step(facts))), None)
    # A card that is merely absent does not explain a message about this process.
    if cause is None or cause.code in ("cuda.no_gpu", "cuda.amd_card"):
        cause = process_step(facts) or cause
    cause = cause or _undecided(facts)
    if cause:
        yield cause
    if not cause or cause.code != "cuda.ok":
        return
    # What is worth knowing about a card that works.
    if facts.slices:
        yield _slices(facts)
    elif facts.value("torch.device_count") == 0:
        although = "an operation on the card works" if facts.operation_works else "torch.available is true"
        yield found(facts, "cuda.unknown", f"torch.device_count: 0 although {although}")
    if facts.smi.ecc_errors:
        yield found(facts, "cuda.ecc_errors", _ecc_line(facts), severity="warning")
    elif facts.smi.errors_shown:
        yield found(facts, "cuda.card_reports_errors", "nvidia_smi.text shows ERR!")


def claims_card(facts: Facts) -> bool | None:
    """Say whether anything shows an NVIDIA card here; None where nobody looked."""
    state = facts.smi.state
    if facts.text("platform.system") == "Darwin":
        return False  # no NVIDIA driver exists for today's macOS
    if (
        state not in _STATES_WITHOUT_CARD
        or any(node.startswith("/dev/nvidia") for node in facts.nodes or ())
        # A container sees its host's PCI bus, which does not mean that the card was given to it.
        or (facts.nvidia_cards and not facts.container)
        or (facts.driver_loaded and not facts.container and state != "no_devices")
        or facts.value("nvml.device_count")
        or facts.jetson
    ):
        return True
    looked = [value is not None for value in (state, facts.nodes, facts.nvidia_cards, facts.driver_loaded)]
    return False if any(looked) and state != "unreadable" else None


def build_step(facts: Facts) -> Finding | None:
    """Is torch there, and was it built for this kind of card?"""
    signal, claimed = facts.signal("not_compiled"), claims_card(facts)
    if facts.torch_hip:
        shown = f"torch.hip: {facts.torch_hip}"
        if claimed:
            return found(facts, "cuda.rocm_build", shown, facts.smi.line or "an NVIDIA card is present")
        return _absent(facts)
    if facts.torch_has_cuda or (facts.torch_has_cuda is None and not signal):
        return None
    build = facts.torch_build and f"build {facts.torch_build}"
    proof = (f"torch {facts.torch_version or '(version unknown)'}, torch.version.cuda is null", build, signal)
    if claimed or (signal and claimed is None):
        if facts.jetson:
            return found(facts, "cuda.jetson_wheel", *proof, f"platform.kernel: {facts.text('platform.kernel')[:80]}")
        return found(facts, "cuda.cpu_only_build", *proof, facts.smi.line)
    return found(facts, "cuda.code_asks_for_gpu", *proof) if signal else _absent(facts)


def _absent(facts: Facts) -> Finding | None:
    """No card and nobody claims one: a remark, with another where an AMD card is present."""
    symptom = facts.signal(*_SYMPTOMS)
    if symptom and symptom.field == "error_text":
        return None
    looked = f"torch {facts.torch_version or '(unknown)'}; {facts.smi.line or 'no NVIDIA card seen'}"
    amd = facts.value("driver.amd_cards")
    return found(facts, "cuda.amd_card" if amd else "cuda.no_gpu", amd and f"driver.amd_cards: {amd}", looked)


def age_step(facts: Facts) -> Finding | None:
    """Is the driver new enough for the CUDA version inside the wheel?"""
    signal, number = facts.signal("driver_too_old"), facts.driver_cuda or facts.smi.cuda
    if facts.driver_cuda and facts.smi.cuda and facts.driver_cuda < facts.smi.cuda:
        return None  # torch met another libcuda than the driver's: which one, the evidence does not say
    runs = wheels.driver_runs(facts.smi.driver, number, facts.torch_cuda)
    if runs or (runs is None and not signal):
        return None
    decoded = f"the driver supports CUDA {as_text(facts.driver_cuda)} (decoded from the message)"
    driver = facts.smi.driver_text or f"for CUDA {as_text(number)}"
    carried = number and facts.torch_cuda and f"driver {driver}, torch carries CUDA {as_text(facts.torch_cuda)}"
    proof = (signal, facts.driver_cuda and decoded, carried)
    needed = wheels.minimum_driver(facts.torch_cuda) if facts.torch_cuda else None
    words = {"needed": f"{as_text(needed)} or later" if needed else "see the notebook's table"}
    if not facts.smi.driver:
        words["wheel"] = "take an older build: --index-url https://download.pytorch.org/whl/cu126, or cpu"
    return found(facts, "cuda.driver_too_old", *proof, **words)


def kernel_step(facts: Facts) -> Finding | None:
    """Has the wheel kernels for this card?"""
    signal, card = facts.signal("no_kernel_image"), card_of(facts)
    fits = wheels.kernels_for(card, facts.arch_list, facts.torch_cuda) if card else None
    shown = card and f"card {as_text(card)}; kernels {' '.join(facts.arch_list) or 'not listed'}"
    codes = {"card too old": "cuda.card_too_old", "card too new": "cuda.card_too_new", "no": "cuda.no_kernel_for_card"}
    if fits in codes:
        return found(facts, codes[fits], signal, shown)
    if signal and "too old" in signal.line:
        return found(facts, "cuda.card_too_old", signal, shown)
    # torch has kernels and still says so: an extension was compiled for other cards, or the card is unknown.
    return found(facts, "cuda.no_kernel_for_card", signal, shown) if signal and fits != "yes" else None


def operation_step(facts: Facts) -> Finding | None:
    """The build, the driver and the kernels fit: what stops the first operation?"""
    for signal in facts.told("operation"):
        return found(facts, signal.code, signal)
    busy, cudnn, prohibited = facts.signal("busy"), facts.signal("cudnn"), facts.signal("prohibited")
    known = [*(facts.words("nvml.compute_modes") or ()), *(card.compute_mode for card in facts.smi.cards)]
    modes = " ".join(known).strip()
    failing = facts.operation_works is False or facts.available is False or busy or prohibited
    if failing and ("prohibited" in modes.lower() or prohibited):
        return found(facts, "cuda.compute_mode_prohibited", f"compute mode: {modes or 'prohibited'}")
    if busy and ("e. process" in modes.lower() or "exclusive" in modes.lower()):
        return found(facts, "cuda.compute_mode_exclusive", busy, f"compute mode: {modes}")
    if failing and facts.smi.mig_enabled and not facts.slices:
        return found(facts, "cuda.mig_without_slices", facts.smi.line, "MIG is enabled, nvidia-smi -L lists no slice")
    if cudnn and not facts.signal("out_of_memory"):
        return found(facts, "cuda.cudnn_conflict", cudnn, *shadow_lines(facts))
    if failing and facts.smi.ecc_errors and not facts.signal("out_of_memory"):
        return found(facts, "cuda.ecc_errors", _ecc_line(facts))
    if failing and facts.smi.errors_shown:
        return found(facts, "cuda.card_reports_errors", "nvidia_smi.text shows ERR!", severity="error")
    return None


def _ecc_line(facts: Facts) -> str:
    return f"nvidia_smi.text: {facts.smi.ecc_errors} volatile uncorrected ECC errors"


def shadow_lines(facts: Facts) -> list[str]:
    """Return the evidence for foreign CUDA libraries on the library path."""
    path = facts.variable("LD_LIBRARY_PATH")
    return [*([f"LD_LIBRARY_PATH={path}"] if path else []), *(f"libraries.shadowing: {n}" for n in facts.shadowing)]


def process_step(facts: Facts) -> Finding | None:
    """Faults of one running process, which a fresh process does not have."""
    for signal in facts.told("process"):
        count = facts.value("torch.device_count")
        return found(facts, signal.code, signal, count="unknown" if count is None else count)
    signal = facts.signal("out_of_memory")
    # Under WSL this message can also come from a driver conflict: undecided.
    if not signal or (facts.wsl and facts.operation_works is False):
        return None
    if facts.operation_works is False:
        for card in facts.smi.cards:
            if card.memory_total and (card.memory_used or 0) > 0.9 * card.memory_total:
                shown = f"nvidia_smi.text: {card.memory_used} of {card.memory_total} MiB in use"
                return found(facts, "cuda.memory_taken", signal, shown)
    return found(facts, "cuda.out_of_memory", signal)


def _undecided(facts: Facts) -> Finding | None:
    """What can be said where no link is seen to be broken."""
    seen = [entry for name in _SYMPTOMS if (entry := facts.signal(name))]
    if facts.operation_works:
        if seen and seen[0].field == "error_text":
            return found(facts, "cuda.not_reproduced", seen[0], "torch.operation: ok")
        return found(facts, "cuda.ok", f"torch {facts.torch_version}: the first operation on the card works")
    if facts.slices and facts.value("torch.device_count") == 0 and facts.operation_works is None:
        return _slices(facts)
    if facts.operation_works is False or facts.available is False or seen:
        if claims_card(facts) is False and not seen:
            return _absent(facts)
        failed = [entry for entry in facts.signals if entry.field in ("torch.operation", "torch.warnings")]
        state = f"torch.available: {facts.available}, nvidia-smi: {facts.smi.state or 'not looked at'}"
        return found(facts, "cuda.unknown", *dict.fromkeys([*seen, *failed]), state)
    if facts.available:
        return found(facts, "cuda.ok", f"torch {facts.torch_version} sees the card; no operation was tried")
    return found(facts, "cuda.unknown", facts.smi.line) if facts.smi.state == "unreadable" else None


def _slices(facts: Facts) -> Finding:
    proof = (f"nvidia_smi_list.text: {name}" for name in facts.slices)
    severity = "warning" if facts.value("torch.device_count") == 0 else ""
    return found(facts, "cuda.mig_slices", *proof, severity=severity, slice=facts.slices[0], count=len(facts.slices))
