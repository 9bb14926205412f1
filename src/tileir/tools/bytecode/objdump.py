"""`tileir objdump`: every byte of a bytecode file, explained."""

from __future__ import annotations

import sys

from tileir.analyze.bytecode_listing import Listing, meaning_of
from tileir.bytecode.annotated import Annotated, Node, annotate
from tileir.ir.declaration import VerifyContext
from tileir.ir.diagnostics import has_errors
from tileir.ir.quoting import harmless
from tileir.ir.verifier import verify_operation
from tileir.text.listing import FirstLinePrinter
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Usage
from tileir.tools.command import command
from tileir.tools.input import BYTECODE, not_bytecode, read_bytes, refuse_source
from tileir.tools.options import JSON, LAYOUT, OUTPUT
from tileir.tools.output import protect_input, write_output

USAGE = Usage(
    "tileir objdump",
    "FILE",
    ("tileir objdump matmul.tileirbc", "tileir objdump --json matmul.tileirbc"),
    (
        JSON.with_help("print a JSON list: offset, length, path, value and meaning of each field and group"),
        OUTPUT,
        LAYOUT,
    ),
    """\
FILE may be '-' for standard input. A file that cannot be decoded is shown as far as it can, then the messages of the
reader.""",
)


@command(USAGE)
def run(given: Arguments) -> int:
    path = given.operands[0]
    refuse_source(path, "'tileir as {} -o k.tileirbc' writes the program of its kernel")
    data = read_bytes(path)
    found = annotate(data, given.options.get("layout"))
    messages = list(found.messages)
    if found.module is not None:
        context = VerifyContext(first_only=True)
        verify_operation(found.module, context)
        if has_errors(context.diagnostics):
            messages = [diagnostic.message for diagnostic in context.diagnostics]
    printer = FirstLinePrinter(found.module, generic=bool(messages))
    hint = not_bytecode(data, path)
    if hint is None:
        # Nothing to list in any other kind of file.
        output = given.value("output", "-")
        protect_input(output, path, (BYTECODE, "a listing"))
        listing = _json(found, printer) if given.has("json") else "\n".join([*Listing(found, printer).lines(), ""])
        write_output(output, listing)
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
        record: dict[str, object] = {"offset": node.start, "length": node.end - node.start, "path": path}
        record |= {"group": bool(node.children), "value": node.value, "meaning": meaning_of(node, printer)}
        lines.append(json.dumps(record))
        waiting.extend([(child, path) for child in reversed(node.children)])
    return "[\n" + ",\n".join(lines) + "\n]\n"
