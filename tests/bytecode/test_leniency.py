"""Odd files that NVIDIA's reader accepts are accepted, and written back."""

from __future__ import annotations

import pytest
from tests.bytecode.pieces import (
    I32,
    RETURN,
    TILE_I32,
    TOKEN,
    TYPES,
    constant,
    debug_payload,
    make_file,
    tile,
    varint,
)
from tests.bytecode.test_safety import ADDED, FILE_BLOB, LOCATION_BLOB, SUBPROGRAM_BLOB, UNIT_BLOB, accepted, refused

import tileir
from tileir.bytecode.primitives import BytecodeError
from tileir.text.printer import print_disassembly

# --- what is accepted all the same ---


@pytest.mark.parametrize("high", [0, 1 << 8, 2048, 1 << 32, 1 << 63])
def test_tags_of_attributes_are_a_byte_wide(high):
    """As those of types: NVIDIA's reader takes tag 2060 for 12, `bounded`."""
    start = b"\x10" + bytes([TILE_I32]) + b"\0"
    body = start + b"\x06" + bytes([TILE_I32]) + varint(12 + high) + b"\0\0" + RETURN
    assert "assume bounded<?, ?>" in accepted(make_file(body, constants=(constant(b"\1\0\0\0"),)))
    text = accepted(
        make_file(flags=6, hints=varint(11 + high) + b"\1\0" + varint(10 + high) + b"\1\0" + varint(6 + high) + b"\0")
    )
    assert "optimization_hints=<k = {k = []}>" in text
    assert (
        f"unsupported AttributeTag {99 + high} for" in refused(make_file(flags=6, hints=varint(99 + high) + b"\0"))[0]
    )


@pytest.mark.parametrize(
    ("format", "count"), [(b"a\0b", 0), (b"%\0", 1), (b"%5\0d", 1), (b"%i\0%\0 %%", 2), (b"%\0%\0%\0", 3)]
)
def test_nul_ends_an_expression_of_a_print_format(format, count):
    names = ", ".join(["%x"] * count)
    types = ", ".join(["tile<i32>"] * count)
    arguments = f", {names} : {types}" if count else ""
    text = "".join([f"\\{byte:02x}" for byte in format])
    program = f'%x = constant <i32: 1> : tile<i32>\n%t = print_tko "{text}"{arguments} -> token'
    module = tileir.parse(f"cuda_tile.module @m {{ entry @k() {{ {program} }} }}")
    tileir.verify(module)
    assert tileir.from_bytecode(tileir.to_bytecode(module))


TF32, F4 = b"\x08", b"\x13"


