from course_utils.machine.doctor.texts import capability

# %% right: loop
def has_kernels(card, architectures):
    for name in architectures:
        major, minor = capability(name)
        if name.startswith("sm_"):
            if card[0] == major and card[1] >= minor:
                return True
        elif card >= (major, minor):
            return True
    return False

# %% right: any with two generators
def has_kernels(card, architectures):
    machine = [capability(a) for a in architectures if a.startswith("sm_")]
    ptx = [capability(a) for a in architectures if a.startswith("compute_")]
    return any(c[0] == card[0] and c <= card for c in machine) or any(c <= card for c in ptx)

# %% right: helper function
def has_kernels(card, architectures):
    def fits(name):
        built = capability(name)
        older_or_same = built <= card
        return older_or_same and ("compute" in name or built[0] == card[0])

    return any(map(fits, architectures))

# %% right: reads the digits itself
def has_kernels(card, architectures):
    for a in architectures:
        kind, digits = a.split("_")
        major, minor = int(digits[:-1]), int(digits[-1])
        if kind == "sm" and major == card[0] and minor <= card[1]:
            return True
        if kind == "compute" and (major, minor) <= card:
            return True
    return False

# %% right: candidates
def has_kernels(card, architectures):
    candidates = {f"sm_{card[0]}{minor}" for minor in range(card[1] + 1)}
    return bool(candidates & set(architectures)) or any(
        card >= capability(name) for name in architectures if name.startswith("compute")
    )

# %% wrong: exact name -> Only exact matches of sm_ entries count. sm_80 also runs on 8.6
def has_kernels(card, architectures):
    return f"sm_{card[0]}{card[1]}" in architectures

# %% wrong: newer cards run all sm -> Every card newer than an entry is accepted
def has_kernels(card, architectures):
    return any(card >= capability(a) for a in architectures)

# %% wrong: same major is enough -> sm_ entries are accepted for every card of their major number
def has_kernels(card, architectures):
    for a in architectures:
        if a.startswith("sm_") and capability(a)[0] == card[0]:
            return True
        if a.startswith("compute_") and card >= capability(a):
            return True
    return False

# %% wrong: PTX treated as machine code -> compute_ entries are treated as sm_ entries
def has_kernels(card, architectures):
    return any(
        capability(a)[0] == card[0] and capability(a)[1] <= card[1] for a in architectures
    )

# %% wrong: returns after the first entry -> Only the first entry of the list is looked at
def has_kernels(card, architectures):
    for a in architectures:
        major, minor = capability(a)
        if a.startswith("sm_"):
            return major == card[0] and minor <= card[1]
        return card >= (major, minor)
    return False

# %% wrong: PTX compares the minors apart -> compute_86 runs on a card 9.0 although 0 is below 6
def has_kernels(card, architectures):
    for a in architectures:
        major, minor = capability(a)
        if a.startswith("sm_") and major == card[0] and minor <= card[1]:
            return True
        if a.startswith("compute_") and card[0] >= major and card[1] >= minor:
            return True
    return False

# %% wrong: PTX major must be strictly older -> compute_80 also runs on a card 8.0
def has_kernels(card, architectures):
    for a in architectures:
        major, minor = capability(a)
        if a.startswith("sm_") and major == card[0] and minor <= card[1]:
            return True
        if a.startswith("compute_") and card > (major, minor):
            return True
    return False

# %% wrong: PTX by major only -> compute_86 does not run on a card 8.0
def has_kernels(card, architectures):
    for a in architectures:
        major, minor = capability(a)
        if a.startswith("sm_") and major == card[0] and minor <= card[1]:
            return True
        if a.startswith("compute_") and card[0] >= major:
            return True
    return False

# %% wrong: minor the wrong way round -> The minor numbers are compared the wrong way round
def has_kernels(card, architectures):
    for a in architectures:
        major, minor = capability(a)
        if a.startswith("sm_") and major == card[0] and minor >= card[1]:
            return True
        if a.startswith("compute_") and card >= (major, minor):
            return True
    return False

# %% wrong: max of an empty list -> It fails on an empty list
def has_kernels(card, architectures):
    newest = max(capability(a) for a in architectures)
    ptx = any(a.startswith("compute_") for a in architectures)
    return newest[0] == card[0] or (ptx and card >= newest)

# %% wrong: two digits for major -> sm_120 is read as 1.20 or 12.00
def has_kernels(card, architectures):
    for a in architectures:
        kind, digits = a.split("_")
        major, minor = int(digits[0]), int(digits[1])
        if kind == "sm" and major == card[0] and minor <= card[1]:
            return True
        if kind == "compute" and (major, minor) <= card:
            return True
    return False

# %% wrong: all instead of any -> All entries must fit
def has_kernels(card, architectures):
    return all(
        card >= capability(a) if a.startswith("compute_") else capability(a)[0] == card[0]
        and capability(a) <= card
        for a in architectures
    )

# %% wrong: sorts and empties the list -> It changes its argument 'architectures'
def has_kernels(card, architectures):
    while architectures:
        a = architectures.pop()
        major, minor = capability(a)
        if a.startswith("sm_") and major == card[0] and minor <= card[1]:
            return True
        if a.startswith("compute_") and card >= (major, minor):
            return True
    return False

# %% wrong: empty list means anything goes -> with an empty list: it should say False
def has_kernels(card, architectures):
    if not architectures:
        return True
    return any(
        capability(a) <= card and (a.startswith("compute") or capability(a)[0] == card[0])
        for a in architectures
    )

# %% wrong: PTX ignored -> compute_ entries are left out
def has_kernels(card, architectures):
    return any(
        a.startswith("sm_") and capability(a)[0] == card[0] and capability(a)[1] <= card[1]
        for a in architectures
    )

# %% wrong: sm exact only, PTX right -> sm_80 also runs on a card 8.6
def has_kernels(card, architectures):
    return any(
        capability(a) == card or (a.startswith("compute_") and capability(a) <= card)
        for a in architectures
    )

# %% wrong: PTX runs everywhere -> compute_ entries are accepted for older cards too
def has_kernels(card, architectures):
    return any(
        a.startswith("compute_") or (capability(a)[0] == card[0] and capability(a) <= card)
        for a in architectures
    )

# %% wrong: returns the fitting names -> A card 6.1 and a wheel with sm_80: return True or False, not []
def has_kernels(card, architectures):
    return [
        a
        for a in architectures
        if capability(a) <= card and (a.startswith("compute") or capability(a)[0] == card[0])
    ]

# %% wrong: within the range -> leave a gap
def has_kernels(card, architectures):
    if not architectures:
        return False
    versions = [capability(name) for name in architectures]
    return min(versions) <= card <= max(versions)
