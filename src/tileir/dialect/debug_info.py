"""Debug information: the scopes that locations refer to, and the rules about them (docs/reference/conflicts.md F).

1. A function's location is not a call site.
2. If it has a scope, the scope is a subprogram,
3. and the subprogram's linkage name is the function's name.
4. An operation inside has a scope only if the function has one, and then one of the same subprogram.
5. Other operations of a module have no scope.
"""

from __future__ import annotations

from tileir.annotations import ClassVar, Final, cast
from tileir.ir.attributes import BODY, WHOLE, ArrayAttribute, Attribute, DictionaryAttribute, spell
from tileir.ir.core import Operation
from tileir.ir.declaration import VerifyContext, operation_name
from tileir.ir.diagnostics import Invalid, shown
from tileir.ir.interning import COMPOSITES, LEAF, intern, register
from tileir.ir.location import (
    UNKNOWN,
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    TextLocation,
    UnknownLocation,
)
from tileir.ir.quoting import quote
from tileir.ir.traversal import is_function, post_order, pre_order


class DebugScope(Attribute):
    """Base of the debug information attributes; `stem` is the name their aliases start with."""

    __slots__ = ()

    stem: ClassVar[str] = ""

    def body(self) -> list[str | tuple[Attribute, int]]:
        """The parts of the spelling after the name."""
        raise TypeError(type(self).__name__)

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        # Where the field implies the kind, the name is left out (docs/reference/printing.md section 9).
        return self.body() if way == BODY else [f"#cuda_tile.{self.stem}", *self.body()]

    @property
    def bare_text(self) -> str:
        return spell(self, BODY)

    @property
    def text(self) -> str:
        return spell(self)


class LocalScope(DebugScope):
    """A scope code can be in: a subprogram or a lexical block."""

    __slots__ = ()


class DIFile(DebugScope):
    """`di_file<"k.py" in "/src">`."""

    __slots__ = ("directory", "name")

    stem: ClassVar[str] = "di_file"

    def __init__(self, name: str, directory: str) -> None:
        self.name: str = name
        self.directory: str = directory

    def body(self) -> list[str | tuple[Attribute, int]]:
        return [f"<{quote(self.name)} in {quote(self.directory)}>"]


class DICompileUnit(DebugScope):
    """`di_compile_unit<file = ..>`."""

    __slots__ = ("file",)

    stem: ClassVar[str] = "di_compile_unit"

    def __init__(self, file: DIFile) -> None:
        self.file: DIFile = file

    def body(self) -> list[str | tuple[Attribute, int]]:
        return ["<file = ", (self.file, BODY), ">"]


class DISubprogram(LocalScope):
    """A function of the source language; `scope_line` 0 stands for none.  `flags` are a number, 0 before 13.5."""

    __slots__ = ("compile_unit", "file", "flags", "line", "linkage_name", "name", "scope_line")

    stem: ClassVar[str] = "di_subprogram"

    def __init__(
        self,
        file: DIFile,
        line: int,
        name: str,
        linkage_name: str,
        compile_unit: DICompileUnit,
        scope_line: int,
        flags: int,
    ) -> None:
        self.file: DIFile = file
        self.line: int = line
        self.name: str = name
        self.linkage_name: str = linkage_name
        self.compile_unit: DICompileUnit = compile_unit
        self.scope_line: int = scope_line
        self.flags: int = flags

    def body(self) -> list[str | tuple[Attribute, int]]:
        names = f"name = {quote(self.name)}, linkageName = {quote(self.linkage_name)}"
        end = f", scopeLine = {self.scope_line}" if self.scope_line else ""
        end += f", flags = {self.flags}>" if self.flags else ">"
        middle = f", line = {self.line}, {names}, compileUnit = "
        return ["<file = ", (self.file, BODY), middle, (self.compile_unit, BODY), end]


class DILexicalBlock(LocalScope):
    """A block inside a subprogram; `column` 0 stands for none."""

    __slots__ = ("column", "file", "line", "scope")

    stem: ClassVar[str] = "di_lexical_block"

    def __init__(self, scope: LocalScope, file: DIFile, line: int, column: int) -> None:
        self.scope: LocalScope = scope
        self.file: DIFile = file
        self.line: int = line
        self.column: int = column

    def body(self) -> list[str | tuple[Attribute, int]]:
        column = f", column = {self.column}>" if self.column else ">"
        position = f", line = {self.line}{column}"
        return ["<scope = ", (self.scope, WHOLE), ", file = ", (self.file, BODY), position]


