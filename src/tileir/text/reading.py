"""Entry point of the parser: a whole text into a module."""

from __future__ import annotations

from tileir.collector import CollectorPaused
from tileir.dialect.ops import BUILTIN_MODULE, ENTRY, GLOBAL, MODULE
from tileir.ir.attributes import string_attribute
from tileir.ir.core import NO_ATTRIBUTES, Block, Operation, Region
from tileir.ir.diagnostics import Diagnostic, ParseError, has_errors
from tileir.ir.interning import HOOKS
from tileir.ir.location import CharacterLocation, SourceText, file_location
from tileir.ir.versions import NEWEST, Version
from tileir.text.lexer import TOKEN
from tileir.text.operation_parser import OperationParser
from tileir.text.values import StopParsing

_PRODUCER = "// Producer: "
_BYTE_ORDER_MARK = "\ufeff"


def _print_when_asked(operation: object, generic: bool, debug_info: bool, names: str, version: str | None) -> str:
    # Imported here: reading needs no printer.
    from tileir.text.printer import print_for_core

    return print_for_core(operation, generic, debug_info, names, version)


HOOKS.print_operation = _print_when_asked


def generic_form(parser: OperationParser, block: Block) -> Operation:
    # Imported here: people and most tools write the custom form.
    from tileir.text.generic import parse_generic

    return parse_generic(parser, block)


class ReadText:
    """The module of a text, if it could be read, and the diagnostics.

    `complete` is false where the module, read for an editor, lacks what is broken.
    """

    __slots__ = ("complete", "diagnostics", "module")

    def __init__(self, module: Operation | None, diagnostics: list[Diagnostic], complete: bool = True) -> None:
        self.module: Operation | None = module
        self.diagnostics: list[Diagnostic] = diagnostics
        self.complete: bool = complete


def read_text(
    text: str,
    name: str = "-",
    *,
    version: Version = NEWEST,
    allow_unregistered: bool = False,
    first_line: int = 1,
    recover: bool = True,
    testing: bool = False,
    draft_spellings: bool = True,
    implicit_module: bool = False,
    partial: bool = False,
) -> ReadText:
    """Read a text; `implicit_module` always puts a builtin.module around it, as MLIR's tools do.

    Otherwise a text that is one module is that module, and bare entries and globals (what NVIDIA's disassembler
    prints) are put into a `cuda_tile.module @kernels`.  With `partial`, for editors, there is a module also where the
    text is broken: it lacks the operations with errors, and what they would have defined is a value of no operation.
    """
    if not text.isascii():
        # A byte order mark, as editors on Windows write it, is no column of the first line.
        text = text.removeprefix(_BYTE_ORDER_MARK)
        try:
            # Refused here, so that every string can be printed.
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        except UnicodeEncodeError as failure:
            place = CharacterLocation(SourceText(text, name, TOKEN, first_line), 0, failure.start)
            return ReadText(None, [Diagnostic("error", "text has half of a surrogate pair", place)])
    parser = OperationParser(
        text, name, version, allow_unregistered, first_line, recover, testing, draft_spellings, generic_form
    )
    if implicit_module:
        # As in MLIR's tools, only a cuda_tile module lets its contents leave the prefix out.
        parser.dialects = ["builtin"]
    block = Block()
    try:
        with CollectorPaused():
            parser.parse_top_level(block)
    except StopParsing:
        return ReadText(None, parser.diagnostics)
    if has_errors(parser.diagnostics):
        module = wrap_top_level(block, parser.source, implicit_module) if partial else None
        return ReadText(module, parser.diagnostics, False)
    return ReadText(wrap_top_level(block, parser.source, implicit_module), parser.diagnostics)


def wrap_top_level(block: Block, source: SourceText, implicit_module: bool) -> Operation:
    first = block.first
    if first is not None and first.next is None:
        if first.declaration is BUILTIN_MODULE or (first.declaration is MODULE and not implicit_module):
            first.detach()
            return first
    # MLIR places the module it adds at 0:0.
    location = file_location(source.name, 0, 0) if implicit_module else CharacterLocation(source, 0, 0)
    bare = all(operation.declaration in (ENTRY, GLOBAL) for operation in block)
    if bare and not implicit_module:
        attributes = {"sym_name": string_attribute("kernels")}
        text = source.text
        if text.startswith(_PRODUCER):
            line = text[len(_PRODUCER) : text.find("\n")] if "\n" in text else text[len(_PRODUCER) :]
            attributes["producer"] = string_attribute(line)
        return Operation(MODULE, [], [], dict(attributes), [Region([block])], location)
    return Operation(BUILTIN_MODULE, [], [], NO_ATTRIBUTES, [Region([block])], location)


def parse_text(text: str, name: str = "-", version: Version = NEWEST, allow_unregistered: bool = False) -> Operation:
    """The module a text describes; all errors in it are in the `ParseError`."""
    found = read_text(text, name, version=version, allow_unregistered=allow_unregistered)
    if found.module is None:
        raise ParseError([d for d in found.diagnostics if d.severity == "error"])
    return found.module
