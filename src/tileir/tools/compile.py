"""`tileir compile`: kernels into cubins, on a machine that needs no GPU."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.escapes import harmless
from tileir.ir.location import UNKNOWN
from tileir.tools.arguments import (
    COLOR,
    EXIT_FINE,
    EXIT_TIMED_OUT,
    EXIT_USAGE,
    EXIT_WRONG_INPUT,
    Arguments,
    Option,
    Usage,
)
from tileir.tools.output import OUTPUT_DIRECTORY, OVERWRITE, check_target, output_paths, protect_input, write_bytes
from tileir.tools.programs import (
    READING_OPTIONS,
    STANDARD_INPUT,
    Program,
    Settings,
    ToolFailure,
    guarded,
    read_program,
    tell,
)
from tileir.tools.time_limit import seconds_of

if TYPE_CHECKING:
    from tileir.execute.gpu.cubin import Resources
    from tileir.execute.gpu.tileiras.options import AssemblyOptions
    from tileir.ir.core import Operation

USAGE = Usage(
    "tileir compile",
    "Compiles kernels of Tile IR programs for GPUs, by NVIDIA's assembler; no GPU is needed.",
    "FILE...",
    (
        Option("target", "the GPU, as in sm_90; repeat for several (default: that of this machine)", value="GPU"),
        Option("output", "where to write the cubin (default: standard output)", value="OUT", short="o"),
        OUTPUT_DIRECTORY,
        Option("entry", "the kernel to compile (default: all of the program)", value="NAME"),
        Option("backend", "what compiles (default: tileiras)", choices=("tileiras",)),
        Option("opt-level", "how much the assembler optimizes (default: 3)", choices=("0", "1", "2", "3"), short="O"),
        Option("lineinfo", "tell profilers which line of the source each instruction comes from"),
        Option("resource-usage", "print registers, stack, shared memory and spills of each kernel"),
        Option("remarks", "print what the assembler says about its choices: tensor cores, TMA"),
        Option(
            "time-limit", "stop the assembler when it takes longer (default: 120); exit status 124", value="SECONDS"
        ),
        Option("memory-limit", "the most memory that the assembler may have (default: 16)", value="GIB"),
        Option("host", "the machine that launches the kernel (default: this one)", choices=("x86_64", "aarch64")),
        Option("host-system", "its operating system (default: this one)", choices=("linux", "windows")),
        Option("json", "print one JSON object per file and target: cubin, kernels, resources, findings"),
        OVERWRITE,
        COLOR,
        *READING_OPTIONS,
    ),
    most=-1,
    details="""\
FILE may be '-' for standard input, and may be text or bytecode. With --output-dir cubins are named NAME.cubin. Where
there are several targets each cubin has its own in its name, as in NAME.sm_90.cubin, also with -o. Cubins are not
written to a terminal; without -o and --output-dir, none is written where --resource-usage, --remarks or --json ask for
something else. A file that cannot be compiled does not keep the others from it.

