"""Structured control flow: nested loops and branches, loop-carried tuples, break, continue, early return, calls."""

import cuda.tile as ct
from tests.kernels.case import KernelCase, array, scalar
from tests.kernels.math_functions import gelu_of


@ct.kernel
def branch_without_else(a, out, flag):
    t = ct.load(a, (0,), (64,))
    if flag > 0:
        ct.store(out, (0,), t)


@ct.kernel
def branch_with_results(a, out, flag):
    t = ct.load(a, (0,), (64,))
    if flag > 10:
        scale, shift = 2.0, t
    elif flag > 5:
        scale, shift = 3.0, -t
    else:
        scale, shift = 4.0, t * t
    ct.store(out, (0,), t * scale + shift)


@ct.kernel
def early_return(a, out, limit):
    block = ct.bid(0)
    if block >= limit:
        return
    t = ct.load(a, (block,), (64,))
    if ct.max(t) < 0.0:
        ct.store(out, (block,), -t)
        return
    ct.store(out, (block,), t)


@ct.kernel
def while_with_break_and_continue(a, out, limit):
    total = ct.zeros((64,), ct.float32)
    step = 0
    while True:
        if step >= limit:
            break
        step += 1
        if step % 3 == 0:
            continue
        t = ct.load(a, (step,), (64,))
        if ct.sum(t) < 0.0:
            break
        total = total + t
    ct.store(out, (0,), total)


@ct.kernel
def for_with_break(a, out, limit):
    total = ct.zeros((64,), ct.float32)
    for step in range(limit):
        t = ct.load(a, (step,), (64,))
        if ct.max(t) > 100.0:
            break
        total += t
    ct.store(out, (0,), total)


@ct.kernel
def for_with_return(a, out, limit):
    for step in range(0, limit, 2):
        t = ct.load(a, (step,), (64,))
        if ct.min(t) < 0.0:
            ct.store(out, (step,), t)
            return
    ct.store(out, (0,), ct.zeros((64,), ct.float32))


@ct.kernel
def for_with_continue(a, out, limit):
    for step in range(limit):
        if step % 2 == 1:
            continue
        ct.store(out, (step,), ct.load(a, (step,), (64,)))


@ct.kernel
def nest(a, out, rows, columns):
    """for in for in while in if: names from every depth meet in one function."""
    best = ct.full((16, 16), -1.0, ct.float32)
    visits = 0
    if rows > 0:
        row = 0
        while row < rows:
            for column in range(columns):
                t = ct.load(a, (row, column), (16, 16))
                for lane in range(3):
                    if lane == 1:
                        best = ct.maximum(best, t)
                        visits += 1
                    else:
                        if column % 2 == 0:
                            best = best + t
                        else:
                            best = best - 1.0
            row += 1
    ct.store(out, (0, 0), best * visits)


@ct.kernel
def loop_carried_tuple(a, out, steps):
    """A fixed-point iteration that carries a tuple of tiles and scalars of several types."""
    state = (ct.load(a, (0,), (32,)), ct.ones((32,), ct.float32), 0, True)
    for _ in range(steps):
        value, slope, count, odd = state
        state = (value + slope, slope * 0.5, count + 1, not odd)
    value, slope, count, odd = state
    if odd:
        value = value + count
    ct.store(out, (0,), value + slope)


@ct.kernel
def ranges(out, start: ct.Constant[int], stop, step: ct.Constant[int]):
    """Loops over ranges with a start and a step other than the default."""
    # tileir: ignore[identical-operands]: a zero that no compiler knows
    total = stop - stop
    for i in range(start, stop, step):
        for j in range(i, stop):
            total += i * j
    ct.store(out, (0,), ct.full((1,), total, out.dtype))


@ct.kernel
def loop_with_stores(a, b, out, steps):
    """Arrays that may alias: tokens are carried through the loop and joined."""
    for step in range(steps):
        x = ct.load(a, (step,), (64,))
        ct.store(b, (step,), x + 1.0)
        y = ct.load(b, (step + 1,), (64,))
        if step > 2:
            ct.store(out, (step,), x * y)
        else:
            ct.store(a, (step,), y)


def polynomial(x, *coefficients):
    result = ct.zeros(x.shape, x.dtype)
    for coefficient in ct.static_iter(coefficients):
        result = result * x + coefficient
    return result


