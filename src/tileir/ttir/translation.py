"""The state of a translation, and the table of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tileir.builder import Builder
from tileir.dialect.ops import BUILTIN_MODULE
from tileir.dialect.types import TileType, tile_type
from tileir.execute.locations.source_locations import frames_of
from tileir.execute.locations.wording import TRITON
from tileir.interface import parse
from tileir.ir.attributes import string_attribute
from tileir.ir.core import Block, Module, Operation
from tileir.ir.diagnostics import Diagnostic, OptionError, TileIRError, VerifyError
from tileir.ir.location import UNKNOWN
from tileir.ir.values import BlockArgument, Value
from tileir.ttir.locations import UserLocations
from tileir.ttir.origins import Origins, leads_to_memory
from tileir.ttir.tokens import MEMORY_ORDERS, MemoryOrder, Tokens
from tileir.ttir.types import descriptor_of, plain, tile_of

Results = Value | Sequence[Value] | None
Rule = Callable[["Translation", Operation], Results]

# What a module may become: calls are inlined, and a block that two branches lead to is translated for both.
_MAX_OPERATIONS: Final = 250_000

# The dialects that TTIR is lowered to.
_AFTER_TTIR: Final = ("amdg", "gluon", "llvm", "nvg", "nvvm", "nvws", "rocdl", "ttg", "ttng")

RULES: Final[dict[str, Rule]] = {}
MEMORY: Final[set[str]] = set()
"""The operations that read or write memory, or order those that do: loops and branches carry tokens around them."""


# What a rule raises if TTIR from elsewhere breaks the rules of Triton's own verifier.
_MALFORMED: Final = (AssertionError, AttributeError, LookupError, TypeError, ValueError)


class TTIRError(TileIRError):
    """TTIR that has no counterpart in Tile IR; the diagnostic has the construct, the reason and the line."""


def rule(*names: str, memory: bool = False) -> Callable[[Rule], Rule]:
    """Register a function as the rule of operations; it returns the values of their results."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        if memory:
            MEMORY.update(names)
        return function

    return register


