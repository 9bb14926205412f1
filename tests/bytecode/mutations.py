"""Broken bytecode on purpose; `judges` says what readers make of it.

    for name, data in mutants(seed=7, count=1000): ...      the same files for the same seed, everywhere

A mutant is a valid file with one to three mistakes.  Most keep the envelope intact, so that the readers of types,
constants, locations and instructions and the verifier behind them are reached, not only the reader of sections.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from random import Random

from tests.bytecode.pieces import File, Function, debug_payload, split_debug, split_functions, split_table, varint
from tests.generators.programs import random_module
from tests.kernels.export import all_cases, export, tools_available

from tileir.bytecode.annotated import annotate
from tileir.bytecode.primitives import BytecodeError
from tileir.bytecode.writer import write_public

VERSIONS = ((13, 1), (13, 2), (13, 3), (13, 4))
#: Files larger than this are left out: they are slow and show nothing new.
LARGEST = 3000
#: Numbers at which readers break.
NUMBERS = (
    *range(10),
    *(
        15,
        16,
        31,
        32,
        63,
        64,
        77,
        100,
        113,
        116,
        122,
        123,
        126,
        127,
        128,
        129,
        130,
        255,
        256,
        1000,
        16383,
        16384,
        65535,
    ),
    *(1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
)
WORDS = (0, 1, 2, 3, 4, 8, 16, 32, 64, 1024, 1 << 24, (1 << 24) + 1, 1 << 31, (1 << 32) - 1, 1 << 63, (1 << 64) - 1)


@functools.cache
def valid_files(programs: int = 240) -> tuple[tuple[str, bytes], ...]:
    """Kernels cuTile exported, each at one version, and random programs that use every operation."""
    files: list[tuple[str, bytes]] = []
    # Without cuTile the random programs remain.
    for number, case in enumerate(all_cases() if tools_available() else ()):
        spelled = case.versions[number % len(case.versions)]
        files.append((f"{case.name}.{spelled}", export(case, spelled)))
    for number in range(programs):
        version = VERSIONS[number % len(VERSIONS)]
        # Without locations: the kernels have some, and the generator makes kinds that bytecode has no place for.
        module = random_module(
            Random(number), version=version, size=12, draft_forms=False, locations=False, discardable=False
        )
        try:
            files.append((f"program_{number}.{version[0]}.{version[1]}", write_public(module, version)))
        except BytecodeError:
            continue  # A program that has no bytes at this version.
    return tuple((name, data) for name, data in files if len(data) <= LARGEST)


def mutants(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Files with mistakes; the name tells what they were made of."""
    for number in range(count):
        yield mutant(seed, number)


def mutant(seed: int, number: int) -> tuple[str, bytes]:
    """One of the files with mistakes."""
    rng = Random(f"{seed}.{number}")
    name, data = rng.choice(valid_files())
    kinds: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        kind, data = mutate(data, rng)
        kinds.append(kind)
    return f"{number}: {name}: {' + '.join(kinds)}", data


def mutate(data: bytes, rng: Random) -> tuple[str, bytes]:
    """One mistake."""
    mutation = rng.choices(_MUTATIONS, _WEIGHTS)[0]
    try:
        changed = mutation(data, rng)
    except (LookupError, ValueError):
        # Not a file any more after an earlier mistake, or it lacks the piece.
        mutation = any_byte
        changed = mutation(data, rng)
    return mutation.__name__, changed


# --- bytes ---


def any_byte(data: bytes, rng: Random) -> bytes:
    if not data:
        return b"\0"
    at = rng.randrange(len(data))
    kind = rng.randrange(6)
    if kind == 0:
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if kind == 1:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + bytes([rng.choice((0, 1, 2, 0x7F, 0x80, 0xFF))]) + data[at + 1 :]
    if kind == 3:
        return data[:at] + rng.randbytes(rng.choice((1, 1, 2, 4))) + data[at:]
    if kind == 4:
        return data[:at] + data[at + rng.choice((1, 1, 2, 4)) :]
    return data[:at] + varint(rng.choice(NUMBERS)) + data[at + 1 :]


