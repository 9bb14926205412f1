"""Symbols: operations with a name, found through the operation that holds them.

A reference `@name` means the operation of that name in the nearest enclosing symbol table; `@outer::@inner` goes on
into the table that `@outer` is.
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
from tileir.ir.core import Operation
from tileir.ir.declaration import SYMBOL_TABLE
from tileir.ir.diagnostics import Invalid


def is_symbol_table(operation: Operation) -> bool:
    return bool(operation.declaration.traits & SYMBOL_TABLE)


def nearest_symbol_table(operation: Operation) -> Operation | None:
    """The operation itself or the closest one around it that is a symbol table."""
    cursor: Operation | None = operation
    while cursor is not None and not is_symbol_table(cursor):
        cursor = cursor.parent_operation
    return cursor


def lookup_symbol(table: Operation, name: str) -> Operation | None:
    """The operation of that name directly inside a symbol table."""
    wanted = string_attribute(name)
    for region in table.regions:
        for block in region.blocks:
            cursor = block.first
            while cursor is not None:
                if cursor.attributes.get("sym_name") is wanted:
                    return cursor
                cursor = cursor.next
    return None


def lookup_nearest(operation: Operation, name: str) -> Operation | None:
    """What `@name` means at an operation."""
    table = nearest_symbol_table(operation)
    return lookup_symbol(table, name) if table is not None else None


def verify_symbol(operation: Operation) -> None:
    """What MLIR asks of every symbol."""
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
    if parent is not None and not parent.declaration.unregistered and not is_symbol_table(parent):
        raise Invalid("symbol's parent must have the SymbolTable trait")


class SymbolTable:
    """The symbols directly inside one operation, by name; keep it only while nobody else renames or moves them."""

    __slots__ = ("by_name", "table")

    def __init__(self, table: Operation) -> None:
        self.table: Operation = table
        self.by_name: dict[str, Operation] = {}
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
        candidate = name
        number = 0
        while candidate in self.by_name:
            candidate = f"{name}_{number}"
            number += 1
        return candidate

    def insert(self, operation: Operation) -> str:
        """Append an operation to the table's block under a name nobody has yet; gives the name."""
        name = self.unique_name(operation.symbol_name or "")
        operation.set_attribute("sym_name", string_attribute(name))
        if operation.parent is None:
            self.table.regions[0].block.append(operation)
        self.by_name[name] = operation
        return name

    def erase(self, operation: Operation) -> None:
        name = operation.symbol_name
        if name is not None and self.by_name.get(name) is operation:
            del self.by_name[name]
        operation.erase()

    def rename(self, operation: Operation, name: str) -> None:
        """Give a symbol another name, here and in every reference to it."""
        if name in self.by_name:
            raise ValueError(f"symbol '@{name}' exists already")
        old = operation.symbol_name
        operation.set_attribute("sym_name", string_attribute(name))
        self.by_name[name] = operation
        if old is not None:
            self.by_name.pop(old, None)
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
                if cursor.regions and not is_symbol_table(cursor):
                    pending.append(cursor.next)
                    pending.extend(_first_operations(cursor))
                    break
                cursor = cursor.next
        return found


def _first_operations(operation: Operation) -> list[Operation | None]:
    """Where the blocks of an operation begin, the last block first."""
    return [block.first for region in reversed(operation.regions) for block in reversed(region.blocks)]


def _refers_to(value: Attribute, name: str) -> bool:
    # An explicit stack, because arrays may nest deeply.
    pending: list[Attribute] = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, SymbolAttribute):
            if part.path[0] == name:
                return True
        elif isinstance(part, ArrayAttribute):
            pending.extend(part.elements)
        elif isinstance(part, DictionaryAttribute):
            pending.extend([element for _, element in part.entries])
    return False


def _renamed(value: Attribute, old: str, new: str) -> Attribute:
    if isinstance(value, SymbolAttribute):
        return symbol_attribute(new, *value.path[1:]) if value.path[0] == old else value
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
        if isinstance(top, SymbolAttribute):
            known[top] = _renamed(top, old, new)
        elif isinstance(top, ArrayAttribute):
            known[top] = array_attribute(tuple([known[element] for element in top.elements]))
        elif isinstance(top, DictionaryAttribute):
            known[top] = dictionary_attribute({key: known[element] for key, element in top.entries})
        else:
            known[top] = top
    return known[value]


def _elements(value: Attribute) -> list[Attribute]:
    if isinstance(value, ArrayAttribute):
        return list(value.elements)
    return [element for _, element in value.entries] if isinstance(value, DictionaryAttribute) else []
