"""The documented layout: what the bytecode draft says about the bytes, and what happens when they are not like that."""

from __future__ import annotations

import pytest
from tests.bytecode.annotated import annotated, golden
from tests.bytecode.documented.files import (
    EXAMPLE,
    FEATURES,
    FEATURES_TEXT,
    DocumentedFile,
)
from tests.bytecode.test_public_golden import CUTILE_EXAMPLE, EXAMPLE_TEXT

import tileir
from tileir.bytecode.container import read_container, write_container
from tileir.bytecode.documented.reader import read_documented
from tileir.bytecode.documented.writer import write_documented
from tileir.bytecode.layouts import from_bytes, layout_of, to_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.traversal import structurally_equal
from tileir.text.printer import print_disassembly


def failure(data: bytes) -> str:
    """The innermost message about a file."""
    with pytest.raises(BytecodeError) as caught:
        from_bytes(data, "documented")
    messages = [diagnostic.message for diagnostic in caught.value.diagnostics]
    assert messages[-1] == "failed to read provided Tile IR bytecode"
    return messages[0]


def note(data: bytes) -> Attribute:
    """The attribute `note` of the last operation of the kernel."""
    module = read_documented(data)
    last = list(module.walk())[-1]
    return last.attributes["note"]


def operations(module: Operation) -> list[Operation]:
    """What stands in the first kernel."""
    entry = next(operation for operation in module.walk() if operation.name == "cuda_tile.entry")
    return list(entry.regions[0].block)


def written(text: str) -> bytes:
    return to_bytes(tileir.parse(f"cuda_tile.module @kernels {{\n{text}\n}}"), (13, 1), "documented")


def refusal(text: str) -> str:
    with pytest.raises(BytecodeError) as caught:
        written(text)
    assert caught.value.offset == -1
    return caught.value.diagnostics[0].message


# --- the record ---


def test_addi_is_the_seven_bytes_of_the_draft() -> None:
    """Values 4 and 5, type 3, no line information, empty dictionary (the bytecode draft, "Encoding Walk")."""
    text = """entry @k(%0: tile<i32>, %1: tile<i32>, %2: tile<i32>, %3: tile<i32>, %4: tile<i32>, %5: tile<i32>) {
      %r = iota : tile<8xi32>
      %c = addi %4, %5 : tile<i32>
      return
    }"""
    file = DocumentedFile(annotated("03 7F 03 02 04 05 00") + annotated("5C 7F 00 00"))
    file.types = [annotated(t) for t in ("03", "0D 00 00", "10 06 03 03 03 03 03 03 00", "0D 00 01 08")]
    file.head = annotated("00 02 02 7F 00")
    addition = operations(read_documented(file.build()))[0]
    assert addition.name == "cuda_tile.addi"
    assert [value.type.spelling for value in (*addition.results, *addition.operands)] == ["tile<8xi32>"] * 3
    block = addition.parent
    assert block is not None and addition.operands == block.arguments[4:6]
    # Our writer numbers this program so that the type is 1; everything else is the draft's.
    assert annotated("03 7F 01 02 04 05 00") in written(text)


def test_example_is_the_golden_file() -> None:
    assert golden("documented_example.tileirbc") == EXAMPLE


def test_example_says_the_same_as_the_public_one() -> None:
    module = from_bytes(EXAMPLE)
    tileir.verify(module)
    assert print_disassembly(module) == EXAMPLE_TEXT
    assert to_bytes(from_bytes(CUTILE_EXAMPLE), (13, 1), "documented") == EXAMPLE
    assert to_bytes(module, (13, 1)) == golden("public_13.1.tileirbc")


def test_features_are_the_golden_file() -> None:
    assert golden("documented_features.tileirbc") == FEATURES
    module = tileir.parse(FEATURES_TEXT)
    assert to_bytes(module, (13, 1), "documented") == FEATURES


def test_features_read_as_their_text() -> None:
    expected = tileir.parse(FEATURES_TEXT)
    module = from_bytes(FEATURES)
    tileir.verify(module)
    assert structurally_equal(module, expected)
    assert 'loc("k.py":4:5)' in module.text(debug_info=True)


def test_location_is_an_index_into_the_debug_attributes() -> None:
    file = DocumentedFile(annotated("44 01 06 00 00") + annotated("5C 7F 00 00"))
    file.types.append(annotated("11"))
    file.strings.append("d")
    file.debug = [annotated(t) for t in ("06 00 00", "06 01 00")]
    token, end = operations(read_documented(file.build()))
    assert token.location.text == "loc(callsite(callsite(unknown at unknown) at unknown))"
    assert end.location.text == "loc(unknown)"
    assert operations(read_documented(write_documented(read_documented(file.build()))))[0].location is token.location


