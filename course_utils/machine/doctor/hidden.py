"""Is the card hidden by an environment variable, and was the variable set in time?"""

from __future__ import annotations

import re

from .facts import Facts
from .findings import Found


def environment_step(facts: Facts) -> Found | None:
    """Find out whether CUDA_VISIBLE_DEVICES or the container's own variable hides a card that is there."""
    healthy = facts.smi.state in (None, "ok")
    given = facts.environment.get("NVIDIA_VISIBLE_DEVICES")
    if (
        given is not None
        and given.strip().lower() in ("void", "none")
        and facts.smi.state != "ok"
        and facts.container is not False
    ):
        return Found("cuda.hidden_from_container", (f"NVIDIA_VISIBLE_DEVICES={given!r}",))
    value = facts.environment.get("CUDA_VISIBLE_DEVICES")
    if value is None or not healthy or facts.available or _nothing_to_hide(facts):
        return None
    code = _hides(value, facts)
    if code is None:
        return None
    proof = [f"CUDA_VISIBLE_DEVICES={value!r}"]
    if facts.smi.line:
        proof.append(facts.smi.line)
    names = [card.identifier for card in facts.smi.cards if card.identifier]
    slices = [name for card in facts.smi.cards for name in card.slices]
    words = {
        "value": value,
        "count": str(len(facts.smi.cards)),
        "names": ", ".join(slices or names) or "see nvidia-smi -L",
    }
    return Found(code, tuple(proof), words)


def _nothing_to_hide(facts: Facts) -> bool:
    if facts.smi.cards or facts.nodes or facts.nvml_count:
        return False
    if facts.available is None and facts.operation_works is None and not facts.signal("no_device", "no_driver"):
        return True  # nobody saw a card, and nothing failed
    return facts.smi.state is None and facts.nodes == () and not facts.wsl


def _hides(value: str, facts: Facts) -> str | None:
    """Return the code for a value that leaves no card visible, None for a value that leaves one."""
    # CUDA reads the list from the left and stops at the first entry that it cannot use.
    first = value.split(",")[0].strip()
    if not value.strip():
        return "cuda.hidden_empty"
    if re.fullmatch(r"-\d+", first):
        return "cuda.hidden_negative"
    if first.lower() in ("nodevfiles", "void", "none"):
        return "cuda.hidden_by_scheduler"
    cards = facts.smi.cards
    if re.fullmatch(r"\+?\d+", first):
        slices = sum(len(card.slices) for card in cards)
        known = max(len(cards), slices) or facts.nvml_count or len(facts.card_nodes)
        if known and (len(first) > 6 or int(first) >= known):
            return "cuda.hidden_index"
        entries = [entry.strip() for entry in value.split(",")]
        return "cuda.hidden_malformed" if len(set(entries)) < len(entries) else None
    if first.upper().startswith("MIG-"):
        known_slices = [name for card in cards for name in card.slices]
        listed = bool(cards) and (bool(known_slices) or any(card.identifier for card in cards))
        return "cuda.hidden_slice" if listed and not _matches(first, known_slices) else None
    if first.upper().startswith("GPU-"):
        names = [card.identifier for card in cards if card.identifier]
        return "cuda.hidden_identifier" if names and not _matches(first, names) else None
    return "cuda.hidden_malformed"


def _matches(value: str, names: list[str]) -> bool:
    """An unambiguous beginning of an identifier is enough for CUDA."""
    return any(name.lower().startswith(value.lower()) for name in names)


def set_late(facts: Facts) -> Found | None:
    """CUDA_VISIBLE_DEVICES was changed in the notebook's process after torch had counted the cards."""
    value = facts.environment.get("CUDA_VISIBLE_DEVICES")
    changed = "CUDA_VISIBLE_DEVICES" in facts.changed_variables
    if not (changed and facts.process_cuda and facts.process_count is not None):
        return None
    wanted = 0 if not value or value.startswith("-") else len(value.split(","))
    if value is None and not facts.smi.cards:
        return None  # unset again, and the number of cards is unknown
    if value is None:
        wanted = len(facts.smi.cards)
    if facts.process_count == wanted:
        return None
    return Found(
        "cuda.variable_set_late",
        (
            f"CUDA_VISIBLE_DEVICES={value!r} was set after this process started",
            f"the process had counted {facts.process_count} card(s) before",
        ),
    )
