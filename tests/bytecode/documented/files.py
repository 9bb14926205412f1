"""Files of the documented layout put together by hand, and two that are explained byte by byte."""

from __future__ import annotations

from tests.bytecode.annotated import annotated

from tileir.bytecode.container import (
    ATTRIBUTE,
    CONSTANT,
    DEBUG,
    FUNCTION,
    GLOBAL,
    STRING,
    TYPE,
    write_container,
)
from tileir.bytecode.entry_tables import write_blobs
from tileir.bytecode.primitives import ByteWriter

# The types every hand-made file has; what a test needs on top gets the numbers from 6 on.
TYPES = [
    annotated("10 00 00       | 0: () -> ()"),
    annotated("03             | 1: i32"),
    annotated("0D 01 01 08    | 2: tile<8xi32>"),
    annotated("07             | 3: f32"),
    annotated("04             | 4: i64"),
    annotated("12             | 5: f8E8M0FNU"),
]
STRINGS = ["k", "note"]
RETURN = annotated("5C 7F 00 00")


class DocumentedFile:
    """One kernel `k` of no arguments; everything can be replaced by bytes that make no sense."""

    def __init__(self, body: bytes = RETURN, *, attributes: list[bytes] | None = None) -> None:
        self.version = (13, 1)
        self.patch = 0
        self.strings = [*STRINGS]
        self.types = [*TYPES]
        self.attributes = [b"\x00", *(attributes or [])]
        self.head = annotated("00 00 02 7F 00 | name 0, signature 0, a kernel, unknown location, empty dictionary")
        self.body = body
        self.debug: list[bytes] = []
        self.pool = b""
        self.globals = b""

    def build(self) -> bytes:
        function = ByteWriter()
        function.varint(1)
        function.raw(self.head)
        function.varint(len(self.body))
        function.raw(self.body)
        sections = [(FUNCTION, bytes(function.data))]
        if self.globals:
            sections.append((GLOBAL, self.globals))
        if self.pool:
            sections.append((CONSTANT, write_blobs([self.pool], 8)))
        if self.debug:
            sections.append((DEBUG, annotated("00 CB*3 00 CB*3") + write_blobs(self.debug, 4)))
        sections.append((TYPE, write_blobs(self.types, 4)))
        sections.append((ATTRIBUTE, write_blobs(self.attributes, 4)))
        sections.append((STRING, write_blobs([text.encode() for text in self.strings], 4)))
        return write_container(self.version, self.patch, sections)


def with_attribute(value: bytes, *more: bytes) -> DocumentedFile:
    """A file whose `return` has the attribute `note`, of these bytes (kind, then what belongs to it)."""
    return DocumentedFile(annotated("5C 7F 00 01"), attributes=[b"\x01\x03" + value, *more])


