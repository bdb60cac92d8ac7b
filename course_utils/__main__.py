"""Run the command line with `python -m course_utils`."""

import sys

from course_utils.cli import main

sys.exit(main())
