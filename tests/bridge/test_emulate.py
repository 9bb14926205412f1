"""`tileir.emulate`: launches of cuTile that run here, in contexts that nest and overlap."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from tests.bridge.test_launch import F32, A, add, ct, fill

import tileir
from tileir.bridge.contexts import active

# --- emulate ---


def test_emulate_runs_launches_of_cutile_here() -> None:
    a, out = numpy.arange(32, dtype=F32), numpy.zeros(32, F32)
    with tileir.emulate():
        ct.launch(None, (2, 1, 1), add, (a, a, out))
    assert out.tolist() == (2 * a).tolist()


def gpu() -> Callable[..., str]:
    """A launch that is not emulated; a new one each time, as the one that is replaced is replaced in all modules."""
    return lambda stream, grid, kernel, args: "on the GPU"


def test_outside_of_emulate_the_entry_point_does_what_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ct, "launch", gpu())
    with tileir.emulate():
        assert ct.launch(None, (1,), add, (A, A, A.copy())) is None
    assert ct.launch(None, (1,), add, ()) == "on the GPU"
    with pytest.raises(ZeroDivisionError), tileir.emulate():
        raise ZeroDivisionError
    assert ct.launch(None, (1,), add, ()) == "on the GPU"


def test_entry_point_is_replaced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ct, "launch", gpu())
    with tileir.emulate():
        hook = ct.launch
    with tileir.emulate(), tileir.emulate():
        assert ct.launch is hook
    assert ct.launch is hook


def test_emulate_reaches_what_others_put_in_the_place_of_the_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ct, "launch", gpu())
    with tileir.emulate():
        pass
    inner = ct.launch
    monkeypatch.setattr(ct, "launch", lambda *arguments: inner(*arguments))
    out = numpy.zeros(16, F32)
    with tileir.emulate():
        ct.launch(None, (1,), add, (A, A + 1, out))
    assert out.tolist() == [1] * 16
    assert ct.launch(None, (1,), add, ()) == "on the GPU"


def test_innermost_of_nested_contexts_counts() -> None:
    order: list[str] = []

    class Journal(tileir.observers.Observer):
        def __init__(self, name: str) -> None:
            self.name = name

        def block_started(self, block: Any) -> None:
            order.append(self.name)

    arguments = (None, (1,), add, (A, A, A.copy()))
    with tileir.emulate(observer=Journal("outer")):
        with tileir.emulate(observer=Journal("inner")):
            ct.launch(*arguments)
        ct.launch(*arguments)
    assert order == ["inner", "outer"]


def test_contexts_of_threads_may_overlap_without_nesting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ct, "launch", gpu())
    turns = [threading.Event() for _ in range(4)]
    found: dict[str, object] = {}

    def wait(number: int) -> None:
        assert turns[number].wait(60)

    def first() -> None:
        with tileir.emulate():
            turns[0].set()
            wait(1)
        found["first, after its own"] = ct.launch(None, (1,), add, (A, A, A.copy()))
        turns[2].set()

    def second() -> None:
        wait(0)
        with tileir.emulate():
            turns[1].set()
            wait(2)
            found["second, in its own"] = ct.launch(None, (1,), add, (A, A, A.copy()))
        found["second, after its own"] = ct.launch(None, (1,), add, ())

    threads = [threading.Thread(target=each) for each in (first, second)]
    for thread in threads:
        thread.start()
    assert turns[0].wait(60)
    found["main, which has none"] = ct.launch(None, (1,), add, ())
    for thread in threads:
        thread.join()
    assert found == {
        "first, after its own": "on the GPU",
        "second, in its own": None,
        "second, after its own": "on the GPU",
        "main, which has none": "on the GPU",
    }
    assert ct.launch(None, (1,), add, ()) == "on the GPU"


def test_contexts_of_tasks_are_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ct, "launch", gpu())
    found: list[tuple[str, object]] = []

    async def emulating(name: str, pauses: int) -> None:
        with tileir.emulate():
            for _ in range(pauses):
                await asyncio.sleep(0)
            found.append((name, ct.launch(None, (1,), add, (A, A, A.copy()))))
            found.append(("its task", await asyncio.create_task(launching())))
            # A thread that asyncio starts takes the context along.
            found.append(("its thread", await asyncio.to_thread(ct.launch, None, (1,), add, (A, A, A.copy()))))

    async def launching() -> object:
        return ct.launch(None, (1,), add, (A, A, A.copy()))

    async def main() -> None:
        tasks = [asyncio.create_task(emulating("one", 1)), asyncio.create_task(emulating("two", 3))]
        await asyncio.sleep(0)
        found.append(("outside", await launching()))
        found.append(("thread outside", await asyncio.to_thread(ct.launch, None, (1,), add, ())))
        await asyncio.gather(*tasks)

    asyncio.run(main())
    expected = {"one": None, "two": None, "its task": None, "its thread": None}
    assert dict(found) == {**expected, "outside": "on the GPU", "thread outside": "on the GPU"}
    assert ct.launch(None, (1,), add, ()) == "on the GPU"


def test_context_of_the_main_thread_holds_for_threads_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ct, "launch", gpu())
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(ct.launch, None, (1,), add, ()).result() == "on the GPU"
        out = numpy.zeros(16, F32)
        with tileir.emulate():
            pool.submit(ct.launch, None, (1,), add, (A, A + 1, out)).result()
            thread = threading.Thread(target=ct.launch, args=(None, (1,), add, (out, A + 1, out)))
            thread.start()
            thread.join()
        assert out.tolist() == [2] * 16
        assert pool.submit(ct.launch, None, (1,), add, ()).result() == "on the GPU"


def test_contexts_of_generators_may_end_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ct, "launch", gpu())

    def generator() -> Iterator[None]:
        with tileir.emulate():
            yield

    first, second = generator(), generator()
    next(first), next(second)
    first.close()
    assert ct.launch(None, (1,), add, (A, A, A.copy())) is None
    second.close()
    assert ct.launch(None, (1,), add, ()) == "on the GPU"


def test_emulate_reaches_names_imported_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    original = gpu()
    monkeypatch.setattr(ct, "launch", original)
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "run_kernel", original, raising=False)
    out = numpy.zeros(16, F32)
    with tileir.emulate():
        module.run_kernel(0, (1,), add, (A, A + 1, out), programmatic_dependent_launch=True)  # type: ignore[attr-defined]
    assert out.tolist() == [1] * 16
    assert module.run_kernel(0, (1,), add, ()) == "on the GPU"  # type: ignore[attr-defined]


def test_emulate_decorates_a_function() -> None:
    out = numpy.zeros(16, F32)

    @tileir.emulate()
    def script() -> None:
        ct.launch(0, (1,), add, (A, A + 2, out))

    script()
    assert out.tolist() == [2] * 16


def test_options_of_emulate_hold_for_each_launch() -> None:
    order: list[int] = []

    class Journal(tileir.observers.Observer):
        def block_started(self, block: Any) -> None:
            order.append(block.id[0])

    with tileir.emulate(schedule="reverse", observer=Journal()):
        ct.launch(0, (3,), fill, (numpy.zeros(4, F32), 1.0, 4))
    assert order == [2, 1, 0]


def test_a_context_may_be_entered_again_and_within_itself() -> None:
    context = tileir.emulate(target="b200")
    for _ in range(2):
        with context, context:
            assert ct._cext.get_compute_capability() == (10, 0)
        assert active() is None


def test_threads_share_a_context_object() -> None:
    context = tileir.emulate()
    entered, over = threading.Event(), threading.Event()

    def work() -> None:
        with context:
            entered.set()
            over.wait(60)

    thread = threading.Thread(target=work)
    with context:
        thread.start()
        entered.wait(60)
        mine = active()
    assert mine is not None and not mine.is_open
    assert active() is None
    over.set()
    thread.join()
