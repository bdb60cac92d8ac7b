"""Every right answer is accepted, every wrong one gets the message that names its misconception."""

from collections import Counter

import pytest

from course_utils.lessons import exercise
from tests.answers import load

ANSWERS = load()


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: f"{answer.exercise}: {answer.title}")
def test_answer(answer):
    verdict = exercise.verdict_of(exercise.exercises()[answer.exercise], answer.build())
    if answer.right:
        assert verdict == exercise.Verdict("right")
    else:
        assert verdict.status == "wrong"
        assert answer.message in verdict.message


def test_every_exercise_has_enough_answers():
    right = Counter(answer.exercise for answer in ANSWERS if answer.right)
    wrong = Counter(answer.exercise for answer in ANSWERS if not answer.right)
    for name in exercise.exercises():
        assert right[name] >= 3, name
        assert wrong[name] >= 5, name


@pytest.mark.parametrize("name", exercise.exercises())
def test_the_reference_itself_passes_its_judge(name):
    exercise.judge(name, exercise.exercises()[name].reference)
