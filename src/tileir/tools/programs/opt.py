"""`tileir opt`: read a program, verify it, optimize it, print it."""

from __future__ import annotations

import os
import sys
from functools import partial
from itertools import pairwise

from tileir.annotations import TYPE_CHECKING
from tileir.dialect.ops import MODULE
from tileir.ir.core import Operation
from tileir.ir.diagnostics import PassError, TileIRError, note
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless
from tileir.ir.traversal import clone
from tileir.ir.versions import version_text
from tileir.text.printer import print_disassembly, print_operation
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, print_diagnostics, refusing
from tileir.tools.input import TEXT, dialect_version, read_bytes, read_program, script_arguments
from tileir.tools.options import DEBUG_INFO, LAUNCH, OPTIMIZE, OUTPUT, READING, SCRIPT, SCRIPT_ARGUMENTS
from tileir.tools.output import protect_input, write_output

if TYPE_CHECKING:
    from tileir.passes.registry import Step

# What the file of --load has for its `__name__`.
_LOADED = "tileir.loaded"


def passes_help(arguments: list[str]) -> str:
    """The passes, one on each line, for the help; those of files that the command line loads too."""
    from tileir.passes.catalog import ENTRY_POINTS, registered_passes

    loaded = [path for option, path in pairwise(arguments) if option == "--load"]
    loaded += [argument.removeprefix("--load=") for argument in arguments if argument.startswith("--load=")]
    own = len(registered_passes())
    for path in loaded:
        _load(path)
    passes = registered_passes()
    width = max([len(known.name) for known in passes])
    lines = ["passes:"]
    for number, known in enumerate(passes):
        lines += ["", f"passes of {harmless(', '.join(loaded))}:"] if number == own else []
        taken = ",".join([f"{option}={value}" for option, value in known.options.items()])
        summary = f"{known.summary} {{{taken}}}" if taken else known.summary
        lines.append(f"  {harmless(known.name):{width}}  {harmless(summary)}")
    from importlib.metadata import entry_points

    others = [f"  {harmless(f'{point.name} ({point.value})')}" for point in entry_points(group=ENTRY_POINTS)]
    return "\n".join([*lines, *(["", "passes of installed packages:", *others] if others else [])])


USAGE = Usage(
    "tileir opt",
    "FILE|SCRIPT.py",
    (
        "tileir opt -O3 examples/softmax.mlir",
        "tileir opt --passes canonicalize,cse examples/softmax.mlir -o small.mlir",
    ),
    (
        OUTPUT,
        Option("--generic", "print MLIR's generic form"),
        DEBUG_INFO,
        Option("--draft-names", "name constants as the printer draft does, not as NVIDIA's tools do"),
        Option("--disassembly", "print without the enclosing module, as NVIDIA's disassembler does"),
        LAUNCH,
        OPTIMIZE.with_help("optimize at this level, as in -O3"),
        Option("--passes PASSES", "run these passes instead: names with commas, with options as NAME{OPTION=VALUE}"),
        Option("--load FILE.py", "run this Python file first, to register your own passes"),
        Option("--rules parity|full", "NVIDIA's public rules only, or the drafts' as well"),
        Option("--fuse-fma", "with -O, also fuse multiplications and additions, which changes rounding"),
        Option("--prove", "prove that the result computes the same for all inputs; fail if a launch refutes it"),
        Option("--print-after-all", "show the program after each pass, on standard error"),
        Option("--timing", "show the time each pass took, on standard error"),
        Option("--statistics", "show how often each rule fired, on standard error"),
        Option("--trace-rewrites", "show each step of rewriting, before and after, on standard error"),
        Option("--trace-patterns", "show each pattern that did not match, and why, on standard error"),
        *READING,
    ),
    f"""\
{SCRIPT} Its kernel is then read.
{SCRIPT_ARGUMENTS}

FILE may be '-' for standard input. Diagnostics go to standard error. 'tileir docs opt' is about levels, rules
and passes, 'tileir docs writing_passes' about your own; with --load FILE.py this help lists those of the file too.""",
    most=-1,
    more_help=passes_help,
)


@command(USAGE)
def run(given: Arguments) -> int:
    given.only_one("disassembly", "generic")
    given.only_one("disassembly", "draft-names")
    arguments = script_arguments(given)
    rules = given.value("rules", "parity")
    steps = _steps(given, rules)
    program = read_program(given.operands[0], given, arguments)
    module = program.checked(given)
    output = given.value("output", "-")
    protect_input(output, given.operands[0], (program.kind, TEXT))
    before = clone(module) if given.has("prove") else None
    if steps and not _optimize(module, steps, rules, given):
        return EXIT_WRONG_INPUT
    if before is not None and not _proved(before, module):
        return EXIT_WRONG_INPUT
    write_output(output, _text(module, given))
    return EXIT_FINE