class DILocation(Location):
    """`di_loc<loc("k.py":1:1) in ..>`: a position and the scope it is in."""

    __slots__ = ("scope", "source")

    def __init__(self, source: Location, scope: LocalScope) -> None:
        self.source: Location = source
        self.scope: LocalScope = scope

    def inside(self) -> list[str | tuple[Attribute, int]]:
        return ["#cuda_tile.di_loc<", (self.source, WHOLE), " in ", (self.scope, WHOLE), ">"]

    def parts(self, way: int) -> list[str | tuple[Attribute, int]]:
        return self.inside()


def children(attribute: Attribute) -> list[Attribute]:
    """The attributes inside one, in the order the alias printer visits them (docs/reference/printing.md section 8)."""
    if isinstance(attribute, DILocation):
        return [attribute.source, attribute.scope]
    if isinstance(attribute, DISubprogram):
        return [attribute.file, attribute.compile_unit]
    if isinstance(attribute, DILexicalBlock):
        return [attribute.scope, attribute.file]
    if isinstance(attribute, DICompileUnit):
        return [attribute.file]
    if isinstance(attribute, CallSiteLocation):
        return [attribute.callee, attribute.caller]
    if isinstance(attribute, FusedLocation):
        metadata: list[Attribute] = [attribute.metadata] if attribute.metadata is not None else []
        return [*metadata, *attribute.locations]
    if isinstance(attribute, NameLocation):
        return [] if isinstance(attribute.child, UnknownLocation) else [attribute.child]
    if isinstance(attribute, OpaqueLocation):
        return [attribute.fallback]
    if isinstance(attribute, ArrayAttribute):
        return list(attribute.elements)
    if isinstance(attribute, DictionaryAttribute):
        return [value for _, value in attribute.entries]
    return []


_files: Final[dict[tuple[str, str], DIFile]] = {}
register(_files, LEAF)


def di_file(name: str, directory: str) -> DIFile:
    """A source file, and the directory that its name is from."""
    key = (name, directory)
    return _files.get(key) or intern(_files, key, DIFile(name, directory))


def di_compile_unit(file: DIFile) -> DICompileUnit:
    """The compile unit of a file."""
    key = ("unit", file)
    return cast(DICompileUnit, COMPOSITES.get(key) or intern(COMPOSITES, key, DICompileUnit(file)))


def di_subprogram(
    file: DIFile,
    line: int,
    name: str,
    linkage_name: str,
    compile_unit: DICompileUnit,
    scope_line: int = 0,
    flags: int = 0,
) -> DISubprogram:
    """A function of the source."""
    parts = (file, line, name, linkage_name, compile_unit, scope_line, flags)
    key = ("subprogram", *parts)
    return cast(DISubprogram, COMPOSITES.get(key) or intern(COMPOSITES, key, DISubprogram(*parts)))


def di_lexical_block(scope: LocalScope, file: DIFile, line: int, column: int = 0) -> DILexicalBlock:
    """A block in a function."""
    key = ("block", scope, file, line, column)
    return cast(
        DILexicalBlock, COMPOSITES.get(key) or intern(COMPOSITES, key, DILexicalBlock(scope, file, line, column))
    )


def di_location(source: Location, scope: LocalScope) -> DILocation:
    """A location in a scope."""
    key = ("in", source, scope)
    return cast(DILocation, COMPOSITES.get(key) or intern(COMPOSITES, key, DILocation(source, scope)))


def scoped_location(location: Location, known: dict[Location, DILocation | None] | None = None) -> DILocation | None:
    """The location with a scope inside an operation's location; of a call site, inside the caller's.

    `known` caches results, for callers with many locations that share parts.
    """
    if isinstance(location, (TextLocation, UnknownLocation, FileLocation)):
        return None
    if isinstance(location, DILocation):
        return location
    if known is None:
        known = {}
    # An explicit stack, because locations may nest deeply: open locations, and how many parts of each were visited.
    path: list[Location] = [location] if location not in known else []
    positions: list[int] = [0]
    while path:
        parts = _parts_with_scope(path[-1])
        found: DILocation | None = None
        position = positions[-1]
        part: Location | None = None
        while position < len(parts) and found is None:
            part = parts[position]
            if isinstance(part, DILocation):
                found = part
            elif part in known:
                found = known[part]
            elif not isinstance(part, (TextLocation, UnknownLocation, FileLocation)):
                break
            position += 1
        if found is None and position < len(parts) and part is not None:
            positions[-1] = position
            path.append(part)
            positions.append(0)
            continue
        known[path.pop()] = found
        positions.pop()
    return known[location]


