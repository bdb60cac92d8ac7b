"""How many steps per second do the ways of running many Pong environments give, and what limits them?

    python benchmarks/sampling.py            # about three minutes; writes benchmarks/results/sampling.json
    python benchmarks/sampling.py --quick    # under a minute; prints only

A step is one action of one agent: four frames of the game, the brighter of the last two, gray, resized, stacked. The
backends take turns in every round, and ratios are those of one round: the median over the rounds is quoted. The last
line is JSON.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import ale_py
import cv2
import numpy as np
import psutil
from ale_py import ALEInterface, roms
from machine import describe

from course_utils.agents.envs import PONG, VectorGame, make_game

RESULT = Path(__file__).parent / "results" / "sampling.json"
WAYS: dict[str, dict] = {
    "native, 8": {"count": 8},
    "native, 16": {"count": 16},
    "native, 8, 42 pixels": {"count": 8, "image_size": 42},
    "sync, 8": {"count": 8, "backend": "sync"},
    "gymnasium async, 8": {"count": 8, "backend": "async"},
    "SB3 SubprocVecEnv, 8": {"count": 8, "backend": "subproc"},
    "EnvPool, 8": {"count": 8, "backend": "envpool"},
}


def cpu_seconds() -> float:
    """Return the processor time of this process and all that it has started."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def measure(game: VectorGame, seconds: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return steps per second and per CPU-second of random play that lasts `seconds`."""
    started, cpu, steps = time.perf_counter(), cpu_seconds(), 0
    while time.perf_counter() - started < seconds:
        for _ in range(4):
            game.step(rng.integers(game.action_count, size=game.num_envs))
            steps += game.num_envs
    return steps / (time.perf_counter() - started), steps / (cpu_seconds() - cpu)


class Emulator:
    """The emulator alone, and with one more part of the preprocessing each: what does a part cost?"""

    def __init__(self) -> None:
        ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(roms.get_rom_path(PONG))
        self.actions = self.ale.getMinimalActionSet()
        self.screens = np.zeros((2, *self.ale.getScreenDims()), np.uint8)
        self.stack = np.zeros((4, 84, 84), np.uint8)

    def step(self, parts: int, action: int) -> None:
        for frame in range(4):
            if self.ale.game_over():
                self.ale.reset_game()
            self.ale.act(self.actions[action])
            if parts > 0 and frame > 1:
                self.ale.getScreenGrayscale(self.screens[frame - 2])
        picture = self.screens[1]
        if parts > 1:
            picture = np.maximum(self.screens[0], self.screens[1])
        if parts > 2:
            picture = cv2.resize(picture, (84, 84), interpolation=cv2.INTER_AREA)
        if parts > 3:
            self.stack = np.concatenate((self.stack[1:], picture[None]))

    def steps_per_cpu_second(self, parts: int, seconds: float, rng: np.random.Generator) -> float:
        started, steps = time.process_time(), 0
        while time.process_time() - started < seconds:
            for action in rng.integers(len(self.actions), size=20):
                self.step(parts, action)
            steps += 20
        return steps / (time.process_time() - started)


PARTS = ("emulator alone", "+ gray screens", "+ maximum of two", "+ resize", "+ stack")


def run(quick: bool, make: Callable[..., VectorGame] = make_game) -> dict:
    """Measure every way in turn, several rounds; `make` builds the environments."""
    rounds, seconds = (3, 0.6) if quick else (9, 2.0)
    rng = np.random.default_rng(0)
    cv2.setNumThreads(1)
    games, missing = {}, {}
    for name, arguments in WAYS.items():
        try:
            games[name] = make(PONG, **arguments)
            games[name].reset(seed=0)
        except ValueError as error:  # EnvPool is optional
            missing[name] = str(error)
    emulator = Emulator()
    speeds: dict[str, list[tuple[float, float]]] = {name: [] for name in games}
    limits: list[list[float]] = []
    try:
        for _ in range(rounds):
            for name, game in games.items():
                speeds[name].append(measure(game, seconds, rng))
            limits.append([emulator.steps_per_cpu_second(parts, seconds / 4, rng) for parts in range(len(PARTS))])
    finally:
        for game in games.values():
            game.close()

    def ratios(over: str, under: list[float], which: int) -> list[float]:
        return [speed[which] / low for speed, low in zip(speeds[over], under, strict=True)]

    subproc = [speed[0] for speed in speeds["SB3 SubprocVecEnv, 8"]]
    over_subproc = ratios("native, 8", subproc, 0)
    over_limit = ratios("native, 8", [limit[0] for limit in limits], 1)
    alone = statistics.median(limit[0] for limit in limits)
    return {
        "quick": quick,
        "rounds": rounds,
        "machine": describe(),
        "ways": {
            name: {
                "steps_per_second": round(statistics.median(speed[0] for speed in found)),
                "steps_per_cpu_second": round(statistics.median(speed[1] for speed in found)),
            }
            for name, found in speeds.items()
        },
        "missing": missing,
        "emulator_steps_per_cpu_second": {
            part: round(statistics.median(limit[index] for limit in limits)) for index, part in enumerate(PARTS)
        },
        "microseconds_per_step": {
            part: round(1e6 / statistics.median(limit[index] for limit in limits)) for index, part in enumerate(PARTS)
        },
        "emulator_limit": round(alone),
        "native_over_subproc": round(statistics.median(over_subproc), 2),
        "native_over_subproc_range": [round(min(over_subproc), 2), round(max(over_subproc), 2)],
        "native_over_limit": round(statistics.median(over_limit), 2),
        "native_over_limit_range": [round(min(over_limit), 2), round(max(over_limit), 2)],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute; prints only")
    result = run(parser.parse_args().quick)
    print(f"{'environments':<24}{'steps/s':>9}{'steps per CPU-second':>23}")
    for name, speed in result["ways"].items():
        print(f"{name:<24}{speed['steps_per_second']:>9,}{speed['steps_per_cpu_second']:>23,}")
    for name, reason in result["missing"].items():
        print(f"{name:<24}not measured: {reason}")
    print("\none process, one step after the other   steps per CPU-second   microseconds per step")
    for part, speed in result["emulator_steps_per_cpu_second"].items():
        print(f"{part:<40}{speed:>20,}{result['microseconds_per_step'][part]:>24,}")
    if not result["quick"]:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps({key: result[key] for key in ("native_over_subproc", "native_over_limit")}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
