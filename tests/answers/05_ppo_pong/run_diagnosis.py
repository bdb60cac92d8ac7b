from course_utils.agents.diagnosis import TITLES

RIGHT = {
    "A": "value_not_learned",
    "B": "kl_too_large",
    "C": "healthy",
    "D": "clip_fraction_high",
    "E": "learning_rate_low",
}

# %% right: literal
run_diagnosis = {
    "A": "value_not_learned",
    "B": "kl_too_large",
    "C": "healthy",
    "D": "clip_fraction_high",
    "E": "learning_rate_low",
}

# %% right: keywords, in another order
run_diagnosis = dict(
    E="learning_rate_low", D="clip_fraction_high", C="healthy", B="kl_too_large", A="value_not_learned"
)

# %% right: zip
run_diagnosis = dict(
    zip("ABCDE", "value_not_learned kl_too_large healthy clip_fraction_high learning_rate_low".split())
)

# %% right: filled one by one
run_diagnosis = {}
for run in "CDEAB":
    run_diagnosis[run] = RIGHT[run]

# %% wrong: A, the score rises, so fine -> Run A is not 'healthy': KL and clip fraction are as usual and the score rises, but the explained
run_diagnosis = {**RIGHT, "A": "healthy"}

# %% wrong: B, entropy falls -> Run B is not 'entropy_collapse': KL is about 1 nat
run_diagnosis = {**RIGHT, "B": "entropy_collapse"}

# %% wrong: B, the score went up and down -> Run B is not 'score_collapsed': KL is about 1 nat, a hundred times the usual
run_diagnosis = {**RIGHT, "B": "score_collapsed"}

# %% wrong: C too early -> Run C is not 'too_early': KL is about 0.01
run_diagnosis = {**RIGHT, "C": "too_early"}

# %% wrong: D and E exchanged -> Run D is not 'learning_rate_low': far more than half of the ratios are clipped
run_diagnosis = {**RIGHT, "D": "learning_rate_low", "E": "clip_fraction_high"}

# %% wrong: D and E exchanged, second named -> Look again at E, too.
run_diagnosis = {**RIGHT, "D": "learning_rate_low", "E": "clip_fraction_high"}

# %% wrong: E, the values are not learned either -> Run E is not 'value_not_learned': KL is about 1e-5, no ratio is clipped
run_diagnosis = {**RIGHT, "E": "value_not_learned"}

# %% wrong: E stuck -> Run E is not 'stuck': KL is about 1e-5
run_diagnosis = {**RIGHT, "E": "stuck"}

# %% wrong: four of five -> What you have is right. Still without a diagnosis: C.
run_diagnosis = {run: code for run, code in RIGHT.items() if run != "C"}

# %% wrong: the titles instead of the codes -> is no code. Do you mean 'kl_too_large'?
run_diagnosis = {**RIGHT, "B": TITLES["kl_too_large"]}

# %% wrong: typing slip -> Do you mean 'clip_fraction_high'?
run_diagnosis = {**RIGHT, "D": "clip_fraction_hihg"}

# %% wrong: words of one's own -> Run C: 'ok' is no code.
run_diagnosis = {**RIGHT, "C": "ok"}

# %% wrong: small letters -> There is no run 'a': the runs are A, B, C, D, E.
run_diagnosis = {run.lower(): code for run, code in RIGHT.items()}

# %% wrong: a list -> It must be a dict such as {"A": "healthy"}, not list
run_diagnosis = list(RIGHT.values())

# %% wrong: two guesses -> Run A: ['value_not_learned', 'stuck'] is no code.
run_diagnosis = {**RIGHT, "A": ["value_not_learned", "stuck"]}

# %% wrong: None for the healthy one -> Run C: None is no code.
run_diagnosis = {**RIGHT, "C": None}
