"""The two layouts by name: a program to bytes and back, and what gets lost (docs/reference/bytecode.md)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.bytecode.container import ATTRIBUTE, Container, origin_of, section_identifiers
from tileir.bytecode.primitives import BytecodeError
from tileir.bytecode.records import is_private
from tileir.collector import CollectorPaused
from tileir.dialect.debug_info import DILocation, children
from tileir.dialect.ops import ENTRY, MODULE
from tileir.ir.attributes import ArrayAttribute
from tileir.ir.core import Module, Operation
from tileir.ir.diagnostics import Diagnostic, OptionError
from tileir.ir.location import UNKNOWN, CallSiteLocation, FileLocation, Location, TextLocation, UnknownLocation
from tileir.ir.traversal import is_function
from tileir.ir.versions import PREVIEW, RELEASED, V13_1, V13_5, Version, version_text

PUBLIC: Final = "public"
DOCUMENTED: Final = "documented"
LAYOUTS: Final = (PUBLIC, DOCUMENTED)

_WHO_HAS: Final = "only functions and the operations in them have one"


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
    """The newest version a layout has that NVIDIA's assembler reads."""
    return V13_1 if layout == DOCUMENTED else RELEASED


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


def from_bytes(data: bytes, layout: str | None = None) -> Module:
    """The module in a file, not yet verified; the layout is recognized unless it is given."""
    chosen = layout if layout is not None else layout_of(data)
    check_layout(chosen)
    if chosen == DOCUMENTED:
        from tileir.bytecode.documented.reader import read_documented

        with CollectorPaused():
            return read_documented(data)
    from tileir.bytecode.reader import read_public

    with CollectorPaused():
        return read_public(data)


def layout_of(data: bytes) -> str:
    """Only a file of the documented layout has an attribute section; anything else is taken for a public one."""
    return DOCUMENTED if ATTRIBUTE in section_identifiers(data) else PUBLIC


def check_layout(layout: str) -> None:
    if layout not in LAYOUTS:
        raise OptionError(f"unknown layout '{layout}', expected one of: {', '.join(LAYOUTS)}")


def _refused(message: str) -> BytecodeError:
    return BytecodeError([Diagnostic("error", message, UNKNOWN)], -1)


# --- what bytecode cannot hold (docs/reference/bytecode.md section 6) ---


def dropped_information(module: Operation, layout: str, version: Version = RELEASED) -> list[Diagnostic]:
    """A warning for everything that writing a module would drop: nothing is dropped in silence."""
    found: list[Diagnostic] = _dropped_locations(module)
    name = module.symbol_name
    if name is not None and name != "kernels":
        message = f"the name of the module, @{name}, cannot be in bytecode; it reads back as @kernels"
        found.append(Diagnostic("warning", message, module.location))
    for operation in module.walk():
        if operation is not module and layout != "public":
            continue
        arguments = operation.attributes.get("arg_attrs") if operation.declaration is ENTRY else None
        if version < V13_5 and isinstance(arguments, ArrayAttribute) and any(map(children, arguments.elements)):
            message = f"attributes of arguments cannot be in bytecode {version_text(version)} and are dropped"
            found.append(Diagnostic("warning", message, operation.location))
        for attribute in operation.attributes:
            if attribute == "sym_visibility" and is_function(operation) and is_private(operation):
                continue
            if attribute not in operation.declaration.inherent and attribute != PREVIEW:
                message = f"attribute '{attribute}' cannot be in {layout} bytecode and is dropped"
                found.append(Diagnostic("warning", message, operation.location))
    return found


def _dropped_locations(module: Operation) -> list[Diagnostic]:
    """A warning for each reason why locations are dropped, at the first of them.

    Positions in the text that was parsed were not requested; only functions and operations have a location in a file.
    """
    without_scope: list[Location] = []
    outside: list[Location] = []
    arguments: list[Location] = []
    for region in module.regions:
        for block in region.blocks:
            for top in block:
                if not is_function(top):
                    outside += [top.location] if _was_given(top.location) else []
                    continue
                for operation in top.walk():
                    if _is_dropped(operation.location):
                        without_scope.append(operation.location)
                    arguments += _dropped_with_arguments(operation)
    found: list[Diagnostic] = []
    if without_scope:
        message = (
            f"{_of(without_scope, 'operation')} no debug scope and cannot be in bytecode: 'tileir as -g' or the pass "
            "'synthesize-debug-info-scopes' makes the scopes"
        )
        found.append(Diagnostic("warning", message, without_scope[0]))
    for lost, kind in ((arguments, "block argument"), (outside, "operation")):
        if lost:
            found.append(Diagnostic("warning", f"{_of(lost, kind)} no encoding in bytecode: {_WHO_HAS}", lost[0]))
    if _was_given(module.location):
        message = f"the location of the module cannot be in bytecode: {_WHO_HAS}"
        found.append(Diagnostic("warning", message, module.location))
    return found


def _dropped_with_arguments(operation: Operation) -> list[Location]:
    """The locations of an operation's block arguments that add something to the operation's own location."""
    owner = operation.location
    position = owner.source if isinstance(owner, DILocation) else owner
    return [
        argument.location
        for region in operation.regions
        for block in region.blocks
        for argument in block.arguments
        if _was_given(argument.location) and argument.location is not owner and argument.location is not position
    ]


def _of(locations: list[Location], kind: str) -> str:
    count = len(locations)
    return f"the location of 1 {kind} has" if count == 1 else f"the locations of {count} {kind}s have"


def _was_given(location: Location) -> bool:
    return not isinstance(location, (TextLocation, UnknownLocation))


def _is_dropped(location: Location) -> bool:
    """Whether a location, or a part of it, is a position without a scope."""
    waiting = [location]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FileLocation):
            return True
        if isinstance(part, CallSiteLocation):
            waiting += [part.callee, part.caller]
    return False
