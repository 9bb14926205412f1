"""Bounds: what checked code asks before it touches memory, so that a kernel cannot leave the memory of its launch.

Most accesses are known to be inside at the price of a few instructions for many of them:

- A view that is the same for the whole launch is looked at once by each thread, before its first tile block.  If it
  leaves the array it is made from, the version for arguments that share memory runs instead (`record.UNSUITED`).
- Any other view is looked at where it is made.  One that leaves its array is no error as long as nobody touches what
  is outside: its tiles count as lying over an edge, and there each is looked at (`@bounds.box`).
- Pointers are compared, a vector at a time, with the array that they most likely point into, and only if they do not
  with all memory of the launch (`pointer_bounds`).
"""

from __future__ import annotations

from tileir.dialect.ops import ASSUME, MAKE_TENSOR_VIEW
from tileir.execute.analysis.aliasing import RENAMED
from tileir.execute.cpu.emission.context import Emission
from tileir.execute.cpu.emission.exits import call_function, fail, leave_to_general
from tileir.execute.cpu.emission.likely_arrays import READABLE, WRITABLE, LikelyArray, likely_array, wanted_of
from tileir.execute.cpu.emission.views import Box, TensorView
from tileir.execute.cpu.loops.checks import Check
from tileir.execute.cpu.loops.statements import Let
from tileir.execute.cpu.vector.builder import Number, signed
from tileir.execute.dtypes import memory_bytes
from tileir.ir.core import Operation
from tileir.ir.values import Value


def emit_suitability(emission: Emission) -> None:
    """Code before the first tile block: whether the views that are the same in all of them lie in their arrays.

    A function of its own, compiled quickly: it runs once for each thread.
    """
    builder = emission.builder
    uniform = [
        operation
        for operation in emission.program.entry.walk()
        if operation.declaration is MAKE_TENSOR_VIEW and emission.origins.is_uniform_view(operation)
    ]
    if not uniform:
        return
    with emission.aside() as lines:
        answers = []
        for operation in uniform:
            with emission.working_for(operation):
                for operand in operation.operands:
                    _hoist(emission, operand)
                emission.emitters[Let](emission, Let(operation))
                array = likely_array(emission, operation.results[0])
                assert array is not None
                answers.append(_look_at_tensor(emission, operation, array)[0])
        builder.do(f"ret i1 {builder.all_of(answers)}")
    emission.module.define("define internal i1 @suits(ptr %record) noinline optnone nounwind", lines)
    answer = builder.emit("call i1 @suits(ptr %record)")
    builder.branch(answer, None, lambda: leave_to_general(emission), likely=True)


def _hoist(emission: Emission, value: Value) -> None:
    """Compute a value that is the same for the whole launch, with what it is made of."""
    work = [value]
    while work:
        operation = work[-1].defining_operation
        if operation is None or work[-1] in emission.scalars or work[-1] in emission.views:
            work.pop()
            continue
        missing = [
            operand
            for operand in operation.operands
            if operand.defining_operation is not None
            and operand not in emission.scalars
            and operand not in emission.views
        ]
        if missing:
            work.extend(missing)
            continue
        if operation.declaration in (ASSUME, *RENAMED) and operation.operands[0] in emission.scalars:
            emission.scalars[operation.results[0]] = emission.scalars[operation.operands[0]]
        else:
            emission.emitters[Let](emission, Let(operation))
        work.pop()


def _reach(emission: Emission, operation: Operation) -> tuple[Number, list[str], list[str]]:
    """Of a tensor: its bytes from the first element to the last; conditions: the number wrapped; there is none."""
    builder = emission.builder
    view = emission.views[operation.results[0]]
    assert isinstance(view, TensorView)
    size = memory_bytes(view.element)
    total: Number = size
    wraps: list[str] = []
    empty: list[str] = []
    for extent, stride in zip(view.extents, view.strides, strict=True):
        if isinstance(extent, int):
            if extent == 0:
                return size, [], ["true"]
            if extent == 1:
                continue
        else:
            empty.append(builder.emit(f"icmp eq i64 {extent}, 0"))
        steps = builder.subtract(extent, 1)
        if isinstance(stride, int):
            # Static strides are small: the extent has to be so small that the product does not wrap.
            distance = (stride % (1 << 64)) * size
            if isinstance(steps, int):
                if steps * distance >= 1 << 62:
                    wraps.append("true")
                length: Number = min(steps * distance, 1 << 62)
            else:
                if distance:
                    wraps.append(builder.emit(f"icmp ugt i64 {steps}, {(1 << 62) // distance}"))
                length = builder.multiply(steps, signed(distance))
        else:
            length, wrapped = builder.checked("umul", steps, stride)
            wraps.append(wrapped)
            if size > 1:
                wraps.append(builder.emit(f"icmp ugt i64 {length}, {(1 << 62) // size}"))
                length = builder.multiply(length, size)
        if isinstance(total, int) and isinstance(length, int):
            total += length
        elif isinstance(stride, int) and total == size:
            total = builder.add(total, length)
        else:
            total, wrapped = builder.checked("uadd", total, length)
            wraps.append(wrapped)
    return total, wraps, empty


