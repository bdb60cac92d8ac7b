from course_utils.machine.doctor.texts import capability

# %% right: loop
def has_kernels(card, architectures):
    for name in architectures:
        major, minor = capability(name)
        if name.startswith("compute_") and card >= (major, minor):
            return True
        if name.startswith("sm_") and card[0] == major and card[1] >= minor:
            return True
    return False

# %% right: any
def has_kernels(card, architectures):
    def fits(name):
        version = capability(name)
        return card >= version and ("compute" in name or card[0] == version[0])

    return any(fits(name) for name in architectures)

# %% right: parsed by hand, integers
def has_kernels(card, architectures):
    number = 10 * card[0] + card[1]
    binaries = [int(name[3:]) for name in architectures if name.startswith("sm_")]
    portable = [int(name[8:]) for name in architectures if name.startswith("compute_")]
    if any(number >= code for code in portable):
        return True
    return any(code // 10 == card[0] and code <= number for code in binaries)

# %% right: candidates
def has_kernels(card, architectures):
    candidates = {f"sm_{card[0]}{minor}" for minor in range(card[1] + 1)}
    return bool(candidates & set(architectures)) or any(
        card >= capability(name) for name in architectures if name.startswith("compute")
    )

# %% wrong: exact name -> Only exact matches of sm_ entries count
def has_kernels(card, architectures):
    return f"sm_{card[0]}{card[1]}" in architectures

# %% wrong: exact number -> Only exact matches count
def has_kernels(card, architectures):
    return card in [capability(name) for name in architectures]

# %% wrong: newer cards run all -> sm_80 does not run on a card 9.0
def has_kernels(card, architectures):
    return any(card >= capability(name) for name in architectures)

# %% wrong: no PTX -> compute_ entries are left out
def has_kernels(card, architectures):
    for name in architectures:
        major, minor = capability(name)
        if name.startswith("sm_") and card[0] == major and card[1] >= minor:
            return True
    return False

# %% wrong: PTX like machine code -> compute_ entries are treated as sm_ entries
def has_kernels(card, architectures):
    return any(card[0] == capability(name)[0] and card[1] >= capability(name)[1] for name in architectures)

# %% wrong: the whole generation -> sm_86 does not run on a card 8.0
def has_kernels(card, architectures):
    for name in architectures:
        version = capability(name)
        if name.startswith("sm_") and card[0] == version[0]:
            return True
        if name.startswith("compute_") and card >= version:
            return True
    return False

# %% wrong: last digit forgotten -> sm_120 is read
def has_kernels(card, architectures):
    for name in architectures:
        kind, digits = name.split("_")
        version = (int(digits[0]), int(digits[1:]))
        if kind == "compute" and card >= version:
            return True
        if kind == "sm" and card[0] == version[0] and card[1] >= version[1]:
            return True
    return False

# %% wrong: returns inside the loop -> Only the first entry
def has_kernels(card, architectures):
    for name in architectures:
        version = capability(name)
        if name.startswith("compute_"):
            return card >= version
        return card[0] == version[0] and card[1] >= version[1]
    return False

# %% wrong: all of them -> One that fits is enough
def has_kernels(card, architectures):
    return all(
        card >= capability(name) if name.startswith("compute_") else card[0] == capability(name)[0] and card >= capability(name)
        for name in architectures
    )

# %% wrong: within the range -> leave a gap
def has_kernels(card, architectures):
    if not architectures:
        return False
    versions = [capability(name) for name in architectures]
    return min(versions) <= card <= max(versions)

# %% wrong: not newer than the newest -> it should say
def has_kernels(card, architectures):
    return bool(architectures) and card <= max(capability(name) for name in architectures)

# %% wrong: fails on an empty list -> It raised ValueError
def has_kernels(card, architectures):
    newest = max(capability(name) for name in architectures)
    return card[0] == newest[0] or any(card >= capability(name) for name in architectures if "compute" in name)

# %% wrong: empty list means unknown -> returns None
def has_kernels(card, architectures):
    for name in architectures:
        version = capability(name)
        if name.startswith("compute_") and card >= version or card[0] == version[0] and card[1] >= version[1]:
            return True
