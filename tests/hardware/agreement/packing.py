"""Files of many small pieces: an index, and pieces of bytes that are kept once each, compressed as a whole."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from tests.hardware.agreement.program import Address, Argument, Number, Pointer, Program

MAGIC = b"tileir agreement 1\n"


class Pieces:
    """Pieces of bytes by number, equal ones once."""

    def __init__(self, pieces: list[bytes] | None = None) -> None:
        self.pieces: list[bytes] = pieces or []
        self._numbers: dict[bytes, int] = {}

    def put(self, piece: bytes) -> int:
        number = self._numbers.get(piece)
        if number is None:
            number = self._numbers[piece] = len(self.pieces)
            self.pieces.append(piece)
        return number

    def __getitem__(self, number: int) -> bytes:
        return self.pieces[number]


def write_pack(path: Path, index: Any, pieces: Pieces) -> int:
    """Write a file; its size."""
    head = json.dumps({"index": index, "sizes": [len(piece) for piece in pieces.pieces]}).encode()
    with lzma.open(path, "wb", preset=2) as file:
        file.write(MAGIC + len(head).to_bytes(8, "little") + head)
        for piece in pieces.pieces:
            file.write(piece)
    return path.stat().st_size


def read_pack(path: Path) -> tuple[Any, Pieces]:
    with lzma.open(path, "rb") as file:
        data = file.read()
    if not data.startswith(MAGIC):
        raise ValueError(f"{path} is no file of hardware_agreement.py")
    start = len(MAGIC) + 8
    size = int.from_bytes(data[len(MAGIC) : start], "little")
    head = json.loads(data[start : start + size])
    start += size
    pieces = []
    for length in head["sizes"]:
        pieces.append(data[start : start + length])
        start += length
    return head["index"], Pieces(pieces)


# --- programs ---


def write_programs(path: Path, programs: list[Program]) -> int:
    pieces = Pieces()
    index = []
    for program in programs:
        index.append(
            {
                "name": program.name,
                "text": pieces.put(program.text.encode()),
                "grid": program.grid,
                "memories": [pieces.put(memory) for memory in program.memories],
                "arguments": [_written(argument) for argument in program.arguments],
                "details": program.details,
                "addresses": program.addresses,
            }
        )
    return write_pack(path, index, pieces)


def read_programs(path: Path) -> list[Program]:
    index, pieces = read_pack(path)
    programs = []
    for each in index:
        x, y, z = each["grid"]
        programs.append(
            Program(
                each["name"],
                pieces[each["text"]].decode(),
                (x, y, z),
                [pieces[number] for number in each["memories"]],
                [_read(argument) for argument in each["arguments"]],
                each["details"],
                [Address(*address) for address in each["addresses"]],
            )
        )
    return programs


def _written(argument: Argument) -> list[Any]:
    return ["pointer" if isinstance(argument, Pointer) else "number", *argument]


def _read(argument: list[Any]) -> Argument:
    kind, *rest = argument
    return Pointer(*rest) if kind == "pointer" else Number(*rest)
