"""What the parser and the directives of operations share: what has been read of one operation, and another stack."""

from __future__ import annotations

import _thread

from tileir.annotations import Callable
from tileir.ir.attributes import Attribute
from tileir.ir.core import Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.location import SourceText
from tileir.ir.traits import SEGMENTS
from tileir.ir.types import Type
from tileir.ir.values import Value


class TypeSlots:
    """Where an assembly format shows the types of operands and results.

    A type slot is read by one `type($x)`.  Operands and results point at a slot, or at a fixed type; an operand with
    neither takes the type its value already has.
    """

    def __init__(
        self, declaration: OperationDeclaration, slot_count: int, operand_slots: list[int], result_slots: list[int]
    ) -> None:
        self.operand_count: int = len(declaration.operands)
        self.slot_count: int = slot_count
        self.operand_slots: list[int] = operand_slots
        self.fixed: list[Type | None] = [declaration.fixed_types.get(o.name) for o in declaration.operands]
        self.result_slots: list[int] = result_slots
        self.result_fixed: list[Type | None] = [declaration.fixed_types.get(r.name) for r in declaration.results]
        self.result_counts: list[int] = [r.count for r in declaration.results]
        self.segmented: bool = bool(declaration.traits & SEGMENTS)


class ParseState:
    """Filled by the directives; `text/reading.py` builds the operation from it.

    `operands` holds for each declared operand the token numbers of its values; `types` one list of types per type
    slot of the assembly (a slot is what one `type($x)` reads, shared by all names of the same type).
    """

    def __init__(
        self, declaration: OperationDeclaration, assembly: TypeSlots, name_token: int, source: SourceText
    ) -> None:
        self.declaration: OperationDeclaration = declaration
        self.assembly: TypeSlots = assembly
        self.name_token: int = name_token
        self.source: SourceText = source
        self.operands: list[list[int] | None] = [None] * assembly.operand_count
        self.types: list[list[Type] | None] = [None] * assembly.slot_count
        self.attributes: dict[str, Attribute] | None = None
        self.regions: list[Region] | None = None
        # Set where an operand is not what its token names but something made from it.
        self.made_operand: Value | None = None
        self.made_index: int = 0

    def set_attribute(self, name: str, value: Attribute) -> None:
        """Keep an attribute; one at its default is left out."""
        if self.declaration.defaults.get(name) is value:
            return
        if self.attributes is None:
            self.attributes = {name: value}
        else:
            self.attributes[name] = value

    def switch(self, declaration: OperationDeclaration, assembly: TypeSlots) -> None:
        """Continue as another operation: the text is a draft spelling of it."""
        self.declaration = declaration
        self.assembly = assembly
        self.operands = [None] * assembly.operand_count
        self.types = [None] * assembly.slot_count

    def add_region(self, region: Region) -> None:
        if self.regions is None:
            self.regions = [region]
        else:
            self.regions.append(region)


def on_fresh_stack(action: Callable[[], None]) -> bool:
    """Do something on the stack of a thread of its own, and wait for it; False where there can be no other thread.

    The parser and the printer of regions call themselves through the directives of operations, so a program that nests
    deeply needs a deep stack.  How deep Python's may be is a setting of the process that is not ours to change.
    """
    errors: list[BaseException] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            action()
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:
        return False
    done.acquire()
    if errors:
        raise errors[0]
    return True
