"""Right and wrong answers to every exercise, in folders named after the notebooks; `load` reads them.

A file holds one exercise: imports, then blocks that begin with `# %% right: NAME` or
`# %% wrong: NAME -> TEXT THAT THE VERDICT MUST HOLD`.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Answer:
    exercise: str
    title: str
    right: bool
    message: str
    source: str

    def build(self):
        """Run the source as a notebook would and return what it defines under the exercise's name."""
        namespace = {"__name__": "__main__"}
        exec(compile(self.source, "cell.py", "exec"), namespace)
        return namespace[self.exercise]


def load() -> list[Answer]:
    answers = []
    for path in sorted(FOLDER.glob("*/*.py")):
        imports, *blocks = re.split(r"^# %% ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        for block in blocks:
            head, body = block.split("\n", 1)
            kind, title = head.split(": ", 1)
            title, _, message = title.partition(" -> ")
            if kind not in ("right", "wrong") or (kind == "wrong") != bool(message):
                raise ValueError(f"{path.name}: the heading {head!r} is not understood")
            answers.append(Answer(path.stem, title, kind == "right", message, imports + body))
    return answers
