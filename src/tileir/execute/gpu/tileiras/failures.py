"""Why there is no cubin: the assembler refuses a program, takes too long or crashes."""

from __future__ import annotations

import os
import time
from typing import Final

from tileir.execute.errors import CompilationError
from tileir.execute.gpu.command import Outcome, run_command
from tileir.execute.gpu.reproducers import VARIABLE, save_reproducer
from tileir.execute.gpu.tileiras.errors import AssemblerCrash, AssemblerError, AssemblerTimeout
from tileir.execute.gpu.tileiras.messages import gives_no_reason, read_messages
from tileir.execute.gpu.tileiras.narrowing import OutOfTime, narrowed
from tileir.execute.gpu.tileiras.options import AssemblyOptions
from tileir.execute.gpu.tileiras.program import Program, written
from tileir.execute.gpu.tileiras.tool import CUDA_VARIABLES, Assembler
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic, TileIRError, note
from tileir.ir.location import UNKNOWN
from tileir.signal_names import signal_name

INPUT: Final = "program.tileirbc"
OUTPUT: Final = "program.cubin"

_SEARCH_SECONDS: Final = 15.0
"""How long it is looked for the operation at which the assembler fails."""

_PARTS: Final = (
    "the assembler gives no reason; it needs ptxas and libnvvm of its own version, of the packages nvidia-cuda-nvcc "
    "and nvidia-nvvm"
)


class Attempt:
    """What was asked of the assembler."""

    def __init__(
        self, program: Program, tool: Assembler, target: str, options: AssemblyOptions, arguments: list[str]
    ) -> None:
        self.program: Final = program
        self.tool: Final = tool
        self.target: Final = target
        self.options: Final = options
        self.command: Final = [tool.path, *arguments, INPUT, "-o"]

    def run(self, data: bytes, seconds: float) -> Outcome:
        """What comes of bytecode."""
        try:
            return run_command(
                [*self.command, OUTPUT],
                {INPUT: data},
                (OUTPUT,),
                time_limit=seconds,
                memory_limit=self.options.memory_limit,
                without=self.tool.misleading,
            )
        except OSError as error:
            words = f"the assembler '{self.tool.path}' cannot be run: {error.strerror or error}"
            raise CompilationError(words) from None

    def told(self, words: str, *notes: str) -> list[Diagnostic]:
        """A finding about the kernel as a whole."""
        found = self.program.positions.diagnostic("error", words, "")
        found.notes += [note(each, UNKNOWN) for each in (*notes, self._who()) if each]
        return [found]

    def _who(self) -> str:
        return f"compiled for {self.target} by NVIDIA's tileiras {self.tool.version}"

    def failure(self, outcome: Outcome) -> AssemblerError:
        """What to raise for an outcome without a cubin."""
        if outcome.timed_out:
            words = f"the assembler did not finish within {self.options.time_limit:g} s and was stopped"
            hint = "products of f32 and f64 on large tiles take it long: use smaller tiles, or give it a longer limit"
            return AssemblerTimeout(self.told(words, hint))
        if outcome.status < 0:
            return self._crash(outcome)
        memory = self._memory_words(outcome)
        found = [each for each in read_messages(outcome.output, self.program.positions) if each.severity == "error"]
        if gives_no_reason(outcome.output):
            found = self._narrowed(found)
        if found:
            found[0].notes += [note(each, UNKNOWN) for each in (memory, self._who()) if each]
            return AssemblerError(found)
        how = f"ended with status {outcome.status}" if outcome.status else "ended without an error"
        said = outcome.output.strip()
        words = f"the assembler {how} and wrote no cubin" + (f"; it said: {said}" if said else "")
        return AssemblerError(self.told(words, memory))

    def _narrowed(self, found: list[Diagnostic]) -> list[Diagnostic]:
        """The operation at which the assembler fails, where it does not say so."""
        program = self.program
        end = time.monotonic() + _SEARCH_SECONDS

        def fails(module: Operation) -> bool:
            left = end - time.monotonic()
            try:
                outcome = self.run(written(module, program.version), max(left, 0.0))
            except TileIRError:
                # An older version cannot say what is asked.
                raise OutOfTime from None
            if outcome.timed_out:
                raise OutOfTime
            return outcome.status != 0

        operation = narrowed(program.module, program.name, fails)
        if operation is None:
            named = [name for name in CUDA_VARIABLES if name in os.environ and name not in self.tool.misleading]
            words = f"; {' and '.join(named)} of the environment may name another version" if named else ""
            found[0].notes.append(note(_PARTS + words, UNKNOWN))
            return found
        told = program.positions.diagnostic_at("error", "failed to compile Tile IR program", operation)
        told.notes.append(note("the assembler gives no reason; it fails from this operation of the kernel on", UNKNOWN))
        return [told]

    def _crash(self, outcome: Outcome) -> AssemblerCrash:
        name = signal_name(-outcome.status)
        program = self.program
        memory = self._memory_words(outcome)
        saved = save_reproducer(
            f"{program.name}-{self.target}-{program.key(self.target, self.options)[-8:]}",
            {INPUT: program.data, "program.mlir": program.module.text().encode("utf-8", "surrogateescape")},
            [argument.replace(INPUT, os.path.join("{}", INPUT)) for argument in [*self.command, os.devnull]],
            f"tileiras {self.tool.version} was ended by {name}",
            outcome.output,
            # Without the limit it may well succeed.
            (f"ulimit -v {self.options.memory_limit // 1024}; " if memory else "") + self._unset(),
        )
        words = f"the assembler crashed: {name}"
        if saved is None:
            told = self.told(words, memory, f"the program could not be kept: set {VARIABLE} to a directory")
            return AssemblerCrash(told, name, "", "")
        place = f"the program that it crashes on is kept in {saved.directory}"
        again = f"this shows it: {saved.command}"
        return AssemblerCrash(self.told(words, memory, place, again), name, saved.directory, saved.command)

    def _unset(self) -> str:
        """The beginning of a command line that keeps from the assembler what is kept from it here."""
        names = [name for name in self.tool.misleading if name in os.environ]
        return f"env {' '.join([f'-u {name}' for name in names])} " if names else ""

    def _memory_words(self, outcome: Outcome) -> str:
        """What to add where the limit for memory may be the reason: a process may fail in any way at it."""
        limit = self.options.memory_limit
        if outcome.peak < limit // 4:
            return ""
        return f"it may have {limit / (1 << 30):.3g} GiB of memory, which may be too little"
