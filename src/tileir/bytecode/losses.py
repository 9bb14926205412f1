"""What a program has that its bytecode does not (docs/bytecode.md section 6)."""

from __future__ import annotations

from tileir.ir.attributes import StringAttribute
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.traversal import is_function


def is_private(operation: Operation) -> bool:
    """Whether a function is private: MLIR's visibility, of which bytecode has a flag for this one."""
    visibility = operation.attributes.get("sym_visibility")
    return isinstance(visibility, StringAttribute) and visibility.value == "private"


def losses(module: Operation, layout: str) -> list[Diagnostic]:
    """A warning for everything that writing a module would drop: nothing is dropped in silence."""
    found: list[Diagnostic] = []
    name = module.symbol_name
    if name is not None and name != "kernels":
        message = f"the name of the module, @{name}, has no place in bytecode; it reads back as @kernels"
        found.append(Diagnostic("warning", message, module.location))
    for operation in module.walk():
        if operation is not module and layout != "public":
            continue
        for attribute in operation.attributes:
            if attribute == "sym_visibility" and is_private(operation) and is_function(operation):
                continue
            if attribute not in operation.declaration.inherent:
                message = f"attribute '{attribute}' has no place in {layout} bytecode and is dropped"
                found.append(Diagnostic("warning", message, operation.location))
    return found