# The program of the public worked example.
EXAMPLE = annotated("""
    7F "TileIR" 00 0D 01 00 00      | magic, version 13.1.0
    82 27 08 CB                     | Func, 39 bytes, aligned to 8
    01                              | one function
    00 00 02                        | name: string 0; signature: type 0; a kernel
    7F                              | location -1: unknown
    00                              | dictionary 0: empty
    20                              | 32 bytes of body
    3A 7F 02 00 00                  | iota: unknown location, type 2, 0 operands, empty dictionary; value 0
    10 7F 02 00 01                  | constant: type 2, 0 operands, dictionary 1; value 1
    03 7F 02 02 00 01 00            | addi: type 2, 2 operands, values 0 and 1, empty dictionary; value 2
    06 7F 02 01 02 02               | assume: type 2, 1 operand, value 2, dictionary 2; value 3
    55 7F 01 03 03                  | print: no result in 13.1, 1 operand, value 3, dictionary 3
    5C 7F 00 00                     | return: 0 operands, empty dictionary
    85 18 04 CB*2                   | Type, 24 bytes, aligned to 4
    03 CB*3 00*4 03 00*3 04 00*3    | three, at 0 3 4
    10 00 00                        | type 0: function, no parameters, no results
    03                              | type 1: i32
    0D 01 01 08                     | type 2: tile of type 1, rank 1, extent 8
    88 29 04 CB                     | Attribute, 41 bytes, aligned to 4
    04 CB*3 00*4 01 00*3 08 00*3 10 00*3 | four, at 0 1 8 16
    00                              | dictionary 0: no entries
    01 03                           | dictionary 1: one entry, named by string 1 (odd: 2 * 1 + 1), "value"
    00 04                           |   kind 0, tag 4: dense elements
    00 01 0A                        |   rank 0, of type 1, one word: zig-zag 5, which fills the tile
    01 05                           | dictionary 2: one entry, string 2, "predicate"
    00 06                           |   kind 0, tag 6: div_by
    04 02 02 00                     |   divisor 4, flags bit 1, every 2, along 0
    01 07                           | dictionary 3: one entry, string 3, "str"
    00 01 09                        |   kind 0, tag 1: string 4
    81 2F 04                        | String, 47 bytes, aligned to 4
    05 CB*3 00*4 01 00*3 06 00*3 0F 00*3 12 00*3
    "k" "value" "predicate" "str" "v=%d\\n"
    00                              | end
""")

