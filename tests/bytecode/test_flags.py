"""Every flag bit of a file means what it means to NVIDIA's reader, and survives being written back."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.bytecode.pieces import make_file
from tests.kernels.export import TOOLS_MISSING, all_cases, disassembler, export, tools_available

import tileir
from tileir.bytecode.annotated import annotate
from tileir.bytecode.layouts import dropped_information
from tileir.text.printer import print_disassembly

# The disassembler reads up to 13.4.
GOLDEN = sorted((Path(__file__).parent / "golden").glob("*_13.[1-4].tileirbc"))
#: The fields of a dump that hold bits, or say what is there.
FIELDS = ("flags", "visibility", "constant", "has padding")


def private_file(flags: int = 3) -> bytes:
    return make_file(flags=flags, hints=b"\x0b\0" if flags & 4 else b"")


@pytest.mark.parametrize("layout", ["public", "documented"])
def test_private_functions_stay_private(layout):
    module = tileir.from_bytecode(private_file())
    text = 'entry @k() {\n  return\n} {sym_visibility = "private"}\n'
    assert print_disassembly(module) == text
    version = "13.1" if layout == "documented" else "13.4"
    data = tileir.to_bytecode(module, version=version, layout=layout)
    assert print_disassembly(tileir.from_bytecode(data)) == text
    assert print_disassembly(tileir.from_bytecode(tileir.to_bytecode(tileir.parse(str(module))))) == text
    assert not [loss for loss in dropped_information(module, layout) if "visibility" in loss.message]


def test_private_file_is_written_back():
    for flags in (2, 3, 6, 7):
        module = tileir.from_bytecode(private_file(flags))
        again = tileir.from_bytecode(tileir.to_bytecode(module, preserve=True))
        assert str(again) == str(module)
        assert ("private" in str(module)) == bool(flags & 1)


def test_other_visibilities_have_no_flag_and_are_told():
    module = tileir.parse('cuda_tile.module @kernels { entry @k() { return } {sym_visibility = "nested"} }')
    assert [loss.message for loss in dropped_information(module, "public")] == [
        "attribute 'sym_visibility' cannot be in public bytecode and is dropped"
    ]


def flipped(data: bytes, seen: set[str]) -> list[tuple[str, bytes]]:
    """The file with each bit of each kind of flag field changed, for kinds not seen yet."""
    found = []
    for field in annotate(data).fields():
        kind = f"{data[9]} {field.name} {field.meaning}"
        if field.name not in FIELDS or field.end - field.start != 1 or kind in seen:
            continue
        seen.add(kind)
        for bit in range(8):
            changed = bytearray(data)
            changed[field.start] ^= 1 << bit
            found.append((f"{kind} at {field.start}, bit {bit}", bytes(changed)))
    return found


def check_flips(files: list[bytes]) -> None:
    from tests.bytecode.judges import tool_outputs

    seen: set[str] = set()
    mutants = [mutant for data in files for mutant in flipped(data, seen)]
    assert len(seen) > 5
    compared = accepted = 0
    rewritten: list[bytes] = []
    expected: list[str] = []
    for (name, data), their in zip(mutants, tool_outputs([data for _, data in mutants]), strict=True):
        if their.crashed:
            continue
        compared += 1
        try:
            module = tileir.from_bytecode(data)
        except tileir.TileIRError as error:
            assert not their.accepted, f"{name}: {error}"
            continue
        assert their.accepted, f"{name}: {their.lines}"
        accepted += 1
        assert print_disassembly(module) == their.text, name
        rewritten.append(tileir.to_bytecode(module))
        expected.append(their.text)
    for text, their in zip(expected, tool_outputs(rewritten), strict=True):
        assert their.text == text
    assert compared > len(mutants) // 2 and accepted > 10


@pytest.mark.skipif(disassembler() is None, reason=TOOLS_MISSING)
def test_every_flag_bit_of_the_golden_files_reads_as_by_the_disassembler():
    check_flips([path.read_bytes() for path in GOLDEN])


@pytest.mark.long
@pytest.mark.skipif(not tools_available(), reason=TOOLS_MISSING)
def test_every_flag_bit_of_the_kernels_reads_as_by_the_disassembler():
    check_flips([export(case, version) for case in all_cases() for version in case.versions])
