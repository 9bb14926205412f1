"""What a program of `tileir.smith` is made of is what was asked for: operations, versions, sizes."""

from __future__ import annotations

import pytest
from tests.analyze.smith.seeds import check_engines
from tests.dialect.roster import PUBLIC

import tileir
from tileir import smith
from tileir.ir.versions import RELEASED

# What makes operands, keeps them where results are defined, and stores what came of it.
FEEDING = {
    *("module", "entry", "return", "get_tile_block_id", "constant", "iota", "reshape", "broadcast", "offset"),
    *("load_ptr_tko", "store_ptr_tko", "addi", "subi", "muli", "andi", "cmpi", "cmpf", "select", "itof", "xori"),
    *("maxf", "minf", "make_token", "join_tokens"),
}
# Operations that are nothing alone, and what comes with them.
REGIONS = ("if", "for", "loop", "yield", "break", "continue")
VIEWS = ("make_tensor_view", "make_partition_view", "make_strided_view", "make_gather_scatter_view", "load_view_tko")
# What programs are made of: what NVIDIA's assembler reads.
RELEASED_NAMES = {name for name, (since, _) in PUBLIC.items() if since <= RELEASED}
USING_VIEWS = (*VIEWS, "store_view_tko", "get_tensor_shape", "get_index_space_shape", "atomic_red_view_tko")
PARTNERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys((*REGIONS, "return"), REGIONS),
    **dict.fromkeys(("reduce", "scan"), ("yield", "addf", "ori", "maxi", "mini")),
    **dict.fromkeys(USING_VIEWS, VIEWS),
    **dict.fromkeys(("global", "get_global"), ("global", "get_global")),
    **dict.fromkeys(("ptr_to_int", "int_to_ptr"), ("ptr_to_int", "int_to_ptr")),
    **dict.fromkeys(("mmaf", "mmaf_scaled"), ("ftof",)),
}


@pytest.mark.parametrize("name", sorted(RELEASED_NAMES - {"module", "entry"}))
def test_every_operation_can_be_asked_for(name: str) -> None:
    programs = [smith(seed, operations=[name]) for seed in range(3)]
    for program in programs:
        tileir.verify(program.module)
        assert set(program.operations) <= {name, *FEEDING, *PARTNERS.get(name, ())}
    assert any(name in program.operations for program in programs)


def test_several_operations_are_mixed() -> None:
    found = {name for seed in range(4) for name in smith(seed, operations=["addf", "mmaf", "exp"]).operations}
    assert {"addf", "mmaf", "exp"} <= found and "divf" not in found


def test_all_operations_are_met_without_asking() -> None:
    found = {name for seed in range(120) for name in smith(seed, family="everything").operations}
    assert found == RELEASED_NAMES - {"print_tko"}


@pytest.mark.parametrize("version", ["13.1", "13.2", "13.3", "13.4", "13.5"])
def test_programs_keep_to_a_version(version: str) -> None:
    for seed in range(25):
        program = smith(seed, version=version)
        tileir.verify(program.module, version=version)
        assert program.version == version
        again = tileir.from_bytecode(program.bytecode())
        assert str(again) == str(program.module)


def test_an_operation_that_a_version_lacks_is_refused() -> None:
    with pytest.raises(tileir.OptionError, match=r"the operation 'insert' is not in 13\.1"):
        smith(0, operations=["insert"], version="13.1")


@pytest.mark.parametrize("size", [20, 80, 400])
def test_size_is_about_the_number_of_operations(size: int) -> None:
    counts = [len(list(smith(seed, size=size).module.walk())) for seed in range(20)]
    assert 0.8 * size < sum(counts) / len(counts) < 1.2 * size + 10


def test_printing_is_only_asked_for() -> None:
    program = smith(0, operations=["print_tko", "addi"])
    assert program.grid == (1, 1, 1) and "print_tko" in program.operations
    assert check_engines(program) == ""
