"""What this machine has, what to install on it, and why an installation failed: the tested half of `bootstrap.py`.

Standard library only: it runs before anything is installed.
"""

import json
import os
import platform
import re
import shutil
import subprocess
import urllib.request
from typing import NamedTuple

from .doctor.schema import table
from .doctor.texts import version
from .doctor.wheels import index_for
from .runtime import View, platform_name

HOSTED = ("colab", "kaggle", "binder")
PYTORCH_INDEX = "https://download.pytorch.org/whl/"


class Problem(Exception):
    """A fault the user can cure; the text is one line: what happened and what to do."""


class Machine(NamedTuple):
    """What the plan looks at; `installed` and the torch fields describe the base interpreter."""

    platform: str = "local"
    system: str = "Linux"
    installed: dict[str, str] = {}  # noqa: RUF012  (a default of a named tuple, never changed)
    cuda_build: str = ""  # the CUDA version torch was built for; empty: CPU build or no torch
    card_works: bool = False  # an operation on the card succeeded
    torch_error: str = ""
    driver: str = ""  # "550.54.14"; empty: nvidia-smi is missing or failed
    capability: str = ""  # the lowest of all cards: "7.0" is a V100, "8.9" an RTX 4090
    driver_error: str = ""


class Plan(NamedTuple):
    """Where to install what, and why."""

    place: str  # "in place", "shared" (a virtual environment that sees the platform's packages) or "own"
    requirements: str
    torch: str  # the requirement to install first; empty: `requirements` says it all
    index: str  # the index for it; empty: pip's own
    constraints: tuple[str, ...]
    kernel: bool  # register the environment as the Jupyter kernel "Course"
    reasons: tuple[str, ...]


def half_pair(installed: dict[str, str]) -> str:
    """Say so when torch and torchvision were built for different CUDA versions: torchvision then fails to import."""
    builds = {name: installed[name].partition("+")[2] for name in ("torch", "torchvision") if name in installed}
    if len(builds) < 2 or not all(builds.values()) or len(set(builds.values())) == 1:
        return ""
    return (
        f"torch {installed['torch']} and torchvision {installed['torchvision']} are built for different CUDA versions. "
        "Both stay as they are; if you need torchvision, reset the image or reinstall both together from one index"
    )


def wheel_for(driver: str, capability: str) -> tuple[str, str]:
    """Return the torch build ("cpu", "cu126", "cu128", "cu130") for a driver and a compute capability, and why."""
    if not driver:
        return "cpu", "no NVIDIA driver answers: the CPU build of torch"
    wheel = index_for(version(driver), version(capability))
    machine = f"driver {driver}, compute capability {capability or 'unknown'}"
    if wheel == "cpu":
        return wheel, f"{machine}: too old for every current CUDA build, so the CPU build of torch; try another host"
    return wheel, f"{machine}: the CUDA {wheel[2:-1]}.{wheel[-1]} build of torch"


def why_not_kept(machine: Machine) -> str:
    """Return why the platform's torch cannot serve the course, or an empty text when it can."""
    torch = machine.installed.get("torch", "")
    if machine.torch_error:
        return f"the installed torch {torch or '(version unknown)'} does not work: {machine.torch_error}"
    if not torch:
        return "no torch is installed here"
    if not (2, 8) <= (version(torch) or ())[:2] < (3, 0):
        return f"the installed torch {torch} is outside the course's range, 2.8 to below 3"
    suited, _ = wheel_for(machine.driver, machine.capability)
    if suited != "cpu" and not machine.card_works and suited != "cu" + machine.cuda_build.replace(".", ""):
        return f"the installed torch {torch} cannot use this machine's card"
    return ""


def plan(machine: Machine, tested_torch: str) -> Plan:
    """Return what to install, with the reasons in words; `tested_torch` is the pinned requirement, "torch==2.13.0".

    Raises Problem on native Windows.
    """
    if machine.system == "Windows":
        raise Problem("the course runs on Linux and macOS. On Windows install WSL (`wsl --install`) and run this there")
    notes = tuple(note for note in (half_pair(machine.installed), machine.driver_error) if note)
    family = tuple(f"{name}=={version}" for name, version in machine.installed.items())
    name, cpu = machine.platform, "requirements-cpu.txt"
    problem = why_not_kept(machine)
    if name in ("colab", "kaggle"):
        reason = f"{name}: installed in place; what is there stays as it is"
        if problem:
            notes += (f"{problem}; reset the runtime to get the platform's own torch back",)
        return Plan("in place", "requirements-colab.txt", "", "", family, False, (reason, *notes))
    if name == "binder":
        return Plan("in place", cpu, "", PYTORCH_INDEX + "cpu", family, False, ("binder: all of it is in the image",))
    if name == "ci":
        reason = "ci: an environment of its own with the CPU build of torch"
        return Plan("own", cpu, "", PYTORCH_INDEX + "cpu", (), False, (reason,))
    if not problem:
        reason = f"torch {machine.installed['torch']} works here and is kept; the course's packages go beside it"
        return Plan("shared", "requirements.txt", "", "", family, True, (reason, *notes))
    autodl = name == "autodl"
    if machine.system == "Darwin":
        return Plan("own", cpu, "", "", (), False, (problem, "macOS: the index's torch is the right build", *notes))
    wheel, why = wheel_for(machine.driver, machine.capability)
    if autodl and not machine.driver:
        wheel, why = "cu126", "no card is attached now: the CUDA 12.6 build of torch, for drivers from 525 on"
    if wheel == "cpu":
        return Plan("own", cpu, "", PYTORCH_INDEX + "cpu", (), autodl, (problem, why, *notes))
    # The newest torch with a CUDA 12.8 build is older than the tested one.
    torch = "torch>=2.8,<3" if wheel == "cu128" else tested_torch
    return Plan("own", "requirements.txt", torch, PYTORCH_INDEX + wheel, (), autodl, (problem, why, *notes))


