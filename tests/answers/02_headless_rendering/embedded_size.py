import base64
import math

# %% right: groups begun
def embedded_size(file_bytes):
    return 4 * ((file_bytes + 2) // 3)

# %% right: divmod
def embedded_size(file_bytes):
    groups, rest = divmod(file_bytes, 3)
    if rest:
        groups += 1
    return groups * 4

# %% right: minus floor of minus
def embedded_size(file_bytes):
    return -(-file_bytes // 3) * 4

# %% right: math.ceil
def embedded_size(file_bytes):
    return math.ceil(file_bytes / 3) * 4

# %% right: asks base64
def embedded_size(file_bytes):
    return len(base64.b64encode(bytes(file_bytes)))

# %% right: numpy integer
def embedded_size(file_bytes):
    import numpy as np

    return np.ceil(file_bytes / 3).astype(int) * 4

# %% wrong: floor of 4/3 -> It rounds down at the end: a last group of 1 or 2 bytes becomes 4
def embedded_size(file_bytes):
    return file_bytes * 4 // 3

# %% wrong: ceil of 4/3 -> It rounds up at the end, so 1 byte gives 2 letters
def embedded_size(file_bytes):
    return math.ceil(file_bytes * 4 / 3)

# %% wrong: a float -> It has no rounding: a last group of 1 or 2 bytes also becomes 4
def embedded_size(file_bytes):
    return file_bytes / 3 * 4

# %% wrong: always one group more -> It always adds a group, even when the bytes fill the last group
def embedded_size(file_bytes):
    return (file_bytes // 3 + 1) * 4

# %% wrong: last group dropped -> It rounds down, so the last group is lost when it has only 1 or 2
def embedded_size(file_bytes):
    return file_bytes // 3 * 4

# %% wrong: round -> It rounds to the nearest group: every group that has begun counts
def embedded_size(file_bytes):
    return round(file_bytes / 3) * 4

# %% wrong: 3 and 4 exchanged -> 3 bytes become 4 letters, not 4 bytes 3 letters
def embedded_size(file_bytes):
    return 3 * ((file_bytes + 3) // 4)

# %% wrong: no return -> It returns None
def embedded_size(file_bytes):
    4 * ((file_bytes + 2) // 3)

# %% wrong: in bits -> For 3,000 bytes it gives 32,000 instead of 4,000
def embedded_size(file_bytes):
    return 4 * ((file_bytes * 8 + 2) // 3)

# %% wrong: float right value -> For 3,000 bytes it gives 4000.0, a float
def embedded_size(file_bytes):
    return 4.0 * ((file_bytes + 2) // 3)

# %% wrong: expects the bytes -> file_bytes is a number, not the bytes of the file: count the groups of three. (line
def embedded_size(file_bytes):
    return len(base64.b64encode(file_bytes))

# %% wrong: base64 with newlines -> It counts line breaks too: an embedded video is one long line
def embedded_size(file_bytes):
    return len(base64.encodebytes(bytes(file_bytes)))

# %% wrong: adds the rest as a full group twice -> For 2 bytes it gives 8 instead of 4
def embedded_size(file_bytes):
    return file_bytes // 3 * 4 + file_bytes % 3 * 4

# %% wrong: the size with the data header -> For 3,000 bytes it gives 4,022 instead of 4,000
def embedded_size(file_bytes):
    return 4 * ((file_bytes + 2) // 3) + len("data:video/mp4;base64,")

# %% wrong: numpy float -> For 3,000 bytes it gives np.float64(4000.0), a float
def embedded_size(file_bytes):
    import numpy as np

    return np.ceil(file_bytes / 3) * 4

# %% wrong: rounds the result -> For 1 byte it gives 1 instead of 4
def embedded_size(file_bytes):
    return round(file_bytes * 4 / 3)

# %% wrong: at least one group -> For 0 bytes it gives 4 instead of 0
def embedded_size(file_bytes):
    return max(1, (file_bytes + 2) // 3) * 4

# %% wrong: the file itself -> It gives the size of the file
def embedded_size(file_bytes):
    return file_bytes
