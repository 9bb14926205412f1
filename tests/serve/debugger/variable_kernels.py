"""Kernels that assign variables in every way that cuTile takes; `test_script_variables` runs them in plain Python too.

Each takes an array to read, one to write, a number of iterations, and a factor; the arrays have 64 elements, and tiles
have eight.  Where a variable is written and never read, that is what the kernel is about.
"""

# ruff: noqa: F841, B007

import cuda.tile as ct

SIZE = 8


@ct.kernel
def straight(x, out, n: int, scale: float):
    i = ct.bid(0)
    a = ct.load(x, (i,), (8,))
    b = a + 1.0
    c = b * scale
    ct.store(out, (i,), c)


@ct.kernel
def online_maximum(x, out, n: int, scale: float):
    m = ct.full((8,), -100.0, ct.float32)
    total = ct.zeros((8,), ct.float32)
    for k in range(n):
        t = ct.load(x, (k,), (8,))
        mn = ct.maximum(m, t)
        total = total * (m - mn) + t
        m = mn
    ct.store(out, (ct.bid(0),), m + total)


@ct.kernel
def swapped(x, out, n: int, scale: float):
    a = ct.load(x, (0,), (8,))
    b = ct.load(x, (1,), (8,))
    for k in range(n):
        a, b = b, a
        a = a + 1.0
    ct.store(out, (ct.bid(0),), a - b)


@ct.kernel
def fibonacci(x, out, n: int, scale: float):
    a = 0
    b = 1
    for k in range(n):
        a, b = b, a + b
    ct.store(out, (ct.bid(0),), ct.load(x, (0,), (8,)) + b)


