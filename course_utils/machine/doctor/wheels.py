"""Which torch wheel fits which driver and card: small tables and pure functions."""

import re
from collections.abc import Sequence

from .texts import Version, as_text, capability

# Oldest Linux driver for each CUDA major version. Within one major version a newer wheel runs on an older
# driver (minor version compatibility), so only the major version counts.
# Source: CUDA Toolkit release notes, tables of driver versions.
MINIMUM_DRIVER = {9: (384, 81), 10: (410, 48), 11: (450, 36, 6), 12: (525, 60, 13), 13: (580, 65, 6)}
# Before CUDA 11 each minor version needed its own driver.
_MINIMUM_DRIVER_10 = {(9, 2): (396, 26), (10, 1): (418, 39), (10, 2): (440, 33)}
# Oldest and newest compute capability in builds from a CUDA version on, for evidence without a list of kernels.
_TYPICAL: dict[Version, tuple[Version, Version]] = {
    (13, 0): ((7, 5), (12, 1)),
    (12, 8): ((5, 0), (12, 0)),
    (11, 8): ((3, 7), (9, 0)),
    (11, 0): ((3, 5), (8, 6)),
    (0,): ((3, 5), (7, 5)),
}


def minimum_driver(cuda: Version) -> Version | None:
    """Return the oldest driver that runs a build for this CUDA version."""
    return _MINIMUM_DRIVER_10.get(cuda[:2]) or MINIMUM_DRIVER.get(cuda[0])


def driver_runs_wheel(driver_cuda: Version, wheel_cuda: Version) -> bool:
    """Say whether a driver that supports up to `driver_cuda` runs a wheel that carries `wheel_cuda`.

    From CUDA 11 on only the major version counts. Source: NVIDIA's CUDA Compatibility guide.
    """
    if wheel_cuda[0] >= 11:
        return driver_cuda[0] >= wheel_cuda[0]
    return driver_cuda >= wheel_cuda[:2]


def driver_runs(driver: Version | None, driver_cuda: Version | None, cuda: Version | None) -> bool | None:
    """Say whether a driver runs a build for `cuda`; None where the evidence does not decide it."""
    if cuda is None:
        return None
    # The driver's own CUDA version comes first: driver numbers differ between Linux and Windows (WSL).
    if driver_cuda:
        return driver_runs_wheel(driver_cuda, cuda)
    needed = minimum_driver(cuda)
    return driver >= needed if driver and needed else None


def has_kernels(card: Version, architectures: Sequence[str]) -> bool:
    """Say whether one of a wheel's architectures (sm_86, compute_90) runs on a card of this compute capability.

    A binary for sm_XY runs on the same major version from minor version Y up; code for compute_XY is compiled
    on first use for any newer card; names with a letter (sm_90a) run on exactly that card.
    Source: CUDA C++ Programming Guide, binary and PTX compatibility.
    """
    for name in architectures:
        version = capability(name)
        if version is None:
            continue
        if card == version:
            return True
        exact = re.search(r"\da$", name) is not None
        if name.startswith("compute_") and card > version and not exact:
            return True
        if name.startswith("sm_") and card[0] == version[0] and card[1] > version[1] and not exact:
            return True
    return False


def kernels_for(card: Version, arch_list: tuple[str, ...] | None, cuda: Version | None) -> str | None:
    """Say whether a build has kernels for a card: "yes", "card too old", "card too new", "no", None: unknown."""
    if arch_list:
        if has_kernels(card, arch_list):
            return "yes"
        known = [found for name in arch_list if (found := capability(name))]
        if not known:
            return None
        return "card too old" if card < min(known) else "card too new" if card > max(known) else "no"
    if cuda is None:
        return None
    oldest, newest = next(range_ for start, range_ in _TYPICAL.items() if cuda >= start)
    return "card too old" if card < oldest else "card too new" if card > newest else None


def index_for(driver: Version | None, card: Version | None) -> str:
    """Return the wheel index to take: cu130, cu128, cu126, or cpu where no current wheel fits.

    CUDA 13 builds need compute capability 7.5 and driver 580; older cards stay with cu126; the newest cards
    need at least cu128.
    """
    if (card and card < (5, 0)) or (driver and driver < MINIMUM_DRIVER[12]):
        return "cpu"
    if card and card < (7, 5):
        return "cu126"
    if driver and driver < MINIMUM_DRIVER[13]:
        return "cu128" if card and card >= (10, 0) else "cu126"
    return "cu130"


def advice(driver: Version | None, card: Version | None) -> str:
    """Return the installation line for the wheel that fits, or why none does."""
    index = index_for(driver, card)
    if index == "cpu":
        reason = f"compute capability {as_text(card)}" if card and card < (5, 0) else f"driver {as_text(driver)}"
        return f"no current GPU build supports {reason}: use the CPU build (index cpu)"
    # The newest torch with a CUDA 12.8 build is 2.11.
    pin = '"torch>=2.8,<2.12"' if index == "cu128" else "torch"
    return f"pip install --force-reinstall {pin} --index-url https://download.pytorch.org/whl/{index}"
