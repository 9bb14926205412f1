"""The GPUs that Triton makes code for, and what they have that matters to it.

Shared memory is what a thread block may ask for.  Code for GPUs of AMD is made and not run: nobody has tried.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.execute.errors import CompilationError
from tileir.execute.gpu.architectures import ARCHITECTURES
from tileir.execute.gpu.targets import TARGETS, target_named
from tileir.execute.gpu.triton.versions import INSTALL, OLDEST, Triton
from tileir.ir.diagnostics import OptionError

_KIBIBYTE: Final = 1024


class TritonTarget(NamedTuple):
    """A kind of GPU."""

    name: str
    shared: int
    """Bytes of shared memory that a tile block may have at most."""
    made_as: str = ""
    """The target that Triton is told, if another: older code of the same generation, which runs there too."""
    since: tuple[int, int] = OLDEST
    """The first version of Triton that makes code for it."""
    has_tma: bool = False
    has_wgmma: bool = False
    """Products by groups of warps, out of shared memory."""
    has_tensor_memory: bool = False
    """Products by `tcgen05`, with accumulators in a memory of their own."""
    has_short_sums: bool = False
    """Whether tensor cores keep less than f32 of sums of f8."""
    warp: int = 32
    """Threads of a warp."""

    @property
    def is_amd(self) -> bool:
        return self.name.startswith("gfx")

    @property
    def stages(self) -> tuple[str, ...]:
        """What code goes through."""
        return AMD_STAGES if self.is_amd else STAGES

    @property
    def code(self) -> str:
        """The target that Triton is told."""
        return self.made_as or self.name


STAGES: Final = ("tile", "ttir", "ttgir", "llvm", "ptx", "cubin")
"""The first is the tile program that is lowered, with what does not fit split."""
AMD_STAGES: Final = ("tile", "ttir", "ttgir", "llvm", "amdgcn", "hsaco")


def _nvidia(name: str, since: tuple[int, int] = OLDEST, made_as: str = "") -> TritonTarget:
    has = ARCHITECTURES[name]
    return TritonTarget(
        name,
        has.shared_memory_per_block,
        made_as,
        since,
        has.has_tma,
        has.has_wgmma,
        has.has_tensor_memory,
        has.has_short_sums,
    )


_NVIDIA: Final = (
    _nvidia("sm_80"),
    _nvidia("sm_86"),
    _nvidia("sm_87"),
    _nvidia("sm_88", made_as="sm_86"),
    _nvidia("sm_89"),
    _nvidia("sm_90"),
    _nvidia("sm_100"),
    _nvidia("sm_103", since=(3, 6)),
    _nvidia("sm_107", since=(3, 9)),
    _nvidia("sm_110", since=(3, 7)),
    _nvidia("sm_120"),
    _nvidia("sm_121", since=(3, 6)),
)
_AMD: Final = (
    TritonTarget("gfx90a", 64 * _KIBIBYTE, warp=64),
    TritonTarget("gfx942", 64 * _KIBIBYTE, warp=64),
    TritonTarget("gfx950", 160 * _KIBIBYTE, warp=64),
)
TRITON_TARGETS: Final = {each.name: each for each in (*_NVIDIA, *_AMD)}

NOT_RUN: Final = "nobody has run code that is made of tile programs for GPUs of AMD"


def triton_target(text: object) -> TritonTarget:
    """The target that a text names: `sm_90`, in all spellings there are, or `gfx942`."""
    if isinstance(text, str):
        found = TRITON_TARGETS.get(text.strip().lower())
        if found is not None:
            return found
        if text.strip().lower().startswith("gfx"):
            names = ", ".join([each.name for each in _AMD])
            raise OptionError(f"'{text}' is no GPU of AMD that Tile IR is compiled for: choose one of {names}")
    try:
        return TRITON_TARGETS[target_named(text)]
    except OptionError as error:
        names = ", ".join([each.name for each in _AMD])
        raise OptionError(f"{error.message}, or of AMD's {names}") from None


def check_target(target: TritonTarget, triton: Triton) -> None:
    """Refuse a GPU that a version of Triton does not know, in words."""
    if triton.number < target.since:
        first = ".".join([str(number) for number in target.since])
        raise CompilationError(
            f"Triton {triton.version} makes no code for {target.name}: {first} and newer do, {INSTALL} --upgrade"
        )


assert list(TARGETS) == [each.name for each in _NVIDIA], "one for each GPU that there is code for"
