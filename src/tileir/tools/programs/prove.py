"""`tileir prove`: what holds for every launch of a kernel.  `check` and `lint` share `Prover`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tileir.cpp.demangling import source_name
from tileir.ir.quoting import harmless
from tileir.terminal import Progress
from tileir.tools import options
from tileir.tools.arguments import EXIT_FINE, EXIT_WRONG_INPUT, Arguments, Option, Usage
from tileir.tools.command import command, need_packages
from tileir.tools.input import Program, name_of, read_bytes, read_programs
from tileir.tools.programs.reporting import REPORTING_OPTIONS, SEVERITIES, Outcome, Writer, joined, report_files

if TYPE_CHECKING:
    from tileir.proofs.contract.launch_rules import ScriptKernel
    from tileir.proofs.report import Proof

_SECONDS = 30.0

USAGE = Usage(
    "tileir prove",
    "FILE|SCRIPT.py...",
    (
        "tileir prove examples/softmax.mlir",
        "tileir prove examples/vector_add.mlir --grid 'cdiv(n, 128)' --assume 'n > 0'",
    ),
    (
        Option("--assume TEXT", "what launches have in common, as 'n > 0'; repeat for several"),
        options.GRID.with_help("the grid of a launch, as 'cdiv(n, 128)' (default: the script's, or inferred)"),
        options.ENTRY.with_help("the kernel (default: each)"),
        options.PROVE_TIMEOUT,
        *REPORTING_OPTIONS,
        options.QUIET,
        options.VERBOSE.with_help("print every claim"),
        options.JOBS,
        *options.READING,
    ),
    f"""\
A question ends as proved, for every launch of the contract that is printed; as refuted, by a launch that was run and
is printed with the command that repeats it; or as unknown, with the reason. What the contract infers is marked.

FILE may be '-' for standard input, a directory, or a pattern.
{options.SCRIPT}
Its kernels are then proved for all launches, not only for those that it makes. Formats sarif and github have the
refuted questions.""",
    statuses={0: "nothing is refuted", 1: "something is refuted, or a program has errors"},
)


@command(USAGE)
def run(given: Arguments) -> int:
    prover = Prover(given)
    writer = Writer(given, prover.rules)

    def outcome(path: str) -> Outcome:
        programs = read_programs(path, given, repeated=True)
        return joined([_outcome(each, path, prover, writer) for each in prover.distinct(programs)])

    return report_files(given, writer, outcome)


def _outcome(programs: list[Program], path: str, prover: Prover, writer: Writer) -> Outcome:
    """What is printed about a program; one of a script with all its launches."""
    if programs[0].module is None:
        return writer.diagnostics(programs[0], path, ("error",))
    if writer.format in ("sarif", "github"):
        return prover.findings(programs, path, writer)
    out: list[str] = []
    refuted = 0
    for proof, run in prover.proofs(programs, path):
        found = len(proof.refuted)
        refuted += found
        if writer.format == "json":
            out.append(json.dumps({"file": name_of(path), **proof.to_dict(run)}))
        elif found or not writer.quiet:
            text = proof.render(run, verbose=prover.is_verbose)
            out.append(harmless(f"{name_of(path)} {text}", keep="\n") + "\n")
    return Outcome(out, EXIT_WRONG_INPUT if refuted else EXIT_FINE, [refuted, 0, 0])


class Prover:
    """Proves the kernels of programs with the options of a command line."""

    def __init__(self, given: Arguments) -> None:
        seconds = given.seconds("timeout", _SECONDS)
        # Its error names what to install.
        need_packages()
        from tileir.proofs.prover import grid_axes, need_solver
        from tileir.proofs.report import RULES

        need_solver()
        self.rules = RULES
        self.is_verbose: bool = given.has("verbose")
        # Progress over several files shows their number instead.
        self._is_quiet: bool = given.has("quiet") or len(given.operands) > 1
        self._assume: list[str] = given.values("assume")
        self._grid: list[str] | None = grid_axes(given.value("grid")) if given.has("grid") else None
        self._entry: str = given.value("entry")
        self._seconds: float = seconds
        readings = {option.name: option for option in options.READING if option.name != "color"}
        words = [(name, value) for name, value in given.sequence if name in readings]
        self._reading = [word for name, value in words for word in (f"--{name}", value) if word]

    @staticmethod
    def distinct(programs: list[Program]) -> list[list[Program]]:
        """The programs of a file; of a script the launches of each kernel."""
        found: dict[bytes, list[Program]] = {}
        for program in programs:
            found.setdefault(program.data, []).append(program)
        return list(found.values())

    def proofs(self, programs: list[Program], path: str) -> Iterator[tuple[Proof, str]]:
        """The proofs of the kernels of a program, and how a command begins that runs it."""
        from tileir.execute.launching.entries import entries_of, select_entry
        from tileir.proofs.prover import prove_entry

        module, launch = programs[0].module, programs[0].launch
        assert module is not None
        run = shlex.join(["tileir", "run", path, *self._reading])
        names: list[str] = []
        rule: list[str] | None = None
        if launch is not None:
            output = f"{launch.kernel}.tileirbc"
            words = ["tileir", "as", path, "--launch", str(launch.number), "-o", output]
            run = f"{shlex.join(words)} && {shlex.join(['tileir', 'run', output])}"
            script = _script(programs, path)
            names, rule = script.names, script.grid()
        # For C++, the option also selects what is compiled.
        entries = [select_entry(module, self._entry)] if self._entry else list(entries_of(module).values())
        for entry in entries:
            with Progress(is_quiet=self._is_quiet) as progress:
                progress.step(f"proving @{source_name(entry.symbol_name or '')}")
                proof = prove_entry(entry, self._assume, self._grid, self._seconds, names=names, script_grid=rule)
            yield proof, run

    def findings(self, programs: list[Program], path: str, writer: Writer) -> Outcome:
        """The refuted questions as findings."""
        out: list[str] = []
        for proof, run in self.proofs(programs, path):
            for rule, diagnostic in proof.diagnostics(run):
                out.append(writer.shown(diagnostic, path, rule))
        counts = [len(out), *[0] * (len(SEVERITIES) - 1)]
        return Outcome(out, EXIT_WRONG_INPUT if out else EXIT_FINE, counts)


def _script(programs: list[Program], path: str) -> ScriptKernel:
    """A kernel as its script writes it, and as it was launched."""
    from tileir.proofs.contract.launch_rules import RecordedLaunch, ScriptKernel

    launches = [each.launch for each in programs if each.launch is not None]
    recorded = [RecordedLaunch(each.words, each.names) for each in launches]
    return ScriptKernel(read_bytes(path).decode("utf-8", "replace"), launches[0].kernel, recorded)
