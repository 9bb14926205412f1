"""Traits of operations, and the cost of an element."""

from __future__ import annotations

from tileir.annotations import Final

# Traits, as a bit set.
PURE: Final = 1  # no memory effect and may be executed speculatively
NO_MEMORY_EFFECT: Final = 2  # no memory effect, but not to be executed speculatively
ELEMENTWISE: Final = 4
TERMINATOR: Final = 8
TOKEN_ORDERED: Final = 16  # not program order but tokens order it
REGION_EFFECTS: Final = 32  # its memory effects are those of its regions
ISOLATED: Final = 64  # its regions use no value from outside
SYMBOL: Final = 128
SYMBOL_TABLE: Final = 256
SIDE_EFFECT: Final = 512
CONSTANT_LIKE: Final = 1024
GRAPH_REGION: Final = 2048  # uses may come before definitions
NO_TERMINATOR: Final = 4096
ALLOCATION_SCOPE: Final = 8192
SEGMENTS: Final = 16384  # the generic form carries operandSegmentSizes
SINGLE_BLOCK: Final = 32768  # each region has one block, never an empty one
ATOMIC: Final = 65536  # accesses each element in one indivisible step
BLOCK_ORDER: Final = 131072  # the order in which tile blocks reach it is visible
LOOP_LIKE: Final = 262144  # its region may run several times
OPEN_BITS: Final = 524288  # engines may differ in the last bits of its results
MATRIX_PRODUCT: Final = 1048576
FUSIBLE: Final = 2097152  # no f32 result changes where multiplications and additions of its kernel are fused
CONTROL_FLOW: Final = 4194304  # decides how often its regions run: `if`, `for`, `loop`
ENDS_ITERATION: Final = 8388608  # ends an iteration of the loop around it, also from inside an `if`

# Cost classes: about how many additions an element takes.
ADDITION: Final = 1
DIVISION: Final = 4
FUNCTION: Final = 10


class ElementCost:
    """The cost of one element of f32.

    `work` is a cost class, which fusion weighs.  `core` is the time on a core of a CPU, in elements of `addf`, or of
    `exp` for the class FUNCTION.  On a GPU, `issued` is the number of instructions and `special` how many of them go to
    the unit of special functions; `branches` means that special values take a branch, so that a thread computes its
    elements one after the other (`benchmarks/cost_instructions.py` reads these from NVIDIA's assembler).  `flops` is
    what an element counts for in FLOP/s; `divides` means that on a CPU the exact function takes hardly longer than its
    divisions.  An operation that NVIDIA's tools do not have costs what its legalization costs.
    """

    def __init__(
        self,
        work: int = ADDITION,
        core: float = 1.0,
        issued: float = 1.0,
        special: float = 0.0,
        branches: bool = False,
        flops: int = 1,
        divides: bool = False,
    ) -> None:
        self.work: int = work
        self.core: float = core
        self.issued: float = issued
        self.special: float = special
        self.branches: bool = branches
        self.flops: int = flops
        self.divides: bool = divides


ADDITION_COST: Final = ElementCost()
# The cost of a function that was not measured: about a sine's.
FUNCTION_COST: Final = ElementCost(FUNCTION, 1.3, 25)
