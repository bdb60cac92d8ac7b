"""Worker processes: how they start, what they say when they fail, and that none stays behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import psutil
import pytest
from gymnasium.vector import AsyncVectorEnv

from course_utils.agents import foreign, processes
from course_utils.agents.envs import PONG, SAME_STEP, VectorGame, make_game
from tests.agents.counting import Counting, Unmakeable, assert_no_workers, worker_processes

MAKERS = {
    "async": lambda one, count: processes.start(
        partial(AsyncVectorEnv, context=processes.start_method(), **SAME_STEP), one, count
    ),
    "subproc": lambda one, count: foreign.FromSB3(foreign.workers(lambda: foreign.Telling(one()), count)),
}


def three_steps(game: VectorGame) -> None:
    game.reset(seed=0)
    for _ in range(3):
        game.step(np.zeros(game.num_envs, int))


@pytest.mark.parametrize("backend", MAKERS)
@pytest.mark.parametrize(
    ("trouble", "error", "message"),
    [("raises", (ValueError, RuntimeError), "bad reward"), ("dies", RuntimeError, "a worker process died")],
)
@pytest.mark.filterwarnings("ignore:.*ERROR")  # gymnasium prints the worker's error before it raises it
def test_an_error_in_a_worker_reaches_the_parent_and_ends_the_others(backend, trouble, error, message):
    game = VectorGame(MAKERS[backend](partial(Counting, trouble=trouble), 2))
    assert len(worker_processes()) == 2
    with pytest.raises(error, match=message):
        three_steps(game)
    assert_no_workers()
    with pytest.raises(ValueError, match="closed: make new ones"):
        game.step(np.zeros(2, int))
    game.close()


def test_sb3_alone_says_nothing_about_an_error_in_a_worker():
    game = foreign.FromSB3(foreign.workers(partial(Counting, trouble="raises"), 1))
    game.reset(seed=[0])
    with pytest.raises((EOFError, ConnectionError)) as caught:
        for _ in range(3):
            game.step(np.zeros(1, int))
    game.close()
    assert "bad reward" not in str(caught.value)
    assert_no_workers()


@pytest.mark.parametrize("backend", MAKERS)
def test_an_environment_that_cannot_be_made_says_why(backend):
    with pytest.raises(ValueError, match="no such map"):
        MAKERS[backend](Unmakeable, 2)
    assert_no_workers()


def test_workers_that_were_started_in_vain_are_ended():
    def interrupted(functions):
        for function in functions:
            multiprocessing.get_context(processes.start_method()).Process(target=function).start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        processes.start(interrupted, partial(time.sleep, 60), 2)
    assert multiprocessing.active_children() == []


def test_a_script_without_its_guard_is_told_so(tmp_path):
    script = tmp_path / "play.py"
    script.write_text(
        "from course_utils.agents.envs import make_game\nmake_game('pong', 2, backend='async').reset(seed=0)\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert run.returncode == 1
    assert "RuntimeError: a worker process died before it had begun" in run.stderr
    assert 'belongs under `if __name__ == "__main__":`' in run.stderr


@pytest.mark.parametrize("backend", MAKERS)
def test_an_error_inside_the_block_leaves_no_process(backend):
    with pytest.raises(ZeroDivisionError), make_game(PONG, 2, backend=backend, image_size=42) as game:
        game.reset(seed=0)
        assert len(worker_processes()) == 2
        raise ZeroDivisionError
    assert_no_workers()
    game.close()
    with pytest.raises(ValueError, match="closed: make new ones"):
        game.reset()


def test_moves_that_the_game_does_not_have_leave_no_process():
    with pytest.raises(ValueError, match="moves must be some of the actions 0 to 5") as caught:
        make_game(PONG, 2, backend="subproc", image_size=42, moves=(0, 9))
    assert_no_workers()
    assert caught.tb is not None, "a kept traceback, as in a notebook, keeps what was not closed"


@pytest.mark.parametrize("backend", MAKERS)
def test_ctrl_c_leaves_no_process(backend, tmp_path):
    script = tmp_path / "play.py"
    script.write_text(
        "import numpy as np\n"
        "from course_utils.agents.envs import make_game\n"
        "if __name__ == '__main__':\n"
        f"    with make_game('pong', 2, backend={backend!r}, image_size=42) as game:\n"
        "        game.reset(seed=0)\n"
        "        print('playing', flush=True)\n"
        "        while True:\n"
        "            game.step(np.zeros(2, int))\n"
    )
    run = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert run.stdout.readline() == b"playing\n"
    family = psutil.Process(run.pid).children(recursive=True)
    assert len(family) >= 2
    os.killpg(run.pid, signal.SIGINT)  # as a terminal does: to the whole group
    run.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(process.is_running() for process in family) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [process for process in family if process.is_running()] == []


def test_workers_are_never_forked_even_where_fork_is_the_default(monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda *_: "fork")
    assert processes.start_method() == "forkserver"
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert processes.start_method() == "spawn"


@pytest.mark.parametrize("backend", MAKERS)
def test_there_are_at_most_some_workers_per_core(backend, monkeypatch):
    monkeypatch.setattr(processes, "usable_cpus", lambda: 2)
    with pytest.raises(ValueError, match="33 environments would be 33 processes on 2 cores: take at most 32"):
        make_game(PONG, 33, backend=backend)


class Threads(Counting):
    """Its length is the number of threads of torch, in hundreds, and of OpenCV."""

    def __init__(self):
        import cv2
        import torch

        processes.quiet()
        super().__init__(length=100 * torch.get_num_threads() + cv2.getNumThreads())


def test_a_worker_keeps_its_libraries_to_one_thread_and_the_parent_keeps_its_own():
    import cv2

    cv2.setNumThreads(2)
    processes.quiet()
    assert cv2.getNumThreads() == 2, "this is not a worker"
    vector = MAKERS["async"](Threads, 1)
    assert vector.get_attr("length") == (101,)
    vector.close()
