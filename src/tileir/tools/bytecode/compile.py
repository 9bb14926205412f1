"""`tileir compile`: kernels into code for GPUs, on a machine that needs none."""

from __future__ import annotations

import json
import os
import sys
from typing import NamedTuple

from tileir.bytecode.layouts import tile_module
from tileir.execute.errors import LaunchError
from tileir.execute.gpu.cubin import Resources
from tileir.execute.gpu.errors import AssemblerTimeout, TritonTimeout
from tileir.execute.gpu.gpus import target_named
from tileir.execute.launching.entries import entries_of, select_entry
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, OptionError, TileIRError
from tileir.ir.location import UNKNOWN
from tileir.ir.quoting import harmless
from tileir.judging.report.tables import Column, table
from tileir.terminal import Progress
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_TIMED_OUT, EXIT_WRONG_INPUT, Arguments, Option, ToolFailure, Usage
from tileir.tools.command import command, complain, print_diagnostics, refusing
from tileir.tools.input import check_launch, name_of, read_program
from tileir.tools.output import check_target, output_paths, protect_input, write_bytes
from tileir.tools.programs.reporting import finding_facts

HOSTS = ("x86_64-linux", "x86_64-windows", "aarch64-linux", "aarch64-windows")
# The stages that --dump shows.
DUMPED = ("schedule", "tile", "ttir", "ttgir", "llvm", "ptx", "amdgcn", "sass")

USAGE = Usage(
    "tileir compile",
    "FILE|SCRIPT.py...",
    (
        "tileir compile examples/matmul.mlir --target h100 -o matmul.cubin",
        "tileir compile examples/matmul.mlir --target sm_90 --backend triton --dump ttir",
    ),
    (
        options.TARGET,
        options.OUTPUT.with_help("where to write the cubin (default: standard output)"),
        options.OUTPUT_DIRECTORY,
        options.ENTRY.with_help("the kernel to compile (default: all of the program)"),
        Option("--backend tileiras|triton", "what compiles: NVIDIA's assembler (default) or Triton"),
        Option(f"--dump {'|'.join(DUMPED)}", "print what a kernel is at a stage, sass for its instructions"),
        options.OPTIMIZE.with_help("how much the assembler optimizes (default: 3)"),
        options.FAST.with_help("let Triton fuse, approximate and flush: results differ in their last bits"),
        Option("--lineinfo", "record for profilers which line of the source each instruction comes from"),
        Option("--resource-usage", "print registers, stack, shared memory and spills of each kernel"),
        Option("--remarks", "print remarks of the assembler on its choices: tensor cores, TMA"),
        options.TIMEOUT.with_help("stop the compiler after this time (default: 120)"),
        options.MEMORY_LIMIT.with_help("the most memory that the compiler may take (default: 16G)"),
        Option(f"--host {'|'.join(HOSTS)}", "the machine that launches the kernel (default: this one)"),
        options.JSON.with_help("print one JSON object per cubin: file, target, kernels, resources, findings"),
        options.LAUNCH,
        options.QUIET,
        *options.READING,
    ),
    f"""\
{options.SCRIPT} Its kernel is then compiled.

FILE may be '-' for standard input, and may be text or bytecode. With --output-dir cubins are named NAME.cubin. Where
there are several targets each cubin has its own in its name, as in NAME.sm_90.cubin, also with -o. Cubins are not
written to a terminal; without -o and --output-dir, none is written where --resource-usage, --remarks or --json print
something else. Other files still compile where one cannot be compiled.

The assembler makes one cubin of all kernels of a program. Triton makes one of each: of several they have the kernel in
their names, as in NAME.sm_90.KERNEL.cubin. It also makes code for GPUs of AMD, gfx90a, gfx942 and gfx950, in files
NAME.hsaco: nobody has run it. What was compiled before is taken from the cache.
Read on: 'tileir docs compile', 'tileir docs tune'.""",
    statuses={1: "a program has errors, or the compiler refuses it", 124: "stopped by --timeout"},
)

# What kernels take of GPUs, in bytes and counts.
_NUMBERS = ("registers", "threads", "shared", "stack", "stores", "loads", "spills", "code")
_TIMEOUTS = (AssemblerTimeout, TritonTimeout)


