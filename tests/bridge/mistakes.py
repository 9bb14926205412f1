"""The commonest mistakes of models in kernels of cuTile and Triton: whole scripts with one wrong line each.

A script prints whether its results are right.  `source` says where the mistake is known from.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_ADD: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(x, y, out, n):
    i = ct.bid(0)
    a = ct.load(x, (i,), (16,))
    b = ct.load(y, (i,), (16,))
    ct.store(out, (i,), a * 2 + b)

n = 100
x, y = numpy.arange(n, dtype="f4") - 50, numpy.arange(n, dtype="f4") * 3 + 1
out = numpy.zeros(n, "f4")
ct.launch(None, (ct.cdiv(n, 16),), kernel, (x, y, out, n))
print("results are right" if (out == x * 2 + y).all() else "results are wrong")
"""

_CONSTANT: Final = (
    _ADD.replace(", n):", ", n: ct.Constant[int]):")
    .replace("(16,)", "(n,)")
    .replace("kernel, (x, y, out, n)", "kernel, (x, y, out, 16)")
)

_RELU: Final = """
import cuda.tile as ct
import math
import numpy
import numpy as np

@ct.kernel
def kernel(x, out, bias):
    i = ct.bid(0)
    t = ct.load(x, (i,), (16,))
    t = ct.where(t < 0, 0.0, t)
    t = ct.maximum(t, 1.0)
    t = ct.sqrt(t)
    t = t + bias
    ct.store(out, (i,), t)

x = numpy.arange(100, dtype="f4") - 50
out = numpy.zeros(100, "f4")
grid = (ct.cdiv(100, 16),)
ct.launch(None, grid, kernel, (x, out, 0.0))
print("results are right" if numpy.allclose(out, numpy.sqrt(numpy.maximum(x, 1))) else "results are wrong")
"""

_SQRT: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(x, out):
    i = ct.bid(0)
    t = ct.sqrt(ct.load(x, (i,), (16,)))
    ct.store(out, (i,), t)

x = numpy.arange(100, dtype="f4")
out = numpy.zeros(100, "f4")
ct.launch(None, (ct.cdiv(100, 16),), kernel, (x, out))
print("results are right" if numpy.allclose(out, numpy.sqrt(x)) else "results are wrong")
"""

_MATMUL: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(a, b, out, steps: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((8, 16), ct.float32)
    for step in range(steps):
        left = ct.load(a, (row, step), (8, 32))
        right = ct.load(b, (step, column), (32, 16))
        total = ct.mma(left, right, total)
    ct.store(out, (row, column), total.astype(ct.float32))

rng = numpy.random.default_rng(0)
a, b = rng.integers(0, 8, (16, 96)).astype("f2"), rng.integers(0, 8, (96, 48)).astype("f2")
out = numpy.zeros((16, 48), "f4")
ct.launch(None, (2, 3), kernel, (a, b, out, 3))
print("results are right" if (out == a.astype("f4") @ b).all() else "results are wrong")
"""

_SOFTMAX: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(x, out):
    row = ct.bid(0)
    tile = ct.load(x, (row, 0), (1, 32), padding_mode=ct.PaddingMode.NEG_INF)
    powers = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
    ct.store(out, (row, 0), powers / ct.sum(powers, axis=1, keepdims=True))

x = numpy.random.default_rng(0).standard_normal((6, 20)).astype("f4")
out = numpy.zeros_like(x)
ct.launch(None, (6,), kernel, (x, out))
powers = numpy.exp(x - x.max(1, keepdims=True))
right = numpy.allclose(out, powers / powers.sum(1, keepdims=True), atol=1e-5)
print("results are right" if right else "results are wrong")
"""

_SUM: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(x, out, steps):
    block = ct.bid(0)
    total = ct.zeros((16,), ct.float32)
    for step in range(steps):
        total = total + ct.load(x, (block * steps + step,), (16,), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(out, 0, ct.sum(total))

x = numpy.arange(128, dtype="f4")
out = numpy.zeros(1, "f4")
ct.launch(None, (4,), kernel, (x, out, 2))
print("results are right" if out[0] == x.sum() else "results are wrong")
"""

