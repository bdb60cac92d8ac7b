"""Metrics: what happened in a run, kept as rows in memory, as CSV and for TensorBoard. Offline, no account."""

import csv
import warnings
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from course_utils.machine import runtime

STEP = "time/total_timesteps"
"""environment steps so far; names follow Stable-Baselines3 where it has one"""


class Log:
    """Records named numbers per step: in `rows`, and in `folder` as metrics.csv and TensorBoard events.

    Without a folder rows stay in memory. The CSV is in long form (step, name, value), written and flushed at every
    `record`: new names need no new header, a crash loses nothing, and opening the folder again continues the file.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.rows: list[dict[str, float]] = []
        self.path: Path | None = None
        self._tensorboard = None
        if folder is None:
            return
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "metrics.csv"
        if self.path.exists():
            _drop_broken_line(self.path)
            self.rows = read_rows(self.path)
        if not self.path.exists() or self.path.stat().st_size == 0:
            self._append([("step", "name", "value")])
        self._tensorboard = _tensorboard_writer(folder)

    def record(self, step: int, scalars: Mapping[str, float | Tensor]) -> None:
        """Append one row: numbers or one-element tensors, kept as Python floats so that no graph stays alive."""
        values = {
            name: float(value.detach() if isinstance(value, Tensor) else value) for name, value in scalars.items()
        }
        self.rows.append({STEP: float(step), **values})
        self._append([(int(step), name, repr(value)) for name, value in values.items()])
        if self._tensorboard is not None:
            for name, value in values.items():
                self._tensorboard.add_scalar(name, value, int(step))
            self._tensorboard.flush()

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """Return the steps and values recorded under one name, ready to plot."""
        chosen = [row for row in self.rows if name in row]
        return [int(row[STEP]) for row in chosen], [row[name] for row in chosen]

    def close(self) -> None:
        """Close the TensorBoard writer; the CSV is closed between records anyway."""
        if self._tensorboard is not None:
            self._tensorboard.close()
            self._tensorboard = None

    def _append(self, lines: list[tuple]) -> None:
        if self.path is not None:
            with self.path.open("a", newline="") as file:
                csv.writer(file).writerows(lines)


def read_rows(path: str | Path) -> list[dict[str, float]]:
    """Read a metrics.csv back into rows, in the order written; a last line that a crash cut short is left out."""
    rows: list[dict[str, float]] = []
    complete = Path(path).read_text().rpartition("\n")[0]
    for step, name, value in list(csv.reader(complete.splitlines()))[1:]:
        if not rows or rows[-1][STEP] != float(step) or name in rows[-1]:
            rows.append({STEP: float(step)})
        rows[-1][name] = float(value)
    return rows


def _drop_broken_line(path: Path) -> None:
    """Cut off a line that a crash left without its end, so that the next record starts on its own."""
    content = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(content.rfind(b"\n") + 1)


def _tensorboard_writer(folder: Path):
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        warnings.warn("TensorBoard is not installed: metrics go to CSV only (pip install tensorboard)", stacklevel=3)
        return None
    shown = runtime.tensorboard_folder()  # on AutoDL the tile reads one fixed folder, elsewhere it is the runs folder
    return SummaryWriter(str(folder if shown == runtime.runs_folder() else shown / folder.name))
