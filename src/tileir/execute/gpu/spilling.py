"""Kernels that run out of registers: what is said about them."""

from __future__ import annotations

from tileir.execute.gpu.cubin import Resources
from tileir.execute.locations.source_locations import user_location
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Diagnostic


def spill_warning(entry: Operation, resources: Resources) -> Diagnostic:
    """That a kernel keeps values in memory for want of registers, at the kernel."""
    words = (
        f"kernel @{entry.symbol_name} runs out of registers on {resources.target}: it keeps {resources.stack} bytes "
        f"for each thread in memory, with {resources.local_stores} stores and {resources.local_loads} loads; "
        "use smaller tiles"
    )
    return Diagnostic("warning", words, user_location(entry.location))
