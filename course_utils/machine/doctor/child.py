"""Probes that run in a process of their own: a broken torch or a hung driver takes only that process down.

The doctor starts this file's text with `python -c`. Each result goes out at once as one line, so whatever was
learned before a crash or a hang is kept. Only the standard library is imported at the top.
"""

import importlib
import importlib.util
import json
import sys
import warnings
from pathlib import Path

MARK = "DOCTOR-PROBE "


def tell(**fields):
    """Print fields for the parent."""
    sys.stdout.write("\n" + MARK + json.dumps(fields) + "\n")
    sys.stdout.flush()


def attempt(name, action):
    """Report the value of `action`, or the error's type and text as `name` with "_error"."""
    try:
        tell(**{name: action()})
    except BaseException as error:
        tell(**{name + "_error": f"{type(error).__name__}: {error}"[-2000:]})


def load(module):
    """Import a module and report the error; return None where it does not import."""
    try:
        loaded = importlib.import_module(module)
    except BaseException as error:
        return tell(import_error=f"{type(error).__name__}: {error}"[-2000:])
    tell(import_error=None)
    return loaded


def torch_build():
    """Report torch's build, what it sees and its first operation on the card."""
    seen = []
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, category, *_: seen.append(f"{category.__name__}: {message}")
    torch = load("torch")
    if torch is None:
        return
    if not hasattr(torch, "__version__"):
        tell(import_error="ImportError: the folder torch holds no torch, only what an uninstalled one left")
        return
    tell(version=torch.__version__, file=torch.__file__)
    tell(cuda=torch.version.cuda, hip=getattr(torch.version, "hip", None))
    attempt("available", torch.cuda.is_available)
    attempt("device_count", torch.cuda.device_count)
    attempt("arch_list", torch.cuda.get_arch_list)
    cards = range(torch.cuda.device_count())
    if cards:
        attempt("device_names", lambda: [torch.cuda.get_device_name(i) for i in cards])
        attempt("capabilities", lambda: ["{}.{}".format(*torch.cuda.get_device_capability(i)) for i in cards])
    if torch.version.cuda or torch.version.hip:
        try:
            assert (torch.ones(8, device="cuda") * 2).sum().item() == 16.0
            tell(operation="ok")
        except BaseException as error:
            tell(operation=f"{type(error).__name__}: {error}"[-2000:])
    tell(warnings="\n".join(dict.fromkeys(seen)))


def torch_facts():
    """Return torch's version, CUDA runtime, cuDNN and import error for the environment card; touches no card."""
    facts = dict.fromkeys(("torch", "torch_cuda", "cudnn", "torch_error"))
    try:
        import torch

        facts["torch"], facts["torch_cuda"] = str(torch.__version__), torch.version.cuda
        facts["cudnn"] = torch.backends.cudnn.version()
    except BaseException as error:
        last_line = (str(error).strip().splitlines() or [""])[-1]
        facts["torch_error"] = f"{type(error).__name__}: {last_line}"[:300]
    return facts


def atari():
    """Report ale-py's ROM files, and whether it imports and registers its ids."""
    place = importlib.util.find_spec("ale_py")
    for folder in (place.submodule_search_locations or ()) if place else ():
        tell(rom_files=len(list(Path(folder, "roms").glob("*.bin"))))
    if load("ale_py"):
        import gymnasium

        tell(registered=sum(name.startswith("ALE/") for name in gymnasium.registry))


def nvml():
    """Report what the driver's own library says."""
    import pynvml

    pynvml.nvmlInit()
    count, driver = pynvml.nvmlDeviceGetCount(), pynvml.nvmlSystemGetDriverVersion()
    tell(device_count=count, driver_version=driver if isinstance(driver, str) else driver.decode())
    names = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
    handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
    tell(compute_modes=[names.get(pynvml.nvmlDeviceGetComputeMode(handle), "unknown") for handle in handles])


if __name__ == "__main__":
    probes = {"torch": torch_build, "opencv": lambda: load("cv2"), "atari": atari, "nvml": nvml}
    probes["card"] = lambda: tell(**torch_facts())
    attempt("probe", probes[sys.argv[1]])
