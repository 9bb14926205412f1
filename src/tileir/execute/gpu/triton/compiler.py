"""The compiler: a kernel is prepared, lowered to TTIR, given to Triton and kept in the cache."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

# Before ml_dtypes, whose extension prints a traceback where NumPy is missing.
import numpy  # noqa: F401

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.errors import LaunchError, MissingDependencyError
from tileir.execute.gpu.cache import is_made_by
from tileir.execute.gpu.cubin import CubinError, Resources, spill_warning
from tileir.execute.gpu.errors import TritonCrash, TritonError
from tileir.execute.gpu.nvidia_tools import disassembled
from tileir.execute.gpu.triton.code import Code, CodeOptions, Limits, Schedule, Specialization
from tileir.execute.gpu.triton.lowering.lower import Lowered, located_text, lower
from tileir.execute.gpu.triton.program import Program
from tileir.execute.gpu.triton.schedule.features import features_of
from tileir.execute.gpu.triton.schedule.model import Rule, plainer_schedules, rules_for, schedule_for, smaller
from tileir.execute.gpu.triton.stored_code import code_of, packed, program_key, ttir_key
from tileir.execute.gpu.triton.tile_halves import split
from tileir.execute.gpu.triton.toolchain import (
    MISSING,
    Triton,
    TritonTarget,
    check_target,
    find_triton,
    installed_triton,
)
from tileir.execute.gpu.triton.ttgir.specialize import OPTION, NotSpecialized, compile_specialized
from tileir.execute.gpu.triton.variants import Classifier
from tileir.execute.gpu.triton.worker.pool import Answer, Request, compile_ttir, start_worker
from tileir.execute.gpu.triton.worker.stages import FILE
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.text import printer as _printer  # noqa: F401  (defines the text of operations)

_Result = TypeVar("_Result")
_USUAL: Final = CodeOptions()
_USUAL_LIMITS: Final = Limits()
_NEWEST: Final = (3, 9)  # The version whose TTIR is shown where none is installed.
_LINE: Final = re.compile(rf"{re.escape(FILE)}:(\d+):\d+: ")
SASS: Final = "sass"


class Made(NamedTuple):
    data: bytes
    code: Code | None
    diagnostics: list[Diagnostic]
    resources: Resources | None


def make(entry: Operation, target: TritonTarget, options: CodeOptions = _USUAL, limits: Limits = _USUAL_LIMITS) -> Made:
    """The code of a kernel for a GPU, with its diagnostics."""
    triton = installed_triton()
    if triton is not None:
        triton = find_triton()
        check_target(target, triton)
    prepared = Prepared(entry, target, options, triton)
    prepared, (data, made, key) = _by_some_schedule(prepared, lambda each: _made(each, limits))
    while options.schedule is None and made["metadata"]["shared"] > target.shared:
        # What the model counts is not all that Triton takes.
        less = smaller(prepared.schedule)
        if less is None:
            break
        prepared = prepared.with_schedule(less)
        prepared, (data, made, key) = _specialized_or_not(prepared, lambda each: _made(each, limits))
    known = prepared.description(key)
    if not options.lineinfo:
        default_cache().put(program_key(entry, target, options), b"", known)
    if target.is_amd:
        return Made(data, None, prepared.program.warnings, None)
    try:
        code = code_of(data, made, known)
    except CubinError as error:
        words = f"kernel @{entry.symbol_name}: what Triton made cannot be used: {error.message}"
        raise TritonError([Diagnostic("error", words, user_location(entry.location))]) from None
    found = code.cubin.resources
    resources = found._replace(shared=found.shared + code.shared, threads=code.threads, cluster=code.cluster)
    warnings = [spill_warning(entry, resources)] if resources.spills else []
    if code.cubin.kernel != entry.symbol_name:
        words = f"kernel @{entry.symbol_name} is '{code.cubin.kernel}' in the cubin: PTX has no such name"
        warnings.append(Diagnostic("warning", words, user_location(entry.location)))
    return Made(data, code, [*prepared.program.warnings, *warnings], resources)


def _specialized_or_not(prepared: Prepared, make: Callable[[Prepared], _Result]) -> tuple[Prepared, _Result]:
    """What is made of a kernel, and which: without warps for loads alone where they cannot be."""
    try:
        return prepared, make(prepared)
    except NotSpecialized as error:
        other = prepared.unspecialized()
        other.note(f"no warps are specialized: {error}")
        return other, make(other)


def _by_some_schedule(prepared: Prepared, make: Callable[[Prepared], _Result]) -> tuple[Prepared, _Result]:
    """What is made of a kernel, and which: with a plainer schedule where Triton makes nothing with the model's."""
    try:
        return _specialized_or_not(prepared, make)
    except TritonError as error:
        if prepared.options.schedule is not None or not error.is_of_program:
            # A named schedule is not replaced; and what has taken long once would take long again.
            raise
        tried = [(prepared.lowered.text, prepared.lowered.options)]
        for words, schedule in plainer_schedules(prepared.schedule):
            other = prepared.with_schedule(schedule)
            text = (other.lowered.text, other.lowered.options)
            if text in tried:
                continue
            tried.append(text)
            with suppress(TritonError):
                other, found = _specialized_or_not(other, make)
                other.note(f"compiled {words}, as Triton makes no code of it otherwise: {error.message}")
                return other, found
        raise