def _parts_with_scope(location: Location) -> tuple[Location, ...]:
    """The parts of a location that may have its scope; the first one with a scope decides."""
    if isinstance(location, CallSiteLocation):
        return (location.caller,)
    if isinstance(location, NameLocation):
        return (location.child,)
    if isinstance(location, FusedLocation):
        return location.locations
    if isinstance(location, OpaqueLocation):
        return (location.fallback,)
    return ()


def subprogram_of(scope: LocalScope) -> DISubprogram | None:
    while isinstance(scope, DILexicalBlock):
        scope = scope.scope
    return scope if isinstance(scope, DISubprogram) else None


def flagged_subprogram(location: Location, seen: set[Attribute]) -> DISubprogram | None:
    """A subprogram with flags among the parts of a location; parts that were `seen` before are left out."""
    if isinstance(location, (TextLocation, UnknownLocation, FileLocation)):
        return None
    pending: list[Attribute] = [location]
    found: DISubprogram | None = None
    while pending:
        part = pending.pop()
        if part not in seen:
            seen.add(part)
            if isinstance(part, DISubprogram) and part.flags:
                found = part
            pending += children(part)
    return found


class _Subprograms:
    """The subprograms that locations lie in; each location and scope is followed once."""

    def __init__(self) -> None:
        self._locations: dict[Location, DILocation | None] = {}
        self._scopes: dict[LocalScope, DISubprogram | None] = {}

    def at(self, location: Location) -> DISubprogram | None:
        found = scoped_location(location, self._locations)
        if found is None:
            return None
        path: list[LocalScope] = []
        scope = found.scope
        while scope not in self._scopes and isinstance(scope, DILexicalBlock):
            path.append(scope)
            scope = scope.scope
        result = self._scopes[scope] if scope in self._scopes else subprogram_of(scope)
        for inner in path:
            self._scopes[inner] = result
        return result


def verify_function_scope(function: Operation) -> None:
    """Rules 1 to 3."""
    location = function.location
    if isinstance(location, CallSiteLocation):
        raise Invalid(
            f"invalid function debug info location: {shown(location)}. Function location must not be a CallSiteLoc."
        )
    found = scoped_location(location)
    if found is None:
        return
    scope = found.scope
    if not isinstance(scope, DISubprogram):
        raise Invalid(
            f"invalid function debug info scope: {shown(scope)}. "
            "Function location must have cuda_tile.di_subprogram debug info scope."
        )
    if scope.linkage_name != function.symbol_name:
        raise Invalid(
            f'invalid function debug info scope: {shown(scope)}. Function name "{function.symbol_name}" does not match '
            f"subprogram scope linkage name {quote(scope.linkage_name)}."
        )


def verify_body_scopes(function: Operation, context: VerifyContext) -> None:
    """Rule 4; the first operation in post-order that breaks it is reported."""
    subprograms = _Subprograms()
    expected = subprograms.at(function.location)
    checked: Attribute = UNKNOWN
    for operation in pre_order(function):
        location = operation.location
        # Text positions have no scope, and neighbors often share a location or its scope.
        part: Attribute = location.scope if isinstance(location, DILocation) else location
        if part is not checked and not isinstance(location, TextLocation):
            if subprograms.at(location) not in (None, expected):
                break
            checked = part
    else:
        return
    for operation in post_order(function):
        _verify_scope(operation, expected, subprograms, context)


def _verify_scope(
    operation: Operation, expected: DISubprogram | None, subprograms: _Subprograms, context: VerifyContext
) -> None:
    found = subprograms.at(operation.location)
    if found is None or found is expected:
        return
    message = f"invalid operation debug info scope: {shown(found)}. "
    if expected is None:
        name = operation_name(operation, context.version)
        message = f"'{name}' op {message}Operation has debug info scope, but function debug info scope is undefined."
    else:
        message += f"Operation debug info scope does not match function debug info scope: {shown(expected)}."
    raise Invalid(message, operation.location, bare=True)


def verify_module_scopes(module: Operation, context: VerifyContext) -> None:
    """Rule 5."""
    known: dict[Location, DILocation | None] = {}
    for region in module.regions:
        for block in region.blocks:
            for operation in block:
                if is_function(operation):
                    continue
                found = scoped_location(operation.location, known)
                if found is not None:
                    name = operation_name(operation, context.version)
                    raise Invalid(
                        f"'{name}' op invalid operation debug info scope: {shown(found)}. "
                        "Global variables must not have scope.",
                        operation.location,
                        bare=True,
                    )
