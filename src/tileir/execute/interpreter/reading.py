"""How a loaded tile is held: decided once for each `load_view_tko`, while compiling.

A load gives the memory as it is at the load, so its tile is a copy.  The copy can be saved in two ways that no program
can tell from it:

- **borrowed**: the tile is the memory itself, seen through the view.  Allowed if every use stands in the block of the
  load, takes the elements into a new array (`READERS`) and keeps no part of the tile, and if nothing from the load to
  the last use may change memory.
- **kept**: the copy stays with the region it was read from (`Region.kept`) and is handed out again by the next load of
  the same tile, in this tile block or in another, until something writes to the region.  Worth it where contiguous
  elements matter: BLAS goes over the right factor of a product again and again, and is up to twice as slow if its rows
  lie pages apart.

Both are for weak loads, the ones that promise that nobody else writes meanwhile, and for launches that run one tile
block after another: interleaved blocks write between two operations.  An observer that watches the load or a use of
its tile may hold on to the tile, which then is a copy; one that watches accesses is told of all, kept tiles included.
"""

from __future__ import annotations

from typing import Final, cast

from tileir.dialect.ops import (
    ADDF,
    ADDI,
    ANDI,
    CMPF,
    CMPI,
    DIVF,
    FMA,
    MMAF,
    MULF,
    MULI,
    ORI,
    SUBF,
    SUBI,
    XORI,
)
from tileir.dialect.types import GatherScatterViewType, TileType
from tileir.execute.dtypes import plain_memory
from tileir.execute.interpreter.compiler import Compiler
from tileir.ir.core import Operation
from tileir.ir.registry import REGISTRY
from tileir.ir.traits import MATRIX_PRODUCT
from tileir.ir.types import F32, F64
from tileir.ir.values import Value

COPIED: Final = 0
BORROWED: Final = 1
KEPT: Final = 2

# Their kernels write new arrays, whose bits do not depend on how the operands lie in memory.
READERS: Final = (ADDF, SUBF, MULF, DIVF, FMA, CMPF, ADDI, SUBI, MULI, ANDI, ORI, XORI, CMPI)
_PRODUCTS: Final = REGISTRY.with_traits(MATRIX_PRODUCT)


def how_held(compiler: Compiler, load: Operation) -> int:
    """Whether the tile of a `load_view_tko` is COPIED, BORROWED or KEPT."""
    options = compiler.options
    if options.interleaved:
        return COPIED
    view = load.view
    if load.memory_ordering_semantics != "weak" or isinstance(view.type, GatherScatterViewType):
        return COPIED
    tile = load.results[0]
    users = tile.users
    if any(compiler.watches(operation) for operation in (load, *users)):
        return COPIED
    if any(_read_repeatedly(user, tile, options.exact) for user in users):
        return KEPT if compiler.known_before_blocks(view) else COPIED
    if not plain_memory(cast(TileType, tile.type).element):
        # The conversion makes a new array anyway.
        return COPIED
    block = load.parent
    if block is None or not all(_reads(user, tile) for user in users):
        return COPIED
    return BORROWED if compiler.order_of(block).undisturbed(load, users) else COPIED


def _read_repeatedly(user: Operation, tile: Value, exact: bool) -> bool:
    """Whether a product hands the tile to BLAS as its right factor: other element types are widened first."""
    if user.declaration is not MMAF or exact or user.operands[1] is not tile:
        return False
    return cast(TileType, tile.type).element in (F32, F64)


def _reads(user: Operation, tile: Value) -> bool:
    """Whether an operation does nothing with the tile but read it."""
    if user.declaration in _PRODUCTS:
        # NumPy takes other ways, in which the layout may matter, if an extent is one.
        return min(cast(TileType, tile.type).shape) > 1
    return user.declaration in READERS
