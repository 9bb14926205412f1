"""`tileir objdump`: every byte of a bytecode file, explained."""

from __future__ import annotations

import sys

from tileir.bytecode.annotated import Annotated, Piece, annotate
from tileir.bytecode.layouts import LAYOUTS
from tileir.ir.diagnostics import has_errors
from tileir.ir.escapes import harmless
from tileir.ir.verifier import VerifyContext, verify_operation
from tileir.text.heads import HeadPrinter
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Option, Usage
from tileir.tools.output import OVERWRITE, protect_input, write_output
from tileir.tools.programs import BYTECODE, guarded, not_bytecode, read_bytes

USAGE = Usage(
    "tileir objdump",
    "Shows every byte of a bytecode file with the field it belongs to and what it means.",
    "FILE",
    (
        Option("json", "print a JSON list: offset, length, path, value and meaning of each field and group"),
        Option("output", "where to write (default: standard output)", value="OUT", short="o"),
        Option("layout", "read the file in this layout (default: recognized by content)", choices=LAYOUTS),
        OVERWRITE,
    ),
    details="FILE may be '-' for standard input. A file that cannot be decoded is shown as far as it can, then the\n"
    "messages of the reader. Exit status: 0 fine, 1 the file cannot be decoded or its program breaks a rule, 2 the\n"
    "command line is wrong or a file cannot be read or written.",
)

_WIDTH = 120
_BYTES_IN_A_LINE = 8
_BYTES_WIDTH = 3 * _BYTES_IN_A_LINE - 1
_TEXT_WIDTH = _WIDTH - 8 - 2 - _BYTES_WIDTH - 2
_NAME_WIDTH = 34
_MOST_NAME = 50
_MOST_INDENT = 20
# Of a field that takes more lines of bytes than this the middle is left out.
_MOST_ROWS = 16


