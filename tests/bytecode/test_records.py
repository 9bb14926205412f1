"""The layout of every operation follows from its declaration; here it is compared with what NVIDIA's tools accept.

Notation (docs/reference/operations/records.md): `R` a result type; `R#(k)` a count k and as many types; `F[..]` flags with their
bits; `e:` enumerator, `u:` number, `b:` byte, `s:` string, `const:` constant, `i32[]:` and `i8[]:` lists, `arr:` array,
`dict:` dictionary, `tag:` tagged attribute, each only if flagged with `?`; `N` the number of operands; `%x` an operand,
`%x?` if flagged, `#%x*` counted; `G2` two regions.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from generators.records import notation

import tileir.dialect.ops  # noqa: F401  (registers the declarations)
from tileir.bytecode.records import Record, documented_records, maximum_opcode, records_of
from tileir.ir.registry import REGISTRY
from tileir.ir.versions import NEWEST, Version

# Of each operation the record of the first version that has it, and of each later version that changed it.
RECORDS: dict[tuple[str, int], dict[Version, str]] = {
    ("absf", 0x00): {(13, 1): "R %source"},
    ("absi", 0x01): {(13, 1): "R %source"},
    ("addf", 0x02): {(13, 1): "R F[0=flush_to_zero] e:rounding_mode %lhs %rhs"},
    ("addi", 0x03): {(13, 1): "R e:overflow %lhs %rhs"},
    ("andi", 0x04): {(13, 1): "R %lhs %rhs"},
    ("assert", 0x05): {(13, 1): "s:message %condition"},
    ("assume", 0x06): {(13, 1): "R tag:predicate %value"},
    ("atomic_cas_tko", 0x07): {
        (13, 1): "R R F[0=mask,1=token] e:memory_ordering_semantics e:memory_scope %pointers %cmp %val %mask? %token?"
    },
    ("atomic_rmw_tko", 0x08): {
        (13, 1): "R R F[0=mask,1=token] e:memory_ordering_semantics e:memory_scope e:mode %pointers %arg %mask? %token?"
    },
    ("bitcast", 0x09): {(13, 1): "R %source"},
    ("break", 0x0A): {(13, 1): "R#(0) N %operands*"},
    ("broadcast", 0x0B): {(13, 1): "R %source"},
    ("cat", 0x0C): {(13, 1): "R u:dim %lhs %rhs"},
    ("ceil", 0x0D): {(13, 1): "R %source"},
    ("cmpf", 0x0E): {(13, 1): "R e:comparison_predicate e:comparison_ordering %lhs %rhs"},
    ("cmpi", 0x0F): {(13, 1): "R e:comparison_predicate e:signedness %lhs %rhs"},
    ("constant", 0x10): {(13, 1): "R const:value"},
    ("continue", 0x11): {(13, 1): "R#(0) N %operands*"},
    ("cos", 0x12): {(13, 1): "R %source"},
    ("cosh", 0x13): {(13, 1): "R %source"},
    ("divf", 0x14): {(13, 1): "R F[0=flush_to_zero] e:rounding_mode %lhs %rhs"},
    ("divi", 0x15): {(13, 1): "R e:signedness e:rounding %lhs %rhs"},
    ("exp", 0x17): {(13, 1): "R %source", (13, 3): "R e:rounding_mode %source"},
    ("exp2", 0x18): {(13, 1): "R F[0=flush_to_zero] %source"},
    ("exti", 0x25): {(13, 1): "R e:signedness %from"},
    ("extract", 0x26): {(13, 1): "R#(1) N %source %indices*"},
    ("floor", 0x27): {(13, 1): "R %source"},
    ("fma", 0x28): {(13, 1): "R F[0=flush_to_zero] e:rounding_mode %lhs %rhs %acc"},
    ("for", 0x29): {
        (13, 1): "R#(n) N %lowerBound %upperBound %step %initValues* G1",
        (13, 2): "R#(n) F[0=unsignedCmp] N %lowerBound %upperBound %step %initValues* G1",
    },
    ("ftof", 0x2A): {(13, 1): "R e:rounding_mode %from"},
    ("ftoi", 0x2B): {
        (13, 1): "R e:signedness e:rounding_mode %from",
        (13, 4): "R F[0=saturating] e:signedness e:rounding_mode %from",
    },
    ("get_global", 0x2C): {(13, 1): "R s:name"},
    ("get_index_space_shape", 0x2D): {(13, 1): "R#(n) %src"},
    ("get_num_tile_blocks", 0x2E): {(13, 1): "R R R"},
    ("get_tensor_shape", 0x2F): {(13, 1): "R#(n) %src"},
    ("get_tile_block_id", 0x30): {(13, 1): "R R R"},
    ("if", 0x32): {(13, 1): "R#(n) %condition G2"},
    ("int_to_ptr", 0x33): {(13, 1): "R %source"},
    ("iota", 0x3A): {(13, 1): "R"},
    ("itof", 0x3B): {(13, 1): "R e:signedness e:rounding_mode %from"},
    ("join_tokens", 0x3C): {(13, 1): "R#(1) N %tokens*"},
    ("load_ptr_tko", 0x3D): {
        (
            13,
            1,
        ): "R R F[0=memory_scope,1=optimization_hints,2=mask,3=paddingValue,4=token] e:memory_ordering_semantics ?e:memory_scope ?dict:optimization_hints %source %mask? %paddingValue? %token?"
    },
    ("load_view_tko", 0x3E): {
        (
            13,
            1,
        ): "R#(2) F[0=memory_scope,1=optimization_hints,2=token] e:memory_ordering_semantics ?e:memory_scope ?dict:optimization_hints %view #%index* %token?",
        (
            13,
            4,
        ): "R#(2) F[0=memory_scope,1=optimization_hints,2=token] e:memory_ordering_semantics ?e:memory_scope ?dict:optimization_hints i8[]:inbounds %view #%index* %token?",
    },
    ("log", 0x3F): {(13, 1): "R %source"},
    ("log2", 0x40): {(13, 1): "R %source"},
    ("loop", 0x41): {(13, 1): "R#(n) N %initValues* G1"},
    ("make_partition_view", 0x42): {(13, 1): "R %tensor_view"},
    ("make_tensor_view", 0x43): {(13, 1): "R#(1) %base #%dynamicShape* #%dynamicStrides*"},
    ("make_token", 0x44): {(13, 1): "R"},
    ("maxf", 0x45): {(13, 1): "R F[0=propagate_nan,1=flush_to_zero] %lhs %rhs"},
    ("maxi", 0x46): {(13, 1): "R e:signedness %lhs %rhs"},
    ("minf", 0x47): {(13, 1): "R F[0=propagate_nan,1=flush_to_zero] %lhs %rhs"},
    ("mini", 0x48): {(13, 1): "R e:signedness %lhs %rhs"},
    ("mmaf", 0x49): {(13, 1): "R %lhs %rhs %acc", (13, 3): "R F[0=fast_acc] %lhs %rhs %acc"},
    ("mmai", 0x4A): {(13, 1): "R e:signedness_lhs e:signedness_rhs %lhs %rhs %acc"},
    ("mulf", 0x4C): {(13, 1): "R F[0=flush_to_zero] e:rounding_mode %lhs %rhs"},
    ("mulhii", 0x4D): {(13, 1): "R %x %y"},
    ("muli", 0x4E): {(13, 1): "R e:overflow %lhs %rhs"},
    ("negf", 0x4F): {(13, 1): "R %source"},
    ("negi", 0x50): {(13, 1): "R %source", (13, 2): "R e:overflow %source"},
    ("offset", 0x51): {(13, 1): "R %ptr %offset"},
    ("ori", 0x52): {(13, 1): "R %lhs %rhs"},
    ("permute", 0x53): {(13, 1): "R i32[]:permutation %source"},
    ("pow", 0x54): {(13, 1): "R %source %exponent"},
    ("print_tko", 0x55): {(13, 1): "R#(0) s:str #%args*", (13, 2): "R#(1) F[0=token] s:str #%args* %token?"},
    ("ptr_to_int", 0x56): {(13, 1): "R %source"},
    ("ptr_to_ptr", 0x57): {(13, 1): "R %source"},
    ("reduce", 0x58): {(13, 1): "R#(n) u:dim arr:identities N %operands* G1"},
    ("remf", 0x59): {(13, 1): "R %lhs %rhs"},
    ("remi", 0x5A): {(13, 1): "R e:signedness %lhs %rhs"},
    ("reshape", 0x5B): {(13, 1): "R %source"},
    ("return", 0x5C): {(13, 1): "R#(0) N %operands*"},
    ("rsqrt", 0x5D): {(13, 1): "R F[0=flush_to_zero] %source"},
    ("scan", 0x5E): {(13, 1): "R#(n) u:dim b:reverse arr:identities N %operands* G1"},
    ("select", 0x5F): {(13, 1): "R %cond %val_if_true %val_if_false"},
    ("shli", 0x60): {(13, 1): "R e:overflow %lhs %rhs"},
    ("shri", 0x61): {(13, 1): "R e:signedness %lhs %rhs"},
    ("sin", 0x62): {(13, 1): "R %source"},
    ("sinh", 0x63): {(13, 1): "R %source"},
    ("sqrt", 0x64): {(13, 1): "R F[0=flush_to_zero] e:rounding_mode %source"},
    ("store_ptr_tko", 0x65): {
        (
            13,
            1,
        ): "R F[0=memory_scope,1=optimization_hints,2=mask,3=token] e:memory_ordering_semantics ?e:memory_scope ?dict:optimization_hints %destination %value %mask? %token?"
    },
    ("store_view_tko", 0x66): {
        (
            13,
            1,
        ): "R#(1) F[0=memory_scope,1=optimization_hints,2=token] e:memory_ordering_semantics ?e:memory_scope ?dict:optimization_hints %tile %view #%index* %token?",
        (
            13,
            4,
        ): "R#(1) F[0=memory_scope,1=optimization_hints,2=token] e:memory_ordering_semantics ?e:memory_scope ?dict:optimization_hints i8[]:inbounds %tile %view #%index* %token?",
    },
    ("subf", 0x67): {(13, 1): "R F[0=flush_to_zero] e:rounding_mode %lhs %rhs"},
    ("subi", 0x68): {(13, 1): "R e:overflow %lhs %rhs"},
    ("tan", 0x69): {(13, 1): "R %source"},
    ("tanh", 0x6A): {(13, 1): "R %source", (13, 2): "R e:rounding_mode %source"},
    ("trunci", 0x6B): {(13, 1): "R e:overflow %from"},
    ("xori", 0x6C): {(13, 1): "R %lhs %rhs"},
    ("yield", 0x6D): {(13, 1): "R#(0) N %operands*"},
    ("atan2", 0x6E): {(13, 2): "R %x %y"},
    ("pack", 0x6F): {(13, 3): "R %source"},
    ("unpack", 0x70): {(13, 3): "R %source"},
    ("alloca", 0x71): {(13, 3): "R F[0=global] u:num_elem u:alignment"},
    ("mmaf_scaled", 0x72): {(13, 3): "R %lhs %rhs %acc %lhs_scale %rhs_scale"},
    ("make_gather_scatter_view", 0x73): {(13, 3): "R %tensor_view"},
    ("make_strided_view", 0x74): {(13, 3): "R %tensor_view"},
    ("atomic_red_view_tko", 0x75): {
        (13, 3): "R#(1) F[0=token] e:memory_ordering_semantics e:memory_scope e:mode %view #%index* %value %token?",
        (13, 5): (
            "R#(1) F[0=token] e:memory_ordering_semantics e:memory_scope e:mode i8[]:inbounds "
            "%view #%index* %value %token?"
        ),
    },
    ("insert", 0x76): {(13, 4): "R#(1) N %source %destination %indices*"},
    ("gdc_launch_dependents_tko", 0x77): {(13, 4): "R N %token?"},
    ("gdc_wait_tko", 0x78): {(13, 4): "R N %token?"},
    ("fpowi", 0x79): {(13, 4): "R %source %exponent"},
    ("memory_fence_alias_tko", 0x7A): {(13, 4): "R %token"},
    ("multimem_load_reduce_view_tko", 0x7B): {
        (13, 5): (
            "R#(2) F[0=memory_scope,1=token] e:memory_ordering_semantics ?e:memory_scope e:reduction i8[]:inbounds "
            "%view #%index* %token?"
        )
    },
    ("multimem_reduce_view_tko", 0x7C): {
        (13, 5): (
            "R#(1) F[0=token] e:memory_ordering_semantics e:memory_scope e:reduction i8[]:inbounds "
            "%view %tile #%index* %token?"
        )
    },
    ("multimem_store_view_tko", 0x7D): {
        (13, 5): (
            "R#(1) F[0=memory_scope,1=token] e:memory_ordering_semantics ?e:memory_scope i8[]:inbounds "
            "%view %tile #%index* %token?"
        )
    },
    ("preview$call", 0x4002): {
        (13, 5): "R#(n) F[0=arg_attrs,1=res_attrs] s:callee arr:const_args ?arr:arg_attrs ?arr:res_attrs N %operands*"
    },
}
VERSIONS: tuple[Version, ...] = ((13, 1), (13, 2), (13, 3), (13, 4), (13, 5))
MAXIMUM_OPCODE: dict[Version, int] = {(13, 1): 0x6D, (13, 2): 0x6E, (13, 3): 0x75, (13, 4): 0x7A, (13, 5): 0x7D}
STRUCTURE = {0x16: "entry", 0x31: "global", 0x4B: "module"}


def is_in(opcode: int, version: Version) -> bool:
    return opcode <= MAXIMUM_OPCODE[version] or (opcode == 0x4002 and version == (13, 5))


def expected(name: str, opcode: int, version: Version) -> str:
    changes = RECORDS[name, opcode]
    return changes[max(since for since in changes if since <= version)]


@pytest.mark.parametrize(
    ("name", "opcode", "version"),
    [(name, opcode, v) for name, opcode in RECORDS for v in VERSIONS if is_in(opcode, v)],
)
def test_record_is_what_nvidia_reads(name: str, opcode: int, version: Version) -> None:
    declaration = REGISTRY.by_name[f"cuda_tile.{name}"]
    assert declaration.opcode == opcode
    assert notation(declaration, version) == expected(name, opcode, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_opcode_of_a_version_has_a_record(version: Version) -> None:
    assert maximum_opcode(version) == MAXIMUM_OPCODE[version]
    known = {opcode for _, opcode in RECORDS if is_in(opcode, version)}
    assert set(records_of(version)) == known


def test_13_1_has_92_operations() -> None:
    """The bytecode draft counts the ones that are sections of a file as well."""
    assert len(records_of((13, 1))) + len(STRUCTURE) == 92


def test_opcodes_of_13_1_are_dense_but_for_the_private_ones() -> None:
    private = {*range(0x19, 0x25), *range(0x34, 0x3A)}
    assert {*records_of((13, 1)), *STRUCTURE, *private} == {*range(110)}


def test_documented_layout_has_the_opcodes_of_13_1() -> None:
    assert set(documented_records()) == set(records_of((13, 1)))


@pytest.mark.parametrize(
    ("mnemonic", "name"),
    [
        ("addi", "AddIOp"),
        ("absf", "AbsFOp"),
        ("xori", "XOrIOp"),
        ("ftof", "FToFOp"),
        ("shli", "ShLIOp"),
        ("mulhii", "MulhiIOp"),
        ("exp2", "Exp2Op"),
        ("tanh", "TanHOp"),
        ("atomic_cas_tko", "AtomicCASTkoOp"),
        ("atomic_red_view_tko", "AtomicRedViewTkoOp"),
        ("get_tile_block_id", "GetTileBlockIdOp"),
        ("mmaf_scaled", "MmaFScaledOp"),
        ("fpowf", "FPowFOp"),
        ("select", "SelectOp"),
        ("atan2", "Atan2Op"),
    ],
)
def test_class_name_is_the_one_in_nvidias_messages(mnemonic: str, name: str) -> None:
    assert Record(REGISTRY.by_name[f"cuda_tile.{mnemonic}"], NEWEST).class_name == name


def test_the_reference_has_the_same_records() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "operations" / "records.md").read_text(encoding="utf-8")
    found: dict[tuple[str, int], dict[Version, str]] = {}
    row: tuple[str, int] = ("", 0)
    for opcode, name, minor, record in re.findall(
        r"^\| (0x..(?:..)?|) \| ([\w$]*) \| 13\.(\d) \| `(.*)` \|$", page, re.MULTILINE
    ):
        row = (name, int(opcode, 16)) if opcode else row
        found.setdefault(row, {})[13, int(minor)] = record
    assert found == RECORDS
