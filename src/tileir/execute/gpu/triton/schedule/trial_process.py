"""The process of a trial (`trial.py`): makes the launch that a folder describes, and ends."""

from __future__ import annotations

import json
import os
from typing import Any, cast

import numpy

from tileir.dialect.types import PointerType, TileType
from tileir.execute.dtypes import memory_dtype
from tileir.execute.engine.interface import LaunchOptions
from tileir.execute.gpu.triton.launching.kernel import TritonKernel
from tileir.execute.gpu.triton.schedule.trial import LAUNCH, PROGRAM
from tileir.execute.gpu.triton.stored_code import unpacked_schedule, unpacked_specialization
from tileir.execute.launching.entries import select_entry
from tileir.interface import from_bytecode


def main(folder: str) -> None:
    """Make the launch that a folder describes."""
    with open(os.path.join(folder, PROGRAM), "rb") as file:
        module = from_bytecode(file.read())
    with open(os.path.join(folder, LAUNCH), encoding="utf-8") as file:
        described = json.load(file)
    entry = select_entry(module, described["entry"])
    arguments: list[Any] = []
    for parameter, value in zip(entry.regions[0].blocks[0].arguments, described["arguments"], strict=True):
        if isinstance(value, dict):
            pointee = cast(PointerType, cast(TileType, parameter.type).element).pointee
            data = numpy.load(os.path.join(folder, value["file"]), allow_pickle=False)
            size = memory_dtype(pointee).itemsize
            data = data[value["offset"] :]
            value = data[: data.size // size * size].view(memory_dtype(pointee))
        arguments.append(value)
    kind = unpacked_specialization(described["kind"])
    kernel = TritonKernel(entry, {}, described["fast"], given=(unpacked_schedule(described["schedule"]), kind))
    x, y, z = described["grid"]
    kernel.launch((x, y, z), tuple(arguments), LaunchOptions(progress=lambda done, count: None))
