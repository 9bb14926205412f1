"""An LLVM module as text: functions, declarations and constant tables, and what the machine has."""

from __future__ import annotations

import numpy

from tileir.execute.dtypes import Array


class Module:
    """The text around the functions: declarations and constant tables, each once."""

    def __init__(self) -> None:
        # What the machine has.
        self.native_half: bool = True  # Conversions of f16 and f32; without, LLVM would call missing functions
        self.native_fma: bool = True  # Fused multiply-add; where not, LLVM would call the C library for every lane.
        self.native_scale: bool = False  # AVX-512's scaling by powers of two, and guesses of reciprocals and roots
        self.native_bf16: bool = False  # AVX512_BF16's rounding of f32 to bf16, which takes subnormal numbers for zeros
        self.native_range: bool = False  # AVX-512's maxima and minima, which order zeros and leave out quiet NaNs.
        self.native_extremes: bool = False  # Maxima and minima that order zeros and ignore one quiet NaN
        self.widened_lanes: int = 0  # How many f32 are widened to f64 at a time, faster from memory; 0 for none
        self.fast: bool = False  # Whether functions may be near the interpreter's results instead of equal to them.
        self.symbols: set[str] = set()  # The functions beside the kernel's that the text has already.
        self._declarations: dict[str, None] = {}
        self._tables: dict[tuple[str, bytes], str] = {}
        self._zero_bytes: int = 0
        self.functions: list[str] = []
        self.likely: bool = False

    def declare(self, declaration: str) -> None:
        """Declare an external function or intrinsic, as in `declare float @llvm.fma.f32(float, float, float)`."""
        self._declarations[declaration] = None

    def add(self, lines: list[str]) -> None:
        self.functions.append("\n".join(lines))

    def define(self, head: str, lines: list[str]) -> None:
        """Add a function: what stands before its body, and the lines of that."""
        self.add([f"{head} {{", "entry:", *lines, "}"])

    def table(self, array: Array) -> str:
        """The name of a constant array that holds these elements in row-major order, aligned to 64 bytes."""
        flat = numpy.ascontiguousarray(array).reshape(-1)
        return self._tables.setdefault((flat.dtype.name, flat.tobytes()), f"@table{len(self._tables)}")

    def zeros(self, size: int) -> str:
        """The name of so many bytes that are zero."""
        self._zero_bytes = max(self._zero_bytes, size)
        return "@zeros"

    def text(self) -> str:
        constant = "private unnamed_addr constant"
        parts = []
        if self._zero_bytes:
            parts.append(f"@zeros = {constant} [{self._zero_bytes} x i8] zeroinitializer, align 64")
        for (name, data), symbol in self._tables.items():
            # Bytes, so that no element type needs its own notation; the element type is in the load.
            content = "".join([f"\\{byte:02X}" for byte in data])
            parts.append(f'{symbol} = {constant} [{len(data)} x i8] c"{content}", align 64 ; {name}')
        likely = ['!3 = !{!"branch_weights", i32 1048575, i32 1}'] if self.likely else []
        return "\n".join([*parts, *self._declarations, *self.functions, *likely, ""])