def _made(prepared: Prepared, limits: Limits) -> tuple[bytes, dict[str, Any], str]:
    lowered, target, triton = prepared.lowered, prepared.target, prepared.triton
    key = ttir_key(lowered.text, target, lowered.options)
    found = default_cache().get(key)
    if found is not None and is_made_by(found[1], triton):
        return *found, key
    if triton is None:
        raise MissingDependencyError(f"{MISSING}; the cache has no code of this kernel for {target.name} either")
    answer = prepared.compiled(target.stages[-1], limits)
    made = {
        "version": triton.version,
        "stamp": triton.stamp,
        "metadata": answer.metadata,
        "parameters": answer.parameters,
    }
    default_cache().put(key, answer.data, made)
    return answer.data, made, key


def stage_text(entry: Operation, target: TritonTarget, options: CodeOptions, stage: str, limits: Limits) -> str:
    """A kernel at a stage: `tile`, `ttir`, .., `sass`; `schedule` is what was decided on the way to TTIR, and why."""
    if stage in ("schedule", "tile", "ttir"):
        prepared = Prepared(entry, target, options, installed_triton())
        if stage == "schedule":
            return _decisions(prepared, limits)
        return prepared.program.module.text() if stage == "tile" else prepared.lowered.text
    if stage in (SASS, "cubin"):
        code = make(entry, target, options, limits).code
        assert code is not None, "it is code for NVIDIA"
        return disassembled(code.cubin)
    triton = find_triton()
    check_target(target, triton)
    prepared = Prepared(entry, target, options, triton)
    _, answer = _by_some_schedule(prepared, lambda each: each.compiled(stage, limits))
    return answer.data.decode("utf-8", "replace")


def _decisions(prepared: Prepared, limits: Limits) -> str:
    """What was decided for a kernel: rewrites, splits, and the schedule by the model or a search."""
    if prepared.schedule.warp_specialize and prepared.triton is not None:
        # Whether it fits is seen in Triton's text only.
        prepared, _ = _specialized_or_not(prepared, lambda each: each.compiled("ttgir", limits))
    program, slots = prepared.program, prepared.lowered.slots
    rules = prepared.rules
    by_tma = sum(slot.kind == "descriptor" for slot in slots)
    lines = [
        f"kernel @{program.source.symbol_name} for {prepared.target.name}",
        "",
        *[f"{words}: {count}" for words, count in program.changes.items()],
        f"descriptors for TMA: {by_tma}, of {len(program.views)} tensor views",
        *prepared.lowered.notes,
        "",
        f"schedule, by {'the rules of docs/internals/triton.md' if rules else 'a search or a request'}:",
    ]
    for name, value in prepared.schedule._asdict().items():
        why = f"  {rules[name].condition}: {rules[name].because}" if name in rules else ""
        lines.append(f"  {name:<16}{value!s:<6}{why}".rstrip())
    return "\n".join(lines) + "\n"