@command(USAGE)
def run(given: Arguments) -> int:
    job = _Job(given)
    status = max([job.compile_file(path, outputs) for path, outputs in zip(given.operands, job.places(), strict=True)])
    if given.has("resource-usage") and not given.has("json") and any(row[-1] != "-" for row in job.rows):
        # The names of files, where there are several.
        first = 0 if len(given.operands) > 1 else 1
        columns = [Column(title) for title in ("file", "kernel", "target")[first:]]
        columns += [Column(title, is_number=True) for title in _NUMBERS]
        print(table(columns, [row[first:] for row in job.rows], 0))
    return status


class _Job:
    """What is to be compiled, by what, and for which GPUs."""

    def __init__(self, given: Arguments) -> None:
        self.given = given
        self.backend = BACKENDS[given.value("backend", "tileiras")](given)
        named = given.names("target")
        with refusing("--target: "):
            if not named:
                # Imported here: naming a target needs no driver.
                from tileir.execute.gpu.driver.devices import target_here

                named = [target_here()]
            self.targets = list(dict.fromkeys(map(self.backend.target, named)))
        self.rows: list[list[str]] = []
        self._has_json: bool = given.has("json")
        check_launch(given, given.operands)

    def compile_file(self, path: str, outputs: list[str]) -> int:
        """Compile one program for each target; after a failure, other files and targets still compile."""
        try:
            program = read_program(path, self.given)
        except ToolFailure as failure:
            return self._failed(path, self.targets, failure)
        if not self._has_json:
            print_diagnostics(program.diagnostics, self.given)
        before = program.diagnostics if self._has_json else []
        if program.module is None:
            for target in self.targets:
                self._report(path, target, before)
            return EXIT_WRONG_INPUT
        status = EXIT_FINE
        for target, output in zip(self.targets, outputs, strict=True):
            try:
                protect_input(output or "-", path, (program.kind, "a cubin"))
                status = max(status, self._compile_for(target, program.module, path, output, before))
            except ToolFailure as failure:
                status = max(status, self._failed(path, [target], failure))
        return status

    def _failed(self, path: str, targets: list[str], failure: ToolFailure) -> int:
        """Report that a file cannot be read, or a cubin be written: to people by a message, else as a finding."""
        if not self._has_json:
            complain(self.given, failure)
        for target in targets:
            error = [Diagnostic("error", harmless(failure.message), UNKNOWN)] if self._has_json else []
            self._report(path, target, error)
        return failure.status

    def _compile_for(self, target: str, root: Operation, path: str, output: str, before: list[Diagnostic]) -> int:
        """Compile a correct program for one GPU."""
        backend = self.backend
        try:
            with refusing(f"'{path}': ", OptionError):
                module = tile_module(root)
                entries = self._entries(module)
        except TileIRError as error:
            self._report(path, target, [*before, *_placed(error, root)])
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
                with Progress(is_quiet=self.given.has("quiet")) as progress:
                    progress.step(f"compiling {name_of(path)} for {target}")
                    compiled = backend.compile(entry, module, target)
            except TileIRError as error:
                self._report(path, target, [*before, *_placed(error, root)])
                status = max(status, EXIT_TIMED_OUT if isinstance(error, _TIMEOUTS) else EXIT_WRONG_INPUT)
                continue
            place = _named_by(output, compiled.kernel) if len(entries) > 1 and output not in ("", "-") else output
            self._write(place, compiled, f"kernel @{compiled.kernel}, {target}" if is_one_of_many else "")
            self._report(path, target, before, compiled, place)
        return status

    def _report(
        self, path: str, target: str, found: list[Diagnostic], compiled: CompiledOutput | None = None, output: str = ""
    ) -> None:
        """Report the outcome for a file and a target, or for one kernel of it."""
        name, resources = name_of(path), [] if compiled is None else compiled.resources
        nothing = _cells(name, target, "-" if compiled is None else compiled.kernel or "-", None)
        self.rows += [_cells(name, target, each.kernel, each) for each in resources] or [nothing]
        diagnostics = found if compiled is None else [*found, *compiled.diagnostics]
        if not self._has_json:
            print_diagnostics(diagnostics, self.given)
            return
        kernels = []
        for each in resources:
            parameters = [parameter._asdict() for parameter in each.parameters]
            kernels.append({**each._asdict(), "spills": each.spills, "parameters": parameters})
        findings = [finding_facts(each, name) for each in diagnostics]
        outcome = {"file": name, "target": target, "cubin": output or None}
        print(json.dumps({**outcome, "kernels": None if compiled is None else kernels, "findings": findings}))

    def _entries(self, module: Operation) -> list[Operation | None]:
        """The kernels to compile, of which there must be one; None for all of a module as one."""
        name = self.given.value("entry")
        kernels = list(entries_of(module).values())
        if name or len(kernels) < 2:
            return [select_entry(module, name or None)]
        return [None] if self.backend.is_whole else [*kernels]

    def _write(self, place: str, compiled: CompiledOutput, title: str) -> None:
        data = compiled.data if not self.backend.stage or compiled.data.endswith(b"\n") else compiled.data + b"\n"
        if self.backend.stage and place == "-":
            # One after the other, with what each is of.
            sys.stdout.write((f"// {title}\n" if title else "") + data.decode("utf-8", "surrogateescape"))
        elif place:
            write_bytes(place, data, "cubins are")

    def places(self) -> list[list[str]]:
        """Where the code of each file goes, one for each target; an empty path for what is not written."""
        given, targets = self.given, self.targets
        extensions = [self.backend.extension(target) for target in targets]
        places, is_named = output_paths(given, extensions[0]), given.has("output")
        if "-" in places:
            prints = any(map(given.has, ("resource-usage", "json"))) or (given.has("remarks") and not is_named)
            if prints and is_named:
                raise ToolFailure("standard output is for a cubin or for what is printed: give a file to -o")
            if not prints and not self.backend.stage and (len(places) > 1 or len(targets) > 1):
                raise ToolFailure("several cubins need '-o FILE' or '--output-dir DIR'")
            return [["" if prints else "-"] * len(targets)] * len(places)
        found: list[list[str]] = []
        for place in places:
            named = [place if is_named else os.path.splitext(place)[0] + extension for extension in extensions]
            several = len(targets) > 1
            found.append([_named_by(*each) if several else each[0] for each in zip(named, targets, strict=True)])
            for each in found[-1]:
                # Before the work, which may take minutes.
                check_target(each)
        return found