What was compiled before is taken from the cache ('tileir docs gpu'). Exit status: 0 fine, 1 a program has errors or the
assembler refuses it, 2 the command line is wrong or a file cannot be read or written, 124 --time-limit has stopped
the assembler.""",
)

_PRINTED = ("resource-usage", "json")
"""What is printed to standard output, where a cubin would go."""
_GIBIBYTE = 1 << 30


def run(arguments: list[str]) -> int:
    return guarded("tileir compile", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    targets = _targets(given)
    options = _options(given)
    places = _places(given, targets)
    status = EXIT_FINE
    rows: list[Row] = []
    for path, outputs in zip(given.operands, places, strict=True):
        wanted = dict(zip(targets, outputs, strict=True))
        try:
            status = max(status, _compile_file(path, wanted, options, given, rows))
        except ToolFailure as failure:
            # The other files are compiled all the same.
            _failed(path, targets, failure, given, rows)
            status = max(status, failure.status)
    if given.has("resource-usage") and not given.has("json") and any(row.resources is not None for row in rows):
        print(table(rows, len(given.operands) > 1))
    return status


def _compile_file(
    path: str, outputs: dict[str, str], options: AssemblyOptions, given: Arguments, rows: list[Row]
) -> int:
    """Compile one program for each target; what the kernels take of the GPU is added to the rows."""
    program = read_program(path, Settings(given))
    if not given.has("json"):
        tell(program.diagnostics, given)
    if program.module is None:
        for target in outputs:
            _told(path, target, "", None, program.diagnostics if given.has("json") else [], given, rows)
        return EXIT_WRONG_INPUT
    for output in outputs.values():
        if output:
            protect_input(given, output, path, (program.kind, "a cubin"))
    status = EXIT_FINE
    for target, output in outputs.items():
        try:
            status = max(status, _compile_for(target, program, path, output, options, given, rows))
        except ToolFailure as failure:
            # A disk that is full, say: what is said about other targets may help all the same.
            _failed(path, [target], failure, given, rows)
            status = max(status, failure.status)
    return status


def _compile_for(
    target: str,
    program: Program,
    path: str,
    output: str,
    options: AssemblyOptions,
    given: Arguments,
    rows: list[Row],
) -> int:
    """Compile a sound program for one GPU."""
    from tileir.bytecode.layouts import tile_module
    from tileir.execute.entries import select_entry
    from tileir.execute.gpu.tileiras.compiling import assemble, assemble_module
    from tileir.execute.gpu.tileiras.errors import AssemblerTimeout

    assert program.module is not None, "looked at before"
    before = program.diagnostics if given.has("json") else []
    try:
        name = given.value("entry", "")
        # There must be a kernel, if not just one.
        module = tile_module(program.module)
        if name or len(_kernels(module)) < 2:
            found = assemble(select_entry(module, name or None), target, options)
        else:
            found = assemble_module(module, target, options)
    except TileIRError as error:
        _told(path, target, "", None, [*before, *_placed(error, program.module)], given, rows)
        return EXIT_TIMED_OUT if isinstance(error, AssemblerTimeout) else EXIT_WRONG_INPUT
    if output:
        write_bytes(output, found.cubin.data, "cubins are")
    _told(path, target, output, list(found.resources.values()), [*before, *found.diagnostics], given, rows)
    return EXIT_FINE


def _kernels(module: Operation) -> list[str]:
    from tileir.execute.entries import entries_of

    return list(entries_of(module))


# --- the command line ---


def _targets(given: Arguments) -> list[str]:
    from tileir.execute.gpu.targets import target_named

    named = [part for name, text in given.sequence if name == "target" for part in text.split(",")]
    try:
        if named:
            return list(dict.fromkeys([target_named(text) for text in named]))
        from tileir.execute.gpu.driver.devices import target_here

        return [target_here()]
    except TileIRError as error:
        raise ToolFailure(f"--target: {error.message}", EXIT_USAGE) from None


def _options(given: Arguments) -> AssemblyOptions:
    from tileir.execute.gpu.tileiras.options import MEMORY_LIMIT, TIME_LIMIT, AssemblyOptions

    memory = MEMORY_LIMIT
    if given.has("memory-limit"):
        text = given.value("memory-limit", "")
        try:
            memory = int(float(text) * _GIBIBYTE)
        except (ValueError, OverflowError):
            memory = 0
        if memory <= 0:
            raise ToolFailure(f"'{text}' is no amount of memory: give GiB, as in --memory-limit 4", EXIT_USAGE)
    return AssemblyOptions(
        int(given.value("opt-level", "3")),
        given.has("lineinfo"),
        given.value("host", ""),
        given.value("host-system", ""),
        given.has("remarks"),
        seconds_of(given.value("time-limit", ""), "time-limit") if given.has("time-limit") else TIME_LIMIT,
        memory,
    )


def _places(given: Arguments, targets: list[str]) -> list[list[str]]:
    """Where the cubins of each file go, one for each target; an empty path for those that are not written."""
    places = output_paths(given, ".cubin")
    if "-" in places:
        prints = any(given.has(option) for option in _PRINTED)
        if prints or (given.has("remarks") and not given.has("output")):
            if given.has("output"):
                raise ToolFailure(
                    "standard output is for a cubin or for what is printed: give a file to -o", EXIT_USAGE
                )
            return [[""] * len(targets)] * len(places)
        if len(places) > 1 or len(targets) > 1:
            raise ToolFailure("several cubins need '-o FILE' or '--output-dir DIR'", EXIT_USAGE)
    found = [[_named_by(place, target) for target in targets] if len(targets) > 1 else [place] for place in places]
    for place in [each for group in found for each in group if each != "-"]:
        # Before the work, which may take minutes.
        check_target(place)
    return found


def _named_by(path: str, target: str) -> str:
    stem, extension = os.path.splitext(path)
    return f"{stem}.{target}{extension}"


# --- what is told ---


def _placed(error: TileIRError, module: Operation) -> list[Diagnostic]:
    """What went wrong; where the kernel that is asked for is missing, in which of the files."""
    from tileir.execute.errors import LaunchError
    from tileir.execute.places import place_of

    if type(error) is not LaunchError:
        return error.diagnostics
    return [
        Diagnostic(each.severity, each.message, place_of(module.location), each.notes) for each in error.diagnostics
    ]


class Row(NamedTuple):
    """A row of the table: a kernel of a file, or a file for which there is no cubin."""

    file: str
    target: str
    resources: Resources | None


def _failed(path: str, targets: list[str], failure: ToolFailure, given: Arguments, rows: list[Row]) -> None:
    """A file that cannot be read, or a cubin that cannot be written: for people a word aside, for tools a finding."""
    words = harmless(failure.message)
    if not given.has("json"):
        print(f"tileir compile: {words}", file=sys.stderr)
    findings = [Diagnostic("error", words, UNKNOWN)] if given.has("json") else []
    for target in targets:
        _told(path, target, "", None, findings, given, rows)


def _told(
    path: str,
    target: str,
    output: str,
    resources: list[Resources] | None,
    diagnostics: list[Diagnostic],
    given: Arguments,
    rows: list[Row],
) -> None:
    """What came of a file and a target."""
    name = STANDARD_INPUT if path == "-" else path
    rows += [Row(name, target, each) for each in resources] if resources else [Row(name, target, None)]
    if not given.has("json"):
        tell(diagnostics, given)
        return
    from tileir.tools.check import json_finding

    outcome: dict[str, Any] = {
        "file": name,
        "target": target,
        "cubin": output or None,
        "kernels": None if resources is None else [facts(each) for each in resources],
        "findings": [json.loads(json_finding(each, name, -1)) for each in diagnostics],
    }
    print(json.dumps(outcome))


def facts(resources: Resources) -> dict[str, object]:
    """What a kernel takes of a GPU, for JSON."""
    found: dict[str, object] = {**resources._asdict(), "spills": resources.spills}
    found["parameters"] = [each._asdict() for each in resources.parameters]
    return found


_NAMES = ("file", "kernel", "target")
_NUMBERS = ("registers", "threads", "shared", "stack", "stores", "loads", "spills", "code")


def table(rows: list[Row], has_files: bool) -> str:
    """What kernels take of GPUs, as a table: bytes, and counts; of several files with their names."""
    first = 0 if has_files else 1
    cells = [[*_NAMES[first:], *_NUMBERS]]
    for row in rows:
        each = row.resources
        names = [harmless(row.file), "-" if each is None else harmless(each.kernel), row.target]
        cells.append([*names[first:], *(["-"] * len(_NUMBERS) if each is None else _numbers(each))])
    widths = [max([len(row[column]) for row in cells]) for column in range(len(cells[0]))]
    count = len(_NAMES) - first
    lines = []
    for line in cells:
        padded = [cell.ljust(width) for cell, width in zip(line[:count], widths, strict=False)]
        padded += [cell.rjust(width) for cell, width in zip(line[count:], widths[count:], strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def _numbers(each: Resources) -> list[str]:
    counts = (each.registers, each.threads, each.shared, each.stack, each.local_stores, each.local_loads)
    return [*map(str, counts), "yes" if each.spills else "no", str(each.code)]
