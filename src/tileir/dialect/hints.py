"""Optimization hints: which exist, for which operation, with which values (docs/conflicts.md E).

Hints are advice, so by default nobody complains about one that nothing reads; with the mode "warn" each doubtful hint
is a warning, with "error" the operation is refused after its warnings (the contract of the types draft).
"""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Callable, Final
from tileir.dialect.attributes import OptimizationHintsAttribute, hint_entry_mistake
from tileir.ir.attributes import Attribute, DictionaryAttribute, IntegerAttribute
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Invalid
from tileir.ir.types import I1
from tileir.ir.versions import V13_1, V13_4, Version

if TYPE_CHECKING:
    from tileir.ir.verify_context import VerifyContext

# The architectures, each with the first dialect version that knows it.
ARCHITECTURES: Final[dict[str, Version]] = {
    "sm_80": V13_1,
    "sm_86": V13_1,
    "sm_87": V13_1,
    "sm_88": V13_1,
    "sm_89": V13_1,
    "sm_90": V13_1,
    "sm_100": V13_1,
    "sm_103": V13_1,
    "sm_107": V13_4,
    "sm_110": V13_1,
    "sm_120": V13_1,
    "sm_121": V13_1,
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


def _is_power_of_two_up_to(value: int, limit: int) -> bool:
    return 0 < value <= limit and value & (value - 1) == 0


def _cluster_mistake(value: Attribute, architecture: str) -> str | None:
    number = _integer(value)
    if number is None:
        return f"integer value expected for {architecture}.num_cta_in_cga"
    if architecture in _SINGLE_CTA_ARCHITECTURES and number != 1:
        return f"expected 1 for {architecture}.num_cta_in_cga"
    if not _is_power_of_two_up_to(number, 16):
        return f"expected power-of-two ≤ 16 for {architecture}.num_cta_in_cga"
    return None


def _warps_mistake(value: Attribute, architecture: str) -> str | None:
    number = _integer(value)
    if number is None:
        return f"integer value expected for {architecture}.num_worker_warps_per_cta"
    if not _is_power_of_two_up_to(number, 32):
        return f"expected power-of-two ≤ 32 for {architecture}.num_worker_warps_per_cta"
    return None


def _tma_mistake(value: Attribute, architecture: str) -> str | None:
    if not isinstance(value, IntegerAttribute) or value.type is not I1:
        return f"boolean value expected for {architecture}.allow_tma"
    return None


def _range_mistake(value: Attribute, architecture: str, hint: str, limit: int) -> str | None:
    number = _integer(value)
    if number is None:
        return f"integer value expected for {architecture}.{hint}"
    if not 1 <= number <= limit:
        return f"integer value in the range [1, {limit}] is expected for {architecture}.{hint}"
    return None


_MISTAKES: Final[dict[str, Callable[[Attribute, str], str | None]]] = {
    "num_cta_in_cga": _cluster_mistake,
    "num_worker_warps_per_cta": _warps_mistake,
    "occupancy": lambda value, architecture: _range_mistake(value, architecture, "occupancy", 32),
    "allow_tma": _tma_mistake,
    "latency": lambda value, architecture: _range_mistake(value, architecture, "latency", 10),
}


def hint_mistake(hint: str, value: Attribute, architecture: str, kind: str) -> str | None:
    """What is doubtful about one hint of an operation of this kind."""
    allowed = HINTS_OF_KIND.get(kind)
    if allowed is not None and hint not in allowed:
        return f"{hint} is not known hint for current Operation"
    check = _MISTAKES.get(hint)
    if check is None:
        return f"unknown param {hint} for {architecture}"
    return check(value, architecture)


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
