"""How do I know that I am right?"""

from course_utils.lessons.exercise import check
from course_utils.lessons.start import start

__all__ = ["check", "start"]
