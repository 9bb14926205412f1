"""What the types, attributes, keywords and versions of cuda_tile mean, in words.

Operations carry their documentation in their declarations; what has no declaration has it here.  Only the tools that
explain things import this module.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.declaration import V13_1, V13_2, V13_3, V13_4, Version


class Documentation:
    """The words for one type or attribute; `names` are further names under which it can be asked for."""

    __slots__ = ("description", "example", "group", "name", "names", "since", "summary", "syntax")

    def __init__(
        self,
        name: str,
        group: str,
        summary: str,
        syntax: str,
        description: str,
        example: str = "",
        since: Version | None = V13_1,
        names: tuple[str, ...] = (),
    ) -> None:
        self.name: str = name
        self.group: str = group
        self.summary: str = summary
        self.syntax: str = syntax
        self.description: str = description
        self.example: str = example
        self.since: Version | None = since
        self.names: tuple[str, ...] = names


TYPES: Final[tuple[Documentation, ...]] = (
    Documentation(
        "tile",
        "Types",
        "An array of elements, the value programs compute with",
        "tile<(EXTENTx...)? ELEMENT>",
        "A tile has a fixed shape and one element type.  Each extent is a power of two, and a tile has at most 16777216 "
        "elements.  Without extents it is 0-D, a scalar: `tile<f32>`.  Elements are numbers or pointers; a tile of "
        "f4E2M1FN that is not 0-D has an even number of them.  Nothing is broadcast by itself: operations want operands "
        "of equal shape.",
        "tile<4x8xf32>\ntile<128xptr<f16>>\ntile<i1>",
    ),
    Documentation(
        "ptr",
        "Types",
        "A pointer to a number in memory, as an element of a tile",
        "ptr<ELEMENT (, <none>)?>",
        "Pointers live in tiles: a scalar pointer is a `tile<ptr<f32>>`.  They point to any number type except `i4`.  "
        "13.4 added a pointer attribute, of which `none` is the only one; a `tensor_view` carries the attribute of the "
        "pointer it was made from.",
        "tile<ptr<f32>>\ntile<64xptr<i8>>",
        names=("pointer", "ptr_attr"),
    ),
    Documentation(
        "tensor_view",
        "Types",
        "A tensor in memory: a shape and strides over a pointer",
        "tensor_view<(EXTENTx...)? ELEMENT (, strides=[STRIDE, ...])? (, #cuda_tile.ptr_attr<none>)?>",
        "Extents and strides are positive integers, or `?` where they are known at run time only.  Strides count "
        "elements, one per dimension; a 0-D tensor has none.  `make_tensor_view` makes one; tiles are read and written "
        "through a tile view over it.",
        "tensor_view<?x64xf32, strides=[64,1]>\ntensor_view<1024x1024xbf16, strides=[?,1]>\ntensor_view<f32>",
    ),
    Documentation(
        "partition_view",
        "Types",
        "A tensor cut into tiles that touch and do not overlap",
        "partition_view<tile=(EXTENTx...), (padding_value = PADDING_VALUE,)? TENSOR_VIEW (, dim_map=[DIMENSION, ...])?>",
        "An access names a tile by one index per dimension.  The tile has the rank of the tensor, and powers of two as "
        "extents.  `dim_map` says along which dimension of the tensor each dimension of the tile runs; left out, it is "
        "the identity.  `padding_value` is what elements outside the tensor read as; without it they are unspecified.  "
        "Values other than `zero` are for float elements.",
        "partition_view<tile=(64x64), tensor_view<?x128xf32, strides=[128,1]>>\n"
        "partition_view<tile=(4x2), padding_value = nan, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]>",
    ),
    Documentation(
        "strided_view",
        "Types",
        "Tiles over a tensor at a fixed distance, which may overlap or leave gaps",
        "strided_view<tile=(EXTENTx...), traversal_strides=[STRIDE, ...], (padding_value = PADDING_VALUE,)? TENSOR_VIEW "
        "(, dim_map=[DIMENSION, ...])?>",
        "As a `partition_view`, except that neighbouring tiles start `traversal_strides` elements apart, one positive "
        "integer per dimension.  With the extents of the tile as strides it is a partition.",
        "strided_view<tile=(4x2), traversal_strides=[3,1], tensor_view<?x64xf32, strides=[64,1]>>",
        V13_3,
    ),
    Documentation(
        "gather_scatter_view",
        "Types",
        "Tiles whose positions along one dimension are given one by one",
        "gather_scatter_view<tile=(EXTENTx...), (padding_value = PADDING_VALUE,)? TENSOR_VIEW, sparse_dim=DIMENSION>",
        "Along `sparse_dim` an access takes a one-dimensional tile of positions, as long as the tile is in that "
        "dimension; along the others it takes one index each, as for a `partition_view`.",
        "gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>",
        V13_3,
    ),
    Documentation(
        "token",
        "Types",
        "An edge that orders memory operations",
        "token",
        "Program order does not order memory operations, tokens do.  An operation whose name ends in `_tko` happens "
        "after those whose tokens it takes, and gives a token for those that come after it.  `make_token` starts a "
        "chain, `join_tokens` brings several together.",
        "token",
    ),
    Documentation(
        "string",
        "Types",
        "A handle of a string; no portable program has one",
        "string",
        "Described by the types draft only.  It is read and printed, and no public version of the dialect knows it "
        "(docs/conflicts.md D3).",
        "string",
        None,
    ),
    Documentation(
        "function",
        "Types",
        "The type of an entry: what it takes and gives",
        "(TYPE, ...) -> (TYPE, ...)",
        "Stands in the generic form, as the `function_type` of an entry and behind each operation.  An entry gives "
        "nothing back, so its list of results is empty.",
        "(!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>) -> ()",
        names=("function_type",),
    ),
)

# Summaries of the element types; the layout of the floats comes from `ir/floats.py`.
ELEMENT_TYPES: Final[dict[str, str]] = {
    "i1": "One bit: a truth value.  It takes a byte in memory",
    "i4": "An integer of 4 bits; conversions, `pack` and `unpack` take it, arithmetic does not",
    "i8": "An integer of 8 bits; operations say whether they read it as signed",
    "i16": "An integer of 16 bits; operations say whether they read it as signed",
    "i32": "An integer of 32 bits; operations say whether they read it as signed",
    "i64": "An integer of 64 bits; operations say whether they read it as signed",
    "f16": "IEEE half precision",
    "bf16": "The upper half of an f32: its range at 8 bits of precision",
    "f32": "IEEE single precision",
    "tf32": "The range of f32 at 11 bits of precision, for matrix products",
    "f64": "IEEE double precision",
    "f8E4M3FN": "8 bits with 4 of exponent; no infinity, one NaN for each sign",
    "f8E5M2": "8 bits with 5 of exponent, as IEEE 754 does it",
    "f8E8M0FNU": "8 bits of exponent alone: powers of two without sign or zero, for scales",
    "f4E2M1FN": "4 bits with 2 of exponent; finite values only",
    "fnv8E5M3FNU": "8 bits with 5 of exponent and no sign, for scales; no infinity, one NaN",
}

ATTRIBUTES: Final[tuple[Documentation, ...]] = (
    Documentation(
        "div_by",
        "Assumptions",
        "Promise of `assume`: elements are multiples of a number",
        "div_by<DIVISOR (, every EXTENT along DIMENSION)?>",
        "For tiles of integers or pointers and, without the second part, for tensor views.  The divisor is a power of "
        "two up to 2^62.  Every element is a multiple of it; with `every E along A` only the first of each group of E "
        "elements along dimension A is, and the others of the group count up from it.",
        "div_by<16>\ndiv_by<16, every 4 along 0>",
    ),
    Documentation(
        "bounded",
        "Assumptions",
        "Promise of `assume`: elements lie between two bounds",
        "bounded<(LOWER | ?), (UPPER | ?) (, strict)?>",
        "For tiles of integers, read as signed.  Both bounds are allowed values; `?` is no bound.  `strict`, which only "
        "the types draft has, excludes the bounds themselves (docs/conflicts.md C2).",
        "bounded<0, 1023>\nbounded<0, ?>",
    ),
    Documentation(
        "same_elements",
        "Assumptions",
        "Promise of `assume`: a tile consists of groups of one value",
        "same_elements<[EXTENT, ...]>",
        "For tiles of integers or pointers.  One extent per dimension gives the shape of a group; all elements of a "
        "group are equal.",
        "same_elements<[2, 4]>",
    ),
    Documentation(
        "optimization_hints",
        "Hints",
        "Advice for the compiler, per architecture",
        "optimization_hints = <ARCHITECTURE = {HINT = VALUE, ...}, ...>",
        "Hints never change what a program computes.  By default a hint that nothing reads is no mistake; the verifier "
        "can be told to warn about it or to refuse it.  `default` stands for the architectures that are not listed.",
        "optimization_hints = <sm_100 = {num_cta_in_cga = 8}, default = {occupancy = 2}>",
    ),
    Documentation(
        "dense",
        "Constants",
        "The elements of a constant or global",
        "<ELEMENT: (NUMBER | [NUMBER, ...])>",
        "A single number stands for all elements, a nested list gives each.  Numbers are decimal integers, decimal "
        "floats, the bits of a float in hexadecimal (`0x7FC00000`), or `true` and `false` for i1.  The drafts spell it "
        "`dense<0>`, which is read too (docs/conflicts.md A1).",
        "<f32: [1.0, 2.5]>\n<i32: 0>\n<i1: true>",
    ),
    Documentation(
        "di_loc",
        "Debug information",
        "A source position together with the scope it lies in",
        "#cuda_tile.di_loc<LOCATION in SCOPE>",
        "The scope is a subprogram or a lexical block.  Operations of an entry have scopes only if the entry has one, "
        "and all lead to the same subprogram (docs/conflicts.md F).",
        '#cuda_tile.di_loc<loc("k.py":7:3) in #cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 5, name = "k", '
        'linkageName = "k", compileUnit = <file = <"k.py" in "/src">>>>',
    ),
    Documentation(
        "di_file",
        "Debug information",
        "A source file",
        "#cuda_tile.di_file<NAME in DIRECTORY>",
        "Name and folder are strings.",
        '#cuda_tile.di_file<"k.py" in "/src">',
    ),
    Documentation(
        "di_compile_unit",
        "Debug information",
        "What was compiled in one go",
        "#cuda_tile.di_compile_unit<file = DI_FILE>",
        "Subprograms belong to one.",
        '#cuda_tile.di_compile_unit<file = <"k.py" in "/src">>',
    ),
    Documentation(
        "di_subprogram",
        "Debug information",
        "A function of the source language",
        "#cuda_tile.di_subprogram<file = DI_FILE, line = LINE, name = NAME, linkageName = NAME, "
        "compileUnit = DI_COMPILE_UNIT (, scopeLine = LINE)?>",
        "The scope of an entry; its linkage name is the name of the entry.",
        '#cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 5, name = "k", linkageName = "k", '
        'compileUnit = <file = <"k.py" in "/src">>>',
    ),
    Documentation(
        "di_lexical_block",
        "Debug information",
        "A block inside a function of the source language",
        "#cuda_tile.di_lexical_block<scope = SCOPE, file = DI_FILE, line = LINE (, column = COLUMN)?>",
        "Its scope is a subprogram or another block.",
        '#cuda_tile.di_lexical_block<scope = #cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 5, name = "k", '
        'linkageName = "k", compileUnit = <file = <"k.py" in "/src">>>, file = <"k.py" in "/src">, line = 6>',
    ),
    Documentation(
        "cute",
        "Foreign",
        "A cuTe layout, shape or stride that rides on an operation",
        "#cute.(layout | shape | stride)<TERM>",
        "A term is an integer, `extent@dimension`, or a list of terms in parentheses.  It is read strictly and written "
        "back; it means nothing here and has no bytecode (docs/conflicts.md A14).",
        "#cute.layout<(1@0, 16@1)>",
        None,
        ("layout", "cute.layout", "cute.shape", "cute.stride"),
    ),
)

ENUMERATIONS: Final[dict[str, str]] = {
    "signedness": "How an operation reads its integers",
    "overflow": "Which wrapping the program promises not to happen",
    "rounding": "How an inexact result is rounded",
    "comparison_predicate": "The relation a comparison asks for",
    "comparison_ordering": "What a comparison of floats says about NaN",
    "memory_ordering_semantics": "How a memory operation is ordered against those of other tile blocks",
    "memory_scope": "Who may access the memory at the same time",
    "atomic_rmw_mode": "How an atomic combines the old value with its argument",
    "padding_value": "What elements outside a tensor read as",
    "symbol_visibility": "Who can see a global",
    "barrier_scope": "Which threads wait for each other at a barrier",
}

KEYWORDS: Final[dict[str, dict[str, str]]] = {
    "signedness": {"unsigned": "as numbers from 0", "signed": "as two's complement"},
    "overflow": {
        "none": "wrapping may happen",
        "no_signed_wrap": "read as signed, the result fits",
        "no_unsigned_wrap": "read as unsigned, the result fits",
        "no_wrap": "it fits either way",
    },
    "rounding": {
        "nearest_even": "to the nearest value, ties to the even one",
        "zero": "towards zero",
        "negative_inf": "downwards",
        "positive_inf": "upwards",
        "approx": "the fast approximation of the hardware, f32 only",
        "full": "the full range; precise for exp and tanh, less than IEEE for divf",
        "nearest_int_to_zero": "to an integer, towards zero",
        "nearest_away": "to the nearest value, ties away from zero",
    },
    "comparison_predicate": {
        "equal": "lhs = rhs",
        "not_equal": "lhs ≠ rhs",
        "less_than": "lhs < rhs",
        "less_than_or_equal": "lhs ≤ rhs",
        "greater_than": "lhs > rhs",
        "greater_than_or_equal": "lhs ≥ rhs",
    },
    "comparison_ordering": {
        "unordered": "true where an element is NaN",
        "ordered": "false where an element is NaN",
    },
    "memory_ordering_semantics": {
        "weak": "no other tile block accesses the memory meanwhile; takes no scope",
        "relaxed": "others may; nothing else is ordered by it",
        "acquire": "what comes after sees what was written before the matching release",
        "release": "what was written before is seen after a matching acquire",
        "acq_rel": "both at once, for atomics that read and write",
        "seq_cst": "one order of all such operations; drafts only, has no public counterpart",
    },
    "memory_scope": {
        "tl_blk": "this tile block",
        "device": "all tile blocks on the device",
        "sys": "everything in the system, the host included",
        "cluster": "the cluster of the tile block; drafts only, made public as device",
    },
    "atomic_rmw_mode": {
        "and": "bitwise and",
        "or": "bitwise or",
        "xor": "bitwise exclusive or",
        "add": "sum of integers, wrapping",
        "addf": "sum of floats, to nearest even",
        "max": "greater, signed",
        "min": "lesser, signed",
        "umax": "greater, unsigned",
        "umin": "lesser, unsigned",
        "xchg": "the argument itself",
    },
    "padding_value": {
        "zero": "0",
        "neg_zero": "-0, floats only",
        "nan": "NaN, floats only",
        "pos_inf": "infinity, floats only",
        "neg_inf": "negative infinity, floats only",
    },
    "symbol_visibility": {"public": "other modules too", "private": "its own module"},
    "barrier_scope": {
        "warp": "those of the warp",
        "block": "those of the thread block",
        "cluster": "those of the cluster",
    },
}

VERSIONS: Final[dict[Version, str]] = {
    V13_1: "The first public version",
    V13_2: "Tokens for printing, unsigned loops, atan2, the scale type f8E8M0FNU",
    V13_3: "Strided and gathering views, packed and scaled low precision, alloca, constant and private globals",
    V13_4: "Dependent launches, insertion, saturating conversion; the newest, and what tileir speaks by default",
}
