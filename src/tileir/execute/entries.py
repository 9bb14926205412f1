"""The kernels of a module, and the choice of one."""

from __future__ import annotations

from tileir.dialect.ops import BUILTIN_MODULE, ENTRY, MODULE
from tileir.execute.errors import ChoiceError, LaunchError
from tileir.ir.core import Operation
from tileir.ir.quoting import type_text


def entries_of(module: Operation) -> dict[str, Operation]:
    """The kernels of a module by name, in order."""
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
    names = ", ".join([f"@{found}" for found in entries])
    if name is None:
        if len(entries) > 1:
            raise LaunchError(f"the module has several entries: choose one of {names}")
        return next(iter(entries.values()))
    if not isinstance(name, str):
        raise LaunchError(f"the name of an entry is a string, not {type_text(name)}: choose one of {names}")
    entry = entries.get(name.removeprefix("@"))
    if entry is None:
        raise ChoiceError(f"the module has no entry @{name.removeprefix('@')}: choose one of {names}")
    return entry


def check_number(entry: Operation, arguments: tuple[object, ...]) -> None:
    """Refuse more or fewer arguments than a kernel has parameters."""
    parameters = entry.regions[0].blocks[0].arguments
    if len(arguments) != len(parameters):
        kinds = ", ".join([parameter.type.spelling for parameter in parameters])
        raise LaunchError(
            f"@{entry.symbol_name} takes {len(parameters)} argument{'' if len(parameters) == 1 else 's'} ({kinds}), "
            f"but {len(arguments)} {'was' if len(arguments) == 1 else 'were'} given: "
            "pass an array for each pointer and a number for each scalar"
        )
