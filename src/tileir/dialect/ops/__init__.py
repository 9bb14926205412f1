"""One declaration per operation, one file per chapter of the operations draft; importing this package makes them known.

Each declaration is a constant named as its mnemonic in upper case; code tests `operation.declaration is FOR`.

    from tileir.dialect.ops import ADDF, FOR

Import from here, not from the chapter.  A chapter is loaded when one of its operations is first used: a small program
has operations of a few.  The index of chapters is generated.  BUILTIN_MODULE is the module around everything.  The
operations of NVIDIA's test suite are in `testing` (TESTING_FUNC); import it where you need them.  Begin with
`floating_point.py`: most declarations use `elementwise` of `dialect/constraints.py`.

`ir`, and the files of `dialect` that the chapters use, cannot import this package.  What they must know about an
operation is a trait or a field of its declaration.
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
    from tileir.dialect.ops.control_flow import *
    from tileir.dialect.ops.conversions import *
    from tileir.dialect.ops.core import *
    from tileir.dialect.ops.floating_point import *
    from tileir.dialect.ops.floating_point_functions import *
    from tileir.dialect.ops.integer import *
    from tileir.dialect.ops.matrix import *
    from tileir.dialect.ops.memory import *
    from tileir.dialect.ops.miscellaneous import *
    from tileir.dialect.ops.multimem import *
    from tileir.dialect.ops.preview import *
    from tileir.dialect.ops.structure import *
    from tileir.dialect.ops.views import *

# `make docs` writes what is between these lines: the operations of each chapter with their opcodes, and all constants.
# fmt: off
CHAPTERS: Final[dict[str, str]] = {
    "aggregates": "REDUCE=88 SCAN=94",
    "atomics": "ATOMIC_CAS_TKO=7 ATOMIC_RMW_TKO=8 ATOMIC_LOAD_TKO ATOMIC_STORE_TKO ATOMIC_RED_VIEW_TKO=117",
    "bitwise": "ANDI=4 ORI=82 XORI=108 NOTI POPCNT CLZ CTZ BREV",
    "control_flow": "ASSERT=5 BREAK=10 CONTINUE=17 RETURN=92 YIELD=109 FOR=41 IF=50 LOOP=65",
    "conversions": "BITCAST=9 EXTI=37 FTOF=42 FTOI=43 ITOF=59 INT_TO_PTR=51 PTR_TO_INT=86 PTR_TO_PTR=87 TRUNCI=107"
    " PACK=111 UNPACK=112",
    "core": "BROADCAST=11 CAT=12 CONSTANT=16 EXTRACT=38 INSERT=118 IOTA=58 OFFSET=81 PERMUTE=83 RESHAPE=91 SELECT=95",
    "floating_point": "ABSF=0 ADDF=2 CEIL=13 CMPF=14 DIVF=20 FLOOR=39 FMA=40 MAXF=69 MAXIMUMF MINF=71 MINIMUMF"
    " MULF=76 NEGF=79 RECIPF REMF=89 SUBF=103",
    "floating_point_functions": "EXP=23 EXP2=24 LOG=63 LOG2=64 LOG10 LOG1P SIGMOID SIN=98 COS=18 TAN=105 SINH=99"
    " COSH=19 TANH=106 ATAN2=110 RSQRT=93 SQRT=100 POW=84 FPOWI=121",
    "integer": "ABSI=1 ADDI=3 CMPI=15 DIVI=21 MAXI=70 MINI=72 MULHII=77 MULI=78 NEGI=80 REMI=90 SHLI=96 SHRI=97"
    " SUBI=104",
    "matrix": "MMAF=73 MMAF_SCALED=114 MMAI=74",
    "memory": "JOIN_TOKENS=60 LOAD_PTR_TKO=61 MAKE_TOKEN=68 STORE_PTR_TKO=101 ALLOCA=113 MEMORY_FENCE_ALIAS_TKO=122"
    " GDC_LAUNCH_DEPENDENTS_TKO=119 GDC_WAIT_TKO=120",
    "miscellaneous": "ASSUME=6 ASSUME_COND PRINT_TKO=85 BARRIER UNREALIZED_CONVERSION_CAST",
    "multimem": "MULTIMEM_LOAD_REDUCE_VIEW_TKO=123 MULTIMEM_REDUCE_VIEW_TKO=124 MULTIMEM_STORE_VIEW_TKO=125",
    "preview": "PREVIEW$CALL=16386",
    "structure": "MODULE=75 ENTRY=22 GLOBAL=49 GET_GLOBAL=44 GET_NUM_TILE_BLOCKS=46 GET_TILE_BLOCK_ID=48"
    " BUILTIN.MODULE",
    "views": "GET_INDEX_SPACE_SHAPE=45 GET_TENSOR_SHAPE=47 LOAD_VIEW_TKO=62 MAKE_PARTITION_VIEW=66"
    " MAKE_TENSOR_VIEW=67 STORE_VIEW_TKO=102 MAKE_STRIDED_VIEW=116 MAKE_GATHER_SCATTER_VIEW=115",
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
    "MINIMUMF", "MMAF", "MMAF_SCALED", "MMAI", "MODULE", "MULF", "MULHII", "MULI",
    "MULTIMEM_LOAD_REDUCE_VIEW_TKO", "MULTIMEM_REDUCE_VIEW_TKO", "MULTIMEM_STORE_VIEW_TKO", "NEGF", "NEGI",
    "NOTI", "OFFSET", "ORI", "PACK", "PERMUTE", "POPCNT", "POW", "PREVIEW_CALL", "PRINT_TKO", "PTR_TO_INT",
    "PTR_TO_PTR", "RECIPF", "REDUCE", "REMF", "REMI", "RESHAPE", "RETURN", "RSQRT", "SCAN", "SELECT", "SHLI",
    "SHRI", "SIGMOID", "SIN", "SINH", "SQRT", "STORE_PTR_TKO", "STORE_VIEW_TKO", "SUBF", "SUBI", "TAN", "TANH",
    "TRUNCI", "UNPACK", "UNREALIZED_CONVERSION_CAST", "XORI", "YIELD",
]
# fmt: on


def _load(chapter: str) -> list[OperationDeclaration]:
    """Import a chapter; its declarations belong to it unless they name another."""
    module = __import__(f"tileir.dialect.ops.{chapter}", fromlist=["CHAPTER"])
    found: list[OperationDeclaration] = []
    for entry in CHAPTERS[chapter].split():
        declaration = getattr(module, entry.partition("=")[0].replace(".", "_").replace("$", "_"))
        declaration.chapter = declaration.chapter or module.CHAPTER
        found.append(declaration)
    return found


REGISTRY.expect(CHAPTERS, _load)


# Type checkers know the names from above; with this function they would accept every name.
if not TYPE_CHECKING:

    def __getattr__(name):
        if name in __all__:
            dialect = "builtin" if name.startswith("BUILTIN_") else "cuda_tile"
            found = globals()[name] = REGISTRY.find(
                f"{dialect}.{name.removeprefix('BUILTIN_').lower().replace('preview_', 'preview$')}"
            )
            return found
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
