"""Which operations there are: the facts the declarations are held against.

The operations draft lists 104 operations, each with a section; the public dialect has 92 in 13.1, and 1, 7 and 5 more in 13.2, 13.3
and 13.4, each with an opcode.  13.5 has 4 more, from CUDA Tile C++ 13.5 and cuda-tile 1.7; no assembler reads them yet.  Written down here a second time, on purpose: a slip in a declaration must not go unnoticed.
"""

from __future__ import annotations

#: name@section, in the order of the draft, which numbers two sections 8.8.2 and one 8.85.
_DRAFT = """
    broadcast@8.3.1 cat@8.3.2 constant@8.3.3 entry@8.3.4 extract@8.3.5 get_global@8.3.6
    get_num_tile_blocks@8.3.7 get_tile_block_id@8.3.8 global@8.3.9 iota@8.3.10 module@8.3.11 offset@8.3.12
    permute@8.3.13 reduce@8.3.14 reshape@8.3.15 scan@8.3.16 select@8.3.17 bitcast@8.4.1 exti@8.4.2 ftof@8.4.3
    ftoi@8.4.4 itof@8.4.5 int_to_ptr@8.4.6 ptr_to_int@8.4.7 ptr_to_ptr@8.4.8 trunci@8.4.9 assert@8.5.1
    break@8.5.2 continue@8.5.3 for@8.5.4 if@8.5.5 loop@8.5.6 return@8.5.7 yield@8.5.8 join_tokens@8.6.1
    load_ptr_tko@8.6.2 make_token@8.6.3 store_ptr_tko@8.6.4 absf@8.7.3 addf@8.7.4 ceil@8.7.5 cmpf@8.7.6
    cosh@8.7.7 cos@8.7.8 divf@8.7.9 exp2@8.7.10 exp@8.7.11 floor@8.7.12 fma@8.7.13 log10@8.7.14 log1p@8.7.15
    log2@8.7.16 log@8.7.17 maxf@8.7.18 maximumf@8.7.19 minf@8.7.20 minimumf@8.7.21 mulf@8.7.22 negf@8.7.23
    powf@8.7.24 recipf@8.7.25 remf@8.7.26 rsqrt@8.7.27 sigmoid@8.7.28 sinh@8.7.29 sin@8.7.30 sqrt@8.7.31
    subf@8.7.32 tanhf@8.7.33 tanh@8.7.34 addi@8.8.2 absi@8.8.2 divi@8.85 maxi@8.8.6 mini@8.8.7 mulhi@8.8.8
    muli@8.8.9 negsi@8.8.10 remi@8.8.11 shli@8.8.12 shri@8.8.13 subi@8.8.14 andi@8.9.1 ori@8.9.2 xori@8.9.3
    noti@8.9.4 popcnt@8.9.5 clz@8.9.6 ctz@8.9.7 brev@8.9.8 atomic_cas_tko@8.10.1 atomic_rmw_tko@8.10.2
    atomic_load_tko@8.10.3 atomic_store_tko@8.10.4 get_index_space_shape@8.11.1 get_tensor_shape@8.11.2
    load_view_tko@8.11.3 make_partition_view@8.11.4 make_tensor_view@8.11.5 store_view_tko@8.11.6
    unrealized_conversion_cast@8.12.1 print@8.12.2 assume@8.12.3 barrier@8.12.4
"""

#: name@opcode, by the version that brought the operation.
_PUBLIC = {
    (13, 1): """
    absf@00 absi@01 addf@02 addi@03 andi@04 assert@05 assume@06 atomic_cas_tko@07 atomic_rmw_tko@08 bitcast@09
    break@0A broadcast@0B cat@0C ceil@0D cmpf@0E cmpi@0F constant@10 continue@11 cos@12 cosh@13 divf@14 divi@15
    entry@16 exp@17 exp2@18 exti@25 extract@26 floor@27 fma@28 for@29 ftof@2A ftoi@2B get_global@2C
    get_index_space_shape@2D get_num_tile_blocks@2E get_tensor_shape@2F get_tile_block_id@30 global@31 if@32
    int_to_ptr@33 iota@3A itof@3B join_tokens@3C load_ptr_tko@3D load_view_tko@3E log@3F log2@40 loop@41
    make_partition_view@42 make_tensor_view@43 make_token@44 maxf@45 maxi@46 minf@47 mini@48 mmaf@49 mmai@4A
    module@4B mulf@4C mulhii@4D muli@4E negf@4F negi@50 offset@51 ori@52 permute@53 pow@54 print_tko@55
    ptr_to_int@56 ptr_to_ptr@57 reduce@58 remf@59 remi@5A reshape@5B return@5C rsqrt@5D scan@5E select@5F
    shli@60 shri@61 sin@62 sinh@63 sqrt@64 store_ptr_tko@65 store_view_tko@66 subf@67 subi@68 tan@69 tanh@6A
    trunci@6B xori@6C yield@6D
    """,
    (13, 2): """
    atan2@6E
    """,
    (13, 3): """
    pack@6F unpack@70 alloca@71 mmaf_scaled@72 make_gather_scatter_view@73 make_strided_view@74
    atomic_red_view_tko@75
    """,
    (13, 4): """
    insert@76 gdc_launch_dependents_tko@77 gdc_wait_tko@78 fpowi@79 memory_fence_alias_tko@7A
    """,
    (13, 5): """
    multimem_load_reduce_view_tko@7B multimem_reduce_view_tko@7C multimem_store_view_tko@7D
    preview$call@4002
    """,
}

DRAFT_SECTIONS: dict[str, str] = dict(pair.split("@") for pair in _DRAFT.split())
PUBLIC: dict[str, tuple[tuple[int, int], int]] = {
    name: (version, int(opcode, 16))
    for version, names in _PUBLIC.items()
    for name, opcode in (pair.split("@") for pair in names.split())
}

#: Draft names of public operations; the last one names an operation that the draft has under its public name too.
DRAFT_NAMES: dict[str, str] = {
    "mulhi": "mulhii",
    "negsi": "negi",
    "powf": "pow",
    "print": "print_tko",
    "tanhf": "tanh",
}

#: What came later than the operation it belongs to: (operation, name) -> version.
LATER: dict[tuple[str, str], tuple[int, int]] = {
    ("for", "unsignedCmp"): (13, 2),
    ("negi", "overflow"): (13, 2),
    ("print_tko", "token"): (13, 2),
    ("print_tko", "result_token"): (13, 2),
    ("tanh", "rounding_mode"): (13, 2),
    ("exp", "rounding_mode"): (13, 3),
    ("global", "constant"): (13, 3),
    ("global", "symbol_visibility"): (13, 3),
    ("mmaf", "fast_acc"): (13, 3),
    ("module", "producer"): (13, 3),
    ("ftoi", "saturating"): (13, 4),
    ("load_view_tko", "inbounds"): (13, 4),
    ("store_view_tko", "inbounds"): (13, 4),
    ("atomic_red_view_tko", "inbounds"): (13, 5),
}
