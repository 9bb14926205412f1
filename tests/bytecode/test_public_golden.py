"""Small files of the public layout, one for each version, every byte accounted for.

The files in golden/ hold exactly the bytes spelled out here.  Each was decoded by hand and is printed by NVIDIA's
disassembler as the text beside it.
"""

from __future__ import annotations

import pytest
from tests.bytecode.annotated import annotated, golden
from tests.kernels.export import TOOLS_MISSING, disassemble, tools_available

import tileir
from tileir.bytecode.layouts import from_bytes, layout_of, to_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.ir.versions import Version
from tileir.text.printer import print_disassembly

# As cuTile writes it: functions first, a constant and a debug section whatever the program, i1 and i32 among the types.
CUTILE_EXAMPLE = annotated("""
    7F "TileIR" 00                  | 00 magic
    0D 01 00 00                     | 08 version 13.1, tag 0
    82 20 08 CB                     | 0C Func, 32 bytes, aligned to 8 by one byte of padding
    01                              | 10 one function
    00 05 02 01                     | 11 name: string 0; signature: type 5; a kernel; its locations: debug function 0
    1A                              | 15 26 bytes of body
    3A 02                           | 16 iota of type 2, value 0
    10 02 00                        | 18 constant of type 2, constant 0; value 1
    03 02 00 00 01                  | 1B addi of type 2, overflow none, values 0 and 1; value 2
    06 02 08 04 03 04 00 02         | 20 assume of type 2: tag 8 div_by 4, every and along, zig-zag 2, 0; on value 2; value 3
    55 00 01 01 03                  | 28 print: 0 results, string 1, one argument, value 3
    5C 00 00                        | 2D return: 0 results, 0 operands
    84 15 08 CB*5                   | 30 Constant, 21 bytes, aligned to 8
    01 CB*7 00*8                    | 38 one constant, at offset 0
    04 05 00 00 00                  |    4 bytes: the splat 5
    83 51 08                        | 4D Debug, 81 bytes, aligned to 8
    01 CB*3 00*4                    | 50 one function, whose locations start at index 0
    07 CB*7 00*56                   |    seven of them, the function's and six operations', all unknown
    01 CB*3 00*4 00                 |    one attribute, of tag 0
    85 30 04                        | A1 Type, 48 bytes, aligned to 4
    06 CB*3                         | A4 six types, at offsets 0 1 2 13 16 17
    00*4 01 00*3 02 00*3 0D 00*3 10 00*3 11 00*3
    00                              | C0 type 0: i1
    03                              |    type 1: i32
    0D 01 01 08 00*7                |    type 2: tile of type 1, one extent, 8
    0D 01 00                        |    type 3: tile of type 1, no extent
    11                              |    type 4: token
    10 00 00                        |    type 5: function, no parameters, no results
    81 12 04 CB                     | D4 String, 18 bytes, aligned to 4
    02 CB*3 00*4 01 00*3 "k" "v=%d\\n" |  two strings, at 0 and 1
    00                              | EA end
""")
EXAMPLE_TEXT = r"""entry @k() {
  %0 = iota : tile<8xi32>
  %cst_5_i32 = constant <i32: 5> : tile<8xi32>
  %1 = addi %0, %cst_5_i32 : tile<8xi32>
  %assume = assume div_by<4, every 2 along 0>, %1 : tile<8xi32>
  %2 = print_tko "v=%d\0A", %assume : tile<8xi32> -> token
  return
}
"""

