"""Objects put into memory without LLVM, and those that are left to it."""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import struct
import sys

import numpy
import pytest

from tileir.execute.cpu.native import mapping, runtime
from tileir.execute.cpu.native.compilation import assemble
from tileir.execute.cpu.native.mapping import Mapped, mapped
from tileir.execute.cpu.native.objects import symbols_of
from tileir.execute.cpu.native.runtime import Loaded, address_of, load
from tileir.execute.cpu.native.target import KNOWN, Target, host
from tileir.execute.errors import CompilationError

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"),
    reason="elsewhere all objects are LLVM's",
)

IS_ARM = sys.platform == "linux" and os.uname().machine == "aarch64"
OLDEST = "cortex-a72" if IS_ARM else "x86-64"

PLAIN = """
@table = private constant [4 x i64] [i64 10, i64 20, i64 30, i64 40], align 64
@word = private unnamed_addr constant [4 x i8] c"abc\\00"
define internal i64 @third(ptr %arena) noinline nounwind {
  %entry = getelementptr i64, ptr @table, i64 2
  %value = load volatile i64, ptr %entry
  %letter = load volatile i8, ptr @word
  %wide = zext i8 %letter to i64
  %sum = add i64 %value, %wide
  ret i64 %sum
}
define i64 @other(ptr %record, ptr %arena) nounwind {
  ret i64 5
}
define i64 @worker(ptr %record, ptr %arena) nounwind {
  call void @llvm.memcpy.p0.p0.i64(ptr %arena, ptr %record, i64 4000, i1 false)
  call void @llvm.memset.p0.i64(ptr %record, i8 7, i64 4000, i1 false)
  %value = call i64 @third(ptr %arena)
  ret i64 %value
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

JUMPS = """
define i64 @worker(ptr %record, ptr %arena) nounwind {
  %which = load i64, ptr %record
  switch i64 %which, label %none [ i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e ]
a:
  call void @llvm.memset.p0.i64(ptr %arena, i8 1, i64 4000, i1 false)
  br label %none
b:
  store i64 200, ptr %arena
  br label %none
c:
  store volatile i64 3, ptr %arena
  store volatile i64 300, ptr %arena
  br label %none
d:
  store atomic i64 400, ptr %arena seq_cst, align 8
  br label %none
e:
  %old = atomicrmw add ptr %arena, i64 500 monotonic
  br label %none
none:
  ret i64 %which
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

UNKNOWN = {
    "a variable": "@count = internal global i64 5\n" + "define i64 @worker(ptr %a, ptr %b) {\n"
    "  %old = atomicrmw add ptr @count, i64 1 monotonic\n  ret i64 %old\n}\n",
    "a variable of zeros": "@count = internal global i64 0\n" + "define i64 @worker(ptr %a, ptr %b) {\n"
    "  %old = atomicrmw add ptr @count, i64 5 monotonic\n  %new = add i64 %old, 5\n  ret i64 %new\n}\n",
    "an address among the constants": "@where = internal constant ptr @five\n@five = internal constant i64 5\n"
    "define i64 @worker(ptr %a, ptr %b) {\n  %p = load volatile ptr, ptr @where\n  %v = load i64, ptr %p\n  ret i64 %v\n}\n",
    "a group": "$worker = comdat any\ndefine i64 @worker(ptr %a, ptr %b) comdat {\n  ret i64 5\n}\n",
    "a table for unwinding": "define i64 @worker(ptr %a, ptr %b) uwtable {\n  ret i64 5\n}\n",
}


def imports_of(data: bytes) -> dict[str, int]:
    return {name: address_of(name) for name in symbols_of(data).undefined}


def placed(data: bytes, entry: str = "worker") -> Mapped | None:
    return mapped(data, entry, imports_of(data))


def permissions_of(address: int) -> str:
    """What /proc says of the page at an address; nothing where there is none."""
    with open("/proc/self/maps") as file:
        for line in file:
            low, high = (int(text, 16) for text in line.split()[0].split("-"))
            if low <= address < high:
                return line.split()[1]
    return ""


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", ["oldest", "native"])
def test_code_constants_and_calls_work_without_llvm(name: str, level: int) -> None:
    data = assemble(PLAIN, host(OLDEST if name == "oldest" else name), level)
    assert set(symbols_of(data).undefined) == {"memset", "memcpy"}
    pages = placed(data)
    assert pages is not None
    record, arena = numpy.full(4001, 9, numpy.uint8), numpy.zeros(4001, numpy.uint8)
    assert Loaded(pages, pages.address).call(record.ctypes.data, arena.ctypes.data) == 30 + ord("a")
    assert record.tolist() == [7] * 4000 + [9]
    assert arena.tolist() == [9] * 4000 + [0]
    other = placed(data, "other")
    assert other is not None
    assert Loaded(other, other.address).call(0, 0) == 5


def test_table_of_jumps_among_the_constants_works_without_llvm() -> None:
    pages = placed(assemble(JUMPS, host()))
    assert pages is not None
    function = Loaded(pages, pages.address)
    record, arena = numpy.zeros(1, numpy.int64), numpy.zeros(500, numpy.int64)
    for which, expected in enumerate([0x0101010101010101, 200, 300, 400, 900, 900]):
        record[0] = which
        assert function.call(record.ctypes.data, arena.ctypes.data) == which
        assert arena[0] == expected


def test_functions_are_reached_wherever_they_are() -> None:
    data = assemble(PLAIN, host())
    near, far = placed(data), mapped(data, "worker", {"memset": 1 << 46, "memcpy": 3})
    assert near is not None and far is not None


def test_nobody_may_write_to_the_code_nor_run_the_constants() -> None:
    pages = placed(assemble(PLAIN, host()))
    assert pages is not None
    start = pages.address // mmap.PAGESIZE * mmap.PAGESIZE
    assert permissions_of(start) == "r-xp"
    assert permissions_of(start + mmap.PAGESIZE) == "r--p"


def test_code_goes_with_the_function() -> None:
    function = load(assemble(PLAIN, host()))
    address = function.address
    assert permissions_of(address) == "r-xp"
    del function
    gc.collect()
    assert "x" not in permissions_of(address)


def test_constants_are_as_aligned_as_they_ask() -> None:
    text = """
    @table = private constant <16 x float> zeroinitializer, align 4096
    define i64 @worker(ptr %record, ptr %arena) nounwind {
      %x = load volatile i8, ptr @table
      %address = ptrtoint ptr @table to i64
      ret i64 %address
    }
    """
    pages = placed(assemble(text, host()))
    assert pages is not None
    assert Loaded(pages, pages.address).call(0, 0) % 4096 == 0


@pytest.mark.parametrize("kind", UNKNOWN)
def test_what_is_of_no_known_kind_is_left_to_llvm(kind: str) -> None:
    data = assemble(UNKNOWN[kind], host())
    assert placed(data) is None
    assert load(data).call(0, 0) == 5


OTHER = "x86_64-unknown-linux-gnu" if IS_ARM else "aarch64-unknown-linux-gnu"


@pytest.mark.parametrize("triple", [OTHER, "arm64-apple-macosx11.0.0", "x86_64-pc-windows-msvc"])
def test_objects_of_other_machines_and_formats_are_left_to_llvm(triple: str) -> None:
    name = "x86-64" if triple.startswith("x86") else "neoverse-n1"
    target = Target(name, triple, frozenset(KNOWN[name].split()), "", False)
    assert placed(assemble(PLAIN, target)) is None


def test_part_of_an_object_is_left_to_llvm() -> None:
    data = assemble(PLAIN, host())
    for length in range(0, len(data), 7):
        assert mapped(data[:length], "worker", {"memset": 1, "memcpy": 2}) is None, length
    assert placed(data) is not None


def test_no_damage_to_the_tables_reaches_beyond_the_pages() -> None:
    data = assemble(PLAIN, host())
    imports = imports_of(data)
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    # The tables are at the end; code and constants, which are only copied, between them and the header.
    refused = 0
    for place in [*range(64), *range(sections - 600, len(data), 2)]:
        for value in (data[place] ^ 0x01, data[place] ^ 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[place] = value
            found = mapped(bytes(damaged), "worker", imports)
            refused += found is None
            if found is not None:
                assert permissions_of(found.address) == "r-xp"
    assert refused > 250


def test_distance_that_leaves_its_section_is_refused() -> None:
    data = assemble(PLAIN, host())
    (offset,) = struct.unpack_from("<Q", data, 0x28)
    count = struct.unpack_from("<H", data, 0x3C)[0]
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, offset + 64 * number) for number in range(count)]
    table = next(header for header in headers if header[1] == 4)
    for field, value in ((0, headers[table[7]][5] - 3), (8, 10), (8, 0), (12, 5000), (16, 1 << 40)):
        damaged = bytearray(data)
        # The place, the kind, the symbol, what is added.
        struct.pack_into("<Q" if field in (0, 16) else "<I", damaged, table[4] + field, value)
        assert mapped(bytes(damaged), "worker", imports_of(data)) is None, (field, value)


