"""What this processor can do, measured, and how long a launch takes on it: the model of docs/tools/cost.md.

The measurement takes about a second and is kept in the cache of compiled kernels, unless the machine has other work to
do.  It is of what the CPU backend reaches: kernels of a few lines on small arrays, on one core by the clock of the
process, which other work leaves alone; and memory with all cores, by the clock on the wall.
"""

from __future__ import annotations

import math
import os
import time
from _blake2 import blake2b
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from tileir.execute.cache.code_cache import default_cache
from tileir.execute.errors import MissingDependencyError
from tileir.execute.launching.timing import duration
from tileir.execute.work.operations import COMPARING, CONVERTING, FLOATING, INTEGER, MATRIX, Work, cost_of, quantity
from tileir.ir.quoting import several
from tileir.ir.traits import FUNCTION
from tileir.processors import processors

_FORMAT: Final = 1
_ROUNDS: Final = 8
_LANES: Final = 4096
_CHAIN: Final = 8
_MEMORY: Final = 1 << 23
"""Elements of each of three arrays, more than caches hold."""
_EXTENT: Final = 64
_STEPS: Final = 16
_OTHERS: Final = 1.0
"""How far the load average may exceed the number of processors before the machine counts as busy."""


class Processor(NamedTuple):
    """The rates of this machine: of one core, except where noted."""

    name: str
    """What LLVM calls it."""
    cores: int
    memory: float
    """Bytes a second, all cores together."""
    core_memory: float
    """Bytes a second, one core."""
    products: float
    """Operations of f32 matmuls a second."""
    arithmetic: float
    """Elements a second of an operation such as addf, in f32."""
    functions: float
    """Elements a second of exp, in f32."""
    measured: str
    """The day."""


def processor(*, again: bool = False) -> Processor:
    """This one; measured if it was not before, or `again`."""
    # Its error names what to install where NumPy is missing.
    import tileir.execute.launching.kernel  # noqa: F401
    from tileir.execute.cpu.runtime.target import host

    if find_spec("llvmlite") is None:
        needed = "this processor is measured with the CPU backend, which needs llvmlite: pip install 'tileir[cpu]'"
        raise MissingDependencyError(f"{needed}, or choose a GPU as the target")
    machine = host("native")
    digest = blake2b(digest_size=16, person=b"tileir peaks")
    digest.update(repr((_FORMAT, machine.name, machine.features, processors())).encode())
    key = f"processor-{digest.hexdigest()}"
    made = None if again else _known.get(key) or _kept(key)
    if made is None:
        made = _measured(machine.name)
        if not is_busy():
            default_cache().put(key, b"", made._asdict())
    _known[key] = made
    return made


_known: Final[dict[str, Processor]] = {}
"""The rates that this process has already loaded or measured."""


def _kept(key: str) -> Processor | None:
    """What an earlier process has measured."""
    found = default_cache().get(key)
    try:
        return Processor(**found[1]) if found is not None else None
    except TypeError:
        return None


def is_busy() -> bool:
    """Whether other processes slow this machine down, as far as the system reports it."""
    try:
        return os.getloadavg()[0] > processors() + _OTHERS
    except (AttributeError, OSError):
        return False


