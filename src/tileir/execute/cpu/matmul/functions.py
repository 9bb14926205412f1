"""Functions beside the worker: macro-kernels, packing, and the lookup of packed operands.

Each is a few loops that are written as they should be, and that need nothing of what the worker knows: apart from its
deep loop nest they take LLVM a fraction of the time.  LLVM's passes leave them alone (`compilation.AS_WRITTEN`), which
makes matmuls 1.2 times as fast.  They are called once for a k-block, so that a call costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tileir.execute.cpu.codegen.context import Emission
from tileir.execute.cpu.matmul.macrokernel import Operands, emit_macrokernel
from tileir.execute.cpu.matmul.plan import Plan
from tileir.execute.cpu.runtime.llvm_compile import AS_WRITTEN
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.llvm import scalar_type


def call_function(
    emission: Emission,
    name: str,
    parameters: Mapping[str, tuple[str, Number]],
    write: Callable[[], str | None],
    overlap: tuple[str, ...] = (),
) -> str:
    """Call a function, which is written when it is first called; gives the i1 that it returns, if any.

    Parameters are types and arguments by name; of pointers only some may `overlap`.
    """
    builder, module = emission.builder, emission.module
    name = f"{AS_WRITTEN}{name}"
    if name not in module.symbols:
        with builder.into([]) as lines:
            found = write() or "false"
            builder.do("ret void" if found == "false" else f"ret i1 {found}")
        module.symbols.add(name)
        if found != "false":
            module.symbols.add(f"{name}.i1")
        apart = {each: " noalias" * (kind == "ptr" and each not in overlap) for each, (kind, _) in parameters.items()}
        listed = ", ".join([f"{kind}{apart[each]} {each}" for each, (kind, _) in parameters.items()])
        result = "void" if found == "false" else "i1"
        module.define(f"define internal {result} @{name}({listed}) noinline nounwind", lines)
    arguments = ", ".join([f"{kind} {value}" for kind, value in parameters.values()])
    if f"{name}.i1" in module.symbols:
        return builder.emit(f"call i1 @{name}({arguments})")
    builder.do(f"call void @{name}({arguments})")
    return "false"


def call_macrokernel(emission: Emission, plan: Plan, operands: Operands) -> None:
    """Call the macro-kernel of a plan."""
    parameters = {
        "%a": ("ptr", operands.a[0]),
        "%a.row": ("i64", operands.a[1]),
        "%b": ("ptr", operands.b),
        "%c.in": ("ptr", operands.c_in[0]),
        "%c.in.row": ("i64", operands.c_in[1]),
        "%c.out": ("ptr", operands.c_out[0]),
        "%c.out.row": ("i64", operands.c_out[1]),
        "%k": ("i64", operands.k),
        "%rows": ("i64", operands.rows),
        "%columns": ("i64", operands.columns),
    }
    name = f"matmul.{plan.name}"
    if plan.guard:
        parameters["%special"] = "i1", operands.needs_fallback
    if operands.signed_zero:
        parameters["%zero"] = scalar_type(plan.acc_dtype), operands.signed_zero
        name = f"{name}.tail"

    def write() -> None:
        found = Operands(
            ("%a", "%a.row"), "%b", ("%c.in", "%c.in.row"), ("%c.out", "%c.out.row"), "%k", "%rows", "%columns",
            "%special" if plan.guard else "false", "%zero" if operands.signed_zero else "",
        )  # fmt: skip
        emit_macrokernel(emission.builder, plan, found)

    # All k-blocks but the last write their result where they begin.
    call_function(emission, name, parameters, write, ("%c.in", "%c.out"))
