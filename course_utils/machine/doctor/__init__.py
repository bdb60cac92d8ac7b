"""The doctor: why does the GPU, the display or the installation not work?

`collect()` gathers raw evidence, `parse` turns it into facts, `diagnose` turns facts into findings.
"""

from .collect import collect
from .diagnosis import diagnose
from .facts import Facts, parse
from .findings import Finding, examples

__all__ = ["Facts", "Finding", "collect", "diagnose", "examples", "main", "parse"]


def main(arguments: list[str]) -> int:
    """Run `course doctor`; return 0 without errors found, 1 with, 2 for bad input."""
    from .command import main as run

    return run(arguments)