# Locations, a global, hints, views, operand segments, regions and the strict bound only this layout has.
FEATURES_TEXT = """#file = #cuda_tile.di_file<"k.py" in "/src">
#unit = #cuda_tile.di_compile_unit<file = #file>
#sub = #cuda_tile.di_subprogram<file = #file, line = 3, name = "k", linkageName = "k", compileUnit = #unit, scopeLine = 3>
#loc1 = #cuda_tile.di_loc<loc("k.py":3:1) in #sub>
#loc2 = #cuda_tile.di_loc<loc("k.py":4:5) in #sub>
cuda_tile.module @kernels {
  global @t alignment = 16 <f16: [1.0, -2.0]> : tile<2xf16>
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<sm_90 = {num_cta_in_cga = 2}> {
    %0 = assume bounded<0, ?, strict>, %n : tile<i32> loc(#loc2)
    %v = make_tensor_view %p, shape=[%0, 8], strides=[8, 1] : tile<i32> -> tensor_view<?x8xf32, strides=[8,1]>
    %w = make_partition_view %v : partition_view<tile=(4x8), padding_value = zero, tensor_view<?x8xf32, strides=[8,1]>, dim_map=[1, 0]>
    %c = cmpi less_than %0, %n, signed : tile<i32> -> tile<i1>
    if %c {
      %1, %2 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
    }
    return
  } loc(#loc1)
}
"""
FEATURES = annotated("""
    7F "TileIR" 00 0D 01 00 00      | magic, version 13.1.0
    06 04                           | Global, 4 bytes, no alignment
    01 00 07 01                     | one: string 0, type 7, dictionary 1
    82 3B 08 CB*3                   | Func, 59 bytes
    01 03 05 02                     | one function: string 3, type 5, a kernel
    03 03 34                        | location 3, dictionary 3, 52 bytes of body; values 0 and 1 are the arguments
    06 04 04 01 01 04               | assume: location 4, type 4, 1 operand, value 1, dictionary 4; value 2
    43 7F 09 02 00 02 05            | make_tensor_view: type 9, 2 operands, values 0 and 2, dictionary 5; value 3
    42 7F 0A 01 03 00               | make_partition_view: type 10, 1 operand, value 3; value 4
    0F 7F 0C 02 02 01 06            | cmpi: type 12, 2 operands, values 2 and 1, dictionary 6; value 5
    32 7F 00 01 05 00               | if: 0 results (counted, they are variadic), 1 operand, value 5, empty dictionary
    02                              |   two regions
    01 00 02                        |   one block, no arguments, two operations
    3D 7F 0D 0E 01 00 07            |   load_ptr_tko: types 13 and 14, 1 operand, value 0, dictionary 7
    6D 7F 00 00                     |   yield
    00                              |   the second region has no block
    5C 7F 00 00                     | return
    83 36 08 CB*2                   | Debug, 54 bytes, aligned to 8
    00 CB*3 00 CB*3                 | no functions, no indices: locations are in the records
    05 CB*3 00*4 03 00*3 05 00*3 0C 00*3 11 00*3 | five attributes, at 0 3 5 12 17; they refer to each other from 1 on
    02 04 05                        | 0: file, strings 4 and 5
    01 01                           | 1: compile unit of the file
    05 01 03 03 03 02 03            | 2: subprogram: file, line 3, string 3 twice, compile unit, scope line 3
    04 03 04 03 01                  | 3: location: subprogram, string 4, 3:1
    04 03 04 04 05                  | 4: location: subprogram, string 4, 4:5
    85 6F 04 CB*3                   | Type, 111 bytes
    0F CB*3                         | fifteen
    00*4 01 00*3 04 00*3 07 00*3 08 00*3 0B 00*3 10 00*3 11 00*3
    15 00*3 16 00*3 1E 00*3 27 00*3 28 00*3 2B 00*3 2E 00*3
    07                              | 0: f32
    0C 00 00                        | 1: pointer to type 0, address space 0
    0D 01 00                        | 2: tile<ptr<f32>>
    03                              | 3: i32
    0D 03 00                        | 4: tile<i32>
    10 02 02 04 00                  | 5: (type 2, type 4) -> ()
    05                              | 6: f16
    0D 06 01 02                     | 7: tile<2xf16>
    04                              | 8: i64
    0E 00 02 00 09 02 09 02         | 9: tensor_view of type 0: rank 2, dynamic (0), 8 (+ 1); rank 2, 8 (+ 1), 1 (+ 1)
    0F 09 02 04 08 02 01 00 01      | 10: partition_view of type 9: tile 4x8, dim_map 1 0, mode 1: padding zero (+ 1)
    00                              | 11: i1
    0D 0B 00                        | 12: tile<i1>
    0D 00 00                        | 13: tile<f32>
    11                              | 14: token
    88 60 04 CB*2                   | Attribute, 96 bytes
    08 CB*3 00*4 01 00*3 12 00*3 17 00*3 1D 00*3 23 00*3 2A 00*3 31 00*3 | eight
    00                              | 0: empty
    02 03 00 04 01 02 06            | 1: two entries: "value", kind 0, tag 4, rank 1, extent 2, type 6
    80 F0 01 80 80 06               |      zig-zag 0x3C00, zig-zag 0xC000
    05 06 08 20                     |      "alignment", kind 6, type 8, zig-zag 16
    01 0F 06 08 04                  | 2: "num_cta_in_cga", kind 6, type 8, zig-zag 2
    01 0D 02 01 11 02               | 3: "optimization_hints", kind 2: one architecture, "sm_90": dictionary 2
    01 13 00 0A 05 00               | 4: "predicate", kind 0, tag 10: flags lower and strict, zig-zag 0
    01 15 03 03 02 02 00            | 5: "operandSegmentSizes", kind 3: three, zig-zag 1 1 0
    02 17 01 02 19 01 01            | 6: "comparison_predicate", kind 1: 2; "signedness", kind 1: 1
    02 1B 01 00                     | 7: "memory_ordering_semantics", kind 1: 0
    15 03 04 02 00 00 00            |    "operandSegmentSizes", kind 3: four, zig-zag 1 0 0 0
    81 CC 01 04                     | String, 204 bytes
    0E CB*3 00*4 01 00*3 06 00*3 0F 00*3 10 00*3 14 00*3 18 00*3 2A 00*3
    38 00*3 3D 00*3 46 00*3 59 00*3 6D 00*3 77 00*3
    "t" "value" "alignment" "k" "k.py" "/src" "optimization_hints" "num_cta_in_cga" "sm_90" "predicate"
    "operandSegmentSizes" "comparison_predicate" "signedness" "memory_ordering_semantics"
    00                              | end
""")
