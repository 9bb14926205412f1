"""One object for each type and attribute while somebody holds it, and none when nobody does."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import tracemalloc
from random import Random
from typing import Any

import pytest

import tileir
from tileir.dialect.attributes import bounded, div_by, optimization_hints
from tileir.dialect.debug_info import di_compile_unit, di_file
from tileir.dialect.types import partition_view_type, pointer_type, tensor_view_type, tile_type
from tileir.ir.attributes import (
    array_attribute,
    dictionary_attribute,
    float_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
    type_attribute,
)
from tileir.ir.dense import dense_attribute
from tileir.ir.interning import POOL
from tileir.ir.location import call_site_location, file_location, fused_location, name_location
from tileir.ir.registry import unregistered
from tileir.ir.types import F32, I32, I64, function_type, integer_type, opaque_type

if not hasattr(sys, "getrefcount"):
    pytest.skip("this Python does not count references, so nothing is ever dropped", allow_module_level=True)


def entries() -> int:
    return sum(len(table) for _, table, _ in POOL.tables)


def sweep() -> int:
    """Drop what nobody holds; how much is left."""
    gc.collect()
    with POOL.lock:
        POOL.sweep()
    return entries()


@pytest.fixture
def busy():
    """Sweep after every few things that are made."""
    limit = POOL.limit
    stop = threading.Event()

    def keep_small() -> None:
        while not stop.is_set():
            POOL.limit = 20
            stop.wait(0.0005)

    helper = threading.Thread(target=keep_small)
    helper.start()
    yield
    stop.set()
    helper.join()
    POOL.limit = limit


def made(number: int) -> list[object]:
    """One thing of each kind, the same for the same number."""
    tile = tile_type((2, 4), integer_type(1000 + number))
    tensor = tensor_view_type(F32, (number + 1, 8), (8, 1))
    place = file_location(f"f{number}.py", number, 1)
    site = call_site_location(place, name_location(f"n{number}", place))
    numbers = array_attribute((integer_attribute(I64, 10_000 + number), float_attribute(F32, 77_000 + number)))
    names = dictionary_attribute({f"a{number}": numbers, "b": string_attribute(f"s{number}")})
    return [
        tile,
        pointer_type(integer_type(1000 + number)),
        tensor,
        partition_view_type((1, 1), tensor),
        function_type((tile,), (tensor,)),
        opaque_type(f"!o.t{number}"),
        site,
        fused_location((site, place), names),
        numbers,
        names,
        type_attribute(tile),
        symbol_attribute(f"m{number}", "k"),
        dense_attribute(tile_type((4,), I32), (4,), I32, bytes([number % 256] * 15) + b"\x01"),
        div_by(1 << (number % 60), number, 0),
        bounded(number, None),
        optimization_hints(dictionary_attribute({f"sm_{number}": names})),
        di_compile_unit(di_file(f"f{number}.py", "/")),
        unregistered(f"other.op{number}"),
    ]


def test_what_is_held_stays_the_one():
    held = {number: made(number) for number in range(100)}
    for _ in range(3):
        for number in list(held)[::3]:
            del held[number]
        sweep()
        for number, things in held.items():
            assert all(again is thing for again, thing in zip(made(number), things, strict=True)), number


def test_what_nobody_holds_is_dropped():
    before = sweep()
    for number in range(300):
        made(number)
    assert entries() > before + 300
    assert sweep() == before


def test_part_is_kept_by_what_it_is_part_of():
    before = sweep()
    whole = fused_location(
        (call_site_location(file_location("a", 1, 1), file_location("b", 1, 1)),), string_attribute("m")
    )
    sweep()
    inner = whole.locations[0]
    assert call_site_location(file_location("a", 1, 1), file_location("b", 1, 1)) is inner
    assert string_attribute("m") is whole.metadata
    del inner, whole
    assert sweep() == before


def test_deep_things_are_dropped_at_once():
    before = sweep()
    location: Any = file_location("deep.py", 1, 1)
    attribute: Any = array_attribute(())
    for level in range(5000):
        location = call_site_location(location, file_location("deep.py", level, 2))
        # Arrays and dictionaries in each other.
        attribute = array_attribute((attribute,)) if level % 2 else dictionary_attribute({"a": attribute})
    del location, attribute
    assert sweep() == before


def program(number: int) -> str:
    return f"""cuda_tile.module @m{number} {{
  global @g{number} <f32: [{number}.5, 1.25]> : tile<2xf32>
  entry @k{number}(%p: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<sm_90 = {{occupancy = {number % 32 + 1}}}> {{
    %c = constant <i32: {number}> : tile<i32>
    %v = make_tensor_view %p, shape = [{number + 1}, 8], strides = [8, 1] : tensor_view<{number + 1}x8xf32, strides=[8,1]>
    %w = make_partition_view %v : partition_view<tile=(4x4), tensor_view<{number + 1}x8xf32, strides=[8,1]>>
    %a = assume bounded<0, {number + 1}>, %n : tile<i32>
    %t = print_tko "program {number} %i", %c : tile<i32> -> token
    return loc(callsite("f{number}.py":{number}:1 at fused["g{number}", "h.py":{number}:2]))
  }} loc("k{number}.py":{number}:1)
}}"""


def use(number: int) -> None:
    """What a service does with a program."""
    module = tileir.parse(program(number), f"program{number}.mlir")
    tileir.verify(module)
    module.text(debug_info=True)
    again = tileir.from_bytecode(tileir.to_bytecode(tileir.parse(str(module))))
    tileir.optimize(again, 2)


def live_objects() -> int:
    sweep()
    gc.collect()
    return len(gc.get_objects())


def test_service_that_sees_many_programs_does_not_grow():
    for number in range(20):
        use(number)
    before = live_objects()
    for number in range(20, 140):
        use(number)
    # What is remembered about types and spellings until the next sweep is gone too.
    assert live_objects() < before + 200


def test_tables_are_swept_without_being_asked():
    before = sweep()
    for number in range(3 * POOL.limit):
        integer_attribute(I64, 1 << 40 | number)
    assert entries() <= before + 2 * POOL.limit


def test_long_constants_count_by_their_length():
    tracemalloc.start()
    try:
        for number in range(60):
            dense_attribute(
                tile_type((1 << 20,), integer_type(8)), (1 << 20,), integer_type(8), number.to_bytes(1 << 20, "big")
            )
        current, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert current < 30 << 20


def test_threads_agree_on_the_one_object(busy):
    shared: dict[int, list[object]] = {}
    wrong: list[int] = []

    def work(seed: int) -> None:
        rng = Random(seed)
        held: dict[int, list[object]] = {}
        for _ in range(300):
            number = rng.randrange(30)
            things = made(number)
            if number in held and not all(a is b for a, b in zip(held[number], things, strict=True)):
                wrong.append(number)
            seen = shared.get(number)
            if seen is not None and not all(a is b for a, b in zip(seen, things, strict=True)):
                wrong.append(number)
            held[number] = things
            if rng.random() < 0.3:
                shared[number] = things
            if rng.random() < 0.3:
                held.pop(rng.randrange(30), None)
            if rng.random() < 0.2:
                shared.pop(rng.randrange(30), None)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that signal")
def test_signal_handler_in_the_middle_of_a_sweep_gets_the_one_object():
    held = {number: made(number) for number in range(40)}
    wrong: list[int] = []
    calls = 0

    def handler(signum: int, frame: object) -> None:
        nonlocal calls
        calls += 1
        number = calls % 40
        if not all(a is b for a, b in zip(held[number], made(number), strict=True)):
            wrong.append(number)

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        while calls < 60:
            with POOL.lock:
                POOL.sweep()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not wrong
    assert all(a is b for number, things in held.items() for a, b in zip(things, made(number), strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_fork_in_the_middle_of_a_sweep_leaves_the_child_in_order():
    held = {number: made(number) for number in range(20)}
    stop = threading.Event()

    def sweep_on() -> None:
        while not stop.is_set():
            with POOL.lock:
                POOL.sweep()

    helper = threading.Thread(target=sweep_on)
    helper.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                same = all(a is b for number, things in held.items() for a, b in zip(things, made(number), strict=True))
                made(1000)
                os._exit(0 if same else 1)
            _, status = os.waitpid(child, 0)
            assert status == 0
    finally:
        stop.set()
        helper.join()
