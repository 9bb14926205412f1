"""The loop IR as text: a line for each statement, with those inside it indented.

An expression is nested calls; one that a statement uses several times has a line of its own.  Values have their names
in the optimized program, buffers are `b0`, `b1` and on:

    nest 64x64: %pview_7[%blockId_x, %cst_0_i32] <- divf(b0, broadcast[0, _](b2))

A map such as `permute[1, 0](x)` lists for each dimension of `x` the dimension of the result that indexes it; `_` is
none: only its first element is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from tileir.execute.cpu.ir import expressions as ex
from tileir.execute.cpu.ir import statements as st
from tileir.ir.attributes import EnumAttribute
from tileir.ir.core import Operation
from tileir.ir.quoting import harmless
from tileir.ir.values import Value
from tileir.text.printer import Printer

_USUAL: Final = ("nearest_even", "none", "weak", "ordered")  # Keywords that are not printed.


class LoopLine(NamedTuple):
    """A line of the loop IR, and the operations that it does the work of."""

    text: str
    operations: list[Operation]


class LoopPrinter:
    """Collects the lines of a program."""

    def __init__(self, program: st.Program) -> None:
        self._program: st.Program = program
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
        """The buffers of a kernel and its statements; `machine` describes the machine that it is compiled for."""
        program = self._program
        self._add(harmless(f"kernel @{program.entry.symbol_name} for {machine}"))
        self._add(f"scratch memory of a thread: {program.scratch_bytes:,} bytes")
        for buffer in program.buffers:
            if buffer.offset >= 0:
                kept = ", kept from tile block to tile block" if buffer.persistent else ""
                size = f"{buffer.bytes:,} bytes at {buffer.offset}"
                self._add(f"  {buffer.name}: {buffer.dtype.name}[{buffer.count}], {size}{kept}")
        self._body(program.body, "")
        return self._lines

    def _line(self, text: str, *operations: Operation | None) -> LoopLine:
        """A line of expressions that were just written, for operations."""
        found = dict.fromkeys([*[each for each in operations if each is not None], *self._written])
        self._written = {}
        return LoopLine(text, list(found))

    def _add(self, text: str, *operations: Operation | None) -> None:
        self._lines.append(self._line(text, *operations))

    def _body(self, body: list[st.Statement], indent: str) -> None:
        for statement in body:
            self._shared = {}
            self._statement(statement, indent)

    def _statement(self, statement: st.Statement, indent: str) -> None:
        operation: Operation | None = getattr(statement, "operation", None)
        match statement:
            case st.ScalarOp() | st.Print() | st.Terminator():
                self._add(indent + self._operation(statement.operation), operation)
            case st.Alias(value, source):
                self._add(f"{indent}{self._name(value)} = {self._name(source)}", value.defining_operation)
            case st.LoopNest():
                self._nest(statement, indent)
            case st.VersionedLoopNest(fused, parts):
                if fused is not None:
                    self._nest(fused, indent)
                    self._add(f"{indent}  or, where an access leaves its array:")
                    indent += "    "
                self._body(parts, indent)
            case st.DeviceLoop():
                self._add(f"{indent}for each device of {self._name(statement.operation.view)}:", operation)
                for number, body in enumerate(statement.bodies):
                    if number:
                        self._add(f"{indent}after the first:", operation)
                    self._body(body, indent + "  ")
            case st.Reduce():
                self._reduce(statement, indent)
            case st.Matmul():
                self._matmul(statement, indent)
            case st.LoopStatement() | st.Branch():
                self._add(indent + self._operation(statement.operation), operation)
                for number, body in enumerate(statement.bodies):
                    if number:
                        self._add(indent + "} else {", operation)
                    self._body(body, indent + "  ")
                self._add(indent + "}", operation)
            case st.Alloca():
                name = self._name(statement.operation.results[0])
                self._add(f"{indent}reserve: {name} is the address of {statement.buffer.name}, cleared", operation)
            case st.Repack() | st.Inspect():
                shared = self._share(statement, indent)
                head = statement.operation.declaration.mnemonic
                if isinstance(statement, st.Repack):
                    head += f": {statement.buffer.name} <-"
                else:
                    guard = f", allowed elements to {statement.guard.name}" if statement.guard is not None else ""
                    head = f"inspect {head} {_extents(statement.shape)}{guard}:"
                self._add(f"{indent}{head} {self._list(statement.roots)}", operation)
                self._lines.extend(shared)

    def _nest(self, nest: st.LoopNest, indent: str) -> None:
        """A loop nest: on one line if it has one store and shares no expression."""
        guard = f", elements that {nest.guard.name} allows" if nest.guard is not None else ""
        head = f"{indent}nest {_extents(nest.shape)}{guard}{self._hints(nest)}:"
        shared = self._share(nest, indent)
        if not shared and len(nest.stores) == 1:
            self._add(f"{head} {self._store(nest.stores[0])}", st.operation_of(nest.stores[0]))
            return
        inside = [*shared, *self._stores(nest.stores, indent)]
        self._add(head, *[each for line in inside for each in line.operations])
        self._lines.extend(inside)

    def _hints(self, statement: st.Statement) -> str:
        nontemporal = ", non-temporal" if statement in self._program.nontemporal else ""
        return f"{nontemporal}, prefetching" if statement in self._program.prefetches else nontemporal

    def _reduce(self, statement: st.Reduce, indent: str) -> None:
        operation = statement.operation
        targets = [
            buffer.name if buffer is not None else self._name(result)
            for buffer, result in zip(statement.targets, operation.results, strict=True)
        ]
        extents = f"{_extents(statement.shape)} along {statement.axis}{self._hints(statement)}"
        shared = self._share(statement, indent)
        stored = f"{', '.join(targets)} <- {self._list(statement.sources)}"
        self._add(f"{indent}{operation.declaration.mnemonic} {extents}: {stored}", operation)
        self._lines.extend([*shared, *self._stores(statement.keeps, indent)])
        names = ", ".join([self._name(argument) for argument in operation.regions[0].blocks[0].arguments])
        self._add(f"{indent}  combine {names}:", operation)
        self._body(statement.body, indent + "    ")

    def _matmul(self, statement: st.Matmul, indent: str) -> None:
        plan, operation, loop = statement.plan, statement.operation, statement.loop
        shared = self._share(statement, indent)
        operands = f"{self._inner(statement.lhs)} x {self._inner(statement.rhs)}"
        target = f"{statement.accumulator.name} {'<-' if statement.zero_init else '+='}"
        self._add(f"{indent}matmul {plan.m}x{plan.n}x{plan.k}: {target} {operands}", operation, loop)
        self._lines.extend(shared)
        indent += "  "
        if loop is not None:
            lower, upper, counter = map(self._name, (*loop.operands[:2], loop.regions[0].blocks[0].arguments[0]))
            text = f"for {counter} in ({lower} to {upper}), {statement.iterations} iterations per k-block"
            self._add(f"{indent}k-loop: {text}", operation, loop)
        block = f"{plan.kind}, register tile {plan.mr}x{plan.column_block} in vectors of {plan.lanes}"
        dtypes = f"{plan.a_dtype.name} x {plan.b_dtype.name} to {plan.acc_dtype.name}"
        self._add(f"{indent}plan: {block}, {dtypes}", operation)
        if statement.scales:
            self._add(f"{indent}scales: {self._list(statement.scales, ' and ')}", operation)
        a, b = map(self._packed, statement.packed)
        if plan.kind != "amx":
            a = a.replace("packed in", "copied to").replace("packed", "copied")
            if 0 not in statement.computed:
                a = f"in place, or over an edge {a}" if a else "in place"
        self._add(f"{indent}A: {a}; B: {b}", operation)
        if statement.general is not None:
            self._add(f"{indent}or, where tiles do not lie side by side in their arrays:", operation)
            self._body([statement.general], indent + "  ")

    def _packed(self, packed: ex.Buffer | st.PackCache | None) -> str:
        if not isinstance(packed, st.PackCache):
            return f"packed in {packed.name}" if packed is not None else ""
        keys = ", ".join([self._name(key) for key in packed.keys])
        return f"packed, {packed.slots} cached in {packed.panels.name} by {keys} ({packed.tags.name})"

    def _stores(self, stores: list[st.Store], indent: str) -> list[LoopLine]:
        return [self._line(f"{indent}  {self._store(store)}", st.operation_of(store)) for store in stores]

    def _store(self, store: st.Store) -> str:
        source = self._inner(store.expression)
        match store:
            case st.StoreBuffer():
                window, target = store.window, store.buffer.name
                if window is not None:
                    origins = [str(each) if isinstance(each, int) else self._name(each) for each in window.origins]
                    target += f"[{', '.join(origins)}, a part {_extents(window.part)} of {_extents(window.whole)}]"
                if isinstance(store, st.CombineBuffer):
                    source = f"{store.operation.keyword('reduction')}({target}, {source})"
            case st.StoreView():
                target = self._view(store.operation, store.positions)
            case st.StorePointers():
                target = f"memory[{self._inner(store.pointers)}]{self._mask(store.mask)}"
            case st.StoreScalar():
                target = self._name(store.value)
            case st.AtomicUpdate(operation=operation, pointers=pointers):
                where = self._view(operation, None) if pointers is None else f"memory[{self._inner(pointers)}]"
                operands = ", ".join([where, source, *[self._inner(each) for each in store.others]])
                old = f"{store.buffer.name} <- " if store.buffer is not None else ""
                return f"{old}{_called(operation)}({operands}){self._mask(store.mask)}"
            case _:
                return f"assert {source}"
        return f"{target} <- {source}"

    def _mask(self, mask: ex.Expression | None) -> str:
        return f" where {self._inner(mask)}" if mask is not None else ""

    def _share(self, statement: st.Statement, indent: str) -> list[LoopLine]:
        """Lines, below a statement, for what it uses more than once and is no single name anyway."""
        lines: list[LoopLine] = []
        order = list(ex.nodes(statement.roots))
        used = [operand for node in order for operand in node.operands]
        uses = Counter([id(each) for each in (*statement.roots, *used)])
        for node in order:
            if uses[id(node)] > 1 and isinstance(node, (ex.Elementwise, ex.PointerLoad, ex.Mapped)):
                text = self._outer(node)
                name = self._name(node.value) if node.value is not None else f"${len(lines)}"
                lines.append(self._line(f"{indent}  {name} = {text}"))
                self._shared[id(node)] = name
        return lines

    def _list(self, expressions: list[ex.Expression], separator: str = ", ") -> str:
        return separator.join([self._inner(each) for each in expressions])

    def _inner(self, node: ex.Expression) -> str:
        return self._shared.get(id(node)) or self._outer(node)

    def _outer(self, root: ex.Expression) -> str:
        """An expression as text; operands first, without recursion, since chains of operations are long."""
        texts: dict[int, str] = {}
        pending: list[tuple[ex.Expression, bool]] = [(root, False)]
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

    def _node(self, node: ex.Expression, operands: list[str]) -> str:
        if isinstance(node, ex.BufferRead):
            return node.buffer.name
        operation = node.defining_operation
        if operation is not None:
            self._written[operation] = None
        match node:
            case ex.Splat():
                return self._name(node.scalar)
            case ex.Table():
                array = node.array.reshape(-1)
                return str(array[0]) if array.size == 1 else f"constant[{array.size}]"
            case ex.Mapped():
                name = operation.declaration.mnemonic if operation is not None else "map"
                axes = [
                    ("" if scalar is None else f"{self._name(scalar)}:") + ("_" if axis is None else str(axis))
                    for axis, scalar in node.mapping
                ]
                return f"{name}[{', '.join(axes)}]({operands[0]})"
            case ex.Elementwise():
                return f"{_called(node.operation)}({', '.join(operands)})"
            case ex.ViewLoad():
                return self._view(node.operation, node.positions, operands)
            case ex.PointerLoad():
                rest = iter(operands[1:])
                mask = f" where {next(rest)}" if node.mask is not None else ""
                padding = f" else {next(rest)}" if node.padding is not None else ""
                return f"memory[{operands[0]}{mask}{padding}]"
        return "iota"

    def _view(self, operation: Operation, positions: ex.Expression | None, operands: Sequence[str] = ()) -> str:
        """A tile of a view: `%view[%i, %j]`."""
        indices = [self._name(index) for index in operation.index]
        if positions is not None:
            indices[0] = operands[0] if operands else self._inner(positions)
        return f"{self._name(operation.view)}[{', '.join(indices)}]"

    def _name(self, value: Value) -> str:
        return self._printer.names.get(value, "%?")

    def _operation(self, operation: Operation) -> str:
        self._printer.out.clear()
        self._printer.print_operation(operation)
        return "".join(self._printer.out).strip().partition("\n")[0]


def _extents(shape: ex.Shape) -> str:
    return "x".join([str(extent) for extent in shape]) or "of one element"


def _called(operation: Operation) -> str:
    """The name of an operation with the keywords that change what it does: `cmpf.less_than`."""
    words = [each.keyword for each in operation.attributes.values() if isinstance(each, EnumAttribute)]
    return ".".join([operation.declaration.mnemonic, *[word for word in words if word not in _USUAL]])
