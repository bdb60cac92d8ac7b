"""What a check tells the student, what it gives back, and what it writes down."""

import json
import textwrap
import threading

import pytest
import torch

from course_utils.agents import returns
from course_utils.lessons import check, exercise
from course_utils.lessons.ledger import Ledger
from course_utils.machine import isolate
from tests.answers import load

RIGHT = """
    import torch
    def bootstrap_values(last_values, terminated, truncated):
        return torch.where(terminated, torch.zeros_like(last_values), last_values)
"""
WRONG = """
    def bootstrap_values(last_values, terminated, truncated):
        return last_values * 1.0
"""
STUB = """
    def bootstrap_values(last_values, terminated, truncated):
        raise NotImplementedError
"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(Ledger, "_unsaved", {})
    return tmp_path / "home"


def answer(source: str, **variables):
    namespace = {"__name__": "__main__", **variables}
    exec(compile(textwrap.dedent(source), "cell.py", "exec"), namespace)
    return namespace["bootstrap_values"]


def test_a_right_answer_comes_back_and_is_written_down(capsys):
    mine = answer(RIGHT)
    result = check.bootstrap_values(mine)
    assert result.__wrapped__ is mine
    assert "right (2 points)" in capsys.readouterr().out
    ledger = Ledger.open()
    assert ledger.solved("bootstrap_values") and ledger.attempts("bootstrap_values") == 1


def test_a_wrong_answer_is_replaced_by_the_courses_own(capsys):
    assert check.bootstrap_values(answer(WRONG)) is returns.bootstrap_values
    assert "Terminated episodes are bootstrapped too" in capsys.readouterr().out
    assert Ledger.open().status("bootstrap_values") == "wrong"


def test_a_stub_is_not_attempted_and_costs_no_attempt(capsys):
    assert check.bootstrap_values(answer(STUB)) is returns.bootstrap_values
    assert "not attempted yet" in capsys.readouterr().out
    assert Ledger.open().attempts("bootstrap_values") == 0


def test_an_untouched_class_is_not_attempted():
    class PolicyNet(torch.nn.Module):
        def __init__(self, observation_size, action_count, hidden_size=64):
            raise NotImplementedError

        def forward(self, observations):
            raise NotImplementedError

    check.PolicyNet(PolicyNet)
    assert (Ledger.open().status("PolicyNet"), Ledger.open().attempts("PolicyNet")) == ("not attempted", 0)


def test_the_courses_own_object_is_never_judged(capsys):
    own = check.bootstrap_values(answer(WRONG))
    assert check.bootstrap_values(own) is own
    assert "Run your answer cell again" in capsys.readouterr().out
    ledger = Ledger.open()
    assert (ledger.status("bootstrap_values"), ledger.attempts("bootstrap_values")) == ("wrong", 1)


@pytest.mark.parametrize("name", exercise.exercises())
def test_a_wrong_answer_checked_twice_is_not_judged_twice(name):
    wrong = next(answer for answer in load() if answer.exercise == name and not answer.right)
    own = getattr(check, name)(wrong.build())
    assert own is exercise.exercises()[name].reference
    assert getattr(check, name)(own) is own
    ledger = Ledger.open()
    assert (ledger.status(name), ledger.attempts(name)) == ("wrong", 1)


def test_a_checked_answer_can_be_checked_again():
    mine = answer(RIGHT)
    again = check.bootstrap_values(check.bootstrap_values(mine))
    assert again.__wrapped__ is mine
    assert Ledger.open().attempts("bootstrap_values") == 2


def test_a_solved_exercise_stays_solved():
    check.bootstrap_values(answer(RIGHT))
    check.bootstrap_values(answer(WRONG))
    ledger = Ledger.open()
    assert ledger.solved("bootstrap_values") and ledger.status("bootstrap_values") == "wrong"


def test_an_accepted_function_that_raises_later_is_replaced_once(capsys):
    source = RIGHT.replace("return", "assert len(terminated) < 100, 'too many'\n        return")
    mine = check.bootstrap_values(answer(source))
    many = torch.zeros(100, dtype=torch.bool)
    for _ in range(3):
        assert torch.equal(mine(torch.ones(100), many, ~many), torch.ones(100))
    assert capsys.readouterr().out.count("raised AssertionError: too many") == 1


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("while True: pass", "It did not end (line 3 of your cell)"),
        ("x = []\n        while True: x.append(bytearray(10**6))", "over 1 GiB of memory"),
        ("raise SystemExit", "ended the whole process"),
        ("while True: print('x' * 999)", "printed over a megabyte"),
        ("return input('?')", "asks for keyboard input (line 3 of your cell)"),
        ("return undefined_name", "NameError: name 'undefined_name' is not defined (line 3 of your cell)"),
        ("last_values += 1; return last_values", "changes its argument 'last_values'"),
    ],
)
def test_hostile_answers_end_as_a_named_verdict(body, text, capsys, monkeypatch):
    monkeypatch.setattr(isolate.Limits, "__init__", _short_limits(isolate.Limits.__init__))
    source = f"\n    def bootstrap_values(last_values, terminated, truncated):\n        {body}\n"
    assert check.bootstrap_values(answer(source)) is returns.bootstrap_values
    assert text in capsys.readouterr().out


def test_a_long_error_text_is_shown_on_one_short_line(capsys):
    source = RIGHT.replace("return", "raise ValueError('first\\n' + 'x' * 20_000)\n        return")
    check.bootstrap_values(answer(source))
    line = capsys.readouterr().out.splitlines()[0]
    shown = "first " + "x" * 191 + "..."
    assert line == f"bootstrap_values: wrong. It raised ValueError: {shown} (line 4 of your cell)."


def test_an_explained_error_keeps_its_line(capsys):
    check.bootstrap_values(answer(RIGHT.replace("return", "if terminated: pass\n        return")))
    line = capsys.readouterr().out.splitlines()[0]
    assert "want one truth value" in line and line.endswith("(line 4 of your cell).")


def _short_limits(init):
    return lambda self: init(self, cpu_seconds=1)


def test_a_function_that_reads_what_cannot_travel_is_not_judged(capsys):
    source = RIGHT.replace("return", "lock.acquire(False)\n        return")
    check.bootstrap_values(answer(source, lock=threading.Lock()))
    text = capsys.readouterr().out
    assert "not judged" in text and "'lock'" in text and "Pass it as an argument" in text
    assert Ledger.open().attempts("bootstrap_values") == 0


def test_a_value_instead_of_a_function_is_named(capsys):
    check.bootstrap_values(3)
    assert "A function is expected here, not 3" in capsys.readouterr().out


def test_under_nbgrader_a_wrong_answer_raises(monkeypatch):
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    with pytest.raises(exercise.CheckFailed, match="Terminated episodes"):
        check.bootstrap_values(answer(WRONG))
    with pytest.raises(exercise.CheckFailed, match="not attempted"):
        check.bootstrap_values(answer(STUB))
    with pytest.raises(exercise.CheckFailed, match="course's own"):
        check.bootstrap_values(returns.bootstrap_values)
    assert check.bootstrap_values(answer(RIGHT)) is not returns.bootstrap_values


def test_hints_come_one_by_one_and_the_solution_after_an_attempt(capsys):
    check.hint("bootstrap_values")
    check.hint("bootstrap_values")
    check.solution("bootstrap_values")
    text = capsys.readouterr().out
    assert "Hint 1 of 3" in text and "Hint 2 of 3" in text and "Try bootstrap_values once first" in text
    check.bootstrap_values(answer(WRONG))
    capsys.readouterr()
    check.solution("bootstrap_values")
    assert "def bootstrap_values(" in capsys.readouterr().out


def test_after_the_last_hint_it_says_so_and_starts_again(capsys):
    for _ in range(5):
        check.hint("bootstrap_values")
    starts = [line.split(" for bootstrap_values")[0] for line in capsys.readouterr().out.splitlines()]
    assert starts == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "No more hints", "Hint 1 of 3"]


def test_the_last_hint_names_the_solution(capsys):
    for _ in range(4):
        check.hint("bootstrap_values")
    assert "check.solution('bootstrap_values')" in capsys.readouterr().out.splitlines()[-1]


def test_the_report_counts_points_where_something_was_tried(capsys):
    check.bootstrap_values(answer(RIGHT))
    capsys.readouterr()
    check.report()
    lines = capsys.readouterr().out.splitlines()
    total = sum(e.points for e in exercise.exercises().values() if e.notebook == "03_policy_gradient_cartpole")
    assert lines[0] == f"03_policy_gradient_cartpole: 2 of {total} points"
    assert any(line.split() == ["bootstrap_values", "right,", "1", "attempt"] for line in lines)
    others = sorted({e.notebook[:2] for e in exercise.exercises().values()} - {"03"})
    assert lines[-1].startswith(f"Nothing tried yet in {len(others)} notebooks: {', '.join(others)}.")
    assert [line for line in lines if line.startswith(tuple(others))] == []


@pytest.mark.parametrize("number", ["03", "3", 3])
def test_the_report_of_one_notebook_shows_only_that(number, capsys):
    check.training_hours(lambda steps, steps_per_second: steps)
    capsys.readouterr()
    check.report(number)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("03_policy_gradient_cartpole: 0 of")
    assert [line.split()[0] for line in lines[1:]] == [
        e.name for e in exercise.exercises().values() if e.notebook == "03_policy_gradient_cartpole"
    ]


def test_the_report_of_an_unknown_notebook_says_which_there_are():
    with pytest.raises(ValueError, match=r"No notebook '99' has exercises\. Choose from 00, 01"):
        check.report("99")


def test_a_misspelt_exercise_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match="Do you mean 'bootstrap_values'"):
        check.bootstrap_value(answer(RIGHT))


def test_an_unreadable_ledger_is_kept_aside(home, capsys):
    home.mkdir()
    (home / "ledger.json").write_text("{ not json")
    check.bootstrap_values(answer(RIGHT))
    assert "a new one begins" in capsys.readouterr().out
    assert [path.read_text() for path in home.glob("ledger.unreadable-*")] == ["{ not json"]
    assert json.loads((home / "ledger.json").read_text())["exercises"]["bootstrap_values"]["solved"]


def test_a_home_that_cannot_be_written_costs_the_record_not_the_lesson(home, capsys, monkeypatch):
    home.parent.joinpath("home").write_text("a file where a folder should be")
    mine = check.bootstrap_values(answer(RIGHT))
    assert mine is not returns.bootstrap_values
    check.bootstrap_values(answer(WRONG))
    assert capsys.readouterr().out.count("cannot be written") == 1
    assert Ledger.open().attempts("bootstrap_values") == 2
