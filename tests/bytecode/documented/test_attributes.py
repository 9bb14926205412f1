"""Attributes, dictionaries and enumerations of the documented layout."""

from __future__ import annotations

import pytest
from tests.bytecode.annotated import annotated
from tests.bytecode.documented.files import (
    DocumentedFile,
    with_attribute,
)
from tests.bytecode.documented.test_layout import failure, note

from tileir.bytecode.documented.attributes import DenseStringAttribute, VerifiedDivByAttribute
from tileir.bytecode.documented.reader import read_documented
from tileir.bytecode.documented.tables import ENUM_NAMES, enumerator
from tileir.bytecode.documented.writer import write_documented
from tileir.bytecode.primitives import ByteReader, Malformed
from tileir.ir.attributes import EnumKind

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
        ("01 00", "nothing states which enumeration attribute 'note' belongs to"),
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


@pytest.mark.parametrize("kind", ENUM_NAMES, ids=ENUM_NAMES.values())
def test_an_enumeration_has_the_values_of_13_1_and_no_others(kind: EnumKind) -> None:
    user = ByteReader(b"", 0, 0)
    keywords = kind.keywords((13, 1))
    for keyword in keywords:
        assert enumerator(kind, kind.values[keyword], user) is kind[keyword]
    past = max(kind.values[keyword] for keyword in keywords) + 1
    with pytest.raises(Malformed) as caught:
        enumerator(kind, past, user)
    assert caught.value.messages == [f"error at offset 0: invalid {ENUM_NAMES[kind]} value: {past}"]


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
