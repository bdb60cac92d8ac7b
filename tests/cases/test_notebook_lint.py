"""The lint of notebooks finds what it should, and the course's own notebooks are clean."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.notebook_lint import problems

# Cells that show a fault on purpose, by notebook and id.
ON_PURPOSE = {("02_headless_rendering.ipynb", "norender")}
NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def notebook(*cells: str, output: str = "") -> dict[str, Any]:
    outputs = [{"output_type": "stream", "name": "stdout", "text": output}]
    return {"cells": [{"cell_type": "code", "source": source, "outputs": outputs} for source in cells]}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["import torch\ntorch.cuda.is_available()", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'"],
         "cell 2: CUDA_VISIBLE_DEVICES is set after cell 1 imported torch: set it before"),
        (["import mujoco", "import os", "os.environ.setdefault('MUJOCO_GL', 'egl')"],
         "cell 3: MUJOCO_GL is set after cell 1 imported mujoco: set it before"),
        (["import os\nfrom pygame import display\nos.environ['SDL_VIDEODRIVER'] = 'dummy'"],
         "cell 1: SDL_VIDEODRIVER is set after cell 1 imported pygame: set it before"),
        (["import gym"], "cell 1: import gym: use import gymnasium as gym"),
        (["from gym.wrappers import Monitor"], "cell 1: import gym: use import gymnasium as gym"),
        (["import numpy as np\nnp.bool8 = np.bool_"], "cell 1: numpy is patched for old gym: use gymnasium"),
        (["import gymnasium\nenv = gymnasium.make('CartPole-v1')", "frame = env.render()"],
         "cell 2: env.render(), but cell 1 made it without render_mode"),
        (["!pip install -q stable-baselines3"],
         "cell 1: !pip with -q hides a failed installation: use %pip without -q"),
    ],
)  # fmt: skip
def test_fault_is_named_with_its_cells(cells: list[str], expected: str) -> None:
    assert problems(notebook(*cells)) == [expected]


@pytest.mark.parametrize(
    "cells",
    [
        ["import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'", "import torch\ntorch.cuda.is_available()"],
        ["import os\nos.environ.setdefault('MUJOCO_GL', 'egl')\nimport mujoco"],
        ["import gymnasium as gym\nenv = gym.make('CartPole-v1', render_mode='rgb_array')", "env.render()"],
        ["env = make('CartPole-v1', **options)\nenv.render()"],
        ["%pip install stable-baselines3\n!nvidia-smi\nimport gymnasium"],
    ],
)
def test_good_order_is_left_alone(cells: list[str]) -> None:
    assert problems(notebook(*cells)) == []


def test_huge_outputs_are_named() -> None:
    assert len(problems(notebook("1", output="x" * 3_000_000))) == 1
    assert problems(notebook("1", output="x" * 3_000)) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_of_the_course(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"] = [cell for cell in content["cells"] if (path.name, cell.get("id")) not in ON_PURPOSE]
    assert problems(content) == []
