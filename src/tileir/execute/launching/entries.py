"""The kernels of a module, the choice of one, and the grids that it is launched with."""

from __future__ import annotations

from typing import Final

from tileir.cpp.demangling import source_name
from tileir.dialect.ops import BUILTIN_MODULE, ENTRY, MODULE
from tileir.execute.errors import BlockId, ChoiceError, LaunchError
from tileir.ir.core import Operation
from tileir.ir.quoting import type_text


def entries_of(module: Operation) -> dict[str, Operation]:
    found: dict[str, Operation] = {}
    for region in module.regions:
        for block in region.blocks:
            for operation in block:
                if operation.declaration is ENTRY:
                    found[operation.symbol_name or ""] = operation
                elif operation.declaration in (MODULE, BUILTIN_MODULE):
                    found.update(entries_of(operation))
    return found


def select_entry(module: Operation, name: str | None) -> Operation:
    """The kernel to run: the one named, or the only one."""
    entries = entries_of(module)
    if not entries:
        raise LaunchError("the module has no entry, so nothing to launch: put the kernel in an `entry @name(..)`")
    names = ", ".join([f"@{source_name(found)}" for found in entries])
    if name is None:
        if len(entries) > 1:
            raise LaunchError(f"the module has several entries: choose one of {names} with --entry, or entry=")
        return next(iter(entries.values()))
    if not isinstance(name, str):
        raise LaunchError(f"the name of an entry is a string, not {type_text(name)}: choose one of {names}")
    entry = entries.get(name.removeprefix("@")) or _in_cpp(entries, name)
    if entry is None:
        raise ChoiceError(f"the module has no entry @{name.removeprefix('@')}: choose one of {names}")
    return entry


def _in_cpp(entries: dict[str, Operation], name: str) -> Operation | None:
    """The kernel of a C++ name, such as `scale<128>`, if one alone has it: symbols have names behind their lengths."""
    same = [entry for symbol, entry in entries.items() if source_name(symbol).replace(" ", "") == name.replace(" ", "")]
    if len(same) == 1:
        return same[0]
    plain = name.partition("<")[0].rpartition("::")[2]
    found = [entry for symbol, entry in entries.items() if symbol.startswith("_Z") and f"{len(plain)}{plain}" in symbol]
    return found[0] if len(found) == 1 else None


def check_number(entry: Operation, arguments: tuple[object, ...]) -> None:
    """Refuse more or fewer arguments than a kernel has parameters."""
    parameters = entry.regions[0].blocks[0].arguments
    if len(arguments) != len(parameters):
        kinds = ", ".join([parameter.type.spelling for parameter in parameters])
        name, count = source_name(entry.symbol_name or ""), len(parameters)
        raise LaunchError(
            f"@{name} takes {count} argument{'' if count == 1 else 's'} ({kinds}), "
            f"but {len(arguments)} {'was' if len(arguments) == 1 else 'were'} given: "
            "pass an array for each pointer and a number for each scalar"
        )


def check_arguments(args: object) -> tuple[object, ...]:
    if not isinstance(args, (tuple, list)):
        kind = type(args).__name__
        raise LaunchError(f"the arguments of a launch are a tuple, as (x, y), but this is of type {kind}: pass a tuple")
    return tuple(args)


GRID_LIMITS: Final[BlockId] = (2**31 - 1, 65535, 65535)
_OMITTED: Final[tuple[tuple[int, ...], ...]] = ((), (1, 1), (1,), ())  # The extents behind those of a shorter grid.


def check_grid(grid: object) -> BlockId:
    """The extents of a grid of one to three dimensions."""
    # Most grids are one of these; the rest is for the messages.
    if type(grid) is int and 0 < grid <= GRID_LIMITS[0]:
        return grid, 1, 1
    if type(grid) is tuple and 1 <= len(grid) <= 3:
        x, y, z = grid + _OMITTED[len(grid)]
        if type(x) is type(y) is type(z) is int and 0 < x < 2**31 and 0 < y < 65536 and 0 < z < 65536:
            return x, y, z
    extents = (grid,) if _is_integer(grid) else grid
    if hasattr(grid, "__dlpack__") or (hasattr(grid, "__array_interface__") and not _is_integer(grid)):
        raise LaunchError("the grid comes first, as in (4,) or (16, 16, 1), but an array was given instead")
    if not isinstance(extents, (tuple, list)) or not 1 <= len(extents) <= 3:
        raise LaunchError(f"a grid is one to three extents, as in (4,) or (16, 16, 1), but {grid!r} was given")
    if not all(_is_integer(extent) and not isinstance(extent, bool) for extent in extents):
        raise LaunchError(
            f"the extents of a grid are integers, but {grid!r} was given: round up, as in (-(-n // 128),)"
        )
    numbers = [int(extent) for extent in extents]
    for axis, number in enumerate(numbers):
        extent = f"the grid has extent {number} along {'xyz'[axis]}"
        if number < 1:
            raise LaunchError(f"{extent}: launch at least one tile block, or skip the launch")
        if number > GRID_LIMITS[axis]:
            hint = "" if axis == 0 else ", and put what is larger along x"
            raise LaunchError(f"{extent}: pass at most {GRID_LIMITS[axis]}{hint}")
    numbers += [1] * (3 - len(numbers))
    return numbers[0], numbers[1], numbers[2]


def _is_integer(value: object) -> bool:
    """Also one of NumPy's, which need not be installed; an array of one element is none."""
    return isinstance(value, int) or (hasattr(value, "__index__") and not hasattr(value, "__dlpack__"))
