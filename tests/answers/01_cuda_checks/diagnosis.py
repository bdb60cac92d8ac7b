# %% right: typed
diagnosis: dict[str, str] = {
    "A": "cuda.cpu_only_build",
    "B": "cuda.driver_library_mismatch",
    "C": "cuda.hidden_empty",
    "D": "cuda.ok",
    "E": "cuda.driver_too_old",
    "F": "cuda.container_without_gpu",
    "G": "cuda.context_poisoned",
    "H": "cuda.card_too_new",
}

# %% right: in another order
diagnosis = dict(H="cuda.card_too_new", G="cuda.context_poisoned", F="cuda.container_without_gpu")
diagnosis |= {"E": "cuda.driver_too_old", "D": "cuda.ok", "C": "cuda.hidden_empty"}
diagnosis |= {"B": "cuda.driver_library_mismatch", "A": "cuda.cpu_only_build"}

# %% right: pairs
names = ("cpu_only_build", "driver_library_mismatch", "hidden_empty", "ok", "driver_too_old", "container_without_gpu", "context_poisoned", "card_too_new")
diagnosis = {letter: f"cuda.{name}" for letter, name in zip("ABCDEFGH", names)}

# %% wrong: a toolkit is missed -> Machine A. Not this: the CUDA toolkit (nvcc) is not installed. torch never looks for nvcc
diagnosis = {"A": "myth.nvcc_missing"}

# %% wrong: the idle card is dead -> Machine D. Not this: the loaded driver and its libraries have different versions. In that case nvidia-smi itself would fail with these words. Here nvidia-smi works and lists Tesla T4.
diagnosis = {"D": "cuda.driver_library_mismatch"}

# %% wrong: a driver for the container -> Machine F. Not this: no driver is installed where this runs, so install one here. Drivers live on the host, outside every container.
diagnosis = {"A": "cuda.cpu_only_build", "F": "cuda.driver_missing"}

# %% wrong: the card is too old, says its user -> Here it is 12.0, the list sm_50
diagnosis = {"H": "cuda.card_too_old"}

# %% wrong: hidden, though unset -> Here it is not set
diagnosis = {"E": "cuda.hidden_empty"}

# %% wrong: the driver is too old for a new card -> Here the driver's is 13.0, the wheel's is 12.6
diagnosis = {"H": "cuda.driver_too_old"}

# %% wrong: a fresh process works, so all is well -> Something is wrong: RuntimeError: CUDA error: device-side assert triggered
diagnosis = {"G": "cuda.ok"}

# %% wrong: two of them -> Look again at C, too
diagnosis = {"A": "cuda.cpu_only_build", "B": "cuda.cpu_only_build", "C": "cuda.cpu_only_build"}

# %% wrong: half done -> Still without a diagnosis: C, D, E, F, G, H
diagnosis = {"A": "cuda.cpu_only_build", "B": "cuda.driver_library_mismatch"}

# %% wrong: words for the code -> give the code, 'cuda.cpu_only_build'
diagnosis = {"A": "this torch was built without CUDA"}

# %% wrong: slip of the pen -> Do you mean 'cuda.hidden_empty'
diagnosis = {"C": "cuda.hiden_empty"}

# %% wrong: small letters -> There is no machine 'a'
diagnosis = {"a": "cuda.cpu_only_build"}

# %% wrong: a list -> must be a dict
diagnosis = ["cuda.cpu_only_build", "cuda.driver_library_mismatch"]

# %% wrong: a code that no machine here has -> Its symptom would be
diagnosis = {"B": "cuda.nouveau_loaded"}