_PROBE = """
import importlib.metadata as metadata, importlib.util, json
from contextlib import suppress
found = {"installed": {}, "cuda_build": "", "card_works": False, "torch_error": ""}
for name in ("torch", "torchvision", "torchaudio", "triton"):
    with suppress(metadata.PackageNotFoundError):
        found["installed"][name] = metadata.version(name)
if importlib.util.find_spec("torch"):
    try:
        import torch
        found["cuda_build"] = torch.version.cuda or ""
        torch.ones(2).sum()
        with suppress(Exception):
            found["card_works"] = torch.ones(2, device="cuda").sum().item() == 2
    except Exception as error:
        found["torch_error"] = (str(error).strip() or type(error).__name__).splitlines()[0]
print(json.dumps(found))
"""


def ask(command: list[str], seconds: int, **options) -> tuple[int, str, str]:
    """Run a short command; return its exit code, output and last error line. 127: cannot be started, 124: too slow."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, **options)
    except subprocess.TimeoutExpired:
        return 124, "", f"no answer within {seconds} s"
    except OSError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout, (done.stderr.strip().splitlines() or [""])[-1]


def look(python: str) -> Machine:
    """Describe this machine for the plan; `python` is the interpreter an environment would be based on."""
    # A CUDA_VISIBLE_DEVICES left over in this shell must not make a working torch look broken.
    environ = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    code, text, error = ask([python, "-c", _PROBE], 180, env=environ)
    facts = json.loads(text.splitlines()[-1]) if code == 0 and text.strip() else {"torch_error": error or "it crashed"}
    smi = shutil.which("nvidia-smi") or "/usr/lib/wsl/lib/nvidia-smi"
    if os.path.exists(smi):
        code, text, error = ask([smi, "--query-gpu=driver_version,compute_cap", "--format=csv,noheader"], 30)
        cards = re.findall(r"^([\d.]+), *([\d.]+)?", text, re.MULTILINE) if code == 0 else []
        if cards:
            facts["driver"] = cards[0][0]
            facts["capability"] = min((card[1] for card in cards if card[1]), key=float, default="")
        else:
            reason = (text.strip().splitlines() or [error])[0]
            facts["driver_error"] = f"nvidia-smi fails ({reason}); after set-up run: course doctor"
    return Machine(platform_name(), platform.system(), **facts)


def index_answers(index: str) -> bool:
    """Say whether PyTorch's index can be reached."""
    try:
        with urllib.request.urlopen(index + "/torch/", timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def proxy_settings(view: View) -> dict[str, str]:
    """Return the proxy variables that AutoDL's /etc/network_turbo sets, which only the shell that reads it gets."""
    if not view.has("/etc/network_turbo"):
        return {}
    script = view.path("/etc/network_turbo")
    code, text, _ = ask(["bash", "-c", '. "$1" >/dev/null 2>&1; env -0', "bash", str(script)], 20)
    pairs = [line.partition("=") for line in text.split("\0")] if code == 0 else []
    return {name: value for name, _, value in pairs if name.lower() in ("http_proxy", "https_proxy", "no_proxy")}


def _cause(text: str) -> str:
    """Return the line of catalogue/pip_log.toml for the first known cause in a text, empty where there is none."""
    for cause in table("pip_log")["causes"]:
        if match := re.search("|".join(cause["patterns"]), text):
            return cause["line"].format(**match.groupdict("here"))
    return ""


def read_pip_log(text: str) -> str:
    """Return the root cause in a pip log and its cure, in one line."""
    errors = re.findall(r"ERROR: (.+)", text) or re.findall(r"(\w+Error: .+)", text) or ["it gave no reason"]
    return _cause(text) or f"pip failed: {errors[-1].strip()}. See the lines above, then run this again"


def explain(error: OSError) -> str:
    """Return one line with the cure for a file-system error."""
    return _cause(str(error)) or f"{error}. Cure that and run this again"
