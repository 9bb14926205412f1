"""The machine that code is made for: its name to LLVM, its features, its vector width.

The host is examined once.  A name given by the caller or in TILEIR_CPU replaces it, for older machines or for tests.
LLVM does not report the features of such a machine: the table below has them.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any, Final, NamedTuple

from tileir.execute.cpu.runtime.llvm_thread import uninterrupted
from tileir.execute.errors import INSTEAD, ChoiceError, LaunchError, MissingDependencyError
from tileir.forking import NO_FORK

VARIABLE: Final = "TILEIR_CPU"

_SSE: Final = "sse sse2 cx8 fxsr mmx cmov"
_V2: Final = f"{_SSE} sse3 ssse3 sse4.1 sse4.2 popcnt cx16 sahf"
_V3: Final = f"{_V2} avx avx2 bmi bmi2 f16c fma lzcnt movbe"
_V4: Final = f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl"
_ICELAKE: Final = f"{_V4} avx512vnni avx512vbmi avx512vbmi2 avx512bitalg avx512ifma avx512vpopcntdq gfni"
_SAPPHIRE: Final = f"{_ICELAKE} avx512bf16 avx512fp16 avxvnni amx-tile amx-bf16 amx-int8"
_NEON: Final = "neon fp-armv8"
_HALF: Final = f"{_NEON} fullfp16 lse"

KNOWN: Final[dict[str, str]] = {
    "x86-64": _SSE,
    **dict.fromkeys(("x86-64-v2", "nehalem", "westmere"), _V2),
    **dict.fromkeys(("x86-64-v3", "haswell", "broadwell", "skylake", "znver1", "znver2", "znver3"), _V3),
    "alderlake": f"{_V3} avxvnni",
    **dict.fromkeys(("x86-64-v4", "skylake-avx512"), _V4),
    "cascadelake": f"{_V4} avx512vnni",
    "cooperlake": f"{_V4} avx512vnni avx512bf16",
    "icelake-server": _ICELAKE,
    **dict.fromkeys(("sapphirerapids", "emeraldrapids"), _SAPPHIRE),
    "graniterapids": f"{_SAPPHIRE} amx-fp16",
    "znver4": f"{_ICELAKE} avx512bf16",
    "znver5": f"{_ICELAKE} avx512bf16 avxvnni",
    "cortex-a72": _NEON,
    **dict.fromkeys(("neoverse-n1", "neoverse-n2", "neoverse-v1", "neoverse-v2"), _HALF),
    **dict.fromkeys(("apple-m1", "apple-m2", "apple-m3", "apple-m4"), _HALF),
}
"""The machines that can be named, and what matters of what they have."""


_binding: Any = None


def binding() -> Any:
    """llvmlite's binding, ready to make code for this machine; to be used in `uninterrupted` calls only."""
    global _binding
    if _binding is None:
        try:
            # On this thread: an import that was interrupted may have left it with locks that another would wait for.
            with NO_FORK:
                import llvmlite.binding as found
        except ImportError as missing:
            raise MissingDependencyError(
                f"the CPU backend needs llvmlite ({missing}): pip install 'tileir[cpu]', or choose {INSTEAD}"
            ) from None
        if not hasattr(found, "initialize_native_target"):
            raise LaunchError("this signal handler interrupts the loading of llvmlite, and cannot use it")
        uninterrupted(_initialize, found)
        _binding = found
    return _binding


def _initialize(llvm: Any) -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


