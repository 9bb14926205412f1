"""cuTile's launches in contexts of threads and of tasks; without a context they come to `on_gpu`."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import cuda.tile as ct
import numpy

import tileir


@ct.kernel
def double(a, out):
    ct.store(out, (ct.bid(0),), ct.load(a, (ct.bid(0),), (16,)) * 2)


def on_gpu(stream: object, grid: object, kernel: object, args: object) -> str:
    return "on the GPU"


ct.launch = on_gpu
ARRAY = numpy.arange(32, dtype=numpy.float32)


def _launched() -> bool:
    out = numpy.zeros_like(ARRAY)
    answer: Any = ct.launch(None, (2,), double, (ARRAY, out))
    return answer is None and (out == 2 * ARRAY).all()


def _left() -> bool:
    return bool(ct.launch(None, (2,), double, ()) == "on the GPU")


def in_thread(rng: Random) -> bool:
    """Contexts that nest, one of which may be left by an exception."""
    right = _left()
    try:
        with tileir.emulate():
            right = right and _emulated_inside(rng)
            if rng.random() < 0.5:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    return right and _left()


def _emulated_inside(rng: Random) -> bool:
    with tileir.emulate(rng.choice(["cpu", "interpreter"])):
        right = _launched()
    return right and _launched()


def in_tasks(rng: Random) -> bool:
    """Contexts of tasks that overlap in any order."""
    pauses = [rng.randint(0, 4) for _ in range(3)]

    async def emulating(count: int) -> bool:
        with tileir.emulate():
            for _ in range(count):
                await asyncio.sleep(0)
            right = _launched()
        return right and _left()

    async def plain(count: int) -> bool:
        for _ in range(count):
            await asyncio.sleep(0)
        return _left()

    async def main() -> bool:
        tasks = [*[emulating(count) for count in pauses], plain(rng.randint(0, 3))]
        return all(await asyncio.gather(*tasks)) and _left()

    return asyncio.run(main())