@pytest.mark.parametrize("count", [2, 128])
@pytest.mark.parametrize(("element", "size"), [(TF32, 3), (F4, 1)])
def test_bits_that_a_float_does_not_have_mean_nothing_and_stay(element, size, count):
    body = b"\x10" + varint(ADDED + 1) + b"\0" + RETURN
    blobs = (bytes([0x95]) * size, bytes([0x15] * size + [0xFF] * size) * (count // 2))
    for blob in blobs:
        data = make_file(body, types=(element, tile(ADDED, count)), constants=(constant(blob),))
        module = tileir.from_bytecode(data)
        again = tileir.parse(str(module))
        tileir.verify(again)
        assert str(again) == str(module)
        value = next(iter(module.regions[0].blocks[0].first.regions[0].blocks[0])).attributes["value"]
        width = value.element_type.width
        assert all(bits >> width == 0 for bits in value.values())
        if len(blob) > size and count > 100:
            # Printed as its bytes, it comes back as them.
            assert constant(blob) in tileir.to_bytecode(again)


def test_bits_that_a_float_does_not_have_are_not_computed_with():
    numpy = pytest.importorskip("numpy")
    from tileir.dialect.types import tile_type
    from tileir.execute.dtypes import constant_array
    from tileir.ir.dense import dense_attribute
    from tileir.ir.types import F4E2M1FN
    from tileir.ir.types import TF32 as TF32_TYPE

    for element, size in ((TF32_TYPE, 3), (F4E2M1FN, 1)):
        type = tile_type((2,), element)
        blob = bytes([0x15] * size + [0x97] * size)
        mask = (1 << element.width) - 1
        clean = b"".join(
            [(int.from_bytes(blob[at : at + size], "little") & mask).to_bytes(size, "little") for at in (0, size)]
        )
        dirty_array, clean_array = (
            constant_array(dense_attribute(type, (2,), element, data)) for data in (blob, clean)
        )
        assert numpy.array_equal(dirty_array.view(numpy.uint8), clean_array.view(numpy.uint8))


@pytest.mark.parametrize("make", [bytearray, memoryview, lambda data: memoryview(bytearray(b"x" + data))[1:]])
def test_bytecode_may_come_in_any_buffer(make):
    data = make_file()
    assert str(tileir.from_bytecode(make(data))) == str(tileir.from_bytecode(data))
    assert str(tileir.load(make(data))) == str(tileir.from_bytecode(data))


def test_bytecode_may_come_from_a_mapped_file(tmp_path):
    import mmap

    path = tmp_path / "kernel.tileirbc"
    path.write_bytes(make_file())
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        module = tileir.from_bytecode(mapped)
    assert tileir.to_bytecode(module, preserve=True) == path.read_bytes()


@pytest.mark.parametrize("data", ["text", 5, None, [1, 2]])
def test_what_has_no_bytes_is_no_bytecode(data):
    with pytest.raises(TypeError, match="a program is read from bytes or a bytes-like object"):
        tileir.from_bytecode(data)


@pytest.mark.parametrize("blob", [b"", b"\x0d", b"\x63", b"\x0d\x63\0", b"\x0d\1\xff"])
def test_file_with_a_bad_entry_that_nobody_uses_is_written_back(blob):
    """It is accepted, as by NVIDIA's reader; what no one can decode is left out."""
    files = [
        make_file(types=(blob, b"\x0d\1\0")),
        make_file(
            debug=debug_payload([0], [4, 4], [FILE_BLOB, UNIT_BLOB, SUBPROGRAM_BLOB, LOCATION_BLOB, b"\x04" + blob]),
            location=1,
        ),
    ]
    for data in files:
        module = tileir.from_bytecode(data)
        again = tileir.from_bytecode(tileir.to_bytecode(module, preserve=True))
        assert print_disassembly(again, True) == print_disassembly(module, True)


def test_spellings_of_numbers_are_kept_only_where_the_tables_are():
    """A bad type in front of the others, and one more than the file has: the numbers of types move."""
    hints = b"\x0b\1\0\x0a\1\0\1" + varint(ADDED + 1) + b"\7"
    for bad in (b"\x63", b"\x0d\x63\0", TYPES[I32]):
        data = make_file(b"\x44" + bytes([TOKEN]) + RETURN, types=(bad, b"\x04"), flags=6, hints=hints)
        module = tileir.from_bytecode(data)
        again = tileir.from_bytecode(tileir.to_bytecode(module, preserve=True))
        assert print_disassembly(again) == print_disassembly(module)
        module.regions[0].blocks[0].first.set_attribute(
            "x.y", tileir.parse("cuda_tile.module @m attributes {a = i16} {}").attributes["a"]
        )
        assert print_disassembly(tileir.from_bytecode(tileir.to_bytecode(module, preserve=True))) == print_disassembly(
            again
        )


def test_shape_query_with_results_of_several_types_is_printed_so_that_it_reads_back():
    text = """cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
      %v = make_tensor_view %p, shape = [4, 8], strides = [8, 1] : tensor_view<4x8xf32, strides=[8,1]>
      %s:2 = "cuda_tile.get_tensor_shape"(%v) : (!cuda_tile.tensor_view<4x8xf32, strides=[8,1]>) -> (!cuda_tile.tile<i16>, !cuda_tile.tile<i32>)
    } }"""
    module = tileir.parse(text)
    tileir.verify(module)
    again = tileir.parse(str(module))
    assert again.text(generic=True) == module.text(generic=True)
    assert '"cuda_tile.get_tensor_shape"' in str(module)
    assert "get_tensor_shape %tview : tensor_view<4x8xf32, strides=[8,1]> -> tile<i16>" in print_disassembly(module)


def test_keyword_of_a_later_version_is_written_back():
    """NVIDIA's reader takes `nearest_away` in a file of 13.1, though its writer makes no such file."""
    text = """cuda_tile.module @kernels { entry @k(%a: tile<f16>) {
      %b = ftof %a rounding<nearest_away> : tile<f16> -> tile<f32>
    } }"""
    zero, infinite = [
        tileir.to_bytecode(tileir.parse(text.replace("nearest_away", mode)), version="13.1")
        for mode in ("zero", "positive_inf")
    ]
    (place,) = [place for place, (a, b) in enumerate(zip(zero, infinite, strict=True)) if a != b]
    data = zero[:place] + b"\7" + zero[place + 1 :]
    module = tileir.from_bytecode(data)
    assert "rounding<nearest_away>" in str(module)
    assert tileir.to_bytecode(module, preserve=True) == data
    with pytest.raises(BytecodeError, match="not available in bytecode version 13"):
        tileir.to_bytecode(module)