def _measured(name: str) -> Processor:
    import numpy

    from tileir.execute.launching.kernel import compile

    small = numpy.ones(_LANES, numpy.float32)
    square = numpy.ones((_EXTENT, _EXTENT), numpy.float32)
    # Written to, each of them: pages of zeros that nobody has written to are one and the same.
    large = [numpy.ones(_MEMORY, numpy.float32) for _ in range(3)]
    adding, chain, function, product = [compile(module, backend="cpu") for module in _programs()]
    blocks = 64
    elements = blocks * _LANES
    one = {"threads": 1}
    alone = 12 * _MEMORY / _best(adding.bind(_MEMORY // _LANES, large, **one))
    together = 12 * _MEMORY / _best(adding.bind(_MEMORY // _LANES, large), by_wall=True)
    return Processor(
        name,
        processors(),
        max(together, alone),
        alone,
        blocks * _STEPS * 2 * _EXTENT**3 / _best(product.bind(blocks, (square, square, square), **one)),
        elements * _CHAIN / _best(chain.bind(blocks, (small, small), **one)),
        elements / _best(function.bind(blocks, (small, small), **one)),
        time.strftime("%Y-%m-%d"),
    )


def _best(run: Callable[[], object], by_wall: bool = False) -> float:
    """Seconds of a launch, by the clock on the wall or as its thread has used them."""
    run()
    found = []
    for _ in range(_ROUNDS):
        begins = [each() for each in (time.thread_time, time.process_time, time.perf_counter)]
        run()
        ends = [each() for each in (time.thread_time, time.process_time, time.perf_counter)]
        thread, process, wall = [end - begin for begin, end in zip(begins, ends, strict=True)]
        # Other threads of this process may compute too; but for some launches it is another thread that runs them.
        found.append(wall if by_wall else thread if thread > process / 10 else process)
    return max(min(found), 1e-9)


def _programs() -> list[Any]:
    """Addition of large arrays; a chain of operations, a function and products of a tile that stays in the cache."""
    from tileir.builder import Builder
    from tileir.types import f32, ptr, tile

    def view(build: Builder, pointer: Any, shape: tuple[int, ...], part: tuple[int, ...]) -> Any:
        strides = [shape[1], 1] if len(shape) > 1 else [1]
        return build.make_partition_view(build.make_tensor_view(pointer, list(shape), strides), part)

    def over_tiles(name: str, count: int, shape: tuple[int, ...], compute: Callable[..., Any]) -> Any:
        """A kernel of so many arrays, the last of which is written; large ones in tiles, small ones as one."""
        build = Builder("peaks")
        with build.entry(name, *[ptr(f32)] * count) as pointers:
            block, _, _ = build.get_tile_block_id()
            place: Any = block if shape[0] > _LANES else 0
            views = [view(build, pointer, shape, (_LANES,)) for pointer in pointers]
            loaded = [build.load_view_tko(each, [place])[0] for each in views[:-1]]
            build.store_view_tko(compute(build, *loaded), views[-1], [place])
        return build.finish()

    def chained(build: Builder, x: Any) -> Any:
        first = x
        for number in range(_CHAIN):
            x = build.mulf(x, first) if number % 2 else build.addf(x, first)
        return x

    build = Builder("peaks")
    shape = (_EXTENT, _EXTENT)
    with build.entry("products", ptr(f32), ptr(f32), ptr(f32)) as (a, b, c):
        left, right, out = [view(build, pointer, shape, shape) for pointer in (a, b, c)]
        with build.for_(0, _STEPS, 1, init=[build.constant(0.0, tile(shape, f32))]) as loop:
            x, _ = build.load_view_tko(left, [0, 0])
            y, _ = build.load_view_tko(right, [0, 0])
            build.continue_(build.mmaf(x, y, loop.value))
        build.store_view_tko(loop.result, out, [0, 0])
    return [
        over_tiles("adding", 3, (_MEMORY,), lambda build, x, y: build.addf(x, y)),
        over_tiles("chain", 2, (_LANES,), chained),
        over_tiles("function", 2, (_LANES,), lambda build, x: build.exp(x)),
        build.finish(),
    ]


LAUNCH: Final = 10e-6
"""Seconds that a launch takes if it does nothing."""

_WIDE: Final = 2.0
"""How much longer elements of f64 and i64 take, and matmuls of f64."""
_WIDE_FUNCTION: Final = 2.9
_NARROW_FUNCTION: Final = 1.7
"""How much longer functions of f16 and bf16 take: they are computed in f32 and rounded correctly."""


def _parts(work: Work, machine: Processor) -> list[tuple[str, float, float, str]]:
    """What a launch computes over all tile blocks, in elements of the operations whose rates are measured: what they
    are called, how many, how many a second, and the unit of that."""
    products = arithmetic = functions = 0.0
    for kind, amount in work.computed.items():
        group, _, types = kind
        cost = cost_of(kind)
        wide = types.startswith(("f64", "i64"))
        if group == MATRIX:
            products += amount * (_WIDE if wide else 1.0)
        elif group == FLOATING and cost.work == FUNCTION:
            narrow = types in ("f16", "bf16")
            weight = _WIDE_FUNCTION if wide else _NARROW_FUNCTION if narrow else 1.0
            functions += amount * cost.core * weight
        elif group in (FLOATING, INTEGER, COMPARING, CONVERTING):
            # A fused multiply-add is counted as two operations, and one instruction.
            arithmetic += amount / cost.flops * cost.core * (_WIDE if wide else 1.0)
    return [
        ("products", products, machine.products, "FLOP/s"),
        ("arithmetic", arithmetic, machine.arithmetic, "elements/s"),
        ("functions", functions, machine.functions, "elements/s"),
    ]


def compute_seconds(work: Work, machine: Processor) -> float:
    """How long one core would compute for the whole launch."""
    return sum([amount / rate for _, amount, rate, _ in _parts(work, machine)])


def estimate_on_processor(work: Work, machine: Processor, cores: int) -> tuple[float, list[str]]:
    """Seconds of a launch on so many cores, and how they come about."""
    bandwidth = min(machine.memory, machine.core_memory * cores)
    memory = work.footprint / bandwidth
    most = max(-(-work.blocks // cores), work.imbalance)
    computing = compute_seconds(work, machine) * most / work.blocks
    reasons = []
    if work.footprint:
        text = f"memory: {quantity(work.footprint, 'B')} at {quantity(bandwidth, 'B/s')}"
        reasons.append(f"{text}, which {several(cores, 'core')} reached = {duration(memory)}")
    for name, amount, rate, unit in _parts(work, machine):
        if amount:
            text = f"{quantity(amount, '')} at {quantity(rate, unit)} on each of {several(cores, 'core')}"
            reasons.append(f"{name}: {text} = {duration(amount / rate * most / work.blocks)}")
    reasons.append(f"launch: {duration(LAUNCH)}, whatever the kernel does")
    if max(memory, computing) < LAUNCH:
        reasons.append("the launch itself takes longest: there is little to do")
    else:
        both = f"computing, {duration(computing)}" if memory < computing else f"memory, {duration(memory)}"
        reasons.append(f"{both}, decides; the other overlaps with it in part")
    return math.hypot(memory, computing) + LAUNCH, reasons
