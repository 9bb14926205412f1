"""The loop IR as text, to read.

One line for each statement, with those inside it indented.  An expression is written as nested calls; one that a
statement uses several times has a line of its own, since it is computed once.  Values have the names that the printer
gives them in the optimized program, buffers are `b0`, `b1` and on:

    nest 64x64: %pview_7[%blockId_x, %cst_0_i32] <- divf(b0, broadcast[0, _](b2))

A map such as `permute[1, 0](x)` says for each dimension of `x` which dimension of the result indexes it; `_` is none:
only its first element is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tileir.execute.cpu.ir.expressions import (
    BufferRead,
    Elementwise,
    Expression,
    Iota,
    Mapped,
    PointerLoad,
    Shape,
    Splat,
    Table,
    ViewLoad,
    nodes,
)
from tileir.execute.cpu.ir.statements import (
    Alias,
    Alloca,
    AssertAll,
    AtomicUpdate,
    Branch,
    Inspect,
    LoopNest,
    LoopStatement,
    Matmul,
    PackCache,
    Print,
    Program,
    Reduce,
    Repack,
    ScalarOp,
    Statement,
    Store,
    StoreBuffer,
    StorePointers,
    StoreScalar,
    StoreView,
    Terminator,
    VersionedLoopNest,
    operation_of,
)
from tileir.ir.attributes import EnumAttribute
from tileir.ir.core import Operation
from tileir.ir.quoting import harmless
from tileir.ir.values import Value
from tileir.text.printer import Printer

_USUAL: Final = ("nearest_even", "none", "weak", "ordered")
"""Keywords that are not printed."""


class LoopLine(NamedTuple):
    """A line of the loop IR, and the operations that it does the work of."""

    text: str
    operations: list[Operation]


class LoopPrinter:
    """Collects the lines of a program."""

    def __init__(self, program: Program) -> None:
        self._program: Program = program
        self._lines: list[LoopLine] = []
        # What the expressions compute that were written since the last line.
        self._written: dict[Operation, None] = {}
        self._printer: Printer = Printer()
        top = program.entry
        while top.parent_operation is not None:
            top = top.parent_operation
        self._printer.naming.name_regions(top)
        self._printer.elide = True
        # Expressions with a line of their own in the present statement.
        self._shared: dict[int, str] = {}

    def lines(self, machine: str) -> list[LoopLine]:
        """The buffers of a kernel and its statements; `machine` says what it is for."""
        program = self._program
        self._add(harmless(f"kernel @{program.entry.symbol_name} for {machine}"))
        self._add(f"scratch memory of a thread: {program.scratch_bytes:,} bytes")
        for buffer in program.buffers:
            if buffer.offset >= 0:
                kept = ", kept from tile block to tile block" if buffer.persistent else ""
                place = f"{buffer.bytes:,} bytes at {buffer.offset}"
                self._add(f"  {buffer.name}: {buffer.dtype.name}[{buffer.count}], {place}{kept}")
        self._body(program.body, "")
        return self._lines

    def _line(self, text: str, *operations: Operation | None) -> LoopLine:
        """A line of expressions that were just written, for operations."""
        found = dict.fromkeys([*[each for each in operations if each is not None], *self._written])
        self._written = {}
        return LoopLine(text, list(found))

    def _add(self, text: str, *operations: Operation | None) -> None:
        self._lines.append(self._line(text, *operations))

    # --- statements ---

    def _body(self, body: list[Statement], indent: str) -> None:
        for statement in body:
            self._shared = {}
            self._statement(statement, indent)

    def _statement(self, statement: Statement, indent: str) -> None:
        operation: Operation | None = getattr(statement, "operation", None)
        if isinstance(statement, (ScalarOp, Print, Terminator)):
            self._add(indent + self._operation(statement.operation), operation)
        elif isinstance(statement, Alias):
            text = f"{indent}{self._name(statement.value)} = {self._name(statement.source)}"
            self._add(text, statement.value.defining_operation)
        elif isinstance(statement, LoopNest):
            self._nest(statement, indent)
        elif isinstance(statement, VersionedLoopNest):
            if statement.fused is not None:
                self._nest(statement.fused, indent)
                self._add(f"{indent}  or, where an access leaves its array:")
                indent += "    "
            self._body(statement.parts, indent)
        elif isinstance(statement, Reduce):
            self._reduce(statement, indent)
        elif isinstance(statement, Matmul):
            self._matmul(statement, indent)
        elif isinstance(statement, (LoopStatement, Branch)):
            self._add(indent + self._operation(statement.operation), operation)
            for number, body in enumerate(statement.bodies):
                if number:
                    self._add(indent + "} else {", operation)
                self._body(body, indent + "  ")
            self._add(indent + "}", operation)
        elif isinstance(statement, Alloca):
            name = self._name(statement.operation.results[0])
            self._add(f"{indent}reserve: {name} is the address of {statement.buffer.name}, cleared", operation)
        else:
            assert isinstance(statement, (Inspect, Repack))
            shared = self._share(statement, indent)
            mnemonic = statement.operation.declaration.mnemonic
            sources = ", ".join([self._inner(source) for source in statement.roots])
            if isinstance(statement, Repack):
                text = f"{mnemonic}: {statement.buffer.name} <- {sources}"
            else:
                guard = f", allowed elements to {statement.guard.name}" if statement.guard is not None else ""
                text = f"inspect {mnemonic} {_extents(statement.shape)}{guard}: {sources}"
            self._add(indent + text, operation)
            self._lines.extend(shared)

    def _nest(self, nest: LoopNest, indent: str) -> None:
        """A loop nest: on one line if it has one store and shares no expression."""
        guard = f", elements that {nest.guard.name} allows" if nest.guard is not None else ""
        head = f"{indent}nest {_extents(nest.shape)}{guard}{self._hints(nest)}"
        shared = self._share(nest, indent)
        if not shared and len(nest.stores) == 1:
            self._add(f"{head}: {self._store(nest.stores[0])}", operation_of(nest.stores[0]))
            return
        inside = [self._line(f"{indent}  {self._store(store)}", operation_of(store)) for store in nest.stores]
        self._add(f"{head}:", *[each for line in [*shared, *inside] for each in line.operations])
        self._lines.extend([*shared, *inside])

    def _hints(self, statement: Statement) -> str:
        nontemporal = ", non-temporal" if statement in self._program.nontemporal else ""
        return f"{nontemporal}, prefetching" if statement in self._program.prefetches else nontemporal

    def _reduce(self, statement: Reduce, indent: str) -> None:
        operation = statement.operation
        targets = [
            buffer.name if buffer is not None else self._name(result)
            for buffer, result in zip(statement.targets, operation.results, strict=True)
        ]
        extents = f"{_extents(statement.shape)} along {statement.axis}"
        head = f"{operation.declaration.mnemonic} {extents}{self._hints(statement)}"
        shared = self._share(statement, indent)
        sources = ", ".join([self._inner(source) for source in statement.sources])
        self._add(f"{indent}{head}: {', '.join(targets)} <- {sources}", operation)
        keeps = [self._line(f"{indent}  {self._store(store)}", operation_of(store)) for store in statement.keeps]
        self._lines.extend([*shared, *keeps])
        names = ", ".join([self._name(argument) for argument in operation.regions[0].blocks[0].arguments])
        self._add(f"{indent}  combine {names}:", operation)
        self._body(statement.body, indent + "    ")

    def _matmul(self, statement: Matmul, indent: str) -> None:
        plan, operation = statement.plan, statement.operation
        shared = self._share(statement, indent)
        operands = f"{self._inner(statement.lhs)} x {self._inner(statement.rhs)}"
        extents = f"{plan.m}x{plan.n}x{plan.k}"
        sign = "<-" if statement.zero_init else "+="
        head = f"{indent}matmul {extents}: {statement.accumulator.name} {sign} {operands}"
        self._add(head, operation, statement.loop)
        self._lines.extend(shared)
        if statement.loop is not None:
            lower, upper, _ = (self._name(value) for value in statement.loop.operands[:3])
            counter = self._name(statement.loop.regions[0].blocks[0].arguments[0])
            text = f"for {counter} in ({lower} to {upper}), {statement.iterations} iterations per k-block"
            self._add(f"{indent}  k-loop: {text}", operation, statement.loop)
        block = f"{plan.kind}, register tile {plan.mr}x{plan.column_block} in vectors of {plan.lanes}"
        dtypes = f"{plan.a_dtype.name} x {plan.b_dtype.name} to {plan.acc_dtype.name}"
        self._add(f"{indent}  plan: {block}, {dtypes}", operation)
        if statement.scales:
            scales = " and ".join([self._inner(scale) for scale in statement.scales])
            self._add(f"{indent}  scales: {scales}", operation)
        copied = f"copied to {statement.a_scratch.name}" if statement.a_scratch is not None else ""
        a = copied or "copied"
        if 0 not in statement.computed:
            a = f"in place, or over an edge {copied}" if copied else "in place"
        if statement.a_cache is not None:
            a += f", {self._cache(statement.a_cache)}"
        elif statement.a_packed is not None:
            a += f", packed in {statement.a_packed.name}"
        b = f"packed in {statement.b_packed.name}" if statement.b_packed is not None else "packed"
        if statement.b_cache is not None:
            b += f", {self._cache(statement.b_cache)}"
        self._add(f"{indent}  A: {a}; B: {b}", operation)
        if statement.general is not None:
            self._add(f"{indent}  or, where tiles do not lie side by side in their arrays:", operation)
            self._body([statement.general], indent + "    ")

    def _cache(self, cache: PackCache) -> str:
        keys = ", ".join([self._name(key) for key in cache.keys])
        return f"{cache.slots} cached in {cache.panels.name} by {keys} ({cache.tags.name})"

    # --- stores ---

    def _store(self, store: Store) -> str:
        source = self._inner(store.expression)
        if isinstance(store, StoreBuffer):
            window, target = store.window, store.buffer.name
            if window is not None:
                origins = [str(each) if isinstance(each, int) else self._name(each) for each in window.origins]
                target += f"[{', '.join(origins)}, a part {_extents(window.part)} of {_extents(window.whole)}]"
            return f"{target} <- {source}"
        if isinstance(store, StoreView):
            return f"{self._view(store.operation, store.positions)} <- {source}"
        if isinstance(store, StorePointers):
            return f"memory[{self._inner(store.pointers)}]{self._mask(store.mask)} <- {source}"
        if isinstance(store, StoreScalar):
            return f"{self._name(store.value)} <- {source}"
        if isinstance(store, AssertAll):
            return f"assert {source}"
        assert isinstance(store, AtomicUpdate)
        operation, pointers = store.operation, store.pointers
        target = self._view(operation, None) if pointers is None else f"memory[{self._inner(pointers)}]"
        others = "".join([f", {self._inner(each)}" for each in store.others])
        old = f"{store.buffer.name} <- " if store.buffer is not None else ""
        return f"{old}{_called(operation)}({target}, {source}{others}){self._mask(store.mask)}"

    def _mask(self, mask: Expression | None) -> str:
        return f" where {self._inner(mask)}" if mask is not None else ""

    # --- expressions ---

    def _share(self, statement: Statement, indent: str) -> list[LoopLine]:
        """Lines, below a statement, for what it uses more than once and is no single name anyway."""
        lines: list[LoopLine] = []
        roots = statement.roots
        uses: dict[int, int] = {}
        order = list(nodes(roots))
        used = [operand for node in order for operand in node.operands]
        for expression in [*roots, *used]:
            uses[id(expression)] = uses.get(id(expression), 0) + 1
        number = 0
        for node in order:
            if uses[id(node)] > 1 and isinstance(node, (Elementwise, PointerLoad, Mapped)):
                text = self._outer(node)
                name = self._name(node.value) if node.value is not None else f"${number}"
                number += 1
                lines.append(self._line(f"{indent}  {name} = {text}"))
                self._shared[id(node)] = name
        return lines

    def _inner(self, node: Expression) -> str:
        return self._shared.get(id(node)) or self._outer(node)

    def _outer(self, root: Expression) -> str:
        """An expression as text; operands first, without recursion, since chains of operations are long."""
        texts: dict[int, str] = {}
        pending: list[tuple[Expression, bool]] = [(root, False)]
        while pending:
            node, expanded = pending.pop()
            if id(node) in texts:
                continue
            if node is not root and id(node) in self._shared:
                texts[id(node)] = self._shared[id(node)]
            elif expanded or not node.operands:
                texts[id(node)] = self._node(node, [texts[id(operand)] for operand in node.operands])
            else:
                pending.append((node, True))
                pending.extend([(operand, False) for operand in node.operands])
        return texts[id(root)]

    def _node(self, node: Expression, operands: list[str]) -> str:
        if isinstance(node, BufferRead):
            return node.buffer.name
        operation = node.value.defining_operation if node.value is not None else None
        if operation is not None:
            self._written[operation] = None
        if isinstance(node, Splat):
            return self._name(node.scalar)
        if isinstance(node, Table):
            array = node.array.reshape(-1)
            return str(array[0]) if array.size == 1 else f"constant[{array.size}]"
        if isinstance(node, Iota):
            return "iota"
        if isinstance(node, Mapped):
            name = operation.declaration.mnemonic if operation is not None else "map"
            return f"{name}[{', '.join([self._axis(axis, scalar) for axis, scalar in node.mapping])}]({operands[0]})"
        if isinstance(node, Elementwise):
            return f"{_called(node.operation)}({', '.join(operands)})"
        if isinstance(node, ViewLoad):
            return self._view(node.operation, node.positions, operands)
        if isinstance(node, PointerLoad):
            rest = iter(operands[1:])
            mask = f" where {next(rest)}" if node.mask is not None else ""
            padding = f" else {next(rest)}" if node.padding is not None else ""
            return f"memory[{operands[0]}{mask}{padding}]"
        return f"{type(node).__name__.lower()}({', '.join(operands)})"

    def _axis(self, axis: int | None, scalar: Value | None) -> str:
        start = f"{self._name(scalar)}:" if scalar is not None else ""
        return f"{start}{'_' if axis is None else axis}"

    def _view(self, operation: Operation, positions: Expression | None, operands: Sequence[str] = ()) -> str:
        """A tile of a view: `%view[%i, %j]`."""
        view = self._name(operation.view)
        indices = [self._name(index) for index in operation.index]
        if positions is not None:
            indices[0] = operands[0] if operands else self._inner(positions)
        return f"{view}[{', '.join(indices)}]"

    # --- names ---

    def _name(self, value: Value) -> str:
        return self._printer.names.get(value, "%?")

    def _operation(self, operation: Operation) -> str:
        """The first line of the printed operation."""
        self._printer.out.clear()
        self._printer.print_operation(operation)
        return "".join(self._printer.out).strip().partition("\n")[0]


def _extents(shape: Shape) -> str:
    return "x".join([str(extent) for extent in shape]) or "of one element"


def _called(operation: Operation) -> str:
    """The name of an operation with the keywords that change what it does: `cmpf.less_than`."""
    words = [operation.declaration.mnemonic]
    for attribute in operation.attributes.values():
        if isinstance(attribute, EnumAttribute) and attribute.keyword not in _USUAL:
            words.append(attribute.keyword)
    return ".".join(words)
