"""What must hold for any bytes and any text, whatever is wrong with them.

They give a program, or diagnostics that can be shown.  A program prints; what is printed reads back as the same program;
so does what is written as bytecode.
"""

from __future__ import annotations

import tileir
from tileir.bytecode.annotated import annotate
from tileir.bytecode.primitives import BytecodeError
from tileir.bytecode.reader import read_public
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import TextLocation
from tileir.ir.quoting import is_control
from tileir.ir.traversal import structurally_equal
from tileir.text.printer import print_disassembly


def examine_bytecode(data: bytes, thorough: bool = True) -> str:
    """Read a file: "refused" or "valid"; `thorough` also takes it apart byte by byte."""
    if thorough:
        fields = annotate(data, "public").fields()
        assert [piece.start for piece in fields[1:]] == [piece.end for piece in fields[:-1]], "the dump has gaps"
        assert not data or (fields[0].start, fields[-1].end) == (0, len(data)), "the dump does not cover the file"
    try:
        module = read_public(data)
        tileir.verify(module)
    except tileir.TileIRError as error:
        assert_shown(error.diagnostics)
        return "refused"
    disassembly = print_disassembly(module, True)
    assert_printed(module)
    written = tileir.from_bytecode(tileir.to_bytecode(module, preserve=True), layout="public")
    assert print_disassembly(written, True) == disassembly, "written back it reads differently"
    written = tileir.from_bytecode(written_afresh(module), layout="public")
    # Early versions have no place for the producer, though their reader takes one.
    assert without_producer(print_disassembly(written, True)) == without_producer(disassembly), (
        "written it reads differently"
    )
    return "valid"


def written_afresh(module: tileir.Operation) -> bytes:
    try:
        return tileir.to_bytecode(module)
    except tileir.BytecodeError as error:
        # A reader takes keywords of later versions than the file's own, a writer makes no such file.
        if "is not available in bytecode version" not in str(error):
            raise
        return tileir.to_bytecode(module, version="13.4")


def without_producer(disassembly: str) -> str:
    first, newline, rest = disassembly.partition("\n")
    return rest if first.startswith("// Producer: ") else first + newline + rest


def examine_text(text: str) -> str:
    """Read a text: "refused", "invalid" or "valid"."""
    try:
        module = tileir.parse(text)
    except tileir.ParseError as error:
        assert_well_formed(error.diagnostics, text)
        return "refused"
    try:
        tileir.verify(module)
    except tileir.VerifyError as error:
        assert_well_formed(error.diagnostics, text)
        return "invalid"
    assert_printed(module)
    try:
        data = tileir.to_bytecode(module)
    except BytecodeError as error:
        # Much has no place in bytecode, which is told.
        assert_shown(error.diagnostics)
    else:
        tileir.from_bytecode(data)
    return "valid"


def assert_printed(module: Operation) -> None:
    for generic in (False, True):
        again = tileir.parse(module.text(generic=generic))
        # Bits that an element of a small constant does not have are the one thing that no text can say.
        same = structurally_equal(module, again) or module.text(generic=True) == again.text(generic=True)
        assert same, f"printed with generic={generic} it reads differently"


def assert_shown(diagnostics: list[Diagnostic]) -> None:
    """At least one error; every finding says something and can be shown."""
    assert any(diagnostic.severity == "error" for diagnostic in diagnostics), "no error"
    for diagnostic in diagnostics[:100]:
        assert diagnostic.message, "an empty message"
        shown = diagnostic.render()
        assert not any(is_control(c) and c not in "\n\t" for c in shown)


def assert_well_formed(diagnostics: list[Diagnostic], text: str) -> None:
    """The same, and every position lies in the text."""
    assert_shown(diagnostics)
    lines = text.split("\n")
    for diagnostic in diagnostics:
        for finding in (diagnostic, *diagnostic.notes):
            if isinstance(finding.location, TextLocation):
                _, line, column = finding.position
                assert 1 <= line <= len(lines)
                assert 1 <= column <= len(lines[line - 1]) + 1