def activation(x, leak):
    def soft(value):
        return value / (1.0 + ct.exp(-value))

    if leak:
        return ct.where(x > 0, x, x * 0.01)
    return soft(x)


@ct.function
def gated(x, gate):
    return activation(x, True) * activation(gate, False)


@ct.kernel
def calls(a, b, out):
    """Functions, closures and lambdas: operations have call sites, some of them nested."""
    x = ct.load(a, (ct.bid(0),), (64,))
    y = ct.load(b, (ct.bid(0),), (64,))
    twice = lambda value: value + value  # noqa: E731
    ct.store(out, (ct.bid(0),), polynomial(gated(x, y), 0.5, 1.5, -2.0) + twice(activation(y, False)))


@ct.kernel
def call_into_another_file(a, out, steps):
    x = ct.load(a, (0,), (64,))
    for _ in range(steps):
        x = gelu_of(polynomial(x, 1.0, 0.5))
    ct.store(out, (0,), x)


@ct.kernel
def call_returning_early(a, out, limit):
    def clipped(value, bound):
        if bound < 0:
            return value
        if bound < 8:
            return ct.minimum(value, 1.0)
        return -value

    ct.store(out, (0,), clipped(ct.load(a, (0,), (64,)), limit))


@ct.kernel
def long_chain(a, out, N: ct.Constant[int]):
    """Some hundred operations in one block."""
    t = ct.load(a, (0,), (32,))
    for i in ct.static_iter(range(N)):
        t = ct.sin(t) * (i + 1) + ct.full((32,), i, ct.float32)
        t = ct.where(t > i, t - i, t + i)
    ct.store(out, (0,), t)


@ct.kernel
def collatz(out, LIMIT: ct.Constant[int]):
    value = ct.bid(0) + 1
    steps = 0
    while value != 1 and steps < LIMIT:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        steps += 1
    ct.scatter(out, ct.bid(0), steps)


@ct.kernel
def chained_conditions(a, out, low, high):
    x = ct.load(a, (0,), ())
    if low < x < high and not (x == 0.0 or x == 1.0):
        ct.store(out, (0,), x)


@ct.kernel
def empty():
    pass


@ct.kernel
def spin_until(flag, out):
    """A loop without values that ends when another block has written a flag."""
    while ct.atomic_add(flag, 0, 0, memory_order=ct.MemoryOrder.ACQUIRE) == 0:
        pass
    ct.store(out, (0,), ct.ones((16,), ct.float32))


F32, I32 = array(ct.float32), scalar(ct.int32)
ALIASED = array(ct.float32, alias_groups=("shared",))

CASES = [
    KernelCase("empty", empty, ()),
    KernelCase("branch_without_else", branch_without_else, (F32, F32, I32)),
    KernelCase("branch_with_results", branch_with_results, (F32, F32, I32)),
    KernelCase("early_return", early_return, (F32, F32, I32)),
    KernelCase("while_with_break_and_continue", while_with_break_and_continue, (F32, F32, I32)),
    KernelCase("for_with_break", for_with_break, (F32, F32, I32)),
    KernelCase("for_with_return", for_with_return, (F32, F32, I32)),
    KernelCase("for_with_continue", for_with_continue, (F32, F32, I32)),
    KernelCase("nest", nest, (array(ct.float32, 2), array(ct.float32, 2), I32, I32)),
    KernelCase("loop_carried_tuple", loop_carried_tuple, (F32, F32, I32)),
    KernelCase("ranges", ranges, (array(ct.int32), 3, I32, 5)),
    KernelCase("ranges_i64", ranges, (array(ct.int64), 3, scalar(ct.int64), 5)),
    KernelCase("loop_with_stores", loop_with_stores, (F32, F32, F32, I32)),
    KernelCase("loop_with_stores_aliased", loop_with_stores, (ALIASED, ALIASED, ALIASED, I32)),
    KernelCase("calls", calls, (F32, F32, F32)),
    KernelCase("call_into_another_file", call_into_another_file, (F32, F32, I32)),
    KernelCase("call_returning_early", call_returning_early, (F32, F32, I32)),
    KernelCase("long_chain", long_chain, (F32, F32, 60)),
    KernelCase("collatz", collatz, (array(ct.int32), 100)),
    KernelCase("chained_conditions", chained_conditions, (F32, F32, scalar(ct.float32), scalar(ct.float32))),
    KernelCase("spin_until", spin_until, (array(ct.int32), F32)),
]
