"""How do I know that I am right?"""

from course_utils.lessons.exercise import check
from course_utils.machine import isolate

__all__ = ["check", "start"]


def start() -> None:
    """Verify the installation, set up figures and rendering, and print where we are: every notebook's first cell.

    Raises RuntimeError, with the command that cures it, where a package is missing or too old.
    """
    isolate.start_server()  # the judge's process imports torch on the second core meanwhile
    from course_utils.lessons import verify

    verify.verify_and_greet()
