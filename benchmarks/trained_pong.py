"""Take the Pong agents that come with the course, and the README's pictures, from the runs of benchmarks/learning.py.

    python benchmarks/learning.py        # first: trains the seeds, keeps the runs in build/learning
    python benchmarks/trained_pong.py    # about a minute; writes course_utils/agents/trained and notebooks/figures

The seed is the one with the median time among those that were solved. Its last agent and, of those kept on the way, the
ones whose judged scores are nearest to -15, 0 and +10 are copied with the .json that says how each was made; the film
and the curve have one beside them too.
"""

import json
import shutil
import sys
from pathlib import Path

import matplotlib
from learning import RESULT, RUNS

from course_utils.agents.envs import one_game
from course_utils.agents.ppo_config import PONG_PPO
from course_utils.agents.rollout import actor
from course_utils.agents.saved import TRAINED_CARTPOLE, load_agent
from course_utils.lessons import plots
from course_utils.machine import display
from course_utils.machine.runtime import write_whole

FIGURES = Path(__file__).resolve().parents[1] / "notebooks" / "figures"
LADDER = {"pong_minus15": -15.0, "pong_plus0": 0.0, "pong_plus10": 10.0}
FILM = {"max_steps": 300, "seed": 1, "fps": 15}


def main() -> int:
    content = json.loads(RESULT.read_text())
    solved = sorted((run["minutes"], run["seed"]) for run in content["runs"] if run["solved"])
    if not solved:
        print(f"no seed in {RESULT.name} is solved: nothing to ship", file=sys.stderr)
        return 1
    seed = solved[len(solved) // 2][1]
    folder = RUNS / f"seed_{seed}"
    scores = {path.stem: json.loads(path.read_text())["score"] for path in folder.glob("score_*.json")}
    names = {}
    for name, score in LADDER.items():
        nearest = min(scores, key=lambda kept: abs(scores[kept] - score))
        names[nearest] = name
        del scores[nearest]
    for kept, name in {**names, "agent": "pong_best"}.items():
        for suffix in (".pt", ".json"):
            shutil.copyfile(folder / (kept + suffix), TRAINED_CARTPOLE.parent / (name + suffix))
    facts = json.loads((folder / "agent.json").read_text())
    summary = {key: facts[key] for key in ("command", "seed", "steps", "minutes", "score", "machine")}

    network = load_agent(folder / "agent.pt")
    game = one_game(
        PONG_PPO.environment, PONG_PPO.image_size, PONG_PPO.stack, moves=PONG_PPO.moves, render_mode="rgb_array"
    )
    act = actor(lambda seen: network(network.prepare(seen))[0], deterministic=False)
    FIGURES.mkdir(exist_ok=True)
    film = display.record(game, act, FIGURES / "pong.gif", **FILM)
    game.close()
    write_whole(film.with_suffix(".json"), json.dumps({**summary, "film": FILM}, indent=2) + "\n")

    matplotlib.use("Agg")
    figure = matplotlib.pyplot.figure(figsize=(7, 3.6), layout="constrained")
    plots.score_band()
    figure.savefig(FIGURES / "pong_learning.png", dpi=110)
    curve = {"command": "python benchmarks/trained_pong.py", "data": f"benchmarks/results/{RESULT.name}"}
    write_whole(FIGURES / "pong_learning.json", json.dumps({**curve, **content["summary"]}, indent=2) + "\n")
    print(json.dumps(summary))
    return 0


if __name__ == "__main__":
    sys.exit(main())
