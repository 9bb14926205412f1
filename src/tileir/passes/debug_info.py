"""Debug information: synthesize scopes, strip all locations, rename a symbol with its scope.

**Synthesized scopes** add line tables to a program whose frontend wrote only file positions.  In each module:

1. One compile unit is made: the file of the module's location, or `<unknown>` in "".
2. A function with a scope anywhere in its location stays as it is, with its contents.
3. Every other function gets a subprogram: the file and line of its location, or the file of the compile unit and line
   1.  Both names are the function's symbol; the scope begins on the same line.
4. The function and every operation in it are located in that subprogram, at their own file position or, without one,
   at the function's.

The file position of a location is the location itself, or that of its child (name), fallback (opaque), caller (call
site) or the first file position directly among its parts (fused).

**Renaming** keeps the linkage name of a function's subprogram equal to the function's name
(docs/reference/conflicts.md F):

5. The scope of the renaming encloses the symbol.
6. With `update_uses`, references in the symbol table follow.
7. If the symbol's location is directly in a subprogram, a copy with the new linkage name replaces that subprogram in
   every location and attribute within the scope.  The source name stays.
"""

from __future__ import annotations

from tileir.dialect import debug_info as di
from tileir.dialect.ops import MODULE
from tileir.ir import attributes
from tileir.ir import location as locations
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError, note
from tileir.ir.location import UNKNOWN, FileLocation, Location, TextLocation, UnknownLocation
from tileir.ir.symbols import SymbolTable, lookup_symbol, nearest_symbol_table
from tileir.ir.traversal import functions, pre_order
from tileir.ir.values import BlockArgument


def strip_locations(root: Operation) -> int:
    """Make every location unknown, of operations and block arguments; return how many were known."""
    known = [part for part in located(root) if not isinstance(part.location, UnknownLocation)]
    for part in known:
        part.location = UNKNOWN
    return len(known)


def located(root: Operation) -> list[Operation | BlockArgument]:
    """All that has a location: the operations in order, each before the arguments of its blocks."""
    found: list[Operation | BlockArgument] = []
    for operation in pre_order(root):
        found.append(operation)
        for region in operation.regions:
            for block in region.blocks:
                found += block.arguments
    return found


def synthesize_scopes(root: Operation) -> int:
    """Add scopes to the functions of every module in `root`; return the number of functions changed."""
    count = 0
    unscoped: set[Attribute] = set()
    for operation in pre_order(root):
        if operation.declaration is MODULE:
            position = file_position(operation.location)
            unit = di.di_compile_unit(_file(position) if position is not None else di.di_file("<unknown>", ""))
            for function in functions(operation):
                if function.parent_operation is operation and not _has_scope(function.location, unscoped):
                    _scope_function(function, unit)
                    count += 1
    return count


def _scope_function(function: Operation, unit: di.DICompileUnit) -> None:
    """Rules 3 and 4."""
    name = function.symbol_name or ""
    position = file_position(function.location)
    if position is None:
        file = unit.file
        position = locations.file_location(file.name, 1, 1)
    else:
        file = _file(position)
    subprogram = di.di_subprogram(file, position.line, name, name, unit, position.line)
    known: dict[Location, FileLocation | None] = {}
    for operation in pre_order(function):
        own = file_position(operation.location, known)
        operation.location = di.di_location(own if own is not None else position, subprogram)


def _has_scope(location: Location, unscoped: set[Attribute]) -> bool:
    """Rule 2; both sides of a call site count.  `unscoped` caches locations without a scope."""
    # An explicit stack, because locations may nest deeply; they share their parts.
    seen: set[Attribute] = set()
    pending: list[Attribute] = [location]
    while pending:
        part = pending.pop()
        if isinstance(part, di.DILocation):
            return True
        if part not in unscoped and part not in seen:
            seen.add(part)
            pending.extend(part.locations if isinstance(part, locations.FusedLocation) else di.children(part))
    unscoped.update(seen)
    return False


def file_position(location: Location, known: dict[Location, FileLocation | None] | None = None) -> FileLocation | None:
    """Return the file position that a location stands for; `known` caches results."""
    path: list[Location] = []
    found: FileLocation | None = None
    while True:
        if isinstance(location, (TextLocation, FileLocation)):
            found = location.resolve() if isinstance(location, TextLocation) else location
            break
        if known is not None and location in known:
            found = known[location]
            break
        path.append(location)
        if isinstance(location, locations.NameLocation):
            location = location.child
        elif isinstance(location, locations.OpaqueLocation):
            location = location.fallback
        elif isinstance(location, locations.CallSiteLocation):
            location = location.caller
        else:
            if isinstance(location, locations.FusedLocation):
                positions = [part for part in location.locations if isinstance(part, (TextLocation, FileLocation))]
                found = file_position(positions[0]) if positions else None
            break
    if known is not None:
        for step in path:
            known[step] = found
    return found


