"""Kernels as the assembler gets them: bytecode of a copy of their module.

Operations of the drafts are legalized, forms that the assembler refuses or gets wrong are written as others, and the
program is down-leveled if the assembler is older than the dialect.
Operations are located by their number (`messages.py`), so that whatever the assembler says is about one of them, and
the same program has the same bytecode wherever it stands.  Only where profilers and debuggers are to find the lines of
the source, operations keep their places.
"""

from __future__ import annotations

import re
from _blake2 import blake2b
from typing import TYPE_CHECKING, Final

from tileir.bytecode.layouts import to_bytes
from tileir.dialect.ops import ENTRY, GLOBAL
from tileir.execute.gpu.tileiras.messages import NUMBERED, Positions
from tileir.execute.gpu.tileiras.workarounds import avoid_mistakes, rewrite_refused
from tileir.execute.places import place_of
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import file_location
from tileir.ir.symbols import lookup_symbol
from tileir.ir.traversal import clone, pre_order
from tileir.ir.versions import NEWEST, Version
from tileir.passes import downlevel, legalize
from tileir.passes.debug_info import rename_symbol, synthesize_scopes

if TYPE_CHECKING:
    from tileir.execute.gpu.tileiras.tool import AssemblyOptions

_TAKEN_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_$]*|[_$][a-zA-Z0-9_$]+")
"""An identifier of PTX, which the assembler makes; it fails without a reason at other names."""
_OTHER_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_$]")


class Program:
    """What the assembler gets for a kernel, or for all kernels of a module."""

    def __init__(self, module: Operation, entry: Operation | None, lineinfo: bool, version: Version = NEWEST) -> None:
        """`module` is the one that the kernel stands in; with no `entry`, all of it."""
        self.source: Final = module
        self.entry: Final = entry
        self.warnings: Final[list[Diagnostic]] = []
        copy = clone(module) if entry is None else _alone(module, entry)
        legalize.run(copy, self.warnings)
        rewrite_refused(copy)
        avoid_mistakes(copy)
        if version < NEWEST:
            downlevel.run(copy, version, self.warnings)
        entries = [each for each in pre_order(copy) if each.declaration is ENTRY]
        self.kernels: Final = {each.symbol_name or "": each.symbol_name or "" for each in entries}
        """The kernels in it: the name that each has in the cubin, by its own."""
        for each in entries:
            self._rename(copy, each)
        operations = list(pre_order(copy))
        locations = [operation.location for operation in operations]
        if not lineinfo:
            for number, operation in enumerate(operations, 1):
                operation.location = file_location(NUMBERED, number, 1)
        self.data: Final = written(copy, version)
        self.version: Final = version
        for operation, location in zip(operations, locations, strict=True):
            operation.location = location
        self.module: Final = copy
        if entry is None and len(entries) == 1:
            entry = entries[0]
        self.name: Final = next(iter(self.kernels.values()), "") if entry is None else self._named(entry)
        """Of the kernel in the cubin; of the first, if there are several."""
        self.positions: Final = Positions(entry if entry is not None else module, operations)

    def _named(self, entry: Operation) -> str:
        name = entry.symbol_name or ""
        return self.kernels.get(name, name)

    def _rename(self, module: Operation, entry: Operation) -> None:
        """Give a kernel a name that the assembler takes."""
        name = entry.symbol_name or ""
        if _TAKEN_NAME.fullmatch(name):
            return
        number = 1
        plain = f"kernel_{_OTHER_CHARACTERS.sub('_', name)}"
        new = plain
        while lookup_symbol(module, new) is not None:
            number += 1
            new = f"{plain}_{number}"
        words = f"kernel @{name} is '{new}' in the cubin: NVIDIA's assembler takes no such name"
        self.warnings.append(Diagnostic("warning", words, place_of(entry.location)))
        rename_symbol(module, entry, new)
        self.kernels[name] = new

    def key(self, target: str, options: AssemblyOptions) -> str:
        """The name of the cubin in the cache."""
        digest = blake2b(digest_size=20, person=b"tileir cubin")
        settings = (target, options.opt_level, options.lineinfo, options.host, options.system)
        for part in (self.data, repr(settings).encode()):
            digest.update(len(part).to_bytes(8, "little") + part)
        return f"cubin-{digest.hexdigest()}"


def written(module: Operation, version: Version) -> bytes:
    """The bytecode of a module, with the scopes that locations need; the operations are in them afterwards."""
    synthesize_scopes(module)
    return to_bytes(module, version)


def _alone(module: Operation, entry: Operation) -> Operation:
    """A copy of a module with one of its kernels; with all of them, if they share memory that they write to."""
    copy = clone(module)
    contents = [operation for region in copy.regions for block in region.blocks for operation in block]
    shares = any(each.declaration is GLOBAL and not each.constant for each in contents)
    if not shares:
        for operation in contents:
            if operation.declaration is ENTRY and operation.symbol_name != entry.symbol_name:
                operation.erase()
    return copy
