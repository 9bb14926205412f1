"""What to export: a kernel, the parameters it is specialized for, and the bytecode versions that can hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    ListConstraint,
    ParameterConstraint,
    ScalarConstraint,
    TupleConstraint,
)

ALL_VERSIONS = ("13.1", "13.2", "13.3", "13.4")
SINCE_13_2 = ALL_VERSIONS[1:]
SINCE_13_3 = ALL_VERSIONS[2:]
SINCE_13_4 = ALL_VERSIONS[3:]

Parameter = ParameterConstraint | bool | int | float | str | tuple
Signature = tuple[Parameter, ...]


@dataclass(frozen=True)
class KernelCase:
    """One file of the corpus at each of its versions."""

    name: str
    """Unique over all topics; names the test and the exported files."""
    kernel: ct.kernel
    signature: Signature
    """One constraint per Python parameter; a plain value stands for a compile-time constant."""
    versions: tuple[str, ...] = ALL_VERSIONS
    architecture: str = "sm_90"
    """The GPU named to cuTile before 13.3; from 13.3 on bytecode is exported for every architecture."""
    symbol: str | None = None
    """Name of the entry; cuTile mangles one from the signature when it is None."""
    overloads: tuple[Signature, ...] = ()
    """Further signatures, each a further entry of the same module."""


def array(
    dtype: ct.DType,
    rank: int = 1,
    *,
    contiguous: bool = True,
    index_dtype: ct.DType = ct.int32,
    shape: Sequence[int | None] | None = None,
    strides: Sequence[int | None] | None = None,
    shape_divisible_by: Sequence[int] | int = 1,
    stride_divisible_by: Sequence[int] | int = 1,
    base_divisible_by: int = 16,
    alias_groups: Sequence[str] = (),
    may_alias_internally: bool = False,
) -> ArrayConstraint:
    """An array parameter; unless told otherwise its last dimension is contiguous and nothing aliases it."""
    if strides is None and contiguous and rank > 0:
        strides = (*(None for _ in range(rank - 1)), 1)
    return ArrayConstraint(
        dtype,
        rank,
        index_dtype=index_dtype,
        stride_lower_bound_incl=0,
        alias_groups=alias_groups,
        may_alias_internally=may_alias_internally,
        stride_constant=strides,
        shape_constant=shape,
        stride_divisible_by=stride_divisible_by,
        shape_divisible_by=shape_divisible_by,
        base_addr_divisible_by=base_divisible_by,
    )


def scalar(dtype: ct.DType) -> ScalarConstraint:
    return ScalarConstraint(dtype)


def list_of(element: ArrayConstraint, *, elements_may_alias: bool = False) -> ListConstraint:
    return ListConstraint(element, alias_groups=(), elements_may_alias=elements_may_alias)


def tuple_of(*items: Parameter) -> TupleConstraint:
    return TupleConstraint(items)
