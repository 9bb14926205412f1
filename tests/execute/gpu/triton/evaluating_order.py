"""What TTIR has that others may interfere with, run with NumPy: atomics, accesses with an order, barriers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
from tests.execute.gpu.triton import ttir_model
from tests.execute.gpu.triton.ttir_text import Node

_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "and": numpy.bitwise_and,
    "or": numpy.bitwise_or,
    "xor": numpy.bitwise_xor,
    "add": numpy.add,
    "fadd": numpy.add,
    "max": numpy.maximum,
    "min": numpy.minimum,
    "exch": lambda old, new: new,
}
_ACCESS = re.compile(r"@p (ld|st|atom)\.\w+\.\w+\.global\.(?:cas\.)?b(\d+)")


class TileBlockEnded(Exception):
    """An assert has failed."""


def combined(mode: str, old: Any, new: Any) -> Any:
    """What an atomic operation makes of two numbers."""
    with numpy.errstate(all="ignore"):
        if mode in ("umax", "umin"):
            unsigned = f"u{old.dtype.itemsize}"
            choose = numpy.maximum if mode == "umax" else numpy.minimum
            return choose(old.view(unsigned), new.view(unsigned)).view(old.dtype)
        return _COMBINED[mode](old, new)


class OrderEvaluation:
    """The part of an evaluation that has them; elements take their turn in row-major order."""

    memory: Any

    def names(self, text: str) -> list[Any]:
        raise NotImplementedError

    def do_ttg_barrier(self, node: Node) -> list[Any]:
        return []

    def do_tt_atomic_rmw(self, node: Node) -> list[Any]:
        mode = node.rest.split(",")[0].strip()
        pointers, values, *masks = self.names(node.rest.partition(" :")[0])
        found = numpy.full(values.shape, 90).astype(values.dtype)
        for place in numpy.ndindex(values.shape):
            if masks and not masks[0][place]:
                continue
            address = numpy.array([pointers[place]])
            old = self.memory.load(address, values.dtype)
            self.memory.store(address, combined(mode, old, numpy.array([values[place]], values.dtype)))
            found[place] = old[0]
        return [found]

    def do_tt_atomic_cas(self, node: Node) -> list[Any]:
        pointers, expected, values = self.names(node.rest.partition(" :")[0])
        everywhere = numpy.ones(values.shape, bool)
        return [self._swapped(pointers, expected, values, everywhere)]

    def _swapped(self, pointers: Any, expected: Any, values: Any, mask: Any) -> Any:
        bits = numpy.dtype(f"u{values.dtype.itemsize}")
        found = numpy.zeros(values.shape, values.dtype)
        for place in numpy.ndindex(values.shape):
            if not mask[place]:
                continue
            address = numpy.array([pointers[place]])
            old = self.memory.load(address, bits)
            if old[0] == numpy.array([expected[place]], values.dtype).view(bits)[0]:
                self.memory.store(address, numpy.array([values[place]], values.dtype).view(bits))
            found[place] = old.view(values.dtype)[0]
        return found

    def effect(self, node: Node) -> list[Any]:
        """Instructions of PTX that the lowering writes where Triton has no operation."""
        text, _, rest = node.rest.partition("pure = false}")
        if "exit;" in text:
            raise TileBlockEnded
        given = self.names(rest.partition(" :")[0]) if "%" in rest else []
        if not given:
            return [numpy.zeros(1, numpy.int32)]
        access = _ACCESS.search(text)
        assert access is not None, text
        kind, bits = access[1], int(access[2])
        unsigned = numpy.dtype(f"u{bits // 8}")
        mask = given[-1] != 0
        if kind == "st":
            raw = given[1].astype(numpy.int64).astype(unsigned)
            self.memory.store(given[0][mask], raw[mask])
            return [numpy.zeros(mask.shape, numpy.int32)]
        if kind == "atom":
            return [self._swapped(given[0], given[1], given[2], mask)]
        found = numpy.zeros(mask.shape, ttir_model.dtype_of("i64" if bits == 64 else "i32"))
        found[mask] = self.memory.load(given[0][mask], unsigned).astype(found.dtype)
        return [found]