# The same program as NVIDIA's own writer lays it out: types and strings in order of first use, no empty section.
FILES: dict[str, tuple[bytes, str]] = {
    "13.1": (
        annotated("""
    7F "TileIR" 00 0D 01 00 00      | magic, version 13.1
    82 20 08 CB                     | Func, 32 bytes
    01 00 00 02 00 1A               | one function: string 0, type 0, a kernel, no locations, 26 bytes of body
    3A 02                           | iota of type 2
    10 02 00                        | constant of type 2, constant 0
    03 02 00 00 01                  | addi
    06 02 08 04 03 04 00 02         | assume
    55 00 01 01 03                  | print: without a result in 13.1
    5C 00 00                        | return
    84 15 08 CB*5 01 CB*7 00*8      | Constant, 21 bytes: one, at 0
    04 05 00 00 00                  | the splat 5
    85 1F 04                        | Type, 31 bytes
    03 CB*3 00*4 03 00*3 04 00*3    | three, at 0 3 4
    10 00 00                        | type 0: () -> (), because signatures come first
    03                              | type 1: i32, before the tile that contains it
    0D 01 01 08 00*7                | type 2: tile<8xi32>
    81 12 04 CB*2                   | String, 18 bytes
    02 CB*3 00*4 01 00*3 "k" "v=%d\\n"
    00                              | end
"""),
        EXAMPLE_TEXT,
    ),
    "13.2": (
        annotated("""
    7F "TileIR" 00 0D 02 00 00      | magic, version 13.2
    82 30 08 CB                     | Func, 48 bytes
    01 00 02 02 00 25               | one function: string 0, type 2, a kernel, no locations, 37 bytes of body
    50 01 01 00                     | negi of type 1: from 13.2 on it has an overflow, no_signed_wrap; value 0
    55 01 03 00 01 01 01            | print: from 13.2 on 1 result of type 3, flags 0, string 1, one argument, value 1
    55 01 03 01 01 01 00 02         | print: flags bit 0, so after one argument, value 0, comes the token, value 2
    29 00 01 03 00 01 00            | for: 0 results, flags bit 0 (unsigned), three operands, values 0 1 0
    01 01 01 01 01                  | one region of one block with one argument of type 1 and one operation
    11 00 00                        | continue
    5C 00 00                        | return
    CB*5                            | padding to 8 inside the section
    85 1D 04 CB                     | Type, 29 bytes
    04 CB*3 00*4 01 00*3 04 00*3 08 00*3
    03                              | type 0: i32
    0D 00 00                        |
    10 01 01 00                     | type 2: (type 1) -> ()
    11                              | type 3: token
    81 0F 04 02 CB*3 00*4 01 00*3 "k" "%d" | String, 15 bytes
    00                              | end
"""),
        """entry @k(%arg0: tile<i32>) {
  %0 = negi %arg0 overflow<no_signed_wrap> : tile<i32>
  %1 = print_tko "%d", %0 : tile<i32> -> token
  %2 = print_tko "%d", %arg0 token=%1 : tile<i32> -> token
  for unsigned %loopIdx in (%arg0 to %0, step %arg0) : tile<i32> {
  }
  return
}
""",
    ),
    "13.3": (
        annotated("""
    7F "TileIR" 00 0D 03 00 00      | magic, version 13.3
    06 07                           | Global, 7 bytes, no alignment
    01 00 04 00 00 01 01            | one: string 0, type 4, constant 0, alignment 0; from 13.3 on private, constant
    82 20 08                        | Func, 32 bytes
    01 01 02 06 00                  | one function: string 1, type 2, a kernel with hints, no locations
    0B 01 02 0A 01 03 01 05 02      | hints, tag 11: one architecture, string 2: tag 10 of one entry, string 3: tag 1, type 5, 2
    0A                              | 10 bytes of body
    17 01 04 00                     | exp of type 1: from 13.3 on it has a rounding mode, approx; of value 0
    2C 07 00                        | get_global of type 7, string 0
    5C 00 00                        | return
    CB*7                            | padding to 8 inside the section
    84 12 08 CB*5 01 CB*7 00*8      | Constant, 18 bytes: one, at 0
    01 0D                           | one byte: four bits, lowest first: 1 0 1 1
    85 3E 04 CB*3                   | Type, 62 bytes
    08 CB*3 00*4 01 00*3 04 00*3 08 00*3 09 00*3 14 00*3 15 00*3 17 00*3
    07                              | type 0: f32
    0D 00 00                        | type 1: tile<f32>
    10 01 01 00                     | type 2: (type 1) -> ()
    00                              | type 3: i1
    0D 03 01 04 00*7                | type 4: tile<4xi1>
    04                              | type 5: i64, the type of the hint
    0C 03                           | type 6: ptr<i1>
    0D 06 00                        | type 7: tile<ptr<i1>>
    07 01 04                        | Producer, 1 byte: string 4
    81 32 04 05 CB*3                | String, 50 bytes: five
    00*4 01 00*3 02 00*3 08 00*3 16 00*3
    "t" "k" "sm_100" "num_cta_in_cga" "hand"
    00                              | end
"""),
        """// Producer: hand
global private  constant @t <i1: [true, false, true, true]> : tile<4xi1>
entry @k(%arg0: tile<f32>) optimization_hints=<sm_100 = {num_cta_in_cga = 2}> {
  %0 = exp %arg0 rounding<approx> : tile<f32>
  %1 = get_global @t : tile<ptr<i1>>
  return
}
""",
    ),
    "13.4": (
        annotated("""
    7F "TileIR" 00 0D 04 00 00      | magic, version 13.4
    82 28 08 CB                     | Func, 40 bytes
    01 00 04 02 00 1D               | one function: string 0, type 4, a kernel, no locations, 29 bytes of body
    2B 06 01 01 06 00               | ftoi of type 6: flags bit 0 (saturating, 13.4), signed, nearest_int_to_zero, value 0; value 2
    43 01 07 01 00 00               | make_tensor_view: 1 result of type 7, value 1, no dynamic shape, no dynamic strides
    42 08 03                        | make_partition_view of type 8, value 3
    3E 02 09 0A 00 00               | load_view_tko: 2 results of types 9 and 10, no flags, weak
    01 00                           | from 13.4 on a list of bytes: one index, not in bounds
    04 01 02                        | value 4, one index, value 2
    5C 00 00 CB*5                   | return; padding to 8
    85 72 04 CB                     | Type, 114 bytes
    0B CB*3                         | eleven
    00*4 01 00*3 04 00*3 07 00*3 0A 00*3 0F 00*3 10 00*3 13 00*3 28 00*3 36 00*3 41 00*3
    07                              | type 0: f32
    0D 00 00                        | type 1: tile<f32>
    0C 00 00                        | type 2: pointer: from 13.4 on flags first, none; to type 0
    0D 02 00                        | type 3: tile<ptr<f32>>
    10 02 01 03 00                  | type 4: (type 1, type 3) -> ()
    03                              | type 5: i32
    0D 05 00                        | type 6: tile<i32>
    0E 00 00 01 10 00*7 01 01 00*7  | type 7: tensor_view: no flags, of type 0, extents 16, strides 1
    0F 01 01 08 00*3 07 01 00*4 02  | type 8: partition_view: flags bit 0 (padding), tile 8, of type 7, dim_map 0, padding nan
    0D 00 01 08 00*7                | type 9: tile<8xf32>
    11                              | type 10: token
    81 09 04 CB*3 01 CB*3 00*4 "k"  | String, 9 bytes
    00                              | end
"""),
        """entry @k(%arg0: tile<f32>, %arg1: tile<ptr<f32>>) {
  %0 = ftoi %arg0 signed  saturating : tile<f32> -> tile<i32>
  %tview = make_tensor_view %arg1, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %pview = make_partition_view %tview : partition_view<tile=(8), padding_value = nan, tensor_view<16xf32, strides=[1]>>
  %tile, %result_token = load_view_tko weak %pview[%0] : partition_view<tile=(8), padding_value = nan, tensor_view<16xf32, strides=[1]>>, tile<i32> -> tile<8xf32>, token
  return
}
""",
    ),
}


