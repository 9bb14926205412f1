"""Locations in the user's code: `file:line:column`, with the name of the variable that a value is assigned to.

Calls into Triton's own library are left out.  Triton counts columns from 1 since version 3.6, and from 0 before; here
they count from 0, as cuTile's do.  Bytecode holds positions in functions, and no names: `give_scopes` makes such.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from tileir.dialect import debug_info
from tileir.ir.core import Operation
from tileir.ir.diagnostics import position_of
from tileir.ir.location import (
    UNKNOWN,
    CallSiteLocation,
    FileLocation,
    Location,
    NameLocation,
    call_site_location,
    file_location,
    name_location,
)
from tileir.ir.traversal import functions
from tileir.passes.debug_info import file_position, located

_LIBRARY = "triton/language/"


class UserLocations:
    """The locations of a module, each converted once."""

    def __init__(self, function: Location) -> None:
        """`function` is the location of a function, which begins in the first column."""
        found = position_of(function)
        self._first_column: int = 1 if found is not None and found.column > 0 else 0
        self._converted: dict[Location, Location] = {}

    def of(self, location: Location) -> Location:
        found = self._converted.get(location)
        if found is None:
            found = self._converted[location] = self._convert(location)
        return found

    def of_access(self, location: Location) -> Location:
        """The location of an access to memory, which before Triton 3.8 is that of the call's last argument."""
        found = self.of(location)
        return found if self._first_column else _at_call(found)

    def _convert(self, location: Location) -> Location:
        if isinstance(location, FileLocation):
            return file_location(location.file, location.line, max(location.column - self._first_column, 0))
        if isinstance(location, NameLocation):
            child = self.of(location.child)
            # The innermost name is that of the assignment; others are of what it is passed on as.
            return child if isinstance(child, NameLocation) else name_location(location.name, child)
        if isinstance(location, CallSiteLocation):
            callee, caller = self.of(location.callee), self.of(location.caller)
            position = position_of(callee.child if isinstance(callee, NameLocation) else callee)
            if position is None or _LIBRARY in position.file.replace("\\", "/"):
                return caller
            return call_site_location(callee, caller)
        return location


def give_scopes(module: Operation) -> dict[str, list[Location]]:
    """Put every location of the kernels in a module into a function of the script.

    Returns what the locations were, for each kernel by name, in the order of `located`.
    """
    before: dict[str, list[Location]] = {}
    for entry in functions(module):
        before[entry.symbol_name or ""] = [each.location for each in located(entry)]
        scopes = _Scopes(entry)
        for each in located(entry):
            each.location = scopes.of(each.location)
    return before


class _Scopes:
    """The locations of a kernel with scopes, each made once."""

    def __init__(self, entry: Operation) -> None:
        self._made: dict[tuple[Location, bool], Location] = {}
        self._functions: dict[tuple[str, str], debug_info.DISubprogram] = {}
        known = [position for each in located(entry) if (position := file_position(each.location)) is not None]
        self._kernel: debug_info.DISubprogram | None = None
        self._start: Location = UNKNOWN
        if known:
            self._kernel = self._function(known[0], entry.symbol_name or "")
            self._start = debug_info.di_location(known[0], self._kernel)

    def of(self, location: Location, is_called: bool = False) -> Location:
        """A location with scopes; `is_called` if it is in a function that the kernel calls."""
        found = self._made.get((location, is_called))
        if found is None:
            found = self._made[location, is_called] = self._with_scope(location, is_called)
        return found

    def _with_scope(self, location: Location, is_called: bool) -> Location:
        if isinstance(location, NameLocation):
            return self.of(location.child, is_called)
        if isinstance(location, CallSiteLocation):
            return call_site_location(self.of(location.callee, True), self.of(location.caller, is_called))
        if not isinstance(location, FileLocation) or self._kernel is None:
            return self._start
        function = self._kernel
        if is_called:
            function = self._function(location, function_name(location.file, location.line))
        return debug_info.di_location(location, function)

    def _function(self, position: FileLocation, name: str) -> debug_info.DISubprogram:
        found = self._functions.get((position.file, name))
        if found is None:
            directory, slash, file_name = position.file.replace("\\", "/").rpartition("/")
            file = debug_info.di_file(file_name, directory or slash)
            unit = debug_info.di_compile_unit(file)
            found = debug_info.di_subprogram(file, position.line, name, name, unit, position.line)
            self._functions[position.file, name] = found
        return found


def _at_call(location: Location) -> Location:
    """A location with the beginning of a call for that of its last positional argument, where the script is at hand."""
    if isinstance(location, NameLocation):
        return name_location(location.name, _at_call(location.child))
    if isinstance(location, CallSiteLocation):
        return call_site_location(_at_call(location.callee), location.caller)
    if not isinstance(location, FileLocation):
        return location
    begin = _calls_of(location.file).get((location.line, location.column))
    return location if begin is None else file_location(location.file, *begin)


def function_name(file: str, line: int) -> str:
    """The innermost function of the script at a line."""
    inside = [name for first, last, name in _functions_of(file) if first <= line <= last]
    return inside[-1] if inside else "function"


@lru_cache(maxsize=64)
def _functions_of(file: str) -> list[tuple[int, int, str]]:
    """The functions of a file: first line, last line, name; outer ones first."""
    found = [each for each in _nodes_of(file) if isinstance(each, ast.FunctionDef)]
    return sorted((each.lineno, each.end_lineno or each.lineno, each.name) for each in found)


@lru_cache(maxsize=64)
def _calls_of(file: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Where the calls of a file begin, by where their last positional arguments do: line and column."""
    calls = [each for each in _nodes_of(file) if isinstance(each, ast.Call) and each.args]
    return {(each.args[-1].lineno, each.args[-1].col_offset): (each.lineno, each.col_offset) for each in calls}


def _nodes_of(file: str) -> list[ast.AST]:
    try:
        with open(file, encoding="utf-8") as stream:
            return list(ast.walk(ast.parse(stream.read())))
    except (OSError, SyntaxError, ValueError):
        return []
