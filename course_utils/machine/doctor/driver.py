"""Are the driver and the device files there, and do they agree with each other?"""

from __future__ import annotations

import re

from .facts import Facts
from .findings import Found
from .texts import Signal


def driver_step(facts: Facts) -> Found | None:
    """Return the fault of the driver or of the way to it, None where the driver answers."""
    if facts.jetson:
        return None  # its card is part of the chip: the files and programs below do not exist there
    found = _told(facts) or (_wsl(facts) if facts.wsl else None) or _closed(facts)
    if found:
        return found
    state, line = facts.smi.state, facts.smi.line
    if state == "timeout":
        return Found("cuda.driver_hangs", (line,))
    if state in ("gpu_faulty", "gpu_lost"):
        return Found("cuda.card_lost", (line,))
    if state == "fabric":
        return Found("cuda.fabric_manager", (line,))
    unloaded = facts.signal("driver_not_loaded") if state is None else None
    if state == "no_communication" or unloaded:
        return _not_loaded(facts, line or str(unloaded))
    unseen = facts.signal("no_devices_found") if state is None else None
    if state == "no_devices" or unseen:
        return _no_devices(facts, line or str(unseen))
    if state == "ok":
        return _answers(facts)
    return _no_driver(facts) if state in ("missing", "library_missing", None) else None


def _told(facts: Facts) -> Found | None:
    """Messages that name the cause, wherever they stand."""
    lost, mismatch = facts.signal("gpu_lost"), facts.signal("driver_library_mismatch")
    if lost:
        return Found("cuda.card_lost", (str(lost),))
    if mismatch or facts.smi.state == "mismatch":
        return Found(
            "cuda.driver_library_mismatch", (facts.smi.line if facts.smi.state == "mismatch" else str(mismatch),)
        )
    unknown = facts.signal("nvml_unknown")
    if unknown:
        return Found("cuda.container_lost_card" if facts.container else "cuda.unknown", (str(unknown),))
    refused = facts.signal("secure_boot")
    if refused and not facts.container and facts.smi.state != "ok":
        return Found("cuda.secure_boot", tuple(line for line in (facts.smi.line, str(refused)) if line))
    return None


def _closed(facts: Facts) -> Found | None:
    """Device files that this user may not open."""
    denied = facts.signal("permission")
    closed = [node for node in facts.denied_nodes if re.fullmatch(r"/dev/(nvidia(\d+|ctl|-uvm)|dxg)", node)]
    if not (denied or closed or facts.smi.state == "permission"):
        return None
    lines = [*([str(denied)] if denied else []), *(f"device_nodes.denied: {node}" for node in closed)]
    return Found("cuda.permission_denied", tuple(lines) or (facts.smi.line,))


def _nouveau(facts: Facts) -> bool:
    return bool(facts.modules and "nouveau" in facts.modules)


def _not_loaded(facts: Facts, line: str) -> Found:
    if facts.container:
        return Found("container.host_driver_missing", (line,))
    if _nouveau(facts):
        return Found("cuda.nouveau_loaded", (line, "driver.modules: nouveau"))
    return Found("cuda.driver_not_loaded", (line,))


def _no_devices(facts: Facts, line: str) -> Found:
    proof = [line, *([f"device_nodes.present: {', '.join(facts.nodes)}"] if facts.nodes else [])]
    if facts.platform in ("colab", "kaggle", "autodl"):
        return Found("cuda.accelerator_off", tuple(proof))
    if facts.container and facts.card_nodes:
        return Found("cuda.container_card_blocked", tuple(proof))
    if facts.container:
        return Found("cuda.container_without_gpu", tuple(proof))
    return Found("cuda.no_devices_found", tuple(proof))


def _wsl(facts: Facts) -> Found | None:
    """Under WSL the driver belongs to Windows, which lends its libraries under /usr/lib/wsl/lib."""
    path = facts.smi.path or ""
    packages = [line.strip() for line in (facts.driver_packages or "").splitlines() if "nvidia" in line.lower()]
    library = facts.libraries.get("cuda") or ""
    if packages or (library.startswith("/") and "/wsl/" not in library):
        return Found("cuda.wsl_linux_driver", (*packages[:3], *([f"libraries.cuda: {library}"] if library else [])))
    if path.endswith(".exe") or path.startswith("/mnt/"):
        return Found("cuda.wsl_windows_program", (f"nvidia_smi.path: {path}",))
    if path and "/wsl/" not in path and facts.smi.state != "missing":
        return Found("cuda.wsl_linux_driver", (f"nvidia_smi.path: {path} is not the one of Windows",))
    if facts.nodes is not None and "/dev/dxg" not in facts.nodes and (path or library or facts.signal("no_driver")):
        return Found("cuda.wsl_no_device", ("device_nodes.present: no /dev/dxg",))
    return None


