"""PPO's settings: what a run is made of, and the recipes that were found for CartPole and Pong."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from course_utils.agents import precision
from course_utils.agents.envs import CARTPOLE, PONG, PONG_MOVES
from course_utils.agents.networks import Convolution

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda left: 1.0,
    "linear": lambda left: left,
    "cosine": lambda left: 0.5 * (1 - math.cos(math.pi * left)),
}
"""what a number is multiplied by when `left` (1 to 0) of the steps are left"""


@dataclass(frozen=True)
class PPOConfig:
    """What a run of PPO is made of. Without `overlap` or with it, one config gives one result on one machine."""

    environment: str = CARTPOLE
    """a gymnasium id, or an Atari game in ale-py's spelling, such as pong"""
    seed: int = 0
    """of the network, the sampled actions, the minibatches and the environments"""
    total_steps: int = 100_000
    """environment steps, all environments together; training works in whole rollouts and so may go a little over"""
    envs: int = 8
    """environments that play side by side"""
    steps: int = 128
    """steps per environment and rollout; SB3's n_steps"""
    epochs: int = 4
    """times that each rollout is gone through; SB3's n_epochs"""
    minibatch_size: int = 256
    """steps per gradient step; SB3's batch_size. Must divide envs * steps"""
    learning_rate: float = 2.5e-4
    """of Adam, at the start"""
    learning_rate_schedule: str = "constant"
    """constant, linear (to 0 at total_steps) or cosine (to 0 at total_steps)"""
    gamma: float = 0.99
    """discount factor, from 0 to 1"""
    gae_lambda: float = 0.95
    """from 0 (trust the values) to 1 (trust the rewards)"""
    clip_range: float = 0.2
    """the ratio's gain is cut off beyond 1 - clip_range and 1 + clip_range"""
    entropy_coefficient: float = 0.01
    """weight of the entropy bonus, at the start; SB3's ent_coef"""
    entropy_schedule: str = "constant"
    """as learning_rate_schedule, for the weight of the entropy bonus"""
    value_coefficient: float = 0.5
    """weight of the value loss; SB3's vf_coef"""
    max_grad_norm: float = 0.5
    """a longer gradient is scaled down to this length"""
    target_kl: float | None = None
    """leave the remaining epochs out once the policy has moved this far (approx_kl), in nats"""
    clip_rewards: bool = False
    """learn from the sign of the reward only; scores are always the game's own"""
    end_at_points: bool = False
    """Pong only: to the learner every point ends an episode, as the next serve owes nothing to it"""
    moves: tuple[int, ...] | None = None
    """Pong only: the game's actions that the agent may choose from; None: all of them"""
    image_size: int = 84
    """games only: height and width in pixels"""
    stack: int = 4
    """games only: frames seen at once"""
    sticky: float = 0.0
    """games only: probability that the emulator repeats the last action instead of the chosen one"""
    convolutions: tuple[Convolution, ...] = ()
    """games only: channels, kernel size and stride of each layer"""
    hidden_size: int = 64
    """units in the layer after the convolutions"""
    pixel_mean: float = 0.0
    """games only: subtracted from each pixel (0 to 255) ..."""
    pixel_scale: float = 255.0
    """... and what the rest is divided by"""
    solved_at: float | None = None
    """stop once the last 20 finished games reach this mean score"""
    overlap: bool = False
    """play the next rollout while learning from the last: its policy is then one update old"""
    precision: str = "float32"
    """of the network's body: float32, bfloat16, float16, or auto: by device and size, see `agents.precision`"""
    torch_threads: int = 1
    """threads of each torch operation on the CPU"""

    def __post_init__(self) -> None:
        for name in ("total_steps", "envs", "steps", "epochs", "minibatch_size", "hidden_size", "image_size", "stack"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("seed", "learning_rate", "entropy_coefficient", "value_coefficient"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")
        for name in ("gamma", "gae_lambda", "sticky"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie between 0 and 1, got {getattr(self, name)}")
        for name in ("clip_range", "max_grad_norm", "pixel_scale"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.batch_size % self.minibatch_size:
            raise ValueError(
                f"minibatch_size {self.minibatch_size} must divide envs * steps = {self.batch_size}: the rest would be "
                f"a smaller minibatch, and one of a single step has no standard deviation"
            )
        for name in ("learning_rate_schedule", "entropy_schedule"):
            if getattr(self, name) not in SCHEDULES:
                raise ValueError(f"{name} must be one of {', '.join(SCHEDULES)}, not {getattr(self, name)!r}")

        precision.choose(self.precision, "cpu", parameters=0)  # raises for an unknown name

    @property
    def batch_size(self) -> int:
        """Steps in one rollout."""
        return self.envs * self.steps

    def plan(self) -> str:
        """Say in one line what this will really do: whole rollouts only."""
        rollouts = math.ceil(self.total_steps / self.batch_size)
        updates = rollouts * self.epochs * self.batch_size // self.minibatch_size
        warning = "; fewer than 10 rollouts teach next to nothing" if rollouts < 10 else ""
        return (
            f"{rollouts} rollouts of {self.envs} x {self.steps} steps = {rollouts * self.batch_size:,} steps, "
            f"{updates:,} gradient steps{warning}"
        )


CARTPOLE_PPO = PPOConfig(
    steps=32,
    epochs=20,
    learning_rate=1e-3,
    learning_rate_schedule="linear",
    gamma=0.98,
    gae_lambda=0.8,
    entropy_coefficient=0.0,
)
"""CartPole, within a minute"""
PONG_PPO = PPOConfig(
    environment=PONG,
    total_steps=1_000_000,
    envs=16,
    steps=64,
    minibatch_size=64,
    learning_rate=1e-3,
    learning_rate_schedule="linear",
    entropy_coefficient=0.01,
    entropy_schedule="linear",
    end_at_points=True,
    moves=PONG_MOVES,
    image_size=42,
    convolutions=((16, 8, 4), (32, 4, 2)),
    hidden_size=128,
    pixel_mean=92.0,
    pixel_scale=64.0,
    solved_at=18.5,
    overlap=True,
)
"""Pong on two CPU cores, from pixels; what else can be chosen is compared by benchmarks/pong_search.py"""
PONG_SMOKE_STEPS = 12_288
"""enough for `PPOAgent.value_learned` with every seed; `benchmarks/pong_smoke.py` checks it"""
