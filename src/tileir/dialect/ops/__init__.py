"""One declaration per operation, one file per chapter of the operations draft; importing this package makes them known.

Each declaration is a constant named as its mnemonic in upper case; code asks `operation.declaration is FOR`.

    from tileir.dialect.ops import ADDF, FOR

Import from here, not from the chapter.  A chapter is loaded when something in it is first asked for, by this package or
by the registry: a small program has operations of a few.  The index of what is where is generated.  The module around
everything is BUILTIN_MODULE.  The operations of NVIDIA's test suite are in `testing` (TESTING_FUNC), which only who wants
them imports.  `elementwise.py` has the shape that most declarations share: begin with it and `floating_point.py`.

Nothing below this package can import it: `ir`, and the files of `dialect` that the chapters use.  What those must know
about an operation is a trait or a field of its declaration.
"""

# ruff: noqa: F403, F405
from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.registry import REGISTRY

if TYPE_CHECKING:
    from tileir.dialect.ops.aggregates import *
    from tileir.dialect.ops.atomics import *
    from tileir.dialect.ops.bitwise import *
    from tileir.dialect.ops.builtin import *
    from tileir.dialect.ops.control_flow import *
    from tileir.dialect.ops.conversions import *
    from tileir.dialect.ops.core import *
    from tileir.dialect.ops.floating_point import *
    from tileir.dialect.ops.floating_point_functions import *
    from tileir.dialect.ops.integer import *
    from tileir.dialect.ops.matrix import *
    from tileir.dialect.ops.memory import *
    from tileir.dialect.ops.miscellaneous import *
    from tileir.dialect.ops.structure import *
    from tileir.dialect.ops.views import *

# `make docs` writes what is between these lines: the operations of each chapter with their opcodes, and all constants.
# fmt: off
CHAPTERS: Final[dict[str, str]] = {
    "aggregates": "reduce=88 scan=94",
    "atomics": "atomic_cas_tko=7 atomic_rmw_tko=8 atomic_load_tko atomic_store_tko atomic_red_view_tko=117",
    "bitwise": "andi=4 ori=82 xori=108 noti popcnt clz ctz brev",
    "builtin": "builtin.module",
    "control_flow": "assert=5 break=10 continue=17 return=92 yield=109 for=41 if=50 loop=65",
    "conversions": "bitcast=9 exti=37 ftof=42 ftoi=43 itof=59 int_to_ptr=51 ptr_to_int=86 ptr_to_ptr=87 trunci=107"
    " pack=111 unpack=112",
    "core": "broadcast=11 cat=12 constant=16 extract=38 insert=118 iota=58 offset=81 permute=83 reshape=91 select=95",
    "floating_point": "absf=0 addf=2 ceil=13 cmpf=14 divf=20 floor=39 fma=40 maxf=69 maximumf minf=71 minimumf"
    " mulf=76 negf=79 recipf remf=89 subf=103",
    "floating_point_functions": "exp=23 exp2=24 log=63 log2=64 log10 log1p sigmoid sin=98 cos=18 tan=105 sinh=99"
    " cosh=19 tanh=106 atan2=110 rsqrt=93 sqrt=100 pow=84 fpowi=121",
    "integer": "absi=1 addi=3 cmpi=15 divi=21 maxi=70 mini=72 mulhii=77 muli=78 negi=80 remi=90 shli=96 shri=97"
    " subi=104",
    "matrix": "mmaf=73 mmaf_scaled=114 mmai=74",
    "memory": "join_tokens=60 load_ptr_tko=61 make_token=68 store_ptr_tko=101 alloca=113 memory_fence_alias_tko=122"
    " gdc_launch_dependents_tko=119 gdc_wait_tko=120",
    "miscellaneous": "assume=6 assume_cond print_tko=85 barrier unrealized_conversion_cast",
    "structure": "module=75 entry=22 global=49 get_global=44 get_num_tile_blocks=46 get_tile_block_id=48",
    "views": "get_index_space_shape=45 get_tensor_shape=47 load_view_tko=62 make_partition_view=66"
    " make_tensor_view=67 store_view_tko=102 make_strided_view=116 make_gather_scatter_view=115",
}

