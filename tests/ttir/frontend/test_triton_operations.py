"""The list of operations is that of the installed Triton."""

from __future__ import annotations

from tests.ttir.operations_of_triton import BUILDER
from triton._C.libtriton import ir


def test_every_method_of_the_builder_is_in_the_list() -> None:
    methods = {name.removeprefix("create_") for name in dir(ir.builder) if name.startswith("create_")}
    assert len(methods) > 100
    assert methods <= set(BUILDER)