_LOOKUP: Final = """
import cuda.tile as ct
import numpy

@ct.kernel
def kernel(table, index, out):
    i = ct.bid(0)
    row = ct.load(index, (i,), (1,)).item()
    lanes = ct.arange(16, dtype=ct.int32)
    found = ct.load(table, (row, 0), (1, 16))
    ct.store(out, (i, 0), found + lanes)

table = numpy.arange(160, dtype="f4").reshape(10, 16)
index = numpy.array([2, 5, 1, 9], "i4")
out = numpy.zeros((4, 16), "f4")
ct.launch(None, (4,), kernel, (table, index, out))
print("results are right" if (out == table[index] + numpy.arange(16)).all() else "results are wrong")
"""

_TRITON_ADD: Final = """
import torch
import triton
import triton.language as tl

SCALE = tl.constexpr(2.0)

@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x * SCALE + y, mask=mask)

n = 100
x, y = torch.arange(n, dtype=torch.float32, device="cuda") - 50, torch.ones(n, device="cuda")
out = torch.zeros(n, device="cuda")
grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
kernel[grid](x, y, out, n, BLOCK=16)
print("results are right" if torch.equal(out, x * 2 + y) else "results are wrong")
"""

_TRITON_ROWS: Final = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    t = tl.load(x_ptr + row * stride + columns, mask=columns < n, other=-float("inf"))
    t = t.to(tl.float32)
    t = t - tl.max(t, axis=0)
    powers = tl.exp(t)
    powers = tl.where(columns < n, powers, 0.0)
    tl.store(out_ptr + row * stride + columns, powers / tl.sum(powers, axis=0), mask=columns < n)

x = torch.randn(6, 20, generator=torch.Generator().manual_seed(0)).to("cuda")
out = torch.zeros_like(x)
kernel[(6,)](x, out, 20, x.stride(0), BLOCK=32)
print("results are right" if torch.allclose(out, torch.softmax(x, 1), atol=1e-5) else "results are wrong")
"""

_TRITON_TANH: Final = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, 2 * tl.sigmoid(2 * x) - 1, mask=offsets < n)

x = torch.linspace(-2, 2, 50, device="cuda")
out = torch.zeros(50, device="cuda")
kernel[(4,)](x, out, 50, BLOCK=16)
print("results are right" if torch.allclose(out, torch.tanh(x), atol=1e-5) else "results are wrong")
"""

_TRITON_MATMUL: Final = """
import torch
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, b_ptr, out_ptr, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    columns = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(0, K // BLOCK):
        ks = k * BLOCK + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :])
        b = tl.load(b_ptr + ks[:, None] * BLOCK + columns[None, :]).to(tl.float16)
        acc = tl.dot(a, b, acc)
    tl.store(out_ptr + rows[:, None] * BLOCK + columns[None, :], acc)

a = torch.randint(0, 8, (16, 32), device="cuda").half()
b = torch.randint(0, 8, (32, 16), device="cuda").float()
out = torch.zeros(16, 16, device="cuda")
kernel[(1,)](a, b, out, 32, BLOCK=16)
print("results are right" if torch.equal(out, a.float() @ b) else "results are wrong")
"""


class Mistake(NamedTuple):
    """A script, the text in it that a mistake replaces, and a part of what the answer has to say."""

    program: str
    right: str
    wrong: str
    text: str
    source: str = ""
    """Where the mistake is known from: an issue, a guide, or the library whose habit it is; empty for a variant."""

    @property
    def script(self) -> str:
        assert self.right in self.program, self.right
        return self.program.replace(self.right, self.wrong, 1)