@pytest.mark.parametrize("index", ["02", "7E", "80"])
def test_location_that_is_not_in_the_table_is_an_error(index: str) -> None:
    file = DocumentedFile(annotated(f"5C {index}") + b"\x00\x00" * (index != "80"))
    file.debug = [annotated("06 00 00")]
    assert failure(file.build()) == "failed to read operation location."


def test_debug_tag_outside_the_seven_is_an_error() -> None:
    file = DocumentedFile(annotated("5C 00 00 00"))
    file.debug = [annotated("07")]
    assert failure(file.build()) == "unsupported DebugTag 7"


def test_opcode_110_is_refused() -> None:
    assert failure(DocumentedFile(annotated("6E 7F")).build()) == "unknown or unimplemented opcode: 110"


@pytest.mark.parametrize("opcode", [*range(0x19, 0x25), *range(0x34, 0x3A), 0x16, 0x31, 0x4B, 0x7F])
def test_private_and_structural_opcodes_are_refused(opcode: int) -> None:
    body = bytes([opcode, 0x7F, 0, 0])
    assert failure(DocumentedFile(body).build()) == f"unknown or unimplemented opcode: {opcode}"


def test_atan2_cannot_be_written() -> None:
    message = refusal("entry @k(%x: tile<f32>) {\n %0 = atan2 %x, %x : tile<f32>\n return\n}")
    assert message == "operation 'cuda_tile.atan2' is not available in bytecode version 13.1"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("03", "failed to read operation location."),
        ("03 7F", "failed to get result type 0 for AddIOp"),
        ("03 7F 63", "failed to get result type 0 for AddIOp"),
        ("03 7F 02", "failed to read operand count"),
        ("03 7F 02 02", "failed to read operand index 0"),
        ("03 7F 02 01 00", "operand index 0 out of bounds (size=0) for operand 0"),
        ("3A 7F 02 00", "failed to read attribute dictionary"),
        ("3A 7F 02 00 05", "attribute index 5 out of bounds"),
        ("3A 7F 02 00 00 03 7F 02 01 00 00", "1 operands do not fit AddIOp"),
        ("0F 7F 02 00 00", "requires attribute 'comparison_predicate'"),
        ("32 7F 00 00 00", "0 operands do not fit IfOp"),
    ],
)
def test_record_with_a_fault_is_an_error(body: str, message: str) -> None:
    assert failure(DocumentedFile(annotated(body)).build()) == message


def test_failure_names_the_function_and_carries_the_offset() -> None:
    with pytest.raises(BytecodeError) as caught:
        from_bytes(DocumentedFile(annotated("3A 7F 02 00 00 6E")).build())
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [
        "unknown or unimplemented opcode: 110",
        "failed to parse function body for function 'k'",
        "failed to create function from bytecode",
        "failed to read provided Tile IR bytecode",
    ]
    assert caught.value.offset == 6


# --- version and envelope ---


@pytest.mark.parametrize("patch", [0, 1, 65535])
def test_every_patch_of_13_1_is_read_and_preserved(patch: int) -> None:
    file = DocumentedFile()
    file.patch = patch
    module = from_bytes(file.build())
    assert to_bytes(module, (13, 1), "documented", preserve=True) == file.build()


@pytest.mark.parametrize("version", [(13, 0), (13, 2), (12, 1), (14, 1)])
def test_other_versions_are_refused_before_anything_is_decoded(version: tuple[int, int]) -> None:
    file = DocumentedFile(b"\xff" * 9)
    file.version = version
    message = f"unsupported Tile version {version[0]}.{version[1]}.0, this reader supports versions [13.1 - 13.1]"
    assert failure(file.build()) == message


def test_only_13_1_can_be_written() -> None:
    with pytest.raises(BytecodeError, match=r"13\.1 only, not 13\.2"):
        to_bytes(from_bytes(EXAMPLE), (13, 2), "documented")


def test_layout_is_recognized_by_the_attribute_section() -> None:
    assert layout_of(EXAMPLE) == "documented"
    assert layout_of(CUTILE_EXAMPLE) == "public"
    assert layout_of(b"") == layout_of(b"not bytecode at all") == "public"


def test_layout_can_be_given() -> None:
    with pytest.raises(BytecodeError, match="unknown section ID: 8"):
        from_bytes(EXAMPLE, "public")
    assert failure(CUTILE_EXAMPLE) == "attribute section is mandatory"
    with pytest.raises(tileir.OptionError, match="unknown layout 'other'"):
        from_bytes(EXAMPLE, "other")


def test_section_order_is_free_and_preserved() -> None:
    file = DocumentedFile()
    container = read_container(file.build(), (13, 1), 8)
    sections = [(s.identifier, file.build()[s.start : s.end]) for s in reversed(container.order)]
    turned = write_container((13, 1), 0, sections)
    assert turned != file.build()
    assert to_bytes(from_bytes(turned), (13, 1), "documented", preserve=True) == turned


