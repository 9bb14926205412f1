"""Broken files of the documented layout are refused with a diagnostic and never break the reader.

Nobody else reads this layout, so there is no tool to agree with: what is asked is that only our own errors come out,
and that what is accepted is a program like any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from random import Random

import pytest
from tests.bytecode.limits import cpu_limit
from tests.bytecode.mutations import NUMBERS, any_byte, copied_piece, cut_off, header
from tests.bytecode.pieces import File, Piece, varint
from tests.generators.programs import random_module

import tileir
from tileir.bytecode.annotated import annotate
from tileir.bytecode.container import ATTRIBUTE, CONSTANT, FUNCTION, TYPE
from tileir.bytecode.debug import location_error
from tileir.ir.location import UNKNOWN

#: A mutant is a few kilobytes and takes a few milliseconds; this is far beyond any of them.
SECONDS_PER_FILE = 20
PROGRAMS = 60


@functools.cache
def valid_files() -> tuple[bytes, ...]:
    files: list[bytes] = []
    for number in range(PROGRAMS):
        # Most attributes that belong to no operation have no form in this layout; a few have.
        discardable = number % 3 == 0
        module = random_module(Random(number), version=(13, 1), size=10, draft_forms=False, discardable=discardable)
        for operation in module.walk():
            if location_error(operation.location) is not None:
                operation.location = UNKNOWN
        try:
            files.append(tileir.to_bytecode(module, version="13.1", layout="documented"))
        except tileir.BytecodeError:
            continue  # A program this layout has no place for.
    return tuple(files)


# --- mistakes ---


def section_byte(data: bytes, rng: Random) -> bytes:
    """A mistake inside a section whose length stays right."""
    return _in_section(data, rng, lambda payload: any_byte(payload, rng))


def section_index(data: bytes, rng: Random) -> bytes:
    """A byte becomes another small number: an index, a tag, an opcode, a count."""

    def change(payload: bytes) -> bytes:
        at = rng.randrange(len(payload))
        value = (payload[at] + rng.choice((-2, -1, 1, 2, rng.randrange(128)))) & 0x7F
        return payload[:at] + bytes([value]) + payload[at + 1 :]

    return _in_section(data, rng, change)


def section_number(data: bytes, rng: Random) -> bytes:
    """A number becomes another, of another length perhaps."""

    def change(payload: bytes) -> bytes:
        at = rng.randrange(len(payload))
        return payload[:at] + varint(rng.choice(NUMBERS)) + payload[at + 1 :]

    return _in_section(data, rng, change)


def section_piece(data: bytes, rng: Random) -> bytes:
    return _in_section(data, rng, lambda payload: copied_piece(payload, rng))


def section_end(data: bytes, rng: Random) -> bytes:
    def change(payload: bytes) -> bytes:
        return payload[: -rng.randrange(1, 9)] if rng.random() < 0.5 else payload + rng.randbytes(rng.randrange(1, 9))

    return _in_section(data, rng, change)


def sections(data: bytes, rng: Random) -> bytes:
    """Sections swapped, repeated or dropped."""
    file = File.parse(data, ATTRIBUTE)
    at, other = rng.randrange(len(file.sections)), rng.randrange(len(file.sections))
    kind = rng.randrange(4)
    if kind == 0:
        file.sections[at].payload, file.sections[other].payload = (
            file.sections[other].payload,
            file.sections[at].payload,
        )
    elif kind == 1:
        file.sections.insert(other, file.sections[at])
    elif kind == 2:
        del file.sections[at]
    else:
        file.sections[at].identifier = rng.randrange(9)
    return file.build()


def _in_section(data: bytes, rng: Random, change: Callable[[bytes], bytes]) -> bytes:
    file = File.parse(data, ATTRIBUTE)
    full = [section for section in file.sections if section.payload]
    # The sections with the most to decode are tried most.
    section: Piece = rng.choices(full, [_WEIGHTS.get(s.identifier, 1) for s in full])[0]
    section.payload = change(section.payload)
    return file.build()


_WEIGHTS = {FUNCTION: 6, ATTRIBUTE: 6, TYPE: 3, CONSTANT: 2}
MISTAKES = (
    section_byte,
    section_index,
    section_number,
    section_piece,
    section_end,
    sections,
    any_byte,
    cut_off,
    header,
)
CHANCES = (8, 10, 8, 4, 2, 2, 3, 1, 1)


def mutants(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Files with one to three mistakes, the same for the same seed; the name tells what they were made of."""
    files = valid_files()
    for number in range(count):
        rng = Random(f"{seed}.{number}")
        origin = rng.randrange(len(files))
        data = files[origin]
        kinds: list[str] = []
        for mistake in rng.choices(MISTAKES, CHANCES, k=rng.choice((1, 1, 1, 2, 3))):
            try:
                data = mistake(data, rng)
            except (LookupError, ValueError):
                # Not a file any more after an earlier mistake.
                data = any_byte(data, rng)
            kinds.append(mistake.__name__)
        yield f"{seed}.{number}: program {origin}: {' + '.join(kinds)}", data


# --- tests ---


def test_most_programs_of_13_1_have_a_file_to_break() -> None:
    assert len(valid_files()) > PROGRAMS // 2


@pytest.mark.parametrize(("seed", "count"), [(1, 400), pytest.param(2, 20_000, marks=pytest.mark.long)])
def test_broken_files_give_diagnostics_or_programs(seed: int, count: int) -> None:
    refused = 0
    for name, data in mutants(seed, count):
        with cpu_limit(SECONDS_PER_FILE, name):
            try:
                module = tileir.from_bytecode(data, layout="documented")
            except tileir.TileIRError as error:
                refused += 1
                assert error.diagnostics and all(diagnostic.message for diagnostic in error.diagnostics), name
                continue
            # What is accepted is printed and read again, and has bytes.
            tileir.verify(tileir.parse(module.text()))
            tileir.to_bytecode(module, version="13.1", layout="documented")
    assert count // 2 < refused < count


def test_broken_files_are_annotated_to_the_last_byte() -> None:
    for name, data in mutants(3, 75):
        with cpu_limit(SECONDS_PER_FILE, name):
            fields = annotate(data, "documented").fields()
        assert [piece.start for piece in fields[1:]] == [piece.end for piece in fields[:-1]], name
        assert not data or (fields[0].start, fields[-1].end) == (0, len(data)), name
