"""An explorer whose answers a test makes up, in the shapes of `assets/types.d.ts`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from tileir.execute.recording.tiles import tile_answer
from tileir.ir.types import F32
from tileir.serve.explorer.questions import Answer, Explorer, Part

_TYPES = {
    "uint8": "u8",
    "int8": "i8",
    "uint16": "u16",
    "int16": "i16",
    "uint32": "u32",
    "int32": "i32",
    "float32": "f32",
    "float64": "f64",
    "int64": "i64",
    "uint64": "u64",
}


def packed(numbers: Any, dtype: str) -> dict[str, Any]:
    import base64

    array = numpy.ascontiguousarray(numbers, dtype)
    return {"type": _TYPES[dtype], "shape": list(array.shape), "data": base64.b64encode(array.tobytes()).decode()}


def operation(number: int, text: str, **rest: Any) -> dict[str, Any]:
    whole = {
        "id": number,
        "name": text.partition("= ")[2].partition(" ")[0] or text.partition(" ")[0],
        "text": text,
        "depth": 0,
        "line": number + 1,
        "script": None,
        "operands": [],
        "results": [],
        "reads": False,
        "writes": False,
    }
    return {**whole, **rest}


def made_steps(block: int) -> Answer:
    return {"block": block, "id": [block, 0, 0], "operation": packed([0, 1, 2], "int32")}


def made_accesses(first: int, count: int) -> Answer:
    rows = numpy.arange(8)[first : first + count]
    return {
        "first": first,
        "count": len(rows),
        "total": 8,
        "block": packed(rows // 2, "int32"),
        "step": packed(rows % 2 + 1, "uint32"),
        "operation": packed(rows % 2, "int32"),
        "array": packed(rows * 0, "int32"),
        "kind": packed(rows % 2, "uint8"),
        "masked": packed(rows * 0, "int32"),
        "boxStart": packed(range(len(rows) + 1), "uint32"),
        "boxFirst": packed(rows // 2 * 16, "float64"),
        "extentStart": packed(range(len(rows) + 1), "uint32"),
        "extents": packed(rows * 0 + 16, "float64"),
        "strides": packed(rows * 0 + 1, "float64"),
        "approximate": packed(rows * 0, "uint8"),
    }


def made_conflicts(array: int) -> Answer:
    return {"elements": 0, "starts": packed([], "uint32"), "counts": packed([], "uint32")}


def made_values(block: int, step: int) -> Answer:
    known = [] if step == 0 else [{"value": 0, "step": 1, "text": "0 to 15"}]
    return {"block": block, "step": step, "values": known}


def made_array(**_: Any) -> Answer:
    return tile_answer(F32, numpy.zeros(64, numpy.float32))


def made_explorer(summary: Mapping[str, Any] | None = None, **answers: Any) -> Explorer:
    """Answers each question with what is given for it: an answer, or a function of the question's parameters.

    Without others, the tile blocks read and write 16 elements each.
    """

    def questions() -> dict[str, Any]:
        found = {}
        made = {
            "steps": made_steps, "accesses": made_accesses, "conflicts": made_conflicts,
            "values": made_values, "array": made_array,
        }  # fmt: skip
        for name, given in {**made, **answers}.items():
            found[name] = given if callable(given) else (lambda _given=given, **_: _given)
        return found

    blocks = 4
    whole: Answer = {
        "title": "made.mlir",
        "kernel": "made",
        "grid": [blocks, 1, 1],
        "schedule": "forward",
        "parameters": [{"name": "a", "type": "tile<ptr<f32>>", "array": 0, "value": "64 f32"}],
        "arrays": [
            {
                "id": 0,
                "name": "a",
                "element": "f32",
                "shape": [64],
                "strides": [1],
                "bytes": 256,
                "fold": 16,
                "read": True,
                "written": True,
            }
        ],
        "operations": [
            operation(0, "%x = load_view_tko weak %v"),
            operation(1, "store_view_tko weak %x, %v"),
            operation(2, "return"),
        ],
        "values": [
            {
                "id": 0,
                "name": "%x",
                "script": None,
                "type": "tile<16xf32>",
                "element": "f32",
                "shape": [16],
                "operation": 0,
            }
        ],
        "recording": {
            "order": packed(range(blocks), "uint32"),
            "steps": packed([3] * blocks, "uint32"),
            "accesses": 8,
            "bytes": 4096,
            "limit": 1 << 30,
            "notes": [],
        },
        **(summary or {}),
    }
    return Explorer([Part(questions(), lambda: whole)])
