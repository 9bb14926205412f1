"""Which threads see the device, and tensors after the end of a context."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
from tests.bridge.test_launch import add, ct

import tileir
from tileir.bridge.contexts import active

torch: Any = pytest.importorskip("torch")


def where() -> str:
    return str(torch.ones(2, device="cuda").device)


def outside(function: Any) -> Any:
    """Call a function in a thread and outside of contexts."""
    from tileir.bridge import contexts

    kept, contexts._everywhere[:] = contexts._everywhere[:], []
    found = []
    try:
        thread = threading.Thread(target=contextvars.Context().run, args=(lambda: found.append(function()),))
        contextvars.Context().run(thread.start)
        thread.join()
    finally:
        contexts._everywhere[:] = kept
    return found[0]


def test_threads_started_in_a_context_see_the_device():
    found = []
    thread = threading.Thread(target=lambda: found.append(where()))
    thread.start()
    thread.join()
    assert found == ["cuda:0"]


def test_threads_see_the_device_where_a_loop_runs_beside_the_caller():
    loop = asyncio.new_event_loop()
    asyncio._set_running_loop(loop)
    try:
        with tileir.emulate():
            found = []
            thread = threading.Thread(target=lambda: found.append(active()))
            contextvars.Context().run(thread.start)
            thread.join()
            assert found == [active()]
    finally:
        asyncio._set_running_loop(None)
        loop.close()


def test_threads_of_a_pool_see_the_device_also_if_they_were_started_before():
    def work():
        with ThreadPoolExecutor(1) as pool:
            pool.submit(int).result()
            with tileir.emulate():
                inside = contextvars.copy_context()
                return pool.submit(inside.run, where).result(), pool.submit(torch.ones, 2).result().device.type

    assert outside(work) == ("cuda:0", "cpu")


def test_what_a_task_runs_in_a_thread_sees_the_device():
    async def emulated():
        with tileir.emulate():
            return await asyncio.to_thread(where), where()

    async def both():
        return await asyncio.gather(emulated(), emulated())

    assert outside(lambda: asyncio.run(both())) == [("cuda:0", "cuda:0")] * 2


def test_no_mode_is_left_when_the_last_context_ends():
    def work():
        before = len(torch.overrides._get_current_function_mode_stack())
        with tileir.emulate(), tileir.emulate():
            assert len(torch.overrides._get_current_function_mode_stack()) == before + 1
        return len(torch.overrides._get_current_function_mode_stack()) - before

    assert outside(work) == 0


def test_tensors_are_those_of_the_cpu_after_the_end_of_a_context():
    def work():
        with tileir.emulate():
            x = torch.arange(4.0, device="cuda", requires_grad=True)
        assert (x.device.type, x.detach().numpy().tolist()) == ("cpu", [0, 1, 2, 3])
        (x * torch.ones(4)).sum().backward()
        out = torch.zeros(32)
        tileir.launch(add, 2, (torch.ones(32), torch.ones(32), out))
        with tileir.emulate():
            assert x.is_cuda and x.grad.is_cuda and x.grad.tolist() == [1] * 4
            y = torch.zeros(32, device="cuda")
            ct.launch(None, (2,), add, (y + 1, y + 1, y))
        return y.numpy().tolist() == out.tolist() == numpy.full(32, 2).tolist()

    assert outside(work)
