"""`torch.distributed` on emulated GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tileir

torch: Any = pytest.importorskip("torch")
distributed: Any = torch.distributed
if not distributed.is_available() or not distributed.is_gloo_available():
    pytest.skip("this torch was built without Gloo", allow_module_level=True)


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Any]:
    where = f"file://{tmp_path / 'store'}"
    distributed.init_process_group("nccl", where, rank=0, world_size=1, device_id=torch.device("cuda:0"))
    yield distributed.group.WORLD
    distributed.destroy_process_group()


def test_nccl_is_gloo(group: Any) -> None:
    assert distributed.is_nccl_available() and distributed.get_world_size() == 1
    x = torch.arange(4.0, device="cuda")
    distributed.all_reduce(x)
    everything = [torch.zeros(4, device="cuda")]
    distributed.all_gather(everything, x)
    distributed.barrier()
    assert everything[0].is_cuda and everything[0].tolist() == [0, 1, 2, 3]
    part = distributed.new_group([0], backend="cpu:gloo,cuda:nccl")
    distributed.broadcast(x, 0, group=part)


def test_symmetric_memory_of_one_gpu(group: Any) -> None:
    import torch.distributed._symmetric_memory as symmetric_memory

    x = symmetric_memory.empty(2, 8, device="cuda").fill_(3)
    handle = symmetric_memory.rendezvous(x, group.group_name)
    assert (handle.rank, handle.world_size) == (0, 1)
    same = handle.get_buffer(0, (4,), torch.float32, 8)
    same.zero_()
    assert same.is_cuda and x.tolist() == [[3] * 8, [0] * 4 + [3] * 4]


def test_what_memory_of_several_gpus_would_be_is_said_by_name(group: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch.distributed._symmetric_memory as symmetric_memory

    monkeypatch.setattr(distributed, "get_world_size", lambda group: 2)
    with pytest.raises(tileir.errors.EmulationError, match="symmetric memory of several GPUs"):
        symmetric_memory.rendezvous(torch.zeros(2, device="cuda"), group)
