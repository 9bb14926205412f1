"""What there is to know about code beside its bytes, as the plain values that the cache keeps."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, Final

from tileir.execute.gpu.triton.code import Slot, TensorMap
from tileir.execute.gpu.triton.options import Schedule, Specialization
from tileir.execute.gpu.triton.sites import AssertSite, PrintSite

_SITES: Final[dict[str, Any]] = {"failures": AssertSite, "output": PrintSite}


def packed_slots(slots: tuple[Slot, ...]) -> list[list[Any]]:
    return [[each.kind, _packed(each.content)] for each in slots]


def _packed(content: Any) -> Any:
    if isinstance(content, bytes):
        return b64encode(content).decode("ascii")
    if isinstance(content, tuple):
        return [_packed(each) for each in content]
    return content


def unpacked_slots(packed: list[list[Any]]) -> tuple[Slot, ...]:
    return tuple([Slot(kind, _unpacked(kind, content)) for kind, content in packed])


def _unpacked(kind: str, content: Any) -> Any:
    if kind == "table":
        return b64decode(content)
    if kind in _SITES:
        return tuple([_SITES[kind](*_tuples(each)) for each in content])
    if kind == "descriptor":
        return TensorMap(*[_tuples(each) for each in content])
    return _tuples(content)


def _tuples(value: Any) -> Any:
    return tuple([_tuples(each) for each in value]) if isinstance(value, list) else value


def packed_specialization(specialization: Specialization) -> list[list[int]]:
    return [sorted(each) if isinstance(each, frozenset) else list(each) for each in specialization]


def unpacked_specialization(packed: list[list[int]]) -> Specialization:
    kinds: list[Any] = [type(each) for each in Specialization()]
    return Specialization(*[kind(each) for kind, each in zip(kinds, packed, strict=True)])


def unpacked_schedule(packed: list[Any]) -> Schedule:
    return Schedule(*packed)