def _look_at_tensor(emission: Emission, operation: Operation, array: LikelyArray | None) -> tuple[str, Number]:
    """Whether a tensor lies in an array, an i1; and its bytes, so many that no memory has them if they wrap."""
    builder = emission.builder
    total, wraps, empty = _reach(emission, operation)
    if "true" in empty:
        return "true", total
    wrapped = "true" if "true" in wraps else builder.any_of(wraps)
    if wrapped == "true":
        total = -1
    elif wrapped != "false":
        # Nothing has so many.
        total = builder.emit(f"select i1 {wrapped}, i64 -1, i64 {total}")
    answer = "false"
    if array is not None:
        offset = builder.emit(f"sub i64 {_base(emission, operation)}, {array.low}")
        left = builder.call("i64", "llvm.usub.sat.i64", [f"i64 {array.bytes}", f"i64 {offset}"])
        answer = builder.emit(f"icmp ule i64 {total}, {left}")
    return builder.any_of([answer, builder.any_of(empty)]), total


def _base(emission: Emission, operation: Operation) -> str:
    """The address that a tensor view is made from."""
    return emission.scalars[operation.operands[0]].name


def judge(emission: Emission, operation: Operation) -> tuple[str, str, str]:
    """Of a tensor view just made, i1s: it lies in the array it is made from; in memory; in memory to be written."""
    if emission.origins.is_uniform_view(operation):
        return "true", "true", "true"
    array = likely_array(emission, operation.results[0])
    if emission.options.unchecked:
        in_array = "false" if array is None else _look_at_tensor(emission, operation, array)[0]
        return in_array, "true", "true"
    in_array, total = _look_at_tensor(emission, operation, array)
    if in_array == "true":
        return in_array, in_array, in_array
    builder = emission.builder

    def elsewhere() -> list[str]:
        # In other memory it is as good.
        found = call_function(emission, "i64", "find", [f"i64 {_base(emission, operation)}", f"i64 {total}"])
        return [f"i64 {found}"]

    own = WRITABLE if array is not None and array.writable else READABLE
    (known,) = builder.branch(in_array, lambda: [f"i64 {own}"], elsewhere, likely=True)
    fits = builder.emit(f"icmp uge i64 {known}, {READABLE}")
    return in_array, fits, builder.emit(f"icmp uge i64 {known}, {WRITABLE}")


def look_at_box(emission: Emission, box: Box) -> None:
    """Look at the elements of a tile that lie in their tensor, where the tensor does not lie in memory."""
    fits = box.view.tensor.fits(box.operation)
    if fits != "true" and box.view.sparse < 0:
        emission.builder.branch(fits, None, lambda: _look_at_elements(emission, box), likely=True)


def _look_at_elements(emission: Emission, box: Box) -> None:
    builder, operation, view = emission.builder, box.operation, box.view
    size = memory_bytes(view.tensor.element)
    rank = len(view.shape)
    words = emission.frame.stack("i64", 4 * max(rank, 1), 8, f"box{rank}.words")
    for axis in range(rank):
        distance = builder.multiply(view.strides[axis], size)
        for word, number in enumerate((box.starts[axis], view.extents[axis], distance, view.shape[axis])):
            place = builder.moved(words, 8 * (4 * axis + word))
            builder.do(f"store i64 {signed(number)}, ptr {place}, align 8")
    numbers = [f"i64 {view.tensor.address}", f"ptr {words}", f"i64 {rank}"]
    first = call_function(emission, "i64", "box", [*numbers, f"i64 {size}", f"i64 {wanted_of(operation)}"])

    def outside() -> None:
        where = call_function(emission, "i64", "address", [*numbers, f"i64 {first}"])
        fail(emission, Check("outside", operation, (size, *view.shape)), first, where)

    builder.branch(builder.emit(f"icmp eq i64 {first}, -1"), None, outside)