# --- types ---


def documented_type(blob: str, *before: str) -> str:
    """The spelling of a type, decoded as the result of an operation; the reader leaves its meaning to the verifier."""
    file = DocumentedFile(annotated(f"44 7F {6 + len(before):02X} 00 00"))
    file.types += [annotated(text) for text in (*before, blob)]
    return operations(read_documented(file.build()))[0].result.type.spelling


SPELLED = ["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2"]


@pytest.mark.parametrize(("tag", "spelling"), [*enumerate(SPELLED)])
def test_scalar_tags(tag: int, spelling: str) -> None:
    assert documented_type(f"{tag:02X}") == spelling
    assert documented_type("0D 06 00", f"{tag:02X}") == f"tile<{spelling}>"


@pytest.mark.parametrize(
    ("blob", "spelling"),
    [
        ("0C 03 00", "ptr<f32>"),
        ("0D 01 02 04 08", "tile<4x8xi32>"),
        ("0E 03 02 00 41 02 41 02", "tensor_view<?x64xf32, strides=[64,1]>"),
        ("0E 03 00 00", "tensor_view<f32>"),
        ("10 02 01 02 01 03", "(i32, !cuda_tile.tile<8xi32>) -> f32"),
        ("11", "token"),
        ("0D 05 01 04", "tile<4xf8E8M0FNU>"),
        ("0E 05 01 05 01 02", "tensor_view<4xf8E8M0FNU, strides=[1]>"),
    ],
)
def test_aggregate_tags(blob: str, spelling: str) -> None:
    assert documented_type(blob) == spelling


@pytest.mark.parametrize(
    ("mode", "padding"),
    [(0, ""), *enumerate(["zero", "neg_zero", "nan", "pos_inf", "neg_inf"], 1)],
)
def test_partition_mode_byte_is_the_padding(mode: int, padding: str) -> None:
    text = f"padding_value = {padding}, " if padding else ""
    view = "tensor_view<?x8xf32, strides=[8,1]>"
    found = documented_type(f"0F 06 02 04 08 02 01 00 {mode:02X}", "0E 03 02 00 09 02 09 02")
    assert found == f"partition_view<tile=(4x8), {text}{view}, dim_map=[1, 0]>"


LEAF = "type 'f8E8M0FNU' is only allowed as the element type of a tile, a tensor_view or a partition_view"


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        ("12", LEAF),
        ("0C 05 00", LEAF),
        ("10 01 05 00", LEAF),
        ("13", "unknown type tag: 19"),
        ("82 01", "unknown type tag: 130"),
        ("0C 03 01", "address space 1 is not supported, pointers have address space 0"),
        ("0C 03", "failed to read address space"),
        ("0D", "failed to get elementType type"),
        ("0D 01", "failed to read shape"),
        ("0D 01 02 04", "failed to read shape"),
        ("0D 01 01 03", "all dimensions must be powers of two, got 3"),
        ("0D 06 00", "failed to get elementType type"),
        ("0E 03 01 00 01", "failed to read strides"),
        ("0F 02 01 08 01 00 00", "expected ::mlir::cuda_tile::TensorViewType but got '!cuda_tile.tile<8xi32>'"),
        ("10 01", "failed to get parameter type"),
    ],
)
def test_type_with_a_fault_is_an_error(blob: str, message: str) -> None:
    file = DocumentedFile(annotated("44 7F 06 00 00"))
    file.types.append(annotated(blob))
    assert failure(file.build()) == message


def test_padding_outside_the_table_is_an_error() -> None:
    file = DocumentedFile(annotated("44 7F 07 00 00"))
    file.types += [annotated("0E 03 01 09 01 02"), annotated("0F 06 01 08 01 00 06")]
    assert failure(file.build()) == "invalid PaddingValue value: 5"


def test_leaf_survives_although_13_1_is_older_than_it() -> None:
    text = "entry @k(%x: tile<i32>) {\n %0 = constant <f8E8M0FNU: 1.0> : tile<4xf8E8M0FNU>\n return\n}"
    assert "tile<4xf8E8M0FNU>" in str(from_bytes(written(text)))
    with pytest.raises(BytecodeError, match=r"type 'Float8E8M0FNU' requires bytecode version 13\.2"):
        to_bytes(from_bytes(written(text)), (13, 1))