def _answers(facts: Facts) -> Found | None:
    """nvidia-smi works; torch needs more than it does: nvidia-uvm and libcuda."""
    nodes = facts.nodes
    if nodes and not facts.wsl and any(node.startswith("/dev/nvidia") for node in nodes):
        missing = [name for name in ("/dev/nvidiactl", "/dev/nvidia-uvm") if name not in nodes]
        if missing:
            return _incomplete(facts, missing)
    unseen = facts.signal("no_driver")
    compute = facts.environment.get("NVIDIA_DRIVER_CAPABILITIES")
    utility_only = bool(compute) and not any(word in (compute or "") for word in ("compute", "all"))
    if facts.container and (utility_only or (facts.libraries.get("cuda", "?") is None)):
        lines = [f"NVIDIA_DRIVER_CAPABILITIES={compute!r}", facts.smi.line, *([str(unseen)] if unseen else [])]
        return Found("container.compute_not_requested", tuple(lines))
    return None


def _incomplete(facts: Facts, missing: list[str]) -> Found:
    proof = (f"device_nodes.present: {', '.join(facts.nodes or ())}", f"not there: {', '.join(missing)}")
    return Found("cuda.device_nodes_incomplete", proof)


def _no_driver(facts: Facts) -> Found | None:
    """nvidia-smi is missing or was not tried."""
    cards = facts.card_nodes
    complaint = facts.signal("no_driver", "no_device")
    looked = facts.smi.state is not None or facts.nodes is not None
    if facts.wsl and not complaint and not looked:
        return None
    proof = [str(line) for line in (facts.smi.line, complaint) if line]
    if facts.nodes == ():
        proof.append("device_nodes.present: none")
    if cards:
        missing = [name for name in ("/dev/nvidiactl", "/dev/nvidia-uvm") if name not in (facts.nodes or ())]
        if missing:
            return _incomplete(facts, missing)
        if facts.container and facts.smi.state is not None:
            return Found("cuda.container_without_gpu", (*proof, f"device_nodes.present: {', '.join(cards)}"))
        if facts.smi.state is not None and facts.libraries.get("cuda", "?") is None:
            return Found("cuda.driver_library_missing", tuple(proof))
        return None
    if not looked and not (complaint and complaint.name == "no_driver") and not facts.nvidia_cards:
        return None
    return _card_not_reached(facts, tuple(proof), complaint)


def _card_not_reached(facts: Facts, proof: tuple[str, ...], complaint: Signal | None) -> Found | None:
    asked = complaint is not None and complaint.field in ("error_text", "container.engine_error", "torch.import_error")
    cuda_build = bool(facts.torch_has_cuda) or asked
    if facts.platform in ("colab", "kaggle", "autodl"):
        # The rented machine without a card is a choice until somebody's program asks for one.
        return Found("cuda.accelerator_off", proof) if cuda_build else Found("cuda.no_gpu", proof or ("no card",))
    if facts.platform in ("binder", "ci"):
        return Found("cuda.code_asks_for_gpu" if asked else "cuda.no_gpu", proof or ("no card",))
    if facts.container:
        wanted = facts.variable("NVIDIA_VISIBLE_DEVICES") or facts.nvidia_cards or cuda_build
        return Found("cuda.container_without_gpu", proof) if wanted else Found("cuda.no_gpu", proof or ("no card",))
    if facts.amd_cards and not facts.nvidia_cards:
        return Found("cuda.amd_card", (f"driver.amd_cards: {facts.amd_cards}", *proof))
    if facts.smi.state == "library_missing" and facts.driver_loaded:
        return Found("cuda.driver_library_missing", proof)
    if facts.nvidia_cards or _nouveau(facts):
        shown = f"driver.nvidia_cards: {facts.nvidia_cards}" if facts.nvidia_cards else "driver.modules: nouveau"
        if _nouveau(facts):
            return Found("cuda.nouveau_loaded", (*proof, "driver.modules: nouveau"))
        return Found("cuda.driver_missing", (*proof, shown))
    if facts.wsl and asked:
        return Found("cuda.wsl_no_device", proof) if facts.nodes == () else None
    if facts.nvidia_cards is None and asked:
        return Found("cuda.driver_missing", proof)
    return Found("cuda.code_asks_for_gpu" if asked else "cuda.no_gpu", proof or ("no card",))
