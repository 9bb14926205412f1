"""From LLVM IR text to an object file, or to assembly.

Only what can be loaded is made: a function that is called without being defined must be one of `CALLABLE`, which are
exact on every platform.  That is checked in the text, and again in the object, since LLVM calls functions of its own
accord where the machine lacks an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final, cast

from tileir.execute.cpu.native.objects import CALLABLE, symbols_of
from tileir.execute.cpu.native.target import Target, binding
from tileir.execute.cpu.native.uninterrupted import uninterrupted
from tileir.execute.errors import CompilationError

_DECLARATION: Final = re.compile(r'^declare\b[^@\n]*@"?([^"\s(]+)"?\s*\(', re.MULTILINE)


def assemble(text: str, target: Target, level: int = 3) -> bytes:
    """Make a relocatable object file; `level` 0 leaves the instructions as they are, 3 is the best code."""
    check_declarations(text)
    data = uninterrupted(_made, "object", text, target, level)
    check_symbols(data)
    return cast(bytes, data)


def assembly(text: str, target: Target, level: int = 3) -> str:
    """Make assembly, to read: for this machine or another."""
    check_declarations(text)
    return cast(str, uninterrupted(_made, "assembly", text, target, level))


def optimized(text: str, target: Target, level: int = 3) -> str:
    """The LLVM IR that instructions are chosen from, to read."""
    return cast(str, uninterrupted(_made, "text", text, target, level))


def check_declarations(text: str) -> None:
    """Refuse text that declares a function which is neither LLVM's own nor callable."""
    for match in _DECLARATION.finditer(text):
        name = match[1]
        if not name.startswith("llvm.") and name not in CALLABLE:
            raise CompilationError(f"generated code calls '{name}', which is not among the functions it may call")


def check_symbols(data: bytes) -> None:
    """Refuse an object that needs a symbol which loading would not find."""
    for name in symbols_of(data).undefined:
        if name not in CALLABLE:
            raise CompilationError(
                f"generated code needs '{name}', which LLVM calls where the machine lacks an instruction for it"
            )


# --- LLVM ---

_MANY_BRANCHES: Final = 80
"""With more, only cheap passes run: those about loops take time that grows with the square of their number."""

_MANY_LOOPS: Final = 240
"""With more branches than these two more passes are left out, which run while instructions are chosen: loop strength
reduction takes seconds for some hundred loops in one function, and what LLVM moves out of the loop over tile blocks
then, a register for each loop inside, takes seconds to be spilled.  Instructions are put in order with a look at fewer
earlier ones: a basic block with a thousand stores takes seconds otherwise."""

_HUGE: Final = 2400
"""With more branches than these the instructions are left as they are: for a function of such a size everything else
takes time that grows with its square."""

_machines: dict[tuple[str, str, str, int], Any] = {}
_all_targets: bool = False


def _machine(target: Target, level: int) -> Any:
    key = (target.name, target.triple, target.features, level)
    found = _machines.get(key)
    if found is None:
        llvm = binding()
        if target.triple != llvm.get_process_triple():
            _initialize_all(llvm)
        found = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.name, features=target.features, opt=level, reloc="pic", codemodel="small"
        )
        _machines[key] = found
    return found


def _initialize_all(llvm: Any) -> None:
    global _all_targets
    if not _all_targets:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        _all_targets = True


def _made(product: str, text: str, target: Target, level: int) -> Any:
    """An object, assembly, or the text that it would be made from, by LLVM; nothing may interrupt this."""
    llvm = binding()
    if "half" in text and target.is_x86 and not target.has_avx512_fp16:
        text += HALF_CONVERSIONS
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
            if level and branches > _MANY_BRANCHES:
                _simplify(llvm, machine, module)
            elif level:
                _optimize(llvm, machine, module, level)
            if product == "object":
                return bytes(machine.emit_object(module))
            return str(machine.emit_assembly(module)) if product == "assembly" else str(module)
        except RuntimeError as error:
            raise _refused(error) from None


_LESS_EFFORT: Final = (
    ("disable-lsr", "true", "false"),
    ("disable-machine-licm", "true", "false"),
    # With how many earlier accesses to memory each one is compared when instructions are put in order.
    ("dag-maps-huge-region", "50", "1000"),
)


@contextmanager
def _with_less_effort(llvm: Any) -> Iterator[None]:
    """Nothing but options of the whole process say so; others who compile meanwhile get right code, too."""
    for name, value, _ in _LESS_EFFORT:
        llvm.set_option("tileir", f"-{name}={value}")
    try:
        yield
    finally:
        for name, _, value in _LESS_EFFORT:
            llvm.set_option("tileir", f"-{name}={value}")


@contextmanager
def _owned(passes: Any) -> Iterator[Any]:
    """A list of passes, given back at the end with all that they remember, some hundred kilobytes.

    llvmlite means to do so when it is closed, but the function that would stands behind one that does nothing among
    the classes of a list.
    """
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


