"""A whole text into a module."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.collector import CollectorPaused
from tileir.dialect.ops import BUILTIN_MODULE, ENTRY, GLOBAL, MODULE
from tileir.ir.attributes import string_attribute
from tileir.ir.core import NO_ATTRIBUTES, Block, Operation, Region
from tileir.ir.diagnostics import Diagnostic, ParseError, has_errors
from tileir.ir.hooks import HOOKS
from tileir.ir.location import CharacterLocation, SourceText, file_location
from tileir.ir.versions import NEWEST, Version
from tileir.text.lexer import TOKEN
from tileir.text.operation_parser import OperationParser
from tileir.text.values import StopParsing

# In a shorter text few statements are so alike that it is worth finding out.
LONG_TEXT = 1 << 15
# The largest share of different lines with which it is, names aside, in long texts and in still longer ones.
DIFFERENT_LINES = (0.6, 0.85)
_LONGER_TEXT: Final = 1 << 20
# So few lines say nothing about the others.
FEW_LINES = 12
# Lines are looked at in so many places, and so many characters in each.
_PLACES: Final = 12
_AT_A_PLACE: Final = 1 << 9
# The largest share of different lines with which a text says whole functions again, and how far it is looked at.
_DIFFERENT_WITH_NAMES: Final = 0.4
_FIRST_PART: Final = 1 << 17
# With more comments than one in so many lines hardly anything between two names is as it was before.
_COMMENTED: Final = 8

_PRODUCER = "// Producer: "
_BYTE_ORDER_MARK = "\ufeff"


def _print_when_asked(operation: object, generic: bool, debug_info: bool, names: str, version: str | None) -> str:
    # Reading needs no printer; what was read is printed all the same when somebody asks.
    from tileir.text.printer import print_for_core

    return print_for_core(operation, generic, debug_info, names, version)


HOOKS.print_operation = _print_when_asked


def generic_form(parser: OperationParser, name: str) -> Operation:
    # Imported here: people and most tools write the custom form.
    from tileir.text.generic import parse_generic

    return parse_generic(parser, name)


class ReadText:
    """What came of a text: the module if it could be read, and everything there is to say about it.

    `complete` says whether the module is all of the text: what is read for an editor may lack what is broken.
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
    text is broken: operations with mistakes are missing in it, and what they would have defined is a value that no
    operation has.
    """
    if not text.isascii():
        # Editors on Windows put a byte order mark before a text: no part of it, and no column of its first line.
        text = text.removeprefix(_BYTE_ORDER_MARK)
        try:
            # What is no text at all is refused here, so that every string can be printed.
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        except UnicodeEncodeError as failure:
            place = CharacterLocation(SourceText(text, name, TOKEN, first_line), 0, failure.start)
            return ReadText(None, [Diagnostic("error", "text has half of a surrogate pair", place)])
    if len(text) >= LONG_TEXT and has_alike_lines(text):
        # Imported here: most texts are short.
        from tileir.text.pieces import pieces_of
        from tileir.text.repeating_text import RepeatingTextParser

        parser: OperationParser = RepeatingTextParser(
            text,
            pieces_of(text),
            name,
            version,
            allow_unregistered,
            first_line,
            recover,
            testing,
            draft_spellings,
            generic_form,
        )
    else:
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


def has_alike_lines(text: str) -> bool:
    """Whether the lines of a long text are so much alike that it is read faster by their shapes."""
    import re

    if "//" in text and text.count("//") * _COMMENTED > text.count("\n"):
        return False
    step = max(len(text) // _PLACES, _AT_A_PLACE)
    lines: list[str] = []
    for start in range(0, len(text), step):
        lines += re.sub(r"%[\w$.\-#]+", "%", text[start : start + _AT_A_PLACE]).split("\n")[1:-1]
    if len(lines) < FEW_LINES:
        return False
    if len(set(lines)) <= DIFFERENT_LINES[len(text) >= _LONGER_TEXT] * len(lines):
        return True
    # Nothing in a few places tells that functions come again: their lines are the same then, names and all.
    lines = text[:_FIRST_PART].split("\n")
    return len(set(lines)) <= _DIFFERENT_WITH_NAMES * len(lines)


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
    """The module a text describes; every mistake in it is in the `ParseError`."""
    found = read_text(text, name, version=version, allow_unregistered=allow_unregistered)
    if found.module is None:
        raise ParseError([d for d in found.diagnostics if d.severity == "error"])
    return found.module