class Translation:
    """One module being translated.

    `build` inserts operations at the current place, with the location of the operation that is translated.
    `values` has what became of each value of TTIR; a descriptor became several, which `descriptors` has.
    """

    def __init__(self, source: Module, order: MemoryOrder) -> None:
        self.source = source
        self.build = Builder("kernels")
        origins = Origins(source, MEMORY) if order == "arguments" else None
        self.tokens = Tokens(self.build, order, origins)
        self.values: dict[Value, Value] = {}
        self.descriptors: dict[Value, tuple[Value, ...]] = {}
        self.element_shape: tuple[int, ...] = ()  # of scalars: a tile's, where a function of elements is translated
        self.functions: dict[str, Operation] = {}
        self.open_blocks: set[Block] = set()  # of functions, on the way to the current place
        self._touches_memory: dict[Operation, bool] = {}
        self._budget = _MAX_OPERATIONS
        first = source.regions[0].blocks[0].first if source.regions and source.regions[0].blocks else None
        self.locations = UserLocations(first.location if first is not None else UNKNOWN)

    def declare(self) -> None:
        """Find the functions of the module."""
        source = self.source
        if source.declaration is not BUILTIN_MODULE or len(source.regions) != 1 or len(source.regions[0].blocks) != 1:
            raise self.error("this is no module of TTIR in generic form", source)
        for each in source.regions[0].block:
            self.build.location = self.locations.of(each.location)
            if each.name != "tt.func" or "sym_name" not in each.attributes:
                raise self.unsupported(each, "a module of TTIR has functions only")
            self.functions[str(self.attribute(each, "sym_name"))] = each

    def kernels(self) -> list[Operation]:
        """The public functions of the module."""
        functions = self.functions.values()
        found = [each for each in functions if self.attribute(each, "sym_visibility", "public") == "public"]
        if not found:
            raise self.error("the module has no kernel: no function is public", self.source)
        return found

    # --- what a rule reads ---

    def operands(self, operation: Operation) -> list[Value]:
        return [part for each in operation.operands for part in self.parts(each)]

    def parts(self, value: Value) -> tuple[Value, ...]:
        """What became of a value: one value, or those of a descriptor."""
        return self.descriptors[value] if value in self.descriptors else (self.values[value],)

    def groups(self, operation: Operation) -> list[list[Value]]:
        """The operands by group, where the operation has `operandSegmentSizes`."""
        values, start, found = operation.operands, 0, []
        for size in operation.segments or self.attribute(operation, "operandSegmentSizes", [len(values)]):
            found.append([part for each in values[start : start + size] for part in self.parts(each)])
            start += size
        return found

    def optional(self, operation: Operation, count: int) -> list[Value | None]:
        """The operands where some of `count` may be left out: None for those."""
        if operation.segments is None and "operandSegmentSizes" not in operation.attributes:
            found: list[Value | None] = list(self.operands(operation))
            return found + [None] * (count - len(found))
        return [group[0] if group else None for group in self.groups(operation)]

    def attribute(self, operation: Operation, name: str, default: Any = None) -> Any:
        """An attribute as a Python value."""
        found = operation.attributes.get(name)
        return default if found is None else plain(found)

    def type(self, value: Value) -> TileType:
        """The type that a value of TTIR has in Tile IR."""
        found = tile_of(value.type.text)
        if found is None:
            raise self.error(f"values of type '{value.type.text}' are not supported")
        return found if found.shape or not self.element_shape else tile_type(self.element_shape, found.element)

    def types(self, values: Sequence[Value]) -> list[TileType]:
        """The types of all that values of TTIR are in Tile IR."""
        found: list[TileType] = []
        for each in values:
            descriptor = descriptor_of(each.type.text)
            found += [self.type(each)] if descriptor is None else descriptor.parts
        return found

    def result_type(self, operation: Operation) -> TileType:
        return self.type(operation.results[0])

    def touches_memory(self, operation: Operation) -> bool:
        """Whether an operation in the regions of this one needs a token."""
        found = self._touches_memory.get(operation)
        if found is None:
            self._touches_memory[operation] = False  # while a call of itself is followed
            found = any(self._needs_token(each) for each in operation.walk() if each is not operation)
            self._touches_memory[operation] = found
        return found

    def _needs_token(self, operation: Operation) -> bool:
        if operation.name != "tt.call":
            pointer = operation.operands[0] if operation.operands else None
            return operation.name in MEMORY and not self.tokens.is_only_read(pointer)
        return self.touches_memory(self.function(operation))

    def accesses(self, operation: Operation) -> list[Value]:
        """The pointers through which the operations in the regions of this one access memory."""
        found = [each.operands[0] for each in operation.walk() if each.name in MEMORY and each.operands]
        return [each for each in found if leads_to_memory(each)]

    def function(self, call: Operation) -> Operation:
        """The function that a call names."""
        name = str(self.attribute(call, "callee")).lstrip("@").strip('"')
        found = self.functions.get(name)
        if found is None:
            raise self.error(f"there is no function '{name}'", call)
        return found

    def unsupported(self, operation: Operation, reason: str) -> TTIRError:
        """The error that an operation cannot be translated, to be raised."""
        return self.error(f"'{operation.name}' is not supported: {reason}", operation)

    def error(self, message: str, operation: Operation | None = None) -> TTIRError:
        location = self.build.location if operation is None else self.locations.of(operation.location)
        frames = frames_of(location)
        # Triton leaves some operations without a location: the loop or function around them has one.
        around = None if operation is None else operation.parent_operation
        while not frames and around is not None:
            frames, around = frames_of(self.locations.of(around.location)), around.parent_operation
        return TTIRError([Diagnostic("error", message, frames[0] if frames else location)])

    def bind(self, targets: Sequence[Value], values: Sequence[Value]) -> None:
        rest = list(values)
        for target in targets:
            descriptor = descriptor_of(target.type.text)
            if descriptor is not None:
                count = len(descriptor.parts)
                self.descriptors[target] = tuple(rest[:count])
                del rest[:count]
                continue
            value = self.values[target] = rest.pop(0)
            if isinstance(target, BlockArgument) and isinstance(value, BlockArgument):
                value.location = self.locations.of(target.location)
        assert not rest

    def operation(self, operation: Operation) -> None:
        """Translate one operation."""
        place = self.locations.of_access if operation.name in MEMORY else self.locations.of
        self.build.location = place(operation.location)
        found = RULES.get(operation.name)
        if found is None:
            raise self.unsupported(operation, _reason(operation.name))
        self._budget -= 1
        if self._budget < 0:
            raise self.error(f"the kernel has more than {_MAX_OPERATIONS:,} operations after inlining", operation)
        try:
            results = found(self, operation)
            if isinstance(results, Value):
                results = (results,)
            self.bind(operation.results, results or ())
        except TTIRError:
            raise
        except TileIRError as failure:
            raise self.unsupported(operation, failure.diagnostics[0].message) from failure
        except _MALFORMED as failure:
            raise self.error(
                f"'{operation.name}' has operands or attributes that it cannot have", operation
            ) from failure

    def block(self, block: Block) -> Operation:
        """Translate the operations of a block up to its terminator, and return that."""
        last = block.last
        if last is None:
            raise self.error("a block is empty")
        for each in block:
            if each is not last:
                self.operation(each)
        self.build.location = self.locations.of(last.location)
        return last


def _reason(name: str) -> str:
    """Why an operation without a rule is refused."""
    if name.partition(".")[0] in _AFTER_TTIR:
        return "it is about the layouts and threads of a GPU, which Triton adds to TTIR; compile the TTIR itself"
    return "Triton's frontend makes no such operation"


def translate(text: str, *, memory_order: MemoryOrder = "program") -> Module:
    """The module of `cuda_tile` that computes what a module of TTIR does: an entry for each public function.

    `text` is in the generic form of MLIR.  `memory_order` is one of those that `tokens` describes.
    """
    if memory_order not in MEMORY_ORDERS:
        raise OptionError(f"{memory_order!r} is no memory order: use one of {', '.join(MEMORY_ORDERS)}")
    source = parse(text, "ttir", allow_unregistered=True)
    translation = Translation(source, memory_order)
    try:
        translation.declare()
        for function in translation.kernels():
            translation.operation(function)
        translation.build.location = UNKNOWN
        module = translation.build.finish()
        module.attributes = {**module.attributes, "producer": string_attribute(TRITON)}
    except RecursionError:
        raise translation.error("branches and loops are nested too deeply") from None
    except VerifyError as failure:
        raise TTIRError(failure.diagnostics) from failure
    assert isinstance(module, Module)
    return module