def _optimize(llvm: Any, machine: Any, module: Any, level: int) -> None:
    with llvm.create_pipeline_tuning_options(speed_level=level) as options:
        # Generated code is in vectors, and its loops are long enough, already; looking for more takes twice the time
        # and finds nothing.
        options.loop_vectorization = False
        options.slp_vectorization = False
        options.loop_interleaving = False
        options.loop_unrolling = False
        with llvm.create_pass_builder(machine, options) as builder, _owned(builder.getModulePassManager()) as passes:
            passes.run(module, builder)


def _simplify(llvm: Any, machine: Any, module: Any) -> None:
    """The passes whose time grows with the text, and no more."""
    with (
        llvm.create_pipeline_tuning_options(speed_level=1) as options,
        llvm.create_pass_builder(machine, options) as builder,
        _owned(llvm.create_new_module_pass_manager()) as passes,
    ):
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.run(module, builder)


def _refused(error: RuntimeError) -> CompilationError:
    lines = [line.rstrip() for line in str(error).splitlines() if line.strip()]
    return CompilationError("LLVM refuses the generated code: " + "\n".join(lines[:6]))


HALF_CONVERSIONS: Final = """
define hidden float @__extendhfsf2(half %value) nounwind {
  %bits = bitcast half %value to i16
  %wide = zext i16 %bits to i32
  %magnitude = and i32 %wide, 32767
  %sign.low = and i32 %wide, 32768
  %sign = shl i32 %sign.low, 16
  %shifted = shl i32 %magnitude, 13
  %normal = add i32 %shifted, 939524096
  %count = uitofp i32 %magnitude to float
  %small = fmul float %count, 0x3E70000000000000
  %subnormal = bitcast float %small to i32
  %infinite = or i32 %shifted, 2139095040
  %quiet = or i32 %infinite, 4194304
  %is.nan = icmp ugt i32 %magnitude, 31744
  %special = select i1 %is.nan, i32 %quiet, i32 %infinite
  %is.special = icmp uge i32 %magnitude, 31744
  %is.subnormal = icmp ult i32 %magnitude, 1024
  %finite = select i1 %is.subnormal, i32 %subnormal, i32 %normal
  %unsigned = select i1 %is.special, i32 %special, i32 %finite
  %signed = or i32 %unsigned, %sign
  %result = bitcast i32 %signed to float
  ret float %result
}
define hidden half @__truncsfhf2(float %value) nounwind {
  %wide = fpext float %value to double
  %result = call half @__truncdfhf2(double %wide)
  ret half %result
}
define hidden half @__truncdfhf2(double %value) nounwind {
  %bits = bitcast double %value to i64
  %sign.high = lshr i64 %bits, 48
  %sign = and i64 %sign.high, 32768
  %magnitude = and i64 %bits, 9223372036854775807
  %biased = sub i64 %magnitude, 4539628424389459968
  %normal = call i64 @__round_shift(i64 %biased, i64 42)
  %exponent = lshr i64 %magnitude, 52
  %fraction.low = and i64 %magnitude, 4503599627370495
  %fraction = or i64 %fraction.low, 4503599627370496
  %distance = sub i64 1051, %exponent
  %is.far = icmp ugt i64 %distance, 63
  %shift = select i1 %is.far, i64 63, i64 %distance
  %subnormal = call i64 @__round_shift(i64 %fraction, i64 %shift)
  %payload.low = lshr i64 %magnitude, 42
  %payload = and i64 %payload.low, 1023
  %nan = or i64 %payload, 32256
  %is.nan = icmp ugt i64 %magnitude, 9218868437227405312
  %is.large = icmp uge i64 %magnitude, 4679237813814689792
  %is.normal = icmp uge i64 %magnitude, 4544132024016830464
  %finite = select i1 %is.normal, i64 %normal, i64 %subnormal
  %bounded = select i1 %is.large, i64 31744, i64 %finite
  %unsigned = select i1 %is.nan, i64 %nan, i64 %bounded
  %signed = or i64 %unsigned, %sign
  %short = trunc i64 %signed to i16
  %result = bitcast i16 %short to half
  ret half %result
}
define internal i64 @__round_shift(i64 %value, i64 %shift) alwaysinline nounwind {
  %before = sub i64 %shift, 1
  %one = shl i64 1, %before
  %half = sub i64 %one, 1
  %kept = lshr i64 %value, %shift
  %odd = and i64 %kept, 1
  %added = add i64 %value, %half
  %rounded = add i64 %added, %odd
  %result = lshr i64 %rounded, %shift
  ret i64 %result
}
"""
"""Conversions of half precision for machines without instructions for them, to the nearest, ties to even.

LLVM calls these names of its own accord; a compiler's run-time library, which elsewhere has them, is not there.
"""