def _text(module: Operation, given: Arguments) -> str:
    debug_info, version = given.has("debug-info"), dialect_version(given)
    if not given.has("disassembly"):
        names, generic = "draft" if given.has("draft-names") else "public", given.has("generic")
        return print_operation(module, generic=generic, debug_info=debug_info, names=names, version=version) + "\n"
    contents = [module] if module.declaration is MODULE else list(module.regions[0].blocks[0])
    if len(contents) != 1 or contents[0].declaration is not MODULE:
        raise ToolFailure("'--disassembly' needs a program that is one cuda_tile.module", EXIT_WRONG_INPUT)
    return print_disassembly(contents[0], debug_info, version)


def _steps(given: Arguments, rules: str) -> list[Step]:
    """The passes that a command line requests; without `-O`, `--passes` or `--rules` there are none."""
    for path in given.values("load"):
        _load(path)
    if not (given.has("O") or given.has("passes") or given.has("rules")):
        return []
    if given.has("O") and given.has("passes"):
        raise ToolFailure("'-O' and '--passes' exclude each other")
    from tileir.passes.pipeline import check_steps, passes_of_level
    from tileir.passes.registry import parse_pass, parse_passes

    with refusing():
        if given.has("passes"):
            steps = parse_passes(given.value("passes", ""))
        else:
            names = passes_of_level(int(given.value("O", "3")), rules, given.has("fuse-fma"))
            steps = [parse_pass(name) for name in names]
        check_steps(steps)
    return steps


def _optimize(module: Operation, steps: list[Step], rules: str, given: Arguments) -> bool:
    """Run the passes and print errors; False if there were any."""
    from tileir.passes.pipeline import PassReport, run_steps, run_until_stable
    from tileir.passes.registry import PassOptionError
    from tileir.terminal import Progress

    print_line = partial(print, file=sys.stderr)

    def print_after(name: str, module: Operation) -> None:
        print_line(f"// -----// after {name} //----- //\n{module.text()}")

    report = PassReport(
        verify=True,
        version=version_text(dialect_version(given)),
        statistics=given.has("statistics"),
        after_each=print_after if given.has("print-after-all") else None,
        trace=print_line if given.has("trace-rewrites") else None,
        trace_patterns=print_line if given.has("trace-patterns") else None,
    )
    # What is shown of the passes goes to the same stream.
    shows = any(map(given.has, ("print-after-all", "trace-rewrites", "trace-patterns")))
    try:
        with Progress(is_quiet=shows) as progress:
            progress.step(f"optimizing {given.operands[0]}")
            (run_steps if given.has("passes") else run_until_stable)(module, steps, rules, report=report)
    except PassOptionError as error:
        raise ToolFailure(error.message, help=error.help) from None
    except Exception as error:
        place = _place(error)
        last = report.current.name if report.current is not None else ""
        if isinstance(error, TileIRError):
            if place and type(error) is not PassError:
                # Not an error that the pass reports on purpose, but one that it made.
                error.diagnostics[-1].notes.append(note(f"in pass '{last}' ({place})", UNKNOWN))
            print_diagnostics(error.diagnostics, given)
            return False
        if not given.has("load") and not place:
            raise
        raise ToolFailure(f"pass '{last}' fails: {_described(error)}", EXIT_WRONG_INPUT) from None
    finally:
        print_diagnostics(report.diagnostics, given)
        lines = report.timing_lines() if given.has("timing") else []
        for line in [*lines, *(report.statistics_lines() if given.has("statistics") else [])]:
            print_line(line)
    return True


def _proved(before: Operation, after: Operation) -> bool:
    """Print whether the passes kept the meaning of the program; False if a launch shows that they did not."""
    from tileir.terminal import Progress

    with Progress() as progress, refusing():
        from tileir.proofs.equivalence.verdict import equivalent

        progress.step("proving that the result computes the same")
        found = equivalent(before, after)
    print(harmless(str(found)), file=sys.stderr)
    return found.verdict != "refuted"


def _load(path: str) -> None:
    """Run a file of the user's; an error in it is reported with its line and Python's message."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise ToolFailure(f"cannot read '{path}': it is no file")
    source = read_bytes(path)
    try:
        exec(compile(source, path, "exec"), {"__name__": _LOADED, "__file__": path})
    except Exception as error:
        raise ToolFailure(f"cannot load '{path}': {_described(error)}") from None


def _described(error: Exception) -> str:
    """An exception of the user's code, with the line of that code that led to it."""
    text = error.msg if isinstance(error, SyntaxError) else error
    words = error.message if isinstance(error, TileIRError) else f"{type(error).__name__}: {text}"
    place = _place(error)
    return f"{words} ({place})" if place else words


def _place(error: Exception) -> str:
    """The last line of the loaded file that an exception came through, or else of other code that is not tileir's."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return f"{error.filename}:{error.lineno}"
    loaded, other = "", ""
    import traceback

    for frame, line in traceback.walk_tb(error.__traceback__):
        module = frame.f_globals.get("__name__", "")
        location = f"{frame.f_code.co_filename}:{line}"
        if module == _LOADED:
            loaded = location
        elif not module.startswith("tileir."):
            other = location
    return loaded or other
