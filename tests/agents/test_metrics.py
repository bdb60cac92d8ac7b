"""The log: plain floats, a CSV that survives crashes and reopening, TensorBoard where it is installed."""

import sys
import warnings

import pytest
import torch

from course_utils.agents.metrics import STEP, Log, read_rows
from course_utils.machine import runtime


def test_rows_go_to_csv_and_come_back(tmp_path):
    log = Log(tmp_path / "run")
    log.record(10, {"train/loss": 0.1, "rollout/ep_rew_mean": 20})
    log.record(20, {"train/loss": 1 / 3})
    expected = [{STEP: 10.0, "train/loss": 0.1, "rollout/ep_rew_mean": 20.0}, {STEP: 20.0, "train/loss": 1 / 3}]
    assert log.rows == expected
    assert read_rows(log.path) == expected  # without closing: every record is on disk when it returns
    assert log.path.read_text().splitlines()[:2] == ["step,name,value", "10,train/loss,0.1"]


def test_values_are_floats_that_keep_no_graph_alive(tmp_path):
    log = Log(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        log.record(1, {"loss": torch.ones((), requires_grad=True) * 2, "count": 3})
    assert log.rows == [{STEP: 1.0, "loss": 2.0, "count": 3.0}]
    assert {type(value) for value in log.rows[0].values()} == {float}


def test_opening_the_folder_again_continues_it(tmp_path):
    Log(tmp_path).record(1, {"a": 1.0})
    again = Log(tmp_path)
    again.record(2, {"a": 2.0, "b": 0.0})
    assert again.series("a") == ([1, 2], [1.0, 2.0])
    assert read_rows(again.path) == again.rows
    assert again.path.read_text().count("step,name,value") == 1


def test_a_line_cut_short_by_a_crash_is_dropped_not_misread(tmp_path):
    log = Log(tmp_path)
    log.record(1, {"a": 1.0})
    with log.path.open("a") as file:
        file.write("2,a,12.3")  # was to become 12.345
    assert read_rows(log.path) == [{STEP: 1.0, "a": 1.0}]
    again = Log(tmp_path)
    again.record(2, {"a": 12.345})
    assert read_rows(again.path) == [{STEP: 1.0, "a": 1.0}, {STEP: 2.0, "a": 12.345}]


def test_not_a_number_is_recorded_as_such(tmp_path):
    log = Log(tmp_path)
    log.record(1, {"a": float("nan")})
    assert str(read_rows(log.path)[0]["a"]) == "nan"


def test_without_a_folder_rows_stay_in_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    log = Log()
    log.record(5, {"a": 1.0})
    assert log.series("a") == ([5], [1.0]) and log.series("unknown") == ([], [])
    assert log.path is None and list(tmp_path.iterdir()) == []


def test_tensorboard_holds_the_same_numbers(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log = Log(tmp_path)
    log.record(7, {"train/loss": 0.5})
    log.close()
    events = accumulator.EventAccumulator(str(tmp_path))
    events.Reload()
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(7, 0.5)]


def test_on_autodl_the_events_go_where_its_tensorboard_tile_looks(tmp_path, monkeypatch):
    monkeypatch.setattr(runtime, "tensorboard_folder", lambda: tmp_path / "tf-logs")
    log = Log(tmp_path / "runs" / "pong-1")
    log.record(1, {"a": 1.0})
    log.close()
    assert list((tmp_path / "tf-logs" / "pong-1").glob("events*"))
    assert [path.name for path in (tmp_path / "runs" / "pong-1").iterdir()] == ["metrics.csv"]


def test_without_tensorboard_the_csv_is_written_and_the_log_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.warns(UserWarning, match="TensorBoard is not installed: metrics go to CSV only"):
        log = Log(tmp_path)
    log.record(1, {"a": 1.0})
    log.close()
    assert read_rows(log.path) == [{STEP: 1.0, "a": 1.0}]