M = Mistake
_SKILL: Final = "NVIDIA/TileGym skills/tilegym-cutile-python"
_TRITON_HABIT: Final = "a habit of Triton"
_NUMPY_HABIT: Final = "a habit of NumPy and torch"
_CLUSTER: Final = "one of the clusters in which models fail on cuTile: ranks, grids, None, arrays as tiles"
_LOAD_Y: Final = "b = ct.load(y, (i,), (16,))"
_STORE: Final = "ct.store(out, (i,), a * 2 + b)"
_WHERE: Final = "t = ct.where(t < 0, 0.0, t)"
_MMA: Final = "total = ct.mma(left, right, total)"
_LEFT: Final = "left = ct.load(a, (row, step), (8, 32))"
_LAUNCH: Final = "ct.launch(None, (ct.cdiv(n, 16),), kernel, (x, y, out, n))"
_CONVERT: Final = "t = t.to(tl.float32)"
_T_LOAD_Y: Final = "y = tl.load(y_ptr + offsets, mask=mask)"
_T_STORE: Final = "tl.store(out_ptr + offsets, x * SCALE + y, mask=mask)"
_T_A: Final = "a = tl.load(a_ptr + rows[:, None] * K + ks[None, :])"
_T_ZEROS: Final = "tl.zeros((BLOCK, BLOCK), dtype=tl.float32)"
_T_CALL: Final = "kernel[grid](x, y, out"

