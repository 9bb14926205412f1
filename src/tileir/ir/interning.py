"""The base classes of what a program consists of, and one object for each type, attribute and location.

Layers above print, pickle, copy and describe the objects of a program: they put their functions into `HOOKS`
(`text/printer.py`, `interface.py`), so that no import points up.

A type, attribute or location exists once, so that `is` compares it.  A factory looks its parameters up in a table and
passes a new object to `intern`.  When the tables have doubled they are swept: an object that only its table refers to
is dropped.  Python's reference counts show which these are; finding an object again costs nothing extra.

A sweep takes an object out of its table, then reads its reference count, and holds the lock, so that no other thread
makes the same object meanwhile.  A signal handler in the middle of a sweep may need the object that is out of its table
just then: `intern` returns it.

Attributes and locations that contain others are all in one table, in the order in which they were made, so that a sweep
from its end reaches a container before its contents.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock

from tileir.annotations import TYPE_CHECKING, Callable, Final
from tileir.ir.quoting import type_text

if TYPE_CHECKING:
    from typing import Any, TypeVar

    Key = TypeVar("Key")
    Value = TypeVar("Value")

# What `__reduce__` returns: a function and its arguments.
Reduced = tuple[object, tuple[object, ...]]


class Hooks:
    """`print_operation` takes an operation and the arguments of `Operation.text`, `clone` an operation and the `memo`
    of `copy.deepcopy`; `reduce` is for `pickle`, `describe` for `repr`, `html` for notebooks."""

    def __init__(self) -> None:
        self.print_operation: Callable[[object, bool, bool, str, str | None], str] = _name_only
        self.reduce: Callable[[object], Reduced] = _no_pickling
        self.clone: Callable[[object, dict[int, object]], object] = _no_copying
        self.describe: Callable[[object], str] = _class_only
        self.html: Callable[[object], str] = _class_only


def _name_only(operation: object, generic: bool, debug_info: bool, names: str, version: str | None) -> str:
    return _class_only(operation)


def _no_pickling(value: object) -> Reduced:
    raise TypeError(f"{type_text(value)} can be pickled after `import tileir.interface`")


def _no_copying(value: object, memo: dict[int, object]) -> object:
    raise TypeError(f"{type_text(value)} can be copied after `import tileir.interface`")


def _class_only(value: object) -> str:
    return f"<{type(value).__name__}>"


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


# The tables are swept after at least this many additions; an object takes some hundred bytes.
_LEAST: Final = 1 << 14
# How many bytes of a long constant count as one object.
BYTES_PER_OBJECT: Final = 256


class Pool:
    """All tables, and what is needed to sweep them."""

    def __init__(self) -> None:
        self.lock: RLock = RLock()
        # In the order in which they are swept: the rank of each, the table, and the weight of its values.
        self.tables: list[tuple[int, dict[Any, Any], Callable[[Any], int] | None]] = []
        self.before_sweep: list[Callable[[], None]] = []
        self.added: int = 0
        self.limit: int = _LEAST
        self.sweeping: bool = False
        # The object that a sweep has taken out, and where it belongs.
        self.removed: object = None
        self.removed_key: object = None
        self.removed_from: dict[Any, Any] | None = None
        # The reference count of an object that only its table, and only `removed`, refers to.
        self.unshared: int = -1
        self.unshared_when_removed: int = -1

    def calibrate(self) -> None:
        """Find the reference counts of unshared objects with the code that a sweep uses."""
        if not hasattr(sys, "getrefcount"):
            return
        table: dict[Any, Any] = {"probe": ["an object"]}
        self.unshared = self.references(table, "probe")
        self.removed = table.pop("probe")
        self.unshared_when_removed = self.removed_references()
        self.removed = None

    def references(self, table: dict[Any, Any], key: object) -> int:
        return sys.getrefcount(table[key])

    def removed_references(self) -> int:
        return sys.getrefcount(self.removed)

    def sweep(self) -> None:
        """Drop objects that nothing else refers to; the lock is held."""
        if self.unshared < 0:
            # A Python that does not count references.
            self.limit = self.added + (1 << 60)
            return
        self.sweeping = True
        try:
            for forget in self.before_sweep:
                forget()
            kept = 0
            for _, table, weigh in self.tables:
                self.sweep_table(table)
                kept += len(table)
                if weigh is not None:
                    kept += sum([weigh(value) for value in list(table.values())])
        finally:
            self.put_back()
            self.sweeping = False
        self.added = 0
        self.limit = max(_LEAST, kept)

    def release(self) -> None:
        """Sweep now, however few objects were added."""
        with self.lock:
            if not self.sweeping:
                self.sweep()

    def sweep_table(self, table: dict[Any, Any]) -> None:
        keys = list(table)
        while keys:
            # Popped, because the list would keep the parts of dropped objects alive.
            key = keys.pop()
            if self.references(table, key) > self.unshared:
                continue
            self.removed_key = key
            self.removed_from = table
            self.removed = table[key]
            del table[key]
            if self.removed_references() > self.unshared_when_removed:
                table[key] = self.removed
            self.removed = None
            self.removed_key = None

    def put_back(self) -> None:
        """Return the object that an interrupted sweep had taken out to its table."""
        if self.removed is not None and self.removed_from is not None:
            self.removed_from.setdefault(self.removed_key, self.removed)
        self.removed = None
        self.removed_key = None
        self.removed_from = None

    def after_fork(self) -> None:
        """In a forked process the thread that held the lock does not exist."""
        self.lock = RLock()
        self.put_back()
        self.sweeping = False


POOL: Final = Pool()
POOL.calibrate()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=POOL.after_fork)

# Attributes and locations that contain others, by kind and parts.
COMPOSITES: Final[dict[tuple[object, ...], object]] = {}

# The order of a sweep, containers first: attributes contain types, and types one another.
COMPOSITE: Final = 0
LEAF: Final = 1
FUNCTION: Final = 2
VIEW: Final = 3
TENSOR_VIEW: Final = 4
TILE: Final = 5
POINTER: Final = 6
ELEMENT: Final = 7


def register(table: dict[Any, Any], rank: int, weigh: Callable[[Any], int] | None = None) -> None:
    """Let a table be swept, after those of lower rank, whose objects may contain its objects.

    `weigh` returns how many objects more than one a value counts for.
    """
    index = 0
    while index < len(POOL.tables) and POOL.tables[index][0] <= rank:
        index += 1
    POOL.tables.insert(index, (rank, table, weigh))


def forget_with(forget: Callable[[], None]) -> None:
    """Call `forget` before each sweep, to empty a cache that would keep objects alive."""
    POOL.before_sweep.append(forget)


def intern(table: dict[Key, Value], key: Key, made: Value, weight: int = 1) -> Value:
    """The object of a key: `made`, or the one that another thread made first."""
    pool = POOL
    with pool.lock:
        found = table.get(key)
        if found is not None:
            return found
        if pool.sweeping and pool.removed is not None and pool.removed_from is table and pool.removed_key == key:
            # A signal handler in the middle of a sweep.
            pool.removed_from.setdefault(key, pool.removed)
            return table[key]
        table[key] = made
        pool.added += weight
        if pool.added > pool.limit and not pool.sweeping:
            pool.sweep()
        return made


register(COMPOSITES, COMPOSITE)

# Whether the package is compiled: only interpreted functions have code objects.
IS_COMPILED: Final = not hasattr(register, "__code__")
