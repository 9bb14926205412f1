"""Symbols: operations with a name, found through the operation that holds them.

A reference `@name` means the operation of that name in the nearest enclosing symbol table; `@outer::@inner` means one
in the table of `@outer`.
"""

from __future__ import annotations

from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DictionaryAttribute,
    StringAttribute,
    SymbolAttribute,
    array_attribute,
    dictionary_attribute,
    string_attribute,
    symbol_attribute,
)
from tileir.ir.core import Block, Operation
from tileir.ir.diagnostics import Invalid, note


def nearest_symbol_table(operation: Operation) -> Operation | None:
    """The operation itself or the closest one around it that is a symbol table."""
    cursor: Operation | None = operation
    while cursor is not None and not cursor.declaration.is_symbol_table:
        cursor = cursor.parent_operation
    return cursor


def lookup_symbol(table: Operation, name: str) -> Operation | None:
    """The operation of that name directly inside a symbol table."""
    return SymbolTable(table).lookup(name)


def verify_symbol(operation: Operation) -> None:
    """MLIR's rules for every symbol."""
    visibility = operation.attributes.get("sym_visibility")
    if visibility is not None:
        if not isinstance(visibility, StringAttribute):
            raise Invalid(
                f"requires visibility attribute 'sym_visibility' to be a string attribute, but got {visibility.text}"
            )
        if visibility.value not in ("public", "private", "nested"):
            raise Invalid(
                'visibility expected to be one of ["public", "private", "nested"], but got ' + visibility.text
            )
    parent = operation.parent_operation
    if parent is not None and not parent.declaration.unregistered and not parent.declaration.is_symbol_table:
        raise Invalid("symbol's parent must have the SymbolTable trait")


def verify_symbol_names(table: Operation) -> None:
    """The symbols of a table have different names."""
    seen: dict[str, Operation] = {}
    for region in table.regions:
        for block in region.blocks:
            for operation in block:
                name = operation.symbol_name
                if name is None:
                    continue
                first = seen.get(name)
                if first is not None:
                    raise Invalid(
                        f"redefinition of symbol named '{name}'",
                        operation.location,
                        [note("see existing symbol definition here", first.location)],
                        bare=True,
                    )
                seen[name] = operation


class SymbolTable:
    """The symbols directly inside one operation, by name; valid while only its methods rename or move them."""

    def __init__(self, table: Operation) -> None:
        self.table: Operation = table
        self.by_name: dict[str, Operation] = {}
        # For each requested name that is taken, the first number that may be free.
        self._next_numbers: dict[str, int] = {}
        for region in table.regions:
            for block in region.blocks:
                for operation in block:
                    name = operation.symbol_name
                    if name is not None and name not in self.by_name:
                        self.by_name[name] = operation

    def lookup(self, name: str) -> Operation | None:
        return self.by_name.get(name)

    def unique_name(self, name: str) -> str:
        """The name itself, or with the first number that makes it unused."""
        if name not in self.by_name:
            return name
        number = self._next_numbers.get(name, 0)
        while f"{name}_{number}" in self.by_name:
            number += 1
        self._next_numbers[name] = number
        return f"{name}_{number}"

    def insert(self, operation: Operation) -> str:
        """Append an operation to the table's block under an unused name; return the name."""
        name = self.unique_name(operation.symbol_name or "")
        operation.set_attribute("sym_name", string_attribute(name))
        if operation.parent is None:
            self.table.regions[0].block.append(operation)
        self.by_name[name] = operation
        return name

    def erase(self, operation: Operation) -> None:
        name = operation.symbol_name
        if name is not None and self.by_name.get(name) is operation:
            self._free(name)
        operation.erase()

    def _free(self, name: str) -> None:
        del self.by_name[name]
        self._next_numbers.clear()

    def rename(self, operation: Operation, name: str) -> None:
        """Rename a symbol, here and in every reference to it."""
        if name in self.by_name:
            raise ValueError(f"symbol '@{name}' exists already")
        old = operation.symbol_name
        operation.set_attribute("sym_name", string_attribute(name))
        self.by_name[name] = operation
        if old is not None:
            if old in self.by_name:
                self._free(old)
            for user in self.users(old):
                for key, value in list(user.attributes.items()):
                    user.set_attribute(key, _renamed(value, old, name))

    def users(self, name: str) -> list[Operation]:
        """The operations that refer to a symbol of this table, in program order."""
        found: list[Operation] = []
        # An explicit stack, because programs may nest deeply: where to go on in blocks.
        pending: list[Operation | None] = _first_operations(self.table)
        while pending:
            cursor = pending.pop()
            while cursor is not None:
                for value in cursor.attributes.values():
                    if _refers_to(value, name):
                        found.append(cursor)
                        break
                # References inside a nested symbol table mean that table's symbols, so it is not entered.
                if cursor.regions and not cursor.declaration.is_symbol_table:
                    pending.append(cursor.next)
                    pending.extend(_first_operations(cursor))
                    break
                cursor = cursor.next
        return found


