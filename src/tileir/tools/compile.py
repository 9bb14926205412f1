"""`tileir compile`: kernels into cubins, on a machine that needs no GPU."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from tileir.ir.diagnostics import Diagnostic, TileIRError
from tileir.ir.escapes import harmless
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
from tileir.tools.programs import READING_OPTIONS, STANDARD_INPUT, Settings, ToolFailure, guarded, read_program, tell
from tileir.tools.time_limit import seconds_of

if TYPE_CHECKING:
    from tileir.execute.gpu.cubin import Resources
    from tileir.execute.gpu.tileiras.compiling import Assembled
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
FILE may be '-' for standard input, and may be text or bytecode. With --output-dir cubins are named NAME.cubin; with
several targets, and there and with -o, NAME.sm_90.cubin and so on. Cubins are not written to a terminal; without -o and
--output-dir, none is written where --resource-usage, --remarks or --json ask for something else.

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
    rows: list[Resources] = []
    for path, outputs in zip(given.operands, places, strict=True):
        try:
            status = max(status, _compile_file(path, dict(zip(targets, outputs, strict=True)), options, given, rows))
        except ToolFailure as failure:
            # The other files are compiled all the same.
            print(f"tileir compile: {harmless(failure.message)}", file=sys.stderr)
            status = max(status, failure.status)
    if rows and given.has("resource-usage") and not given.has("json"):
        print(table(rows))
    return status


def _compile_file(
    path: str, outputs: dict[str, str], options: AssemblyOptions, given: Arguments, rows: list[Resources]
) -> int:
    """Compile one program for each target; what the kernels take of the GPU is added to the rows."""
    from tileir.bytecode.layouts import tile_module
    from tileir.execute.entries import select_entry
    from tileir.execute.gpu.tileiras.compiling import assemble, assemble_module
    from tileir.execute.gpu.tileiras.errors import AssemblerTimeout

    program = read_program(path, Settings(given))
    if not given.has("json"):
        tell(program.diagnostics, given)
    if program.module is None:
        for target in outputs if given.has("json") else ():
            _told(path, target, "", None, program.diagnostics, given)
        return EXIT_WRONG_INPUT
    status = EXIT_FINE
    for target, output in outputs.items():
        if output:
            protect_input(given, output, path, (program.kind, "a cubin"))
        try:
            name = given.value("entry", "")
            # There must be a kernel, if not just one.
            module = tile_module(program.module)
            if name or len(_kernels(module)) < 2:
                found = assemble(select_entry(module, name or None), target, options)
            else:
                found = assemble_module(module, target, options)
        except TileIRError as error:
            status = max(status, EXIT_TIMED_OUT if isinstance(error, AssemblerTimeout) else EXIT_WRONG_INPUT)
            _told(path, target, "", None, _placed(error, program.module), given)
            continue
        if output:
            write_bytes(output, found.cubin.data, "cubins are")
        known = {name: _resources(found, kernel) for name, kernel in found.kernels.items()}
        resources = list(known.values())
        rows += resources
        warnings = [_spill_warning(each, name, module) for name, each in known.items() if each.spills]
        before = program.diagnostics if given.has("json") else []
        _told(path, target, output, resources, [*before, *found.diagnostics, *warnings], given)
    return status


def _kernels(module: Operation) -> list[str]:
    from tileir.execute.entries import entries_of

    return list(entries_of(module))


def _resources(found: Assembled, kernel: str) -> Resources:
    from tileir.execute.gpu.cubin import Cubin

    return Cubin(found.cubin.data, kernel).resources


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


def _spill_warning(resources: Resources, name: str, module: Operation) -> Diagnostic:
    from tileir.execute.entries import entries_of
    from tileir.execute.places import place_of

    entry = entries_of(module)[name]
    words = (
        f"kernel @{name} runs out of registers on {resources.target}: it keeps {resources.stack} bytes for "
        f"each thread in memory, with {resources.local_stores} stores and {resources.local_loads} loads; "
        "use smaller tiles"
    )
    return Diagnostic("warning", words, place_of(entry.location))


def _told(
    path: str,
    target: str,
    output: str,
    resources: list[Resources] | None,
    diagnostics: list[Diagnostic],
    given: Arguments,
) -> None:
    """What came of a file and a target."""
    if not given.has("json"):
        tell(diagnostics, given)
        return
    from tileir.tools.check import json_finding

    name = STANDARD_INPUT if path == "-" else path
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


_COLUMNS = ("kernel", "target", "registers", "threads", "shared", "stack", "stores", "loads", "spills", "code")


def table(rows: list[Resources]) -> str:
    """What kernels take of GPUs, as a table: bytes, and counts."""
    cells = [list(_COLUMNS)]
    for each in rows:
        numbers = (each.registers, each.threads, each.shared, each.stack, each.local_stores, each.local_loads)
        spills = "yes" if each.spills else "no"
        cells.append([harmless(each.kernel), each.target, *map(str, numbers), spills, str(each.code)])
    widths = [max([len(row[column]) for row in cells]) for column in range(len(_COLUMNS))]
    lines = []
    for row in cells:
        names = [cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True)]
        numbers_shown = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join([*names, *numbers_shown]).rstrip())
    return "\n".join(lines)