CUTILE: Final = {
    "tile of 12": M(_ADD, _LOAD_Y, "b = ct.load(y, (i,), (12,))", "powers of two", _SKILL),
    "missing index": M(_SOFTMAX, "ct.store(out, (row, 0)", "ct.store(out, (row,)", "one index in tiles", _CLUSTER),
    "missing extent": M(_SOFTMAX, "(1, 32)", "(32,)", "as many dimensions as its array", _CLUSTER),
    "grid of rank 4": M(_ADD, "(ct.cdiv(n, 16),)", "(ct.cdiv(n, 16), 1, 1, 1)", "at most three axes", _CLUSTER),
    "None": M(_RELU, "(x, out, 0.0)", "(x, out, None)", "takes no None", _CLUSTER),
    "array as operand": M(_ADD, _STORE, "ct.store(out, (i,), a * 2 + y)", "memory, not a tile", _CLUSTER),
    "array in a function": M(_SQRT, "ct.sqrt(ct.load(x, (i,), (16,)))", "ct.sqrt(x)", "memory, not a tile", _CLUSTER),
    "item assignment": M(_ADD, _STORE, "out[i] = a * 2 + b", "store a tile", _NUMPY_HABIT),
    "subscript": M(_ADD, _LOAD_Y, "b = y[i]", "load a tile", _NUMPY_HABIT),
    "slice": M(_ADD, _LOAD_Y, "b = y[i * 16:(i + 1) * 16]", "not a range"),
    "slice to store": M(_ADD, _STORE, "out[i * 16:(i + 1) * 16] = a * 2 + b", "not a range"),
    "index in elements": M(_ADD, _LOAD_Y, "b = ct.load(y, (i * 16,), (16,))", "correct the index", _SKILL),
    "index in elements to store": M(_ADD, _STORE, "ct.store(out, (i * 16,), a * 2 + b)", "correct the index"),
    "swapped indices": M(_MATMUL, "ct.store(out, (row, column)", "ct.store(out, (column, row)", "correct the index"),
    "tile as index": M(_LOOKUP, ".item()", "", "take the element", "NVIDIA/cutile-python#66"),
    "not constant": M(_CONSTANT, "n: ct.Constant[int]", "n", "declare the parameter", _SKILL),
    "only an int": M(_CONSTANT, "n: ct.Constant[int]", "n: int", "declare the parameter"),
    "arange without type": M(
        _LOOKUP, "ct.arange(16, dtype=ct.int32)", "ct.arange(16)", "type of its elements", _TRITON_HABIT
    ),
    "arange from 0": M(_LOOKUP, "ct.arange(16,", "ct.arange(0, 16,", "counts from 0", _TRITON_HABIT),
    "conditional expression": M(_RELU, _WHERE, "t = 0.0 if t < 0 else t", "select with ct.where", _NUMPY_HABIT),
    "if": M(_RELU, _WHERE, "if t < 0:\n        t = 0.0", "select with ct.where"),
    "and": M(_RELU, _WHERE, "t = ct.where(t < 0 and t > -99, 0.0, t)", "use `&`", _NUMPY_HABIT),
    "max of two": M(_RELU, "ct.maximum(t, 1.0)", "ct.max(t, 1.0)", "reduce one tile"),
    "numpy": M(_RELU, "ct.sqrt(t)", "np.sqrt(t)", "functions of NumPy", _SKILL),
    "math": M(_RELU, "ct.sqrt(t)", "math.sqrt(t)", "only functions of cuda.tile"),
    "method": M(_SUM, "ct.sum(total)", "total.sum()", "few methods", _NUMPY_HABIT),
    "conversion of Triton": M(_MATMUL, "total.astype(", "total.to(", "few methods", _TRITON_HABIT),
    "conversion of torch": M(_MATMUL, "total.astype(ct.float32)", "total.float()", "few methods"),
    "type as text": M(_MATMUL, "(8, 16), ct.float32", "(8, 16), 'float32'", "not texts"),
    "zeros without type": M(_MATMUL, "(8, 16), ct.float32", "(8, 16)", "state the type"),
    "padding as text": M(_SOFTMAX, "ct.PaddingMode.NEG_INF", "'neg_inf'", "ct.PaddingMode"),
    "returned": M(_ADD, _STORE, "return a * 2 + b", "returns nothing"),
    "number before a loop": M(_SUM, "ct.zeros((16,), ct.float32)", "0", "keeps its type", "triton-lang/triton#1441"),
    "mma without accumulator": M(_MATMUL, _MMA, "total = total + ct.mma(left, right)", "an accumulator", _TRITON_HABIT),
    "dot": M(_MATMUL, _MMA, "total += ct.dot(left, right)", "an accumulator", _TRITON_HABIT),
    "accumulator of another shape": M(_MATMUL, "ct.zeros((8, 16)", "ct.zeros((16, 16)", "the rows of the first"),
    "operands of two types": M(_MATMUL, f"{_LEFT}", f"{_LEFT}.astype(ct.float32)", "convert one"),
    "operands that do not fit": M(_MATMUL, _LEFT, _LEFT.replace("32", "16"), "the rows of the second"),
    "mask": M(_ADD, _LOAD_Y, "b = ct.load(y, (i,), (16,), mask=i < n)", "masked anyway", _TRITON_HABIT),
    "dim": M(
        _SOFTMAX, "sum(powers, axis=1, keepdims=True", "sum(powers, dim=1, keepdim=True", "as NumPy", _NUMPY_HABIT
    ),
    "other shape": M(_ADD, _LOAD_Y, "b = ct.load(y, (i,), (8,))", "equal or 1"),
    "program_id": M(_ADD, "ct.bid(0)", "ct.program_id(0)", "did you mean `ct.bid`", _TRITON_HABIT),
    "misspelled": M(_SOFTMAX, "ct.exp(", "ct.expp(", "did you mean `ct.exp`"),
    "undefined": M(_ADD, "a * 2 + b", "a * 2 + bb", "assign `bb` before"),
    "no axis": M(_ADD, "ct.bid(0)", "ct.bid()", "axis of the grid"),
    "axis 1 of 1": M(_SUM, "ct.sum(total)", "ct.sum(total, axis=1)", "count from 0"),
    "length": M(_SUM, "range(steps)", "range(len(x) // 64)", "use the shape"),
    "division": M(_SUM, "block * steps + step", "block * steps + step / 1", "whole number"),
    "loop over arange": M(_SUM, "range(steps)", "ct.arange(2, dtype=ct.int32)", "count with `range`"),
    "not decorated": M(_ADD, "@ct.kernel\n", "\n", "@ct.kernel"),
    "launch of Triton": M(_ADD, _LAUNCH, "kernel[(ct.cdiv(n, 16),)](x, y, out, n)", "ct.launch(stream", _TRITON_HABIT),
    "called": M(
        _RELU, "ct.launch(None, grid, kernel, (x, out, 0.0))", "kernel(x, out, 0.0)", "ct.launch(stream", _TRITON_HABIT
    ),
    "flat arguments": M(_ADD, "(x, y, out, n))", "x, y, out, n)", "one tuple"),
    "grid of an int": M(_ADD, "(ct.cdiv(n, 16),)", "ct.cdiv(n, 16)", "a grid is a tuple", _TRITON_HABIT),
    "list": M(_ADD, "kernel, (x, y, out, n))", "kernel, (x, y, out.tolist(), n))", "not lists"),
    "grid rounded down": M(_ADD, "(ct.cdiv(n, 16),)", "(n // 16,)", "launch a grid of (7, 1, 1)", _SKILL),
    "grid of elements": M(_ADD, "(ct.cdiv(n, 16),)", "(n,)", "launch a grid of (7, 1, 1)", _SKILL),
    "sum without atomics": M(
        _SUM,
        "ct.atomic_add(out, 0, ct.sum(total))",
        "ct.scatter(out, 0, ct.gather(out, 0) + ct.sum(total))",
        "an atomic",
    ),
}
TRITON: Final = {
    "not constant": M(_TRITON_ADD, "BLOCK: tl.constexpr", "BLOCK", "declare the parameter", "triton-lang/triton#2604"),
    "only an int": M(_TRITON_ADD, "BLOCK: tl.constexpr", "BLOCK: int", "declare the parameter"),
    "block of 12": M(_TRITON_ADD, "BLOCK=16", "BLOCK=12", "powers of two", "EmbeddedLLM/vllm#74"),
    "arange of 20": M(_TRITON_ROWS, "tl.arange(0, BLOCK)", "tl.arange(0, 20)", "powers of two"),
    "load without mask": M(
        _TRITON_ADD, _T_LOAD_Y, "y = tl.load(y_ptr + offsets)", "mask the elements", "triton-lang/triton#10336"
    ),
    "store without mask": M(_TRITON_ADD, "+ y, mask=mask)", "+ y)", "mask the elements"),
    "other without mask": M(_TRITON_ADD, _T_LOAD_Y, "y = tl.load(y_ptr + offsets, other=0.0)", "state the mask"),
    "torch": M(_TRITON_ROWS, "tl.exp(", "torch.exp(", "functions of torch", "triton-lang/triton#1429"),
    "type of torch": M(_TRITON_ROWS, "tl.float32", "torch.float32", "values of triton.language"),
    "type as text": M(_TRITON_ROWS, "tl.float32", "'float32'", "not texts"),
    "exp of halves": M(
        _TRITON_ROWS,
        _CONVERT,
        "z = (columns * 0).to(tl.float16); t = t + tl.exp(z)",
        "float32",
        "NVIDIA/TileGym converting-cutile-to-triton",
    ),
    "if": M(
        _TRITON_ROWS,
        "powers = tl.where(columns < n, powers, 0.0)",
        "if columns >= n:\n        powers = 0.0",
        "select with tl.where",
    ),
    "conditional expression": M(
        _TRITON_ROWS, "tl.where(columns < n, powers, 0.0)", "powers if columns < n else 0.0", "select with tl.where"
    ),
    "subscript": M(_TRITON_ADD, _T_LOAD_Y, "y = y_ptr[offsets]", "no elements", "triton-lang/triton#566"),
    "item assignment": M(_TRITON_ADD, _T_STORE, "out_ptr[offsets] = x * SCALE + y", "no elements"),
    "global": M(_TRITON_ADD, "tl.constexpr(2.0)", "2.0", "no global variables", "triton-lang/triton#7322"),
    "operands of two types": M(_TRITON_MATMUL, ".to(tl.float16)", "", "one type", "triton-lang/triton#2060"),
    "mma": M(_TRITON_MATMUL, "tl.dot(a, b, acc)", "tl.mma(a, b, acc)", "did you mean `tl.dot`"),
    "zeros without type": M(_TRITON_MATMUL, _T_ZEROS, "tl.zeros((BLOCK, BLOCK))", "state the type"),
    "flat shape": M(_TRITON_MATMUL, _T_ZEROS, "tl.zeros(BLOCK, BLOCK, dtype=tl.float32)", "one tuple"),
    "block at one pointer": M(_TRITON_ADD, "tl.store(out_ptr + offsets,", "tl.store(out_ptr,", "one element"),
    "dim": M(_TRITON_ROWS, "tl.max(t, axis=0)", "tl.max(t, dim=0)", "names these arguments axis"),
    "axis 1 of 1": M(_TRITON_ROWS, "tl.max(t, axis=0)", "tl.max(t, axis=1)", "count from 0"),
    "max of two": M(_TRITON_ROWS, _CONVERT, "t = tl.max(t, -99.0)", "reduce one tensor"),
    "tanh": M(_TRITON_TANH, "2 * tl.sigmoid(2 * x) - 1", "tl.tanh(x)", "has no `tanh`", "triton-lang/triton#8889"),
    "no axis": M(_TRITON_ADD, "tl.program_id(0)", "tl.program_id()", "axis of the grid"),
    "bid": M(_TRITON_ADD, "tl.program_id(0)", "tl.bid(0)", "did you mean `tl.program_id`"),
    "transposed": M(_TRITON_MATMUL, _T_A, f"{_T_A}.transpose().T", "use the function"),
    "undefined": M(_TRITON_ROWS, _CONVERT, "t = tt.to(tl.float32)", "assign `tt` before"),
    "f-string": M(_TRITON_ROWS, _CONVERT, "print(f't = {t}')", "after the text"),
    "loop over arange": M(_TRITON_MATMUL, "range(0, K // BLOCK)", "tl.arange(0, K // BLOCK)", "count with `range`"),
    "called": M(_TRITON_ADD, "kernel[grid](", "kernel(", "grid in brackets", "triton-lang/triton#5142"),
    "grid of an int": M(
        _TRITON_ADD, '(triton.cdiv(n, meta["BLOCK"]),)', 'triton.cdiv(n, meta["BLOCK"])', "a grid is a tuple"
    ),
    "grid rounded down": M(_TRITON_ADD, 'triton.cdiv(n, meta["BLOCK"])', 'n // meta["BLOCK"]', "launch a grid of"),
    "tensor of the CPU": M(
        _TRITON_ADD, 'torch.zeros(n, device="cuda")', "torch.zeros(n)", "allocate it there", "state-spaces/mamba#593"
    ),
    "list": M(_TRITON_ADD, _T_CALL, "kernel[grid](x, y.tolist(), out", "not lists"),
    "address": M(_TRITON_ADD, _T_CALL, "kernel[grid](x, y.data_ptr(), out", "no pointer"),
    "3 warps": M(_TRITON_ADD, "BLOCK=16)", "BLOCK=16, num_warps=3)", "power of two"),
    "constant not passed": M(_TRITON_ROWS, ", BLOCK=32)", ")", "has a parameter `BLOCK`"),
    "constant of another name": M(_TRITON_ADD, "BLOCK=16)", "BLOCK_SIZE=16)", "has a parameter `BLOCK`"),
    "not decorated": M(_TRITON_ADD, "@triton.jit\n", "\n", "@triton.jit"),
    "overlapping blocks": M(_TRITON_ADD, "pid * BLOCK +", "pid +", "its own part"),
}
"""A correction of each makes the results right."""

