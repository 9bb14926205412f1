"""`tileir format`: lays out texts, keeping names, aliases and comments."""

from __future__ import annotations

import os
import re
import sys
from functools import partial

from tileir.bytecode import is_bytecode
from tileir.ir.quoting import harmless, several
from tileir.program_files import ProgramFiles
from tileir.terminal import tracked
from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, complain, finish
from tileir.tools.input import decode, may_be_program, name_of, no_program, read_bytes, refuse_source
from tileir.tools.options import QUIET
from tileir.tools.output import write_output

# A tile program among files that nobody has named: other dialects share the extension.
_PROGRAM = re.compile(r'^[ \t]*(?:cuda_tile\.)?(?:module|entry)[ \t]+@|"cuda_tile\.module"', re.MULTILINE)

USAGE = Usage(
    "tileir format",
    "FILE...",
    ("tileir format --diff examples/softmax.mlir", "tileir format --check examples"),
    (
        Option("--check", "write nothing: name the files that would change, and fail if there are any"),
        Option("--diff", "write nothing: show what would change, and fail if anything would"),
        QUIET,
    ),
    """\
One operation is on a line, with two spaces for each level and blanks as NVIDIA's tools print them. Only blanks and line
ends change: the program, its names, aliases and comments stay. ('tileir opt -O0 FILE' prints a program in canonical
form, with the printer's own names and without comments.)

FILE is replaced, when the new text is complete. '-' is standard input, whose result goes to standard output; a
directory or a pattern such as 'kernels/**/*.mlir' stands for the tile programs in it: bytecode, links and texts of
other dialects are passed over. A text with syntax errors is left as it is: 'tileir check' shows all of them.""",
    statuses={1: "a text has syntax errors, or --check or --diff found something to change"},
)


@command(USAGE)
def run(given: Arguments) -> int:
    mode, quiet = given.only_one("check", "diff"), given.has("quiet")
    files = ProgramFiles(given.operands)
    for _, why in files.failures:
        complain(given, ToolFailure(why))
    outcomes: list[bool] = []

    def work(path: str) -> None:
        found = _formatted(path, mode, quiet, path not in given.operands)
        outcomes.extend([] if found is None else [found])

    paths = tracked(files.paths, len(files.paths), "files", is_quiet=quiet)
    status = max([finish(given, partial(work, path)) for path in paths], default=EXIT_FINE)
    changed, total = sum(outcomes), len(outcomes)
    if mode and changed:
        status = max(status, EXIT_WRONG_INPUT)
    if not quiet and "-" not in files.paths and mode != "diff":
        unchanged = f"{several(total - changed, 'file')} already laid out" if total else "no texts"
        rest = f", {total - changed} already laid out" if total > changed else ""
        verb = "would change" if mode else "changed"
        print(f"{several(changed, 'file')} {verb}{rest}" if changed else unchanged)
    return EXIT_USAGE if files.failures else status


def _formatted(path: str, mode: str, quiet: bool, searched: bool) -> bool | None:
    """Whether a text changes; None for bytecode, and for what was found and is no tile program of its own."""
    from tileir.serve.language.editing.layout import laid_out
    from tileir.text.reading import read_text
    from tileir.tools.programs.lint import difference

    refuse_source(path, "'tileir opt {}' prints the program of its kernel")
    data = read_bytes(path)
    name = name_of(path)
    if is_bytecode(data):
        if path == "-":
            raise ToolFailure("standard input is bytecode, which has no layout: 'tileir dis' prints it")
        return None
    text = decode(data, name)
    if searched and (os.path.islink(path) or not _PROGRAM.search("\n".join(text.split("\n", 200)[:200]))):
        return None
    # As every formatter does: a text that cannot be parsed has no known structure.
    errors = [each for each in read_text(text, name, allow_unregistered=True).diagnostics if each.severity == "error"]
    if errors and not may_be_program(text, name):
        raise no_program(data, name)
    if errors:
        raise ToolFailure(f"'{name}' is left as it is: {errors[0]}", EXIT_WRONG_INPUT)
    new = laid_out(text)
    if path == "-" and not mode:
        sys.stdout.write(new)
    elif new != text and mode == "diff":
        shown = name.replace(os.sep, "/")
        sys.stdout.write(harmless(difference(text, new, f"a/{shown}", f"b/{shown}").replace("\r\n", "\n"), "\n"))
    elif new != text:
        if not mode:
            write_output(path, new)
        if not quiet:
            print(f"{'would change' if mode else 'changed'}: {harmless(name)}")
    return new != text
