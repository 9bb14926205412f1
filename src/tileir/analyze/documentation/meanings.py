"""The documentation of the types, attributes, keywords and versions of cuda_tile; declarations document operations."""

from __future__ import annotations

from typing import Final, NamedTuple

from tileir.ir.versions import V13_1, V13_2, V13_3, V13_4, V13_5, Version


class Documentation(NamedTuple):
    """The documentation of one type or attribute; `names` are further names that find it."""

    name: str
    summary: str
    syntax: str
    description: str
    example: str = ""
    since: Version | None = V13_1
    names: tuple[str, ...] = ()
    group: str = "Types"


TYPES: Final[tuple[Documentation, ...]] = (
    Documentation(
        "tile",
        "An array of elements, the value programs compute with",
        "tile<(EXTENTx...)? ELEMENT>",
        "A tile has a fixed shape and one element type.  Each extent is a power of two, and a tile has at most "
        "16777216 elements.  Without extents it is 0-D, a scalar: `tile<f32>`.  Elements are numbers or pointers; a "
        "tile of f4E2M1FN that is not 0-D has an even number of them.  There is no implicit broadcasting: the operands "
        "of an operation must have equal shapes.",
        "tile<4x8xf32>\ntile<128xptr<f16>>\ntile<i1>",
    ),
    Documentation(
        "ptr",
        "A pointer to a number in memory, as an element of a tile",
        "ptr<ELEMENT (, <none|unicast|multicast>)?>",
        "Pointers exist only as elements of tiles: a scalar pointer is a `tile<ptr<f32>>`.  They point to any number "
        "type except `i4`.  Version 13.4 added a pointer attribute, `none`, and 13.5 `unicast` and `multicast`, memory "
        "of several devices; a `tensor_view` has the attribute of the pointer it was made from.",
        "tile<ptr<f32>>\ntile<64xptr<i8>>",
        names=("pointer", "ptr_attr"),
    ),
    Documentation(
        "tensor_view",
        "A tensor in memory: a shape and strides over a pointer",
        "tensor_view<(EXTENTx...)? ELEMENT (, strides=[STRIDE, ...])? "
        "(, #cuda_tile.ptr_attr<none|unicast|multicast>)?>",
        "Extents and strides are positive integers, or `?` if they are known only at run time.  Strides count "
        "elements, one per dimension; a 0-D tensor has none.  `make_tensor_view` creates one; tiles are read and "
        "written through a tile view over it.",
        "tensor_view<?x64xf32, strides=[64,1]>\ntensor_view<1024x1024xbf16, strides=[?,1]>\ntensor_view<f32>",
    ),
    Documentation(
        "partition_view",
        "A tensor divided into adjacent tiles that do not overlap",
        "partition_view<tile=(EXTENTx...), (padding_value = PADDING_VALUE,)? TENSOR_VIEW (, dim_map=[DIMENSION, "
        "...])?>",
        "An access selects a tile by one index per dimension.  The tile has the same rank as the tensor, and its "
        "extents are powers of two.  `dim_map` maps each dimension of the tile to a dimension of the tensor; the "
        "default is the identity.  Elements outside the tensor read as `padding_value`; without it they are "
        "unspecified.  Values other than `zero` are only for float elements.",
        "partition_view<tile=(64x64), tensor_view<?x128xf32, strides=[128,1]>>\npartition_view<tile=(4x2), "
        "padding_value = nan, tensor_view<?x64xf32, strides=[64,1]>, dim_map=[1, 0]>",
    ),
    Documentation(
        "strided_view",
        "Tiles over a tensor at a fixed distance, which may overlap or leave gaps",
        "strided_view<tile=(EXTENTx...), traversal_strides=[STRIDE, ...], (padding_value = PADDING_VALUE,)? "
        "TENSOR_VIEW (, dim_map=[DIMENSION, ...])?>",
        "Like a `partition_view`, except that neighboring tiles start `traversal_strides` elements apart, one "
        "positive integer per dimension.  If the strides equal the extents of the tile, it is a partition.",
        "strided_view<tile=(4x2), traversal_strides=[3,1], tensor_view<?x64xf32, strides=[64,1]>>",
        V13_3,
    ),
    Documentation(
        "gather_scatter_view",
        "Tiles whose positions along one dimension are given individually",
        "gather_scatter_view<tile=(EXTENTx...), (padding_value = PADDING_VALUE,)? TENSOR_VIEW, sparse_dim=DIMENSION>",
        "Along `sparse_dim`, an access takes a one-dimensional tile of positions, one for each element of the tile in "
        "that dimension; along each other dimension it takes one index, as for a `partition_view`.",
        "gather_scatter_view<tile=(4x2), tensor_view<?x64xf32, strides=[64,1]>, sparse_dim=0>",
        V13_3,
    ),
    Documentation(
        "token",
        "A value that orders memory operations",
        "token",
        "Memory operations are ordered by tokens, not by their order in the program.  An operation whose name ends in "
        "`_tko` happens after the operations whose tokens it takes, and returns a token for operations that must "
        "follow it.  `make_token` starts a chain, `join_tokens` joins several tokens into one.",
        "token",
    ),
    Documentation(
        "string",
        "A handle to a string, not part of any portable program",
        "string",
        "Exists only in the types draft.  It is read and printed, but no public version of the dialect has it "
        "(docs/reference/conflicts.md D3).",
        "string",
        None,
    ),
    Documentation(
        "function",
        "The type of an entry: its parameters and results",
        "(TYPE, ...) -> (TYPE, ...)",
        "Appears in the generic form, as the `function_type` of an entry and after each operation.  An entry returns "
        "nothing, so its list of results is empty.",
        "(!cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i32>) -> ()",
        names=("function_type",),
    ),
)

