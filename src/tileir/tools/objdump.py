"""`tileir objdump`: every byte of a bytecode file, explained."""

from __future__ import annotations

import sys

from tileir.analyze.bytecode_listing import Listing, meaning_of
from tileir.bytecode.annotated import Annotated, Node, annotate
from tileir.bytecode.layouts import LAYOUTS
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import has_errors
from tileir.ir.quoting import harmless
from tileir.ir.verifier import verify_operation
from tileir.text.listing import FirstLinePrinter
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, OVERWRITE, Option, Usage
from tileir.tools.output import protect_input, write_output
from tileir.tools.programs import BYTECODE, guarded, not_bytecode, read_bytes, refuse_script

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


def run(arguments: list[str]) -> int:
    return guarded("tileir objdump", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    refuse_script(given.operands[0], "'tileir as {} -o k.tileirbc' writes the program of its kernel")
    data = read_bytes(given.operands[0])
    found = annotate(data, given.options.get("layout"))
    messages = list(found.messages)
    if found.module is not None:
        context = VerifyContext(first_only=True)
        verify_operation(found.module, context)
        if has_errors(context.diagnostics):
            messages = [diagnostic.message for diagnostic in context.diagnostics]
    printer = FirstLinePrinter(found.module, generic=bool(messages))
    if given.has("json"):
        output = _json(found, printer)
    else:
        output = "\n".join([*Listing(found, printer).lines(), ""])
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


def _json(found: Annotated, printer: FirstLinePrinter) -> str:
    """Each node on a line of its own, groups before what is in them."""
    import json

    lines: list[str] = []
    waiting: list[tuple[Node, str]] = [(node, "") for node in reversed(found.nodes)]
    while waiting:
        node, outer = waiting.pop()
        path = f"{outer}/{node.name}" if outer else node.name
        record: dict[str, object] = {
            "offset": node.start,
            "length": node.end - node.start,
            "path": path,
            "group": bool(node.children),
            "value": node.value,
            "meaning": meaning_of(node, printer),
        }
        lines.append(json.dumps(record))
        waiting.extend([(child, path) for child in reversed(node.children)])
    return "[\n" + ",\n".join(lines) + "\n]\n"
