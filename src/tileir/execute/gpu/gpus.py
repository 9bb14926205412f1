"""GPUs by the names that `tileir.emulate(target=..)` and `tileir.cost(target=..)` take, and their peak rates.

A `Gpu` is what the driver reports: total memory, boost clocks.  `Peaks` are NVIDIA's figures by the driver's names:
memory in TB/s, arithmetic in TFLOP/s (TOP/s for i8); matmuls are dense and accumulate in f32, the rest is by ordinary
instructions, a fused multiply-add counted as two; None if not known.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tileir.execute.errors import LaunchError
from tileir.execute.gpu.targets import ARCHITECTURES, Architecture
from tileir.execute.work.operations import Work
from tileir.ir.quoting import type_text

DEFAULT: Final = "h100"

_MIB: Final = 1 << 20
WARP_SIZE: Final = 32
REGISTERS: Final = 65536
THREADS_PER_BLOCK: Final = 1024
SHARED_MEMORY_PER_BLOCK: Final = 48 << 10  # What a block gets without asking for more.
_AMPERE: Final = "NVIDIA A100 Tensor Core GPU datasheet, 2021"
_GA102: Final = "NVIDIA Ampere GA102 GPU architecture whitepaper, 2021"
_ADA: Final = "NVIDIA Ada GPU architecture whitepaper, 2023"
_HOPPER: Final = "NVIDIA H100 Tensor Core GPU architecture whitepaper, 2023"
_BLACKWELL: Final = "NVIDIA Blackwell architecture technical brief, 2024"
_H200: Final = "NVIDIA H200 Tensor Core GPU datasheet, 2024"
_GB200: Final = "NVIDIA GB200 NVL72 datasheet, 2024"
_B300: Final = "NVIDIA HGX B300 datasheet, 2025"
_RTX_PRO: Final = "NVIDIA RTX PRO Blackwell GPU architecture whitepaper, 2025"
_HOPPER_MATRIX: Final = {"f64": 66.9, "tf32": 494.7, "f16": 989.4, "f8": 1978.9, "i8": 1978.9}
_RTX_BLACKWELL: Final = "NVIDIA RTX Blackwell GPU architecture whitepaper, 2025"


class Gpu(NamedTuple):
    key: str  # The name it is asked for by.
    name: str  # The name that the driver reports.
    major: int
    minor: int
    multiprocessors: int
    memory: int  # Bytes, as of the cache; clocks are in kHz, the bus in bits.
    l2_cache: int
    clock: int
    memory_clock: int
    memory_bus: int
    integrated: bool = False  # Whether it shares the memory of the host.

    @property
    def capability(self) -> tuple[int, int]:
        return self.major, self.minor

    @property
    def architecture(self) -> str:
        return f"sm_{self.major}{self.minor}"

    @property
    def limits(self) -> Architecture:
        """What a multiprocessor holds."""
        return ARCHITECTURES[self.architecture]


# Multiprocessors, memory and cache in MiB, clocks of the GPU and of its memory in MHz, the bus in bits.
_GPUS: Final[tuple[tuple[Any, ...], ...]] = (
    ("a100", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 81920, 40, 1410, 1593, 5120),
    ("a10", "NVIDIA A10", 8, 6, 72, 23028, 6, 1695, 6251, 384),
    ("rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, 82, 24576, 6, 1695, 9751, 384),
    ("rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 24564, 72, 2520, 10501, 384),
    ("l4", "NVIDIA L4", 8, 9, 58, 23034, 48, 2040, 6251, 192),
    ("l40s", "NVIDIA L40S", 8, 9, 142, 46068, 96, 2520, 9001, 384),
    ("h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 81559, 50, 1980, 2619, 5120),
    ("h200", "NVIDIA H200", 9, 0, 132, 143771, 60, 1980, 3201, 6144),
    ("b200", "NVIDIA B200", 10, 0, 148, 183359, 126, 1965, 3996, 8192),
    ("gb200", "NVIDIA GB200", 10, 0, 152, 189471, 126, 2062, 3996, 8192),
    ("b300", "NVIDIA B300 SXM6 AC", 10, 3, 148, 275040, 126, 2032, 3996, 8192),
    ("rtx5080", "NVIDIA GeForce RTX 5080", 12, 0, 84, 16303, 64, 2617, 15001, 256),
    ("rtx5090", "NVIDIA GeForce RTX 5090", 12, 0, 170, 32607, 96, 2407, 14001, 512),
    ("rtxpro6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 12, 0, 188, 97887, 128, 2617, 14001, 512),
    ("gb10", "NVIDIA GB10", 12, 1, 48, 122570, 24, 2418, 4266, 256, True),
)  # fmt: skip
GPUS: Final[dict[str, Gpu]] = {
    key: Gpu(key, name, major, minor, count, memory * _MIB, l2 * _MIB, clock * 1000, memory_clock * 1000, bus, *rest)
    for key, name, major, minor, count, memory, l2, clock, memory_clock, bus, *rest in _GPUS
}


def gpu_named(name: str) -> Gpu:
    """The GPU of that name; upper case, blanks, hyphens and underscores do not matter."""
    if not isinstance(name, str):
        raise LaunchError(f"the name of a GPU is a string, not {type_text(name)}: pass one of {', '.join(GPUS)}")
    found = GPUS.get("".join([character for character in name.lower() if character not in " -_"]))
    if found is None:
        raise LaunchError(f"no GPU named '{name}' can be emulated: choose one of {', '.join(GPUS)}")
    return found


def matrix_name(element: str) -> str:
    """What the peak of products of an element type is called."""
    return "f16" if element == "bf16" else element[:2] if element.startswith(("f4", "f8")) else element


class Peaks(NamedTuple):
    key: str  # What `tileir.emulate(target=..)` and others call it.
    names: tuple[str, ...]  # How the names begin that the driver reports for it.
    memory: float
    f64: float | None
    f32: float
    matrix: dict[str, float]  # By the element type of the factors: f64, tf32, f16 (bf16 too), f8, i8, f4.
    source: str

    def matrix_peak(self, element: str) -> float | None:
        """That of products whose factors have an element type; f32 has no units of its own."""
        if element == "f32":
            return self.f32
        if element == "f64":
            return self.matrix.get("f64", self.f64 or 0.0) or None
        return self.matrix.get(matrix_name(element))

    def memory_seconds(self, work: Work) -> float:
        """How long the footprint of a launch takes at least."""
        return work.footprint / (self.memory * 1e12)

    def compute_seconds(self, work: Work) -> float:
        """How long what a launch computes takes at least; types without a published peak are left out."""
        total = 0.0
        for element, amount in work.matrix_flops.items():
            peak = self.matrix_peak(element)
            if peak:
                total += amount / (peak * 1e12)
        for kind, amount in work.by_kind("floating").items():
            # Narrow types as f32: they are computed in its units, on some GPUs two at a time.
            peak = self.f64 if kind.endswith(" f64") else self.f32
            if peak:
                total += amount / (peak * 1e12)
        return total


def _peaks(
    key: str, names: str, memory: float, double: float | None, single: float, source: str, **matrix: float
) -> Peaks:
    return Peaks(key, tuple([f"NVIDIA {name}" for name in names.split(", ")]), memory, double, single, matrix, source)


PEAKS: Final[tuple[Peaks, ...]] = (
    _peaks("a100", "A100-SXM4-80GB, A100-SXM-80GB", 2.039, 9.7, 19.5, _AMPERE, f64=19.5, tf32=156, f16=312, i8=624),
    _peaks("a100", "A100 80GB PCIe", 1.935, 9.7, 19.5, _AMPERE, f64=19.5, tf32=156, f16=312, i8=624),
    _peaks("a100", "A100", 1.555, 9.7, 19.5, _AMPERE, f64=19.5, tf32=156, f16=312, i8=624),
    _peaks("a10", "A10", 0.600, 0.49, 31.2, "NVIDIA A10 datasheet, 2021", tf32=62.5, f16=125, i8=250),
    _peaks("rtx3090", "GeForce RTX 3090", 0.936, 0.56, 35.6, _GA102, tf32=35.6, f16=71, i8=284),
    _peaks("rtx4090", "GeForce RTX 4090", 1.008, 1.29, 82.6, _ADA, tf32=82.6, f16=165.2, f8=330.3, i8=660.6),
    _peaks("l40s", "L40S", 0.864, 1.43, 91.6, "NVIDIA L40S datasheet, 2023", tf32=183, f16=362, f8=733, i8=733),
    _peaks("l4", "L4", 0.300, 0.49, 30.3, "NVIDIA L4 datasheet, 2023", tf32=60, f16=121, f8=242.5, i8=242.5),
    _peaks("h200", "H200 NVL", 4.8, 30, 60, _H200, f64=60, tf32=417.5, f16=835.5, f8=1670.5, i8=1670.5),
    _peaks("h200", "H200, GH200 144G", 4.8, 33.5, 66.9, f"{_H200}; arithmetic as {_HOPPER}", **_HOPPER_MATRIX),
    _peaks("h100", "H100 PCIe", 2.039, 25.6, 51.2, _HOPPER, f64=51.2, tf32=378, f16=756, f8=1513, i8=1513),
    _peaks("h100", "H100, GH200", 3.352, 33.5, 66.9, _HOPPER, **_HOPPER_MATRIX),
    _peaks("gb200", "GB200", 8.0, 40, 80, _GB200, f64=40, tf32=1250, f16=2500, f8=5000, i8=5000, f4=10000),
    _peaks("b200", "B200", 8.0, 37, 75, _BLACKWELL, f64=37, tf32=1100, f16=2250, f8=4500, i8=4500, f4=9000),
    _peaks("b300", "B300", 8.0, 1.25, 75, _B300, tf32=1100, f16=2250, f8=4500, i8=150, f4=14000),
    _peaks(
        "rtx5080", "GeForce RTX 5080", 0.960, 0.88, 56.3, _RTX_BLACKWELL,
        tf32=56.3, f16=112.6, f8=225.1, i8=450.2, f4=900.4,
    ),
    _peaks(
        "rtx5090", "GeForce RTX 5090", 1.792, 1.64, 104.8, _RTX_BLACKWELL,
        tf32=104.8, f16=209.5, f8=419, i8=838, f4=1676,
    ),
    _peaks(
        "rtxpro6000", "RTX PRO 6000 Blackwell", 1.792, 1.97, 126, _RTX_PRO,
        tf32=251.9, f16=503.8, f8=1007.6, i8=1007.6, f4=2015.2,
    ),
    _peaks("gb10", "GB10", 0.273, None, 31, "NVIDIA DGX Spark datasheet, 2025"),
)  # fmt: skip


def peaks_of(device: str) -> Peaks | None:
    """The peaks of a GPU by the driver's name, by its longest prefix of whole words (an A100 is no A10); None if
    unknown."""
    names = [(name, each) for each in PEAKS for name in each.names]
    found = [
        (len(name), each)
        for name, each in names
        if device.startswith(name) and not device[len(name) : len(name) + 1].isalnum()
    ]
    return max(found, key=lambda pair: pair[0])[1] if found else None