def run(arguments: list[str]) -> int:
    return guarded("tileir objdump", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    data = read_bytes(given.operands[0])
    found = annotate(data, given.options.get("layout"))
    messages = list(found.messages)
    if found.module is not None:
        context = VerifyContext(first_only=True)
        verify_operation(found.module, context)
        if has_errors(context.diagnostics):
            messages = [diagnostic.message for diagnostic in context.diagnostics]
    printer = HeadPrinter(found.module, generic=bool(messages))
    if given.has("json"):
        output = _json(found, printer)
    else:
        output = "\n".join([*_Listing(found, printer).lines(), ""])
    hint = not_bytecode(data, given.operands[0])
    if hint is None:
        # The bytes of anything else say nothing.
        protect_input(given, given.value("output", "-"), given.operands[0], (BYTECODE, "a listing"))
        write_output(given.value("output", "-"), output)
    for message in messages:
        print("error: " + harmless(message, keep="\n\t"), file=sys.stderr)
    if hint is not None:
        print(harmless(hint), file=sys.stderr)
    return EXIT_WRONG_INPUT if messages else EXIT_FINE


def meaning_of(piece: Piece, printer: HeadPrinter) -> str:
    """What a piece stands for, in words."""
    if piece.operation is not None:
        return printer.head(piece.operation)
    if piece.operand is not None:
        return f"{printer.name(piece.operand)} : {piece.operand.type.spelling}"
    return piece.meaning


class _Listing:
    """The dump as lines: offset, bytes, name by depth, number, meaning."""

    def __init__(self, found: Annotated, printer: HeadPrinter) -> None:
        self.found: Annotated = found
        self.printer: HeadPrinter = printer
        self.failed: bool = False
        self.out: list[str] = []

    def lines(self) -> list[str]:
        found = self.found
        self.out.append(f"{len(found.data)} bytes, {found.layout} layout")
        waiting: list[tuple[Piece, int]] = [(piece, 0) for piece in reversed(found.pieces)]
        while waiting:
            piece, depth = waiting.pop()
            if not piece.children:
                self._failure(piece.start)
            self._piece(piece, depth)
            waiting.extend([(child, depth + 1) for child in reversed(piece.children)])
        self._failure(len(found.data))
        return self.out

    def _failure(self, position: int) -> None:
        """Say where reading ended, before the first byte that was not read."""
        found = self.found
        if found.messages and not self.failed and position >= found.failure:
            self.failed = True
            for message in found.messages:
                rows = _wrapped(message, _WIDTH - 14)
                self.out.append(f"{found.failure:08x}  *** {rows[0]}")
                self.out.extend([f"{'':14}{row}" for row in rows[1:]])

    def _piece(self, piece: Piece, depth: int) -> None:
        indent = " " * min(2 * depth, _MOST_INDENT)
        meaning = meaning_of(piece, self.printer)
        if piece.children:
            if not depth:
                self.out.append("")
            text = f"{piece.name}: {meaning}" if meaning else piece.name
            size = f"{piece.end - piece.start} bytes".rjust(_BYTES_WIDTH)
            rows = _wrapped(text, _TEXT_WIDTH - len(indent))
            self._row(f"{piece.start:08x}", size, indent + rows[0])
            for row in rows[1:]:
                self._row("", "", f"{indent}  {row}")
            return
        number = "" if piece.value is None else str(piece.value)
        if meaning and number:
            meaning = f"{number:<5} {meaning}"
        name = f"{indent}{piece.name}"
        name = (name if len(name) <= _MOST_NAME else name[: _MOST_NAME - 3] + "...").ljust(_NAME_WIDTH) + "  "
        texts = _wrapped(meaning or number, _TEXT_WIDTH - len(name))
        data = self.found.data[piece.start : piece.end]
        count = (len(data) + _BYTES_IN_A_LINE - 1) // _BYTES_IN_A_LINE
        for index in range(max(count, len(texts))):
            start = index * _BYTES_IN_A_LINE
            if count > _MOST_ROWS and _MOST_ROWS - 2 < index < count - 1:
                if index == _MOST_ROWS - 1:
                    self._row("...", f"{count - _MOST_ROWS} lines like this", "")
                continue
            text = texts[index] if index < len(texts) else ""
            offset = f"{piece.start + start:08x}" if index < count else ""
            row = data[start : start + _BYTES_IN_A_LINE].hex(" ")
            self._row(offset, row, name + text if index == 0 else " " * len(name) + text)

    def _row(self, offset: str, data: str, text: str) -> None:
        self.out.append(f"{offset:8}  {data:{_BYTES_WIDTH}}  {text}".rstrip())


def _wrapped(text: str, width: int) -> list[str]:
    """A text as lines of a width, broken at blanks where there are any; the first may be longer by the indent."""
    text = _printable(text)
    rows: list[str] = []
    while len(text) > width and len(rows) < _MOST_ROWS:
        blank = text.rfind(" ", width // 2, width)
        end = blank + 1 if blank > 0 else width
        rows.append(text[:end])
        text = text[end:]
        if len(rows) == 1:
            width -= 2
    rows.append(text if len(text) <= width else "...")
    return rows


def _printable(text: str) -> str:
    return "".join([c if c.isprintable() else "?" for c in text])


def _json(found: Annotated, printer: HeadPrinter) -> str:
    """Each piece on a line of its own, groups before what is in them."""
    import json

    lines: list[str] = []
    waiting: list[tuple[Piece, str]] = [(piece, "") for piece in reversed(found.pieces)]
    while waiting:
        piece, outer = waiting.pop()
        path = f"{outer}/{piece.name}" if outer else piece.name
        record: dict[str, object] = {
            "offset": piece.start,
            "length": piece.end - piece.start,
            "path": path,
            "group": bool(piece.children),
            "value": piece.value,
            "meaning": meaning_of(piece, printer),
        }
        lines.append(json.dumps(record))
        waiting.extend([(child, path) for child in reversed(piece.children)])
    return "[\n" + ",\n".join(lines) + "\n]\n"
