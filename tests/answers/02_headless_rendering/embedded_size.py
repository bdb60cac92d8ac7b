import math

# %% right: groups begun
def embedded_size(file_bytes: int) -> int:
    return (file_bytes + 2) // 3 * 4

# %% right: ceil
def embedded_size(file_bytes):
    groups = math.ceil(file_bytes / 3)
    return groups * 4

# %% right: divmod
def embedded_size(file_bytes):
    full, rest = divmod(file_bytes, 3)
    if rest > 0:
        full += 1
    return 4 * full

# %% right: ask base64
import base64
def embedded_size(file_bytes):
    return len(base64.b64encode(b"\0" * file_bytes))

# %% wrong: the file itself -> It gives the size of the file
def embedded_size(file_bytes):
    return file_bytes

# %% wrong: no rounding -> It has no rounding
def embedded_size(file_bytes):
    return file_bytes * 4 / 3

# %% wrong: rounds groups down -> the last group is lost
def embedded_size(file_bytes):
    return file_bytes // 3 * 4

# %% wrong: int at the end -> It rounds down at the end
def embedded_size(file_bytes):
    return int(file_bytes * 4 / 3)

# %% wrong: ceil at the end -> filled up to 4 letters
def embedded_size(file_bytes):
    return math.ceil(file_bytes * 4 / 3)

# %% wrong: one more group always -> It always adds a group
def embedded_size(file_bytes):
    return (file_bytes // 3 + 1) * 4

# %% wrong: round -> nearest group
def embedded_size(file_bytes):
    return round(file_bytes / 3) * 4

# %% wrong: inverted -> the wrong way round
def embedded_size(file_bytes):
    return math.ceil(file_bytes / 4) * 3

# %% wrong: bits -> It counts bits
def embedded_size(file_bytes):
    return file_bytes * 8

# %% wrong: with line breaks -> one long line
import base64
def embedded_size(file_bytes):
    return len(base64.encodebytes(bytes(file_bytes)))

# %% wrong: float -> return an int
def embedded_size(file_bytes):
    return 4.0 * math.ceil(file_bytes / 3)

# %% wrong: thirty percent more -> For 3,000 bytes it gives 3900
def embedded_size(file_bytes):
    return int(file_bytes * 1.3)

# %% wrong: megabytes -> For 3,000 bytes it gives
def embedded_size(file_bytes):
    return file_bytes * 4 / 3 / 1e6

# %% wrong: no return -> Is a return missing?
def embedded_size(file_bytes):
    (file_bytes + 2) // 3 * 4
