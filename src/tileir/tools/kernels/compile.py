"""`tileir compile`: kernels into code for GPUs, on a machine that needs none."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NamedTuple

from tileir.bytecode.layouts import tile_module
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.cubin import Resources
from tileir.execute.gpu.errors import AssemblerTimeout, TritonTimeout
from tileir.execute.launching.entries import entries_of, select_entry
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, OptionError, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless
from tileir.judge.report.tables import Column, table
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_TIMED_OUT, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, complain, print_diagnostics, refusing
from tileir.tools.input import check_launch, name_of, read_program
from tileir.tools.kernels.compile_backends import BACKENDS, DUMPED, CompileBackend, Piece
from tileir.tools.output import check_target, output_paths, protect_input, write_bytes
from tileir.tools.programs.reporting import json_finding

USAGE = Usage(
    "tileir compile",
    "Compiles kernels of Tile IR programs for GPUs, by NVIDIA's assembler or by Triton; no GPU is needed.",
    "FILE|SCRIPT.py...",
    (
        options.TARGET.with_help("the GPU, as in sm_90; repeat for several (default: that of this machine)"),
        options.OUTPUT.with_help("where to write the cubin (default: standard output)"),
        options.OUTPUT_DIRECTORY,
        options.ENTRY.with_help("the kernel to compile (default: all of the program)"),
        Option("--backend tileiras|triton", "what compiles (default: tileiras)"),
        Option(f"--dump {'|'.join(DUMPED)}", "print what a kernel is at a stage, cubin for its instructions"),
        Option("-O, --opt-level 0|1|2|3", "how much the assembler optimizes (default: 3)"),
        Option("--fast", "let Triton fuse, approximate and flush: results differ in their last bits"),
        Option("--lineinfo", "tell profilers which line of the source each instruction comes from"),
        Option("--resource-usage", "print registers, stack, shared memory and spills of each kernel"),
        Option("--remarks", "print what the assembler says about its choices: tensor cores, TMA"),
        options.TIME_LIMIT.with_help("stop the compiler when it takes longer (default: 120); exit status 124"),
        options.MEMORY_LIMIT.with_help("the most memory that the compiler may have (default: 16)"),
        Option("--host x86_64|aarch64", "the machine that launches the kernel (default: this one)"),
        Option("--host-system linux|windows", "its operating system (default: this one)"),
        options.JSON.with_help("print one JSON object per cubin: file, target, kernels, resources, findings"),
        options.LAUNCH,
        options.OVERWRITE,
        *options.READING_OPTIONS,
    ),
    details=f"""\
{options.SCRIPT} Its kernel is then compiled.

FILE may be '-' for standard input, and may be text or bytecode. With --output-dir cubins are named NAME.cubin. Where
there are several targets each cubin has its own in its name, as in NAME.sm_90.cubin, also with -o. Cubins are not
written to a terminal; without -o and --output-dir, none is written where --resource-usage, --remarks or --json ask for
something else. Other files still compile where one cannot be compiled.

The assembler makes one cubin of all kernels of a program. Triton makes one of each: of several they have the kernel in
their names, as in NAME.sm_90.KERNEL.cubin. It also makes code for GPUs of AMD, gfx90a, gfx942 and gfx950, in files
NAME.hsaco: nobody has run it.

