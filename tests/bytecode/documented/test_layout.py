"""The documented layout: what the bytecode draft says about the bytes, and what happens when they are not like that."""

from __future__ import annotations

import pytest
from tests.bytecode.annotated import annotated, golden
from tests.bytecode.documented.files import (
    EXAMPLE,
    FEATURES,
    FEATURES_TEXT,
    DocumentedFile,
    with_attribute,
)
from tests.bytecode.test_public_golden import CUTILE_EXAMPLE, EXAMPLE_TEXT

import tileir
from tileir.bytecode.container import read_container, write_container
from tileir.bytecode.documented.attributes import DenseStringAttribute, VerifiedDivByAttribute
from tileir.bytecode.documented.enums import SIX_READERS
from tileir.bytecode.documented.reader import read_documented
from tileir.bytecode.documented.writer import write_documented
from tileir.bytecode.layouts import from_bytes, layout_of, to_bytes
from tileir.bytecode.primitives import BytecodeError, ByteReader, Malformed
from tileir.ir.attributes import Attribute
from tileir.ir.core import Operation
from tileir.ir.equality import structurally_equal
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


def test_layout_is_recognised_by_the_attribute_section() -> None:
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


# --- attributes ---


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("00 01 06 61 62 63", '"abc"'),
        ("00 01 00", '""'),
        ("00 01 01", '"k"'),
        ("00 02 03 80 80 80 F8 07", "1.000000e+00 : f32"),
        ("00 03 02", "!cuda_tile.tile<8xi32>"),
        ("00 04 01 04 01 02 01 04 03", "dense<[1, -1, 2, -2]> : !cuda_tile.tile<4xi32>"),
        ("00 04 00 03 80 80 80 F8 07", "dense<1.000000e+00> : !cuda_tile.tile<f32>"),
        ("00 05 01 02 02 02 61 01", 'dense<["a", "k"]> : tensor<2x!cuda_tile.string>'),
        ("00 06 10 00", "#cuda_tile.div_by<16>"),
        ("00 06 10 02 04 01", "#cuda_tile.div_by<16, every 4 along 1>"),
        ("00 07 02 02 01", "array<i64: 1, -1>"),
        ("00 08 02 01", "array<i64: -1, 64>"),
        ("00 08 00 00", "array<i64>"),
        ("00 09 02 04 08", "#cuda_tile.same_elements<[2, 4]>"),
        ("00 0A 01 09", "#cuda_tile.bounded<-5, ?>"),
        ("00 0A 05 09", "#cuda_tile.bounded<-5, ?, strict>"),
        ("00 0B 02 0A", "#cuda_tile.bounded<?, 5>"),
        ("00 0C 03 09 0A", "#cuda_tile.bounded<-5, 5>"),
        ("00 0C 07 09 0A", "#cuda_tile.bounded<-5, 5, strict>"),
        ("00 0C 00", "#cuda_tile.bounded<?, ?>"),
        ("00 0D 10 02 00", "#cuda_tile.div_by<8>"),
        ("02 01 01 03", "#cuda_tile.optimization_hints<k = {note = true}>"),
        ("03 02 02 01", "array<i32: 1, -1>"),
        ("04 02 01 02", "array<i64: 1, 2>"),
        ("05", "unit"),
        ("06 01 03", "-2 : i32"),
        ("07 01", "true"),
        ("08 02 02 03", "[#cuda_tile.div_by<8>, {note = true}]"),
        ("09 03", "{note = true}"),
        ("09 00", "{}"),
    ],
)
def test_attribute_is_read_and_written_again(value: str, text: str) -> None:
    """Every tag and kind; dictionary 2 stands for an attribute, dictionary 3 for itself, the pool holds 1 -1 64."""
    file = with_attribute(annotated(value), annotated("01 00 00 06 08 00"), annotated("01 03 07 01"))
    file.pool = annotated("02 01 80 01")
    found = note(file.build())
    assert found.text == text
    module = read_documented(file.build())
    assert note(write_documented(module)) is found
    assert note(write_documented(module, pools_arrays=True, packs_predicates=True)) is found


