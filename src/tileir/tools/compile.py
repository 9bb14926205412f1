"""`tileir compile`: kernels into code for GPUs, on a machine that needs none."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tileir.ir.diagnostics import Diagnostic, OptionError, TileIRError
from tileir.tools.arguments import (
    COLOR,
    EXIT_FINE,
    EXIT_TIMED_OUT,
    EXIT_USAGE,
    EXIT_WRONG_INPUT,
    OUTPUT_DIRECTORY,
    OVERWRITE,
    Arguments,
    Option,
    ToolFailure,
    Usage,
)
from tileir.tools.compile_backends import BACKENDS, DUMPED, CompileBackend, Piece
from tileir.tools.compile_report import Report
from tileir.tools.output import check_target, output_paths, protect_input, write_bytes
from tileir.tools.programs import (
    LAUNCH,
    READING_OPTIONS,
    SCRIPT,
    Program,
    Settings,
    guarded,
    launch_number,
    read_program,
    tell,
)

if TYPE_CHECKING:
    from tileir.ir.core import Operation

USAGE = Usage(
    "tileir compile",
    "Compiles kernels of Tile IR programs for GPUs, by NVIDIA's assembler or by Triton; no GPU is needed.",
    "FILE|SCRIPT.py...",
    (
        Option("target", "the GPU, as in sm_90; repeat for several (default: that of this machine)", value="GPU"),
        Option("output", "where to write the cubin (default: standard output)", value="OUT", short="o"),
        OUTPUT_DIRECTORY,
        Option("entry", "the kernel to compile (default: all of the program)", value="NAME"),
        Option("backend", "what compiles (default: tileiras)", choices=("tileiras", "triton")),
        Option("dump", "print what a kernel is at a stage, cubin for its instructions", choices=DUMPED),
        Option("opt-level", "how much the assembler optimizes (default: 3)", choices=("0", "1", "2", "3"), short="O"),
        Option("fast", "let Triton fuse, approximate and flush: results differ in their last bits"),
        Option("lineinfo", "tell profilers which line of the source each instruction comes from"),
        Option("resource-usage", "print registers, stack, shared memory and spills of each kernel"),
        Option("remarks", "print what the assembler says about its choices: tensor cores, TMA"),
        Option("time-limit", "stop the compiler when it takes longer (default: 120); exit status 124", value="SECONDS"),
        Option("memory-limit", "the most memory that the compiler may have (default: 16)", value="GIB"),
        Option("host", "the machine that launches the kernel (default: this one)", choices=("x86_64", "aarch64")),
        Option("host-system", "its operating system (default: this one)", choices=("linux", "windows")),
        Option("json", "print one JSON object per cubin: file, target, kernels, resources, findings"),
        LAUNCH,
        OVERWRITE,
        COLOR,
        *READING_OPTIONS,
    ),
    most=-1,
    details=f"""\
{SCRIPT} Its kernel is then compiled.

FILE may be '-' for standard input, and may be text or bytecode. With --output-dir cubins are named NAME.cubin. Where
there are several targets each cubin has its own in its name, as in NAME.sm_90.cubin, also with -o. Cubins are not
written to a terminal; without -o and --output-dir, none is written where --resource-usage, --remarks or --json ask for
something else. A file that cannot be compiled does not keep the others from it.

The assembler makes one cubin of all kernels of a program. Triton makes one of each: of several they have the kernel in
their names, as in NAME.sm_90.KERNEL.cubin. It also makes code for GPUs of AMD, gfx90a, gfx942 and gfx950, in files
NAME.hsaco: nobody has run it.

