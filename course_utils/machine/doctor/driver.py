"""Are the driver and the device files there, and do they agree with each other?"""

import re

from .facts import Facts
from .findings import Finding, found
from .texts import Signal

_STATES = {
    "timeout": "cuda.driver_hangs",
    "gpu_faulty": "cuda.card_lost",
    "gpu_lost": "cuda.card_lost",
    "fabric": "cuda.fabric_manager",
}
# Rented machines whose card is a setting of the session.
_SWITCHED = ("colab", "kaggle", "autodl")


def driver_step(facts: Facts) -> Finding | None:
    """Return the fault of the driver or of the way to it, None where the driver answers."""
    if facts.jetson:
        return None  # its card is part of the chip: the files and programs below do not exist there
    cause, state, line = _told(facts), facts.smi.state, facts.smi.line
    if cause:
        return cause
    closed, denied = facts.signal("permission"), facts.words("device_nodes.denied") or ()
    denied = [node for node in denied if re.fullmatch(r"/dev/(nvidia(\d+|ctl|-uvm)|dxg)", node)]
    if closed or denied or state == "permission":
        proof = [closed, *(f"device_nodes.denied: {node}" for node in denied)]
        return found(facts, "cuda.permission_denied", *(proof if any(proof) else [line]))
    if state in _STATES:
        return found(facts, _STATES[state], line)
    if state is None:  # nobody ran nvidia-smi: a quoted message stands for it
        unloaded, unseen = facts.signal("driver_not_loaded"), facts.signal("no_devices_found")
    else:
        unloaded, unseen = state == "no_communication" and line, state == "no_devices" and line
    if unloaded and facts.container:
        return found(facts, "container.host_driver_missing", unloaded)
    if unloaded:
        nouveau = _nouveau(facts)
        return found(facts, "cuda.nouveau_loaded" if nouveau else "cuda.driver_not_loaded", unloaded, nouveau)
    if unseen:
        return _no_devices(facts, unseen)
    if state == "ok":
        return _answers(facts)
    return _no_driver(facts) if state in ("missing", "library_missing", None) else None


def _nouveau(facts: Facts) -> str:
    """Return the evidence for the free driver, which cannot run CUDA; empty where it is not loaded."""
    return "driver.modules: nouveau" if "nouveau" in (facts.words("driver.modules") or ()) else ""


def _told(facts: Facts) -> Finding | None:
    """Messages that name the cause, wherever they stand, and the ways in which only WSL fails."""
    state, line = facts.smi.state, facts.smi.line
    lost, mismatch = facts.signal("gpu_lost"), facts.signal("driver_library_mismatch")
    unknown, refused = facts.signal("nvml_unknown"), facts.signal("secure_boot")
    if lost:
        return found(facts, "cuda.card_lost", lost)
    if mismatch or state == "mismatch":
        return found(facts, "cuda.driver_library_mismatch", line if state == "mismatch" else mismatch)
    if unknown:
        return found(facts, "cuda.container_lost_card" if facts.container else "cuda.unknown", unknown)
    if refused and not facts.container and state != "ok":
        return found(facts, "cuda.secure_boot", line, refused)
    return _wsl(facts) if facts.wsl else None


def _no_devices(facts: Facts, line: Signal | str) -> Finding:
    """The driver works and has no card."""
    if facts.platform in _SWITCHED:
        code = "cuda.accelerator_off"
    elif facts.container:
        code = "cuda.container_card_blocked" if facts.card_nodes else "cuda.container_without_gpu"
    else:
        code = "cuda.no_devices_found"
    return found(facts, code, line, facts.nodes and f"device_nodes.present: {', '.join(facts.nodes)}")


def _wsl(facts: Facts) -> Finding | None:
    """Under WSL the driver belongs to Windows, which lends its libraries under /usr/lib/wsl/lib."""
    path, library = facts.smi.path or "", facts.libraries.get("cuda") or ""
    installed = facts.text("platform.driver_packages").splitlines()
    packages = [line.strip() for line in installed if "nvidia" in line.lower()]
    if packages or (library.startswith("/") and "/wsl/" not in library):
        return found(facts, "cuda.wsl_linux_driver", *packages[:3], library and f"libraries.cuda: {library}")
    if path.endswith(".exe") or path.startswith("/mnt/"):
        return found(facts, "cuda.wsl_windows_program", f"nvidia_smi.path: {path}")
    if path and "/wsl/" not in path and facts.smi.state != "missing":
        return found(facts, "cuda.wsl_linux_driver", f"nvidia_smi.path: {path} is not the one of Windows")
    if facts.nodes is not None and "/dev/dxg" not in facts.nodes and (path or library or facts.signal("no_driver")):
        return found(facts, "cuda.wsl_no_device", "device_nodes.present: no /dev/dxg")
    return None