# --- what the layout cannot hold ---


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%0 = noti %n : tile<i32>", "operation 'cuda_tile.noti' has no opcode; legalize the program first"),
        (
            "%0 = negi %n overflow<no_wrap> : tile<i32>",
            "attribute 'overflow' requires bytecode version 13.2+, but targeting 13.1",
        ),
        (
            '%t = make_token : token\n%0 = print_tko "x" token=%t -> token',
            "optional operand 'token' is provided but requires bytecode version 13.2, targeting 13.1",
        ),
        (
            '%0 = print_tko "x" -> token\n%1 = join_tokens %0, %0 : token',
            "result 'result_token' requires bytecode version 13.2 but is being used and targeting 13.1",
        ),
        (
            '%0 = "cuda_tile.absi"(%n) {note = #cute.layout<(1@0, 16@1)>} : (!cuda_tile.tile<i32>) -> !cuda_tile.tile<i32>',
            "attribute '#cute.layout<(1@0, 16@1)>' has no form in the documented layout",
        ),
        (
            "%0 = constant <f4E2M1FN: 1.0> : tile<2xf4E2M1FN>",
            "type 'Float4E2M1FN' requires bytecode version 13.3+, targeting 13.1",
        ),
    ],
)
def test_what_has_no_bytes_is_a_diagnostic(body: str, message: str) -> None:
    assert refusal(f"entry @k(%n: tile<i32>) {{\n{body}\nreturn\n}}") == message


def test_pointer_to_the_leaf_has_no_bytes() -> None:
    assert refusal("entry @k(%p: tile<ptr<f8E8M0FNU>>) {\n return\n}") == LEAF


def test_strict_bound_survives_here_and_not_in_the_public_layout() -> None:
    text = "entry @k(%n: tile<i32>) {\n %0 = assume bounded<0, 7, strict>, %n : tile<i32>\n return\n}"
    module = from_bytes(written(text))
    assert "bounded<0, 7, strict>" in str(module)
    with pytest.raises(BytecodeError):
        to_bytes(module, (13, 1))


def test_discardable_attributes_survive() -> None:
    entry = (
        '"cuda_tile.entry"() <{function_type = () -> (), sym_name = "k"}> ({\n'
        '"cuda_tile.return"() {a = 1 : i32, b = ["x", 2.0 : f32, {c}], d = array<i64: 3>} : () -> ()\n'
        '}) {"t.e" = i32} : () -> ()'
    )
    module = tileir.parse(f"cuda_tile.module @kernels {{\n{entry}\n}}")
    again = from_bytes(to_bytes(module, (13, 1), "documented"))
    assert structurally_equal(module, again)


def test_producer_survives() -> None:
    module = tileir.parse('cuda_tile.module @kernels attributes {producer = "hand"} {\n entry @k() {\n return\n }\n}')
    assert structurally_equal(from_bytes(to_bytes(module, (13, 1), "documented")), module)


# --- safety ---


@pytest.mark.parametrize("data", [EXAMPLE, FEATURES], ids=["example", "features"])
def test_every_truncation_is_an_error(data: bytes) -> None:
    for size in range(len(data)):
        with pytest.raises(BytecodeError) as caught:
            from_bytes(data[:size], "documented")
        assert caught.value.diagnostics


def test_every_changed_byte_is_read_or_an_error() -> None:
    accepted = 0
    for position in range(12, len(FEATURES)):
        for change in (0x01, 0x80, 0xFF):
            data = bytearray(FEATURES)
            data[position] ^= change
            try:
                module = from_bytes(bytes(data), "documented")
            except BytecodeError as error:
                assert error.diagnostics
            else:
                accepted += 1
                assert module.name == "cuda_tile.module"
    # Padding is not looked at, so some changes change nothing.
    assert accepted > 0


@pytest.mark.parametrize("value", ["[{}]", "{{a = {}}}", "[1, {{a = {}, b}}]"])
def test_attributes_nest_as_deep_as_the_program_says(value: str) -> None:
    opening, closing = value.replace("{{", "{").replace("}}", "}").split("{}")
    depth = 3000
    attribute = opening * depth + "1" + closing * depth
    module = tileir.parse(f"entry @k(%x: tile<i32>) {{ %0 = addi %x, %x {{x.y = {attribute}}} : tile<i32>\n return }}")
    data = tileir.to_bytecode(module, layout="documented")
    again = tileir.from_bytecode(data)
    assert str(again) == str(module)
    assert tileir.to_bytecode(again, layout="documented", preserve=True) == data


def test_shared_parts_of_an_attribute_are_written_once() -> None:
    from tileir.ir.attributes import array_attribute, string_attribute

    found: tileir.attributes.Attribute = string_attribute("x")
    for _ in range(12):
        found = array_attribute((found, found))
    module = tileir.parse("entry @k(%x: tile<i32>) { %0 = addi %x, %x : tile<i32>\n return }")
    next(operation for operation in module.walk() if operation.name == "cuda_tile.addi").set_attribute("x.y", found)
    data = tileir.to_bytecode(module, layout="documented")
    assert len(data) < 1000