class Prepared:
    """A kernel as Triton gets it."""

    def __init__(self, entry: Operation, target: TritonTarget, options: CodeOptions, triton: Triton | None) -> None:
        if entry.parent_operation is None:
            raise LaunchError("only a kernel that stands in a module can be compiled")
        if triton is not None:
            # It gets ready while the kernel does.
            start_worker()
        self._entry: Final = entry
        self.target: Final = target
        self.triton: Final = triton
        self.options: Final = options
        self.program: Final = Program(entry)
        split_notes = split(self.program.entry, target, options.fast)
        features = features_of(self.program.entry, target.name, options.fast)
        self.schedule: Final = options.schedule or schedule_for(features, target)
        self._features: Final = features
        special = options.specialization
        self._special: Final = special if special is not None else usual_specialization(self.program, target)
        number = _NEWEST if triton is None else triton.number
        lowered = lower(self.program, target.name, self.schedule, self._special, options, number)
        if options.lineinfo:
            text = located_text(lowered.text, lowered.operations)
            lowered = lowered._replace(text=text, options={**lowered.options, "lineinfo": True})
        if self.schedule.warp_specialize:
            lowered = lowered._replace(options={**lowered.options, OPTION: True})
        self.lowered: Lowered = lowered._replace(notes=(*split_notes, *lowered.notes))

    @property
    def rules(self) -> dict[str, Rule]:
        """By setting of the schedule, the rule of the model that decides it; none where the schedule was given."""
        return {} if self.options.schedule is not None else rules_for(self._features, self.target)

    def with_schedule(self, schedule: Schedule) -> Prepared:
        return Prepared(self._entry, self.target, self.options._replace(schedule=schedule), self.triton)

    def unspecialized(self) -> Prepared:
        if self.options.schedule is not None:
            return self.with_schedule(self.schedule._replace(warp_specialize=False))
        return self.with_schedule(schedule_for(self._features._replace(may_specialize=False), self.target))

    def note(self, words: str) -> None:
        self.lowered = self.lowered._replace(notes=(*self.lowered.notes, words))

    def compiled(self, last: str, limits: Limits) -> Answer:
        text, options = self.lowered.text, self.lowered.options
        try:
            if OPTION in options:
                return compile_specialized(text, self.target, options, last, limits)
            return compile_ttir(Request(text, self.target.code, options, last), limits)
        except TritonError as error:
            self._place(error)
            raise

    def description(self, key: str) -> dict[str, Any]:
        number = _NEWEST if self.triton is None else self.triton.number
        return {
            "key": key,
            "number": list(number),
            "slots": packed(self.lowered.slots),
            "schedule": list(self.schedule),
            "specialization": packed(self._special),
            "notes": list(self.lowered.notes),
        }

    def _place(self, error: TritonError) -> None:
        """Name the operation of an error; what is kept of a crash gets the program that it comes from."""
        first = error.diagnostics[0]
        found = _LINE.search(first.message)
        line = int(found[1]) if found is not None else 0
        operations = self.lowered.operations
        operation = operations[line - 1] if 0 < line <= len(operations) else None
        words = _LINE.sub("", first.message)
        if operation is None or operation is self.program.entry:
            operation, what = self._entry, f"kernel @{self._entry.symbol_name}"
        else:
            what = f"'{operation.name}' op"
        error.message = first.message = f"{what}: {words}"
        first.location = user_location(operation.location)
        if isinstance(error, TritonCrash) and error.directory:
            # What shows the crash is there without it.
            with suppress(OSError):
                Path(error.directory, "program.mlir").write_text(self.program.module.text(), "utf-8", "replace")


def usual_specialization(program: Program, target: TritonTarget) -> Specialization:
    """What holds for most launches: everything is aligned, and no tensor is too large."""
    return Classifier([each.type for each in program.parameters], program.views).usual(target.has_tma)
