"""Files of other writers are read, written back with the same bytes, and attributed; each difference also on its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from tests.bytecode.other_writers import SUFFIXES, VERSIONS, WRITERS, Writer, encode
from tests.bytecode.pieces import File, split_functions, split_table, varint
from tests.kernels.export import disassemble, tools_available

import tileir
from tileir.analyze.program_facts import program_facts
from tileir.bytecode.container import CONSTANT, DEBUG, FUNCTION, PRODUCER, STRING, TYPE
from tileir.bytecode.primitives import BytecodeError
from tileir.text.printer import print_disassembly
from tileir.tools.programs import info

NVIDIA = WRITERS["NVIDIA's library"]
# Two spaces, as NVIDIA prints them.
GLOBAL_TEXT = "global  @table <i32: [1, 2]> : tile<2xi32>\n"
TEXT = """\
entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>) {
  %true = constant <i1: true> : tile<i1>
  %cst_7_i32 = constant <i32: 7> : tile<i32>
  %cst_7_i32_0 = constant <i32: 7> : tile<i32>
  %0 = addi %arg1, %cst_7_i32 : tile<i32>
  %1 = addi %0, %cst_7_i32_0 : tile<i32>
  assert %true, "failed" : tile<i1>
  return
}
"""


def accepted(data: bytes) -> tuple[str, list[str]]:
    """The text of a file that is written back as it is, and its possible producers."""
    module = tileir.from_bytecode(data)
    version = f"{data[8]}.{data[9]}"
    assert tileir.to_bytecode(module, version=version, preserve=True) == data
    text = print_disassembly(module)
    if tools_available():
        assert disassemble(data, False) == text
    # What is written without keeping the layout says the same, but for a producer before 13.3.
    again = tileir.from_bytecode(tileir.to_bytecode(module, version=version))
    assert print_disassembly(again) in (text, text.removeprefix("// Producer: a tool\n"))
    return text, program_facts(module)["possible_producers"]


def expected(writer: Writer) -> str:
    return (GLOBAL_TEXT if writer.writes_globals else "") + TEXT


@pytest.mark.parametrize(("name", "version"), [(name, each) for name in WRITERS for each in WRITERS[name].versions])
def test_file_of_each_writer(name: str, version: tuple[int, int]) -> None:
    source = f"kernel{SUFFIXES[name]}" if name in SUFFIXES else ""
    text, producers = accepted(encode(WRITERS[name], version, source))
    assert text == expected(WRITERS[name])
    assert producers == (["NVIDIA's library", "tileir"] if name == "NVIDIA's library" else [name])


@pytest.mark.parametrize("version", VERSIONS)
def test_tileir_writes_what_nvidias_library_does(version: tuple[int, int]) -> None:
    data = encode(NVIDIA, version)
    assert tileir.to_bytecode(tileir.from_bytecode(data), version=f"{version[0]}.{version[1]}") == data


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("source", ["", "kernel.py"])
def test_cutile_python_writes_the_same_bytes(version: tuple[int, int], source: str) -> None:
    bytecode = pytest.importorskip("cuda.tile._bytecode", reason="pip install 'cuda-tile>=1.7'")
    encodings = pytest.importorskip("cuda.tile._bytecode.encodings", reason="pip install 'cuda-tile>=1.7'")
    if not hasattr(bytecode, "PtrAttr"):
        pytest.skip("the installed cuda-tile has other encoders: pip install 'cuda-tile>=1.7'")
    data = bytearray()
    with bytecode.write_bytecode(1, data, bytecode.BytecodeVersion[f"V_{version[0]}_{version[1]}"]) as writer:
        types, places = writer.type_table, writer.debug_attr_table
        pointer = types.tile(types.pointer(types.F32, bytecode.PtrAttr.Missing), [])
        number = types.tile(types.I32, [])
        lines = [bytecode.DebugAttrId(0)] * 8
        if source:
            file = places.file(source, "/src")
            scope = places.subprogram(file, 7, "k", "k", places.compile_unit(file), 7)
            lines = [places.loc(scope, f"/src/{source}", line, 5) for line in range(7, 15)]
        with writer.function("k", [pointer, number], [], True, {}, lines[0]) as (builder, (_, argument)):

            def emit(line: int, operation: str, *operands: object) -> object:
                with builder.debug_attr(lines[line]):
                    return getattr(encodings, f"encode_{operation}Op")(builder, *operands)

            truth = emit(1, "Constant", types.tile(types.I1, []), b"\xff")
            first, second = (emit(line, "Constant", number, b"\7\0\0\0") for line in (2, 3))
            total = emit(4, "AddI", number, argument, first, encodings.IntegerOverflow.NONE)
            emit(5, "AddI", number, total, second, encodings.IntegerOverflow.NONE)
            emit(6, "Assert", truth, "failed")
            emit(7, "Return", [])
    assert encode(WRITERS["cuTile Python"], version, source) == bytes(data)


def test_cutile_without_locations_is_of_either_language() -> None:
    assert accepted(encode(WRITERS["cuTile.jl"]))[1] == ["cuTile Python", "cuTile.jl"]
    # Only the one for Python writes globals.
    writer = replace(WRITERS["cuTile.jl"], writes_globals=True)
    assert accepted(encode(writer))[1] == ["cuTile Python"]


def test_info_names_the_producer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.tileirbc"

    def line(data: bytes) -> str:
        path.write_bytes(data)
        assert info.run([str(path)]) == 0
        return capsys.readouterr().out.splitlines()[1]

    assert line(encode(WRITERS["Halide"], (13, 1))) == "producer: not given, but laid out as by Halide"
    assert line(encode(NVIDIA)) == "producer: not given, but laid out as by NVIDIA's library or tileir"
    assert line(encode(replace(NVIDIA, producer="a tool"))) == "producer: a tool"
    unknown = replace(NVIDIA, order=(STRING, TYPE, CONSTANT, FUNCTION), writes_globals=False)
    assert line(encode(unknown)) == "producer: not given"


# --- each difference on its own ---


def test_sections_in_any_order() -> None:
    file = File.parse(encode(replace(NVIDIA, producer="a tool")))
    # Half of them, with each section in each place.
    for sections in list(permutations(file.sections))[::37]:
        assert accepted(File(file.head, list(sections)).build())[0].endswith(GLOBAL_TEXT + TEXT)


@pytest.mark.parametrize("factor", [2, 8, 64])
def test_sections_aligned_further(factor: int) -> None:
    file = File.parse(encode(NVIDIA))
    for section in file.sections:
        section.alignment *= factor
    assert accepted(file.build())[0] == expected(NVIDIA)


def test_functions_with_and_without_padding() -> None:
    for pads in (True, False):
        assert accepted(encode(replace(NVIDIA, pads_functions=pads)))[0] == expected(NVIDIA)


@pytest.mark.parametrize("unused", [[b""], [b"unused"], [b"", b"sym_name", "Größe".encode(), b"", b"sym_name"]])
@pytest.mark.parametrize("in_front", [False, True])
def test_unused_strings(unused: list[bytes], in_front: bool) -> None:
    data = encode(replace(NVIDIA, writes_globals=False))
    file = File.parse(data)
    table = split_table(file.section(STRING))
    table.blobs = [*unused, *table.blobs] if in_front else [*table.blobs, *unused]
    file.section(STRING).payload = table.build()
    if in_front:
        (function,), padding = split_functions(file)
        function.name += len(unused)
        # The message of the assertion is string 1.
        function.body = function.body.replace(b"\5\1\2", b"\5" + varint(1 + len(unused)) + b"\2")
        file.section(FUNCTION).payload = varint(1) + function.build() + padding
    module = tileir.from_bytecode(file.build())
    assert print_disassembly(module) == TEXT
    # Equal strings are one when they are written back.
    if len(set(unused)) == len(unused):
        assert tileir.to_bytecode(module, version="13.3", preserve=True) == file.build()


@pytest.mark.parametrize("types", [True, False])
@pytest.mark.parametrize("strings", [True, False])
def test_tables_in_another_order(types: bool, strings: bool) -> None:
    for version in VERSIONS:
        data = encode(replace(NVIDIA, reverses_types=types, reverses_strings=strings), version)
        assert accepted(data)[0] == expected(NVIDIA)


def test_unused_types_in_front() -> None:
    first = (b"\x00", b"\x03", b"\x11", b"\x09")
    assert accepted(encode(replace(NVIDIA, first_types=first)))[0] == expected(NVIDIA)


@pytest.mark.parametrize("empty", [(), (CONSTANT,), (DEBUG,), (CONSTANT, DEBUG)])
def test_sections_without_entries_may_be_there_or_not(empty: tuple[int, ...]) -> None:
    writer = replace(NVIDIA, empty=empty)
    assert accepted(encode(writer))[0] == expected(NVIDIA)
    file = File.parse(encode(writer))
    assert (DEBUG in [section.identifier for section in file.sections]) == (DEBUG in empty)


def test_constant_section_without_entries() -> None:
    """cuTile's for Python and Julia write one for a kernel without constants."""
    file = File.parse(encode(replace(WRITERS["cuTile Python"], versions=VERSIONS)))
    (function,), padding = split_functions(file)
    function.body = b"\x5c\0\0"
    file.section(FUNCTION).payload = varint(1) + function.build() + padding
    file.section(CONSTANT).payload = b"\0" + b"\xcb" * 7
    starts = File.parse(file.build()).section(DEBUG)
    # The locations of the function and of one operation.
    starts.payload = b"\1\xcb\xcb\xcb\0\0\0\0\2" + b"\xcb" * 7 + b"\0" * 16 + b"\1\xcb\xcb\xcb\0\0\0\0\0"
    file.section(DEBUG).payload = starts.payload
    assert accepted(file.build()) == (
        "entry @k(%arg0: tile<ptr<f32>>, %arg1: tile<i32>) {\n  return\n}\n",
        ["cuTile Python", "cuTile.jl"],
    )


