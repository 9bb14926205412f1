"""The check of machine code for registers that are read before they have a value."""

from __future__ import annotations

from tests.execute.gpu.triton.uniform_registers import undefined_reads

BRANCHES = """
        /*0000*/                   UIMAD.WIDE.U32 UR4, URZ, 0x80, URZ ;
        /*0010*/              @!P0 BRA `(.L_x_0) ;
        /*0020*/                   UIADD3.64 UR10, UR4, 0x2, URZ ;
        /*0030*/                   EXIT ;
.L_x_0:
        /*0040*/                   UMOV UR26, {lower} ;
        /*0050*/                   UMOV UR27, {upper} ;
        /*0060*/                   HGMMA.64x128x16.F32 R24, R8, gdesc[UR24].tnspB, R24 ;
        /*0070*/                   EXIT ;
"""


def test_a_value_of_another_branch_is_undefined() -> None:
    assert undefined_reads(BRANCHES.format(lower="UR10", upper="UR5")) == ["UMOV UR26, UR10"]


def test_a_value_of_every_path_is_defined() -> None:
    assert undefined_reads(BRANCHES.format(lower="UR4", upper="UR5")) == []