# Summaries of the element types; the layout of the floats comes from `ir/floats.py`.
ELEMENT_TYPES: Final[dict[str, str]] = {
    "i1": "One bit: a truth value.  It occupies one byte in memory",
    "i4": "An integer of 4 bits; conversions, `pack` and `unpack` take it, arithmetic does not",
    "i8": "An integer of 8 bits; operations state whether they read it as signed",
    "i16": "An integer of 16 bits; operations state whether they read it as signed",
    "i32": "An integer of 32 bits; operations state whether they read it as signed",
    "i64": "An integer of 64 bits; operations state whether they read it as signed",
    "f16": "IEEE half precision",
    "bf16": "The upper half of an f32: the same range with 8 bits of precision",
    "f32": "IEEE single precision",
    "tf32": "The range of f32 with 11 bits of precision, for matmuls",
    "f64": "IEEE double precision",
    "f8E4M3FN": "8 bits, 4 of them exponent; no infinity, one NaN for each sign",
    "f8E5M2": "8 bits, 5 of them exponent, with the conventions of IEEE 754",
    "f8E8M0FNU": "8 bits of exponent only: powers of two without sign or zero, for scales",
    "f4E2M1FN": "4 bits, 2 of them exponent; finite values only",
    "fnv8E5M3FNU": "8 bits, 5 of them exponent, no sign, for scales; no infinity, one NaN",
}