def test_verify_with_assume_is_kept() -> None:
    found = note(with_attribute(annotated("00 06 10 01")).build())
    assert isinstance(found, VerifiedDivByAttribute)
    assert annotated("00 06 10 01") in write_documented(
        read_documented(with_attribute(annotated("00 06 10 01")).build())
    )


def test_string_list_knows_its_shape() -> None:
    found = note(with_attribute(annotated("00 05 02 01 02 02 01 03")).build())
    assert isinstance(found, DenseStringAttribute)
    assert (found.shape, found.strings) == ((1, 2), ("k", "note"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        # tag 1
        ("00 01", "failed to read StringAttr."),
        ("00 01 06 61 62", "failed to read StringAttr."),
        ("00 01 09", "string index 4 out of bounds"),
        # tag 2
        ("00 02", "failed to read valid FloatType for FloatAttr"),
        ("00 02 01 00", "failed to read valid FloatType for FloatAttr"),
        ("00 02 63 00", "failed to read valid FloatType for FloatAttr"),
        ("00 02 05 00", "failed to read valid FloatType for FloatAttr"),
        ("00 02 03", "failed to cast parsed attribute to FloatAttr"),
        ("00 02 03 80 80 80 80 20", "failed to cast parsed attribute to FloatAttr"),
        # tag 3
        ("00 03", "failed to get referenced type for TypeAttr"),
        ("00 03 63", "failed to get referenced type for TypeAttr"),
        # tag 4
        ("00 04", "failed to read valid MLIR Type for self-contained DenseElementsAttr"),
        ("00 04 01 04", "failed to read valid MLIR Type for self-contained DenseElementsAttr"),
        ("00 04 01 04 02 00", "failed to read valid MLIR Type for self-contained DenseElementsAttr"),
        ("00 04 01 03 01 00 00 00", "failed to read valid MLIR Type for self-contained DenseElementsAttr"),
        ("00 04 01 02 01 00 80 80 80 80 10", "array contains unsupported value 4294967296"),
        ("00 04 01 02 01 00 85", "array contains unsupported value 5"),
        ("00 04 01 02 01 00", "array contains unsupported value 0"),
        ("00 04 01 02 03 00 80 80 80 80 20", "array contains unsupported value 8589934592"),
        # tag 5
        ("00 05 01 02", "failed to read number of string attrs in DenseElementsAttr"),
        ("00 05 01 02 03 01 01 01", "failed to read number of string attrs in DenseElementsAttr"),
        ("00 05 01 02 02 01", "failed to read string in DenseElementsAttr"),
        ("00 05 01 01 01 06 61", "failed to read string in DenseElementsAttr"),
        # tag 6
        ("00 06", "failed to read divisor for DivByAttr"),
        ("00 06 80", "failed to read divisor for DivByAttr"),
        ("00 06 10", "failed to read flags byte for DivByAttr"),
        ("00 06 10 02", "failed to read value for 'every' in DivByAttr"),
        ("00 06 10 02 04", "failed to read value for 'along' in DivByAttr"),
        # tags 7 and 8
        ("00 07", "failed to read DenseI64ArrayAttr values."),
        ("00 07 02 02", "failed to read DenseI64ArrayAttr values."),
        ("00 08 01", "failed to read DenseI64ArrayAttr values."),
        ("00 08 01 00", "failed to read DenseI64ArrayAttr values."),
        ("00 08 00 01", "failed to read DenseI64ArrayAttr values."),
        # tag 9
        ("00 09", "failed to read DenseI64ArrayAttr for SameElementsAttr"),
        ("00 09 02 04", "failed to read DenseI64ArrayAttr for SameElementsAttr"),
        # tags 10 to 12
        ("00 0A", "failed to read flags byte for BoundedAttr"),
        ("00 0B", "failed to read flags byte for BoundedAttr"),
        ("00 0C", "failed to read flags byte for BoundedAttr"),
        ("00 0A 01", "failed to read lower bound for BoundedAttr"),
        ("00 0B 02", "failed to read upper bound for BoundedAttr"),
        ("00 0C 03", "failed to read lower bound for BoundedAttr"),
        ("00 0C 03 02", "failed to read upper bound for BoundedAttr"),
        ("00 0A 02 02", "flags 0x2 of BoundedAttr do not fit AttributeTag 10"),
        ("00 0B 03 02 02", "flags 0x3 of BoundedAttr do not fit AttributeTag 11"),
        # tag 13: the messages of what it contains
        ("00 0D", "failed to read divisor for DivByAttr"),
        ("00 0D 08", "failed to read divisor for DivByAttr"),
        ("00 0D 09", "failed to read lower bound for BoundedAttr"),
        ("00 0D 0A", "failed to read DenseI64ArrayAttr for SameElementsAttr"),
        ("00 0D 11 02 00", "failed to read lower bound for BoundedAttr"),
        ("00 0D 18 02 00", "failed to read divisor for DivByAttr"),
        ("00 0D 10 02 02", "unsupported condition word 1 in AssumePredicateAttr"),
        ("00 0D 10 03 00", "string index 50 out of bounds"),
        ("00 0D 13 02 00", "invalid AssumePredicate kind: 3"),
        # no tag at all
        ("00", "failed to read attribute tag"),
        ("00 00", "unsupported AttributeTag 0 for self-contained attribute"),
        ("00 0E", "unsupported AttributeTag 14 for self-contained attribute"),
        # kinds
        ("01 00", "nothing says which enumeration attribute 'note' belongs to"),
        (
            "02 01 01 02",
            "expected dictionary attribute for optimization_hints entry `k` got value=#cuda_tile.div_by<8>",
        ),
        ("03 02 02", "failed to read attribute 'note'"),
        ("06 02 00", "failed to read valid Type for IntegerAttr"),
        ("06 01 80 80 80 80 20", "value 4294967296 does not fit in 32 bits"),
        ("07", "failed to read attribute 'note'"),
        ("08 01 63", "attribute index 99 out of bounds"),
        ("09 01", "attribute refers to itself"),
        ("0A", "unknown kind 10 of attribute 'note'"),
        ("05 00", "attribute has bytes after its end"),
        ("", "failed to read attribute 'note'"),
    ],
)
def test_attribute_with_a_fault_gives_the_drafts_message(value: str, message: str) -> None:
    """Dictionary 2 stands for a div_by, dictionary 3 for a string that is not in the table."""
    file = with_attribute(annotated(value), annotated("01 00 00 06 08 00"), annotated("01 00 00 01 65"))
    assert failure(file.build()) == message


