"""From LLVM IR text to an object file, or to assembly.

A function that is called without being defined must be one of `CALLABLE`, which are exact on every platform.  What LLVM
calls of its own accord, where the machine lacks an instruction, is exact too, or missing when the object is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, Final, cast

from tileir.execute.cpu.runtime.llvm_thread import uninterrupted
from tileir.execute.cpu.runtime.loader import CALLABLE
from tileir.execute.cpu.runtime.target import Target, binding
from tileir.execute.errors import CompilationError

_DECLARATION: Final = re.compile(r'^declare\b[^@\n]*@"?([^"\s(]+)"?\s*\(', re.MULTILINE)
_INEXACT: Final = tuple([f"llvm.{name}" for name in ("sin", "cos", "tan", "exp", "log", "pow", "asin", "acos", "atan")])
"""Intrinsics that become calls of functions whose last bits differ from platform to platform."""


def assemble(text: str, target: Target, level: int = 3) -> bytes:
    """Make a relocatable object file; `level` 0 leaves the instructions as they are, 3 is the best code."""
    _check_declarations(text)
    return cast(bytes, uninterrupted(_made, "object", text, target, level))


def assembly(text: str, target: Target) -> str:
    """Make assembly, to read: for this machine or another."""
    _check_declarations(text)
    return cast(str, uninterrupted(_made, "assembly", text, target, 3))


def optimized(text: str, target: Target) -> str:
    return cast(str, uninterrupted(_made, "text", text, target, 3))


def _check_declarations(text: str) -> None:
    """Refuse text that declares a function which is neither LLVM's own and exact nor callable."""
    for name in _DECLARATION.findall(text):
        if name.startswith(_INEXACT) or not (name.startswith("llvm.") or name in CALLABLE):
            raise CompilationError(f"generated code calls '{name}', which is not among the functions it may call")


AS_WRITTEN: Final = "plain."  # How the names of functions begin that the passes over LLVM IR find nothing in.

_MANY_BRANCHES: Final = 80  # With more, passes about loops, which take quadratic time, do not run

_MANY_LOOPS: Final = 240
"""With more branches than these two more passes are left out, which run while instructions are chosen: loop strength
reduction takes seconds for some hundred loops in one function, and what LLVM moves out of the loop over tile blocks
then, a register for each loop inside, takes seconds to be spilled.  Instructions are put in order with a look at fewer
earlier ones: a basic block with a thousand stores takes seconds otherwise."""

_HUGE: Final = 2400
"""With more branches than these the instructions are left as they are: for a function of such a size everything else
takes time that grows with its square."""


@cache
def _machine(target: Target, level: int) -> Any:
    llvm = binding()
    if target.triple != llvm.get_process_triple():
        # A second time it does nothing.
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.name, features=target.features, opt=level, reloc="pic", codemodel="small"
    )


def _made(product: str, text: str, target: Target, level: int) -> Any:
    """An object, assembly, or the text that it would be made from, by LLVM; nothing may interrupt this."""
    llvm = binding()
    # Branches that are hardly ever taken, which checks are, make no loops.
    branches = text.count("br i1 ") - text.count(", !prof !3") - text.count(", label %failed")
    if branches > _HUGE:
        level = 0
    machine = _machine(target, level)
    # In front, not set afterwards: the alignment of accesses that state none follows from the layout.
    header = f'target datalayout = "{machine.target_data}"\ntarget triple = "{target.triple}"\n'
    # Each must go before what it was made in, which Python's garbage collector does not see to.
    with ExitStack() as owned:
        try:
            context = owned.enter_context(llvm.create_context())
            module = owned.enter_context(llvm.parse_assembly(header + text, context))
            module.verify()
            if level and branches > _MANY_LOOPS:
                owned.enter_context(_with_less_effort(llvm))
            if level:
                _run_passes(llvm, machine, module, branches > _MANY_BRANCHES)
            if product == "object":
                return bytes(machine.emit_object(module))
            return str(machine.emit_assembly(module)) if product == "assembly" else str(module)
        except RuntimeError as error:
            lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
            raise CompilationError("LLVM refuses the generated code: " + "\n".join(lines[:6])) from None


_LESS_EFFORT: Final = (
    ("disable-lsr", "true", "false"),
    ("disable-machine-licm", "true", "false"),
    # With how many earlier accesses to memory each one is compared when instructions are put in order.
    ("dag-maps-huge-region", "50", "1000"),
)


@contextmanager
def _with_less_effort(llvm: Any) -> Iterator[None]:
    """Set options of the whole process; code that other threads compile at the same time is correct too."""
    for name, value, _ in _LESS_EFFORT:
        llvm.set_option("tileir", f"-{name}={value}")
    try:
        yield
    finally:
        for name, _, value in _LESS_EFFORT:
            llvm.set_option("tileir", f"-{name}={value}")


@contextmanager
def _owned(passes: Any) -> Iterator[Any]:
    """A list of passes, freed at the end: llvmlite's own `close` reaches a function that does nothing."""
    try:
        yield passes
    finally:
        if not passes.closed:
            classes = type(passes).__mro__
            dispose = [vars(each)["_dispose"] for each in classes if "_dispose" in vars(each)]
            if len(dispose) == 2 and classes[1].__name__ == "ObjectRef":
                dispose[1](passes)
                passes.detach()
            else:
                passes.close()


def _run_passes(llvm: Any, machine: Any, module: Any, is_large: bool) -> None:
    """LLVM's passes over one function, at the level of -O1: common subexpressions and loop invariants.  Its other
    passes, for calls and vectorization, took as long again and made no kernel faster.  With `is_large` only those
    passes run whose time grows with the text."""
    with llvm.create_pipeline_tuning_options(speed_level=1) as options:
        for name in ("loop_vectorization", "slp_vectorization", "loop_interleaving", "loop_unrolling"):
            setattr(options, name, False)
        with llvm.create_pass_builder(machine, options) as builder:
            with _owned(llvm.create_new_module_pass_manager()) as passes:
                passes.add_always_inliner_pass()
                if is_large:
                    passes.add_sroa_pass()
                    passes.add_simplify_cfg_pass()
                    passes.add_instruction_combine_pass()
                passes.run(module, builder)
            if is_large:
                return
            with _owned(builder.getFunctionPassManager()) as passes:
                for function in module.functions:
                    if not function.is_declaration and not function.name.startswith(AS_WRITTEN):
                        passes.run(function, builder)
