"""`tileir diff`: what is different about two programs, in structure and in what they compute."""

from __future__ import annotations

import json
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING

from tileir.analyze.difference.difference import ProgramDifference
from tileir.dialect.ops import ENTRY
from tileir.execute.arguments.argument_text import LaunchDescription, grid_of, natural, stated_launch
from tileir.execute.engine.registry import AUTO, find_engine
from tileir.ir.quoting import harmless
from tileir.ir.traversal import functions
from tileir.terminal import Progress
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_USAGE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, print_diagnostics, refusing
from tileir.tools.guard import run_in_child
from tileir.tools.input import Program, read_program
from tileir.tools.launches import given_launch

if TYPE_CHECKING:
    from tileir.analyze.difference.semantic import SemanticDifference
    from tileir.ir.core import Operation

_ENTRY = options.ENTRY.with_help("the kernel to run (default: all that both have)")
_RUNNING = (
    Option("--runs N", "how often, with other random arguments each time (default: 3)"),
    Option("--seed N", "of random arguments (default: 0)"),
    options.GRID,
    options.ARG,
    options.BACKEND,
)
_EITHER = (_ENTRY, options.TIMEOUT)  # of --semantic or --prove
USAGE = Usage(
    "tileir diff",
    "FILE|SCRIPT.py OTHER",
    (
        "tileir opt -O3 examples/softmax.mlir | tileir diff -u examples/softmax.mlir -",
        "tileir opt -O3 examples/softmax.mlir | tileir diff --semantic examples/softmax.mlir -",
    ),
    (
        Option("-u, --unified", "one below the other, as diff -u (default: side by side)"),
        Option("-s, --summary", "one sentence"),
        options.JSON,
        Option("--context LINES", "how many lines to show around differences, or all (default: 3)"),
        Option("--ignore-names", "names do not count: of functions, and those given to values"),
        Option("--locations", "locations that the programs state count, too"),
        Option("--semantic", "run both on the same arguments, and show which results differ and where that begins"),
        Option("--prove", "prove that both compute the same for all inputs, or show a launch in which they do not"),
        *_RUNNING,
        *_EITHER,
        *options.READING,
    ),
    """\
Both are text or bytecode, of any version; one of them may be '-' for standard input. A SCRIPT.py that launches one
cuTile kernel is run on this machine, as by tileir emulate. Operations go together by what they are computed from and
what they are used for, functions by name. Signs between the columns: | changed, < removed, > added, ^ and v moved: they
point to where the operation is in the other program.

With --semantic arguments are those of --grid and --arg, else those that a comment at the top of a program states, else
random ones that are found by trying. Only results count then, also for the exit status. With --prove the status is 0
only for programs that are proved equivalent; it needs z3 (pip install 'tileir[prove]').""",
    statuses={
        0: "there is no difference",
        1: "there are differences",
        2: "a program or the command line is wrong, or a file cannot be read",
        124: "stopped by --timeout",
    },
)
_WIDTH_OF_A_PIPE = 160


@command(USAGE)
def run(given: Arguments) -> int:
    format = given.only_one("unified", "summary", "json")
    text = given.value("context", "3")
    context = None if text == "all" else natural(text)
    if text != "all" and context is None:
        raise ToolFailure(f"'{text}' is no number of lines: give one, or all")
    about = given.only_one("semantic", "prove")
    if about != "semantic":
        given.refuse([option.name for option in _RUNNING], "is about running the programs: add --semantic")
    if not about:
        given.refuse([option.name for option in _EITHER], "is about what programs compute: add --semantic or --prove")
    elif format in ("unified", "summary"):
        raise ToolFailure(f"--{about} shows results, and --{format} the programs")
    grid_of(given.value("grid", "1"))
    work = partial(_compare, given, format, context)
    seconds = given.seconds("timeout")
    # A run can be ended at any time only with its process.
    return run_in_child(given, work, seconds) if seconds else work()


def _compare(given: Arguments, format: str, context: int | None) -> int:
    if given.operands == ["-", "-"]:
        raise ToolFailure("standard input can be one of the programs, not both")
    choose = "'tileir as {} --launch N -o k.tileirbc'"
    try:
        left, right = [read_program(path, given, choose=choose.format(path)) for path in given.operands]
    except ToolFailure as failure:
        # Not status 1: as with diff, it means that there are differences.
        raise ToolFailure(failure.message, help=failure.help) from None
    print_diagnostics([*left.diagnostics, *right.diagnostics], given)
    if left.module is None or right.module is None:
        return EXIT_USAGE
    if given.has("prove"):
        return _prove(given, left.module, right.module, format)
    names, titles = not given.has("ignore-names"), (given.operands[0], given.operands[1])
    locations = given.has("locations")
    difference = ProgramDifference(left.module, right.module, names=names, locations=locations, titles=titles)
    if given.has("semantic"):
        with Progress() as progress:
            progress.step("running both programs")
            found = _run_both(given, difference, left, right)
        print(json.dumps(found.to_dict()) if format == "json" else harmless(found.text(), keep="\n"))
        return EXIT_WRONG_INPUT if found else EXIT_FINE
    color = given.wants_color(sys.stdout)
    if format == "json":
        print(json.dumps(difference.to_dict()))
    elif format == "summary":
        print(harmless(difference.summary()))
    elif difference and format == "unified":
        sys.stdout.write(difference.unified(color, context))
    elif difference:
        width = max(shutil.get_terminal_size((_WIDTH_OF_A_PIPE, 24)).columns, 40)
        print(difference.side_by_side(width, color, context), harmless(difference.summary()), sep="\n")
    return EXIT_WRONG_INPUT if difference else EXIT_FINE


def _prove(given: Arguments, left: Operation, right: Operation, format: str) -> int:
    """Print whether the programs are equivalent."""
    with Progress() as progress, refusing():
        from tileir.proofs.equivalence.verdict import equivalent

        progress.step("proving that both programs compute the same")
        found = equivalent(left, right, entry=given.value("entry") or None)
    print(json.dumps(found.to_dict()) if format == "json" else harmless(str(found)))
    return EXIT_FINE if found.verdict == "proved" else EXIT_WRONG_INPUT


def _run_both(given: Arguments, difference: ProgramDifference, left: Program, right: Program) -> SemanticDifference:
    """Compare what the programs compute."""
    backend = given.value("backend", AUTO)
    if backend != AUTO:
        find_engine(backend)
    launches: dict[str, LaunchDescription] = {}
    for kernel in functions(difference.left):
        name = kernel.symbol_name or ""
        partner = difference.partner(kernel)
        stated = stated_launch(left.text, name)
        if stated is None and partner is not None:
            stated = stated_launch(right.text, partner.symbol_name)
        if given.has("arg") or given.has("grid"):
            stated = given_launch(given, left)
            if not stated.arguments and kernel.regions[0].blocks[0].arguments:
                raise ToolFailure("--grid alone is no launch: give --arg for each parameter, too")
        if kernel.declaration is ENTRY and stated is not None:
            launches[name] = stated
    runs, seed, entry = given.number("runs", 3), given.number("seed", 0, least=0), given.value("entry") or None
    with refusing():
        return difference.semantic(runs=runs, seed=seed, backend=backend, entry=entry, launch=launches)