__all__ = [
    "ABSF", "ABSI", "ADDF", "ADDI", "ALLOCA", "ANDI", "ASSERT", "ASSUME", "ASSUME_COND", "ATAN2",
    "ATOMIC_CAS_TKO", "ATOMIC_LOAD_TKO", "ATOMIC_RED_VIEW_TKO", "ATOMIC_RMW_TKO", "ATOMIC_STORE_TKO", "BARRIER",
    "BITCAST", "BREAK", "BREV", "BROADCAST", "BUILTIN_MODULE", "CAT", "CEIL", "CLZ", "CMPF", "CMPI", "CONSTANT",
    "CONTINUE", "COS", "COSH", "CTZ", "DIVF", "DIVI", "ENTRY", "EXP", "EXP2", "EXTI", "EXTRACT", "FLOOR", "FMA",
    "FOR", "FPOWI", "FTOF", "FTOI", "GDC_LAUNCH_DEPENDENTS_TKO", "GDC_WAIT_TKO", "GET_GLOBAL",
    "GET_INDEX_SPACE_SHAPE", "GET_NUM_TILE_BLOCKS", "GET_TENSOR_SHAPE", "GET_TILE_BLOCK_ID", "GLOBAL", "IF",
    "INSERT", "INT_TO_PTR", "IOTA", "ITOF", "JOIN_TOKENS", "LOAD_PTR_TKO", "LOAD_VIEW_TKO", "LOG", "LOG10",
    "LOG1P", "LOG2", "LOOP", "MAKE_GATHER_SCATTER_VIEW", "MAKE_PARTITION_VIEW", "MAKE_STRIDED_VIEW",
    "MAKE_TENSOR_VIEW", "MAKE_TOKEN", "MAXF", "MAXI", "MAXIMUMF", "MEMORY_FENCE_ALIAS_TKO", "MINF", "MINI",
    "MINIMUMF", "MMAF", "MMAF_SCALED", "MMAI", "MODULE", "MULF", "MULHII", "MULI", "NEGF", "NEGI", "NOTI",
    "OFFSET", "ORI", "PACK", "PERMUTE", "POPCNT", "POW", "PRINT_TKO", "PTR_TO_INT", "PTR_TO_PTR", "RECIPF",
    "REDUCE", "REMF", "REMI", "RESHAPE", "RETURN", "RSQRT", "SCAN", "SELECT", "SHLI", "SHRI", "SIGMOID", "SIN",
    "SINH", "SQRT", "STORE_PTR_TKO", "STORE_VIEW_TKO", "SUBF", "SUBI", "TAN", "TANH", "TRUNCI", "UNPACK",
    "UNREALIZED_CONVERSION_CAST", "XORI", "YIELD",
]
# fmt: on


def _load(chapter: str) -> list[OperationDeclaration]:
    """Import a chapter; its declarations belong to it unless they say otherwise."""
    module = __import__(f"tileir.dialect.ops.{chapter}", fromlist=["CHAPTER"])
    found: list[OperationDeclaration] = []
    for entry in CHAPTERS[chapter].split():
        declaration = getattr(module, entry.partition("=")[0].replace(".", "_").upper())
        declaration.chapter = declaration.chapter or module.CHAPTER
        found.append(declaration)
    return found


REGISTRY.expect(CHAPTERS, _load)


# A type checker knows the names from above; told of this function, it would take every name to be one.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name in __all__:
            full = "builtin.module" if name == "BUILTIN_MODULE" else f"cuda_tile.{name.lower()}"
            found = globals()[name] = REGISTRY.find(full)
            return found
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