def _named_by(path: str, word: str) -> str:
    stem, extension = os.path.splitext(path)
    return f"{stem}.{word}{extension}"


def _placed(error: TileIRError, module: Operation) -> list[Diagnostic]:
    """The diagnostics of an error; those of a launch get the file that they are about."""
    if type(error) is not LaunchError:
        return error.diagnostics
    place = user_location(module.location)
    return [Diagnostic(each.severity, each.message, place, each.notes) for each in error.diagnostics]


def _cells(file: str, target: str, kernel: str, each: Resources | None) -> list[str]:
    """A row of the table: a kernel of a file; `each` is None if there is no cubin or it states no resources."""
    if each is None:
        return [file, kernel, target, *["-"] * len(_NUMBERS)]
    counts = [each.registers, each.threads, each.shared, each.stack, each.local_stores, each.local_loads]
    return [file, kernel, target, *map(str, counts), "yes" if each.spills else "no", str(each.code)]


# --- what compiles: NVIDIA's assembler, or Triton ---


class CompiledOutput(NamedTuple):
    """What is written: the code of a module or of one of its kernels, or the text of a stage."""

    kernel: str
    """Empty for all of the module."""
    data: bytes
    resources: list[Resources]
    diagnostics: list[Diagnostic]


class CompileBackend:
    """A way to compile.

    `others` are the options that only the other way has, `other` names it and its remedy in the error.  `is_whole` is
    true if it compiles all kernels of a module together.
    """

    name = others = other = ""
    is_whole = False

    def __init__(self, given: Arguments) -> None:
        self.stage: str = given.value("dump")
        given.refuse(tuple(self.others.split()), f"is an option of {self.other}")

    def target(self, text: str) -> str:
        """The target that a text names."""
        return target_named(text)

    def extension(self, target: str) -> str:
        """The extension of files with code or text for a target."""
        return ".cubin" if not self.stage else f".{self.stage}"

    def compile(self, entry: Operation | None, module: Operation, target: str) -> CompiledOutput:
        """Compile a kernel, or with none all of a module."""
        raise NotImplementedError