class Target:
    """A machine to make code for."""

    def __init__(self, name: str, triple: str, enabled: frozenset[str], features: str, runnable: bool) -> None:
        self.name: str = name  # What LLVM calls the CPU.
        self.triple: str = triple
        self.enabled: frozenset[str] = enabled  # The features it has, by LLVM's names.
        self.features: str = features  # What to pass to LLVM beyond the name.
        self.runnable: bool = runnable  # Whether this process can run the code.
        self.is_x86: bool = triple.startswith(("x86_64", "amd64"))
        self.is_aarch64: bool = triple.startswith(("aarch64", "arm64"))
        self.has_fma: bool = "fma" in enabled or self.is_aarch64  # Fused multiply-add is an instruction, not a call.
        self.has_f16c: bool = "f16c" in enabled or self.is_aarch64  # An instruction converts f16 to and from f32
        self.has_avx512: bool = {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= enabled
        self.has_avx512_bf16: bool = self.has_avx512 and "avx512bf16" in enabled
        """bfloat16 is rounded to, and multiplied in pairs, by instructions that flush subnormal numbers."""
        self.has_bf16_dots: bool = self.has_avx512_bf16 and name.startswith("znver")
        """Pairs of bfloat16 are multiplied and added fast; Intel's instruction takes longer than two fused ones."""
        self.has_amx: bool = {"amx-tile", "amx-bf16"} <= enabled  # Matrix tiles of bf16, if the system allows
        self.has_amx_fp16: bool = {"amx-tile", "amx-fp16"} <= enabled  # Matrix tiles of f16, also subnormal
        self.has_amx_int8: bool = {"amx-tile", "amx-int8"} <= enabled
        self.vector_bytes: int = 64 if self.has_avx512 else 32 if "avx2" in enabled else 16
        # By the generation: code is made for a kind of machine.
        large = "amx-tile" in enabled
        self.second_cache_bytes: int = 1 << (21 if large else 20 if self.has_avx512 or self.is_aarch64 else 19)

    def __repr__(self) -> str:
        return f"Target({self.name!r}, {self.triple!r}, vectors of {self.vector_bytes} bytes)"

    def require_runnable(self) -> None:
        """Refuse to run code that this machine has no instructions for, which would end the process."""
        if not self.runnable:
            raise LaunchError(
                f"code for the CPU '{self.name}' can be shown here, but not run: "
                f"this machine is '{host('native').name}'"
            )


def host(override: str | None = None) -> Target:
    """The machine to make code for: the one named, the one named in TILEIR_CPU, or this one."""
    name = override or os.environ.get(VARIABLE) or "native"
    if name not in _hosts:
        _hosts[name] = _this_machine() if name in ("native", "host") else _named(name)
    return _hosts[name]


_hosts: dict[str, Target] = {}


def _this_machine() -> Target:
    found = llvm()
    enabled = frozenset([feature for feature, present in found.features.items() if present])
    if "amx-tile" in enabled and not _may_use_amx():
        enabled = frozenset([feature for feature in enabled if not feature.startswith("amx-")])
    spelled = [("+" if feature in enabled else "-") + feature for feature in sorted(found.features)]
    if "avx512f" in enabled:
        spelled.append("-prefer-256-bit")
    return Target(found.name, found.triple, enabled, ",".join(spelled), True)


class LlvmInfo(NamedTuple):
    """What LLVM reports about itself and this machine."""

    binding_version: str
    version: tuple[int, ...]
    name: str
    triple: str
    features: dict[str, bool]  # Each feature that LLVM knows, and whether this machine has it.


def llvm() -> LlvmInfo:
    """What LLVM reports about itself and this machine."""
    global _llvm
    if _llvm is None:
        _llvm = uninterrupted(_query, binding())
    return _llvm


_llvm: LlvmInfo | None = None


def _query(binding: Any) -> LlvmInfo:
    import llvmlite

    # LLVM reports a vector extension only where the operating system saves its registers.
    name, triple, features = binding.get_host_cpu_name(), binding.get_process_triple(), binding.get_host_cpu_features()
    return LlvmInfo(llvmlite.__version__, tuple(binding.llvm_version_info), name, triple, dict(features))


def _named(name: str) -> Target:
    if name not in KNOWN:
        raise ChoiceError(f"there is no CPU '{name}' to make code for: choose one of native, {', '.join(KNOWN)}")
    enabled = frozenset(KNOWN[name].split())
    this = host("native")
    arm = "neon" in enabled
    if arm == this.is_aarch64 and arm != this.is_x86:
        triple = this.triple
    elif arm:
        triple = "arm64-apple-macosx11.0.0" if name.startswith("apple") else "aarch64-unknown-linux-gnu"
    else:
        triple = "x86_64-unknown-linux-gnu"
    # On aarch64 LLVM finds out the name of the machine, but little of what it has.
    has_all = name == this.name or enabled - {"neon", "fp-armv8"} <= this.enabled
    runnable = triple == this.triple and has_all
    # Without this LLVM halves the vectors of many machines that have wide ones.
    return Target(name, triple, enabled, "-prefer-256-bit" if "avx512f" in enabled else "", runnable)


_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18


def _may_use_amx() -> bool:
    """Request permission from Linux, once per process, for the tile registers of AMX; no other system has it."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    try:
        return int(ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA)) == 0
    except (OSError, AttributeError):
        return False


# --- the caches of this machine ---

SHARE: Final = 24 << 20
"""Bytes of the last-level cache that a thread is taken to fill.  Measured with 300 MB of it, on an addition and a sum
of its result, which together read and write so much: streaming is the quicker from 50 to 100 MB on with one thread,
from 100 to 200 with 2 and 4, from 200 to 400 with 8, from 400 to 800 with 16."""
_CACHES: Final = "/sys/devices/system/cpu/cpu{}/cache"
_UNITS: Final = {"K": 10, "M": 20, "G": 30}
_USUAL_CACHE: Final = 32 << 20  # Bytes of the last-level cache where the system does not report it.


def cached_bytes(threads: int) -> int:
    """What the caches keep of a launch on so many threads: half of the last level, as others use it too; a virtual
    machine sees the whole cache of its host."""
    return min(last_level_bytes() // 2, SHARE * threads)


@cache
def last_level_bytes() -> int:
    """The size of the last-level caches of the processors this process may use, each counted once."""
    try:
        return sum(dict([_last_cache(processor) for processor in os.sched_getaffinity(0)]).values())
    except (OSError, ValueError, AttributeError):
        return _USUAL_CACHE


def _last_cache(processor: int) -> tuple[str, int]:
    """The last cache of a processor: the processors that share it, and its size."""
    folder = _CACHES.format(processor)
    indices = [f"{folder}/{name}" for name in os.listdir(folder) if name.startswith("index")]
    _level, last = max([(int(_read(f"{index}/level")), index) for index in indices])
    size = _read(f"{last}/size")
    bytes = int(size[:-1]) << _UNITS[size[-1]] if size[-1:] in _UNITS else int(size)
    return _read(f"{last}/shared_cpu_list"), bytes


def _read(path: str) -> str:
    with open(path) as file:
        return file.read().strip()