def test_symbol_without_an_address_is_refused() -> None:
    data = assemble(PLAIN, host())
    assert mapped(data, "worker", {"memset": address_of("memset")}) is None
    assert mapped(data, "absent", imports_of(data)) is None
    with pytest.raises(CompilationError, match="needs 'getenv', which it must not call"):
        load(data.replace(b"memset\0", b"getenv\0"))


@pytest.mark.parametrize("refusal", ["to run pages", "pages", "of another system"])
def test_system_that_gives_no_such_pages_has_llvm(refusal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = assemble(PLAIN, host())

    def refuse(*_given: object, **_named: object) -> mmap.mmap:
        raise PermissionError

    if refusal == "to run pages":
        monkeypatch.setattr(mapping, "_mprotect", lambda *_given: -1)
    elif refusal == "pages":
        monkeypatch.setattr(mapping.mmap, "mmap", refuse)
    else:
        monkeypatch.setattr(mapping.sys, "platform", "freebsd14")
    assert placed(data) is None
    function = load(data)
    monkeypatch.undo()
    memory = ctypes.create_string_buffer(8000)
    assert function.call(ctypes.addressof(memory), ctypes.addressof(memory) + 4000) == 30 + ord("a")


def test_common_functions_are_found_without_looking_for_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    # Which takes another process and longer than loading a kernel.
    monkeypatch.setattr(runtime, "_addresses", {})
    monkeypatch.setattr(runtime, "_libraries", {})
    monkeypatch.setattr("ctypes.util.find_library", lambda name: pytest.fail(f"looks for {name}"))
    assert address_of("memset") and address_of("memcpy")
