"""Python, torch's import, packages, installation logs, Atari and OpenCV."""

import re
from collections.abc import Iterator

from . import texts
from .chain import shadow_lines
from .facts import Facts
from .findings import Finding, found
from .schema import table
from .texts import as_text, last_line

OLDEST_PYTHON, NEWEST_PYTHON = (3, 11), (3, 14)
OLDEST_TORCH = (2, 8)
OLDEST_GLIBC = (2, 28)  # the wheels of torch, onnxruntime and ale-py are tagged manylinux_2_28


def rules(facts: Facts, earlier: set[str]) -> Iterator[Finding]:
    """Yield the findings about software; `earlier` are the codes of the CUDA chain."""
    yield from _system(facts)
    # In a log the first message explains those after it.
    log, abi = facts.told("log"), facts.signal("numpy_abi")
    if log:
        yield found(facts, log[0].code, log[0])
    importing = None if earlier & {"cuda.cudnn_conflict", "cuda.driver_hangs"} else _torch_import(facts, earlier)
    if importing:
        yield importing
        earlier = earlier | {importing.code}
    if abi:
        yield found(facts, "python.numpy_abi", abi, f"packages.numpy: {facts.packages.get('numpy') or 'unknown'}")
    yield from _torch_package(facts, earlier)
    gym, numpy = facts.packages.get("gym"), facts.packages.get("numpy")
    if not log and gym and (texts.version(numpy or "") or ()) >= (1, 24):
        yield found(facts, "gym.legacy", f"packages.gym: {gym}", f"packages.numpy: {numpy}", severity="warning")
    opencv, atari = _opencv(facts, abi is not None), None if abi else _atari(facts)
    module = None if log or atari or importing else _missing_module(facts)
    yield from filter(None, (opencv, atari, module))


def _system(facts: Facts) -> Iterator[Finding]:
    python, libc, system = facts.python, facts.libc, facts.text("platform.system")
    if python and not OLDEST_PYTHON <= python[:2] <= NEWEST_PYTHON:
        code = "python.too_old" if python[:2] < OLDEST_PYTHON else "python.untested"
        yield found(facts, code, f"platform.python: {as_text(python)}")
    if facts.libc_name == "musl":
        yield found(facts, "system.musl", "platform.libc: musl")
    elif libc and libc < OLDEST_GLIBC:
        yield found(facts, "system.glibc_too_old", f"platform.libc: glibc {as_text(libc)}")
    if system in ("Darwin", "Windows"):
        yield found(facts, f"system.{system.lower()}", f"platform.system: {system}")


def _torch_import(facts: Facts, earlier: set[str]) -> Finding | None:
    """Why `import torch` fails, or None where it does not or where a driver fault explains it."""
    error, file = facts.text("torch.import_error").strip(), facts.text("torch.file")
    status, probe = facts.value("torch.exit_code"), facts.text("torch.error")
    library = _library(facts, earlier)
    if library:
        return library
    if error and facts.signal("glibc", "numpy_abi", outside="opencv.import_error"):
        return None
    if file and not re.search(r"[/\\]torch[/\\]__init__\.pyc?$", file):
        return found(facts, "python.shadowed_module", f"torch.file: {file}")
    if facts.torch_installed is False:
        return found(
            facts, "torch.missing", f"torch.import_error: {last_line(error)}" if error else "torch is not installed"
        )
    if error:
        if facts.signal("no_driver") and earlier and not earlier & {"cuda.no_gpu", "cuda.amd_card"}:
            return None
        return found(facts, "torch.import_failed", *(f"torch.import_error: {line}" for line in error.splitlines()[-3:]))
    if status is not None and status < 0 and status != -9:
        return found(facts, "torch.crashed", f"torch.exit_code: {status}", number=-status)
    if re.search("timed? ?out", probe, re.IGNORECASE):
        where = "import torch" if facts.available is None else "the first operation"
        return found(facts, "torch.probe_timed_out", f"torch.error: {probe}", where=where)
    return None


def _library(facts: Facts, earlier: set[str]) -> Finding | None:
    """The library behind an import that fails, wherever the message stands."""
    for signal in facts.told("import", outside="opencv.import_error"):
        code = signal.code
        pasted = signal.field == "error_text" and signal.name in ("mkl", "cuda_library")
        imports = facts.absent("torch.import_error") or facts.available is not None or facts.operation_works is not None
        if pasted and imports and not facts.text("torch.import_error"):
            return found(facts, "cuda.not_reproduced", signal, f"torch {facts.torch_version} imports here")
        old_system = code == "system.glibc_too_old" and facts.libc and facts.libc < OLDEST_GLIBC
        full_card = code == "cuda.cudnn_conflict" and "cuda.memory_taken" in earlier
        if old_system or full_card or signal.field == "torch.operation":
            continue  # already said; the chain judges the first operation
        on_path = shadow_lines(facts) if code in ("torch.cuda_library_missing", "cuda.cudnn_conflict") else ()
        return found(facts, code, signal, *on_path, pair=_family_text(facts))
    symbol = facts.signal("cuda_symbol", "undefined_symbol", outside="opencv.import_error")
    unseen = facts.words("libraries.shadowing") is None  # nobody looked into the folders: their names must do
    foreign = unseen and re.search("cuda|cudnn|nvidia", facts.variable("LD_LIBRARY_PATH"), re.IGNORECASE)
    if symbol and (facts.shadowing or foreign):
        return found(facts, "torch.foreign_libraries", symbol, *shadow_lines(facts), severity="error")
    return found(facts, "torch.cuda_library_mismatch", symbol) if symbol and symbol.name == "cuda_symbol" else None