def cut_off(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + (b"\0" if rng.random() < 0.3 else b"")


def copied_piece(data: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(data))
    piece = data[start : start + rng.randrange(1, 17)]
    at = rng.randrange(len(data))
    return data[:at] + piece + data[at + (len(piece) if rng.random() < 0.5 else 0) :]


def header(data: bytes, rng: Random) -> bytes:
    at = rng.choice((0, 7, 8, 9, 9, 9, 9, 10, 11))
    return data[:at] + bytes([rng.choice((0, 1, 2, 3, 4, 5, 12, 13, 14, 255))]) + data[at + 1 :]


# --- sections ---


def sections(data: bytes, rng: Random) -> bytes:
    """Swap, repeat, drop or misalign sections."""
    file = File.parse(data)
    kind = rng.randrange(7)
    at, other = rng.randrange(len(file.sections)), rng.randrange(len(file.sections))
    section = file.sections[at]
    if kind == 0:
        file.sections[at], file.sections[other] = file.sections[other], section
    elif kind == 1:
        file.sections.insert(other, section)
    elif kind == 2:
        del file.sections[at]
    elif kind == 3:
        section.alignment = rng.choice((0, 1, 2, 3, 4, 8, 16, 64, 12, 1 << 40))
    elif kind == 4:
        section.identifier = rng.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 127))
    elif kind == 5:
        section.stated_length = max(0, len(section.payload) + rng.choice((-8, -1, 1, 8, 1 << 20, 1 << 62)))
    else:
        section.payload, file.sections[other].payload = file.sections[other].payload, section.payload
    return file.build()


def payload(data: bytes, rng: Random) -> bytes:
    """A mistake inside a section whose length stays right."""
    file = File.parse(data)
    section = rng.choice(file.sections)
    section.payload = any_byte(section.payload, rng)
    return file.build()


def section_tail(data: bytes, rng: Random) -> bytes:
    """A section cut off, or with something after its end."""
    file = File.parse(data)
    section = rng.choice(file.sections)
    if rng.random() < 0.5:
        section.payload = section.payload[: -rng.randrange(1, 9)]
    else:
        section.payload += rng.randbytes(rng.randrange(1, 9))
    return file.build()


# --- tables ---


def table_number(data: bytes, rng: Random) -> bytes:
    """A wrong count or offset in a table of strings, types or constants."""
    file = File.parse(data)
    section = rng.choice([s for s in file.sections if s.identifier in (1, 4, 5) and len(s.payload) > 8])
    size = 8 if section.identifier == 4 else 4
    if rng.random() < 0.3:
        section.payload = varint(rng.choice(NUMBERS)) + section.payload[1:]
        return file.build()
    entry = size + size * rng.randrange(max(1, section.payload[0] & 0x7F))
    value = int.from_bytes(section.payload[entry : entry + size], "little") + rng.choice((-2, -1, 1, 2, 1 << 16))
    if rng.random() < 0.3:
        value = rng.choice(WORDS)
    word = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    section.payload = section.payload[:entry] + word + section.payload[entry + size :]
    return file.build()


def table_entry(data: bytes, rng: Random) -> bytes:
    """A changed, repeated, swapped, dropped or borrowed entry of a table; the offsets stay right."""
    file = File.parse(data)
    section = rng.choice([s for s in file.sections if s.identifier in (1, 4, 5, 5, 5) and s.payload[:1] != b"\0"])
    table = split_table(section)
    at, other = rng.randrange(len(table.blobs)), rng.randrange(len(table.blobs))
    kind = rng.randrange(8)
    if kind < 4:
        table.blobs[at] = any_byte(table.blobs[at], rng)
    elif kind == 4:
        table.blobs[at], table.blobs[other] = table.blobs[other], table.blobs[at]
    elif kind == 5:
        table.blobs[at] = table.blobs[other]
    elif kind == 6:
        del table.blobs[at]
    else:
        table.blobs[at] = _number_in(table.blobs[at], rng)
    section.payload = table.build()
    return file.build()


