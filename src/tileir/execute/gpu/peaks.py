"""The peak rates of GPUs: NVIDIA's figures, by the names that the driver reports.

Memory is in TB/s, arithmetic in TFLOP/s (TOP/s for i8); matmuls are dense and accumulate in f32, the rest is by
ordinary instructions, a fused multiply-add counted as two; None if not known.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.execute.work.operations import Work

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


def matrix_name(element: str) -> str:
    """The name of the matmul peak for an element type."""
    return "f16" if element == "bf16" else element[:2] if element.startswith(("f4", "f8")) else element


class Peaks(NamedTuple):
    key: str  # What `tileir.emulate(gpu=..)` and others call it.
    names: tuple[str, ...]  # How the names begin that the driver reports for it.
    memory: float
    f64: float | None
    f32: float
    matrix: dict[str, float]  # By the element type of the operands: f64, tf32, f16 (bf16 too), f8, i8, f4.
    source: str

    def matrix_peak(self, element: str) -> float | None:
        """That of matmuls whose operands have an element type; f32 has no units of its own."""
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