def test_dictionary_names_are_strings_of_either_form() -> None:
    """`note` in place and as string 1."""
    for name in ("03", '08 "note"'):
        file = DocumentedFile(annotated("5C 7F 00 01"), attributes=[annotated(f"01 {name} 05")])
        assert note(file.build()).text == "unit"


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        ("02 03 05 03 05", 'failed to parse DictionaryAttr, duplicate key found: "note"'),
        ("02 03 05 00 05", "invalid empty attribute name for DictionaryAttr element 1"),
        ("01 00 05", "invalid empty attribute name for DictionaryAttr element 0"),
        ("01", "failed to read StringAttr."),
    ],
)
def test_dictionary_with_a_fault_is_an_error(blob: str, message: str) -> None:
    file = DocumentedFile(annotated("5C 7F 00 01"), attributes=[annotated(blob)])
    assert failure(file.build()) == message


def test_entry_0_is_the_empty_dictionary() -> None:
    file = DocumentedFile()
    file.attributes = [annotated("01 03 05")]
    assert failure(file.build()) == "attribute 0 is not the empty dictionary"
    file.attributes = []
    assert failure(file.build()) == "attribute table has no entry for the empty dictionary"


def test_references_cannot_make_an_attribute_larger_than_the_file() -> None:
    """Each dictionary holds the one before it eight times; eight of them would spell millions."""
    levels = [b"\x01\x00\x08\x08" + bytes([number]) * 8 for number in range(12)]
    file = DocumentedFile(annotated("5C 7F 00 0D"), attributes=[*levels, b"\x01\x03\x08\x08" + bytes([12]) * 8])
    assert failure(file.build()) == "attribute is too large for the file that holds it"


