"""Each row of the table from raw numbers, Amdahl's law in closed form, and a short training of one's own."""

import dataclasses
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_utils.machine import bottleneck
from course_utils.machine.bottleneck import CAUSES, CpuMeter, Measurement, busy_seconds, classify, from_log, speedup
from course_utils.machine.runtime import View

ROWS = {  # code: env, infer and update seconds of 10 s, CPU load, GPU load
    "gpu_saturated": [(2, 1, 6, 0.3, 0.95), (2, 3, 5, None, 0.8), (6, 1, 2, 0.9, 0.7)],
    "cpu_saturated": [(7, 1, 2, 0.95, None), (7, 1, 2, 0.95, 0.1), (9, 1, 2, 0.7, None)],
    "gpu_starved": [(7, 1, 2, 0.3, 0.1), (6, 2, 1, 0.3, 0.6)],
    "emulator": [(7, 1, 2, 0.3, None), (7, 1, 2, None, None), (9, 0, 3, 0.69, None)],
    "inference": [(2, 6, 1, 0.5, None), (2, 6, 1, 0.9, 0.2)],
    "update": [(2, 1, 7, 0.5, None), (2, 1, 7, None, None), (5, 1, 9, 0.8, None)],
    "launches": [(2, 1, 7, 0.5, 0.2)],
    "waiting": [(1, 1, 2, 0.1, 0.1), (2, 1, 1, 0.9, None), (0, 0, 0, None, None), (1, 1, 1, 0.1, 0.9)],
    "overlapped": [(7, 2, 9, 0.95, None), (4, 4, 8, None, 0.5)],
    "balanced": [(4, 2, 4, 0.6, None), (4, 1, 4, 0.9, 0.3)],
}


@pytest.mark.parametrize(("code", "row"), [(code, row) for code, rows in ROWS.items() for row in rows])
def test_each_row_of_the_table(code, row):
    env, infer, update, cpu_load, gpu_load = row
    verdict = classify(Measurement(env, infer, update, 10, cpu_load, gpu_load))
    assert (verdict.code, verdict.cause, verdict.cure) == (code, *CAUSES[code])


def test_every_cause_has_a_row():
    assert ROWS.keys() == CAUSES.keys()


def test_the_verdict_says_what_it_saw_and_what_a_cure_can_gain():
    verdict = classify(Measurement(5, 1, 3, 10, 0.4, 0.25))
    assert verdict.evidence == (
        "env 50%, infer 10%, update 30%, CPU load 40%, GPU load 25%; env twice as fast makes all 1.33 times as fast"
    )
    assert str(verdict) == f"{verdict.cause}. {verdict.evidence}. Cure: {verdict.cure}."
    overlapped = classify(Measurement(8, 1, 9, 10))
    assert overlapped.evidence == "env 80%, infer 10%, update 90%"  # no Amdahl for phases side by side


def test_amdahl():
    assert speedup(0.5, 2) == pytest.approx(4 / 3)
    assert speedup(0.9, 1e12) == pytest.approx(10)
    assert speedup(0.0, 8) == speedup(0.7, 1) == 1
    assert speedup(1.0, 8) == 8
    for fraction, factor in [(-0.1, 2), (1.1, 2), (0.5, 0), (float("nan"), 2)]:
        with pytest.raises(ValueError, match="fraction must lie between 0 and 1"):
            speedup(fraction, factor)


def row(elapsed, env, infer, update):
    return {
        "time/total_timesteps": 1.0,
        "time/time_elapsed": elapsed,
        "time/env_seconds": env,
        "time/infer_seconds": infer,
        "time/update_seconds": update,
    }


def test_the_log_is_read_without_its_first_rollout():
    rows = [row(9.0, 4.0, 1.0, 4.0), {"eval/mean_reward": 3.0}, row(12.0, 1.0, 0.5, 1.25), row(15.0, 1.0, 0.25, 1.5)]
    assert from_log(rows, 0.5, 0.25) == Measurement(2.0, 0.75, 2.75, 6.0, 0.5, 0.25)
    assert from_log(rows[:1]) == Measurement(4.0, 1.0, 4.0, 9.0)
    assert from_log(rows).shares == {"env": 2 / 6, "infer": 0.75 / 6, "update": 2.75 / 6}


