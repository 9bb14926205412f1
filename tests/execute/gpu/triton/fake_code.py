"""Kernels of the engine of Triton whose code the fake driver takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.execute.gpu.fake_cuda import CubinText, entry_of

from tileir.execute.gpu.launch_record import Hidden
from tileir.execute.gpu.triton.code import Code, Schedule, Slot, Specialization, TensorMap
from tileir.execute.gpu.triton.hidden_parameters import launch_form
from tileir.execute.gpu.triton.kernel import TritonKernel
from tileir.execute.gpu.triton.toolchain import TritonTarget
from tileir.execute.gpu.triton.variants import launch_views

MATRIX = """%a: tile<ptr<f16>>, %m: tile<i32>, %n: tile<i32>, %s: tile<i32>"""
MATRIX_BODY = """
%v = make_tensor_view %a, shape = [%m, %n], strides = [%s, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
%p = make_partition_view %v : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>
%zero = constant <i32: 0> : tile<i32>
%tile, %token = load_view_tko weak %p[%zero, %zero] : partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> tile<16x16xf16>, token
%stored = store_view_tko weak %tile, %p[%zero, %zero] : tile<16x16xf16>, partition_view<tile=(16x16), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
"""


class FakeCubin(CubinText):
    """A cubin that says which driver it needs."""

    oldest_driver = 12000


class FakeTriton(TritonKernel):
    """A kernel whose views are given by descriptors where they can be; `compiled_for` has what was compiled."""

    def __init__(self, parameters: str = MATRIX, body: str = MATRIX_BODY, does: str = "") -> None:
        super().__init__(entry_of(parameters, body), {})
        self.does = does
        self.compiled_for: list[Specialization] = []
        self.fails: Callable[[Specialization], None] | None = None

    def compiled(self, target: TritonTarget, kind: Specialization, schedule: Schedule | None = None) -> Code:
        if self.fails is not None:
            self.fails(kind)
        self.compiled_for.append(kind)
        return fake_code(self.entry, target.name, kind, self.does)


def fake_code(entry: Any, target: str, kind: Specialization, does: str = "", **changed: Any) -> Code:
    """Code with a descriptor for each view that is described, and the two parameters that are Triton's own."""
    parameters = entry.regions[0].blocks[0].arguments
    slots = [Slot("argument", number) for number in range(len(parameters))]
    views = launch_views(entry)
    for number in sorted(kind.described):
        view = views[number]
        assert view.base is not None
        map = TensorMap(view.base, view.shape, view.strides, view.element_bytes, (16,) * len(view.shape), 6, 3)
        slots.append(Slot("descriptor", map))
    slots += [Slot("nothing"), Slot("nothing")]
    # Told apart by their threads.
    code = Code(None, 32 * (1 + len(kind.described)), 0, tuple(slots), Schedule(), kind)._replace(**changed)
    sizes = [
        each.size if isinstance(each, Hidden) else _size(parameters[each].type)
        for each in launch_form(code).parameters or ()
    ]
    cubin: Any = FakeCubin("k", ",".join([str(size) for size in sizes]), target, does)
    return code._replace(cubin=cubin)


def _size(type: Any) -> int:
    text = type.element.spelling
    return 8 if text.startswith("ptr") else {"i1": 1, "i8": 1, "i32": 4, "i64": 8, "f32": 4, "f16": 2}[text]
