"""Bytecode is untrusted: small files stay cheap, and every refusal is a `BytecodeError` or a `VerifyError`.

The files are made by hand.  Each test bounds the memory and the computing time of reading, verifying and printing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
from tests.bytecode.limits import cpu_limit, memory_limit
from tests.bytecode.pieces import (
    FUNCTION_TYPE,
    I1,
    I32,
    RETURN,
    TILE_I1,
    TILE_I32,
    TOKEN,
    TYPES,
    File,
    constant,
    debug_payload,
    make_file,
    tile,
    varint,
)

import tileir
from tileir.bytecode.container import CONSTANT, DEBUG, FUNCTION, GLOBAL, STRING, TYPE
from tileir.bytecode.primitives import BytecodeError
from tileir.bytecode.reader import read_public
from tileir.bytecode.writer import write_public
from tileir.text.printer import print_disassembly

HUGE = (1 << 16, 1 << 24, (1 << 31) - 1, 1 << 31, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1)
#: The first index of the types a test adds.
ADDED = len(TYPES)


@contextlib.contextmanager
def cheap(megabytes: float = 4, seconds: float = 15) -> Iterator[None]:
    with cpu_limit(seconds, "one file"), memory_limit(megabytes, "one file"):
        yield


def use(data: bytes) -> str:
    """What a tool does with a file: read it, verify it, print it both ways, write it again."""
    module = read_public(data)
    tileir.verify(module)
    text = print_disassembly(module) + print_disassembly(module, True)
    write_public(module, (13, 4))
    return text


def refused(data: bytes, megabytes: float = 4) -> list[str]:
    with cheap(megabytes), pytest.raises(tileir.TileIRError) as caught:
        use(data)
    assert isinstance(caught.value, (BytecodeError, tileir.VerifyError))
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


def accepted(data: bytes, megabytes: float = 4) -> str:
    with cheap(megabytes):
        return use(data)


def test_the_smallest_file_is_accepted():
    assert accepted(make_file()).startswith("entry @k() {\n  return\n}\n")


# --- counts ---


@pytest.mark.parametrize("count", HUGE)
@pytest.mark.parametrize("section", [STRING, TYPE, CONSTANT, DEBUG, FUNCTION, GLOBAL])
def test_huge_count_at_the_start_of_a_section_is_refused(section, count):
    file = File.parse(
        make_file(
            b"\x10" + varint(TILE_I32) + b"\0" + RETURN,
            constants=(constant(b"\1\0\0\0"),),
            globals_=b"\1\0" + bytes([TILE_I32, 0, 4, 0, 0]),
            debug=debug_payload([0], [0, 0, 0], [b"\0"]),
        )
    )
    file.section(section).payload = varint(count) + file.section(section).payload[1:]
    refused(file.build())


BODIES_WITH_A_COUNT = {
    "results": lambda n: b"\x5c" + n,
    "operands": lambda n: b"\x5c\0" + n,
    "operand segment": lambda n: b"\x43\1" + bytes([TOKEN, 0]) + n,
    "regions": lambda n: b"\x41\0\0" + n,
    "blocks": lambda n: b"\x41\0\0\1" + n,
    "block arguments": lambda n: b"\x41\0\0\1\1" + n,
    "operations": lambda n: b"\x41\0\0\1\1\0" + n,
    "identities": lambda n: b"\x58\0\0" + n,
    "permutation": lambda n: b"\x53" + bytes([TILE_I32]) + n,
    "same_elements": lambda n: b"\x06" + bytes([TILE_I32, 9]) + n,
    "array": lambda n: b"\x06" + bytes([TILE_I32, 6]) + n,
    "dictionary": lambda n: b"\x06" + bytes([TILE_I32, 10]) + n,
}


@pytest.mark.parametrize("count", HUGE)
@pytest.mark.parametrize("place", BODIES_WITH_A_COUNT)
def test_huge_count_in_an_instruction_is_refused(place, count):
    refused(make_file(BODIES_WITH_A_COUNT[place](varint(count)) + b"\0" * 16))


TYPES_WITH_A_COUNT = {
    "shape": lambda n: b"\x0d" + bytes([I32]) + n,
    "view shape": lambda n: b"\x0e\0" + bytes([I32]) + n,
    "tile shape": lambda n: b"\x0f\0" + n,
    "parameters": lambda n: b"\x10" + n,
    "results": lambda n: b"\x10\0" + n,
}


@pytest.mark.parametrize("count", HUGE)
@pytest.mark.parametrize("place", TYPES_WITH_A_COUNT)
def test_huge_count_in_a_type_is_refused(place, count):
    refused(make_file(types=(TYPES_WITH_A_COUNT[place](varint(count)) + b"\0" * 16,), signature=ADDED))


def test_length_of_a_function_body_is_bounded_by_the_section():
    file = File.parse(make_file())
    payload = file.section(FUNCTION).payload
    file.section(FUNCTION).payload = payload[:-4] + varint((1 << 64) - 1) + payload[-3:]
    assert (
        "function body length 18446744073709551615 exceeds remaining bytecode data (3 bytes)"
        in refused(file.build())[0]
    )


# --- constants ---


def test_splat_of_the_largest_tile_costs_one_element():
    text = accepted(
        make_file(
            b"\x10" + varint(ADDED) + b"\0" + RETURN, types=(tile(I32, 1 << 24),), constants=(constant(b"\7\0\0\0"),)
        )
    )
    assert "constant <i32: 7> : tile<16777216xi32>" in text


def test_tile_of_more_elements_than_allowed_is_refused():
    body = b"\x10" + varint(ADDED) + b"\0" + RETURN
    messages = refused(make_file(body, types=(tile(I32, 1 << 24, 2),), constants=(constant(b"\7\0\0\0"),)))
    assert "tile would exceed the maximum of 16777216 elements" in messages[0]


def test_tile_of_endless_rank_costs_what_the_file_costs():
    body = b"\x10" + varint(ADDED) + b"\0" + RETURN
    data = make_file(body, types=(tile(I32, *([1] * 10_000)),), constants=(constant(b"\7\0\0\0"),))
    with cheap(16):
        use(data)


def test_bits_of_up_to_eight_elements_are_always_packed():
    body = b"\x10" + varint(ADDED) + b"\0" + RETURN
    for count, byte, expected in ((4, 1, "[true, false, false, false]"), (8, 255, "true"), (2, 2, "[false, true]")):
        text = accepted(make_file(body, types=(tile(I1, count),), constants=(constant(bytes([byte])),)))
        assert f"<i1: {expected}>" in text


def test_packed_bits_of_the_wrong_length_are_refused():
    body = b"\x10" + varint(ADDED) + b"\0" + RETURN
    messages = refused(make_file(body, types=(tile(I1, 1 << 24),), constants=(constant(b"\1\2"),)))
    assert messages[0] == (
        "error at offset 3: i1 dense attribute payload size 2 is not a recognized encoding for 16777216 elements"
    )


@pytest.mark.long
def test_packed_bits_of_the_largest_tile_cost_a_byte_per_element():
    body = b"\x10" + varint(ADDED) + b"\0" + RETURN
    data = make_file(body, types=(tile(I1, 1 << 24),), constants=(constant(b"\x5a" * (1 << 21)),))
    with cheap(150, 20):
        module = read_public(data)
        tileir.verify(module)
        write_public(module, (13, 4))


def test_one_blob_as_tiles_of_many_types_is_kept_once():
    blob = bytes(range(256)) * 256
    shapes = [
        tuple(1 << (16 - k) if i == j else 1 << k if i == j + 1 else 1 for i in range(20))
        for j in range(18)
        for k in range(8)
    ]
    types = (b"\x01", *[tile(ADDED, *shape) for shape in shapes])
    body = b"".join([b"\x10" + varint(ADDED + 1 + index) + b"\0" for index in range(len(shapes))]) + RETURN
    data = make_file(body, types=types, constants=(constant(blob),))
    with cheap(8):
        tileir.verify(read_public(data))


# --- recursion and sharing ---


def test_type_that_contains_itself_is_refused():
    for blob in (b"\x10\1" + varint(ADDED) + b"\0", b"\x0d" + varint(ADDED) + b"\0", b"\x0c\0" + varint(ADDED)):
        assert "failed to get" in refused(make_file(types=(blob,), signature=ADDED))[0]


def test_types_that_contain_each_other_are_refused():
    blobs = (b"\x10\1" + varint(ADDED + 1) + b"\0", b"\x10\1" + varint(ADDED) + b"\0")
    refused(make_file(types=blobs, signature=ADDED))


def function_types(depth: int) -> tuple[bytes, ...]:
    """Function types in each other."""
    blobs = [b"\x10\1" + varint(ADDED + level + 1) + b"\0" for level in range(depth)]
    return (*blobs, b"\x10\0\0")


def test_deep_types_cost_what_their_text_costs():
    hints = b"\x0b\1\0\x0a\1\0\x04" + varint(ADDED)
    for depth in (17, 65, 109, 1000):
        text = accepted(make_file(types=function_types(depth), flags=6, hints=hints), 64)
        assert text.count("->") == 2 * (depth + 1)
    # The text of each level holds that of all below it.
    assert (
        "function types are too large" in refused(make_file(types=function_types(10_000), flags=6, hints=hints), 64)[0]
    )


def test_types_that_contain_each_other_far_away_are_refused():
    blobs = [b"\x10\1" + varint(ADDED + (level + 1) % 100) + b"\0" for level in range(100)]
    messages = refused(make_file(types=tuple(blobs), signature=ADDED))
    assert "failed to get parameter type" in messages[0]


@pytest.mark.parametrize(("levels", "width"), [(22, 2), (15, 8), (8, 60), (2, 2000)])
def test_function_types_that_spell_exponentially_are_refused(levels, width):
    blobs = [b"\x10" + varint(width) + varint(ADDED + level + 1) * width + b"\0" for level in range(levels)]
    refused(make_file(types=(*blobs, b"\x10\0\0"), signature=ADDED), 64)


def results(indices: list[int]) -> bytes:
    """An instruction with results of these types, to have them all decoded."""
    return b"\x5c" + varint(len(indices)) + b"".join([varint(index) for index in indices])


def test_long_types_in_many_mistakes_are_not_spelled_without_end():
    """Ten kilobytes of operations, each wrong about a type of a hundred kilobytes."""
    blob = b"\x10" + varint(5000) + varint(TILE_I32) * 5000 + b"\0"
    body = (b"\x3a" + varint(ADDED)) * 5000
    messages = refused(make_file(body, types=(blob,)), 100)
    assert 10 < len(messages) < 500


def test_many_long_types_that_share_a_part_are_refused():
    long = b"\x10" + varint(1000) + varint(TILE_I32) * 1000 + b"\0"
    blobs = (long, *[b"\x10\2" + varint(ADDED) * 2 + b"\0"] * 20_000)
    body = results(list(range(ADDED, ADDED + len(blobs))))
    assert "function types are too large" in refused(make_file(body, types=blobs), 64)[0]


def test_overlapping_types_are_refused_before_they_cost():
    """Every second type is the same long blob, far more of them than the section could hold side by side."""
    count = 4000
    last = varint(count - 1)
    blob = b"\x10" + varint(20_000) + last * 20_000 + b"\0"
    pair = (0).to_bytes(4, "little") + len(blob).to_bytes(4, "little")
    file = File.parse(make_file(results([count - 1, *range(0, count, 2)])))
    file.section(TYPE).payload = varint(count) + b"\0\0" + pair * (count // 2) + blob + b"\0"
    assert "failed to get result type 5 for ReturnOp" in refused(file.build(), 64)[0]


def test_overlapping_strings_are_refused_before_they_cost():
    """Each string ends before it starts, which stands for all the rest of the section."""
    count = 4000
    file = File.parse(make_file(b"\x5c\0\0"))
    offsets = b"".join([(count - index).to_bytes(4, "little") for index in range(count)])
    file.section(STRING).payload = varint(count) + b"\0\0" + offsets + b"s" * 100_000
    hints = b"\x0b" + varint(count) + b"".join([varint(index) + b"\x0a\0" for index in range(count)])
    function = file.section(FUNCTION)
    function.payload = b"\1\0" + bytes([FUNCTION_TYPE, 6, 0]) + hints + b"\3" + RETURN
    assert refused(file.build(), 32)[0] == "strings overlap too much"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("depth", [65, 109, 1000, 10_000])
@pytest.mark.parametrize("tag", [6, 10], ids=["arrays", "dictionaries"])
def test_deep_attributes_are_accepted(tag, depth):
    level = bytes([6, 1]) if tag == 6 else bytes([tag, 1, 0])
    text = accepted(make_file(flags=6, hints=b"\x0b\1\0\x0a\1\0" + level * depth + b"\x0a\0"), 32)
    # Printed twice; the architecture and its hint have a dictionary of their own.
    assert text.count("[" if tag == 6 else "k = {") == 2 * (depth if tag == 6 else depth + 2)


@pytest.mark.parametrize("tag", [6, 10, 11], ids=["arrays", "dictionaries", "hints"])
def test_deep_attributes_that_are_wrong_inside_are_refused(tag):
    level = bytes([6, 1]) if tag == 6 else bytes([tag, 1, 0])
    for depth in (65, 1000):
        messages = refused(make_file(flags=6, hints=b"\x0b\1\0\x0a\1\0" + level * depth + b"\x63"))
        assert len(messages) > depth
        assert "unsupported AttributeTag 99" in messages[0]


def test_repeated_keys_are_refused():
    entry = b"\0\x0a\0"
    messages = refused(make_file(flags=6, hints=b"\x0b" + varint(5000) + entry * 5000))
    assert 'failed to parse DictionaryAttr, duplicate key found: "k"' in messages[0]


def nested(depth: int) -> bytes:
    """`if`s in each other."""
    body = b"\x10" + bytes([TILE_I1]) + b"\0"
    start = b"\x32\0\0\2\1\0\2"
    middle = b"\x6d\0\0"
    return body + start * depth + b"\x44" + bytes([TOKEN]) + b"\x6d\0\0\0" + (middle + b"\0") * (depth - 1) + RETURN


def test_deep_regions_are_refused():
    for depth in (6001, 20_000):
        messages = refused(make_file(nested(depth), constants=(constant(b"\xff"),)), 16)
        assert "nesting is too deep" in messages[0]


def test_regions_deeper_than_pythons_stack_go_through_every_tool():
    # The text, printed twice, is nine megabytes of indentation.
    text = accepted(make_file(nested(1500), constants=(constant(b"\xff"),)), 64)
    assert text.count("if %") == 3000


# --- locations ---

FILE_BLOB = b"\x02\0\0"
UNIT_BLOB = b"\x01\1"
SUBPROGRAM_BLOB = b"\x05\1\1\0\0\2\1"
LOCATION_BLOB = b"\x04\3\0\1\1"


def test_debug_attributes_that_contain_themselves_are_refused():
    for blob in (b"\x06\1\1", b"\x03\1\1\1\1", b"\x04\1\0\1\1", b"\x05\1\1\0\0\1\1", b"\x01\1"):
        messages = refused(make_file(debug=debug_payload([0], [1, 1], [blob]), location=1))
        assert "failed to read" in messages[0]


def test_the_line_of_the_function_is_not_told_for_an_operation_without_one():
    blobs = [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB]
    with pytest.raises(BytecodeError) as caught:
        tileir.from_bytecode(make_file(debug=debug_payload([0], [4, 9], blobs), location=1))
    assert caught.value.diagnostics[0].message.endswith("failed to read operation location.")
    assert caught.value.diagnostics[0].notes == []


@pytest.mark.parametrize("opcode", [b"\x44", b"\xc4\x00", b"\xc4\x80\x00", b"\xc4\x80\x80\x00"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_location_that_is_missing_is_told_behind_the_opcode(opcode, count):
    """However many bytes it is written with, and whether or not one like it came before."""
    token = opcode + bytes([TOKEN])
    blobs = [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB]
    debug = debug_payload([0], [4, *[4] * (count - 1), 9, 4], blobs)
    with pytest.raises(BytecodeError) as caught:
        tileir.from_bytecode(make_file(token * count + RETURN, debug=debug, location=1))
    assert caught.value.offset == len(token) * (count - 1) + len(opcode)


def call_sites(depth: int, side: str, forward: bool = False) -> bytes:
    """A file whose `return` has a location of call sites in each other, each before or behind what it contains."""
    blobs = [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB]
    for level in range(depth):
        inner = varint((6 + level if level + 1 < depth else 4) if forward else 4 + level)
        sides = {"callee": inner + b"\4", "caller": b"\4" + inner, "both": inner * 2}
        blobs.append(b"\x06" + sides[side])
    return make_file(debug=debug_payload([0], [4, 5 if forward else len(blobs)], blobs), location=1)


def lexical_blocks(depth: int, forward: bool = False) -> bytes:
    """A file whose `return` lies in lexical blocks in each other."""
    blobs = [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB]
    for level in range(depth):
        inner = (6 + level if level + 1 < depth else 3) if forward else (4 + level if level else 3)
        blobs.append(b"\x03" + varint(inner) + b"\1\1\1")
    blobs.append(b"\x04" + varint(5 if forward else len(blobs)) + b"\0\1\1")
    return make_file(debug=debug_payload([0], [4, len(blobs)], blobs), location=1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("depth", [65, 109, 1000, 10_000])
@pytest.mark.parametrize("forward", [False, True])
def test_deep_call_sites_and_scopes_are_accepted(depth, forward):
    for side in ("callee", "caller"):
        with cpu_limit(20, "one file"):
            assert use(call_sites(depth, side, forward)).count("callsite(") == depth
    with cpu_limit(20, "one file"):
        assert use(lexical_blocks(depth, forward)).count("di_lexical_block<") == depth


@pytest.mark.parametrize("forward", [False, True])
def test_call_sites_that_would_spell_exponentially_share_their_parts(forward):
    with cpu_limit(20, "one file"):
        assert accepted(call_sites(60, "both", forward)).count("callsite(") == 60


def test_call_sites_that_fail_far_inside_on_both_sides_fail_soon():
    blobs = [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB]
    blobs += [b"\x06" + varint(6 + level) * 2 for level in range(60)]
    with cpu_limit(20, "one file"):
        messages = refused(make_file(debug=debug_payload([0], [4, 5], [*blobs, b"\x06\4"]), location=1))
    assert "failed to read caller attribute" in messages[0]


def test_many_operations_at_all_depths_of_a_chain_cost_what_they_weigh():
    """Each of 3,000 operations has a longer chain of call sites, and of scopes, than the one before."""
    count = 3000
    common = [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB]
    sites = [b"\x06\4" + varint(4 + level) for level in range(count)]
    blocks = [b"\x03" + varint(4 + level if level else 3) + b"\1\1\1" for level in range(count)]
    places = [b"\x04" + varint(5 + level) + b"\0\1\1" for level in range(count)]
    body = (b"\x44" + bytes([TOKEN])) * count + RETURN
    for blobs, first in (([*common, *sites], 5), ([*common, *blocks, *places], 5 + count)):
        entries = [4, *range(first, first + count), 4]
        data = make_file(body, debug=debug_payload([0], entries, blobs), location=1)
        with cpu_limit(20, "one file"):
            assert use(data).count("make_token") == 2 * count


def test_location_that_fails_at_the_bottom_of_a_chain_is_told_level_by_level():
    blobs = [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB]
    blobs += [b"\x06" + varint(6 + level) + b"\4" for level in range(500)]
    messages = refused(make_file(debug=debug_payload([0], [4, 5], [*blobs, b"\x06\4"]), location=1))
    assert len([message for message in messages if "failed to read callee attribute" in message]) == 500
    assert "failed to read caller attribute" in messages[0]


@pytest.mark.parametrize("indices", [[], [4], [4, 4]])
def test_too_few_locations_are_refused(indices):
    blobs = [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB]
    body = b"\x44" + bytes([TOKEN]) + RETURN
    messages = refused(make_file(body, debug=debug_payload([0], indices, blobs), location=1))
    assert "location" in messages[0]


def test_locations_of_many_functions_in_one_list_cost_what_is_used():
    count = 3000
    file = File.parse(make_file(debug=debug_payload([0], [0] * 50_000, [b"\0"]), location=1))
    names = [f"k{number}".encode() for number in range(count)]
    offsets, position = [], 0
    for name in names:
        offsets.append(position.to_bytes(4, "little"))
        position += len(name)
    file.section(STRING).payload = varint(count) + b"\0\0" + b"".join(offsets) + b"".join(names)
    entries = [varint(index) + bytes([FUNCTION_TYPE, 2, 1, 3]) + RETURN for index in range(count)]
    file.section(FUNCTION).payload = varint(count) + b"".join(entries)
    with cheap(24):
        tileir.verify(read_public(file.build()))


# --- names ---


def test_names_of_megabytes_cost_what_they_weigh():
    name = b"n" * (2 << 20)
    body = b"\x05\1\0" + RETURN
    constant_body = b"\x10" + bytes([TILE_I1]) + b"\0"
    text = accepted(make_file(constant_body + body, strings=(name,), constants=(constant(b"\xff"),)), 64)
    assert name.decode() in text


def test_names_that_are_not_text_survive():
    name = b"\xff\xfe\x00\x80"
    constant_body = b"\x10" + bytes([TILE_I1]) + b"\0"
    data = make_file(constant_body + b"\x05\1\0" + RETURN, strings=(name,), constants=(constant(b"\xff"),))
    module = read_public(data)
    assert name in write_public(module, (13, 4))


@pytest.mark.parametrize("size", range(0, 300, 7))
def test_cut_off_files_are_refused_with_an_offset(size):
    data = make_file(
        nested(3),
        constants=(constant(b"\xff"),),
        debug=debug_payload([0], [0] * 40, [b"\0"]),
        location=1,
        strings=(b"s" * 40,),
    )
    assert len(data) > 300
    with pytest.raises(BytecodeError) as caught:
        read_public(data[:size])
    assert 0 <= caught.value.offset <= size