ATTRIBUTES: Final[tuple[Documentation, ...]] = (
    Documentation(
        "div_by",
        "Promise of `assume`: elements are multiples of a number",
        "div_by<DIVISOR (, every EXTENT along DIMENSION)?>",
        "For tiles of integers or pointers and, without the second part, for tensor views.  The divisor is a power of "
        "two up to 2^62.  Every element is a multiple of it.  With `every E along A`, only the first of each group of "
        "E elements along dimension A is a multiple, and the other elements of the group count up from it.",
        "div_by<16>\ndiv_by<16, every 4 along 0>",
        group="Assumptions",
    ),
    Documentation(
        "bounded",
        "Promise of `assume`: elements lie between two bounds",
        "bounded<(LOWER | ?), (UPPER | ?) (, strict)?>",
        "For tiles of integers, read as signed.  Both bounds are included; `?` means no bound.  `strict`, which exists "
        "only in the types draft, excludes the bounds themselves (docs/reference/conflicts.md C2).",
        "bounded<0, 1023>\nbounded<0, ?>",
        group="Assumptions",
    ),
    Documentation(
        "same_elements",
        "Promise of `assume`: a tile consists of groups of equal elements",
        "same_elements<[EXTENT, ...]>",
        "For tiles of integers or pointers.  One extent per dimension is the shape of a group; all elements of a "
        "group are equal.",
        "same_elements<[2, 4]>",
        group="Assumptions",
    ),
    Documentation(
        "optimization_hints",
        "Advice for the compiler, per architecture",
        "optimization_hints = <ARCHITECTURE = {HINT = VALUE, ...}, ...>",
        "Hints never change what a program computes.  By default, unknown hints are ignored; the verifier can also "
        "warn about them or reject them.  `default` stands for all architectures that are not listed.",
        "optimization_hints = <sm_100 = {num_cta_in_cga = 8}, default = {occupancy = 2}>",
        group="Hints",
    ),
    Documentation(
        "dense",
        "The elements of a constant or global",
        "<ELEMENT: (NUMBER | [NUMBER, ...])>",
        "A single number is the value of all elements, a nested list has each of them.  Numbers are decimal "
        "integers, decimal floats, the bits of a float in hexadecimal (`0x7FC00000`), or `true` and `false` for i1.  "
        "The drafts write `dense<0>`, which is also accepted (docs/reference/conflicts.md A1).",
        "<f32: [1.0, 2.5]>\n<i32: 0>\n<i1: true>",
        group="Constants",
    ),
    Documentation(
        "di_loc",
        "A source position and the scope that contains it",
        "#cuda_tile.di_loc<LOCATION in SCOPE>",
        "The scope is a subprogram or a lexical block.  Operations of an entry have scopes only if the entry has one, "
        "and all belong to the same subprogram (docs/reference/conflicts.md F).",
        '#cuda_tile.di_loc<loc("k.py":7:3) in #cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 5, name = '
        '"k", '
        'linkageName = "k", compileUnit = <file = <"k.py" in "/src">>>>',
        group="Debug information",
    ),
    Documentation(
        "di_file",
        "A source file",
        "#cuda_tile.di_file<NAME in DIRECTORY>",
        "Name and directory are strings.",
        '#cuda_tile.di_file<"k.py" in "/src">',
        group="Debug information",
    ),
    Documentation(
        "di_compile_unit",
        "A unit of compilation",
        "#cuda_tile.di_compile_unit<file = DI_FILE>",
        "Each subprogram belongs to one.",
        '#cuda_tile.di_compile_unit<file = <"k.py" in "/src">>',
        group="Debug information",
    ),
    Documentation(
        "di_subprogram",
        "A function of the source language",
        "#cuda_tile.di_subprogram<file = DI_FILE, line = LINE, name = NAME, linkageName = NAME, compileUnit = "
        "DI_COMPILE_UNIT (, scopeLine = LINE)?>",
        "The scope of an entry; its linkage name is the name of the entry.",
        '#cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 5, name = "k", linkageName = "k", '
        'compileUnit = <file = <"k.py" in "/src">>>',
        group="Debug information",
    ),
    Documentation(
        "di_lexical_block",
        "A block inside a function of the source language",
        "#cuda_tile.di_lexical_block<scope = SCOPE, file = DI_FILE, line = LINE (, column = COLUMN)?>",
        "Its scope is a subprogram or another block.",
        '#cuda_tile.di_lexical_block<scope = #cuda_tile.di_subprogram<file = <"k.py" in "/src">, line = 5, name = "k", '
        'linkageName = "k", compileUnit = <file = <"k.py" in "/src">>>, file = <"k.py" in "/src">, line = 6>',
        group="Debug information",
    ),
    Documentation(
        "cute",
        "A cuTe layout, shape or stride attached to an operation",
        "#cute.(layout | shape | stride)<TERM>",
        "A term is an integer, `extent@dimension`, or a list of terms in parentheses.  Its syntax is checked, and it "
        "is printed again; it has no effect and no bytecode (docs/reference/conflicts.md A14).",
        "#cute.layout<(1@0, 16@1)>",
        None,
        ("layout", "cute.layout", "cute.shape", "cute.stride"),
        group="Foreign",
    ),
)