def _file(position: FileLocation) -> di.DIFile:
    """Return the file of a position, as name and directory."""
    directory, slash, name = position.file.rpartition("/")
    # The directory of `/k.py` is the root; of `a//k.py` it is `a`.
    return di.di_file(name, directory.rstrip("/") or slash)


def rename_symbol(scope: Operation, symbol: Operation, new_name: str, update_uses: bool = True) -> None:
    """Rename `symbol`, and update the debug information within `scope`."""
    parent = symbol.parent_operation
    if parent is not None and not scope.is_ancestor_of(symbol):
        raise PassError(
            "attempted to update symbol names in a scope that did not enclose the symbol itself",
            symbol.location,
            [note("scope defined here", scope.location)],
        )
    table = nearest_symbol_table(parent) if parent is not None else None
    if table is not None:
        existing = lookup_symbol(table, new_name)
        if existing is symbol:
            return
        if existing is not None:
            raise PassError(
                f"redefinition of symbol named '{new_name}'",
                symbol.location,
                [note("see existing symbol definition here", existing.location)],
            )
    if update_uses and table is not None:
        SymbolTable(table).rename(symbol, new_name)
    else:
        symbol.set_attribute("sym_name", attributes.string_attribute(new_name))
    location = symbol.location
    if isinstance(location, di.DILocation) and isinstance(location.scope, di.DISubprogram):
        old = location.scope
        new = di.di_subprogram(old.file, old.line, old.name, new_name, old.compile_unit, old.scope_line)
        _Replacement(old, new).apply(scope)


def rename_by_path(
    root: Operation, symbol_to_rename: str, new_name: str, scope: str = "", update_uses: bool = False
) -> int:
    """Run the pass `test-debuginfo-update-symbol-name` of the public tests; symbols are `outer::middle::inner`."""
    enclosing = root if not scope else _symbol_at(root, scope)
    rename_symbol(enclosing, _symbol_at(root, symbol_to_rename), new_name, update_uses)
    return 1


def _symbol_at(root: Operation, path: str) -> Operation:
    current: Operation | None = root
    names = [name for name in path.split("::") if name]
    for name in names:
        current = lookup_symbol(current, name) if current is not None and current.declaration.is_symbol_table else None
    if current is None or not names:
        spelled = "::".join([f"@{name}" for name in names])
        raise PassError(f"could not find symbol op with name '{spelled}'", root.location)
    return current


class _Replacement:
    """Replaces a subprogram by another one, in every attribute that contains it."""

    def __init__(self, old: di.DISubprogram, new: di.DISubprogram) -> None:
        self._replaced: dict[Attribute, Attribute] = {old: new}

    def apply(self, root: Operation) -> None:
        for part in located(root):
            part.location = self._location(part.location)
            if isinstance(part, Operation):
                for name, value in part.attributes.items():
                    replaced = self._attribute(value)
                    if replaced is not value:
                        # `set_attribute` assigns a new dictionary, so the one being read does not change.
                        part.set_attribute(name, replaced)

    def _attribute(self, value: Attribute) -> Attribute:
        # An explicit stack, because locations and arrays may nest deeply; parts come before the whole.
        path: list[Attribute] = [value] if value not in self._replaced else []
        while path:
            top = path[-1]
            waiting = [part for part in di.children(top) if part not in self._replaced]
            if waiting:
                path.extend(waiting)
            else:
                path.pop()
                self._replaced[top] = self._rebuilt(top)
        return self._replaced[value]

    def _rebuilt(self, value: Attribute) -> Attribute:
        if isinstance(value, di.DILexicalBlock):
            return di.di_lexical_block(self._scope(value.scope), value.file, value.line, value.column)
        if isinstance(value, di.DILocation):
            return di.di_location(self._location(value.source), self._scope(value.scope))
        if isinstance(value, locations.NameLocation):
            return locations.name_location(value.name, self._location(value.child))
        if isinstance(value, locations.CallSiteLocation):
            return locations.call_site_location(self._location(value.callee), self._location(value.caller))
        if isinstance(value, locations.FusedLocation):
            metadata = self._replaced[value.metadata] if value.metadata is not None else None
            return locations.fused_location(tuple([self._location(part) for part in value.locations]), metadata)
        if isinstance(value, locations.OpaqueLocation):
            fallback = self._location(value.fallback)
            return value if fallback is value.fallback else locations.OpaqueLocation(value.handle, fallback)
        if isinstance(value, attributes.ArrayAttribute):
            return attributes.array_attribute(tuple([self._replaced[element] for element in value.elements]))
        if isinstance(value, attributes.DictionaryAttribute):
            return attributes.dictionary_attribute({key: self._replaced[element] for key, element in value.entries})
        return value

    def _scope(self, scope: di.LocalScope) -> di.LocalScope:
        found = self._replaced[scope]
        return found if isinstance(found, di.LocalScope) else scope

    def _location(self, location: Location) -> Location:
        found = self._attribute(location)
        return found if isinstance(found, Location) else location
