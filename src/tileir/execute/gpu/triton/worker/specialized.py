"""Kernels with warps that load and warps that compute: TTIR through Triton twice, with a step of our own between."""

from __future__ import annotations

from typing import Any, Final

from tileir.execute.gpu.triton.errors import TritonError
from tileir.execute.gpu.triton.options import Limits
from tileir.execute.gpu.triton.targets import TritonTarget
from tileir.execute.gpu.triton.ttgir.specialize import specialize
from tileir.execute.gpu.triton.ttgir.text import Unfit
from tileir.execute.gpu.triton.worker.pool import compile_ttir
from tileir.execute.gpu.triton.worker.requests import Answer, Request

OPTION: Final = "warp_specialize"
"""Among the options for Triton, which has none of this name: that a kernel is to be one of this kind."""
_WARPS: Final = 8
"""That compute."""
_GROUP_WARPS: Final = 4


class NotSpecialized(Exception):
    """A kernel cannot be one of this kind; the words say why."""


def compile_specialized(text: str, target: TritonTarget, options: dict[str, Any], last: str, limits: Limits) -> Answer:
    """What Triton makes of TTIR as such a kernel; raises `NotSpecialized`."""
    if not target.has_wgmma:
        raise NotSpecialized(f"{target.name} has no products by groups of warps")
    # Layouts are chosen for the warps that compute; what is loaded when is not Triton's to say.
    waiting = {**options, "num_warps": _WARPS, "num_stages": 1}
    for name in (OPTION, "maxnreg"):
        waiting.pop(name, None)
    made = compile_ttir(Request(text, target.code, waiting, "ttgir"), limits.seconds, limits.memory)
    try:
        changed = specialize(made.data.decode(), options["num_stages"], target.shared)
    except Unfit as error:
        raise NotSpecialized(str(error)) from None
    if last == "ttgir":
        return made._replace(data=changed.encode())
    waiting["num_warps"] = _GROUP_WARPS
    request = Request(changed, target.code, waiting, last, first="ttgir")
    try:
        return compile_ttir(request, limits.seconds, limits.memory)
    except TritonError as error:
        if not error.is_of_program:
            raise
        # What is made of the program itself is right, if slower.
        raise NotSpecialized(error.diagnostics[0].message) from None
