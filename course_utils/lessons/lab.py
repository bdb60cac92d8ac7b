"""The instability lab of notebook 05: runs to diagnose by their curves, and a broken configuration to cure."""

from __future__ import annotations

import dataclasses
import difflib

from course_utils.agents.diagnosis import BROKEN, HEALTHY, TITLES
from course_utils.agents.ppo_config import PPOConfig

_NAMES = {"A": "no critic", "B": "no clipping", "C": None, "D": "all clipped", "E": "tiny steps"}
RUNS = {run: BROKEN[name].config if name else HEALTHY for run, name in _NAMES.items()}
"""letter -> configuration; the notebook shows nothing but the curves"""
CODES = {run: BROKEN[name].code if name else "healthy" for run, name in _NAMES.items()}
"""letter -> code of what is wrong, a key of `diagnosis.TITLES`"""
SHOWN = {
    "A": "KL and clip fraction are as usual and the score rises, but the explained variance stays at 0",
    "B": "KL is about 1 nat, a hundred times the usual, and no ratio is ever clipped",
    "C": "KL is about 0.01, a tenth of the ratios is clipped, the entropy falls slowly, more and more is explained",
    "D": "far more than half of the ratios are clipped, although KL is tiny: hardly any of the batch is used",
    "E": "KL is about 1e-5, no ratio is clipped, the entropy stays at ln 2: nothing changes, the values included",
}
"""letter -> what its curves show"""
UNSTABLE = dataclasses.replace(HEALTHY, learning_rate=0.1, learning_rate_schedule="constant", max_grad_norm=1e9)
"""CartPole with steps so long that KL stays far above what is usual, whatever the seed"""
NO_CURE = {
    "max_grad_norm": "Adam divides each gradient by its usual size, so cutting it hardly changes the step",
    "learning_rate_schedule": "a schedule begins with the full rate, and the damage is done in the first updates",
    "target_kl": "it ends an update only after a pass that went too far already",
    "clip_range": "the clip takes the pull away after a step has left the range; it does not shorten the step",
    "epochs": "fewer steps, each of them as long as before",
    "minibatch_size": "fewer steps with less noise, each of them as long as before",
    "entropy_coefficient": "the lost entropy is a symptom: the policy was thrown to one side",
    "seed": "another seed may hide the fault, it is still there",
    "total_steps": "the first updates already go wrong; more or fewer of them change nothing",
}
"""field -> why changing it alone does not cure UNSTABLE"""


def cure(broken: PPOConfig) -> PPOConfig:
    """Return a copy of the broken configuration with the learning rate of a healthy one."""
    return dataclasses.replace(broken, learning_rate=HEALTHY.learning_rate)


def misdiagnosed(codes: dict[str, str]) -> str:
    """Return what is wrong or missing in a diagnosis, letter -> code; an empty text where nothing is."""
    known = {title: code for code, title in TITLES.items()} | {code: code for code in (*TITLES, "healthy")}
    for run, code in codes.items():
        if run not in CODES:
            return f"There is no run {run!r}: the runs are {', '.join(CODES)}."
        if not isinstance(code, str) or known.get(code) != code:
            close = difflib.get_close_matches(str(code), known, n=1)
            return f"Run {run}: {code!r:.60} is no code." + (f" Do you mean {known[close[0]]!r}?" if close else "")
    if wrong := [run for run in codes if codes[run] != CODES[run]]:
        others = f" Look again at {', '.join(wrong[1:])}, too." if len(wrong) > 1 else ""
        return f"Run {wrong[0]} is not {codes[wrong[0]]!r}: {SHOWN[wrong[0]]}.{others}"
    missing = [run for run in CODES if run not in codes]
    return f"What you have is right. Still without a diagnosis: {', '.join(missing)}." if missing else ""


def uncured(config: PPOConfig) -> str:
    """Return why a changed copy of UNSTABLE is no cure; an empty text where it is one."""
    old, new = dataclasses.asdict(UNSTABLE), dataclasses.asdict(config)
    changed = [field for field in new if new[field] != old[field]]
    if not changed:
        return "Nothing is changed. dataclasses.replace makes a copy: return that copy, with another value."
    if len(changed) > 1:
        return f"It changes {' and '.join(changed)}. One field: else nobody knows which of them helped."
    if changed != ["learning_rate"]:
        reason = NO_CURE.get(changed[0], "it leaves each step as long as it is")
        return f"Not {changed[0]}: {reason}. What makes a single step so long?"
    if config.learning_rate > 1e-2:
        return f"The right field, but {config.learning_rate:g} is still long for Adam. Usual is 1e-4 to 3e-3."
    if config.learning_rate < 1e-4:
        return f"The right field, but with {config.learning_rate:g} next to nothing is learned in so few steps."
    return ""
