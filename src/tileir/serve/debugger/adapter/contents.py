"""What has variables in it: scopes, tiles and arrays row by row, and what is known of them as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy

from tileir.dialect.types import TileType
from tileir.execute.dtypes import Array
from tileir.execute.recording.tiles import statistics_of
from tileir.ir.types import IntegerType, Type
from tileir.serve.debugger.adapter.numbers import Numbers
from tileir.serve.debugger.adapter.wire import Message
from tileir.serve.debugger.formats import formatted
from tileir.serve.debugger.values import numbers_shown
from tileir.serve.debugger.variables import Variable

_MOST: Final = 10_000
"""Children that are given at once; who asks for more asks for a part of them."""
_READ_ONLY: Final = {"attributes": ["readOnly"]}


class Part:
    """What a client may open: named children, and indexed ones, of which it may ask for a stretch."""

    indexed: int = 0
    name: str = ""
    """What expressions call it; empty if they cannot."""

    def named(self, contents: Contents, hex: bool) -> list[Message]:
        return []

    def elements(self, contents: Contents, start: int, count: int, hex: bool) -> list[Message]:
        return []


class Contents:
    """The parts of a stopped launch that a client has been told of."""

    def __init__(self) -> None:
        self._parts: Numbers[Part] = Numbers()

    def clear(self) -> None:
        self._parts.clear()

    def add(self, part: Part) -> int:
        return self._parts.add(part)

    def find(self, number: int) -> Part | None:
        return self._parts.find(number)

    def children(self, part: Part, which: str, start: int, count: int, hex: bool) -> list[Message]:
        """The children of a part; `which` is "indexed", "named" or empty for both."""
        found: list[Message] = []
        if which != "indexed":
            found += part.named(self, hex)
            if which == "named":
                return found[start : start + count] if count else found[start:]
        end = min(start + (count or _MOST), part.indexed)
        if start < end:
            found += part.elements(self, start, end - start, hex)
        return found

    # --- as the protocol has them ---

    def variable(self, name: str, shown: str, type: str = "", part: Part | None = None) -> Message:
        found: Message = {"name": name, "value": shown, "variablesReference": 0, "presentationHint": _READ_ONLY}
        if type:
            found["type"] = type
        if part is not None:
            found |= self.reference(part)
            if part.name:
                found["evaluateName"] = part.name
        return found

    def reference(self, part: Part) -> Message:
        """What leads a client to a part."""
        found: Message = {"variablesReference": self.add(part)}
        if part.indexed:
            found["indexedVariables"] = part.indexed
        return found

    def shown(self, variable: Variable, hex: bool = False) -> Message:
        """A value or an array of the launch."""
        name = expression_of(variable.name)
        part = part_of(variable, name)
        text = variable.shown
        if hex and part is not None:
            text = part.text(hex)
        elif hex and isinstance(variable.type, TileType) and isinstance(variable.value, (numpy.ndarray, numpy.generic)):
            text = formatted(variable.type.element, numpy.asarray(variable.value), "x")[0]
        elif hex and isinstance(variable.value, int):
            text = f"{variable.value:#x}"
        found = self.variable(variable.name, text, variable.type_text, part)
        if name:
            found["evaluateName"] = name
        if variable.array is not None:
            found["memoryReference"] = f"array {variable.array.number}"
        return found


def expression_of(name: str) -> str:
    """How expressions say a name; empty if they cannot."""
    plain = name.removeprefix("%")
    return plain if plain.isidentifier() else name


def part_of(variable: Variable, name: str) -> Elements | None:
    """The elements of a value that has several."""
    if variable.array is not None:
        return Elements(name, variable.array.element, variable.value)
    if isinstance(variable.type, TileType) and isinstance(variable.value, numpy.ndarray) and variable.value.ndim:
        return Elements(name, variable.type.element, variable.value)
    return None


class Elements(Part):
    """A tile or an array: what is known of all of it, and its elements, by rows where it has several dimensions."""

    def __init__(self, name: str, element: Type, array: Array, *, is_row: bool = False) -> None:
        self.name: str = name
        self.element: Type = element
        self.array: Array = array
        self.indexed: int = array.shape[0] if array.ndim else 0
        self._is_row: bool = is_row

    @property
    def type_text(self) -> str:
        return "x".join([*[str(extent) for extent in self.array.shape], self.element.spelling])

    def text(self, hex: bool) -> str:
        if not hex:
            return numbers_shown(self.element, self.array)
        first = formatted(self.element, self.array.reshape(-1)[:6], "x")
        return f"[{', '.join(first)}{', ..' if self.array.size > 6 else ''}]"

    def named(self, contents: Contents, hex: bool) -> list[Message]:
        if self._is_row:
            return []
        found = [contents.variable("shape", str(list(self.array.shape)))]
        if not self.array.size:
            return found
        for name, shown in statistics(self.element, self.array):
            found.append(contents.variable(name, shown))
        return found

    def elements(self, contents: Contents, start: int, count: int, hex: bool) -> list[Message]:
        if self.array.ndim == 1:
            texts = formatted(self.element, self.array[start : start + count], "x" if hex else "")
            return [
                self._element(contents, start + place, text, self.element.spelling) for place, text in enumerate(texts)
            ]
        found: list[Message] = []
        for place in range(start, start + count):
            row = Elements(self._index(place), self.element, self.array[place], is_row=True)
            found.append(contents.variable(f"[{place}]", row.text(hex), row.type_text, row))
        return found

    def _element(self, contents: Contents, place: int, text: str, type: str) -> Message:
        found = contents.variable(f"[{place}]", text, type)
        if self.name:
            found["evaluateName"] = self._index(place)
        return found

    def _index(self, place: int) -> str:
        if not self.name:
            return ""
        return f"{self.name[:-1]}, {place}]" if self.name.endswith("]") else f"{self.name}[{place}]"


def statistics(element: Type, array: Array) -> list[tuple[str, str]]:
    """What is known of many elements: the range, the mean, how many are no numbers."""
    if isinstance(element, IntegerType) and element.width == 1:
        return [("true", f"{int(numpy.count_nonzero(array))} of {array.size}")]
    found = statistics_of(element, array, 0)
    rows: list[tuple[str, str]] = []
    for name, key in (("minimum", "least"), ("maximum", "most"), ("mean", "mean"), ("deviation", "deviation")):
        if found[key] is not None:
            rows.append((name, f"{found[key]:.9g}"))
    return [*rows, ("NaN", str(found["nan"])), ("infinite", str(found["infinite"]))]


class Listed(Part):
    """A scope: variables that are looked up when it is opened."""

    def __init__(self, found: Callable[[], list[Variable]]) -> None:
        self._found: Callable[[], list[Variable]] = found

    def named(self, contents: Contents, hex: bool) -> list[Message]:
        return [contents.shown(variable, hex) for variable in self._found()]

    def variable(self, name: str) -> Variable | None:
        for variable in self._found():
            if variable.name == name:
                return variable
        return None


class Facts(Part):
    """A scope of words."""

    def __init__(self, rows: list[tuple[str, str]]) -> None:
        self._rows: list[tuple[str, str]] = rows

    def named(self, contents: Contents, hex: bool) -> list[Message]:
        return [contents.variable(name, shown) for name, shown in self._rows]


def elements_of(value: Any, element: Type | None, name: str) -> Elements | None:
    """The elements of what an expression gives."""
    if element is None or not isinstance(value, numpy.ndarray) or not value.ndim:
        return None
    return Elements(name, element, value)
