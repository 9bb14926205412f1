"""Printing, pickling, copying and describing the objects of a program, which layers above this one do.

Those layers put their functions into `HOOKS` (`text/printer.py`, `interface.py`), so that no import points up.
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


HOOKS: Final = Hooks()


class Shared:
    """Base of what exists once for each value: a copy is the object itself."""

    __slots__ = ()

    def __copy__(self) -> object:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        return self

    def __reduce__(self) -> Reduced:
        return HOOKS.reduce(self)


class ProgramPart:
    """Base of operations, blocks, regions and values; only operations can be copied."""

    __slots__ = ()

    def __copy__(self) -> object:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        kind = type(self).__name__
        raise TypeError(
            f"{kind} objects are part of a program and cannot be copied alone: copy the operation around them"
        )

    def __reduce__(self) -> Reduced:
        return HOOKS.reduce(self)

    def __repr__(self) -> str:
        return HOOKS.describe(self)
