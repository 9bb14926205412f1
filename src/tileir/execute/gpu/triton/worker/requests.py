"""What is asked of the worker, and what it answers."""

from __future__ import annotations

from typing import Any, NamedTuple


class Request(NamedTuple):
    """TTIR, or TTGIR, to compile."""

    text: str
    target: str
    """`sm_90`, `gfx942`."""
    options: dict[str, Any]
    """Triton's own: num_warps, num_stages, maxnreg, enable_fp_fusion, enable_reflect_ftz, debug .."""
    last: str = "cubin"
    """The stage to end with: ttir, ttgir, llvm, ptx, cubin; of AMD's GPUs ttir, ttgir, llvm, amdgcn, hsaco."""
    kept: tuple[str, ...] = ()
    """Stages whose text is wanted."""
    first: str = "ttir"
    """The stage whose text is given: TTIR, or TTGIR that has all that the stage `ttgir` makes."""


class Answer(NamedTuple):
    """What Triton made of it."""

    data: bytes
    """What the last stage gives: the cubin."""
    stages: dict[str, str]
    metadata: dict[str, Any]
    """Triton's: num_warps (of all groups), shared, global_scratch_size, tensordesc_meta, name .."""
    said: str
    """What it and ptxas printed: spills, warnings."""
    parameters: int
    """How many the kernel has, those that Triton adds included."""
