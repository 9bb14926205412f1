"""Optimization hints: which exist, for which operation, with which values (docs/conflicts.md E).

Hints are advice, so by default nobody complains about one that nothing reads; with the mode "warn" each doubtful hint
is a warning, with "error" the operation is refused after its warnings (the contract of the types draft).
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.attributes import OptimizationHintsAttribute, hint_entry_mistake
from tileir.dialect.types import is_power_of_two
from tileir.ir.attributes import Attribute, DictionaryAttribute, IntegerAttribute
from tileir.ir.core import Operation
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import Invalid
from tileir.ir.types import I1
from tileir.ir.versions import V13_1, V13_4, Version

# The architectures, each with the first dialect version that knows it.
_NUMBERS: Final[tuple[int, ...]] = (80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121)
ARCHITECTURES: Final[dict[str, Version]] = {
    **{f"sm_{number}": V13_4 if number == 107 else V13_1 for number in _NUMBERS},
    "default": V13_1,
}

# These have no clusters: one CTA per cluster is all there is.
_SINGLE_CTA_ARCHITECTURES: Final[tuple[str, ...]] = ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89")

# The hints each kind of operation reads.  A kind that is not listed may carry any known hint.
HINTS_OF_KIND: Final[dict[str, tuple[str, ...]]] = {
    "entry": ("num_cta_in_cga", "num_worker_warps_per_cta", "occupancy"),
    "view": ("latency", "allow_tma"),
    "pointer": ("latency",),
}

HINT_DOCUMENTATION: Final[dict[str, str]] = {
    "num_cta_in_cga": "thread blocks per cluster: a power of two up to 16; 1 on sm_80 to sm_89",
    "num_worker_warps_per_cta": "worker warps per thread block: a power of two up to 32",
    "occupancy": "thread blocks per multiprocessor to aim for: 1 to 32",
    "allow_tma": "whether the tensor memory accelerator may move this tile: true or false",
    "latency": "how costly the access is expected to be: 1 (cheap) to 10",
}


def _integer(value: Attribute) -> int | None:
    if not isinstance(value, IntegerAttribute):
        return None
    # A boolean is a one-bit integer; read as signed, as NVIDIA's verifier reads it, true is -1.
    return -value.value if value.type is I1 else value.value


# Integers from 1 up to a limit; of some only the powers of two.
_LIMITS: Final[dict[str, int]] = {"num_cta_in_cga": 16, "num_worker_warps_per_cta": 32, "occupancy": 32, "latency": 10}
_POWERS_OF_TWO: Final[tuple[str, ...]] = ("num_cta_in_cga", "num_worker_warps_per_cta")


def hint_mistake(hint: str, value: Attribute, architecture: str, kind: str) -> str | None:
    """What is doubtful about one hint of an operation of this kind."""
    allowed = HINTS_OF_KIND.get(kind)
    if allowed is not None and hint not in allowed:
        return f"{hint} is not known hint for current Operation"
    place = f"{architecture}.{hint}"
    if hint == "allow_tma":
        is_boolean = isinstance(value, IntegerAttribute) and value.type is I1
        return None if is_boolean else f"boolean value expected for {place}"
    limit = _LIMITS.get(hint)
    if limit is None:
        return f"unknown param {hint} for {architecture}"
    number = _integer(value)
    if number is None:
        return f"integer value expected for {place}"
    if hint == "num_cta_in_cga" and architecture in _SINGLE_CTA_ARCHITECTURES and number != 1:
        return f"expected 1 for {place}"
    if hint in _POWERS_OF_TWO:
        return None if number <= limit and is_power_of_two(number) else f"expected power-of-two ≤ {limit} for {place}"
    if not 1 <= number <= limit:
        return f"integer value in the range [1, {limit}] is expected for {place}"
    return None


def architecture_mistakes(name: str, hints: DictionaryAttribute, kind: str, version: Version) -> list[str]:
    """What is doubtful about the hints for one architecture."""
    since = ARCHITECTURES.get(name)
    if since is None or since > version:
        return [f"unknown hint key {name}"]
    found = [hint_mistake(hint, value, name, kind) for hint, value in hints.entries]
    return [mistake for mistake in found if mistake is not None]


def verify_hints(operation: Operation, context: VerifyContext, kind: str) -> None:
    """Check the `optimization_hints` of an operation; `kind` is "entry", "view", "pointer" or "" for any other."""
    attribute = operation.attributes.get("optimization_hints")
    if not isinstance(attribute, OptimizationHintsAttribute):
        return
    for name, hints in attribute.entries.entries:
        if not isinstance(hints, DictionaryAttribute):
            context.error(operation, hint_entry_mistake(name, hints))
            raise Invalid("Optimization hints verification failed")
        if context.hints == "ignore":
            continue
        mistakes = architecture_mistakes(name, hints, kind, context.version)
        for mistake in mistakes:
            context.report("warning", mistake, operation.location)
        if mistakes and context.hints == "error":
            raise Invalid("Optimization hints verification failed")


def hint_of(operation: Operation, name: str, target: str) -> int | None:
    """What the program advises for a GPU, or else for all of them."""
    attribute = operation.attributes.get("optimization_hints")
    if not isinstance(attribute, OptimizationHintsAttribute):
        return None
    found: int | None = None
    for architecture, hints in attribute.entries.entries:
        if architecture not in (target, "default") or not isinstance(hints, DictionaryAttribute):
            continue
        for key, value in hints.entries:
            if key == name and isinstance(value, IntegerAttribute) and (found is None or architecture == target):
                found = value.value
    return found