@pytest.mark.parametrize("rows", [[], [{"train/loss": 1.0}]])
def test_a_log_without_times_is_refused(rows):
    with pytest.raises(ValueError, match="train for at least one rollout"):
        from_log(rows)


def process(pid, ticks, name="python"):
    return f"{pid} ({name}) S 1 " + "0 " * 9 + " ".join(map(str, ticks)) + " 20 0 1 0"


def test_the_processes_in_sight_are_added_up(tmp_path: Path):
    hertz = os.sysconf("SC_CLK_TCK")
    for pid, text in {
        "7": process(7, (3 * hertz, hertz, 2 * hertz, 0)),
        "8": process(8, (hertz, 0, 0, hertz), "odd ) name"),
        "9": "",  # ended meanwhile
        "self": process(7, (99 * hertz, 0, 0, 0)),
    }.items():
        (tmp_path / "proc" / pid).mkdir(parents=True)
        (tmp_path / "proc" / pid / "stat").write_text(text)
    assert busy_seconds(View(tmp_path, {})) == 8.0


def test_without_proc_it_is_this_process(tmp_path: Path):
    before = sum(os.times()[:4])
    assert before <= busy_seconds(View(tmp_path, {})) <= sum(os.times()[:4])


def measured(monkeypatch, busy, cores, **modules):
    """A block in which `busy` CPU seconds pass per second of a clock that gives two seconds."""
    seconds, clock = iter([100.0, 100.0 + 2 * busy]), iter([50.0, 52.0])
    monkeypatch.setattr(bottleneck, "busy_seconds", lambda: next(seconds))
    monkeypatch.setattr(bottleneck.runtime, "usable_cpus", lambda: cores)
    monkeypatch.setattr(bottleneck, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    monkeypatch.setitem(sys.modules, "pynvml", modules.get("pynvml"))
    with CpuMeter() as meter:
        if modules:
            time.sleep(0.1)
    return meter


@pytest.mark.parametrize(("busy", "cores", "load"), [(1.5, 2, 0.75), (1, 4, 0.25), (9, 4, 1.0), (-1, 2, 0.0)])
def test_the_load_is_a_share_of_the_usable_cores(monkeypatch, busy, cores, load):
    meter = measured(monkeypatch, busy, cores)
    assert (meter.cpu_load, meter.gpu_load) == (load, None)  # pynvml cannot be imported


def test_the_gpu_load_is_a_mean(monkeypatch):
    loads = iter([10, 40] + [25] * 1000)
    pynvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=lambda index: f"card {index}",
        nvmlDeviceGetUtilizationRates=lambda card: SimpleNamespace(gpu={"card 0": next(loads)}[card]),
    )
    monkeypatch.setattr(bottleneck, "SAMPLE_SECONDS", 0.001)
    assert measured(monkeypatch, 1, 2, pynvml=pynvml).gpu_load == pytest.approx(0.25)


def test_a_training_of_ones_own(monkeypatch):
    monkeypatch.setenv("COURSE_SCALE", "smoke")
    from course_utils.agents.ppo import train
    from course_utils.agents.ppo_config import CARTPOLE_PPO

    with CpuMeter() as meter:
        agent = train(dataclasses.replace(CARTPOLE_PPO, total_steps=1_024))
    seen = from_log(agent.log.rows, meter.cpu_load, meter.gpu_load)
    assert 0 < meter.cpu_load <= 1
    assert min(seen.shares.values()) > 0
    assert sum(seen.shares.values()) <= 1  # one after the other
    assert classify(seen).code == "update"  # twenty epochs on a toy


def test_importing_costs_the_standard_library_alone():
    code = "import sys, course_utils.machine.bottleneck; print({'numpy', 'torch', 'pynvml'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
