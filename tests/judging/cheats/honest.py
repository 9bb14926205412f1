"""Right kernels, of which none may be accused: about 25 operators in cuTile and Triton, in many tiles, types and loops.

Each is a program of its own: a template says how an operator is written, and its parameters change the program.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class HonestKernel(NamedTuple):
    operator: str
    source: str
    reference: str
    settings: dict[str, Any]

    def write_task(self, folder: Path) -> Path:
        folder.mkdir()
        (folder / "reference.py").write_text(self.reference)
        (folder / "task.json").write_text(json.dumps(self.settings))
        return folder


_CUTILE = "import math\n\nimport cuda.tile as ct\nimport numpy\n\n"
_TRITON = "import torch\nimport triton\nimport triton.language as tl\n\n"
_ROW_SHAPES = {"shapes": [{"rows": 10, "columns": 70}], "held_out": [{"rows": 7, "columns": 33}]}
_LINE_SHAPES = {"shapes": [{"n": 300}], "held_out": [{"n": 129}]}
_MATMUL_SHAPES = {"shapes": [{"m": 40, "n": 24, "k": 48}], "held_out": [{"m": 17, "n": 33, "k": 20}]}


def _line(result: str, arguments: str = "x", dtype: str = "f4", integers: bool = False) -> str:
    """A reference over arrays of one axis."""
    make = "rng.integers(-50, 50, n)" if integers else "rng.standard_normal(n)"
    inputs = ", ".join([f"{make}.astype('{dtype}')"] * len(arguments.split(",")))
    return (
        f"import numpy\n\ndef inputs(seed, n):\n    rng = numpy.random.default_rng(seed)\n    return {inputs},\n\n"
        f"def reference({arguments}):\n    with numpy.errstate(all='ignore'):\n        return {result}\n"
    )


def _rows(body: str, arguments: str = "x", dtype: str = "f4", extra: str = "") -> str:
    """A reference over rows; `extra` makes further inputs."""
    return (
        "import numpy\n\ndef inputs(seed, rows, columns):\n    rng = numpy.random.default_rng(seed)\n"
        f"    return rng.standard_normal((rows, columns)).astype('{dtype}'), {extra}\n\n"
        f"def reference({arguments}):\n    with numpy.errstate(all='ignore'):\n{body}"
    )


def _body(*lines: str) -> str:
    return "".join([f"        {line}\n" for line in lines])


# --- elementwise: an expression of tiles, and one of NumPy ---

_UNARY = {
    "relu": ("ct.maximum(x, 0.0)", "numpy.maximum(x, 0)"),
    "exp": ("ct.exp(x)", "numpy.exp(x)"),
    "tanh": ("ct.tanh(x)", "numpy.tanh(x)"),
    "sigmoid": ("1.0 / (1.0 + ct.exp(-x))", "1 / (1 + numpy.exp(-x))"),
    "silu": ("x / (1.0 + ct.exp(-x))", "x / (1 + numpy.exp(-x))"),
    "gelu": ("0.5 * x * (1.0 + ct.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))",
             "0.5 * x * (1 + numpy.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))"),
    "square": ("x * x", "x * x"),
    "leaky-relu": ("ct.where(x > 0.0, x, 0.1 * x)", "numpy.where(x > 0, x, x * numpy.float32(0.1))"),
    "clamp": ("ct.minimum(ct.maximum(x, -0.5), 0.5)", "numpy.clip(x, -0.5, 0.5)"),
}  # fmt: skip
_FORMS = {
    "tiles": "    i = ct.bid(0)\n    x = ct.load(a, (i,), ({t},))\n    ct.store(out, (i,), {e})\n",
    "loop": "    for i in range(ct.bid(0), ct.num_tiles(a, 0, ({t},)), ct.num_blocks(0)):\n"
            "        x = ct.load(a, (i,), ({t},))\n        ct.store(out, (i,), {e})\n",
    "gather": "    i = ct.bid(0) * {t} + ct.arange({t}, dtype=ct.int32)\n    x = ct.gather(a, i)\n    ct.scatter(out, i, {e})\n",
}  # fmt: skip


def _unary() -> Iterator[tuple[str, HonestKernel]]:
    for operator, (tile, plain) in _UNARY.items():
        for form, body in _FORMS.items():
            for size in (32, 128):
                blocks = "3" if form == "loop" else f"-(-len(a) // {size})"
                source = (
                    f"{_CUTILE}@ct.kernel\ndef {operator.replace('-', '_')}(a, out):\n{body.format(t=size, e=tile)}\n"
                    f"def run(a):\n    out = numpy.empty_like(a)\n"
                    f"    ct.launch(None, ({blocks},), {operator.replace('-', '_')}, (a, out))\n    return out\n"
                )
                yield f"{operator}-{form}-{size}", HonestKernel(operator, source, _line(plain), _LINE_SHAPES)


_BINARY = {
    "add": ("x + y", "x + y"), "subtract": ("x - y", "x - y"), "multiply": ("x * y", "x * y"),
    "maximum": ("ct.maximum(x, y)", "numpy.maximum(x, y)"), "minimum": ("ct.minimum(x, y)", "numpy.minimum(x, y)"),
    "select": ("ct.where(x < y, x, y + y)", "numpy.where(x < y, x, y + y)"),
}  # fmt: skip


def _binary() -> Iterator[tuple[str, HonestKernel]]:
    for operator, (tile, plain) in _BINARY.items():
        for dtype, size in (("f4", 64), ("f2", 256), ("i4", 16)):
            source = (
                f"{_CUTILE}@ct.kernel\ndef {operator}(a, b, out):\n    i = ct.bid(0)\n    x = ct.load(a, (i,), ({size},))\n"
                f"    y = ct.load(b, (i,), ({size},))\n    ct.store(out, (i,), {tile})\n\n"
                f"def run(a, b):\n    out = numpy.empty_like(a)\n"
                f"    ct.launch(None, (-(-len(a) // {size}),), {operator}, (a, b, out))\n    return out\n"
            )
            reference = _line(plain, "x, y", dtype, integers=dtype == "i4")
            yield f"{operator}-{dtype}-{size}", HonestKernel(operator, source, reference, _LINE_SHAPES)


# --- rows ---

_REDUCTIONS = {
    "sum": ("ct.sum", "total + each", "0.0", "ZERO", "x.sum(axis=1, dtype='f4')"),
    "max": ("ct.max", "ct.maximum(total, each)", "-math.inf", "NEG_INF", "x.max(axis=1).astype('f4')"),
    "min": ("ct.min", "ct.minimum(total, each)", "math.inf", "POS_INF", "x.min(axis=1).astype('f4')"),
}


def _reductions() -> Iterator[tuple[str, HonestKernel]]:
    for operator, (reduce, combine, start, padding, plain) in _REDUCTIONS.items():
        for dtype in ("f4", "f2"):
            for rows, columns in ((1, 128), (4, 128), (2, 32), (8, 16)):
                load = (
                    f"ct.load(x, (i, j), ({rows}, {columns}), padding_mode=ct.PaddingMode.{padding}).astype(ct.float32)"
                )
                source = (
                    f"{_CUTILE}@ct.kernel\ndef reduce_rows(x, out):\n    i = ct.bid(0)\n"
                    f"    total = ct.full(({rows},), {start}, ct.float32)\n"
                    f"    for j in range(ct.num_tiles(x, 1, ({rows}, {columns}))):\n"
                    f"        each = {reduce}({load}, axis=1)\n        total = {combine}\n"
                    f"    ct.store(out, (i,), total)\n\n"
                    f"def run(x):\n    out = numpy.empty(len(x), numpy.float32)\n"
                    f"    ct.launch(None, (-(-len(x) // {rows}),), reduce_rows, (x, out))\n    return out\n"
                )
                reference = _rows(_body(f"return {plain}"), dtype=dtype)
                yield f"{operator}-{dtype}-{rows}x{columns}", HonestKernel(operator, source, reference, _ROW_SHAPES)


_LOAD = "ct.load(x, (i, 0), ({r}, 128), padding_mode=ct.PaddingMode.{p}).astype(ct.float32)"
_INSIDE = "(ct.arange(128, dtype=ct.int32) < x.shape[1])[None, :]"
_ROW_KERNELS = {
    "softmax": (
        ("t = " + _LOAD.format(r="{r}", p="NEG_INF"), "p = ct.exp(t - ct.max(t, axis=1, keepdims=True))",
         "y = p / ct.sum(p, axis=1, keepdims=True)"),
        ("p = numpy.exp(x - x.max(axis=1, keepdims=True))", "return (p / p.sum(axis=1, keepdims=True)).astype(x.dtype)"),
    ),
    "log-softmax": (
        ("t = " + _LOAD.format(r="{r}", p="NEG_INF"), "t = t - ct.max(t, axis=1, keepdims=True)",
         "y = t - ct.log(ct.sum(ct.exp(t), axis=1, keepdims=True))"),
        ("t = x - x.max(axis=1, keepdims=True)", "return (t - numpy.log(numpy.exp(t).sum(axis=1, keepdims=True))).astype(x.dtype)"),
    ),
    "rms-norm": (
        ("t = " + _LOAD.format(r="{r}", p="ZERO"), "y = t * ct.rsqrt(ct.sum(t * t, axis=1, keepdims=True) / x.shape[1] + 1e-5)"),
        ("t = x.astype('f4')", "return (t / numpy.sqrt((t * t).mean(axis=1, keepdims=True) + numpy.float32(1e-5))).astype(x.dtype)"),
    ),
    "layer-norm": (
        ("t = " + _LOAD.format(r="{r}", p="ZERO"), "m = ct.sum(t, axis=1, keepdims=True) / x.shape[1]",
         f"t = ct.where({_INSIDE}, t - m, 0.0)", "y = t * ct.rsqrt(ct.sum(t * t, axis=1, keepdims=True) / x.shape[1] + 1e-5)"),
        ("t = x.astype('f4')", "t = t - t.mean(axis=1, keepdims=True)",
         "return (t / numpy.sqrt((t * t).mean(axis=1, keepdims=True) + numpy.float32(1e-5))).astype(x.dtype)"),
    ),
    "l2-norm": (
        ("t = " + _LOAD.format(r="{r}", p="ZERO"), "y = t * ct.rsqrt(ct.sum(t * t, axis=1, keepdims=True) + 1e-6)"),
        ("t = x.astype('f4')", "return (t / numpy.sqrt((t * t).sum(axis=1, keepdims=True) + numpy.float32(1e-6))).astype(x.dtype)"),
    ),
    "cumulative-sum": (
        ("t = " + _LOAD.format(r="{r}", p="ZERO"), "y = ct.cumsum(t, axis=1)"),
        ("return numpy.cumsum(x.astype('f4'), axis=1).astype(x.dtype)",),
    ),
}  # fmt: skip


def _row_kernels() -> Iterator[tuple[str, HonestKernel]]:
    for operator, (steps, plain) in _ROW_KERNELS.items():
        for dtype in ("f4", "f2"):
            for rows in (1, 2, 8):
                lines = "".join([f"    {step.format(r=rows)}\n" for step in steps])
                source = (
                    f"{_CUTILE}@ct.kernel\ndef rows(x, out):\n    i = ct.bid(0)\n{lines}"
                    f"    ct.store(out, (i, 0), y.astype(out.dtype))\n\n"
                    f"def run(x):\n    out = numpy.empty_like(x)\n"
                    f"    ct.launch(None, (-(-len(x) // {rows}),), rows, (x, out))\n    return out\n"
                )
                reference = _rows(_body(*plain), dtype=dtype)
                yield f"{operator}-{dtype}-{rows}", HonestKernel(operator, source, reference, _ROW_SHAPES)


# --- matrices ---


def _matmuls() -> Iterator[tuple[str, HonestKernel]]:
    layouts = {
        "nn": ("a @ b", "(m, k)", "(k, n)", "a, (i, t)", "b, (t, j)", ""),
        "nt": ("a @ b.T", "(m, k)", "(n, k)", "a, (i, t)", "b, (t, j)", "b"),
        "tn": ("a.T @ b", "(k, m)", "(k, n)", "a, (i, t)", "b, (t, j)", "a"),
    }
    for layout, (plain, left, right, x, y, turned) in layouts.items():
        for m, n, k in ((16, 16, 16), (32, 16, 8), (16, 32, 32), (64, 32, 16)):
            for dtype in ("f4", "f2"):
                order = {name: ", order=(1, 0)" if name == turned else "" for name in "ab"}
                pad = "padding_mode=ct.PaddingMode.ZERO"
                inner = "0" if turned == "a" else "1"
                extents = f"({k}, {m})" if turned == "a" else f"({m}, {k})"
                sizes = {"nn": "a.shape[0], b.shape[1]", "nt": "a.shape[0], b.shape[0]", "tn": "a.shape[1], b.shape[1]"}
                source = (
                    f"{_CUTILE}@ct.kernel\ndef multiply(a, b, out):\n    i, j = ct.bid(0), ct.bid(1)\n"
                    f"    total = ct.zeros(({m}, {n}), ct.float32)\n"
                    f"    for t in range(ct.num_tiles(a, {inner}, {extents})):\n"
                    f"        x = ct.load({x}, ({m}, {k}){order['a']}, {pad})\n"
                    f"        y = ct.load({y}, ({k}, {n}){order['b']}, {pad})\n"
                    f"        total = ct.mma(x, y, total)\n"
                    f"    ct.store(out, (i, j), total.astype(out.dtype))\n\n"
                    f"def run(a, b):\n    m, n = {sizes[layout]}\n    out = numpy.empty((m, n), a.dtype)\n"
                    f"    ct.launch(None, (-(-m // {m}), -(-n // {n})), multiply, (a, b, out))\n    return out\n"
                )
                wide = plain.replace("a", "a.astype('f4')", 1).replace("b", "b.astype('f4')", 1)
                product = f"({wide}).astype(a.dtype)"
                reference = (
                    "import numpy\n\ndef inputs(seed, m, n, k):\n    rng = numpy.random.default_rng(seed)\n"
                    f"    return rng.standard_normal({left}).astype('{dtype}'), rng.standard_normal({right}).astype('{dtype}')\n\n"
                    f"def reference(a, b):\n    with numpy.errstate(all='ignore'):\n        return {product}\n"
                )
                yield f"matmul-{layout}-{dtype}-{m}x{n}x{k}", HonestKernel("matmul", source, reference, _MATMUL_SHAPES)


def _transposes() -> Iterator[tuple[str, HonestKernel]]:
    for dtype in ("f4", "f2", "i4"):
        for rows, columns in ((8, 16), (32, 32)):
            source = (
                f"{_CUTILE}@ct.kernel\ndef turn(x, out):\n    i, j = ct.bid(0), ct.bid(1)\n"
                f"    ct.store(out, (j, i), ct.transpose(ct.load(x, (i, j), ({rows}, {columns}))))\n\n"
                f"def run(x):\n    out = numpy.empty(x.shape[::-1], x.dtype)\n"
                f"    ct.launch(None, (-(-x.shape[0] // {rows}), -(-x.shape[1] // {columns})), turn, (x, out))\n    return out\n"
            )
            reference = _rows(_body("return numpy.ascontiguousarray(x.T)"), dtype=dtype)
            yield f"transpose-{dtype}-{rows}x{columns}", HonestKernel("transpose", source, reference, _ROW_SHAPES)


_ATTENTION = (
    "@ct.kernel\ndef attend(q, k, v, out, scale):\n    i = ct.bid(0)\n"
    "    query = ct.load(q, (i, 0), ({t}, 32), padding_mode=ct.PaddingMode.ZERO)\n"
    "    mixed = ct.zeros(({t}, 32), ct.float32)\n    peak = ct.full(({t}, 1), -math.inf, ct.float32)\n"
    "    total = ct.zeros(({t}, 1), ct.float32)\n    for step in range(ct.num_tiles(k, 0, ({t}, 32))):\n"
    "        keys = ct.load(k, (0, step), (32, {t}), order=(1, 0), padding_mode=ct.PaddingMode.ZERO)\n"
    "        score = ct.mma(query, keys, ct.zeros(({t}, {t}), ct.float32)) * scale\n"
    "        place = step * {t} + ct.arange({t}, dtype=ct.int32)\n"
    "        score = ct.where((place < k.shape[0])[None, :], score, -math.inf)\n{causal}"
    "        higher = ct.maximum(peak, ct.max(score, axis=1, keepdims=True))\n"
    "        weight = ct.exp(score - higher)\n        shrink = ct.exp(peak - higher)\n"
    "        values = ct.load(v, (step, 0), ({t}, 32), padding_mode=ct.PaddingMode.ZERO)\n"
    "        mixed = ct.mma(weight, values, mixed * shrink)\n"
    "        total = total * shrink + ct.sum(weight, axis=1, keepdims=True)\n        peak = higher\n"
    "    ct.store(out, (i, 0), mixed / total)\n\n"
    "def run(q, k, v):\n    out = numpy.empty_like(q)\n"
    "    ct.launch(None, (-(-len(q) // {t}),), attend, (q, k, v, out, 1 / math.sqrt(32)))\n    return out\n"
)
_CAUSAL = (
    "        row = i * {t} + ct.arange({t}, dtype=ct.int32)\n"
    "        score = ct.where(place[None, :] <= row[:, None], score, -math.inf)\n"
)


def _attention() -> Iterator[tuple[str, HonestKernel]]:
    for causal in (False, True):
        for size in (16, 32):
            source = _CUTILE + _ATTENTION.format(t=size, causal=_CAUSAL.format(t=size) if causal else "")
            mask = "        s = numpy.where(numpy.tri(len(q), dtype=bool), s, -numpy.inf)\n" if causal else ""
            reference = (
                "import numpy\n\ndef inputs(seed, n):\n    rng = numpy.random.default_rng(seed)\n"
                "    return tuple(rng.standard_normal((n, 32), dtype='f4') for _ in range(3))\n\n"
                "def reference(q, k, v):\n    with numpy.errstate(all='ignore'):\n"
                f"        s = q @ k.T / numpy.sqrt(numpy.float32(32))\n{mask}"
                "        p = numpy.exp(s - s.max(axis=1, keepdims=True))\n"
                "        return (p / p.sum(axis=1, keepdims=True)) @ v\n"
            )
            settings = {"shapes": [{"n": 48}], "held_out": [{"n": 37}]}
            name = f"attention-{'causal-' if causal else ''}{size}"
            yield name, HonestKernel("attention", source, reference, settings)


# --- one operator each ---


def _others() -> Iterator[tuple[str, HonestKernel]]:
    def made(name: str, kernel: str, run: str, reference: str, settings: dict[str, Any]) -> tuple[str, HonestKernel]:
        return name, HonestKernel(name.partition("--")[0], f"{_CUTILE}{kernel}\n{run}", reference, settings)

    head = "import numpy\n\ndef inputs(seed, rows, columns):\n    rng = numpy.random.default_rng(seed)\n"
    for size in (16, 64):
        yield made(
            f"embedding--{size}",
            "@ct.kernel\ndef look_up(table, index, out):\n    i = ct.bid(0)\n    row = ct.gather(index, i)\n"
            "    column = ct.arange(128, dtype=ct.int32)\n    ct.scatter(out, (i, column), ct.gather(table, (row, column)))\n",
            "def run(table, index):\n    out = numpy.empty((len(index), table.shape[1]), table.dtype)\n"
            "    ct.launch(None, (len(index),), look_up, (table, index, out))\n    return out\n",
            head
            + f"    return rng.standard_normal((rows, columns), dtype='f4'), rng.integers(0, rows, {size}).astype('i4')\n\n"
            "def reference(table, index):\n    return table[index]\n",
            {**_ROW_SHAPES, "variants": False},
        )
        yield made(
            f"histogram--{size}",
            f"@ct.kernel\ndef count(x, out):\n    i = ct.bid(0) * {size} + ct.arange({size}, dtype=ct.int32)\n"
            "    ct.atomic_add(out, ct.gather(x, i, padding_value=-1), 1)\n",
            f"def run(x):\n    out = numpy.zeros(16, numpy.int32)\n"
            f"    ct.launch(None, (-(-len(x) // {size}),), count, (x, out))\n    return out\n",
            "import numpy\n\ndef inputs(seed, n):\n    return (numpy.random.default_rng(seed).integers(0, 16, n).astype('i4'),)\n\n"
            "def reference(x):\n    return numpy.bincount(x, minlength=16).astype('i4')\n",
            {**_LINE_SHAPES, "variants": False},
        )
        yield made(
            f"quantize--{size}",
            f"@ct.kernel\ndef quantize(x, out, scales):\n    i = ct.bid(0)\n    t = ct.load(x, (i, 0), (1, {8 * size}))\n"
            "    top = ct.max(ct.abs(t), axis=1, keepdims=True)\n    scale = ct.maximum(top, 1e-20) / 127.0\n"
            "    ct.store(out, (i, 0), t / scale)\n    ct.store(scales, (i, 0), scale)\n",
            "def run(x):\n    out, scales = numpy.empty_like(x), numpy.empty((len(x), 1), numpy.float32)\n"
            "    ct.launch(None, (len(x),), quantize, (x, out, scales))\n    return out, scales\n",
            _rows(
                _body(
                    "scale = numpy.maximum(abs(x).max(axis=1, keepdims=True), numpy.float32(1e-20)) / numpy.float32(127)",
                    "return x / scale, scale",
                )
            ),
            {**_ROW_SHAPES, "shapes": [{"rows": size // 2, "columns": 100}]},
        )
        yield made(
            f"rope--{size}",
            f"@ct.kernel\ndef rotate(x, cos, sin, out):\n    i = ct.bid(0)\n    c, s = ct.load(cos, (i, 0), (1, {size})), ct.load(sin, (i, 0), (1, {size}))\n"
            f"    a, b = ct.load(x, (i, 0), (1, {size})), ct.load(x, (i, 1), (1, {size}))\n"
            "    ct.store(out, (i, 0), a * c - b * s)\n    ct.store(out, (i, 1), b * c + a * s)\n",
            "def run(x):\n    half = x.shape[1] // 2\n    angles = numpy.arange(len(x))[:, None] / 100.0 ** (numpy.arange(half) / half)\n"
            "    out = numpy.empty_like(x)\n    cos, sin = numpy.cos(angles).astype('f4'), numpy.sin(angles).astype('f4')\n"
            "    ct.launch(None, (len(x),), rotate, (x, cos, sin, out))\n    return out\n",
            "import numpy\n\ndef inputs(seed, rows):\n"
            f"    return (numpy.random.default_rng(seed).standard_normal((rows, {2 * size}), dtype='f4'),)\n\n"
            "def reference(x):\n    half = x.shape[1] // 2\n    angles = numpy.arange(len(x))[:, None] / 100.0 ** (numpy.arange(half) / half)\n"
            "    c, s, a, b = numpy.cos(angles), numpy.sin(angles), x[:, :half], x[:, half:]\n"
            "    return numpy.concatenate((a * c - b * s, b * c + a * s), axis=1).astype('f4')\n",
            {"shapes": [{"rows": 9}], "held_out": [{"rows": 5}]},
        )
        yield made(
            f"conv1d--{size}",
            f"@ct.kernel\ndef convolve(x, w, out):\n    i = ct.bid(0) * {size} + ct.arange({size}, dtype=ct.int32)\n"
            f"    total = ct.zeros(({size},), ct.float32)\n    for t in range(3):\n"
            "        total = total + ct.gather(x, i + t - 1, padding_value=0.0) * ct.gather(w, t)\n    ct.scatter(out, i, total)\n",
            f"def run(x, w):\n    out = numpy.empty_like(x)\n    ct.launch(None, (-(-len(x) // {size}),), convolve, (x, w, out))\n    return out\n",
            "import numpy\n\ndef inputs(seed, n):\n    rng = numpy.random.default_rng(seed)\n"
            "    return rng.standard_normal(n, dtype='f4'), rng.standard_normal(3, dtype='f4')\n\n"
            "def reference(x, w):\n    with numpy.errstate(all='ignore'):\n        p = numpy.pad(x, 1)\n        return p[:-2] * w[0] + p[1:-1] * w[1] + p[2:] * w[2]\n",
            _LINE_SHAPES,
        )
        yield made(
            f"column-sum--{size}",
            f"@ct.kernel\ndef add_up(x, parts):\n    i, j = ct.bid(0), ct.bid(1)\n"
            f"    t = ct.load(x, (i, j), (4, {size}), padding_mode=ct.PaddingMode.ZERO)\n"
            "    ct.store(parts, (i, j), ct.sum(t, axis=0, keepdims=True))\n",
            f"def run(x):\n    grid = -(-len(x) // 4), -(-x.shape[1] // {size})\n"
            f"    parts = numpy.empty((grid[0], grid[1] * {size}), numpy.float32)\n"
            "    ct.launch(None, grid, add_up, (x, parts))\n    return parts.sum(axis=0)[: x.shape[1]]\n",
            f"{head}    return (rng.standard_normal((rows, columns), dtype='f4'),)\n\n"
            "def reference(x):\n    with numpy.errstate(all='ignore'):\n        return x.sum(axis=0)\n",
            {"shapes": [{"rows": 32, "columns": 100}], "held_out": [{"rows": 21, "columns": 65}]},
        )
        yield made(
            f"batch-norm--{size}",
            f"@ct.kernel\ndef normalize(x, mean, variance, out):\n    i, j = ct.bid(0), ct.bid(1)\n"
            f"    t = ct.load(x, (i, j), (4, {size}))\n    m, v = ct.load(mean, (j,), ({size},)), ct.load(variance, (j,), ({size},))\n"
            "    ct.store(out, (i, j), (t - m[None, :]) * ct.rsqrt(v + 1e-5)[None, :])\n",
            f"def run(x, mean, variance):\n    out = numpy.empty_like(x)\n"
            f"    ct.launch(None, (-(-len(x) // 4), -(-x.shape[1] // {size})), normalize, (x, mean, variance, out))\n    return out\n",
            head
            + "    return (rng.standard_normal((rows, columns), dtype='f4'), rng.standard_normal(columns, dtype='f4'),\n"
            "            rng.random(columns, dtype='f4') + numpy.float32(0.5))\n\n"
            "def reference(x, mean, variance):\n    with numpy.errstate(all='ignore'):\n        return (x - mean) / numpy.sqrt(variance + numpy.float32(1e-5))\n",
            {**_ROW_SHAPES, "variants": False},
        )
        yield made(
            f"dropout--{size}",
            f"@ct.kernel\ndef drop(x, out, seed):\n    i = ct.bid(0) * {size} + ct.arange({size}, dtype=ct.int32)\n"
            "    h = ct.bitwise_and((i + seed) * 1103515 + 12345, 1023)\n"
            "    ct.scatter(out, i, ct.where(h < 512, ct.gather(x, i) * 2.0, 0.0))\n",
            f"def run(x, seed):\n    out = numpy.empty_like(x)\n    ct.launch(None, (-(-len(x) // {size}),), drop, (x, out, int(seed[0])))\n    return out\n",
            "import numpy\n\ndef inputs(seed, n):\n    rng = numpy.random.default_rng(seed)\n"
            "    return rng.standard_normal(n, dtype='f4'), rng.integers(0, 1000, 1).astype('i4')\n\n"
            "def reference(x, seed):\n    with numpy.errstate(all='ignore'):\n        h = ((numpy.arange(len(x), dtype='i4') + seed) * numpy.int32(1103515) + numpy.int32(12345)) & 1023\n"
            "        return numpy.where(h < 512, x * 2, numpy.float32(0))\n",
            {**_LINE_SHAPES, "variants": False},
        )
        yield made(
            f"swiglu--{size}",
            f"@ct.kernel\ndef gate(x, y, out):\n    i, j = ct.bid(0), ct.bid(1)\n    a = ct.load(x, (i, j), (2, {size}))\n"
            f"    ct.store(out, (i, j), a / (1.0 + ct.exp(-a)) * ct.load(y, (i, j), (2, {size})))\n",
            f"def run(x, y):\n    out = numpy.empty_like(x)\n    ct.launch(None, (-(-len(x) // 2), -(-x.shape[1] // {size})), gate, (x, y, out))\n    return out\n",
            _rows(
                _body("return x / (1 + numpy.exp(-x)) * y"),
                "x, y",
                extra="rng.standard_normal((rows, columns)).astype('f4')",
            ),
            _ROW_SHAPES,
        )
        yield made(
            f"argmax--{size}",
            f"@ct.kernel\ndef largest(x, out):\n    i = ct.bid(0)\n    t = ct.load(x, (i, 0), ({size // 16}, 128), padding_mode=ct.PaddingMode.NEG_INF)\n"
            "    ct.store(out, (i,), ct.argmax(t, axis=1))\n",
            f"def run(x):\n    out = numpy.empty(len(x), numpy.int32)\n    ct.launch(None, (-(-len(x) // {size // 16}),), largest, (x, out))\n    return out\n",
            _rows(_body("return x.argmax(axis=1).astype('i4')")),
            _ROW_SHAPES,
        )
        yield made(
            f"cross-entropy--{size}",
            f"@ct.kernel\ndef loss(x, target, out):\n    i = ct.bid(0)\n    t = ct.load(x, (i, 0), ({size // 16}, 128), padding_mode=ct.PaddingMode.NEG_INF)\n"
            "    t = t - ct.max(t, axis=1, keepdims=True)\n    lse = ct.log(ct.sum(ct.exp(t), axis=1))\n"
            f"    column = ct.arange(128, dtype=ct.int32)[None, :] == ct.load(target, (i,), ({size // 16},))[:, None]\n"
            "    ct.store(out, (i,), lse - ct.sum(ct.where(column, t, 0.0), axis=1))\n",
            f"def run(x, target):\n    out = numpy.empty(len(x), numpy.float32)\n    ct.launch(None, (-(-len(x) // {size // 16}),), loss, (x, target, out))\n    return out\n",
            head
            + "    return rng.standard_normal((rows, columns), dtype='f4'), rng.integers(0, columns, rows).astype('i4')\n\n"
            "def reference(x, target):\n    t = x - x.max(axis=1, keepdims=True)\n"
            "    return (numpy.log(numpy.exp(t).sum(axis=1)) - t[numpy.arange(len(x)), target]).astype('f4')\n",
            {**_ROW_SHAPES, "variants": False},
        )
        yield made(
            f"in-place-axpy--{size}",
            f"@ct.kernel\ndef update(x, y, a):\n    i = ct.bid(0)\n    ct.store(y, (i,), ct.load(x, (i,), ({size},)) * a + ct.load(y, (i,), ({size},)))\n",
            f"def run(x, y):\n    ct.launch(None, (-(-len(x) // {size}),), update, (x, y, 0.5))\n    return y\n",
            "import numpy\n\ndef inputs(seed, n):\n    rng = numpy.random.default_rng(seed)\n"
            "    return rng.standard_normal(n, dtype='f4'), rng.standard_normal(n, dtype='f4')\n\n"
            "def reference(x, y):\n    y += x * numpy.float32(0.5)\n    return y\n",
            _LINE_SHAPES,
        )
        yield made(
            f"two-kernels--{size}",
            f"@ct.kernel\ndef squares(x, out):\n    i = ct.bid(0)\n    t = ct.load(x, (i,), ({size},))\n    ct.store(out, (i,), t * t)\n\n"
            f"@ct.kernel\ndef shifted(x, out):\n    i = ct.bid(0)\n    ct.store(out, (i,), ct.load(x, (i,), ({size},)) + 1.0)\n",
            f"def run(x):\n    between, out = numpy.empty_like(x), numpy.empty_like(x)\n    grid = (-(-len(x) // {size}),)\n"
            "    ct.launch(None, grid, squares, (x, between))\n    ct.launch(None, grid, shifted, (between, out))\n    return out\n",
            _line("x * x + 1"),
            _LINE_SHAPES,
        )
        yield made(
            f"padded-input--{size}",
            f"@ct.kernel\ndef twice(x, out):\n    i = ct.bid(0)\n    ct.store(out, (i,), ct.load(x, (i,), ({size},)) * 2)\n",
            f"def run(x):\n    full = -(-len(x) // {size}) * {size}\n    padded = numpy.zeros(full, x.dtype)\n    padded[:len(x)] = x\n"
            f"    out = numpy.empty_like(padded)\n    ct.launch(None, (full // {size},), twice, (padded, out))\n    return out[:len(x)].copy()\n",
            _line("x * 2"),
            _LINE_SHAPES,
        )


# --- Triton ---

_TRITON_UNARY = {
    "relu": ("tl.maximum(x, 0.0)", "torch.relu(x)"),
    "exp": ("tl.exp(x)", "torch.exp(x)"),
    "square": ("x * x", "x * x"),
    "sigmoid": ("1 / (1 + tl.exp(-x))", "torch.sigmoid(x)"),
    "silu": ("x * tl.sigmoid(x)", "torch.nn.functional.silu(x)"),
}


def _triton() -> Iterator[tuple[str, HonestKernel]]:
    def task(make: str, result: str, arguments: str = "x", sizes: str = "n") -> str:
        return (
            f"import torch\n\ndef inputs(seed, {sizes}):\n    made = torch.Generator().manual_seed(seed)\n"
            f"    return {make},\n\ndef reference({arguments}):\n    return {result}\n"
        )

    line, rows = "torch.randn(n, generator=made).cuda()", "torch.randn(rows, columns, generator=made).cuda()"
    for block in (64, 256):
        for operator, (tile, plain) in _TRITON_UNARY.items():
            source = (
                f"{_TRITON}@triton.jit\ndef kernel(a, out, n, BLOCK: tl.constexpr):\n"
                "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(a + i, mask=i < n)\n"
                f"    tl.store(out + i, {tile}, mask=i < n)\n\n"
                "def run(a):\n    out = torch.empty_like(a)\n"
                f"    kernel[(triton.cdiv(a.numel(), {block}),)](a, out, a.numel(), BLOCK={block})\n    return out\n"
            )
            yield f"triton-{operator}-{block}", HonestKernel(operator, source, task(line, plain), _LINE_SHAPES)
        source = (
            f"{_TRITON}@triton.jit\ndef kernel(a, b, out, n, BLOCK: tl.constexpr):\n"
            "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
            "    tl.store(out + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)\n\n"
            f"def run(a, b):\n    out = torch.empty_like(a)\n    kernel[(triton.cdiv(len(a), {block}),)](a, b, out, len(a), BLOCK={block})\n"
            "    return out\n"
        )
        yield f"triton-add-{block}", HonestKernel("add", source, task(f"{line}, {line}", "x + y", "x, y"), _LINE_SHAPES)
    for columns in (128, 256):
        source = (
            f"{_TRITON}@triton.jit\ndef kernel(a, out, columns, BLOCK: tl.constexpr):\n    row = tl.program_id(0)\n    i = tl.arange(0, BLOCK)\n"
            "    x = tl.load(a + row * columns + i, mask=i < columns, other=-float('inf'))\n    p = tl.exp(x - tl.max(x, axis=0))\n"
            "    tl.store(out + row * columns + i, p / tl.sum(p, axis=0), mask=i < columns)\n\n"
            f"def run(x):\n    out = torch.empty_like(x)\n    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK={columns})\n    return out\n"
        )
        reference = task(rows, "torch.softmax(x, dim=1)", sizes="rows, columns")
        yield f"triton-softmax-{columns}", HonestKernel("softmax", source, reference, _ROW_SHAPES)
        source = source.replace(
            "p = tl.exp(x - tl.max(x, axis=0))", "p = tl.sum(tl.where(i < columns, x, 0.0), axis=0)"
        )
        source = source.replace("out + row * columns + i, p / tl.sum(p, axis=0), mask=i < columns", "out + row, p")
        source = source.replace("torch.empty_like(x)", "torch.empty(x.shape[0], device=x.device)")
        yield (
            f"triton-sum-{columns}",
            HonestKernel("sum", source, task(rows, "x.sum(dim=1)", sizes="rows, columns"), _ROW_SHAPES),
        )
    for size in (16, 32):
        source = (
            f"{_TRITON}@triton.jit\ndef kernel(a, b, out, m, n, k, B: tl.constexpr):\n"
            "    i = tl.program_id(0) * B + tl.arange(0, B)\n    j = tl.program_id(1) * B + tl.arange(0, B)\n"
            "    total = tl.zeros((B, B), tl.float32)\n    for step in range(0, k, B):\n        t = step + tl.arange(0, B)\n"
            "        x = tl.load(a + i[:, None] * k + t[None, :], mask=(i < m)[:, None] & (t < k)[None, :], other=0.0)\n"
            "        y = tl.load(b + t[:, None] * n + j[None, :], mask=(t < k)[:, None] & (j < n)[None, :], other=0.0)\n"
            "        total = tl.dot(x, y, total, input_precision='ieee')\n"
            "    tl.store(out + i[:, None] * n + j[None, :], total, mask=(i < m)[:, None] & (j < n)[None, :])\n\n"
            "def run(a, b):\n    (m, k), n = a.shape, b.shape[1]\n    out = torch.empty(m, n, device=a.device)\n"
            f"    kernel[(triton.cdiv(m, {size}), triton.cdiv(n, {size}))](a, b, out, m, n, k, B={size})\n    return out\n"
        )
        make = "torch.randn(m, k, generator=made).cuda(), torch.randn(k, n, generator=made).cuda()"
        yield (
            f"triton-matmul-{size}",
            HonestKernel("matmul", source, task(make, "a @ b", "a, b", "m, n, k"), _MATMUL_SHAPES),
        )


def honest_kernels() -> dict[str, HonestKernel]:
    """All of them by name."""
    families = (_unary, _binary, _reductions, _row_kernels, _matmuls, _transposes, _attention, _others, _triton)
    return dict(each for family in families for each in family())
