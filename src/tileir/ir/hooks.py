"""What the program model needs from layers above it: printing, pickling, copying and describing its objects.

Those layers put their functions here (`text/printer.py`, `interface.py`), so that no import points up.
"""

from __future__ import annotations

from tileir.annotations import Callable, Final
from tileir.ir.quoting import type_words

# What `__reduce__` returns: a function and its arguments.
Reduced = tuple[object, tuple[object, ...]]


class Hooks:
    """`print_operation` takes an operation and the arguments of `Operation.text`, `clone` an operation and the memo of
    `copy.deepcopy`; `reduce` is for `pickle`, `describe` for `repr`."""

    __slots__ = ("clone", "describe", "print_operation", "reduce")

    def __init__(self) -> None:
        self.print_operation: Callable[[object, bool, bool, str, str | None], str] = _name_only
        self.reduce: Callable[[object], Reduced] = _no_pickling
        self.clone: Callable[[object, dict[int, object]], object] = _no_copying
        self.describe: Callable[[object], str] = _class_only


def _name_only(operation: object, generic: bool, debug_info: bool, names: str, version: str | None) -> str:
    return _class_only(operation)


def _no_pickling(thing: object) -> Reduced:
    raise TypeError(f"{type_words(thing)} can be pickled when the package is in use: import tileir.interface")


def _no_copying(thing: object, memo: dict[int, object]) -> object:
    raise TypeError(f"{type_words(thing)} can be copied when the package is in use: import tileir.interface")


def _class_only(thing: object) -> str:
    return f"<{type(thing).__name__}>"


def part_of_a_program(thing: object) -> TypeError:
    """The error for copying a part that makes no sense alone."""
    kind = type(thing).__name__
    return TypeError(f"{kind} objects are part of a program and cannot be copied alone: copy the operation around them")


HOOKS: Final = Hooks()