What was compiled before is taken from the cache. Exit status: 0 fine, 1 a program has errors or the compiler refuses
it, 2 the command line is wrong or a file cannot be read or written, 124 --time-limit has stopped the compiler.
Read on: 'tileir docs gpu', 'tileir docs triton'.""",
)

_TIMEOUTS = (AssemblerTimeout, TritonTimeout)


@command(USAGE)
def run(given: Arguments) -> int:
    backend = BACKENDS[given.value("backend", "tileiras")](given)
    job = _Job(given, backend, _targets(given, backend))
    status = EXIT_FINE
    for path, outputs in zip(given.operands, job.places(), strict=True):
        try:
            status = max(status, job.compile_file(path, dict(zip(job.targets, outputs, strict=True))))
        except ToolFailure as failure:
            # The other files are compiled all the same.
            job.failed(path, job.targets, failure)
            status = max(status, failure.status)
    if given.has("resource-usage") and not given.has("json") and any(row.resources is not None for row in job.rows):
        print(_table(job.rows, len(given.operands) > 1))
    return status


class _Row(NamedTuple):
    """A row of the table: a kernel of a file, or a file for which there is no cubin."""

    file: str
    target: str
    resources: Resources | None
    kernel: str = ""
    """Of code that does not record its resources."""


class _Job:
    """What is to be compiled, by what, and for which GPUs."""

    def __init__(self, given: Arguments, backend: CompileBackend, targets: list[str]) -> None:
        self.given = given
        self.backend = backend
        self.targets = targets
        self.rows: list[_Row] = []
        self._has_json: bool = given.has("json")
        check_launch(given, given.operands)

    def compile_file(self, path: str, outputs: dict[str, str]) -> int:
        """Compile one program for each target."""
        program = read_program(path, self.given)
        if not self._has_json:
            print_diagnostics(program.diagnostics, self.given)
        before = program.diagnostics if self._has_json else []
        if program.module is None:
            for target in outputs:
                self._report(path, target, None, before)
            return EXIT_WRONG_INPUT
        for output in outputs.values():
            if output:
                protect_input(self.given, output, path, (program.kind, "a cubin"))
        status = EXIT_FINE
        for target, output in outputs.items():
            try:
                status = max(status, self._compile_for(target, program.module, path, output, before))
            except ToolFailure as failure:
                # A disk that is full, say: reports about other targets may help all the same.
                self.failed(path, [target], failure)
                status = max(status, failure.status)
        return status

    def _compile_for(self, target: str, root: Operation, path: str, output: str, before: list[Diagnostic]) -> int:
        """Compile a correct program for one GPU."""
        backend = self.backend
        try:
            module = tile_module(root)
            entries = self._entries(module)
        except OptionError as error:
            raise ToolFailure(f"'{path}': {error.message}") from None
        except TileIRError as error:
            self._report(path, target, None, [*before, *_placed(error, root)])
            return EXIT_WRONG_INPUT
        if len(entries) > 1 and output == "-" and not backend.stage:
            raise ToolFailure(
                f"'{path}' has {len(entries)} kernels, and {backend.name} makes a cubin of each: "
                "choose one by '--entry NAME', or give '-o FILE' or '--output-dir DIR'"
            )
        is_one_of_many = len(entries) > 1 or len(self.targets) > 1 or len(self.given.operands) > 1
        status = EXIT_FINE
        for entry in entries:
            try:
                piece = backend.compile(entry, module, target)
            except TileIRError as error:
                self._report(path, target, None, [*before, *_placed(error, root)])
                status = max(status, EXIT_TIMED_OUT if isinstance(error, _TIMEOUTS) else EXIT_WRONG_INPUT)
                continue
            place = _named_by(output, piece.kernel) if len(entries) > 1 and output not in ("", "-") else output
            self._write(place, piece, f"kernel @{piece.kernel}, {target}" if is_one_of_many else "")
            self._report(path, target, piece.resources, [*before, *piece.diagnostics], place, piece.kernel)
        return status

    def failed(self, path: str, targets: list[str], failure: ToolFailure) -> None:
        """Report a file that cannot be read, or a cubin that cannot be written: to people a message, else a finding."""
        if not self._has_json:
            complain(self.given.program, failure)
        for target in targets:
            error = [Diagnostic("error", harmless(failure.message), UNKNOWN)] if self._has_json else []
            self._report(path, target, None, error)

    def _report(
        self,
        path: str,
        target: str,
        resources: list[Resources] | None,
        diagnostics: list[Diagnostic],
        output: str = "",
        kernel: str = "",
    ) -> None:
        """Report the outcome for a file and a target, or for one kernel of it."""
        name = name_of(path)
        self.rows += [_Row(name, target, each) for each in resources or ()] or [_Row(name, target, None, kernel)]
        if not self._has_json:
            print_diagnostics(diagnostics, self.given)
            return
        kernels: list[dict[str, Any]] = []
        for each in resources or ():
            parameters = [parameter._asdict() for parameter in each.parameters]
            kernels.append({**each._asdict(), "spills": each.spills, "parameters": parameters})
        outcome: dict[str, Any] = {
            "file": name,
            "target": target,
            "cubin": output or None,
            "kernels": None if resources is None else kernels,
            "findings": [json.loads(json_finding(each, name)) for each in diagnostics],
        }
        print(json.dumps(outcome))

    def _entries(self, module: Operation) -> list[Operation | None]:
        """The kernels to compile, of which there must be one; None for all of a module as one."""
        name = self.given.value("entry")
        kernels = list(entries_of(module).values())
        if name or len(kernels) < 2:
            return [select_entry(module, name or None)]
        return [None] if self.backend.is_whole else [*kernels]

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
            target = "-"
            prints = given.has("resource-usage") or given.has("json")
            if prints or (given.has("remarks") and not is_named):
                if is_named:
                    raise ToolFailure("standard output is for a cubin or for what is printed: give a file to -o")
                target = ""
            elif not self.backend.stage and (len(places) > 1 or len(targets) > 1):
                raise ToolFailure("several cubins need '-o FILE' or '--output-dir DIR'")
            return [[target] * len(targets)] * len(places)
        found: list[list[str]] = []
        for place in places:
            stem = os.path.splitext(place)[0]
            named = [place if is_named else stem + extension for extension in extensions]
            if len(targets) > 1:
                named = [_named_by(each, target) for each, target in zip(named, targets, strict=True)]
            for each in named:
                # Before the work, which may take minutes.
                check_target(each)
            found.append(named)
        return found


def _targets(given: Arguments, backend: CompileBackend) -> list[str]:
    named = given.names("target")
    with refusing("--target: "):
        if named:
            return list(dict.fromkeys([backend.target(text) for text in named]))
        from tileir.execute.gpu.driver.devices import target_here

        return [backend.target(target_here())]


def _named_by(path: str, word: str) -> str:
    stem, extension = os.path.splitext(path)
    return f"{stem}.{word}{extension}"


def _placed(error: TileIRError, module: Operation) -> list[Diagnostic]:
    """The diagnostics of an error; those of a launch get the file that they are about."""
    if type(error) is not LaunchError:
        return error.diagnostics
    return [
        Diagnostic(each.severity, each.message, user_location(module.location), each.notes)
        for each in error.diagnostics
    ]


def _table(rows: list[_Row], has_files: bool) -> str:
    """What kernels take of GPUs, in bytes and counts; with the names of several files."""
    names = ["file", "kernel", "target"] if has_files else ["kernel", "target"]
    numbers = ["registers", "threads", "shared", "stack", "stores", "loads", "spills", "code"]
    cells: list[list[str]] = []
    for row in rows:
        each = row.resources
        labels = [row.file, row.kernel or "-" if each is None else each.kernel, row.target][-len(names) :]
        counts: list[object] = ["-"] * len(numbers)
        if each is not None:
            counts = [each.registers, each.threads, each.shared, each.stack, each.local_stores, each.local_loads]
            counts += ["yes" if each.spills else "no", each.code]
        cells.append([*labels, *map(str, counts)])
    return table([*map(Column, names), *[Column(title, is_number=True) for title in numbers]], cells, 0)
