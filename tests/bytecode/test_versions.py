"""What each bytecode version has, and the words with which readers and writers refuse the rest."""

from __future__ import annotations

from typing import Any

import pytest
from tests.bytecode.pieces import F32, RETURN, TILE_I32, TOKEN, TYPES, constant, make_file, tile, varint, words
from tests.kernels.export import tools_available

import tileir
from tileir.bytecode.primitives import BytecodeError
from tileir.bytecode.reader import read_public
from tileir.bytecode.writer import write_public
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.types import pointer_attributes
from tileir.ir.attributes import UNIT
from tileir.ir.core import Operation
from tileir.ir.versions import RELEASED
from tileir.text.printer import print_disassembly

VERSIONS = ((13, 1), (13, 2), (13, 3), (13, 4), (13, 5))
ADDED = len(TYPES)


def name_of(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def errors_of_reading(data: bytes) -> list[str]:
    with pytest.raises(BytecodeError) as caught:
        read_public(data)
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


def errors_of_writing(module: Operation, version: tuple[int, int]) -> list[str]:
    with pytest.raises(BytecodeError) as caught:
        write_public(module, version)
    assert caught.value.offset == -1
    return [diagnostic.message for diagnostic in caught.value.diagnostics]


def program(body: str, parameters: str = "", items: str = "") -> Operation:
    module = tileir.parse(f"cuda_tile.module @m {{ {items} entry @k({parameters}) {{ {body} return }} }}")
    tileir.verify(module)
    return module


def first_lines(body: str, parameters: str = "", items: str = "") -> list[str]:
    """What a writer says at each version, empty where it writes; what is written reads and prints the same."""
    found: list[str] = []
    for version in VERSIONS:
        module = program(body, parameters, items)
        try:
            data = write_public(module, version)
        except BytecodeError as error:
            found.append(error.diagnostics[0].message)
        else:
            again = read_public(data)
            tileir.verify(again)
            assert print_disassembly(again) == print_disassembly(module)
            found.append("")
    return found


# --- the file ---


@pytest.mark.parametrize("version", [(0, 0), (12, 4), (13, 0), (13, 6), (14, 1), (250, 0), (255, 255)])
def test_unknown_version_is_refused(version):
    assert errors_of_reading(make_file(version=version, tag=7)) == [
        f"error at offset 12: unsupported Tile version {name_of(version)}.7, this reader supports versions [13.1 - 13.5]",
        "error at offset 12: failed to parse bytecode header",
        "failed to read provided Tile IR bytecode",
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_known_version_is_read_with_any_tag(version):
    for tag in (0, 1, 65535):
        tileir.verify(read_public(make_file(version=version, tag=tag)))


def test_messages_name_the_tag_of_the_version():
    assert errors_of_reading(make_file(b"\x6e", version=(13, 1), tag=3))[0] == (
        "error at offset 1: unsupported opcode 110 for bytecode version 13.1.3"
    )


# --- types ---

GATED_TYPES = {
    18: ("Float8E8M0FNU", (13, 2)),
    19: ("Float4E2M1FN", (13, 3)),
    20: ("GatherScatterViewType", (13, 3)),
    21: ("StridedViewType", (13, 3)),
    22: ("Int4", (13, 3)),
    130: ("FloatNV8E5M3FNU", (13, 4)),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("tag", GATED_TYPES)
def test_newer_type_is_refused_by_the_reader(tag, version):
    name, since = GATED_TYPES[tag]
    data = make_file(b"\x5c\1" + varint(ADDED) + b"\0", version=version, types=(varint(tag),))
    gate = f"type '{name}' requires bytecode version {name_of(since)}+, file version is {name_of(version)}"
    if version < since:
        assert errors_of_reading(data) == [
            gate,
            "error at offset 3: failed to get result type 0 for ReturnOp",
            f"error at offset {len(data)}: failed to parse function body for function 'k'",
            f"error at offset {len(data)}: failed to create function from bytecode",
            "failed to read provided Tile IR bytecode",
        ]
    elif tag in (20, 21):
        assert errors_of_reading(data)[0] == "error at offset 0: failed to read optional parameter flags"
    else:
        read_public(data)


@pytest.mark.parametrize("tag", [23, 24, 129, 131, 255])
def test_unknown_type_tag_is_refused(tag):
    data = make_file(b"\x5c\1" + varint(ADDED), types=(varint(tag),))
    assert errors_of_reading(data)[0] == f"unknown type tag: {tag}"


# What is written at which version, and from which on; the words of the writer before that.
TARGETING = {
    "an f8E8M0FNU": (
        ("", "%p: tile<ptr<f8E8M0FNU>>"),
        (13, 2),
        "type 'Float8E8M0FNU' requires bytecode version 13.2+, targeting {}",
    ),
    "an f4E2M1FN": (
        ("", "%p: tile<ptr<f4E2M1FN>>"),
        (13, 3),
        "type 'Float4E2M1FN' requires bytecode version 13.3+, targeting {}",
    ),
    "an i4": (
        ("%r = trunci %x : tile<i8> -> tile<i4>", "%x: tile<i8>"),
        (13, 3),
        "type 'Int4' requires bytecode version 13.3+, targeting {}",
    ),
    "an fnv8E5M3FNU": (
        ("", "%p: tile<ptr<fnv8E5M3FNU>>"),
        (13, 4),
        "type 'FloatNV8E5M3FNU' requires bytecode version 13.4+, targeting {}",
    ),
    "a pointer attribute": (
        ("", "%p: tile<ptr<f32, <none>>>"),
        (13, 4),
        "parameter 'ptr_attr' requires bytecode version 13.4+, but targeting {}",
    ),
    "a newer operation of 13.2": (
        ("%r = atan2 %x, %x : tile<f32>", "%x: tile<f32>"),
        (13, 2),
        "operation 'cuda_tile.atan2' is not available in bytecode version {}",
    ),
    "a newer operation of 13.3": (
        ("%x = iota : tile<4xi32> %r = pack %x : tile<4xi32> -> tile<16xi8>",),
        (13, 3),
        "operation 'cuda_tile.pack' is not available in bytecode version {}",
    ),
    "a newer operation of 13.4": (
        ("%r = gdc_wait_tko -> token",),
        (13, 4),
        "operation 'cuda_tile.gdc_wait_tko' is not available in bytecode version {}",
    ),
    "an attribute with a default": (
        ("%r = negi %x overflow<no_signed_wrap> : tile<i32>", "%x: tile<i32>"),
        (13, 2),
        "attribute 'overflow' requires bytecode version 13.2+, but targeting {}",
    ),
    "the rounding mode of tanh": (
        ("%r = tanh %x rounding<approx> : tile<f32>", "%x: tile<f32>"),
        (13, 2),
        "attribute 'rounding_mode' requires bytecode version 13.2+, but targeting {}",
    ),
    "the rounding mode of exp": (
        ("%r = exp %x rounding<approx> : tile<f32>", "%x: tile<f32>"),
        (13, 3),
        "attribute 'rounding_mode' requires bytecode version 13.3+, but targeting {}",
    ),
    "an optional attribute of 13.2": (
        ("for unsigned %i in (%x to %x, step %x) : tile<i32> { }", "%x: tile<i32>"),
        (13, 2),
        "optional attribute 'unsignedCmp' is provided but requires bytecode version 13.2, targeting {}",
    ),
    "an optional attribute of 13.4": (
        ("%r = ftoi %x signed saturating : tile<f32> -> tile<i32>", "%x: tile<f32>"),
        (13, 4),
        "optional attribute 'saturating' is provided but requires bytecode version 13.4, targeting {}",
    ),
    "a token given to a print": (
        ('%t = make_token : token %u = print_tko "x" token=%t -> token', ""),
        (13, 2),
        "optional operand 'token' is provided but requires bytecode version 13.2, targeting {}",
    ),
    "the token of a print that is used": (
        ('%t = print_tko "x" -> token %u = join_tokens %t, %t : token', ""),
        (13, 2),
        "result 'result_token' requires bytecode version 13.2 but is being used and targeting {}",
    ),
    "an enumerator of 13.4": (
        ("%r = ftof %x rounding<nearest_away> : tile<f32> -> tile<tf32>", "%x: tile<f32>"),
        (13, 4),
        "enum value for attribute 'rounding_mode' is not available in bytecode version {}",
    ),
    "a private global": (
        ("", "", "global private @g <f32: [1.0, 2.0]> : tile<2xf32>"),
        (13, 3),
        "global `g` uses non-public symbol visibility, which cannot be encoded in bytecode version {} (requires bytecode 13.3+)",
    ),
    "a constant global": (
        ("", "", "global constant @g <f32: [1.0, 2.0]> : tile<2xf32>"),
        (13, 3),
        "constant global `g` cannot be encoded in bytecode version {} (the `constant` attribute requires bytecode 13.3+)",
    ),
}


@pytest.mark.parametrize("what", TARGETING)
def test_writer_refuses_what_the_version_has_not(what):
    parts, since, words = TARGETING[what]
    expected = [words.format(name_of(version)) if version < since else "" for version in VERSIONS]
    assert first_lines(*parts) == expected


def test_producer_is_written_from_13_3_on():
    for version in VERSIONS:
        module = tileir.parse('cuda_tile.module @m attributes {producer = "us"} { entry @k() { return } }')
        producer = read_public(write_public(module, version)).attributes.get("producer")
        assert (producer is not None) == (version >= (13, 3))


# --- instructions, read ---

LAST_OPCODE = {(13, 1): 0x6D, (13, 2): 0x6E, (13, 3): 0x75, (13, 4): 0x7A, (13, 5): 0x7D}


@pytest.mark.parametrize("version", VERSIONS)
def test_opcodes_end_with_the_version(version):
    last = LAST_OPCODE[version]
    for opcode in (last + 1, 0x7E, 0x7F, 0x80, 0x3000, 0x4001, 0xFFFFFFFF):
        lines = errors_of_reading(make_file(varint(opcode), version=version))
        assert lines[0] == (
            f"error at offset {len(varint(opcode))}: unsupported opcode {opcode} for bytecode version {name_of(version)}"
        )
    assert "opcode" not in errors_of_reading(make_file(varint(last), version=version))[0]


@pytest.mark.parametrize("opcode", [0x19, 0x24, 0x34, 0x39])
def test_opcode_nobody_has_is_refused(opcode):
    assert errors_of_reading(make_file(bytes([opcode])))[0] == (
        f"error at offset 1: unknown or unimplemented opcode: {opcode}"
    )


def body_text(body: bytes, version: tuple[int, int], **pieces: Any) -> str:
    module = read_public(make_file(body + RETURN, version=version, **pieces))
    tileir.verify(module)
    return print_disassembly(module)


ZERO = b"\x10" + bytes([TILE_I32]) + b"\0"
ZERO_CONSTANT = (constant(b"\0\0\0\0"),)


@pytest.mark.parametrize("version", VERSIONS)
def test_attribute_of_13_2_is_in_the_record_from_then_on(version):
    """`negi` of 13.1 has no overflow behavior: a type and an operand."""
    has_it = version >= (13, 2)
    body = ZERO + b"\x50" + bytes([TILE_I32]) + (b"\1" if has_it else b"") + b"\0"
    text = body_text(body, version, constants=ZERO_CONSTANT)
    assert ("overflow<no_signed_wrap>" in text) == has_it
    other = ZERO + b"\x50" + bytes([TILE_I32]) + (b"" if has_it else b"\1") + b"\0"
    with pytest.raises(tileir.TileIRError):
        body_text(other, version, constants=ZERO_CONSTANT)


@pytest.mark.parametrize("version", VERSIONS)
def test_flags_of_a_loop_are_in_the_record_from_13_2_on(version):
    has_them = version >= (13, 2)
    head = b"\x29\0" + (b"\1" if has_them else b"")
    body = ZERO + head + b"\3\0\0\0" + b"\1\1\1" + bytes([TILE_I32]) + b"\1" + b"\x11\0\0"
    assert ("for unsigned" in body_text(body, version, constants=ZERO_CONSTANT)) == has_them


@pytest.mark.parametrize("version", VERSIONS)
def test_print_has_a_token_from_13_2_on(version):
    class_name = "PrintTkoOp"
    without, with_token = b"\x55\0\0\0", b"\x55\1" + bytes([TOKEN]) + b"\0\0\0"
    if version < (13, 2):
        # The token is there all the same, but no number refers to it.
        assert 'print_tko "k" -> token' in body_text(without, version)
        assert errors_of_reading(make_file(with_token, version=version))[0] == (
            f"error at offset 2: result count mismatch for {class_name}: expected 0 compatible results but got 1"
        )
    else:
        assert 'print_tko "k" -> token' in body_text(with_token, version)
        two = b"\x55\2" + bytes([TOKEN]) * 2 + b"\0\0\0"
        assert errors_of_reading(make_file(two, version=version))[0] == (
            f"error at offset 3: result count mismatch for {class_name}: expected 1 compatible results but got 2"
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_enumerators_are_read_at_every_version(version):
    """NVIDIA's reader does not ask how old an enumerator is; one that does not exist is refused."""
    body = b"\x2a" + bytes([TILE_I32])
    assert "operand index" in errors_of_reading(make_file(body + b"\7\0", version=version))[0]
    assert errors_of_reading(make_file(body + b"\x08\0", version=version))[:2] == [
        "error at offset 3: invalid integer value for enum type: 8",
        "error at offset 3: failed to parse attribute 'rounding_mode'",
    ]


# --- parameters of types, read ---


def partition_view(version: tuple[int, int], padding: int | None) -> tuple[bytes, bytes]:
    """A view and the tensor view it is over, with the padding where the version has it."""
    unified = version >= (13, 3)
    tensor = b"\x0e" + (b"\0" if version >= (13, 4) else b"") + bytes([F32]) + words([8]) + words([1])
    flag = b"\0" if padding is None else b"\1"
    head = flag if unified else b""
    tail = (b"" if unified else flag) + (b"" if padding is None else varint(padding))
    return tensor, b"\x0f" + head + words([4], 4) + varint(ADDED) + words([0], 4) + tail


@pytest.mark.parametrize("version", VERSIONS)
def test_padding_of_a_view_moves_into_the_flags_with_13_3(version):
    for padding, expected in ((None, "strides=[1]>>'"), (2, "padding_value = nan")):
        data = make_file(b"\x5c\1" + varint(ADDED + 1) + b"\0", version=version, types=partition_view(version, padding))
        with pytest.raises(tileir.VerifyError):
            tileir.verify(read_public(data))
        block = read_public(data).regions[0].blocks[0].first
        assert block is not None
        operation = block.regions[0].blocks[0].first
        assert operation is not None
        assert expected.rstrip("'") in operation.results[0].type.text
    data = make_file(b"\x5c\1" + varint(ADDED + 1), version=version, types=partition_view(version, 5))
    assert "invalid integer value for enum type: 5" in errors_of_reading(data)[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_pointers_have_flags_from_13_4_on(version):
    blob = b"\x0c" + (b"\1" + bytes([F32]) + b"\0" if version >= (13, 4) else bytes([F32]))
    module = read_public(make_file(b"\x5c\1" + varint(ADDED) + b"\0", version=version, types=(blob,)))
    entry = module.regions[0].blocks[0].first
    assert entry is not None
    operation = entry.regions[0].blocks[0].first
    assert operation is not None
    expected = "!cuda_tile.ptr<f32, <none>>" if version >= (13, 4) else "!cuda_tile.ptr<f32>"
    assert operation.results[0].type.text == expected
    number = len(pointer_attributes(version))
    wrong = b"\x0c\1" + bytes([F32]) + bytes([number])
    if version >= (13, 4):
        lines = errors_of_reading(make_file(b"\x5c\1" + varint(ADDED), version=version, types=(wrong,)))
        assert lines[0] == f"error at offset 3: invalid integer value for enum type: {number}"


# --- globals, functions and the producer, read ---


@pytest.mark.parametrize("version", VERSIONS)
def test_globals_have_two_more_fields_from_13_3_on(version):
    fields = b"\1\1" + varint(ADDED) + b"\0\4"
    more = b"\1\7" if version >= (13, 3) else b""
    data = make_file(
        version=version,
        types=(tile(F32, 2),),
        constants=(constant(b"\0\0\x80\x3f" * 2),),
        strings=(b"g",),
        globals_=fields + more,
    )
    module = read_public(data)
    tileir.verify(module)
    found = module.regions[0].blocks[0].first
    assert found is not None
    private = found.attribute("symbol_visibility") is SYMBOL_VISIBILITY["private"]
    assert private == (found.attributes.get("constant") is UNIT) == (version >= (13, 3))


def test_visibility_nobody_has_is_refused():
    data = make_file(
        types=(tile(F32, 2),),
        constants=(constant(b"\0" * 4),),
        strings=(b"g",),
        globals_=b"\1\1" + varint(ADDED) + b"\0\4\2\0",
    )
    assert errors_of_reading(data)[:2] == [
        f"error at offset {len(data)}: invalid symbol visibility value: 2",
        f"error at offset {len(data)}: failed to create global from bytecode",
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_producer_is_read_at_every_version(version):
    module = read_public(make_file(version=version, producer=b"\1", strings=(b"somebody",)))
    assert print_disassembly(module).startswith("// Producer: somebody\n")
    assert errors_of_reading(make_file(version=version, producer=b"\2", strings=(b"p",)))[:2] == [
        "string index 2 out of bounds",
        "error at offset 1: failed to get producer string at index 2",
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_function_flags_are_refused_from_13_4_on(version):
    data = make_file(version=version, flags=2 | 8)
    if version < (13, 4):
        tileir.verify(read_public(data))
    else:
        assert errors_of_reading(data)[:2] == [
            "error at offset 5: function entry has unrecognized flag bits (0x8);",
            f"error at offset {len(data)}: failed to parse function section",
        ]


# --- the other reader ---


@pytest.mark.skipif(not tools_available(), reason="NVIDIA's tools are not installed: pip install 'tileir[test]'")
def test_every_gate_is_the_one_of_the_disassembler():
    from tests.bytecode.judges import our_verdict, tool_verdicts

    files = [make_file(version=version, tag=tag) for version in ((13, 0), (13, 6), (255, 0)) for tag in (0, 1)]
    for version in [version for version in VERSIONS if version <= RELEASED]:
        for tag in (*range(24), 130, 131, 263):
            files.append(make_file(b"\x5c\1" + varint(ADDED), version=version, types=(varint(tag) + b"\0" * 4,)))
        for opcode in (*range(0x30), *range(0x66, 0x84), 0x3000, 0x4002):
            if opcode != 0x16:  # an entry inside an entry: refused by us as no instruction, by the tool as no symbol
                files.append(make_file(varint(opcode) + b"\0" * 3, version=version))
        files.append(make_file(version=version, producer=b"\2", strings=(b"p",)))
        files.append(make_file(version=version, flags=10))
    for data, their in zip(files, tool_verdicts(files), strict=True):
        our = our_verdict(data)
        # The disassembler does not read the versions after its own.
        our.lines = [line.replace("[13.1 - 13.5]", "[13.1 - 13.4]") for line in our.lines]
        assert (our.accepted, our.lines[:1]) == (their.accepted, their.lines[:1])


def test_extent_that_has_no_place_is_refused_in_words() -> None:
    """A text may have an extent of 2**63; bytecode has 64 bits with a sign."""
    view = f"tensor_view<{2**63}xf32, strides=[1]>"
    body = f"%v = make_tensor_view %p, shape = [{2**63}], strides = [1] : {view}"
    module = tileir.parse(f"cuda_tile.module @m {{ entry @k(%p: tile<ptr<f32>>) {{ {body}\nreturn }} }}")
    with pytest.raises(tileir.BytecodeError, match=f"{2**63} does not fit into a signed number of 64 bits"):
        tileir.to_bytecode(module)
