"""What was learned survives saving and loading, and what comes with the course is as good as it says."""

import dataclasses
import json

import pytest
import torch

from course_utils.agents.networks import ActorCritic, PolicyNet
from course_utils.agents.ppo import train
from course_utils.agents.ppo_config import CARTPOLE_PPO, PONG_PPO
from course_utils.agents.rollout import evaluate
from course_utils.agents.saved import (
    TRAINED_CARTPOLE,
    load_agent,
    load_policy,
    load_start,
    save_agent,
    save_learner,
    save_policy,
)


def test_a_loaded_policy_answers_as_the_saved_one(tmp_path):
    torch.manual_seed(0)
    policy, observations = PolicyNet(6, 3, 17), torch.randn(5, 6)
    path = save_policy(policy, tmp_path / "new" / "policy.pt", {"seed": 0})
    torch.testing.assert_close(load_policy(path)(observations), policy(observations))
    assert json.loads(path.with_suffix(".json").read_text()) == {"seed": 0}
    assert sorted(file.name for file in path.parent.iterdir()) == ["policy.json", "policy.pt"]


def test_a_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_policy(tmp_path / "none.pt")


@pytest.mark.parametrize("content", ["garbage", "other network"])
def test_a_file_that_holds_something_else_is_refused(tmp_path, content):
    path = tmp_path / "policy.pt"
    if content == "garbage":
        path.write_bytes(b"not weights")
    else:
        torch.save(torch.nn.Linear(2, 2).state_dict(), path)
    with pytest.raises(ValueError, match="does not hold the weights of a PolicyNet"):
        load_policy(path)


def test_the_trained_policy_that_comes_with_the_course_balances_the_pole():
    facts = json.loads(TRAINED_CARTPOLE.with_suffix(".json").read_text())
    assert TRAINED_CARTPOLE.stat().st_size < 50_000
    assert min(facts["mean_return_sampled_actions"], facts["mean_return_likeliest_action"]) >= 475
    assert evaluate(load_policy(), deterministic=True, episodes=10).mean >= 450
    assert evaluate(PolicyNet(4, 2), deterministic=True, episodes=10).mean < 250


# Networks with a policy and a value


def network(convolutions=((4, 6, 3), (8, 3, 2)), **arguments) -> ActorCritic:
    torch.manual_seed(0)
    return ActorCritic((4, 42, 42), 3, convolutions, 16, **{"pixel_mean": 92.0, "pixel_scale": 64.0, **arguments})


def test_a_loaded_agent_sees_decides_and_judges_as_the_saved_one(tmp_path):
    one = network()
    one.policy.weight.data.normal_()  # decisions that matter: at the start all actions are about as likely
    path = save_agent(tmp_path / "new" / "agent.pt", one, {"seed": 3, "score": 18.5})
    other = load_agent(path)
    frames = torch.randint(0, 256, (64, 4, 42, 42), dtype=torch.uint8)
    inputs = one.prepare(frames)
    torch.testing.assert_close(other.prepare(frames), inputs)
    (logits, values), (loaded_logits, loaded_values) = one(inputs), other(inputs)
    assert (loaded_logits.softmax(-1) - logits.softmax(-1)).abs().max() < 0.01
    assert (loaded_values - values).abs().max() < 0.01
    assert loaded_logits.dtype == torch.float32
    assert json.loads(path.with_suffix(".json").read_text()) == {"seed": 3, "score": 18.5}
    assert sorted(file.name for file in path.parent.iterdir()) == ["agent.json", "agent.pt"]


def test_an_agent_takes_two_bytes_a_weight(tmp_path):
    one = network(((32, 8, 4), (64, 4, 2)))
    count = sum(parameter.numel() for parameter in one.parameters())
    assert 2 * count < save_agent(tmp_path / "agent.pt", one).stat().st_size < 2 * count + 5_000


def test_an_agent_without_convolutions_is_kept_too(tmp_path):
    one = ActorCritic((4,), 2, hidden_size=7)
    other = load_agent(save_agent(tmp_path / "agent.pt", one))
    torch.testing.assert_close(other(torch.ones(3, 4))[0], one(torch.ones(3, 4))[0], atol=1e-3, rtol=1e-2)


@pytest.mark.parametrize("save", [save_agent, save_policy])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, save):
    arguments = (network(), tmp_path / "agent.pt") if save is save_policy else (tmp_path / "agent.pt", network())
    save(*arguments)
    before = (tmp_path / "agent.pt").read_bytes()

    def half(content, path):
        path.write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(torch, "save", half)
    with pytest.raises(KeyboardInterrupt):
        save(*arguments)
    assert (tmp_path / "agent.pt").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["agent.pt"]