What was compiled before is taken from the cache. Exit status: 0 fine, 1 a program has errors or the compiler refuses
it, 2 the command line is wrong or a file cannot be read or written, 124 --time-limit has stopped the compiler.
Read on: 'tileir docs gpu', 'tileir docs triton'.""",
)

_PRINTED = ("resource-usage", "json")
"""What is printed to standard output, where a cubin would go."""


def run(arguments: list[str]) -> int:
    return guarded("tileir compile", _run, arguments)


def _run(arguments: list[str]) -> int:
    given = USAGE.read(arguments)
    if given.status is not None:
        return given.status
    backend = BACKENDS[given.value("backend", "tileiras")](given)
    job = _Job(given, backend, _targets(given, backend))
    places = job.places()
    status = EXIT_FINE
    for path, outputs in zip(given.operands, places, strict=True):
        wanted = dict(zip(job.targets, outputs, strict=True))
        try:
            status = max(status, job.compile_file(path, wanted))
        except ToolFailure as failure:
            # The other files are compiled all the same.
            job.report.failed(path, job.targets, failure)
            status = max(status, failure.status)
    job.report.end(len(given.operands) > 1)
    return status


class _Job:
    """What is to be compiled, by what, and for which GPUs."""

    def __init__(self, given: Arguments, backend: CompileBackend, targets: list[str]) -> None:
        self.given = given
        self.backend = backend
        self.targets = targets
        self.report = Report(given)
        self.launch = launch_number(given, given.operands)

    def compile_file(self, path: str, outputs: dict[str, str]) -> int:
        """Compile one program for each target."""
        given, report = self.given, self.report
        program = read_program(path, Settings(given), self.launch)
        if not given.has("json"):
            tell(program.diagnostics, given)
        before = program.diagnostics if given.has("json") else []
        if program.module is None:
            for target in outputs:
                report.told(path, target, "", None, before)
            return EXIT_WRONG_INPUT
        for output in outputs.values():
            if output:
                protect_input(given, output, path, (program.kind, "a cubin"))
        status = EXIT_FINE
        for target, output in outputs.items():
            try:
                status = max(status, self._compile_for(target, program, path, output))
            except ToolFailure as failure:
                # A disk that is full, say: what is said about other targets may help all the same.
                report.failed(path, [target], failure)
                status = max(status, failure.status)
        return status

    def _compile_for(self, target: str, program: Program, path: str, output: str) -> int:
        """Compile a sound program for one GPU."""
        from tileir.bytecode.layouts import tile_module

        assert program.module is not None, "looked at before"
        before = program.diagnostics if self.given.has("json") else []
        backend, report = self.backend, self.report
        try:
            module = tile_module(program.module)
            entries = self._entries(module)
        except OptionError as error:
            raise ToolFailure(f"'{path}': {error.message}", EXIT_USAGE) from None
        except TileIRError as error:
            report.told(path, target, "", None, [*before, *_placed(error, program.module)])
            return EXIT_WRONG_INPUT
        if len(entries) > 1 and output == "-" and not backend.stage:
            raise ToolFailure(
                f"'{path}' has {len(entries)} kernels, and {backend.name} makes a cubin of each: "
                "choose one by '--entry NAME', or give '-o FILE' or '--output-dir DIR'",
                EXIT_USAGE,
            )
        status = EXIT_FINE
        for entry in entries:
            try:
                piece = backend.compile(entry, module, target)
            except TileIRError as error:
                report.told(path, target, "", None, [*before, *_placed(error, program.module)])
                status = max(status, EXIT_TIMED_OUT if backend.is_timeout(error) else EXIT_WRONG_INPUT)
                continue
            place = _named_by(output, piece.kernel) if len(entries) > 1 and output not in ("", "-") else output
            self._write(place, piece, f"kernel @{piece.kernel}, {target}" if self._is_one_of_many(entries) else "")
            report.told(path, target, place, piece.resources, [*before, *piece.diagnostics], piece.kernel)
        return status

    def _entries(self, module: Operation) -> list[Operation | None]:
        """The kernels to compile, of which there must be one; None for all of a module as one."""
        from tileir.execute.launching.entries import entries_of, select_entry

        name = self.given.value("entry", "")
        kernels = list(entries_of(module).values())
        if name or len(kernels) < 2:
            return [select_entry(module, name or None)]
        return [None] if self.backend.is_whole else [*kernels]

    def _is_one_of_many(self, entries: list[Operation | None]) -> bool:
        return len(entries) > 1 or len(self.targets) > 1 or len(self.given.operands) > 1

    def _write(self, place: str, piece: Piece, title: str) -> None:
        if not self.backend.stage:
            if place:
                write_bytes(place, piece.data, "cubins are")
            return
        data = piece.data if piece.data.endswith(b"\n") else piece.data + b"\n"
        if place == "-":
            # One after the other, with what each is of.
            sys.stdout.write((f"// {title}\n" if title else "") + data.decode("utf-8", "surrogateescape"))
        elif place:
            write_bytes(place, data)

    def places(self) -> list[list[str]]:
        """Where the code of each file goes, one for each target; an empty path for what is not written."""
        given, targets = self.given, self.targets
        extensions = [self.backend.extension(target) for target in targets]
        places = output_paths(given, extensions[0])
        is_named = given.has("output")
        if "-" in places:
            prints = any(given.has(option) for option in _PRINTED)
            if prints or (given.has("remarks") and not is_named):
                if is_named:
                    raise ToolFailure(
                        "standard output is for a cubin or for what is printed: give a file to -o", EXIT_USAGE
                    )
                return [[""] * len(targets)] * len(places)
            if self.backend.stage:
                return [["-"] * len(targets)] * len(places)
            if len(places) > 1 or len(targets) > 1:
                raise ToolFailure("several cubins need '-o FILE' or '--output-dir DIR'", EXIT_USAGE)
            return [["-"]]
        found: list[list[str]] = []
        for place in places:
            stem = os.path.splitext(place)[0]
            named = [place if is_named else stem + extension for extension in extensions]
            found.append([_named_by(each, target) for each, target in zip(named, targets, strict=True)])
            if len(targets) == 1:
                found[-1] = named
        for place in [each for group in found for each in group]:
            # Before the work, which may take minutes.
            check_target(place)
        return found


def _targets(given: Arguments, backend: CompileBackend) -> list[str]:
    named = [part for name, text in given.sequence if name == "target" for part in text.split(",")]
    try:
        if named:
            return list(dict.fromkeys([backend.target(text) for text in named]))
        from tileir.execute.gpu.driver.devices import target_here

        return [backend.target(target_here())]
    except TileIRError as error:
        raise ToolFailure(f"--target: {error.message}", EXIT_USAGE) from None


def _named_by(path: str, word: str) -> str:
    stem, extension = os.path.splitext(path)
    return f"{stem}.{word}{extension}"


def _placed(error: TileIRError, module: Operation) -> list[Diagnostic]:
    """What went wrong; where the kernel that is asked for is missing, in which of the files."""
    from tileir.execute.errors import LaunchError
    from tileir.execute.locations.source_locations import user_location

    if type(error) is not LaunchError:
        return error.diagnostics
    return [
        Diagnostic(each.severity, each.message, user_location(module.location), each.notes)
        for each in error.diagnostics
    ]