@ct.kernel
def augmented(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    count = 0
    for k in range(n):
        acc += ct.load(x, (k,), (8,))
        acc *= 2.0
        count += 3
    ct.store(out, (ct.bid(0),), acc + count)


@ct.kernel
def nested(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    for i in range(n):
        row = ct.zeros((8,), ct.float32)
        for j in range(2):
            t = ct.load(x, (i + j,), (8,))
            row = row + t
        last = row * scale
        acc = acc + last
    ct.store(out, (ct.bid(0),), acc)


@ct.kernel
def same_counter(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    for i in range(n):
        acc = acc + i
        for i in range(3):
            acc = acc * 2.0 + i
        acc = acc - i
    ct.store(out, (ct.bid(0),), acc)


@ct.kernel
def counted_down(x, out, n: int, scale: float):
    left = n
    acc = ct.zeros((8,), ct.float32)
    while left > 0:
        acc = acc + ct.load(x, (left,), (8,))
        left = left - 1
    ct.store(out, (ct.bid(0),), acc + left)


@ct.kernel
def left_early(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    previous = ct.zeros((8,), ct.float32)
    for k in range(n + 3):
        t = ct.load(x, (k,), (8,))
        if k == 2:
            break
        previous = acc
        acc = acc + t
    ct.store(out, (ct.bid(0),), acc - previous)


@ct.kernel
def skipped(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    seen = 0
    for k in range(n + 2):
        if k % 2 == 1:
            continue
        seen = seen + 1
        acc = acc + ct.load(x, (k,), (8,))
    ct.store(out, (ct.bid(0),), acc * seen)


@ct.kernel
def left_while(x, out, n: int, scale: float):
    k = 0
    acc = ct.zeros((8,), ct.float32)
    while True:
        t = ct.load(x, (k,), (8,))
        k = k + 1
        if k > n:
            break
        acc = acc + t
    ct.store(out, (ct.bid(0),), acc + k)


@ct.kernel
def branches(x, out, n: int, scale: float):
    a = ct.load(x, (0,), (8,))
    if n > 2:
        b = a * 2.0
        c = b + 1.0
    else:
        b = a * 3.0
        c = b - 1.0
    d = b + c
    ct.store(out, (ct.bid(0),), d)


@ct.kernel
def reassigned_in_branch(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    for k in range(n):
        t = ct.load(x, (k,), (8,))
        if ct.max(t) > 40.0:
            t = t * 0.5
            acc = acc + t
        else:
            acc = acc - t
        acc = acc + 1.0
    ct.store(out, (ct.bid(0),), acc)


@ct.kernel
def one_branch(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    for k in range(n):
        t = ct.load(x, (k,), (8,))
        if k > 1:
            late = t + 100.0
            acc = acc + late
        acc = acc + t
    ct.store(out, (ct.bid(0),), acc)


@ct.kernel
def one_branch_of_a_split_loop(x, out, n: int, scale: float):
    """Loops that are split in two, one in the other; each part has one branch of the `if`, which is gone."""
    acc = ct.zeros((8,), ct.float32)
    for j in range(n):
        if j < 1:
            early = acc + 3.0
            acc = acc + early
        else:
            other = acc - 1.0
            acc = other * scale
        for k in range(n + 1):
            t = ct.load(x, (k,), (8,))
            if k > 1:
                late = t + 100.0
                acc = acc + late
            acc = acc + t
        acc = acc + 1.0
    ct.store(out, (ct.bid(0),), acc)


@ct.kernel
def skipped_in_a_split_loop(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    for k in range(n + 2):
        if k >= 2:
            seen = acc * 2.0
            acc = seen
            continue
        first = ct.load(x, (k,), (8,))
        acc = acc + first
    ct.store(out, (ct.bid(0),), acc)


@ct.kernel
def split_before_it_begins(x, out, n: int, scale: float):
    """The first part of the loop is never executed, and the second one is invariant in part."""
    acc = ct.zeros((8,), ct.float32)
    for k in range(n):
        if k >= 0:
            fixed = ct.full((8,), 3.0, ct.float32) + scale
            acc = acc + fixed
        else:
            never = acc * 5.0
            acc = never - 1.0
        acc = acc + k
    ct.store(out, (ct.bid(0),), acc)


def first_above(t, acc, out, n):
    for j in range(n):
        acc = acc + t
        ct.store(out, (ct.bid(0),), acc)
        if ct.max(acc) > 40.0:
            return acc
    return acc - 1.0


@ct.kernel
def helper_that_returns_in_a_loop(x, out, n: int, scale: float):
    total = ct.zeros((8,), ct.float32)
    for k in range(n):
        t = ct.load(x, (k,), (8,))
        found = first_above(t, total * 0.5, out, n)
        total = total + found
    ct.store(out, (ct.bid(0),), total)


@ct.kernel
def one_branch_after(x, out, n: int, scale: float):
    a = ct.load(x, (0,), (8,))
    if n > 2:
        extra = a + 5.0
        a = extra * 2.0
    b = a + 1.0
    ct.store(out, (ct.bid(0),), b)


@ct.kernel
def not_taken(x, out, n: int, scale: float):
    a = ct.load(x, (0,), (8,))
    if n > 200:
        extra = a + 5.0
        a = extra * 2.0
    b = a + 1.0
    ct.store(out, (ct.bid(0),), b)


@ct.kernel
def returned(x, out, n: int, scale: float):
    a = ct.load(x, (0,), (8,))
    if ct.bid(0) == 1:
        ct.store(out, (1,), a)
        return
    b = a + 1.0
    ct.store(out, (ct.bid(0),), b)


@ct.kernel
def returned_in_loop(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    for k in range(n + 3):
        acc = acc + ct.load(x, (k,), (8,))
        if ct.max(acc) > 60.0:
            ct.store(out, (ct.bid(0),), acc)
            return
    ct.store(out, (ct.bid(0),), acc * 2.0)


@ct.kernel
def shadowed(x, out, n: int, scale: float):
    t = ct.bid(0)
    t = ct.load(x, (t,), (8,))
    t = t + 1.0
    t = ct.sum(t)
    ct.store(out, (ct.bid(0),), ct.load(x, (0,), (8,)) + t)


@ct.kernel
def reassigned_parameter(x, out, n: int, scale: float):
    a = ct.load(x, (n,), (8,))
    n = n - 1
    scale = scale * 2.0
    b = ct.load(x, (n,), (8,))
    ct.store(out, (ct.bid(0),), a * scale + b)


@ct.kernel
def tuples(x, out, n: int, scale: float):
    pair = (ct.load(x, (0,), (8,)), ct.load(x, (1,), (8,)))
    a, b = pair
    for k in range(n):
        pair = (pair[1], pair[0] + 1.0)
        a = pair[0]
    ct.store(out, (ct.bid(0),), a + b + pair[1])


def scaled(t, m):
    mn = t * m
    m = mn + 1.0
    return m


@ct.kernel
def helper(x, out, n: int, scale: float):
    m = ct.full((8,), 2.0, ct.float32)
    for k in range(n):
        t = ct.load(x, (k,), (8,))
        m = scaled(m, t)
    mn = m - 1.0
    ct.store(out, (ct.bid(0),), scaled(mn, 0.5))


def folded(a, b):
    if ct.max(a) > 50.0:
        return a - b
    a = a + b
    return a


@ct.kernel
def helper_with_returns(x, out, n: int, scale: float):
    a = ct.zeros((8,), ct.float32)
    for k in range(n):
        b = ct.load(x, (k,), (8,))
        a = folded(b, a)
    ct.store(out, (ct.bid(0),), a)


def outer_helper(t):
    a = inner_helper(t, 1.0)
    b = inner_helper(a, 2.0)
    return a + b


def inner_helper(a, b):
    t = a * 2.0
    return t + b


@ct.kernel
def nested_helpers(x, out, n: int, scale: float):
    t = ct.load(x, (0,), (8,))
    b = outer_helper(t)
    a = outer_helper(b)
    ct.store(out, (ct.bid(0),), a)


@ct.kernel
def constants(x, out, n: int, scale: float):
    size = SIZE
    half = size // 2
    offset = 2.5
    kind = ct.float32
    t = ct.load(x, (ct.bid(0),), (size,))
    half = half + 1
    u = t + half + offset
    name = "u"
    nothing = None
    ct.store(out, (ct.bid(0),), u)


@ct.kernel
def constant_parameter(x, out, n: ct.Constant[int], scale: float):
    total = 0
    for k in range(n):
        total = total + n
    flag = n > 2
    if flag:
        factor = 3
    else:
        factor = 4
    t = ct.load(x, (0,), (8,)) * factor
    ct.store(out, (ct.bid(0),), t + total)


@ct.kernel
def unrolled(x, out, n: int, scale: float):
    acc = ct.load(x, (0,), (8,))
    for k in ct.static_iter(range(3)):
        step = acc + k
        acc = step * 2.0
    picked = tuple(acc + j for j in ct.static_iter(range(2)))
    ct.store(out, (ct.bid(0),), picked[1])


@ct.kernel
def after_the_loop(x, out, n: int, scale: float):
    for k in range(n):
        t = ct.load(x, (k,), (8,))
        ct.store(out, (k,), t)
    u = ct.load(x, (0,), (8,)) + 1.0
    for j in range(0):
        u = u + 100.0
    ct.store(out, (ct.bid(0),), u)


@ct.kernel
def invariant(x, out, n: int, scale: float):
    acc = ct.load(x, (0,), (8,))
    for k in range(n):
        fixed = ct.full((8,), 3.0, ct.float32)
        moved = fixed * scale
        acc = acc + moved
        moved = acc - 1.0
        acc = moved
    ct.store(out, (ct.bid(0),), acc)


@ct.kernel
def split(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    other = ct.zeros((8,), ct.float32)
    for k in range(n + 2):
        if k < 2:
            acc = acc + ct.load(x, (k,), (8,))
            which = acc
        else:
            other = other + acc
            which = other
        acc = which + 1.0
    ct.store(out, (ct.bid(0),), acc + other)


@ct.kernel
def unsigned(x, out, n: int, scale: float):
    bits = ct.arange(8, dtype=ct.uint32)
    high = bits - 1
    low = bits
    for k in range(n):
        low = high
        high = (high >> 1) + bits
    ct.store(out, (ct.bid(0),), ct.astype(high - low, ct.float32))


@ct.kernel
def dropped(x, out, n: int, scale: float):
    acc = ct.zeros((8,), ct.float32)
    unused = acc + 7.0
    product = acc * scale
    for k in range(n):
        t = ct.load(x, (k,), (8,))
        product = t * scale
        acc = acc + product
        unused = t - 3.0
    ct.store(out, (ct.bid(0),), acc)


@ct.kernel
def conditional_expression(x, out, n: int, scale: float):
    a = ct.load(x, (0,), (8,))
    b = a if n > 2 else a + 50.0
    both = n > 1 and n < 100
    if both:
        b = b + 2.0
    c = ct.where(a > 3.0, a, b)
    ct.store(out, (ct.bid(0),), c)


@ct.kernel
def closure(x, out, n: int, scale: float):
    base = ct.load(x, (0,), (8,))

    def add(t):
        base2 = base + t
        return base2

    for k in range(n):
        base = add(base * 0.5)
    ct.store(out, (ct.bid(0),), base)


@ct.kernel
def reshaped(x, out, n: int, scale: float):
    acc = ct.zeros((2, 4), ct.float32)
    for k in range(n):
        t = ct.load(x, (k,), (8,)).reshape((2, 4)) * scale
        acc = ct.maximum(acc, t)
    ct.store(out, (ct.bid(0),), acc.reshape((8,)))


KERNELS = [
    reshaped,
    straight,
    online_maximum,
    swapped,
    fibonacci,
    augmented,
    nested,
    same_counter,
    counted_down,
    left_early,
    skipped,
    left_while,
    branches,
    reassigned_in_branch,
    one_branch,
    one_branch_of_a_split_loop,
    skipped_in_a_split_loop,
    split_before_it_begins,
    helper_that_returns_in_a_loop,
    one_branch_after,
    not_taken,
    returned,
    returned_in_loop,
    shadowed,
    reassigned_parameter,
    tuples,
    helper,
    helper_with_returns,
    nested_helpers,
    constants,
    constant_parameter,
    unrolled,
    after_the_loop,
    invariant,
    split,
    unsigned,
    dropped,
    conditional_expression,
    closure,
]