def debug_word(data: bytes, rng: Random) -> bytes:
    """A wrong byte or number in the debug section."""
    file = File.parse(data)
    section = file.section(3)
    at = rng.randrange(len(section.payload))
    if rng.random() < 0.5:
        at -= at % 4
        section.payload = section.payload[:at] + bytes([rng.randrange(12)]) + section.payload[at + 1 :]
    else:
        section.payload = _number_in(section.payload, rng)
    return file.build()


def debug_entry(data: bytes, rng: Random) -> bytes:
    """A changed, repeated, swapped or dropped entry of the debug section, or a wrong reference to one."""
    file = File.parse(data)
    starts, indices, blobs = split_debug(file.section(3))
    at, other = rng.randrange(len(blobs)), rng.randrange(len(blobs))
    kind = rng.randrange(9)
    if kind < 2:
        blobs[at] = any_byte(blobs[at], rng)
    elif kind == 2:
        blobs[at] = _number_in(blobs[at], rng)
    elif kind == 3:
        # A part of an entry becomes another entry.
        place = rng.randrange(1, len(blobs[at]))
        blobs[at] = blobs[at][:place] + varint(rng.randrange(len(blobs) + 2)) + blobs[at][place + 1 :]
    elif kind == 4:
        blobs[at], blobs[other] = blobs[other], blobs[at]
    elif kind == 5:
        del blobs[at]
    elif kind == 6:
        blobs.insert(at, blobs[other])
    elif kind == 7:
        indices[rng.randrange(len(indices))] = rng.choice(
            (0, 1, len(blobs), len(blobs) + 1, rng.randrange(len(blobs) + 1))
        )
    else:
        starts[rng.randrange(len(starts))] = rng.choice(
            (0, 1, len(indices) - 1, len(indices), rng.randrange(len(indices)))
        )
    file.section(3).payload = debug_payload(starts, indices, blobs)
    return file.build()


def call_chain(data: bytes, rng: Random) -> bytes:
    """The location of an operation becomes a chain of call sites or scopes, sometimes with something wrong inside."""
    file = File.parse(data)
    starts, indices, blobs = split_debug(file.section(3))
    inner = rng.randrange(1, len(blobs) + 1)
    tag = rng.choice((3, 6, 6, 6))
    for _ in range(rng.choice((1, 2, 10, 65, 109, 400))):
        side = rng.randrange(1, len(blobs) + 1) if rng.random() < 0.2 else inner
        if tag == 3:
            blobs.append(b"\x03" + varint(inner) + b"\1\1\1")
        else:
            blobs.append(
                b"\x06" + (varint(inner) + varint(side) if rng.random() < 0.5 else varint(side) + varint(inner))
            )
        inner = len(blobs)
    if rng.random() < 0.2:
        # Sometimes in itself.
        inner = rng.randrange(1, len(blobs) + 3)
    indices[rng.randrange(len(indices))] = inner
    file.section(3).payload = debug_payload(starts, indices, blobs)
    return file.build()


def any_field(data: bytes, rng: Random) -> bytes:
    """A number of any kind becomes another: the dump says where all of them are."""
    start, end = rng.choice(_numbers(data))
    if rng.random() < 0.5 and end - start == 1:
        value = data[start]
        changed = rng.choice((value ^ 1 << rng.randrange(8), value + 1 & 0x7F, value - 1 & 0x7F, rng.randrange(128)))
        return data[:start] + bytes([changed]) + data[end:]
    if end - start in (4, 8) and rng.random() < 0.5:
        word = (rng.choice(WORDS) & (1 << 8 * (end - start)) - 1).to_bytes(end - start, "little")
        return data[:start] + word + data[end:]
    # Another varint, which moves all that follows, or one of the same length.
    number = varint(rng.choice(NUMBERS))
    if rng.random() < 0.7:
        number = number[: end - start].ljust(end - start, b"\0")
    return data[:start] + number + data[end:]


@functools.lru_cache(1024)
def _numbers(data: bytes) -> tuple[tuple[int, int], ...]:
    fields = annotate(data, "public").fields()
    return tuple((field.start, field.end) for field in fields if field.value is not None)