def _incomplete(facts: Facts) -> Finding | None:
    """The card's own device file is there, but one that every program needs is not."""
    nodes = facts.nodes or ()
    missing = [name for name in ("/dev/nvidiactl", "/dev/nvidia-uvm") if name not in nodes]
    shown = (f"device_nodes.present: {', '.join(nodes)}", f"not there: {', '.join(missing)}")
    return found(facts, "cuda.device_nodes_incomplete", *shown) if missing else None


def _answers(facts: Facts) -> Finding | None:
    """nvidia-smi works; torch needs more than it does: nvidia-uvm and libcuda."""
    has_files = not facts.wsl and any(node.startswith("/dev/nvidia") for node in facts.nodes or ())
    incomplete = _incomplete(facts) if has_files else None
    wanted = facts.variable("NVIDIA_DRIVER_CAPABILITIES")
    utility_only = wanted and "compute" not in wanted and "all" not in wanted
    if not incomplete and facts.container and (utility_only or facts.libraries.get("cuda", "?") is None):
        shown = f"NVIDIA_DRIVER_CAPABILITIES={wanted or None!r}"
        return found(facts, "container.compute_not_requested", shown, facts.smi.line, facts.signal("no_driver"))
    return incomplete


def _no_driver(facts: Facts) -> Finding | None:
    """nvidia-smi is missing or was not tried."""
    complaint, tried = facts.signal("no_driver", "no_device"), facts.smi.state is not None
    looked = tried or facts.nodes is not None
    proof = [line for line in (facts.smi.line, complaint) if line]
    proof += ["device_nodes.present: none"] if facts.nodes == () else []
    if facts.card_nodes:
        incomplete, no_library = _incomplete(facts), facts.libraries.get("cuda", "?") is None
        if incomplete or not tried:
            return incomplete
        if facts.container:
            shown = f"device_nodes.present: {', '.join(facts.card_nodes)}"
            return found(facts, "cuda.container_without_gpu", *proof, shown)
        return found(facts, "cuda.driver_library_missing", *proof) if no_library else None
    if looked or (complaint and (complaint.name == "no_driver" or not facts.wsl)) or facts.nvidia_cards:
        return _card_not_reached(facts, proof, complaint)
    return None


def _card_not_reached(facts: Facts, proof: list[Signal | str], complaint: Signal | None) -> Finding | None:
    """Nothing leads to a card: is one there, and did somebody ask for it?"""
    asked = complaint is not None and complaint.field in ("error_text", "container.engine_error", "torch.import_error")
    wanted, no_card = facts.torch_has_cuda or asked, found(facts, "cuda.no_gpu", *(proof or ["no card"]))
    if facts.platform in _SWITCHED:
        # The rented machine without a card is a choice until somebody's program asks for one.
        return found(facts, "cuda.accelerator_off", *proof) if wanted else no_card
    if facts.container and facts.platform not in ("binder", "ci"):
        wanted = wanted or facts.variable("NVIDIA_VISIBLE_DEVICES") or facts.nvidia_cards
        return found(facts, "cuda.container_without_gpu", *proof) if wanted else no_card
    if facts.platform not in ("binder", "ci"):
        amd, nouveau = facts.value("driver.amd_cards"), _nouveau(facts)
        if amd and not facts.nvidia_cards:
            return found(facts, "cuda.amd_card", f"driver.amd_cards: {amd}", *proof)
        if facts.smi.state == "library_missing" and facts.driver_loaded:
            return found(facts, "cuda.driver_library_missing", *proof)
        if nouveau:
            return found(facts, "cuda.nouveau_loaded", *proof, nouveau)
        if facts.nvidia_cards:
            return found(facts, "cuda.driver_missing", *proof, f"driver.nvidia_cards: {facts.nvidia_cards}")
        if facts.wsl and asked:
            return found(facts, "cuda.wsl_no_device", *proof) if facts.nodes == () else None
        if facts.nvidia_cards is None and asked:
            return found(facts, "cuda.driver_missing", *proof)
    return found(facts, "cuda.code_asks_for_gpu", *proof) if asked else no_card
