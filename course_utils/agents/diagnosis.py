"""What is wrong with a run of PPO? `diagnose` reads its metrics; `BROKEN` holds runs to practise on.

Metrics have Stable-Baselines3's names, so that its logs can be read too; a rule whose metrics are missing is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from course_utils.agents.metrics import STEP, Log
from course_utils.agents.ppo_config import CARTPOLE_PPO, PPOConfig

# Where healthy and broken lie far apart: CartPole with HEALTHY and with BROKEN, Pong on its way from -21 to 18 points.
MIN_ROWS = 10  # PPOConfig.plan warns below the same number of rollouts
VALUE_ROWS, SCORE_ROWS = 20, 30  # healthy CARTPOLE_PPO foresees nothing before, and few short games look like a fall
KL_HIGH = 0.1  # nats. target_kl is usually 0.01 to 0.03; Pong that learns stays below 0.07, CartPole unclipped has 0.3.
# KL is about half the mean square of the log ratio: 0.1 is a ratio of e^0.45 = 1.6, far outside the usual 0.8 to 1.2.
KL_NONE, CLIP_NONE = 1e-4, 1e-3  # runs that learn have a KL of 0.002 to 0.03; at 1/300 of the learning rate it is 1e-5
CLIP_HIGH = 0.5  # 0.05 to 0.3 is usual and 0.4 still learns; above, most of the batch teaches nothing
ENTROPY_NONE = 0.02  # nats; of two moves the likelier one is then chosen in 99.7 % of the steps
VALUE_GROWTH = 10.0  # the value loss grows with the score as well: by 5 where CartPole triples its score undiscounted
EXPLAINED_NONE = 0.05  # of the best quarter of the rollouts; a value network that learns passes 0.15 early
LARGE = 0.3  # a change of the score by this share of its size is no noise; Pong on its way to 18 loses a tenth at most
STUCK_STEPS = 2_000_000  # a rule of thumb: with common settings Pong leaves -21 within one or two million steps


@dataclass(frozen=True)
class Diagnosis:
    """One thing that is wrong with a run: its code (a key of TITLES), and what shows it and what to do, in words."""

    code: str
    title: str
    evidence: str
    cure: str

    def __str__(self) -> str:
        return f"{self.title}. {self.evidence}. Cure: {self.cure}."


CATALOGUE = {  # code: title, cure; the most serious first
    "not_finite": (
        "A number is no longer finite",
        "return to the last checkpoint; a lower learning rate, max_grad_norm 0.5; look for a division by or log of 0",
    ),
    "entropy_collapse": (
        "The policy is sure of itself before it can play",
        "start again with a lower learning rate or a higher entropy_coefficient (0.01): waiting does not help",
    ),
    "kl_too_large": ("Updates are too large", "clip_range 0.2, a lower learning rate, fewer epochs, or target_kl 0.02"),
    "value_loss_explosion": ("The value loss explodes", "a lower learning rate, max_grad_norm 0.5, clip_rewards"),
    "learning_rate_low": (
        "The policy hardly changes",
        "raise learning_rate (1e-4 to 3e-3) or max_grad_norm (0.5); else the optimiser holds other parameters",
    ),
    "stuck": (
        "Nothing learned in a long time: suspect a bug",
        "check one by one: does it solve CartPole and the probe environments? does a random agent score the same? do "
        "rewards arrive, with the right sign? do actions reach the game, and does it start (FIRE)? do pictures change? "
        "is an episode's last observation kept apart from the next one's first?",
    ),
    "value_not_learned": ("The value network learns nothing", "value_coefficient 0.5; check its targets and gamma"),
    "score_collapsed": ("The score collapsed", "return to the best checkpoint; a linear schedule or target_kl 0.02"),
    "clip_fraction_high": ("Most of a batch is clipped", "clip_range 0.2, a lower learning rate, or fewer epochs"),
    "reward_not_score": (
        "This may be the reward, not the game's score",
        "record the score inside of all wrappers that change rewards or end episodes early; evaluate without them",
    ),
    "too_early": ("Too early to judge", "train on: a score that has not moved yet says nothing about the settings"),
}
TITLES = {code: title for code, (title, _) in CATALOGUE.items()}


def diagnose(log: Log) -> list[Diagnosis]:
    """Return what is wrong with the run as it is now, the most serious first; an empty list where nothing is.

    Below 10 rollouts it is too early to judge anything but numbers that are not finite; so it is where no fault shows
    but the score does not rise either. After 2 million steps at the lowest score that is stuck.
    """
    found = {"not_finite": _not_finite(log)}
    rollouts = sum("train/approx_kl" in row or "train/value_loss" in row for row in log.rows)
    if rollouts < MIN_ROWS:
        found["too_early"] = f"{rollouts} rollouts so far; fewer than {MIN_ROWS} show nothing but chance"
    else:
        score = _Score(_series(log, "rollout/ep_rew_mean"))
        found |= _policy(log, score) | _values(log) | _scores(log, score)
        if score.known and not score.rising and _steps(log) < STUCK_STEPS and not any(found.values()):
            found["too_early"] = f"{_steps(log):,} steps at a score of {score.now:.4g}; large games need millions"
    return [Diagnosis(code, title, found[code], cure) for code, (title, cure) in CATALOGUE.items() if found.get(code)]


def _series(log: Log, name: str) -> np.ndarray:
    return np.array([row[name] for row in log.rows if math.isfinite(row.get(name, math.nan))])


def _steps(log: Log) -> int:
    return int(max(row.get(STEP, 0) for row in log.rows))


def _late(values: np.ndarray, quantile: float = 0.5) -> float:
    """Return a quantile of the last half, by default its median; NaN, which no comparison is true for, without any."""
    return float(np.quantile(values[values.size // 2 :], quantile)) if values.size else math.nan


def _early(values: np.ndarray, parts: int) -> float:
    """Return the median of the first half (parts=2), quarter (4), ...; NaN without any."""
    return float(np.median(values[: max(1, values.size // parts)])) if values.size else math.nan


class _Score:
    """The score's start, now, best and worst, each a mean over 10 rows or a twentieth, and whether it rises."""

    def __init__(self, score: np.ndarray) -> None:
        self.known, self.rising, self.moved, self.fallen = score.size > 0, False, False, False
        width = max(min(10, score.size), score.size // 20)
        smooth = np.convolve(score, np.ones(width) / width, "valid") if self.known else np.array([math.nan])
        self.start, self.now, self.best, self.worst = smooth[0], smooth[-1], smooth.max(), smooth.min()
        if not self.known:
            return
        self.moved = self.now - self.start > LARGE * max(abs(self.start), abs(self.now))
        # Slow and steady counts too. Of ten means, three quarters of the pairs ascend: Kendall's tau of 0.5, which one
        # run in fifty without a trend would show.
        means = np.array([block.mean() for block in np.array_split(score, min(10, score.size))])
        signs = np.sign(means[None, :] - means[:, None])[np.triu_indices(means.size, 1)]
        self.rising = self.moved or (signs.size > 0 and signs.mean() >= 0.5)
        lost = self.best - self.now
        deep = lost > (self.best - self.worst) / 2 and lost > LARGE * max(abs(self.best), abs(self.worst))
        self.fallen = deep and score.size >= SCORE_ROWS


def _not_finite(log: Log) -> str:
    # SB3 itself writes NaN as the explained variance of equal returns, and as the score before an episode has ended.
    for row in log.rows:
        for name, value in row.items():
            if not math.isfinite(value) and name.startswith("train/") and name != "train/explained_variance":
                return f"{name} is {value} at step {int(row.get(STEP, 0)):,}"
    return ""


def _policy(log: Log, score: _Score) -> dict[str, str]:
    kl, clip = _series(log, "train/approx_kl"), _series(log, "train/clip_fraction")
    entropy = -_series(log, "train/entropy_loss")
    found = {}
    if _late(entropy) < ENTROPY_NONE and (score.fallen or not score.rising):  # who plays well may be sure of it
        found["entropy_collapse"] = f"entropy {_late(entropy):.2g} nats at a score of {score.now:.4g}"
    far = max(_late(kl, 0.75), _early(kl, 1))  # one bad update in four loses the way; a schedule may hide it at the end
    if far > KL_HIGH:
        found["kl_too_large"] = f"approx_kl above {far:.2g} nats in a quarter of the updates; usual is 0.01"
    still = max(_early(kl, 2), _late(kl)) < KL_NONE and _early(clip, 2) < CLIP_NONE
    if score.known and still and not (score.moved or found):  # a collapsed policy is as still, at too high a rate
        seen = f"approx_kl {_early(kl, 2):.1g}, clip fraction {_early(clip, 2):.1g}"  # early too: schedules end at 0
        found["learning_rate_low"] = f"{seen}, and the score stays at {score.now:.4g}"
    if _late(clip) > CLIP_HIGH:
        found["clip_fraction_high"] = f"{_late(clip):.0%} of the steps lie outside the clip range; usual is 5 to 30 %"
    lowest = score.now - score.worst <= LARGE / 6 * max(abs(score.best), abs(score.worst))
    if lowest and not score.rising and _steps(log) >= STUCK_STEPS:
        found["stuck"] = f"{_steps(log):,} steps, score {score.now:.4g}, its lowest; entropy {_late(entropy):.3g} nats"
    return found


def _values(log: Log) -> dict[str, str]:
    loss, explained = _series(log, "train/value_loss"), _series(log, "train/explained_variance")
    grown, seen = _late(loss) / max(_early(loss, 4), 1e-8), f"explained variance {_late(explained):.2g} (1 is perfect)"
    if grown > VALUE_GROWTH and _late(explained) <= 0:
        return {"value_loss_explosion": f"value loss {_early(loss, 4):.3g} at first, {_late(loss):.3g} now; {seen}"}
    # When every episode lasts to its end, returns are alike and nothing is left to explain: but then the loss fell.
    if explained.size >= VALUE_ROWS and grown > 0.7 and _late(explained, 0.75) <= EXPLAINED_NONE:
        return {"value_not_learned": f"{seen}, and the value loss went from {_early(loss, 4):.3g} to {_late(loss):.3g}"}
    return {}


def _scores(log: Log, score: _Score) -> dict[str, str]:
    """Find a fall, and hints at clipped rewards; where a game's rewards are 1 anyway, nothing can tell them apart."""
    found = {"score_collapsed": f"score {score.now:.4g}, {score.best:.4g} at its best" if score.fallen else ""}
    evaluated, played = _series(log, "eval/mean_reward"), _series(log, "rollout/ep_rew_mean")
    length = _late(_series(log, "rollout/ep_len_mean"))
    if evaluated.size and abs(_late(evaluated)) > 3 * abs(_late(played)) > 0:
        found["reward_not_score"] = f"training scores {_late(played):.4g}, evaluation {_late(evaluated):.4g}"
    elif played.size and 0 < np.abs(played).max() <= 1 and length >= 20:
        found["reward_not_score"] = (
            f"the score never leaves -1 to 1, though episodes last {length:.0f} steps: so look clipped rewards where "
            f"points or lives end episodes. A game that pays once looks the same"
        )
    return found


# --- runs to practise on ---

HEALTHY = replace(
    CARTPOLE_PPO, steps=64, minibatch_size=64, epochs=10, learning_rate=3e-3, gae_lambda=0.95, total_steps=16_384
)
"""CartPole, faster and rougher: learns within 16,384 steps"""


class Broken(NamedTuple):
    """A run that fails, the code that `diagnose` names first, and the field that `cured` changes."""

    config: PPOConfig
    code: str
    field: str


def _broken(code: str, **change: float) -> Broken:
    return Broken(replace(HEALTHY, **{"total_steps": 10_240} | change), code, *change)


BROKEN = {
    "giant steps": _broken("entropy_collapse", learning_rate=0.3),
    "tiny steps": _broken("learning_rate_low", learning_rate=1e-5),
    "no clipping": _broken("kl_too_large", clip_range=1e9),
    "all clipped": _broken("clip_fraction_high", clip_range=0.001),
    "no critic": _broken("value_not_learned", value_coefficient=0.0),
    "cut short": _broken("too_early", total_steps=2_048),
}
"""CartPole with one wrong setting; seconds each"""


def cured(name: str) -> PPOConfig:
    """Return a run of BROKEN with its one wrong field as in HEALTHY. Raises KeyError for other names."""
    config, _, field = BROKEN[name]
    return replace(config, **{field: getattr(HEALTHY, field)})
