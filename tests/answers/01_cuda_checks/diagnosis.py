RIGHT = {
    "A": "cuda.cpu_only_build",
    "B": "cuda.driver_library_mismatch",
    "C": "cuda.hidden_empty",
    "D": "cuda.ok",
    "E": "cuda.driver_too_old",
    "F": "cuda.container_without_gpu",
    "G": "cuda.context_poisoned",
    "H": "cuda.card_too_new",
}

# %% right: literal
diagnosis = {
    "A": "cuda.cpu_only_build",
    "B": "cuda.driver_library_mismatch",
    "C": "cuda.hidden_empty",
    "D": "cuda.ok",
    "E": "cuda.driver_too_old",
    "F": "cuda.container_without_gpu",
    "G": "cuda.context_poisoned",
    "H": "cuda.card_too_new",
}

# %% right: keywords, in another order
diagnosis = dict(
    H="cuda.card_too_new",
    G="cuda.context_poisoned",
    F="cuda.container_without_gpu",
    E="cuda.driver_too_old",
    D="cuda.ok",
    C="cuda.hidden_empty",
    B="cuda.driver_library_mismatch",
    A="cuda.cpu_only_build",
)

# %% right: zip, prefix added
diagnosis = {
    letter: "cuda." + word
    for letter, word in zip(
        "ABCDEFGH",
        "cpu_only_build driver_library_mismatch hidden_empty ok driver_too_old"
        " container_without_gpu context_poisoned card_too_new".split(),
    )
}

# %% wrong: A the toolkit -> torch never looks for nvcc: a GPU wheel brings the CUDA libraries
diagnosis = {**RIGHT, "A": "myth.nvcc_missing"}

# %% wrong: C poisoned by the example -> In that case an earlier cell would show a failed assertion on the card
diagnosis = {**RIGHT, "C": "cuda.context_poisoned"}

# %% wrong: E T4 and 12.2, card too new -> In that case the first operation would say "no kernel image is
diagnosis = {**RIGHT, "E": "cuda.card_too_new"}

# %% wrong: F install a driver -> Drivers live on the host, outside every container
diagnosis = {**RIGHT, "F": "cuda.driver_missing"}

# %% wrong: G fresh python works, so fine -> Something is wrong: RuntimeError: CUDA error: device-side assert
diagnosis = {**RIGHT, "G": "cuda.ok"}

# %% wrong: H too old and too new mixed up -> In that case the card's number would be below the whole list of
diagnosis = {**RIGHT, "H": "cuda.card_too_old"}

# %% wrong: seven of eight -> What you have is right. Still without a diagnosis: G
diagnosis = {k: v for k, v in RIGHT.items() if k != "G"}

# %% wrong: codes without prefix -> Machine A: 'cpu_only_build' is no code. Do you mean 'cuda.cpu_only_build'?
diagnosis = {k: v.removeprefix("cuda.") for k, v in RIGHT.items()}

# %% wrong: the sentences instead of the codes -> Machine A: give the code, 'cuda.cpu_only_build', not its description
diagnosis = {**RIGHT, "A": "this torch was built without CUDA"}

# %% wrong: a list -> It must be a dict such as {"A": "cuda.ok"}, not list
diagnosis = list(RIGHT.values())

# %% wrong: small letters -> There is no machine 'a': the gallery has A, B, C, D, E, F, G, H
diagnosis = {k.lower(): v for k, v in RIGHT.items()}

# %% wrong: typing slip -> Do you mean 'cuda.driver_library_mismatch'?
diagnosis = {**RIGHT, "B": "cuda.driver_libary_mismatch"}

# %% wrong: a set of guesses for one -> Machine F: give one code, as text, not ['cuda.container_without_gpu'
diagnosis = {**RIGHT, "F": ["cuda.container_without_gpu", "cuda.driver_missing"]}

# %% wrong: None for the one not known -> Machine F: give one code, as text, not None
diagnosis = {**RIGHT, "F": None}

# %% wrong: F nothing said about the container: no driver, CPU build -> Such a build has torch.version.cuda = None
diagnosis = {**RIGHT, "F": "cuda.cpu_only_build"}

# %% wrong: the idle card is dead -> Machine D. Not this: the loaded driver and its libraries have different versions. In that case nvidia-smi itself would fail with these words. Here nvidia-smi works and lists Tesla T4.
diagnosis = {"D": "cuda.driver_library_mismatch"}

# %% wrong: hidden, though unset -> Here it is not set
diagnosis = {"E": "cuda.hidden_empty"}

# %% wrong: two of them -> Look again at C, too
diagnosis = {"A": "cuda.cpu_only_build", "B": "cuda.cpu_only_build", "C": "cuda.cpu_only_build"}

# %% wrong: a code that no machine here has -> Its symptom would be
diagnosis = {"B": "cuda.nouveau_loaded"}