def test_arrays_cannot_take_more_out_of_the_pool_than_the_file_has() -> None:
    """A hundred and twenty arrays of 992 numbers out of a thousand bytes; one or two would do."""
    arrays = [annotated(f"01 00 00 08 E0 07 0{offset % 8}") for offset in range(120)]
    for count, accepted in ((2, True), (120, False)):
        note_array = b"\x01\x03\x08" + bytes([count]) + bytes(range(1, count + 1))
        file = DocumentedFile(annotated("5C 7F 00 79"), attributes=[*arrays, note_array])
        file.pool = b"\x02" * 1000
        if accepted:
            assert len(note(file.build()).text) > 2 * 992
        else:
            assert failure(file.build()) == "failed to read DenseI64ArrayAttr values."


# --- enumerations ---


def test_six_enumerations_have_a_reader() -> None:
    assert [reader.name for reader in SIX_READERS] == [
        "Comparison",
        "Overflow",
        "PaddingValue",
        "Rounding",
        "Signedness",
        "Width",
    ]


@pytest.mark.parametrize("reader", SIX_READERS, ids=[reader.name for reader in SIX_READERS])
def test_enumeration_reader_takes_its_table_and_nothing_else(reader: object) -> None:
    chosen = next(known for known in SIX_READERS if known is reader)
    user = ByteReader(b"", 0, 0)
    for keyword, value in chosen.table:
        assert chosen.keyword(user, value) == keyword
    past = len(chosen.table)
    with pytest.raises(Malformed) as caught:
        chosen.keyword(user, past)
    assert caught.value.messages == [f"error at offset 0: invalid {chosen.name} value: {past}"]


@pytest.mark.parametrize(
    ("body", "dictionary", "message"),
    [
        ("0F", '02 28 "comparison_predicate" 01 06 14 "signedness" 01 00', "invalid Comparison value: 6"),
        ("0F", '02 28 "comparison_predicate" 01 00 14 "signedness" 01 02', "invalid Signedness value: 2"),
        ("03", '01 10 "overflow" 01 04', "invalid Overflow value: 4"),
        ("02", '01 1A "rounding_mode" 01 07', "invalid Rounding value: 7"),
    ],
)
def test_enumerator_of_an_operation_is_checked(body: str, dictionary: str, message: str) -> None:
    file = DocumentedFile(annotated(f"3A 7F 02 00 00 {body} 7F 02 02 00 00 01"), attributes=[annotated(dictionary)])
    assert failure(file.build()) == message


def test_attribute_newer_than_13_1_is_refused_when_read() -> None:
    file = DocumentedFile(
        annotated("3A 7F 02 00 00 50 7F 02 01 00 01"), attributes=[annotated('01 10 "overflow" 01 01')]
    )
    expected = "attribute 'overflow' requires bytecode version 13.2+, file version is 13.1"
    assert failure(file.build()) == expected


@pytest.mark.parametrize(
    ("dictionary", "message"),
    [
        ('01 0A "value" 00 04 01 04 01 00 00 00 00', "failed to validate buffer size and format"),
        ('01 0A "value" 00 04 00 03 00', "failed to validate buffer size and format"),
        ('01 0A "value" 05', "unexpected kind 5 of attribute 'value'"),
    ],
)
def test_constant_must_fit_its_result(dictionary: str, message: str) -> None:
    file = DocumentedFile(annotated("10 7F 02 00 01"), attributes=[annotated(dictionary)])
    assert failure(file.build()) == message


def test_splat_fills_the_tile_and_a_list_is_read_in_order() -> None:
    blobs = [
        annotated('01 0A "value" 00 04 00 01 0A'),
        annotated('01 0A "value" 00 04 01 08 01 02 04 06 08 0A 0C 0E 10'),
    ]
    file = DocumentedFile(annotated("10 7F 02 00 01 10 7F 02 00 02 5C 7F 00 00"), attributes=blobs)
    text = str(read_documented(file.build()))
    assert "constant <i32: 5> : tile<8xi32>" in text
    assert "constant <i32: [1, 2, 3, 4, 5, 6, 7, 8]> : tile<8xi32>" in text


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

    found: tileir.Attribute = string_attribute("x")
    for _ in range(12):
        found = array_attribute((found, found))
    module = tileir.parse("entry @k(%x: tile<i32>) { %0 = addi %x, %x : tile<i32>\n return }")
    next(operation for operation in module.walk() if operation.name == "cuda_tile.addi").set_attribute("x.y", found)
    data = tileir.to_bytecode(module, layout="documented")
    assert len(data) < 1000