class AssemblerBackend(CompileBackend):
    name = "tileiras"
    others = "fast"
    other = "Triton's: add --backend triton"
    is_whole = True

    def __init__(self, given: Arguments) -> None:
        from tileir.execute.gpu.tileiras.tool import MEMORY_LIMIT, TIME_LIMIT, AssemblyOptions

        super().__init__(given)
        if self.stage not in ("", "sass"):
            raise ToolFailure(f"--dump {self.stage} shows a stage of Triton's: add --backend triton")
        level, lineinfo, remarks = int(given.value("O", "3")), given.has("lineinfo"), given.has("remarks")
        seconds, memory = given.seconds("timeout", TIME_LIMIT), given.size("memory-limit", MEMORY_LIMIT)
        host, _, system = given.value("host").partition("-")
        self._options = AssemblyOptions(level, lineinfo, host, system, remarks, seconds, memory)

    def compile(self, entry: Operation | None, module: Operation, target: str) -> CompiledOutput:
        from tileir.execute.gpu.tileiras.assembly import assemble

        made = assemble(module if entry is None else entry, target, self._options)
        data = made.cubin.data
        if self.stage:
            from tileir.execute.gpu.nvidia_tools import disassembled

            data = disassembled(made.cubin).encode("utf-8", "surrogateescape")
        return CompiledOutput("", data, list(made.resources.values()), made.diagnostics)


class TritonBackend(CompileBackend):
    name = "triton"
    others = "O remarks host"
    other = "NVIDIA's assembler, and Triton has none like it: leave it out"

    def __init__(self, given: Arguments) -> None:
        from tileir.execute.gpu.triton.code import CodeOptions, Limits
        from tileir.execute.gpu.triton.toolchain import why_missing
        from tileir.execute.gpu.triton.worker.pool import start_worker

        super().__init__(given)
        usual = Limits()
        self._options = CodeOptions(fast=given.has("fast"), lineinfo=given.has("lineinfo"))
        self._limits = Limits(given.seconds("timeout", usual.seconds), given.size("memory-limit", usual.memory))
        if self.stage not in ("tile", "ttir") and not why_missing():
            # It imports Triton while this reads the program.
            start_worker()

    def target(self, text: str) -> str:
        from tileir.execute.gpu.triton.toolchain import triton_target

        found = triton_target(text)
        stages = ["sass" if each == "cubin" else each for each in found.stages]
        if self.stage and self.stage not in stages:
            listed = ", ".join([each for each in stages if each in DUMPED])
            raise ToolFailure(f"code for {found.name} has no stage '{self.stage}' to dump: it has {listed}")
        return found.name

    def extension(self, target: str) -> str:
        from tileir.execute.gpu.triton.toolchain import triton_target

        return ".hsaco" if not self.stage and triton_target(target).is_amd else super().extension(target)

    def compile(self, entry: Operation | None, module: Operation, target: str) -> CompiledOutput:
        from tileir.execute.gpu.triton.compiler import make, stage_text
        from tileir.execute.gpu.triton.toolchain import NOT_RUN, triton_target

        assert entry is not None, "kernels come one by one"
        gpu = triton_target(target)
        kernel = entry.symbol_name or ""
        notes = [NOT_RUN] if gpu.is_amd else []
        diagnostics: list[Diagnostic] = []
        resources: list[Resources] = []
        if self.stage:
            text = stage_text(entry, gpu, self._options, self.stage, self._limits)
            data = text.encode("utf-8", "surrogateescape")
        else:
            made = make(entry, gpu, self._options, self._limits)
            data, diagnostics = made.data, list(made.diagnostics)
            notes += made.code.notes if made.code is not None else []
            resources += [made.resources] if made.resources is not None else []
        place = user_location(entry.location)
        diagnostics += [Diagnostic("remark", f"kernel @{kernel}: {each}", place) for each in notes]
        return CompiledOutput(kernel, data, resources, diagnostics)


BACKENDS: dict[str, type[CompileBackend]] = {each.name: each for each in (AssemblerBackend, TritonBackend)}
