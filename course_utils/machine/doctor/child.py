"""Probes that run in a process of their own: a broken torch or a hung driver takes only that process down.

The doctor starts this file's text with `python -c`. Each result goes out at once as one line, so whatever was
learned before a crash or a hang is kept. Only the standard library is imported at the top.
"""

import json
import sys
import warnings

MARK = "DOCTOR-PROBE "


def tell(**fields):
    """Print fields for the parent."""
    sys.stdout.write("\n" + MARK + json.dumps(fields) + "\n")
    sys.stdout.flush()


def last_lines(error):
    """Return the type and text of an error."""
    return f"{type(error).__name__}: {error}"[-2000:]


def attempt(name, action, *arguments):
    """Report the value of `action`, or its error's text under `name` with "_error"."""
    try:
        tell(**{name: action(*arguments)})
    except BaseException as error:
        tell(**{name + "_error": last_lines(error)})


def torch_build():
    """Report torch's build, what it sees and its first operation on the card."""
    seen = []
    warnings.simplefilter("always")
    warnings.showwarning = lambda message, category, *_: seen.append(f"{category.__name__}: {message}")
    try:
        import torch
    except BaseException as error:
        tell(import_error=last_lines(error))
        return
    tell(import_error=None, version=torch.__version__, file=torch.__file__)
    tell(cuda=torch.version.cuda, hip=getattr(torch.version, "hip", None))
    attempt("available", torch.cuda.is_available)
    attempt("device_count", torch.cuda.device_count)
    attempt("arch_list", torch.cuda.get_arch_list)
    count = torch.cuda.device_count()
    if count:
        attempt("device_names", lambda: [torch.cuda.get_device_name(i) for i in range(count)])
        attempt("capabilities", lambda: ["{}.{}".format(*torch.cuda.get_device_capability(i)) for i in range(count)])
    if torch.version.cuda or torch.version.hip:
        try:
            assert (torch.ones(8, device="cuda") * 2).sum().item() == 16.0
            tell(operation="ok")
        except BaseException as error:
            tell(operation=last_lines(error))
    tell(warnings="\n".join(dict.fromkeys(seen)))


def opencv():
    """Report whether cv2 imports."""
    try:
        import cv2  # noqa: F401

        tell(import_error=None)
    except BaseException as error:
        tell(import_error=last_lines(error))


def atari():
    """Report ale-py's ROM files, and whether it imports and registers its ids."""
    import importlib.util
    from pathlib import Path

    place = importlib.util.find_spec("ale_py")
    for folder in (place.submodule_search_locations or ()) if place else ():
        tell(rom_files=len(list(Path(folder, "roms").glob("*.bin"))))
    try:
        import ale_py  # noqa: F401
    except BaseException as error:
        tell(import_error=last_lines(error))
        return
    import gymnasium

    tell(import_error=None, registered=sum(name.startswith("ALE/") for name in gymnasium.registry))


def nvml():
    """Report what the driver's own library says."""
    try:
        import pynvml

        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
        driver = pynvml.nvmlSystemGetDriverVersion()
        tell(error=None, device_count=count, driver_version=driver if isinstance(driver, str) else driver.decode())
        names = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        tell(compute_modes=[names.get(pynvml.nvmlDeviceGetComputeMode(handle), "unknown") for handle in handles])
    except BaseException as error:
        tell(error=last_lines(error))


if __name__ == "__main__":
    {"torch": torch_build, "opencv": opencv, "atari": atari, "nvml": nvml}[sys.argv[1]]()
