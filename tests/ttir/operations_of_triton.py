"""The operations that Triton's frontend makes, from 3.5 to 3.9: what each method of its builder makes."""

from __future__ import annotations

COMPARISONS = ("EQ", "NE", "SGE", "SGT", "SLE", "SLT", "UGE", "UGT", "ULE", "ULT")
FLOAT_COMPARISONS = tuple(f"{order}{relation}" for order in "OU" for relation in ("EQ", "GE", "GT", "LE", "LT", "NE"))

SAME_NAME = """
addptr advance assert atomic_cas atomic_load atomic_poll atomic_rmw atomic_store bitcast broadcast cat clampf
approx_divf precise_divf precise_sqrt descriptor_gather descriptor_load descriptor_reduce descriptor_scatter
descriptor_store dot dot_scaled expand_dims extern_elementwise fp_to_fp gather get_num_programs get_program_id
grid_dependency_launch_dependents grid_dependency_wait histogram int_to_ptr join load make_range
make_tensor_descriptor map_elementwise print ptr_to_int reduce reshape scan splat split store trans unsplat
"""
MATHEMATICS = "ceil cos erf exp exp2 floor fma log log2 rsqrt sin sqrt"

BUILDER: dict[str, tuple[str, ...]] = {
    **{f"icmp{each}": ("arith.cmpi",) for each in COMPARISONS},
    **{f"fcmp{each}": ("arith.cmpf",) for each in FLOAT_COMPARISONS},
    "add": ("arith.addi",),
    "and": ("arith.andi",),
    "ashr": ("arith.shrsi",),
    "assume": ("llvm.intr.assume",),
    "barrier": ("gpu.barrier", "ttg.barrier"),
    "branch": ("cf.br",),
    "cond_branch": ("cf.cond_br",),
    "condition_op": ("scf.condition",),
    "fabs": ("math.absf",),
    "fadd": ("arith.addf",),
    "fdiv": ("arith.divf",),
    "fmul": ("arith.mulf",),
    "fneg": ("arith.negf",),
    "for_op": ("scf.for",),
    "fp_ext": ("arith.extf",),
    "fp_to_si": ("arith.fptosi",),
    "fp_to_ui": ("arith.fptoui",),
    "fp_trunc": ("arith.truncf",),
    "frem": ("arith.remf",),
    "fsub": ("arith.subf",),
    "iabs": ("math.absi",),
    "if_op": ("scf.if",),
    "inline_asm": ("tt.elementwise_inline_asm",),
    "int_cast": ("arith.extsi", "arith.extui", "arith.trunci"),
    "lshr": ("arith.shrui",),
    "make_block_ptr": ("tt.make_tensor_ptr",),
    "map_elementwise_ret": ("tt.map_elementwise.return",),
    "masked_load": ("tt.load",),
    "masked_store": ("tt.store",),
    "mul": ("arith.muli",),
    "or": ("arith.ori",),
    "poison": ("ub.poison",),
    "reduce_ret": ("tt.reduce.return",),
    "scan_ret": ("tt.scan.return",),
    "sdiv": ("arith.divsi",),
    "select": ("arith.select",),
    "shl": ("arith.shli",),
    "si_to_fp": ("arith.sitofp",),
    "srem": ("arith.remsi",),
    "sub": ("arith.subi",),
    "tensor_pointer_load": ("tt.load",),
    "tensor_pointer_store": ("tt.store",),
    "udiv": ("arith.divui",),
    "ui_to_fp": ("arith.uitofp",),
    "umulhi": ("tt.mulhiui",),
    "urem": ("arith.remui",),
    "while_op": ("scf.while",),
    "xor": ("arith.xori",),
    "yield_op": ("scf.yield",),
    **{f"{sign}{each}": (f"arith.{sign}{each}",) for sign in ("max", "min") for each in ("imumf", "numf", "si", "ui")},
    **{name: (f"math.{name}",) for name in MATHEMATICS.split()},
    **{name: (f"tt.{name}",) for name in SAME_NAME.split()},
    # These make no operation of a kernel.
    **dict.fromkeys(("block", "block_with_parent", "loc", "module", "name_loc", "tensor_descriptor_type"), ()),
}

# Constants, functions, and casts that canonicalizing makes.
OTHERS = ("arith.bitcast", "arith.constant", "tt.call", "tt.func", "tt.return")
OPERATIONS = sorted({*OTHERS, *[name for names in BUILDER.values() for name in names]})
"""The names of all operations."""
# What ends a block or a region; the rule of the operation around it reads it.
TERMINATORS = {
    *("cf.br", "cf.cond_br", "scf.condition", "scf.yield"),
    *("tt.map_elementwise.return", "tt.reduce.return", "tt.return", "tt.scan.return"),
}