def _torch_package(facts: Facts, earlier: set[str]) -> Iterator[Finding]:
    libraries = {"torch.foreign_libraries", "torch.cuda_library_missing", "cuda.cudnn_conflict"}
    if facts.shadowing and not earlier & libraries:
        yield found(facts, "torch.foreign_libraries", *shadow_lines(facts))
    if earlier.intersection(table("names")["new_torch"]):
        return
    partner, number = _foreign_partner(facts), texts.version(facts.torch_version)
    if partner:
        shown = f"{partner} {facts.packages[partner]}"
        yield found(facts, "torch.family_mixed", f"torch {facts.torch_version}", shown, pair=_family_text(facts))
    elif number and number[:2] < OLDEST_TORCH:
        yield found(facts, "torch.too_old", f"torch {facts.torch_version}")


def _family_text(facts: Facts) -> str:
    versions = {"torch": facts.torch_version}
    versions |= {name: facts.packages.get(name) for name in ("torchvision", "torchaudio")}
    return ", ".join(f"{name} {number}" for name, number in versions.items() if number) or "torch and torchvision"


def _foreign_partner(facts: Facts) -> str | None:
    """Compare build tags, then release numbers: torchvision 0.(n+15) and torchaudio 2.n belong to torch 2.n."""
    torch, tag = texts.version(facts.torch_version), texts.build_tag(facts.torch_version)
    if not torch or len(torch) < 2:
        return None
    second = torch[0] == 2
    wanted = {"torchvision": (0, torch[1] + (15 if second else 1)), "torchaudio": (2 if second else 0, torch[1])}
    for name, release in wanted.items():
        installed = facts.packages.get(name) or ""
        number, other_tag = texts.version(installed), texts.build_tag(installed)
        if number and (number[:2] != release or (tag and other_tag and tag != other_tag)):
            return name
    return None


def _opencv(facts: Facts, explained: bool) -> Finding | None:
    error = facts.text("opencv.import_error")
    builds = [name for name, version in facts.packages.items() if name.startswith("opencv") and version]
    for signal in facts.told("opencv"):
        return found(facts, signal.code, signal)
    if error and "No module named 'cv2'" not in error and not explained:
        return found(facts, "opencv.import_failed", f"opencv.import_error: {last_line(error)}")
    if len(builds) > 1:
        return found(facts, "opencv.two_builds", *(f"packages.{name}: {facts.packages[name]}" for name in builds))
    return None


def _atari(facts: Facts) -> Finding | None:
    installer, error = facts.text("atari.installer"), facts.text("atari.import_error")
    by, roms = installer and f"atari.installer: {installer}", facts.value("atari.rom_files")
    for signal in facts.told("atari"):
        if signal.name != "roms_missing" or not roms:
            return found(facts, signal.code, signal, signal.name == "roms_missing" and by)
    shown, installed = f"atari.import_error: {last_line(error)}", facts.packages.get("ale-py")
    if re.search("No module named '?gymnasium", error):
        return found(facts, "atari.needs_gymnasium", shown)
    if installed and facts.packages.get("gymnasium", "?") is None:
        proof = (f"packages.ale-py: {installed}", "packages.gymnasium: not installed")
        return found(facts, "atari.needs_gymnasium", *proof)
    if error:
        missing = re.search("No module named '?ale_py", error)
        return found(facts, "atari.missing" if missing else "atari.import_failed", shown)
    return found(facts, "atari.roms_missing", "atari.rom_files: 0", by) if roms == 0 else None


def _missing_module(facts: Facts) -> Finding | None:
    match = re.search(r"No module named '?([A-Za-z_]\w*)|DependencyNotInstalled: (\w+)", facts.error_text)
    if not match:
        return None
    name = match.group(1) or match.group(2)
    package = table("names")["packages"].get(name, name)
    installed = [re.split(r"[\[>]", package.strip('"'))[0], name.replace("_", "-")]
    version = next((facts.packages[one] for one in installed if facts.packages.get(one)), None)
    if name == "torch" and not facts.text("torch.import_error"):
        version = version or facts.torch_version
    shown, here = f"error_text: {match.group()}", version and f"installed here: {name} {version}"
    code = "python.other_interpreter" if version else "python.module_missing"
    return found(facts, code, shown, here, module=name, package=package)
