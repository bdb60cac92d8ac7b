"""Make the course's environment and open it: `python3 bootstrap.py lab`, `test`, `install` or `plan`.

Needs the standard library alone. The part above `stop_on_wrong_python()` also runs on Python 3.6, so that an old
Python ends with one line that names the cure; the rest only has to parse there.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OLDEST, NEWEST = (3, 11), (3, 14)


def wrong_python(version, usable):
    """Return one line with the cure when this Python cannot run the course, else an empty text."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return ""
    age = "old" if tuple(version[:2]) < OLDEST else "new"
    found = f"Python {version[0]}.{version[1]} is too {age} for the course (3.11 to 3.14)"
    if usable:
        return f"{found}. Run: {usable[0]} bootstrap.py lab"
    return (
        f"{found}. Get one with: conda create -y -n course python=3.12 && conda activate course "
        "(without conda: apt-get install python3.11 python3.11-venv, or dnf install python3.11), then run this again"
    )


def usable_pythons():
    """Return the supported interpreters on PATH, newest first; each was started once."""
    names = [f"python3.{minor}" for minor in range(NEWEST[1], OLDEST[1] - 1, -1)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return [n for n in names if shutil.which(n) and subprocess.call([n, "-c", "import ensurepip"], **quiet) == 0]


def stop_on_wrong_python():
    """Leave with one line when this Python cannot run the course."""
    if wrong_python(sys.version_info, []):
        sys.exit("Stopped: " + wrong_python(sys.version_info, usable_pythons()))


stop_on_wrong_python()

# Both need the standard library alone; they come from the checkout, which is not installed yet.
sys.path.insert(0, str(Path(__file__).resolve().parent))
from course_utils.machine.installation import (  # noqa: E402
    HOSTED,
    Plan,
    Problem,
    ask,
    explain,
    index_answers,
    look,
    plan,
    proxy_settings,
    read_pip_log,
)
from course_utils.machine.runtime import View, platform_name  # noqa: E402

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
BASE_PYTHON = getattr(sys, "_base_executable", None) or sys.executable
FIRST_NOTEBOOK = "notebooks/00_start_here.ipynb"
# What an environment of its own takes at the least; set-up prints the size it reached.
LEAST_FREE_MEGABYTES = 1600
START = time.monotonic()

VERIFY = """
import ale_py, gymnasium, torch
import course_utils
from ale_py import roms
assert roms.get_rom_path("pong"), "the Pong ROM is missing: reinstall ale-py from PyPI"
assert torch.ones(2).sum().item() == 2
card = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no card"
print(f"torch {torch.__version__} ({card}), gymnasium {gymnasium.__version__}, ale-py {ale_py.__version__}, Pong ROM")
"""


def say(text: str) -> None:
    """Print one step with the seconds since the start."""
    print(f"[{time.monotonic() - START:5.1f} s] {text}", flush=True)


def tested_torch() -> str:
    """Return the pinned torch requirement of requirements-cpu.txt."""
    return re.search(r"^torch[=>]=\S+", (ROOT / "requirements-cpu.txt").read_text(), re.MULTILINE).group()


def pip_install(python: str, arguments: list[str], constraints: tuple[str, ...] = ()) -> None:
    """Run pip with its output on the screen. Raises Problem with the root cause from its log."""
    with tempfile.TemporaryDirectory() as folder:
        log, limits = Path(folder, "pip.log"), Path(folder, "constraints.txt")
        limits.write_text("\n".join(constraints))
        command = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--log", str(log)]
        if constraints:
            command += ["--constraint", str(limits)]
        environ = {**os.environ, **proxy_settings(View())}
        done = subprocess.run([*command, *arguments], cwd=ROOT, env=environ, check=False)
        if done.returncode == 0:
            return
        full = min(shutil.disk_usage(place).free for place in (ROOT, folder)) < 10_000_000
        text = "No space left on device" if full else log.read_text(errors="replace") if log.exists() else ""
        if done.returncode in (-9, 137):
            text = "MemoryError"  # the kernel's out-of-memory killer leaves no message
    raise Problem(read_pip_log(text))


def install(python: str, chosen: Plan, development: bool) -> None:
    """Install what the plan says, and the course itself so that an edit counts at once."""
    extra = "[dev,grade,robots]" if development else ""
    sources = ["--requirement", chosen.requirements]
    if chosen.torch:
        say(f"Installing {chosen.torch} from {chosen.index} (several GB)")
        if not index_answers(chosen.index):
            raise Problem(f"{chosen.index} does not answer, and this card needs its build. Check the network and proxy")
        pip_install(python, [chosen.torch, "--index-url", chosen.index])
    elif chosen.index and index_answers(chosen.index):
        sources += ["--extra-index-url", chosen.index]
    elif chosen.index:
        say(f"{chosen.index} does not answer: torch comes from pip's own index, which may be a larger CUDA build")
    say(f"Installing {chosen.requirements}{' and the tools of the tests' if extra else ''}")
    if chosen.place == "in place":
        pip_install(python, sources, chosen.constraints)
        pip_install(python, [*([] if extra else ["--no-deps"]), "--editable", "." + extra], chosen.constraints)
    else:
        pip_install(python, [*sources, "--editable", "." + extra], chosen.constraints)


def create(chosen: Plan) -> None:
    """Make an empty virtual environment. Raises Problem."""
    if not (importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv")):
        root = "" if os.geteuid() == 0 else "sudo "
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise Problem(f"this Python has no venv module. Run: {root}apt-get install {package}, then this again")
    free = shutil.disk_usage(ROOT).free // 1_000_000
    if chosen.place == "own" and free < LEAST_FREE_MEGABYTES:
        raise Problem(
            f"{free} MB are free on this disk and {LEAST_FREE_MEGABYTES} are needed. Free some and run this again"
        )
    say(f"Making the virtual environment {ENVIRONMENT.name}")
    options = ["--system-site-packages"] if chosen.place == "shared" else []
    code, text, error = ask([BASE_PYTHON, "-m", "venv", *options, str(ENVIRONMENT)], 300)
    if code:
        text = text + error
        raise Problem(read_pip_log(text) if "Errno" in text else f"venv failed: {error or text.strip()[-200:]}")


def remove_environment() -> None:
    """Delete the virtual environment, or the link to it."""
    if ENVIRONMENT.is_symlink() or ENVIRONMENT.is_file():
        ENVIRONMENT.unlink()
    elif ENVIRONMENT.exists():
        shutil.rmtree(ENVIRONMENT)


def works(python: str) -> bool:
    """Say whether the environment's interpreter starts and has pip."""
    return ask([python, "-c", "import pip"], 60)[0] == 0


def wanted_state() -> dict[str, str]:
    """Return what a finished set-up depends on: the base interpreter, the folder, the requirement files."""
    digest = hashlib.sha256()
    for name in sorted([path.name for path in ROOT.glob("requirements*.txt")] + ["pyproject.toml"]):
        digest.update((ROOT / name).read_bytes())
    return {"python": f"{sys.version} {sys.base_prefix}", "folder": str(ROOT), "files": digest.hexdigest()}


def path_with(python: str) -> str:
    """Return PATH with the environment's commands first."""
    return f"{Path(python).parent}{os.pathsep}{os.environ.get('PATH', '')}"


def prepare(development: bool) -> str:
    """Make the environment ready and return its interpreter; takes seconds when it is ready. Raises Problem."""
    hosted = platform_name() in HOSTED
    record = ROOT / "build" / "setup.json" if hosted else ENVIRONMENT / "course-setup.json"
    python = sys.executable if hosted else str(ENVIRONMENT / "bin" / "python")
    wanted = wanted_state()
    try:
        state = dict(json.loads(record.read_text()))
    except (OSError, ValueError, TypeError):
        state = {}
    usable = works(python) and all(state.get(name) == wanted[name] for name in ("python", "folder"))
    if usable and state["files"] == wanted["files"] and state["development"] >= development:
        say(f"Already set up: {python}")
        return python
    if not hosted and not record.exists() and works(python):
        raise Problem(f"{ENVIRONMENT} was not made by this script. Move it away and run this again")
    if usable and not hosted:
        say("The requirements have changed, or the tools of the tests are missing: bringing the environment up to date")
        chosen = Plan(**state["plan"])
    else:
        say("Looking at this machine")
        chosen = plan(look(BASE_PYTHON), tested_torch())
        for reason in chosen.reasons:
            say(f"  {reason}")
        if not hosted and os.path.lexists(ENVIRONMENT):
            say(f"Removing {ENVIRONMENT.name}: it is unfinished, or belongs to another folder or Python")
            remove_environment()
    # An empty record means unfinished: a run that is killed from here on starts afresh next time.
    record.parent.mkdir(exist_ok=True)
    record.write_text("{}")
    development = development or bool(state.get("development"))
    try:
        if not hosted and not usable:
            create(chosen)
        install(python, chosen, development)
    except Problem:
        if state and usable:
            record.write_text(json.dumps(state))  # pip undid its change, so the environment still works as before
        elif not hosted:
            remove_environment()
        raise
    say("Checking the installation")
    code, text, error = ask([python, "-c", VERIFY], 180, cwd=ROOT)
    if code:
        raise Problem(f"the installed packages do not work: {error}. Run: {python} -m course_utils doctor")
    say(f"  {text.strip()}")
    if chosen.kernel:
        say('Registering the Jupyter kernel "Course"')
        command = [python, "-m", "ipykernel", "install", "--user", "--name", "course", "--display-name", "Course"]
        # With this PATH a cell finds the command `course`.
        code, _, error = ask([*command, "--env", "PATH", path_with(python)], 60)
        if code:
            raise Problem(f"the kernel could not be registered: {error}")
    if not hosted:
        size = sum(path.lstat().st_size for path in ENVIRONMENT.rglob("*")) // 1_000_000
        say(f"The environment takes {size} MB")
    record.write_text(json.dumps({**wanted, "development": development, "plan": chosen._asdict()}))
    return python


def lab(options: list[str]) -> int:
    """Set up, then open JupyterLab on the first notebook; where the platform runs its own, say how to get there."""
    python = prepare(development=False)
    name = platform_name()
    if name in HOSTED:
        say(f"Ready. Open {FIRST_NOTEBOOK} in the page you already have")
        return 0
    if name == "autodl" and not options:
        say(
            f'Ready. In AutoDL\'s console open JupyterLab, then {ROOT / FIRST_NOTEBOOK}, and choose the kernel "Course"'
        )
        say(f"就绪：在 AutoDL 控制台打开 JupyterLab，打开 {ROOT / FIRST_NOTEBOOK}，内核选择 Course")
        return 0
    # Given as the address, not as a file: a file would hide the rest of the course from the file browser.
    address = f"--LabApp.default_url=/lab/tree/{FIRST_NOTEBOOK}"
    command = [python, "-m", "jupyterlab", f"--ServerApp.root_dir={ROOT}", address, *options]
    if os.geteuid() == 0:
        command.append("--allow-root")  # containers run as root, and JupyterLab refuses that by default
    say("Opening JupyterLab; stop it with Ctrl-C twice")
    os.chdir(ROOT)
    os.execve(python, command, {**os.environ, "PATH": path_with(python)})


def test(options: list[str]) -> int:
    """Set up with the tools of the tests, then run what CI runs; `options` go to pytest."""
    python = prepare(development=True)
    folder = Path(python).parent
    environ = {**os.environ, "PATH": path_with(python)}
    notebooks = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("notebooks/*.ipynb"))
    steps = {
        "ruff check": [python, "-m", "ruff", "check"],
        "ruff format": [python, "-m", "ruff", "format", "--check"],
        "lint-imports": [str(folder / "lint-imports")],
        "nbstripout": [python, "-m", "nbstripout", "--verify", "--keep-id", *notebooks],
        "pytest": [python, "-m", "pytest", *options],
    }
    failed = []
    for name, command in steps.items():
        say(f"Running {name}")
        if subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode:
            failed.append(name)
    say(f"Failed: {', '.join(failed)}" if failed else "All checks passed")
    return 1 if failed else 0


def main(arguments: list[str]) -> int:
    """Run one command; 0: done, 1: stopped with a line that says why, 2: unknown command, 130: interrupted."""
    parser = argparse.ArgumentParser(prog="bootstrap.py", description="Set up the course and open it.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("lab", help="set up and open JupyterLab; further options go to it, such as --no-browser")
    commands.add_parser("test", help="set up and run what CI runs; further options go to pytest")
    commands.add_parser("install", help="only set up")
    commands.add_parser("plan", help="say what set-up would do here, and why; change nothing")
    parsed, options = parser.parse_known_args(arguments)
    if options and parsed.command in ("install", "plan"):
        parser.error(f"unknown options: {' '.join(options)}")
    try:
        if parsed.command == "lab":
            return lab(options)
        if parsed.command == "test":
            return test(options)
        if parsed.command == "install":
            prepare(development=False)
            return 0
        chosen = plan(look(BASE_PYTHON), tested_torch())
        source = f"{chosen.torch} from {chosen.index}, then " if chosen.torch else ""
        print(f"{chosen.place}: {source}{chosen.requirements}", *chosen.reasons, sep="\n  ")
        return 0
    except Problem as problem:
        print(f"Stopped: {problem}", file=sys.stderr)
    except OSError as error:
        print(f"Stopped: {explain(error)}", file=sys.stderr)
    except KeyboardInterrupt:
        print("Stopped by you. Run the same command again to go on", file=sys.stderr)
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
