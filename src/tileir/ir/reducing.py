"""The ways from a part of a program to its pickled form, to a copy of it, and to the line a debugger shows of it.

All are made in modules that know more than those that define the parts; these put themselves here (`interface.py`),
so that no arrow points up.
"""

from __future__ import annotations

from tileir.annotations import Callable, Final
from tileir.ir.quoting import type_words

Reduced = tuple[object, tuple[object, ...]]


class Reducing:
    __slots__ = ("clone", "describe", "reduce")

    def __init__(self) -> None:
        self.reduce: Callable[[object], Reduced] = _not_ready
        self.clone: Callable[[object, dict[int, object]], object] = _no_clone
        self.describe: Callable[[object], str] = _kind


def _not_ready(thing: object) -> Reduced:
    raise TypeError(f"{type_words(thing)} can be pickled when the package is in use: import tileir.interface")


def _no_clone(thing: object, memo: dict[int, object]) -> object:
    raise TypeError(f"{type_words(thing)} can be copied when the package is in use: import tileir.interface")


def _kind(thing: object) -> str:
    return f"<{type(thing).__name__}>"


def part_of_a_program(thing: object) -> TypeError:
    """What is told who copies a part that makes no sense alone."""
    kind = type(thing).__name__
    return TypeError(f"{kind} objects are part of a program and cannot be copied alone: copy the operation around them")


REDUCING: Final = Reducing()
