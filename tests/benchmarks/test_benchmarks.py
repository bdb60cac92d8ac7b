"""The benchmarks can fail: what is slowed down on one side moves their ratios, and an unsolved seed is not hidden."""

import importlib
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from course_utils.agents.envs import make_game

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def benchmark(monkeypatch):
    """Import a script of benchmarks/ by its name, as it sees its own folder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) and str(BENCHMARKS) in sys.modules[name].__file__:
            del sys.modules[name]


class Slowed:
    """A game whose steps take 20 ms longer."""

    def __init__(self, game):
        self.game = game

    def __getattr__(self, name):
        return getattr(self.game, name)

    def step(self, actions):
        time.sleep(0.02)
        return self.game.step(actions)


def test_sampling_sees_a_native_environment_that_sleeps(benchmark, monkeypatch):
    sampling = benchmark("sampling")
    names = ("native, 8", "SB3 SubprocVecEnv, 8")
    monkeypatch.setattr(
        sampling, "WAYS", {name: {**sampling.WAYS[name], "count": 2, "image_size": 42} for name in names}
    )

    def slowed(game, count, **arguments):
        made = make_game(game, count, **arguments)
        return made if "backend" in arguments else Slowed(made)

    normal, slow = sampling.run(quick=True), sampling.run(quick=True, make=slowed)
    assert slow["native_over_subproc"] < 0.6 * normal["native_over_subproc"]
    # Sleeping costs no processor time: what is measured per CPU-second is the work, not the wait.
    assert 0.3 < slow["native_over_limit"] < 1.2
    parts = normal["emulator_steps_per_cpu_second"]
    assert parts["+ resize"] < parts["emulator alone"]


class Side:
    def __init__(self, seconds):
        self.seconds, self.closed = seconds, False

    def steps_per_second(self, rollouts):
        started = time.perf_counter()
        time.sleep(self.seconds * rollouts)
        return rollouts / (time.perf_counter() - started)

    def close(self):
        self.closed = True


def test_training_sees_a_side_that_sleeps_and_leaves_out_what_it_did_not_measure(benchmark, monkeypatch):
    training = benchmark("training")
    monkeypatch.setattr(training, "choices", lambda config, repeats: {})
    monkeypatch.setattr(training, "sampling_speed", lambda config, seconds: 100.0)
    sides = {
        "course, small": Side(0.01),
        "SB3, small": Side(0.04),
        "SB3 on native, small": Side(0.02),
        "course, Pong recipe": Side(0.01),
    }
    result = training.run(quick=True, sides=lambda: sides)
    assert result["course_over_sb3"] == pytest.approx(4, rel=0.5)
    assert result["course_over_sb3_same_pipeline"] == pytest.approx(2, rel=0.5)
    assert result["course_over_sb3_nature"] is None
    assert all(side.closed for side in sides.values())
    sides["course, small"].seconds = 0.08
    assert training.run(quick=True, sides=lambda: sides)["course_over_sb3"] < 1


def test_both_networks_of_the_training_benchmark_are_of_equal_size(benchmark):
    from stable_baselines3.common.policies import ActorCriticCnnPolicy

    training = benchmark("training")
    for config in (training.NATURE_PPO, training.SMALL_PPO):
        shape = (config.stack, config.image_size, config.image_size)
        policy = ActorCriticCnnPolicy(
            training.gymnasium.spaces.Box(0, 255, shape, training.np.uint8),
            training.gymnasium.spaces.Discrete(6),
            lambda _: 1e-3,
            **training.same_network(config),
        )
        ours = training.ActorCritic(shape, 6, config.convolutions, config.hidden_size)
        assert training.parameters(policy) == training.parameters(ours)


def test_an_unsolved_seed_counts_as_one_that_takes_for_ever(benchmark):
    learning = benchmark("learning")
    solved = [
        {"solved": True, "minutes": float(minutes), "steps": 1_000 * minutes, "steps_per_second": 5.0}
        for minutes in (4, 6, 8)
    ]
    unsolved = {"solved": False, "minutes": 1.0, "steps": 100, "steps_per_second": 5.0}
    found = learning.summary([*solved, unsolved, unsolved])
    assert (found["minutes_to_18"], found["steps_to_18"], found["seeds_solved"]) == (8.0, 8_000, 3)
    assert learning.summary([solved[0], unsolved, unsolved])["minutes_to_18"] is None


def test_the_search_keeps_the_better_third_and_always_the_base(benchmark, monkeypatch):
    search = benchmark("pong_search")
    played = []

    def play(changes, seed, steps):
        played.append((changes["value"], seed, steps))
        return {"score": changes["value"] + seed, "steps": steps}

    monkeypatch.setattr(search, "play", play)
    monkeypatch.setattr(search, "settings", dict)
    monkeypatch.setattr(search, "ProcessPoolExecutor", lambda workers, mp_context: ThreadPoolExecutor(workers))
    candidates = {"PONG_PPO": {"value": 0}} | {f"value {value}": {"value": value} for value in range(1, 7)}
    known = {}
    ranking = search.search(candidates, (10, 20), (0, 1), 2, known)
    assert ranking[0][0] == "value 6"
    assert ranking[1] == ["value 6", "value 5", "value 4", "PONG_PPO"]
    assert len(known) == len(played) == 7 * 2 + 4 * 2
    search.search(candidates, (10, 20), (0, 1), 2, known)
    assert len(played) == 7 * 2 + 4 * 2, "what is known is not played again"


def test_a_run_without_a_finished_game_counts_as_lost(benchmark):
    assert benchmark("pong_search").mean_score([{"score": None}, {"score": -11.0}]) == -16.0


def test_the_gpu_suite_says_what_it_could_not_measure(benchmark, capsys):
    suite = benchmark("gpu_suite")
    result = suite.run("cpu", quick=True, limit_seconds=0.0)
    assert len(result["parts"]) == 8
    assert set(result["parts"].values()) == {"not measured: needs a CUDA device", "not measured: the time is up"}
    assert "not measured" in capsys.readouterr().out


def test_the_readme_quotes_what_was_measured():
    readme = (BENCHMARKS.parent / "README.md").read_text()
    sampling, training, learning = (
        json.loads((BENCHMARKS / "results" / f"{name}.json").read_text())
        for name in ("sampling", "training", "learning")
    )
    runs = sorted(learning["runs"], key=lambda run: run["steps"])

    def both(key: str, form: str) -> str:
        return " and ".join(format(run[key], form) for run in runs)

    speeds = training["steps_per_second"]
    one_thread = speeds["course, small"] / speeds["SB3, small, one thread"]
    for quoted in (
        f"falls from {training['course_over_sb3']:.1f} to {one_thread:.1f}.",
        f"| {sampling['native_over_subproc']:.1f} times as fast | `python benchmarks/sampling.py` |",
        f"| {sampling['native_over_limit']:.2f} of its speed | `python benchmarks/sampling.py` |",
        f"| {training['course_over_sb3']:.1f} times as fast | `python benchmarks/training.py` |",
        f"| {training['course_over_sb3_same_pipeline']:.1f} times as fast | `python benchmarks/training.py` |",
        f"{learning['summary']['seeds_solved']} of {len(runs)} seeds so far, in {both('minutes', '.1f')} minutes",
        f"({both('steps', ',')} steps; judged {both('score', '.2f')} with sampled actions)",
        f"they score only {both('score_sticky_0.25', '.1f')}.",
    ):
        assert quoted in readme, quoted


def test_precision_sees_a_half_side_that_sleeps(benchmark, monkeypatch):
    precision = benchmark("precision")
    config = precision.dataclasses.replace(precision.PONG_PPO, envs=4, steps=16, epochs=1, image_size=42)
    update = precision.ppo.Learner.update

    def slowed(learner, rollout):
        time.sleep(1.0 * (learner.config.precision != "float32"))
        return update(learner, rollout)

    normal = precision.compare(config, "bfloat16", "cpu", 3)
    monkeypatch.setattr(precision.ppo.Learner, "update", slowed)
    slow = precision.compare(config, "bfloat16", "cpu", 3)
    assert slow["speedup"] < 0.6 * normal["speedup"]
