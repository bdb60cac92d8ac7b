"""The command line: `course COMMAND ...`, also `python -m course_utils COMMAND ...`."""

from __future__ import annotations

import importlib
import sys

COMMANDS = {
    "doctor": ("course_utils.machine.doctor", "find out what is wrong with this machine, and what cures it"),
    "card": ("course_utils.machine.card", "print the environment card: versions, driver, hardware, seeds"),
    "train": ("course_utils.agents.train_command", "train an agent: course train pong"),
    "update": ("course_utils.lessons.update", "bring new notebooks and keep your answers"),
}


def usage() -> str:
    """The help text, one line per command."""
    lines = [f"  {name:<8} {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: course COMMAND [options]    (course COMMAND --help says more)",
            "",
            *lines,
            "",
            "exit codes: 0 done, nothing wrong; 1 something is wrong (it says what); 2 the command was not understood;",
            "130 interrupted",
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code. Commands load only what they need: the doctor runs without torch."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"course: there is no command {name!r}; choose one of: {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    try:
        return importlib.import_module(COMMANDS[name][0]).main(rest)
    except KeyboardInterrupt:
        print("course: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as head, has seen enough
        sys.stderr.close()
        return 0
    except ImportError as error:
        print(f"course {name}: {error}. In the course's folder run: python bootstrap.py install", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"course {name}: {error}. Check that the folder exists and can be written to", file=sys.stderr)
        return 1