ONLY_HELP: Final = {
    "comprehension": M(
        _SUM, "ct.zeros((16,), ct.float32)", "sum([ct.load(x, (k,), (16,)) for k in range(2)])", "in a `for` loop"
    ),
    "append": M(_SUM, "total = ct.zeros((16,), ct.float32)", "total = []; total.append(1)", "no lists"),
    "raise": M(_RELU, _WHERE, "raise ValueError", "`ct.assert_`"),
    "try": M(_RELU, _WHERE, "try:\n        t = 1\n    except ValueError:\n        t = 2", "no `try`"),
    "tile item": M(_RELU, _WHERE, "t[0] = 1.0", "tiles do not change"),
    "break": M(
        _TRITON_MATMUL,
        "range(0, K // BLOCK):",
        "range(0, K):\n        if k >= K // BLOCK: break",
        "run to their end",
        "triton-lang/triton#3157",
    ),
    "recursion": M(_TRITON_ROWS, _CONVERT, "kernel(x_ptr, out_ptr, n, stride, BLOCK)", "cannot call itself"),
    "slice": M(_TRITON_ROWS, _CONVERT, "t = t[0:32]", "has no ranges"),
    "shape": M(_TRITON_ROWS, "mask=columns < n, other", "mask=columns < x_ptr.shape[1], other", "has no shape"),
    "number before a loop": M(_TRITON_MATMUL, f"acc = {_T_ZEROS}", "acc = 0.0", "shape of the product"),
    "vectors": M(_TRITON_MATMUL, "rows[:, None] * K + ks[None, :]", "rows * K + ks", "two dimensions"),
}
"""What has no corrected line: the change is larger, or only the author knows it."""