def damaged(path, how: str) -> None:
    content = torch.load(save_agent(path, network()), weights_only=True)
    if how == "garbage":
        path.write_bytes(b"not an agent")
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut short":
        path.write_bytes(path.read_bytes()[:3_000])
    elif how == "a policy":
        save_policy(PolicyNet(4, 2), path)
    elif how == "a list":
        torch.save([1, 2], path)
    elif how == "weights of another shape":
        torch.save(content | {"arguments": content["arguments"] | {"hidden_size": 17}}, path)
    elif how == "code":
        torch.save({"arguments": print, "network": {}}, path)


@pytest.mark.parametrize(
    "how", ["garbage", "empty", "cut short", "a policy", "a list", "weights of another shape", "code"]
)
def test_a_file_that_holds_no_agent_is_refused_in_one_line(tmp_path, how):
    path = tmp_path / "agent.pt"
    damaged(path, how)
    for load in (load_agent, lambda path: load_start(path, PONG)):
        with pytest.raises(ValueError, match="does not hold an agent") as caught:
            load(path)
        assert "\n" not in str(caught.value)


def test_a_missing_agent_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_agent(tmp_path / "none.pt")


# Going on

SHORT = dataclasses.replace(CARTPOLE_PPO, total_steps=1_024)
PONG = dataclasses.replace(
    PONG_PPO, convolutions=((4, 6, 3), (8, 3, 2)), hidden_size=16, pixel_mean=92.0, pixel_scale=64.0
)


def weights(of: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in of.parameters()])


def test_a_saved_learner_goes_on_with_its_counters_and_its_optimiser(tmp_path):
    first = train(SHORT, on_update=lambda agent: agent.steps >= 512)
    start = load_start(save_learner(tmp_path / "learner.pt", first.learner), SHORT)
    on_the_way = []
    second = train(SHORT, start=start, on_update=lambda agent: on_the_way.append(agent.steps))
    assert on_the_way == [768, 1_024]
    assert second.learner.updates == 4 * SHORT.epochs
    (state, *_) = second.learner.optimizer.state.values()
    assert state["step"].item() == second.learner.updates  # one minibatch an epoch
    assert torch.equal(start["network"]["policy.bias"], first.network.policy.bias)
    again = train(SHORT, start=load_start(tmp_path / "learner.pt", SHORT))
    assert torch.equal(weights(again.network), weights(second.network))
    assert load_agent(tmp_path / "learner.pt").policy.out_features == 2  # such a file is an agent as well


def test_from_a_saved_agent_training_starts_with_its_weights_and_counts_from_0(tmp_path):
    first = train(dataclasses.replace(SHORT, seed=5))
    path = save_agent(tmp_path / "agent.pt", first.network)
    still = train(dataclasses.replace(SHORT, learning_rate=0.0), start=load_start(path, SHORT))
    assert torch.equal(weights(still.network), weights(load_agent(path)))
    moved = train(SHORT, start=load_start(path, SHORT))
    assert moved.steps == 1_024
    assert not torch.equal(weights(moved.network), weights(still.network))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": 32}, "has hidden_size 16, this run asks for 32"),
        ({"pixel_mean": 0.0}, "has pixel_mean 92.0, this run asks for 0.0"),  # of the same shape
        ({"pixel_scale": 255.0}, "has pixel_scale 64.0"),
        ({"convolutions": ((4, 6, 3), (8, 3, 1))}, "has convolutions"),
    ],
)
def test_going_on_with_other_settings_of_the_network_is_refused(tmp_path, change, message):
    path = save_agent(tmp_path / "agent.pt", network())
    assert set(load_start(path, PONG)) == {"arguments", "network"}
    with pytest.raises(ValueError, match=message) as caught:
        load_start(path, dataclasses.replace(PONG, **change))
    assert "\n" not in str(caught.value)


def test_going_on_in_another_game_is_refused_in_one_line(tmp_path):
    path = save_agent(tmp_path / "agent.pt", ActorCritic((4,), 5, hidden_size=SHORT.hidden_size))
    with pytest.raises(ValueError, match="belongs to another network") as caught:
        train(SHORT, start=load_start(path, SHORT))
    assert "\n" not in str(caught.value)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_what_was_learned_on_a_card_goes_on_without_one_and_back(tmp_path):
    agent = train(SHORT, device="cuda")
    path = save_learner(tmp_path / "learner.pt", agent.learner)
    longer = dataclasses.replace(SHORT, total_steps=1_536)
    on_cpu = train(longer, start=load_start(path, longer))
    on_card = train(longer, start=load_start(path, longer), device="cuda")
    assert (on_cpu.steps, on_card.steps) == (1_536, 1_536)
    assert load_agent(save_agent(tmp_path / "agent.pt", agent.network), "cuda").value.weight.device.type == "cuda"
