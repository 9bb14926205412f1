"""Bytecode in an editor: as the text of the program it holds.

An editor with an extension asks for that text (`tileir/disassemble`) and shows it as a document that cannot be changed,
of the scheme `tileirbc:`; to the server it is a document like others.  An editor without one opens the bytes
themselves, which make no sense as text: then the remedy is said, and nothing else.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from lsprotocol import types as lsp

from tileir.bytecode import MAGIC, is_bytecode
from tileir.bytecode.layouts import from_bytes
from tileir.bytecode.primitives import BytecodeError
from tileir.ir.diagnostics import TileIRError
from tileir.serve.language.document import Document
from tileir.serve.language.navigation import path_of
from tileir.text.printer import print_disassembly

DISASSEMBLE: Final = "tileir/disassemble"
_MAGIC: Final = MAGIC.rstrip(b"\0").decode("latin-1")


def disassemble(uri: str) -> str:
    """The text of a bytecode file; of one that cannot be read, why not, as comments."""
    path = path_of(uri)
    if not path:
        return _comments(f"{uri} is no file of this machine")
    try:
        data = _content(path)
    except (OSError, ValueError) as error:
        return _comments(f"{path} cannot be read: {error}")
    if not is_bytecode(data):
        return _comments(f"{path} is no Tile IR bytecode")
    try:
        return print_disassembly(from_bytes(data))
    except (BytecodeError, TileIRError) as error:
        return _comments(f"{path} cannot be decoded:\n{error}")


def _content(path: str) -> bytes:
    """What a file holds.  An editor waits meanwhile: pipes and devices, which may never end, are not read."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError("it is no regular file")
    with open(path, "rb") as file:
        head = file.read(len(MAGIC))
        return head + file.read() if is_bytecode(head) else head


def _comments(text: str) -> str:
    return "".join([f"// {line}\n" for line in text.splitlines()])


def is_bytecode_document(document: Document) -> bool:
    """Whether the bytes of a bytecode file were opened as text."""
    return document.text.startswith(_MAGIC)


def bytecode_diagnostics(document: Document) -> list[lsp.Diagnostic]:
    """What is said about bytes that were opened as text."""
    message = (
        "this is bytecode, not text: 'tileir dis FILE -o FILE.mlir' writes its program as text, and the extension for "
        "Visual Studio Code shows it"
    )
    return [
        lsp.Diagnostic(
            document.range(0, len(_MAGIC)),
            message,
            severity=lsp.DiagnosticSeverity.Information,
            code="bytecode",
            source="tileir",
        )
    ]
