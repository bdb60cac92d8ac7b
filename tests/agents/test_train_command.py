"""`course train`: what it keeps, what it prints, and how it stops."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from course_utils import cli
from course_utils.agents import metrics, rollout, train_command
from course_utils.agents.envs import seeds_for
from course_utils.agents.ppo_config import CARTPOLE_PPO, PONG_PPO
from course_utils.agents.saved import load_agent, save_agent
from course_utils.agents.train_command import run_training

TINY = dataclasses.replace(CARTPOLE_PPO, total_steps=1_024, seed=2)
FILES = ["agent.json", "agent.pt", "environment.json", "learner.pt", "metrics.csv"]


def files(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if "tfevents" not in path.name)


def facts_in(folder, name: str = "agent.json") -> dict:
    return json.loads((folder / name).read_text())


def weights(network: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in network.parameters()])


@pytest.fixture
def run(capsys):
    """Run `course train` and return its exit code, standard output and standard error."""

    def run(*arguments):
        code = cli.main(["train", *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


# What a run keeps


def test_a_run_keeps_agent_facts_curve_and_all_that_training_goes_on_from(tmp_path):
    facts = run_training(TINY, tmp_path / "run", command="course train cartpole")
    assert files(tmp_path / "run") == FILES
    assert any("tfevents" in path.name for path in (tmp_path / "run").iterdir())
    assert {**facts_in(tmp_path / "run"), "checkpoint": str(tmp_path / "run" / "agent.pt")} == json.loads(
        json.dumps(facts)
    )
    assert (facts["steps"], facts["seed"], facts["environment"]) == (1_024, 2, "CartPole-v1")
    assert (facts["command"], facts["device"], facts["started_from"]) == ("course train cartpole", "cpu", None)
    assert (facts["interrupted"], facts["solved"]) == (False, False)
    assert facts["minutes"] * 60 + 0.03 > 0.99 * facts["steps"] / facts["steps_per_second"]  # it is rounded
    assert facts["config"]["learning_rate"] == TINY.learning_rate
    assert facts["machine"]["torch"] == torch.__version__
    rows = metrics.read_rows(tmp_path / "run" / "metrics.csv")
    assert [row[metrics.STEP] for row in rows] == [256, 512, 768, 1_024]
    assert facts["training_score"] == rows[-1]["rollout/ep_rew_mean"]


def test_the_file_itself_is_judged_in_each_mode_from_seeds_that_are_named(tmp_path, capsys):
    facts = run_training(TINY, tmp_path)
    network, judged = load_agent(tmp_path / "agent.pt"), facts["evaluation"]
    for mode, deterministic in (("sampled", False), ("likeliest", True)):
        again = rollout.evaluate_game(network, TINY, deterministic=deterministic, episodes=20, seed=12_345)
        assert judged[mode] == {"mean": again.mean, "scores": again.returns, "at_limit": again.truncated}
    assert set(judged) == {"reset_seeds", "sampled", "likeliest"}  # CartPole has no sticky actions
    assert facts["score"] == judged["sampled"]["mean"]
    assert judged["reset_seeds"] == seeds_for(20, 12_345).tolist()
    text = capsys.readouterr().out
    assert " ".join(map(str, judged["reset_seeds"])) in text
    assert f"sampled: mean return {facts['score']:.1f} over 20 episodes (sampled actions" in text


def test_pong_is_judged_with_sticky_actions_too(tmp_path, monkeypatch):
    asked = []

    def judge(network, config, **arguments):
        asked.append(arguments)
        return rollout.EvaluationResult([float(len(asked))], 0, arguments["deterministic"])

    monkeypatch.setattr(train_command, "evaluate_game", judge)
    small = dataclasses.replace(
        PONG_PPO,
        envs=2,
        steps=16,
        minibatch_size=32,
        total_steps=64,
        image_size=21,
        convolutions=((4, 6, 5),),
        hidden_size=8,
    )
    facts = run_training(small, tmp_path)
    counted = {"episodes": 20, "seed": 12_345}
    assert asked == [
        {"deterministic": False, "sticky": 0.0, **counted},
        {"deterministic": False, "sticky": 0.25, **counted},
        {"deterministic": True, "sticky": 0.0, **counted},
    ]
    assert facts["evaluation"]["sampled_sticky_0.25"]["mean"] == 2.0
    assert (facts["score"], facts["training_score"]) == (1.0, None)  # no game has ended: JSON knows no NaN
    assert facts_in(tmp_path)["score"] == 1.0


def test_agents_are_kept_where_the_score_first_reaches_the_marks(tmp_path):
    longer = dataclasses.replace(TINY, total_steps=2_048)
    facts = run_training(longer, tmp_path, save_at=(1e6, 5, 12.5))
    assert files(tmp_path) == sorted([*FILES, "score_5.json", "score_5.pt", "score_12.5.json", "score_12.5.pt"])
    early = facts_in(tmp_path, "score_5.json")
    assert early["steps"] < facts["steps"]
    assert early["minutes"] <= facts["minutes"]
    assert early["training_score"] >= 5
    assert set(early["evaluation"]) == {"reset_seeds", "sampled"}
    rows = metrics.read_rows(tmp_path / "metrics.csv")
    at = {row[metrics.STEP]: row.get("rollout/ep_rew_mean") for row in rows}
    assert at[early["steps"]] == early["training_score"]
    assert not torch.equal(weights(load_agent(tmp_path / "score_5.pt")), weights(load_agent(tmp_path / "agent.pt")))


def test_one_seed_gives_one_agent_and_another_seed_another(tmp_path):
    for name, seed in (("first", 2), ("again", 2), ("other", 3)):
        run_training(dataclasses.replace(TINY, seed=seed), tmp_path / name, evaluation=False)
    first, again, other = (load_agent(tmp_path / name / "agent.pt") for name in ("first", "again", "other"))
    assert torch.equal(weights(first), weights(again))
    assert not torch.equal(weights(first), weights(other))


def test_training_ends_after_the_minutes_asked_for(tmp_path):
    endless = dataclasses.replace(TINY, total_steps=10**9)
    facts = run_training(endless, tmp_path, minutes=1e-6, evaluation=False)
    assert (facts["steps"], facts["interrupted"], facts["evaluation"]) == (256, False, {})


# Going on


def test_a_run_goes_on_from_a_learner_with_its_counters(tmp_path):
    half = dataclasses.replace(TINY, total_steps=512)
    run_training(half, tmp_path / "half", evaluation=False)
    facts = run_training(TINY, tmp_path / "rest", start=tmp_path / "half" / "learner.pt", evaluation=False)
    rows = metrics.read_rows(tmp_path / "rest" / "metrics.csv")
    assert [row[metrics.STEP] for row in rows] == [768, 1_024]
    assert rows[-1]["train/n_updates"] == 4 * TINY.epochs
    assert (facts["steps"], facts["started_from"]) == (1_024, "learner.pt")


def test_a_run_from_an_agent_starts_with_what_it_can(tmp_path):
    run_training(dataclasses.replace(CARTPOLE_PPO, total_steps=20_480), tmp_path / "first", evaluation=False)
    short = dataclasses.replace(TINY, total_steps=1_536)
    facts = run_training(short, tmp_path / "more", start=tmp_path / "first" / "agent.pt", evaluation=False)
    fresh = run_training(short, tmp_path / "fresh", evaluation=False)
    assert facts["steps"] == 1_536
    assert facts["training_score"] > 2 * fresh["training_score"]


# Wrong input: one line with the cure, and nothing left behind


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["breakout"], 2, "there is no game 'breakout'; choose one of: pong, cartpole"),
        (["pong", "--seed", "-1"], 1, "seed must not be negative, got -1"),
        (["pong", "--steps", "0"], 1, "total_steps must be at least 1, got 0"),
        (["pong", "--minutes", "0"], 1, "minutes must be positive, got 0.0"),
        (["pong", "--minutes", "nan"], 1, "minutes must be positive"),
        (["pong", "--from", "none.pt"], 1, "there is no checkpoint none.pt: give a file such as RUN/learner.pt"),
        (["pong", "--from", "{tmp}"], 1, "there is no checkpoint"),
        (["pong", "--from", "{tmp}/foreign.pt"], 1, "does not hold an agent"),
        (["cartpole", "--from", "{tmp}/other.pt"], 1, "has hidden_size 5, this run asks for 64"),
        (["cartpole", "--output", "{tmp}/foreign.pt"], 1, "Check that the folder exists and can be written to"),
        (["cartpole", "--output", "{tmp}"], 1, "holds a run already: choose another folder"),
    ],
)
def test_wrong_input_is_one_line_and_starts_nothing(tmp_path, monkeypatch, run, arguments, code, message):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path / "home"))
    (tmp_path / "foreign.pt").write_text("a text")
    (tmp_path / "metrics.csv").write_text("step,name,value\n")
    save_agent(tmp_path / "other.pt", train_command.saved.ActorCritic((4,), 2, hidden_size=5))
    found, out, error = run(*(argument.format(tmp=tmp_path) for argument in arguments))
    assert (found, out) == (code, "")
    assert error.startswith("course train: ")
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "home").exists()


def test_a_learner_with_no_steps_left_is_refused(tmp_path):
    run_training(TINY, tmp_path / "first", evaluation=False)
    with pytest.raises(ValueError, match="has done 1,024 of 1,024 steps: ask for more steps"):
        run_training(TINY, tmp_path / "second", start=tmp_path / "first" / "learner.pt")
    assert not (tmp_path / "second").exists()


def test_a_card_that_is_not_there_is_one_line(run, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    code, out, error = run("pong", "--device", "cuda")
    assert (code, out) == (1, "")
    assert error == "course train: torch sees no CUDA device: `course doctor` finds out why; --device cpu works\n"


# The command


def test_the_command_trains_into_a_new_run_and_says_what_it_does(tmp_path, monkeypatch, run):
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    code, out, error = run("cartpole", "--seed", 3, "--steps", 1500)
    (folder,) = (tmp_path / "runs").iterdir()
    assert (code, error) == (0, "")
    assert files(folder) == FILES
    plan, estimate, stored, *rest = out.splitlines()
    assert plan.startswith("CartPole-v1, seed 3, on c")
    assert "6 rollouts of 8 x 32 steps = 1,536 steps" in plan
    assert estimate.startswith("at this speed it takes ")
    assert f"saved {folder / 'agent.pt'} after " in stored
    assert stored.endswith(f"to go on: --from {folder / 'learner.pt'}")
    assert [line.split(":")[0].strip() for line in rest] == ["evaluation of agent.pt", "sampled", "likeliest"]
    facts = facts_in(folder)
    assert facts["command"] == "course train cartpole --seed 3 --steps 1500"
    assert facts["config"]["seed"] == 3
    assert facts_in(folder, "environment.json")["seeds"] == {"training": 3}


def test_as_json_standard_output_holds_the_result_alone(tmp_path, run):
    code, out, error = run("cartpole", "--steps", 256, "--no-evaluation", "--json", "--output", tmp_path / "run")
    facts = json.loads(out)
    assert code == 0
    assert facts == {**facts_in(tmp_path / "run"), "checkpoint": str(tmp_path / "run" / "agent.pt")}
    assert (facts["score"], facts["evaluation"]) == (None, {})
    assert "1 rollouts" in error


def test_an_interrupt_of_the_evaluation_keeps_the_agent(tmp_path, monkeypatch, run):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(train_command, "evaluate_game", interrupt)
    code, out, error = run("cartpole", "--steps", 256, "--output", tmp_path)
    assert (code, error) == (130, "course: interrupted\n")
    assert files(tmp_path) == FILES
    assert f"saved {tmp_path / 'agent.pt'}" in out
    assert facts_in(tmp_path)["score"] is None


def test_an_interrupt_saves_what_was_learned_at_once_and_leaves_nothing_running(tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "course_utils", "train", "pong", "--steps", "100000000", "--output", str(folder)]
    with (tmp_path / "out").open("w") as out, (tmp_path / "error").open("w") as error:
        child = subprocess.Popen(command, stdout=out, stderr=error, start_new_session=True)
        try:
            deadline = time.monotonic() + 120
            while not ((folder / "metrics.csv").exists() and "n_updates" in (folder / "metrics.csv").read_text()):
                assert child.poll() is None, (tmp_path / "error").read_text()
                assert time.monotonic() < deadline, "no update in two minutes"
                time.sleep(0.1)
            os.kill(child.pid, signal.SIGINT)
            assert child.wait(timeout=60) == 130
        finally:
            child.kill()
            child.wait()
    assert files(folder) == FILES
    facts = facts_in(folder)
    assert facts["interrupted"]
    assert facts["steps"] == metrics.read_rows(folder / "metrics.csv")[-1][metrics.STEP] > 0
    assert load_agent(folder / "agent.pt").policy.out_features == 3
    text = (tmp_path / "out").read_text()
    assert f"--from {folder / 'learner.pt'}" in text
    assert "evaluation" not in text
    assert "Traceback" not in (tmp_path / "error").read_text()
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)