# --- functions ---


def nested_hints(data: bytes, rng: Random) -> bytes:
    """The hints of a function become attributes in each other."""

    def change(function: Function) -> None:
        function.flags |= 4
        levels = [b"\x06\1", b"\x0a\1\0", b"\x06\2\x03\1", b"\x0b\1\0"]
        inner = b"".join(rng.choices(levels, (5, 5, 1, 1), k=rng.choice((0, 1, 2, 5, 65, 300))))
        leaf = rng.choice((b"\x0a\0", b"\x06\0", b"\x03\1", b"\x05\0", b"\x04\0", b"\x01\1\7", b"\x63"))
        function.hints = b"\x0b\1\0\x0a\1\0" + inner + leaf

    return _in_function(data, rng, change)


def function_field(data: bytes, rng: Random) -> bytes:
    """A wrong name, signature, flag or location of a function."""

    def change(function: Function) -> None:
        kind = rng.randrange(4)
        if kind == 0:
            function.name = rng.choice(NUMBERS[:12])
        elif kind == 1:
            function.signature = rng.choice(NUMBERS)
        elif kind == 2:
            function.flags = rng.choice((0, 1, 2, 3, 4, 6, 7, 8, 10, 130))
        else:
            function.location = rng.choice(NUMBERS)

    return _in_function(data, rng, change)


def body_byte(data: bytes, rng: Random) -> bytes:
    def change(function: Function) -> None:
        function.body = any_byte(function.body, rng)

    return _in_function(data, rng, change)


def body_index(data: bytes, rng: Random) -> bytes:
    """A byte of an instruction becomes another small number: an index, an enumerator, an opcode."""

    def change(function: Function) -> None:
        at = rng.randrange(len(function.body))
        value = (function.body[at] + rng.choice((-2, -1, 1, 2, rng.randrange(128)))) & 0x7F
        function.body = function.body[:at] + bytes([value]) + function.body[at + 1 :]

    return _in_function(data, rng, change)


def body_number(data: bytes, rng: Random) -> bytes:
    def change(function: Function) -> None:
        function.body = _number_in(function.body, rng)

    return _in_function(data, rng, change)


def body_piece(data: bytes, rng: Random) -> bytes:
    def change(function: Function) -> None:
        function.body = copied_piece(function.body, rng)

    return _in_function(data, rng, change)


def body_end(data: bytes, rng: Random) -> bytes:
    def change(function: Function) -> None:
        if rng.random() < 0.5:
            function.body = function.body[: -rng.randrange(1, 8)]
        else:
            function.body += rng.choice((b"\x5c\0\0", b"\x44\0", b"\x5c", rng.randbytes(3)))

    return _in_function(data, rng, change)


def _in_function(data: bytes, rng: Random, change: Callable[[Function], None]) -> bytes:
    file = File.parse(data)
    section = file.section(2)
    functions, rest = split_functions(file)
    function = rng.choice(functions)
    change(function)
    section.payload = varint(len(functions)) + b"".join([f.build() for f in functions]) + rest
    return file.build()


def _number_in(data: bytes, rng: Random) -> bytes:
    """Replace the varint at a random place."""
    at = rng.randrange(len(data))
    end = at
    while end < len(data) and data[end] & 0x80:
        end += 1
    number = varint(rng.choice(NUMBERS))
    if rng.random() < 0.1:
        # Not minimal: allowed, up to ten bytes.
        number = varint(data[at] & 0x7F)[:-1] + bytes([data[at] & 0x7F | 0x80]) + b"\x80" * rng.randrange(10) + b"\0"
    return data[:at] + number + data[end + 1 :]


_MUTATIONS = (
    *(any_byte, cut_off, copied_piece, header, sections, payload, section_tail, table_number, table_entry, debug_word),
    *(function_field, body_byte, body_index, body_number, body_piece, body_end, debug_entry, call_chain, any_field),
    nested_hints,
)
_WEIGHTS = (10, 3, 3, 3, 5, 6, 3, 6, 20, 8, 4, 10, 20, 5, 5, 3, 12, 5, 20, 4)
