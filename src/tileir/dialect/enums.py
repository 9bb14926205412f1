"""The enumerations of cuda_tile.

Values are the bytes of the public bytecode.  Keywords that only the drafts have are kept in the IR where they mean
something of their own (`cluster`, `seq_cst`) and read as aliases where they do not (docs/reference/conflicts.md B).
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.attributes import EnumKind
from tileir.ir.declaration import AttributeDeclaration
from tileir.ir.versions import V13_4

SIGNEDNESS: Final = EnumKind("signedness", {"unsigned": 0, "signed": 1})
OVERFLOW: Final = EnumKind("overflow", {"none": 0, "no_signed_wrap": 1, "no_unsigned_wrap": 2, "no_wrap": 3})
ROUNDING: Final = EnumKind(
    "rounding",
    {
        "nearest_even": 0,
        "zero": 1,
        "negative_inf": 2,
        "positive_inf": 3,
        "approx": 4,
        "full": 5,
        "nearest_int_to_zero": 6,
        "nearest_away": 7,
    },
    since={"nearest_away": V13_4},
)
COMPARISON_PREDICATE: Final = EnumKind(
    "comparison_predicate",
    {
        "equal": 0,
        "not_equal": 1,
        "less_than": 2,
        "less_than_or_equal": 3,
        "greater_than": 4,
        "greater_than_or_equal": 5,
    },
)
COMPARISON_ORDERING: Final = EnumKind("comparison_ordering", {"unordered": 0, "ordered": 1})
MEMORY_ORDERING: Final = EnumKind(
    "memory_ordering_semantics",
    {"weak": 0, "relaxed": 1, "acquire": 2, "release": 3, "acq_rel": 4, "seq_cst": 100},
    is_integer=True,
)
MEMORY_SCOPE: Final = EnumKind(
    "memory_scope", {"tl_blk": 0, "device": 1, "sys": 2, "cluster": 100}, aliases={"gpu": "device"}, is_integer=True
)
ATOMIC_MODE: Final = EnumKind(
    "atomic_rmw_mode",
    {"and": 0, "or": 1, "xor": 2, "add": 3, "addf": 4, "max": 5, "min": 6, "umax": 7, "umin": 8, "xchg": 9},
    aliases={"exchange": "xchg", "addu": "add"},
    is_integer=True,
)
MULTIMEM_REDUCTION: Final = EnumKind(
    "multimem_reduction_kind", {"add": 0, "min": 1, "max": 2, "and": 3, "or": 4, "xor": 5, "umin": 6, "umax": 7}
)
PADDING: Final = EnumKind("padding_value", {"zero": 0, "neg_zero": 1, "nan": 2, "pos_inf": 3, "neg_inf": 4})
SYMBOL_VISIBILITY: Final = EnumKind("symbol_visibility", {"public": 0, "private": 1})
BARRIER_SCOPE: Final = EnumKind("barrier_scope", {"warp": 0, "block": 1, "cluster": 2})

ENUM_KINDS: Final[dict[str, EnumKind]] = {
    kind.name: kind
    for kind in (
        SIGNEDNESS,
        OVERFLOW,
        ROUNDING,
        COMPARISON_PREDICATE,
        COMPARISON_ORDERING,
        MEMORY_ORDERING,
        MEMORY_SCOPE,
        ATOMIC_MODE,
        MULTIMEM_REDUCTION,
        PADDING,
        SYMBOL_VISIBILITY,
        BARRIER_SCOPE,
    )
}


def enum_kind_of(declared: AttributeDeclaration) -> EnumKind | None:
    return declared.constraint.enumeration
