"""Python, torch's import, packages, installation logs, Atari and OpenCV."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import texts
from .chain import shadow_lines
from .facts import Facts
from .findings import Found
from .texts import as_text

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)
OLDEST_TORCH = (2, 8)
OLDEST_GLIBC = (2, 28)  # the wheels of torch, onnxruntime and ale-py are tagged manylinux_2_28
# Causes whose cure installs another torch: its age and its relatives are settled on the way.
_NEW_TORCH = {
    "cuda.cpu_only_build", "cuda.rocm_build", "cuda.jetson_wheel", "cuda.driver_too_old", "cuda.card_too_old",
    "cuda.card_too_new", "cuda.no_kernel_for_card", "cuda.cudnn_conflict", "torch.cuda_library_missing",
    "torch.cuda_library_mismatch",
    "torch.import_failed", "torch.foreign_libraries", "torch.family_mixed", "torch.missing",
}  # fmt: skip
_IMPORT_CAUSES = (
    ("glibc", "system.glibc_too_old"), ("libstdcxx", "system.libstdcxx_too_old"), ("mkl", "torch.mkl_mismatch"),
    ("shadowed_module", "python.shadowed_module"), ("cuda_library", "torch.cuda_library_missing"),
    ("cudnn", "cuda.cudnn_conflict"), ("torchvision_pair", "torch.family_mixed"),
)  # fmt: skip
# In a log the first of these explains the lines after it.
_LOG_CAUSES = (
    ("gym_metadata", "install.gym_metadata"), ("swig", "install.swig_missing"), ("numpy_bool8", "gym.legacy"),
    ("externally_managed", "install.externally_managed"), ("network", "install.no_network"),
    ("no_version", "install.no_matching_version"),
)  # fmt: skip
_PIP_NAMES = {
    "cv2": "opencv-python-headless", "ale_py": '"gymnasium[atari]"', "stable_baselines3": '"stable-baselines3>=2.9,<3"',
    "PIL": "pillow", "pynvml": "nvidia-ml-py", "pygame": "pygame-ce",
    "Box2D": "swig, then pip install \"gymnasium[box2d]\"",
}  # fmt: skip


def rules(facts: Facts, found: list[Found]) -> Iterator[Found]:
    """Yield the findings about software; `found` are those of the CUDA chain."""
    earlier = {entry.code for entry in found}
    yield from _system(facts)
    log = next((Found(code, (str(entry),)) for name, code in _LOG_CAUSES if (entry := facts.signal(name))), None)
    if log:
        yield log
    importing = None if earlier & {"cuda.cudnn_conflict", "cuda.driver_hangs"} else _torch_import(facts, earlier)
    if importing:
        yield importing
        earlier.add(importing.code)
    abi = facts.signal("numpy_abi")
    if abi:
        yield Found("python.numpy_abi", (str(abi), f"packages.numpy: {facts.packages.get('numpy') or 'unknown'}"))
    yield from _torch_package(facts, earlier)
    if not log:
        yield from _legacy_gym(facts)
    yield from _opencv(facts, abi is not None)
    atari = None if abi else _atari(facts)
    if atari:
        yield atari
    if not log and not atari and not importing:
        yield from _missing_module(facts)
    light = facts.signal("mlp_on_gpu")
    if light:
        yield Found("torch.small_network_on_gpu", (str(light),))


def _system(facts: Facts) -> Iterator[Found]:
    if facts.python and facts.python[:2] < OLDEST_PYTHON:
        yield Found("python.too_old", (f"platform.python: {as_text(facts.python)}",), {"python": as_text(facts.python)})
    elif facts.python and facts.python[:2] > NEWEST_PYTHON:
        yield Found(
            "python.untested", (f"platform.python: {as_text(facts.python)}",), {"python": as_text(facts.python)}
        )
    if facts.libc_name == "musl":
        yield Found("system.musl", ("platform.libc: musl",))
    elif facts.libc_name == "glibc" and facts.libc and facts.libc < OLDEST_GLIBC:
        yield Found("system.glibc_too_old", (f"platform.libc: glibc {as_text(facts.libc)}",))
    if facts.system in ("Darwin", "Windows"):
        yield Found(f"system.{facts.system.lower()}", (f"platform.system: {facts.system}",))


def _torch_import(facts: Facts, earlier: set[str]) -> Found | None:
    """Why `import torch` fails, or None where it does not or where a driver fault explains it."""
    error = facts.torch_import_error
    for name, code in _IMPORT_CAUSES:
        signal = facts.signal(name, outside="opencv.import_error")
        if signal and signal.field == "torch.operation":
            continue  # the chain judges the first operation
        if signal and signal.field == "error_text" and facts.torch_imports and name in ("mkl", "cuda_library"):
            return Found("cuda.not_reproduced", (str(signal), f"torch {facts.torch_version} imports here"))
        if signal and (code != "system.glibc_too_old" or not (facts.libc and facts.libc < OLDEST_GLIBC)):
            extra = shadow_lines(facts) if code in ("torch.cuda_library_missing", "cuda.cudnn_conflict") else ()
            words = {"pair": _pair_words(facts)} if code == "torch.family_mixed" else {}
            return Found(code, (str(signal), *extra), words)
    if error and facts.signal("glibc", "numpy_abi", outside="opencv.import_error"):
        return None
    symbol = facts.signal("cuda_symbol", "undefined_symbol", outside="opencv.import_error")
    if symbol and (facts.shadowing or re.search("cuda|cudnn|nvidia", facts.variable("LD_LIBRARY_PATH"), re.IGNORECASE)):
        return Found("torch.foreign_libraries", (str(symbol), *shadow_lines(facts)), severity="error")
    if symbol and symbol.name == "cuda_symbol":
        return Found("torch.cuda_library_mismatch", (str(symbol),))
    if facts.torch_file and not re.search(r"[/\\]torch[/\\]__init__\.pyc?$", facts.torch_file):
        return Found("python.shadowed_module", (f"torch.file: {facts.torch_file}",))
    if facts.torch_installed is False:
        proof = error.strip().splitlines()[-1] if error.strip() else "torch is not installed"
        return Found("torch.missing", (f"torch.import_error: {proof}" if error else f"packages: {proof}",))
    if error.strip():
        if facts.signal("no_driver") and not earlier & {"cuda.no_gpu", "cuda.amd_card"} and earlier:
            return None
        return Found(
            "torch.import_failed", tuple(f"torch.import_error: {line}" for line in error.strip().splitlines()[-3:])
        )
    if facts.torch_exit_code is not None and facts.torch_exit_code < 0 and facts.torch_exit_code != -9:
        return Found(
            "torch.crashed", (f"torch.exit_code: {facts.torch_exit_code}",), {"number": str(-facts.torch_exit_code)}
        )
    if re.search("timed? ?out", facts.torch_probe_error, re.IGNORECASE):
        where = "the first operation" if facts.available is not None else "import torch"
        return Found("torch.probe_timed_out", (f"torch.error: {facts.torch_probe_error}",), {"where": where})
    return None


def _torch_package(facts: Facts, earlier: set[str]) -> Iterator[Found]:
    if facts.shadowing and not earlier & {
        "torch.foreign_libraries",
        "torch.cuda_library_missing",
        "cuda.cudnn_conflict",
    }:
        yield Found("torch.foreign_libraries", shadow_lines(facts))
    if earlier & _NEW_TORCH:
        return
    mixed = _mixed_family(facts)
    if mixed:
        yield Found("torch.family_mixed", mixed, {"pair": _pair_words(facts)})
        return
    number = texts.version(facts.torch_version)
    if number and number[:2] < OLDEST_TORCH:
        yield Found("torch.too_old", (f"torch {facts.torch_version}",), {"version": facts.torch_version})


def _family(facts: Facts) -> dict[str, str]:
    names = ("torchvision", "torchaudio")
    return {"torch": facts.torch_version, **{name: facts.packages.get(name) or "" for name in names}}


def _pair_words(facts: Facts) -> str:
    return (
        ", ".join(f"{name} {version}" for name, version in _family(facts).items() if version) or "torch and torchvision"
    )


def _mixed_family(facts: Facts) -> tuple[str, ...]:
    """Compare build tags, then release numbers: torchvision 0.(n+15) and torchaudio 2.n belong to torch 2.n."""
    family = _family(facts)
    torch, tag = texts.version(family["torch"]), texts.build_tag(family["torch"])
    if not torch or len(torch) < 2:
        return ()
    partners = {
        "torchvision": (0, torch[1] + (15 if torch[0] == 2 else 1)),
        "torchaudio": (torch[0] if torch[0] == 2 else 0, torch[1]),
    }
    for name, wanted in partners.items():
        number, other_tag = texts.version(family[name]), texts.build_tag(family[name])
        if not number:
            continue
        if (tag and other_tag and tag != other_tag) or number[:2] != wanted:
            return (f"torch {family['torch']}", f"{name} {family[name]}")
    return ()


def _legacy_gym(facts: Facts) -> Iterator[Found]:
    gym, numpy = facts.packages.get("gym"), texts.version(facts.packages.get("numpy") or "")
    if gym and numpy and numpy >= (1, 24):
        yield Found(
            "gym.legacy", (f"packages.gym: {gym}", f"packages.numpy: {facts.packages['numpy']}"), severity="warning"
        )


def _opencv(facts: Facts, explained: bool) -> Iterator[Found]:
    signal = facts.signal("opencv_gl")
    qt = facts.signal("qt_plugin")
    builds = [name for name in facts.packages if name.startswith("opencv") and facts.packages[name]]
    if signal:
        yield Found("opencv.system_library_missing", (str(signal),))
    elif qt:
        yield Found("opencv.window_build", (str(qt),))
    elif facts.opencv_error and "No module named 'cv2'" not in facts.opencv_error and not explained:
        yield Found(
            "opencv.import_failed", (f"opencv.import_error: {facts.opencv_error.strip().splitlines()[-1][:300]}",)
        )
    elif len(builds) > 1:
        yield Found("opencv.two_builds", tuple(f"packages.{name}: {facts.packages[name]}" for name in builds))


def _atari(facts: Facts) -> Found | None:
    installer = (f"atari.installer: {facts.atari_installer}",) if facts.atari_installer else ()
    for name, code in (
        ("atari_needs_gymnasium", "atari.needs_gymnasium"), ("atari_not_registered", "atari.not_registered"),
        ("atari_old_id", "atari.old_id"), ("roms_missing", "atari.roms_missing"),
    ):  # fmt: skip
        signal = facts.signal(name)
        if signal and not (name == "roms_missing" and facts.rom_files):
            return Found(code, (str(signal), *(installer if name == "roms_missing" else ())))
    if "No module named 'gymnasium" in facts.atari_error or "No module named gymnasium" in facts.atari_error:
        return Found("atari.needs_gymnasium", (f"atari.import_error: {facts.atari_error.strip().splitlines()[-1]}",))
    installed = facts.packages.get("ale-py")
    if installed and facts.packages.get("gymnasium", "?") is None:
        return Found("atari.needs_gymnasium", (f"packages.ale-py: {installed}", "packages.gymnasium: not installed"))
    if re.search("No module named '?ale_py", facts.atari_error):
        return Found("atari.missing", (f"atari.import_error: {facts.atari_error.strip().splitlines()[-1]}",))
    if facts.atari_error:
        return Found(
            "atari.import_failed", (f"atari.import_error: {facts.atari_error.strip().splitlines()[-1][:300]}",)
        )
    if facts.rom_files == 0:
        return Found("atari.roms_missing", ("atari.rom_files: 0", *installer))
    return None


def _missing_module(facts: Facts) -> Iterator[Found]:
    match = re.search(r"No module named '?([A-Za-z_]\w*)|DependencyNotInstalled: (\w+)", facts.error_text)
    if not match:
        return
    name = match.group(1) or match.group(2)
    package = _PIP_NAMES.get(name, name).strip('"').split("[")[0].split(">")[0]
    version = facts.packages.get(package) or facts.packages.get(name.replace("_", "-"))
    version = version or (facts.torch_version if name == "torch" and not facts.torch_import_error else None)
    words = {"module": name, "package": _PIP_NAMES.get(name, name)}
    if version:
        yield Found(
            "python.other_interpreter", (f"error_text: {match.group()}", f"installed here: {name} {version}"), words
        )
    else:
        yield Found("python.module_missing", (f"error_text: {match.group()}",), words)
