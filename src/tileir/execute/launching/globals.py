"""The global variables of a module, in memory."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy

from tileir.dialect.ops import GLOBAL
from tileir.execute.dtypes import constant_elements, to_memory
from tileir.execute.errors import LaunchError
from tileir.execute.memory import Memory, Region
from tileir.ir.core import Operation


class Globals:
    """The global variables of a loaded module: allocated for its first kernel, shared with `Kernel.sibling`."""

    def __init__(self, module: Operation | None) -> None:
        self.regions: dict[str, Region] = {}
        self._memory = Memory()
        if module is None:
            return
        for operation in module.regions[0].blocks[0]:
            if operation.declaration is GLOBAL:
                self._add(operation)

    def _add(self, operation: Operation) -> None:
        value = operation.value_attribute
        alignment = operation.alignment
        content = to_memory(value.element_type, numpy.resize(constant_elements(value), prod(value.shape)))
        name = operation.symbol_name or ""
        try:
            region = self._memory.allocate(content.nbytes, max(alignment, 16), f"global @{name}")
        except MemoryError:
            raise LaunchError(
                f"the global @{name} takes {content.nbytes} bytes aligned to {alignment}, more than is available"
            ) from None
        region.data[: content.nbytes] = numpy.ascontiguousarray(content).view(numpy.uint8)
        if operation.constant:
            region.writable = False
            region.data.flags.writeable = False
        self.regions[name] = region

    def array(self, name: str) -> Any:
        """The bytes of a global variable."""
        return self.regions[name].data
