"""Loading an object into this process, and calling it."""

from __future__ import annotations

import ctypes
import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from tileir.execute.cpu.native.mapping import mapped
from tileir.execute.cpu.native.objects import CALLABLE, UnknownObject, symbols_of
from tileir.execute.cpu.native.record import ARGUMENTS, GRID
from tileir.execute.cpu.native.target import binding
from tileir.execute.cpu.native.uninterrupted import give_back_after, uninterrupted
from tileir.execute.errors import CompilationError

_WORKER: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class Loaded:
    """A function in native code, alive as long as this is; calling it releases the interpreter lock."""

    __slots__ = ("_deciding", "_library", "_measured", "address", "call", "pace", "repeats")

    def __init__(self, library: object, address: int) -> None:
        self._library: object = library
        self.address: int = address
        self.call: Callable[[int, int], int] = cast("Callable[[int, int], int]", _WORKER(address))
        """The worker: the address of a record and that of an arena."""
        self.repeats: bool = False
        """Whether a tile block has loops, which may take any time."""
        self.pace: int = 0
        """How many nanoseconds a tile block took in the last launch, 0 before the first: `thread_pool` keeps it."""
        self._deciding: Callable[[Any], object] | None = None
        self._measured: object = None

    def has_loops(self, deciding: list[int] | None) -> None:
        """Tile blocks have loops; the arguments named decide how often they turn (`turns`)."""
        self.repeats = True
        if deciding is not None:
            self._deciding = operator.itemgetter(*range(GRID, GRID + 3), *[ARGUMENTS + each for each in deciding])

    def takes_as_long(self, slots: Any) -> bool:
        """Whether a tile block of this launch takes about as long as one of the launch that `pace` is of."""
        if not self.repeats:
            return True
        return self._deciding is not None and self._deciding(slots) == self._measured

    def measured(self, slots: Any, pace: int) -> None:
        """Remember how long a tile block took in a launch."""
        self._measured = None
        self.pace = pace
        if self._deciding is not None:
            self._measured = self._deciding(slots)


_engine: Any = None
_libraries_of_engine: int = 0

_MOST_LIBRARIES: Final = 16
"""How many kernels one of LLVM's engines is given.  It never forgets a library, which is 8 KB even when the code is
gone, while an engine, which is 120 KB, goes with the last of its libraries."""


def load(data: bytes, entry: str = "worker") -> Loaded:
    """Load an object file and find a function in it."""
    try:
        symbols = symbols_of(data)
    except UnknownObject as error:
        raise CompilationError(f"the compiled kernel cannot be loaded: {error}") from None
    if entry not in symbols.defined:
        raise CompilationError(f"the compiled kernel cannot be loaded: it has no function '{entry}'")
    # A symbol that is not found ends the process inside LLVM.
    imports = {name: address_of(name) for name in symbols.undefined}
    pages = mapped(data, entry, imports)
    if pages is not None:
        return Loaded(pages, pages.address)
    return Loaded(*uninterrupted(_linked, data, entry, imports))


class _Placed:
    """Code that LLVM has put into memory, as long as this is there."""

    __slots__ = ("__weakref__",)


def _linked(data: bytes, entry: str, imports: dict[str, int]) -> tuple[_Placed, int]:
    """Leave an object to LLVM, which knows every kind."""
    global _engine, _libraries_of_engine
    llvm = binding()
    builder = llvm.JITLibraryBuilder().add_object_img(data).export_symbol(entry)
    for name, address in imports.items():
        builder.import_symbol(name, address)
    if _engine is not None and _libraries_of_engine >= _MOST_LIBRARIES:
        # What was linked with it still holds it.
        _engine.close()
        _engine = None
    if _engine is None:
        # LLVM's newer linker keeps code and constants together, so that no distance is too large for an instruction;
        # for Windows it is not complete.
        _engine = llvm.create_lljit_compiler(use_jit_link=sys.platform != "win32")
        _libraries_of_engine = 0
    # One that cannot be linked has taken its name, too.
    _libraries_of_engine += 1
    try:
        library = builder.link(_engine, f"kernel{_libraries_of_engine}")
    except RuntimeError as error:
        raise CompilationError(f"the compiled kernel cannot be loaded: {str(error).strip()}") from None
    placed = _Placed()
    give_back_after(placed, library)
    return placed, library[entry]


_addresses: dict[str, int] = {}
_libraries: dict[int, Any] = {}


def address_of(name: str) -> int:
    """Where a function that generated code may call is in this process."""
    found = _addresses.get(name)
    if found is None:
        if name not in CALLABLE:
            raise CompilationError(f"the compiled kernel needs '{name}', which it must not call")
        for library in _c_libraries():
            function = getattr(library, name, None)
            if function is not None:
                found = ctypes.cast(function, ctypes.c_void_p).value
                break
        if found is None:
            raise CompilationError(f"the compiled kernel needs '{name}', which the C library of this system lacks")
        _addresses[name] = found
    return found


def _c_libraries() -> Iterator[Any]:
    """Where functions are looked for, in order; opened when what comes before does not have one."""
    for number, opened in enumerate(_LIBRARIES):
        if number not in _libraries:
            # By number: two threads may open the same one, which does no harm.
            _libraries[number] = opened()
        yield _libraries[number]


def _mathematics() -> Any:
    """The C library's other half, which may not be loaded yet; finding it takes another process."""
    # Imported here: it brings a fifth of Python's library.
    from ctypes.util import find_library

    found = find_library("m")
    return ctypes.CDLL(found) if found else None


_LIBRARIES: Final[tuple[Callable[[], Any], ...]] = (
    (lambda: ctypes.CDLL("ucrtbase"), lambda: ctypes.CDLL("vcruntime140"))
    if sys.platform == "win32"
    else (lambda: ctypes.CDLL(None), _mathematics)
)
