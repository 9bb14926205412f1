"""Rename a symbol, and keep its debug information in step.

The linkage name of a function's subprogram must be the function's name (docs/conflicts.md F), and a scope is part of
the locations of everything inside the function, of lexical blocks, and of call sites elsewhere.  The model:

1. The scope of the renaming encloses the symbol.
2. With `update_uses`, references to the symbol in its symbol table follow.
3. If the symbol's location is a debug location directly in a subprogram, that subprogram is replaced, in every
   location and attribute within the scope, by a copy with the new linkage name.  Its source name stays.

A new name that another symbol of the table has already is refused; so is a scope that breaks rule 1.
"""

from __future__ import annotations

from tileir.dialect.debug_info import (
    DILexicalBlock,
    DILocation,
    DISubprogram,
    LocalScope,
    children,
    di_lexical_block,
    di_location,
    di_subprogram,
)
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DictionaryAttribute,
    array_attribute,
    dictionary_attribute,
    string_attribute,
)
from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError, note
from tileir.ir.location import (
    CallSiteLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    call_site_location,
    fused_location,
    name_location,
)
from tileir.ir.symbols import SymbolTable, is_symbol_table, lookup_symbol, nearest_symbol_table
from tileir.ir.traversal import pre_order


def rename_symbol(scope: Operation, symbol: Operation, new_name: str, update_uses: bool = True) -> None:
    """Give `symbol` another name, and the debug information within `scope` with it."""
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
        symbol.set_attribute("sym_name", string_attribute(new_name))
    location = symbol.location
    if isinstance(location, DILocation) and isinstance(location.scope, DISubprogram):
        old = location.scope
        new = di_subprogram(old.file, old.line, old.name, new_name, old.compile_unit, old.scope_line)
        _Replacement(old, new).apply(scope)


class _Replacement:
    """Puts one subprogram in the place of another, wherever attributes hold it."""

    __slots__ = ("_known", "new", "old")

    def __init__(self, old: DISubprogram, new: DISubprogram) -> None:
        self.old: DISubprogram = old
        self.new: DISubprogram = new
        self._known: dict[Attribute, Attribute] = {}

    def apply(self, root: Operation) -> None:
        for operation in pre_order(root):
            operation.location = self.location(operation.location)
            for name, value in operation.attributes.items():
                replaced = self.attribute(value)
                if replaced is not value:
                    # `set_attribute` puts a new dictionary in place: the one being read stays as it is.
                    operation.set_attribute(name, replaced)
            for region in operation.regions:
                for block in region.blocks:
                    for argument in block.arguments:
                        argument.location = self.location(argument.location)

    def location(self, location: Location) -> Location:
        found = self.attribute(location)
        return found if isinstance(found, Location) else location

    def attribute(self, value: Attribute) -> Attribute:
        # An explicit stack, because locations and arrays may nest deeply; parts are done before what they are part of.
        path: list[Attribute] = [value] if value not in self._known else []
        while path:
            top = path[-1]
            waiting = [part for part in children(top) if part not in self._known]
            if waiting:
                path.extend(waiting)
            else:
                path.pop()
                self._known[top] = self._replaced(top)
        return self._known[value]

    def _replaced(self, value: Attribute) -> Attribute:
        """An attribute whose parts are known, with what stands for them."""
        if value is self.old:
            return self.new
        if isinstance(value, DILexicalBlock):
            return di_lexical_block(self._scope(value.scope), value.file, value.line, value.column)
        if isinstance(value, DILocation):
            return di_location(self._place(value.source), self._scope(value.scope))
        if isinstance(value, NameLocation):
            return name_location(value.name, self._place(value.child))
        if isinstance(value, CallSiteLocation):
            return call_site_location(self._place(value.callee), self._place(value.caller))
        if isinstance(value, FusedLocation):
            metadata = self._known[value.metadata] if value.metadata is not None else None
            return fused_location(tuple([self._place(part) for part in value.locations]), metadata)
        if isinstance(value, OpaqueLocation):
            fallback = self._place(value.fallback)
            return value if fallback is value.fallback else OpaqueLocation(value.handle, fallback)
        if isinstance(value, ArrayAttribute):
            return array_attribute(tuple([self._known[element] for element in value.elements]))
        if isinstance(value, DictionaryAttribute):
            return dictionary_attribute({key: self._known[element] for key, element in value.entries})
        return value

    def _scope(self, scope: LocalScope) -> LocalScope:
        found = self._known[scope]
        return found if isinstance(found, LocalScope) else scope

    def _place(self, location: Location) -> Location:
        found = self._known.get(location, location)
        return found if isinstance(found, Location) else location


# --- as the public test suite asks for it ---


def run(root: Operation, symbol_to_rename: str, new_name: str, scope: str = "", update_uses: bool = False) -> int:
    """The test-only pass `test-debuginfo-update-symbol-name`: symbols are given as `outer::middle::inner`."""
    enclosing = root if not scope else _found(root, scope)
    rename_symbol(enclosing, _found(root, symbol_to_rename), new_name, update_uses)
    return 1


def _found(root: Operation, path: str) -> Operation:
    current: Operation | None = root
    names = [name for name in path.split("::") if name]
    for name in names:
        current = lookup_symbol(current, name) if current is not None and is_symbol_table(current) else None
    if current is None or not names:
        spelled = "::".join([f"@{name}" for name in names])
        raise PassError(f"could not find symbol op with name '{spelled}'", root.location)
    return current
