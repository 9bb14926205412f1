"""The two layouts by name: a program to bytes and back (docs/bytecode.md)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.container import ATTRIBUTE, Container, section_identifiers
from tileir.bytecode.origin import origin_of
from tileir.bytecode.primitives import BytecodeError
from tileir.collector import CollectorPaused
from tileir.dialect.ops import MODULE
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, OptionError
from tileir.ir.location import UNKNOWN
from tileir.ir.versions import NEWEST, V13_1, Version, version_text

PUBLIC: Final = "public"
DOCUMENTED: Final = "documented"
LAYOUTS: Final = (PUBLIC, DOCUMENTED)


def to_bytes(module: Operation, version: Version, layout: str = PUBLIC, preserve: bool = False) -> bytes:
    """The bytes of a module; with `preserve` one read from a file keeps the encoding choices of that file.

    They belong to one layout and version: a module written in another one gets none of them.
    """
    check_layout(layout)
    module = tile_module(module)
    origin = _preserved_origin(module, version, layout) if preserve else None
    if layout == DOCUMENTED:
        if version != V13_1:
            raise _refused(f"the documented layout has bytecode version 13.1 only, not {version_text(version)}")
        from tileir.bytecode.documented.writer import write_documented

        return write_documented(module, origin)
    from tileir.bytecode.writer import write_public

    return write_public(module, version, origin)


def _preserved_origin(module: Operation, version: Version, layout: str) -> Container | None:
    origin = origin_of(module)
    if origin is None or origin.version != version:
        return None
    return origin if (ATTRIBUTE in origin.sections) == (layout == DOCUMENTED) else None


def newest_version(layout: str) -> Version:
    """The newest version a layout has."""
    return V13_1 if layout == DOCUMENTED else NEWEST


def tile_module(module: Operation) -> Operation:
    """The cuda_tile module of a program: itself, or the one thing in the module that MLIR's tools put around it."""
    if module.declaration is MODULE:
        return module
    message = f"expected a CUDA Tile IR module, but got a {module.name}"
    # Imported here: the reader makes none.
    from tileir.dialect.ops import BUILTIN_MODULE

    if module.declaration is BUILTIN_MODULE:
        contents = list(module.regions[0].blocks[0])
        if len(contents) == 1 and contents[0].declaration is MODULE:
            return contents[0]
        message = "expected a single CUDA Tile IR module in the MLIR module"
    raise BytecodeError([Diagnostic("error", message, module.location)], -1)


def from_bytes(data: bytes, layout: str | None = None, newest: Version = NEWEST) -> Operation:
    """The module in a file, not yet verified; the layout is recognised unless it is given.

    `newest` is the last version of the public layout that is accepted.
    """
    chosen = layout if layout is not None else layout_of(data)
    check_layout(chosen)
    if chosen == DOCUMENTED:
        from tileir.bytecode.documented.reader import read_documented

        with CollectorPaused():
            return read_documented(data)
    from tileir.bytecode.reader import read_public

    with CollectorPaused():
        return read_public(data, newest)


def layout_of(data: bytes) -> str:
    """Only a file of the documented layout has an attribute section; anything else is taken for a public one."""
    return DOCUMENTED if ATTRIBUTE in section_identifiers(data) else PUBLIC


def check_layout(layout: str) -> None:
    if layout not in LAYOUTS:
        raise OptionError(f"unknown layout '{layout}', expected one of: {', '.join(LAYOUTS)}")


def _refused(message: str) -> BytecodeError:
    return BytecodeError([Diagnostic("error", message, UNKNOWN)], -1)
