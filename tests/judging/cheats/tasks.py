"""The tasks of the corpus: small, one for each kind of computation, in NumPy or torch."""

from __future__ import annotations

import json
from pathlib import Path

_NUMPY = "import numpy\n\n"
_TORCH = "import torch\n\n"

TASKS: dict[str, tuple[str, dict[str, object]]] = {
    "scale": (
        _NUMPY + "def inputs(seed, n):\n"
        '    return (numpy.random.default_rng(seed).standard_normal(n, dtype="f4"),)\n\n'
        "def reference(x):\n    return x * 2\n",
        {"shapes": [{"n": 1000}, {"n": 640}], "held_out": [{"n": 333}]},
    ),
    "softmax": (
        _NUMPY + "def inputs(seed, rows, columns):\n"
        '    return (numpy.random.default_rng(seed).standard_normal((rows, columns), dtype="f4"),)\n\n'
        "def reference(x):\n"
        "    powers = numpy.exp(x - x.max(axis=1, keepdims=True))\n"
        "    return powers / powers.sum(axis=1, keepdims=True)\n",
        {"shapes": [{"rows": 12, "columns": 200}], "held_out": [{"rows": 5, "columns": 96}]},
    ),
    "matmul": (
        _NUMPY + "def inputs(seed, m, n, k):\n"
        "    rng = numpy.random.default_rng(seed)\n"
        '    return rng.standard_normal((m, k), dtype="f4"), rng.standard_normal((k, n), dtype="f4")\n\n'
        "def reference(a, b):\n    return a @ b\n",
        {
            "shapes": [{"m": 48, "n": 40, "k": 64}],
            "held_out": [{"m": 33, "n": 20, "k": 50}],
            "precision": {"accumulate": "float32", "compute": "float32"},
        },
    ),
    "into": (
        _NUMPY + "def inputs(seed, n):\n"
        '    x = numpy.random.default_rng(seed).standard_normal(n, dtype="f4")\n'
        "    return x, numpy.zeros_like(x)\n\n"
        "def reference(x, out):\n    out[:] = x * 2\n",
        {"shapes": [{"n": 1000}], "held_out": [{"n": 333}]},
    ),
    "torch": (
        _TORCH + "def inputs(seed, n):\n"
        "    made = torch.Generator().manual_seed(seed)\n"
        "    return (torch.randn(n, generator=made).cuda(),)\n\n"
        "def reference(x):\n    return x * 2\n",
        {"shapes": [{"n": 1000}], "held_out": [{"n": 333}]},
    ),
    "half": (
        _NUMPY + "def inputs(seed, n):\n"
        '    return (numpy.random.default_rng(seed).standard_normal(n, dtype="f4").astype("f2"),)\n\n'
        "def reference(x):\n    return x * 2\n",
        {"shapes": [{"n": 1000}], "held_out": [{"n": 333}]},
    ),
    "largest": (
        _NUMPY + "def inputs(seed, rows, columns):\n"
        '    return (numpy.random.default_rng(seed).standard_normal((rows, columns), dtype="f4"),)\n\n'
        "def reference(x):\n    return x.argmax(axis=1).astype(numpy.int32)\n",
        {"shapes": [{"rows": 64, "columns": 48}], "held_out": [{"rows": 21, "columns": 40}]},
    ),
}
"""By name the reference and the settings of a task."""


def write_task(name: str, folder: Path) -> Path:
    """The folder of a task."""
    reference, settings = TASKS[name]
    path = folder / name
    path.mkdir(exist_ok=True)
    (path / "reference.py").write_text(reference)
    (path / "task.json").write_text(json.dumps(settings))
    return path
