"""The functions that chains of vector products call: the product itself, and what brings its operands.

Each is a few loops that are written as they should be, and that need nothing of what the worker knows: apart from its
deep nest of loops they take LLVM a fraction of the time, and the passes over its IR leave them alone
(`compilation.AS_WRITTEN`).  They are called once for a part of a chain, so that a call costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.panels import fetch_rows_ahead
from tileir.execute.cpu.emission.transposing import sorted_parts, units_of_part, woven
from tileir.execute.cpu.matrix.edges import Reach, lanes_below, load_masked
from tileir.execute.cpu.matrix.microkernel import emit_mma
from tileir.execute.cpu.matrix.plan import MmaPlan, Rows
from tileir.execute.cpu.runtime.llvm_compile import AS_WRITTEN
from tileir.execute.cpu.vector.builder import Number
from tileir.execute.cpu.vector.llvm import Register, scalar_type
from tileir.execute.dtypes import DType


def multiply(
    emission: Emission,
    plan: MmaPlan,
    left: Rows,
    panel: str,
    target: str,
    extent: str,
    result: Rows | None,
    fresh: str,
    addend: str,
    reach: Reach | None = None,
) -> None:
    """Add a product to rows that lie side by side, or where an i1 is `fresh` to zero; k goes as far as `extent`.

    The sum goes to the rows of `result`, if there are any.  `addend` is a number that is added at last, if any.  What
    is wanted of the sum may be its `reach` alone.
    """
    builder = emission.builder

    def write() -> None:
        place = "%target", plan.n * plan.accumulator_dtype.itemsize
        emit_mma(
            builder,
            plan,
            ("%left", "%row"),
            "%panel",
            place,
            suffix=emission.arena_suffix,
            extent="%extent",
            source=None if fresh == "false" else ("%source", "%source.row"),
            result=None if result is None else ("%result", "%result.row"),
            addend="%addend" if addend else "",
            reach=None if reach is None else ("%rows", "%columns"),
        )

    parameters = {"%left": "ptr", "%row": "i64", "%panel": "ptr", "%target": "ptr", "%extent": "i64"}
    arguments: list[Number] = [*left, panel, target, extent]
    name = f"product.{_name(plan)}"
    if result is not None:
        parameters |= {"%result": "ptr", "%result.row": "i64"}
        arguments += result
        name = f"{name}.result"
    if fresh != "false":
        parameters |= {"%source": "ptr", "%source.row": "i64"}
        row = plan.n * plan.accumulator_dtype.itemsize
        zeros = emission.module.zeros(row)
        arguments.append(builder.emit(f"select i1 {fresh}, ptr {zeros}, ptr {target}"))
        arguments.append(builder.emit(f"select i1 {fresh}, i64 0, i64 {row}"))
        name = f"{name}.fresh"
    if addend:
        parameters["%addend"] = scalar_type(plan.accumulator_dtype)
        arguments.append(addend)
        name = f"{name}.addend"
    if reach is not None:
        parameters |= {"%rows": "i64", "%columns": "i64"}
        arguments += reach
        name = f"{name}.reach"
    # All parts but the last write their result where they begin.
    overlap = ("%target", "%source", "%result")
    _call(emission, name, parameters, arguments, write, overlap)


def pack_rows(emission: Emission, plan: MmaPlan, source: Rows, panel: str, extent: str) -> None:
    """Pack rows of the right operand that lie in memory, `extent` of them."""
    builder = emission.builder
    columns, size = plan.columns, plan.rhs_dtype.itemsize
    vector = f"<{columns} x {scalar_type(plan.rhs_dtype)}>"

    def write() -> None:
        panel_bytes = builder.multiply("%extent", columns * size)

        def step(position: Number) -> None:
            here = builder.moved("%source", builder.multiply(position, "%row"))
            fetch_rows_ahead(emission, here, "%row", 1, plan.n * size)
            there = builder.moved("%panel", builder.multiply(position, columns * size))
            for column in range(0, plan.n, columns):
                where = builder.moved(here, column * size)
                loaded = builder.emit(f"load {vector}, ptr {where}, align {size}{emission.memory_suffix}")
                target = builder.moved(there, builder.multiply(panel_bytes, column // columns))
                builder.do(f"store {vector} {loaded}, ptr {target}, align {size}{emission.arena_suffix}")

        builder.count(0, "%extent", 1, step)

    parameters = {"%source": "ptr", "%row": "i64", "%panel": "ptr", "%extent": "i64"}
    _call(emission, f"pack.{_name(plan)}", parameters, [*source, panel, extent], write)


def pack_over_edge(
    emission: Emission, plan: MmaPlan, source: Rows, panel: str, extent: str, known: tuple[Number, Number]
) -> None:
    """The same where only some rows and columns lie in the tensor: zeros for the others."""
    builder = emission.builder
    columns, size = plan.columns, plan.rhs_dtype.itemsize

    def write() -> None:
        panel_bytes = builder.multiply("%extent", columns * size)

        def step(position: Number) -> None:
            is_known = builder.emit(f"icmp ult i64 {position}, %rows")
            count = builder.emit(f"select i1 {is_known}, i64 %columns, i64 0")
            here = builder.moved("%source", builder.multiply(position, "%row"))
            there = builder.moved("%panel", builder.multiply(position, columns * size))

            def across(column: Number) -> None:
                number = builder.emit(f"udiv i64 {column}, {columns}")
                within = builder.emit(f"urem i64 {column}, {columns}")
                target = builder.moved(there, builder.multiply(number, panel_bytes))
                _copy_known(emission, plan.rhs_dtype, plan.lanes, (here, column), (target, within), count)

            builder.count(0, plan.n, plan.lanes, across)

        builder.count(0, "%extent", 1, step)

    names = ("%source", "%row", "%panel", "%extent", "%rows", "%columns")
    parameters = dict(zip(names, ("ptr", "i64", "ptr", "i64", "i64", "i64"), strict=True))
    _call(emission, f"edge.{_name(plan)}", parameters, [*source, panel, extent, *known], write)


def copy_over_edge(
    emission: Emission,
    plan: MmaPlan,
    source: Rows,
    target: str,
    extent: str,
    known: tuple[Number, Number],
    count: Number,
) -> None:
    """Copy so many rows of the left operand, as long as `extent`: zeros where they do not lie in the tensor."""
    builder, size = emission.builder, plan.lhs_dtype.itemsize
    lanes = min(plan.k, emission.target.vector_bytes // size)

    def write() -> None:
        def one(row: Number) -> None:
            is_known = builder.emit(f"icmp ult i64 {row}, %rows")
            count = builder.emit(f"select i1 {is_known}, i64 %columns, i64 0")
            here = builder.moved("%source", builder.multiply(row, "%row"))
            there = builder.moved("%target", builder.multiply(row, builder.multiply("%extent", size)))

            def across(column: Number) -> None:
                _copy_known(emission, plan.lhs_dtype, lanes, (here, column), (there, column), count)

            builder.count(0, "%extent", lanes, across)

        builder.count(0, "%count", 1, one)

    names = ("%source", "%row", "%target", "%extent", "%rows", "%columns", "%count")
    parameters = dict(zip(names, ("ptr", "i64", "ptr", "i64", "i64", "i64", "i64"), strict=True))
    _call(emission, f"copy.{_name(plan)}", parameters, [*source, target, extent, *known, count], write)


def _copy_known(emission: Emission, dtype: DType, lanes: int, source: Rows, target: Rows, count: Number) -> None:
    """Copy a vector from an element of a row to another, of which `count` elements are known: zeros for the others."""
    builder, size = emission.builder, dtype.itemsize
    mask = lanes_below(builder, builder.subtract(count, source[1]), lanes)
    here, there = (builder.moved(place, builder.multiply(index, size)) for place, index in (source, target))
    loaded = load_masked(builder, dtype, lanes, here, mask, emission.memory_suffix)
    builder.do(f"store {loaded.typed}, ptr {there}, align {size}{emission.arena_suffix}")


def take_part(emission: Emission, small: MmaPlan, wide: MmaPlan, source: str, target: str) -> None:
    """Copy the part of a wide product that is a small one."""
    builder = emission.builder
    size = small.accumulator_dtype.itemsize

    def write() -> None:
        def one(row: Number) -> None:
            there = builder.moved("%target", builder.multiply(row, small.n * size))
            here = builder.moved("%source", builder.multiply(row, wide.n * size))
            operands = [f"ptr align {size} {place}" for place in (there, here)]
            builder.call("void", "llvm.memcpy.p0.p0.i64", [*operands, f"i64 {small.n * size}", "i1 false"])

        builder.count(0, small.m, 1, one)

    parameters = {"%source": "ptr", "%target": "ptr"}
    _call(emission, f"part.{wide.n}.{_name(small)}", parameters, [source, target], write)


def turn_square(emission: Emission, dtype: DType, side: int, square: str, target: Rows) -> None:
    """Store the columns of a square in memory as rows; the square is used up.

    A loop over shuffles that are alike, since they take LLVM long.  Those of the other half follow each other: with a
    loop for them, too, a machine waits for what it has just stored.
    """
    builder, size = emission.builder, dtype.itemsize
    vector = f"<{side} x {scalar_type(dtype)}>"
    per = units_of_part(side, size)

    def place(row: Number) -> str:
        return builder.moved("%square", builder.multiply(row, side * size))

    def load(rows: list[Number]) -> list[Register]:
        return [builder.value(f"load {vector}, ptr {place(row)}, align 64", dtype, side) for row in rows]

    def weave(first: Number) -> None:
        rows = [builder.add(first, number) for number in range(per)]
        for row, register in zip(rows, woven(builder, load(rows), per), strict=True):
            builder.do(f"store {register.typed}, ptr {place(row)}, align 64")

    def sort(number: int) -> None:
        rows = [builder.add(number, first) for first in range(0, side, per)]
        for row, register in zip(rows, sorted_parts(builder, load(rows), per), strict=True):
            where = builder.moved("%target", builder.multiply("%row", row))
            builder.do(f"store {register.typed}, ptr {where}, align {size}{emission.arena_suffix}")

    def write() -> None:
        builder.count(0, side, per, weave)
        for number in range(per):
            sort(number)

    parameters = {"%square": "ptr", "%target": "ptr", "%row": "i64"}
    _call(emission, f"turn.{dtype.name}.{side}", parameters, [square, *target], write)


def _name(plan: MmaPlan) -> str:
    return f"{plan.accumulator_dtype.name}.{plan.m}x{plan.n}x{plan.k}"


def _call(
    emission: Emission,
    name: str,
    parameters: dict[str, str],
    arguments: list[Number],
    write: Callable[[], None],
    overlap: tuple[str, ...] = (),
) -> None:
    """Call a function, which is written when it is first called; of its pointers only some may `overlap`."""
    builder, module = emission.builder, emission.module
    name = f"{AS_WRITTEN}{name}"
    if name not in module.symbols:
        module.symbols.add(name)
        with builder.into([]) as lines:
            write()
            builder.do("ret void")
        apart = {each: " noalias" * (kind == "ptr" and each not in overlap) for each, kind in parameters.items()}
        listed = ", ".join([f"{kind}{apart[each]} {each}" for each, kind in parameters.items()])
        module.define(f"define internal void @{name}({listed}) noinline nounwind", lines)
    operands = [f"{kind} {value}" for kind, value in zip(parameters.values(), arguments, strict=True)]
    builder.do(f"call void @{name}({', '.join(operands)})")
