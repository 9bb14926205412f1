"""Printing and asserting: format strings with escapes, several arguments, the mutex around a print, messages."""

import cuda.tile as ct
from tests.kernels.case import KernelCase, array, scalar


@ct.kernel
def print_values(a, count):
    t = ct.load(a, (0,), (4,))
    ct.printf("count %d of %f\n", count, t)
    ct.printf('no arguments: 100%%, "quoted", back\\slash, tab\t.\n')


@ct.kernel
def print_in_python_style(a, count):
    t = ct.load(a, (0, 0), (2, 4))
    print("count:", count, sep=" ")
    print(f"{t} and {count:5d}, hex {count:#x}, café", end="")
    ct.print(f"sum={ct.sum(t):.3f}", count, sep=" | ")


@ct.kernel
def print_in_loop(a, steps):
    for step in range(steps):
        t = ct.load(a, (step,), (2,))
        if ct.max(t) > 1.0:
            print(f"step {step}: {t}")


@ct.kernel
def print_integers(a, b, c):
    print(ct.load(a, (0,), (2,)), ct.load(b, (0,), (2,)), ct.load(c, (0,), (2,)))


@ct.kernel
def assert_values(a, bound):
    t = ct.load(a, (0,), (64,))
    ct.assert_(t < bound)
    ct.assert_(bound > 0, "bound must be positive")
    ct.assert_(t == t, 'NaN in "a" \\ é\n')


F32 = array(ct.float32)

CASES = [
    KernelCase("print_values", print_values, (F32, scalar(ct.int32))),
    KernelCase("print_in_python_style", print_in_python_style, (array(ct.float32, 2), scalar(ct.int32))),
    KernelCase("print_in_loop", print_in_loop, (F32, scalar(ct.int32))),
    KernelCase("print_integers", print_integers, (array(ct.int64), array(ct.uint8), array(ct.int16))),
    KernelCase("assert_values", assert_values, (F32, scalar(ct.float32))),
]
