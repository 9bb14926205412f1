"""The text of TTIR as the lowering writes it, read back: operations with their regions."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPERATION = re.compile(r'(?:(%[\w, %]+?) = )?("?[\w.]+"?) ?(.*)', re.DOTALL)
_FUNCTION = re.compile(r"tt\.func public @(\w+)\((.*)\) \{")
_PARAMETER = re.compile(r"(%\w+): (![\w.]+<(?:[^<>]|<[^<>]*>)*>|\w+)")
_ARGUMENT = re.compile(r"(%\w+): ")
_TYPE = re.compile(r"tensor<((?:\d+x)+)(!tt\.ptr<[^>]*>|\w+)>|(!tt\.ptr<[^>]*>)|\b([ifb]f?\d+\w*)\b")


class Region(NamedTuple):
    arguments: list[str]
    operations: list[Node]


class Node(NamedTuple):
    """An operation: `%a, %b = NAME REST`, with the text behind its regions in `rest` too."""

    results: list[str]
    name: str
    rest: str
    regions: list[Region]


class Function(NamedTuple):
    name: str
    parameters: list[tuple[str, str]]
    """With their types."""
    body: Region


def read(text: str) -> Function:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    place = next(number for number, line in enumerate(lines) if line.startswith("tt.func"))
    head = _FUNCTION.fullmatch(lines[place])
    assert head is not None, lines[place]
    parameters = [(found[1], found[2]) for found in _PARAMETER.finditer(head[2])]
    body, _ = _region(lines, place + 1)
    return Function(head[1], parameters, body)


def _region(lines: list[str], place: int) -> tuple[Region, int]:
    """A region and the number of the line that closes it."""
    region = Region([], [])
    while not lines[place].startswith("}"):
        line = lines[place]
        if line.startswith("^"):
            region.arguments.extend(_ARGUMENT.findall(line))
            place += 1
            continue
        found = _OPERATION.fullmatch(line)
        assert found is not None, line
        regions = []
        rest = found[3]
        if rest.endswith("{") or line.endswith("{"):
            while lines[place].endswith("{"):
                inner, place = _region(lines, place + 1)
                regions.append(inner)
            rest += lines[place]
        names = [name.strip() for name in found[1].split(",")] if found[1] else []
        region.operations.append(Node(names, found[2].strip('"'), rest, regions))
        place += 1
    return region, place


def types(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """The types in a text, as elements and shapes."""
    found = []
    for shape, element, pointer, scalar in _TYPE.findall(text):
        extents = tuple([int(extent) for extent in shape.split("x")[:-1]])
        found.append((element or pointer or scalar, extents))
    return found
