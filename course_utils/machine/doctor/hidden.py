"""Is the card hidden by an environment variable, and was the variable set in time?"""

import re

from .facts import Facts
from .findings import Finding, found


def environment_step(facts: Facts) -> Finding | None:
    """Find out whether CUDA_VISIBLE_DEVICES or the container's own variable hides a card that is there."""
    given = facts.variable("NVIDIA_VISIBLE_DEVICES")
    asked_for_none = given.strip().lower() in ("void", "none")
    if asked_for_none and facts.smi.state != "ok" and facts.container is not False:
        return found(facts, "cuda.hidden_from_container", f"NVIDIA_VISIBLE_DEVICES={given!r}")
    value = facts.environment.get("CUDA_VISIBLE_DEVICES")
    healthy = facts.smi.state in (None, "ok")
    if value is None or not healthy or facts.available or _nothing_to_hide(facts):
        return None
    code = _hides(value, facts)
    if code is None:
        return None
    names = facts.slices or [card.identifier for card in facts.smi.cards if card.identifier]
    words = {"value": value, "count": len(facts.smi.cards), "names": ", ".join(names) or "see nvidia-smi -L"}
    return found(facts, code, f"CUDA_VISIBLE_DEVICES={value!r}", facts.smi.line, **words)


def _nothing_to_hide(facts: Facts) -> bool:
    if facts.smi.cards or facts.nodes or facts.value("nvml.device_count"):
        return False
    if facts.available is None and facts.operation_works is None and not facts.signal("no_device", "no_driver"):
        return True  # nobody saw a card, and nothing failed
    return facts.smi.state is None and facts.nodes == () and not facts.wsl


def _hides(value: str, facts: Facts) -> str | None:
    """Return the code for a value that leaves no card visible, None for a value that leaves one."""
    # CUDA reads the list from the left and stops at the first entry that it cannot use.
    entries = [entry.strip() for entry in value.split(",")]
    first, cards = entries[0], facts.smi.cards
    names = [card.identifier for card in cards if card.identifier]
    if not value.strip():
        return "cuda.hidden_empty"
    if re.fullmatch(r"-\d+", first):
        return "cuda.hidden_negative"
    if first.lower() in ("nodevfiles", "void", "none"):
        return "cuda.hidden_by_scheduler"
    if re.fullmatch(r"\+?\d+", first):
        known = max(len(cards), len(facts.slices)) or facts.value("nvml.device_count") or len(facts.card_nodes)
        if known and (len(first) > 6 or int(first) >= known):
            return "cuda.hidden_index"
        return "cuda.hidden_malformed" if len(set(entries)) < len(entries) else None
    if first.upper().startswith("MIG-"):
        listed = facts.slices or names
        return "cuda.hidden_slice" if listed and not _matches(first, facts.slices) else None
    if first.upper().startswith("GPU-"):
        return "cuda.hidden_identifier" if names and not _matches(first, names) else None
    return "cuda.hidden_malformed"


def _matches(value: str, names: list[str]) -> bool:
    """An unambiguous beginning of an identifier is enough for CUDA."""
    return any(name.lower().startswith(value.lower()) for name in names)


def set_late(facts: Facts) -> Finding | None:
    """CUDA_VISIBLE_DEVICES was changed in the notebook's process after torch had counted the cards."""
    value, counted = facts.environment.get("CUDA_VISIBLE_DEVICES"), facts.value("process.device_count")
    changed = "CUDA_VISIBLE_DEVICES" in (facts.words("process.changed_variables") or ())
    if not changed or not facts.value("process.cuda_initialised") or counted is None:
        return None
    if value is None:  # unset again: all cards, if their number is known
        wanted = len(facts.smi.cards) or counted
    else:
        wanted = 0 if not value or value.startswith("-") else len(value.split(","))
    if counted == wanted:
        return None
    return found(
        facts,
        "cuda.variable_set_late",
        f"CUDA_VISIBLE_DEVICES={value!r} was set after this process started",
        f"the process had counted {counted} card(s) before",
    )