ENUMERATIONS: Final[dict[str, str]] = {
    "signedness": "How an operation reads its integers",
    "overflow": "Which kind of overflow the program promises will not happen",
    "rounding": "How an inexact result is rounded",
    "comparison_predicate": "The relation that a comparison tests",
    "comparison_ordering": "The result of a float comparison with NaN",
    "memory_ordering_semantics": "How a memory operation is ordered with respect to those of other tile blocks",
    "memory_scope": "Who may access the memory at the same time",
    "atomic_rmw_mode": "How an atomic combines the old value with its argument",
    "multimem_reduction_kind": "How the values that several devices hold are combined",
    "padding_value": "The value of elements outside a tensor",
    "symbol_visibility": "Who can see a global",
    "barrier_scope": "Which threads wait for each other at a barrier",
}

KEYWORDS: Final[dict[str, dict[str, str]]] = {
    "signedness": {"unsigned": "as numbers from 0 up", "signed": "as two's complement"},
    "overflow": {
        "none": "the result may wrap",
        "no_signed_wrap": "read as signed, the result fits",
        "no_unsigned_wrap": "read as unsigned, the result fits",
        "no_wrap": "the result fits either way",
    },
    "rounding": {
        "nearest_even": "to the nearest value, ties to the even one",
        "zero": "toward zero",
        "negative_inf": "downwards",
        "positive_inf": "upwards",
        "approx": "the fast approximation of the hardware, f32 only",
        "full": "the full range; precise for exp and tanh, less than IEEE for divf",
        "nearest_int_to_zero": "to an integer, toward zero",
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
    "comparison_ordering": {"unordered": "true if either element is NaN", "ordered": "false if either element is NaN"},
    "memory_ordering_semantics": {
        "weak": "no other tile block may access the memory at the same time; takes no scope",
        "relaxed": "other tile blocks may; orders no other access",
        "acquire": "later accesses see everything written before the matching release",
        "release": "everything written before it is seen after a matching acquire",
        "acq_rel": "acquire and release, for atomics that read and write",
        "seq_cst": "a single order of all such operations; only in the drafts, no public counterpart",
    },
    "memory_scope": {
        "tl_blk": "this tile block",
        "device": "all tile blocks on the device",
        "sys": "the whole system, including the host",
        "cluster": "the cluster of the tile block; only in the drafts, legalized to device",
    },
    "atomic_rmw_mode": {
        "and": "bitwise and",
        "or": "bitwise or",
        "xor": "bitwise exclusive or",
        "add": "sum of integers, wrapping",
        "addf": "sum of floats, rounded to nearest even",
        "max": "maximum, signed",
        "min": "minimum, signed",
        "umax": "maximum, unsigned",
        "umin": "minimum, unsigned",
        "xchg": "the argument itself",
    },
    "multimem_reduction_kind": {
        "add": "sum",
        "min": "minimum, signed",
        "max": "maximum, signed",
        "and": "bitwise and, integers only",
        "or": "bitwise or, integers only",
        "xor": "bitwise exclusive or, integers only",
        "umin": "minimum, unsigned",
        "umax": "maximum, unsigned",
    },
    "padding_value": {
        "zero": "0",
        "neg_zero": "-0, floats only",
        "nan": "NaN, floats only",
        "pos_inf": "infinity, floats only",
        "neg_inf": "negative infinity, floats only",
    },
    "symbol_visibility": {"public": "other modules as well", "private": "only its own module"},
    "barrier_scope": {
        "warp": "the threads of the warp",
        "block": "the threads of the thread block",
        "cluster": "the threads of the cluster",
    },
}

VERSIONS: Final[dict[Version, str]] = {
    V13_1: "The first public version",
    V13_2: "Tokens for printing, unsigned loops, atan2, the scale type f8E8M0FNU",
    V13_3: "Strided and gather/scatter views, packed and scaled low-precision formats, alloca, constant and private "
    "globals",
    V13_4: "Dependent launches, insertion, saturating conversion; the newest version that NVIDIA's assembler reads, "
    "and what tileir writes by default",
    V13_5: "Memory of several devices, `inbounds` of reductions, attributes of arguments; not released: CUDA Tile C++ "
    "13.5 writes it, no published assembler reads it",
}