class Symbols:
    """Resolves references in a program that does not change; each symbol table is read once."""

    def __init__(self) -> None:
        self._tables: dict[Operation, SymbolTable] = {}
        # The nearest table of what is in a block, so that deep nests are not climbed for each reference.
        self._around: dict[Block, Operation | None] = {}

    def lookup(self, operation: Operation, name: str) -> Operation | None:
        """What `@name` means at an operation."""
        table = operation if operation.declaration.is_symbol_table else self._table_around(operation.parent)
        return self.table(table).lookup(name) if table is not None else None

    def lookup_again(self, block: Block, name: str) -> Operation | None:
        """What `@name` means in a block of a program that may have changed since the last call."""
        self._around.clear()
        table = self._table_around(block)
        if table is None:
            return None
        found = self.table(table).lookup(name)
        if found is None or found.symbol_name != name or found.parent_operation is not table:
            del self._tables[table]
            found = self.table(table).lookup(name)
        return found

    def table(self, operation: Operation) -> SymbolTable:
        found = self._tables.get(operation)
        if found is None:
            found = self._tables[operation] = SymbolTable(operation)
        return found

    def add(self, operation: Operation) -> None:
        """Note a symbol that was just put into its table."""
        table = self._tables.get(operation.parent_operation or operation)
        name = operation.symbol_name
        if table is not None and name is not None and name not in table.by_name:
            table.by_name[name] = operation

    def _table_around(self, block: Block | None) -> Operation | None:
        """The closest operation around a block that is a symbol table."""
        passed: list[Block] = []
        table: Operation | None = None
        while block is not None:
            if block in self._around:
                table = self._around[block]
                break
            passed.append(block)
            table = block.parent_operation
            if table is None or table.declaration.is_symbol_table:
                break
            block = table.parent
            table = None
        for each in passed:
            self._around[each] = table
        return table


def _first_operations(operation: Operation) -> list[Operation | None]:
    """Where the blocks of an operation begin, the last block first."""
    return [block.first for region in reversed(operation.regions) for block in reversed(region.blocks)]


def _elements(value: Attribute) -> list[Attribute]:
    if isinstance(value, ArrayAttribute):
        return list(value.elements)
    return [element for _, element in value.entries] if isinstance(value, DictionaryAttribute) else []


def _refers_to(value: Attribute, name: str) -> bool:
    # An explicit stack, because arrays may nest deeply.
    pending: list[Attribute] = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, SymbolAttribute) and part.path[0] == name:
            return True
        pending.extend(_elements(part))
    return False


def _renamed(value: Attribute, old: str, new: str) -> Attribute:
    known: dict[Attribute, Attribute] = {}
    # An explicit stack; what an attribute is made of is done before it.
    path: list[Attribute] = [value]
    while path:
        top = path[-1]
        waiting = [part for part in _elements(top) if part not in known]
        if waiting:
            path.extend(waiting)
            continue
        path.pop()
        if isinstance(top, SymbolAttribute) and top.path[0] == old:
            known[top] = symbol_attribute(new, *top.path[1:])
        elif isinstance(top, ArrayAttribute):
            known[top] = array_attribute(tuple([known[element] for element in top.elements]))
        elif isinstance(top, DictionaryAttribute):
            known[top] = dictionary_attribute({key: known[element] for key, element in top.entries})
        else:
            known[top] = top
    return known[value]
