"""The errors of compiled code: a failure is a number in the launch record, and becomes an error here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from tileir.execute.analysis.pointer_origins import describe_miss, origin_of_access
from tileir.execute.analysis.values import reserved_bytes, tile_of
from tileir.execute.arguments.multicast import NOT_MULTICAST
from tileir.execute.errors import AssertionFailedError, BlockId, ExecutionError
from tileir.execute.interpreter.pointers import element_text
from tileir.execute.locations.wording import bracketed
from tileir.execute.memory import Memory, read_only
from tileir.ir.core import Operation


@dataclass(eq=False, repr=False, slots=True)
class Check:
    """A check in compiled code that can fail; `kind` selects the error."""

    kind: str
    operation: Operation
    details: tuple[int, ...] = ()

    def error(self, block: BlockId | None, element: int, detail: int) -> ExecutionError:
        """The error the interpreter would have raised; without a block if none has begun."""
        operation = self.operation
        if self.kind == "assert":
            shape = tile_of(operation.operands[0]).shape
            index = tuple([int(number) for number in numpy.unravel_index(element, shape)]) if shape else ()
            where = f" (first at element {bracketed(index)})" if shape else ""
            return AssertionFailedError(f"failed: {operation.message}{where}", operation, block, index)
        if self.kind == "multicast":
            return ExecutionError(NOT_MULTICAST.format(detail % (1 << 64)), operation, block)
        if self.kind == "window":
            axis, count = self.details
            message = f"has index {detail} in dimension {axis}: there are {count} sub-tiles"
            return ExecutionError(message, operation, block, (detail, axis, count))
        if self.kind == "memory":
            size, alignment = self.details
            message = f"requests {size} bytes aligned to {alignment}, more than is available"
            return ExecutionError(message, operation, block, (size, alignment))
        return ExecutionError(f"has a step of {detail}: it must be positive", operation, block)

    def outside(self, block: BlockId, element: int, address: int, known: Memory) -> ExecutionError:
        """The error for an access to an address that it must not touch."""
        size, *shape = self.details
        region = known.find(address)
        is_outside = region is None or address + size > region.end
        if region is not None and not is_outside:
            message = read_only(region)
        else:
            message = describe_miss(known, address, size, origin_of_access(self.operation))
        message += element_text(tuple(shape), element)
        return ExecutionError(message, self.operation, block, is_outside=is_outside)


def refused_allocation(operation: Operation) -> Check:
    """The check that an `alloca` of more memory than there is fails."""
    return Check("memory", operation, (reserved_bytes(operation), operation.alignment))
