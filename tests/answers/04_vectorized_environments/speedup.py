import numpy as np

# %% right: Amdahl's law
def speedup(fraction, factor):
    return 1 / (1 - fraction + fraction / factor)

# %% right: seconds before and after
def speedup(fraction, factor):
    before = 100.0
    part = before * fraction
    rest = before - part
    after = rest + part / factor
    return before / after

# %% right: time saved
def speedup(fraction, factor):
    saved = fraction * (1 - 1 / factor)
    return 1 / (1 - saved)

# %% right: numpy
def speedup(fraction, factor):
    times = np.array([1 - fraction, fraction])
    return times.sum() / (times / np.array([1.0, factor])).sum()

# %% wrong: the factor -> This is the factor of the part
def speedup(fraction, factor):
    return factor

# %% wrong: upside down -> It is upside down
def speedup(fraction, factor):
    return 1 - fraction + fraction / factor

# %% wrong: the part alone -> is left out, or the part
def speedup(fraction, factor):
    return factor / fraction

# %% wrong: the limit -> is left out, or the part
def speedup(fraction, factor):
    return 1 / (1 - fraction)

# %% wrong: exchanged -> fraction and rest are exchanged
def speedup(fraction, factor):
    return 1 / (fraction + (1 - fraction) / factor)

# %% wrong: multiplied -> The part's time is multiplied by the factor
def speedup(fraction, factor):
    return 1 / (1 - fraction + fraction * factor)

# %% wrong: averaged speeds -> Speed-ups are averaged
def speedup(fraction, factor):
    return (1 - fraction) * 1 + fraction * factor

# %% wrong: time saved -> This is the time that is saved
def speedup(fraction, factor):
    return fraction - fraction / factor

# %% wrong: gain -> This is the gain
def speedup(fraction, factor):
    return 1 / (1 - fraction + fraction / factor) - 1

# %% wrong: percent -> A speed-up is no percentage here
def speedup(fraction, factor):
    return 100 / (1 - fraction + fraction / factor)

# %% wrong: divides by the fraction -> It divides by 0. Divide the fraction by the factor
def speedup(fraction, factor):
    rest = (1 - fraction) / fraction
    return (rest + 1) / (rest + 1 / factor)

# %% wrong: a factor below 1 is ignored -> For fraction 0.3 and factor 0.5 it gives 1
def speedup(fraction, factor):
    return max(1.0, 1 / (1 - fraction + fraction / factor))

# %% wrong: a text -> It must return a number, not str
def speedup(fraction, factor):
    return f"{1 / (1 - fraction + fraction / factor):.2f} times"
