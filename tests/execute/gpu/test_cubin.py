"""Cubins are read without NVIDIA's tools."""

from __future__ import annotations

import pytest
from tests.execute.gpu.cubin_files import cubin, elf

from tileir.execute.gpu.cubin import Cubin, CubinError, Parameter


@pytest.mark.parametrize("newer", [False, True])
def test_resources_are_those_of_the_sections(newer: bool) -> None:
    sizes = (8, 8, 4, 8)
    data = cubin(registers=168, stack=48, shared=41984, barriers=3, threads=256, sizes=sizes, newer_parameters=newer)
    found = Cubin(data)
    assert (found.kernel, found.target, found.host) == ("k", "sm_90", "x86_64")
    resources = found.resources
    assert (resources.registers, resources.stack, resources.shared) == (168, 48, 41984)
    assert (resources.barriers, resources.threads, resources.code) == (3, 256, 16)
    assert resources.parameters == (Parameter(0, 8), Parameter(8, 8), Parameter(16, 4), Parameter(24, 8))
    assert not resources.spills


def test_cluster_is_how_many_thread_blocks_a_tile_block_is_spread_over() -> None:
    assert Cubin(cubin()).resources.cluster == 1
    assert Cubin(cubin(cluster=4)).resources.cluster == 4


def test_accesses_to_local_memory_are_counted() -> None:
    """The low 12 bits of an instruction are its operation; those above say more about it."""
    code = [0x7387, 0x7983, 0x5983, 0x7984, 0x918]
    resources = Cubin(cubin(stack=16, instructions=code)).resources
    assert (resources.local_stores, resources.local_loads) == (1, 2)


@pytest.mark.parametrize(
    ("registers", "threads", "code", "spills"),
    [
        (255, 128, [0x387, 0x983], True),
        (168, 384, [0x387, 0x983], True),
        (128, 512, [0x387, 0x983], True),
        # Registers are left: a table that is indexed.
        (53, 128, [0x387, 0x983], False),
        # Never loaded again: what is printed.
        (255, 128, [0x387], False),
        (255, 128, [], False),
    ],
)
def test_kernel_spills_if_registers_run_out_and_it_loads_what_it_stored(
    registers: int, threads: int, code: list[int], spills: bool
) -> None:
    data = cubin(registers=registers, threads=threads, stack=48, instructions=code)
    assert Cubin(data).resources.spills is spills


def test_kernel_is_chosen_by_name() -> None:
    data = cubin(("first", "second"))
    assert Cubin(data, "second").resources.kernel == "second"
    assert Cubin(data, "first").kernels == ["first", "second"]
    with pytest.raises(CubinError, match="has several kernels, and none was chosen: those in it are first, second"):
        Cubin(data)
    with pytest.raises(CubinError, match="has no kernel 'third': those in it are first, second"):
        Cubin(data, "third")


@pytest.mark.parametrize(("machine", "host"), [(62, "x86_64"), (183, "aarch64"), (243, "another kind"), (None, "")])
def test_host_is_read_from_the_object_for_it(machine: int | None, host: str) -> None:
    assert Cubin(cubin(host=machine)).host == host


@pytest.mark.parametrize(("number", "target"), [(80, "sm_80"), (90, "sm_90"), (100, "sm_100"), (121, "sm_121")])
def test_target_is_in_the_flags(number: int, target: str) -> None:
    assert Cubin(cubin(number=number)).target == target


def test_target_of_an_older_abi_is_in_the_lowest_byte() -> None:
    assert Cubin(elf([(".nv.info.k", 1, b"", 0)], flags=0x5A055A, machine=190, abi=7)).target == "sm_90"


def test_other_files_are_refused() -> None:
    with pytest.raises(CubinError, match="does not begin like a 64-bit ELF file"):
        Cubin(b"\x7fTileIR\x00")
    with pytest.raises(CubinError, match="an ELF file for machine 62"):
        Cubin(cubin(machine=62))
    with pytest.raises(CubinError, match="has several kernels, and none was chosen: those in it are none"):
        Cubin(cubin(()))


def test_truncated_file_is_refused_and_never_half_read() -> None:
    data = cubin()
    for size in range(len(data)):
        with pytest.raises(CubinError):
            Cubin(data[:size])


def test_damaged_files_end_in_an_error_or_in_numbers() -> None:
    """No byte that is wrong ends in anything else."""
    data = cubin()
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        try:
            assert Cubin(bytes(damaged)).resources is not None
        except CubinError:
            pass