@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize("true", [b"\x01", b"\xff"])
def test_constants_repeated_and_spelled_otherwise(shares: bool, true: bytes) -> None:
    data = encode(replace(NVIDIA, shares_constants=shares, true=true))
    assert accepted(data)[0] == expected(NVIDIA)
    assert len(split_table(File.parse(data).section(CONSTANT)).blobs) == (3 if shares else 4)


@pytest.mark.parametrize("version", VERSIONS)
def test_producer_in_any_version(version: tuple[int, int]) -> None:
    data = encode(replace(NVIDIA, producer="a tool"), version)
    assert accepted(data) == ("// Producer: a tool\n" + expected(NVIDIA), [])
    assert PRODUCER in [section.identifier for section in File.parse(data).sections]


def test_negative_identity_of_cutile_rs_is_refused_as_by_nvidia() -> None:
    """Its writer extends the sign of a negative integer to 64 bits; no reader takes that."""
    text = """cuda_tile.module @kernels { entry @k(%a: tile<i32>) {
      %c = constant <i32: [1, 2]> : tile<2xi32>
      %r = reduce %c dim=0 identities=[-2147483648 : i32] : tile<2xi32> -> tile<i32> (%x: tile<i32>, %y: tile<i32>) {
        %s = maxi %x, %y signed : tile<i32>
        yield %s : tile<i32>
      }
      return
    } }"""
    file = File.parse(tileir.to_bytecode(tileir.parse(text)))
    (function,), padding = split_functions(file)
    function.body = function.body.replace(varint(1 << 31), varint((1 << 64) - (1 << 31)))
    file.section(FUNCTION).payload = varint(1) + function.build() + padding
    with pytest.raises(BytecodeError, match="value 18446744071562067968 does not fit in 32 bits"):
        tileir.from_bytecode(file.build())


def test_number_of_fpowi_in_cutile_jl_is_refused() -> None:
    """It writes 130 for `fpowi`, which has number 121."""
    file = File.parse(encode(WRITERS["cuTile.jl"], (13, 4)))
    (function,), padding = split_functions(file)
    function.body = varint(130) + b"\0\0\0" + function.body
    file.section(FUNCTION).payload = varint(1) + function.build() + padding
    with pytest.raises(BytecodeError, match="130"):
        tileir.from_bytecode(file.build())