def version_of(name: str) -> Version:
    major, minor = name.split(".")
    return int(major), int(minor)


def test_worked_example_is_the_golden_file() -> None:
    assert len(CUTILE_EXAMPLE) == 0xEB
    assert golden("cutile_13.1.tileirbc") == CUTILE_EXAMPLE


def test_worked_example_reads_as_its_text() -> None:
    module = from_bytes(CUTILE_EXAMPLE)
    tileir.verify(module)
    assert print_disassembly(module) == EXAMPLE_TEXT


def test_worked_example_is_written_back_byte_for_byte() -> None:
    assert to_bytes(from_bytes(CUTILE_EXAMPLE), (13, 1), preserve=True) == CUTILE_EXAMPLE


def test_worked_example_written_afresh_is_laid_out_as_nvidia_does() -> None:
    assert to_bytes(from_bytes(CUTILE_EXAMPLE), (13, 1)) == FILES["13.1"][0]


def test_print_of_the_worked_example_has_a_result_from_13_3_on() -> None:
    data = to_bytes(from_bytes(CUTILE_EXAMPLE), (13, 3))
    assert annotated("55 01 03 00 01 01 03 | 1 result of type 3, flags 0, string 1, one argument, value 3") in data
    assert annotated("55 00 01 01 03") not in data


@pytest.mark.parametrize("name", FILES)
def test_golden_file_is_written_back_byte_for_byte(name: str) -> None:
    data = FILES[name][0]
    version = (data[8], data[9])
    assert to_bytes(from_bytes(data), version, preserve=True) == data


@pytest.mark.parametrize("name", FILES)
def test_golden_file_has_the_bytes_that_are_explained(name: str) -> None:
    assert golden(f"public_{name}.tileirbc") == FILES[name][0]


@pytest.mark.parametrize("name", FILES)
def test_golden_file_reads_as_its_text_and_is_written_again(name: str) -> None:
    data, text = FILES[name]
    assert layout_of(data) == "public"
    module = from_bytes(data)
    tileir.verify(module)
    assert print_disassembly(module) == text
    assert to_bytes(module, version_of(name)) == data


@pytest.mark.parametrize("name", ["13.2", "13.3", "13.4"])
def test_golden_file_needs_its_version(name: str) -> None:
    data, _ = FILES[name]
    older = (13, version_of(name)[1] - 1)
    with pytest.raises(BytecodeError, match=r"requires|13\.3"):
        to_bytes(from_bytes(data), older)


@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
@pytest.mark.parametrize("name", FILES)
def test_nvidia_prints_the_golden_file_the_same_way(name: str) -> None:
    data, text = FILES[name]
    assert disassemble(data, False) == text


@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
def test_nvidia_prints_the_worked_example_the_same_way() -> None:
    assert disassemble(CUTILE_EXAMPLE, False) == EXAMPLE_TEXT
