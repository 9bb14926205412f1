"""What a program is made of: modules, kernels, global variables and the grid (the operations draft, section 8.3)."""

from __future__ import annotations

from tileir.annotations import Final
from tileir.dialect.attributes import HINTS_ATTRIBUTE, verify_hints
from tileir.dialect.constraints import (
    DENSE,
    DICTIONARY_ARRAY,
    FLAT_SYMBOL,
    FUNCTION_TYPE,
    INTEGER_I64,
    SCALAR_I32,
    SCALAR_POINTER,
    STRING,
    SYMBOL_NAME,
    UNIT_ATTRIBUTE,
    enum_attribute,
    tile_type_of,
)
from tileir.dialect.construct import ptr
from tileir.dialect.debug_info import verify_body_scopes, verify_function_scope, verify_module_scopes
from tileir.dialect.enums import SYMBOL_VISIBILITY
from tileir.dialect.inference import Call, Inference
from tileir.dialect.ops.control_flow import RETURN
from tileir.dialect.rules import signature, verify_function, verify_terminator
from tileir.dialect.types import PointerType, TileType, scalar_tile
from tileir.ir.attributes import SymbolAttribute, integer_attribute
from tileir.ir.core import Operation
from tileir.ir.declaration import OperationDeclaration, RegionDeclaration, VerifyContext, attribute, result
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import Code, Invalid
from tileir.ir.symbols import verify_symbol
from tileir.ir.traits import GRAPH_REGION, ISOLATED, NO_TERMINATOR, PURE, SINGLE_BLOCK, SYMBOL, SYMBOL_TABLE
from tileir.ir.types import I32, I64, Type
from tileir.ir.versions import V13_3

CHAPTER: Final = "Core"

_SCALAR_I32_TYPE: Final = scalar_tile(I32)


def _verify_module(operation: Operation, context: VerifyContext) -> None:
    for region in operation.regions:
        if region.blocks and region.blocks[0].arguments:
            raise Invalid("region should have no arguments")
    verify_module_scopes(operation, context)


MODULE: Final[OperationDeclaration] = OperationDeclaration(
    "module",
    section="8.3.11",
    opcode=0x4B,
    summary="A compilation unit: kernels and global variables",
    description=(
        "Holds the kernels and global variables that are compiled together.  It is the outermost operation of a "
        "program and a symbol table: names inside it are unique, and references inside it mean its symbols.  "
        "The order of its items has no meaning.  `producer` names the tool that made the program; 13.3 added it."
    ),
    example='cuda_tile.module @kernels attributes {producer = "example"} {\n  entry @k() {\n    return\n  }\n}',
    attributes=(
        attribute("sym_name", SYMBOL_NAME, "the name of the module"),
        attribute("producer", STRING, "the tool that made the program", optional=True, since=V13_3),
    ),
    regions=(RegionDeclaration("body", -1, "the items"),),
    traits=ISOLATED | SYMBOL_TABLE | GRAPH_REGION | NO_TERMINATOR | SINGLE_BLOCK,
    verify=_verify_module,
    syntax="module",
)


def _verify_entry(operation: Operation, context: VerifyContext) -> None:
    verify_function(operation)
    if signature(operation).results:
        raise Invalid("entry op must not return values")
    for type in signature(operation).inputs:
        if isinstance(type, TileType) and type.shape:
            raise Invalid("entry op must have scalar types (rank 0 !cuda_tile.tile)")
    verify_function_scope(operation)
    verify_hints(operation, context, "entry")


def _verify_entry_body(operation: Operation, context: VerifyContext) -> None:
    verify_terminator(operation)
    verify_body_scopes(operation, context)


ENTRY: Final[OperationDeclaration] = OperationDeclaration(
    "entry",
    section="8.3.4",
    opcode=0x16,
    summary="A kernel the host can launch",
    description=(
        "Defines a kernel.  A launch has the extents of a grid of up to three dimensions; the body runs once for "
        "each tile block of the grid, in any order and in parallel.  A kernel returns nothing; its tile arguments "
        "are scalars (0-D tiles).  `optimization_hints` holds advice per architecture that never changes what the "
        "kernel computes."
    ),
    example=(
        "entry @k(%data: tile<ptr<f32>>, %n: tile<i32>) optimization_hints=<sm_100 = {num_cta_in_cga = 2}> {\n"
        "  return\n"
        "}"
    ),
    attributes=(
        attribute("sym_name", SYMBOL_NAME, "the name of the kernel"),
        attribute("function_type", FUNCTION_TYPE, "the types of the arguments"),
        attribute("arg_attrs", DICTIONARY_ARRAY, "attributes of the arguments; none has a meaning", optional=True),
        attribute("res_attrs", DICTIONARY_ARRAY, "attributes of the results; none has a meaning", optional=True),
        attribute("optimization_hints", HINTS_ATTRIBUTE, "advice per architecture", optional=True),
    ),
    regions=(RegionDeclaration("body", 1, "what each tile block executes", RETURN),),
    traits=ISOLATED | SYMBOL | SINGLE_BLOCK,
    verify=_verify_entry,
    verify_regions=_verify_entry_body,
    syntax="function",
)


def _verify_global(operation: Operation, context: VerifyContext) -> None:
    verify_symbol(operation)
    if len(operation.value_attribute.shape) != 1:
        raise Invalid("type must have rank 1")


GLOBAL: Final[OperationDeclaration] = OperationDeclaration(
    "global",
    section="8.3.9",
    opcode=0x31,
    summary="A variable in global memory",
    description=(
        "Allocates a one-dimensional array in global memory when the module is loaded, with `value` as its initial "
        "contents in linear order; it lives as long as the module.  `get_global` returns its address.  `alignment` is in "
        "bytes, 0 leaves it to the compiler.  Writing to a `constant` global is undefined behavior.  A global stands "
        "directly in a module, and its name is unique there.  `constant` and the visibility came with 13.3."
    ),
    example="global @table alignment = 128 <f32: [0.5, 1.5, 2.5, 3.5]> : tile<4xf32>",
    attributes=(
        attribute("sym_name", SYMBOL_NAME, "the name of the variable"),
        attribute("value", DENSE, "the initial contents"),
        attribute("alignment", INTEGER_I64, "the alignment in bytes, 0 for any", integer_attribute(I64, 0)),
        attribute("constant", UNIT_ATTRIBUTE, "whether it is read-only", optional=True, since=V13_3),
        attribute(
            "symbol_visibility",
            enum_attribute(SYMBOL_VISIBILITY, ""),
            "whether other modules see it",
            SYMBOL_VISIBILITY["public"],
            since=V13_3,
        ),
    ),
    traits=SYMBOL,
    verify=_verify_global,
    reads_program=True,
    syntax="global",
)


def _verify_get_global(operation: Operation, context: VerifyContext) -> None:
    reference = operation.attributes.get("name")
    if not isinstance(reference, SymbolAttribute):
        return
    (name,) = reference.path
    found = context.symbols.lookup(operation, name)
    value = found.attributes.get("value") if found is not None and found.declaration is GLOBAL else None
    if not isinstance(value, DenseAttribute):
        raise Invalid(f"'{name}' does not reference a valid global", code=Code("undefined-symbol"))
    pointer = tile_type_of(operation.results[0]).element
    if isinstance(pointer, PointerType) and pointer.pointee is not value.element_type:
        raise Invalid(
            f"pointee type of result type '{pointer.text}' does not match type '{value.element_type.text}' "
            f"of the global @{name}"
        )


def _global_pointer(call: Call) -> list[Type]:
    reference = call.attributes.get("name")
    name = reference.path[0] if isinstance(reference, SymbolAttribute) else ""
    found = call.symbols.lookup_again(call.block, name)
    value = found.attributes.get("value") if found is not None else None
    if not isinstance(value, DenseAttribute):
        call.fail(f"the module has no global '{name}'")
    return [scalar_tile(ptr(value.element_type))]


GET_GLOBAL: Final[OperationDeclaration] = OperationDeclaration(
    "get_global",
    section="8.3.6",
    opcode=0x2C,
    summary="The address of a global variable",
    description=(
        "Returns a pointer to the first element of a `global` of the same module.  The pointee type is the element "
        "type of the global.  Element `i` is reached by offsetting the pointer by `i`."
    ),
    example="%p = get_global @table : tile<ptr<f32>>",
    attributes=(attribute("name", FLAT_SYMBOL, "the variable"),),
    results=(result("result", SCALAR_POINTER, "a pointer to its first element"),),
    traits=PURE,
    verify=_verify_get_global,
    reads_program=True,
    inference=Inference(_global_pointer),
    syntax="$name attr-dict ':' type($result)",
)
GET_NUM_TILE_BLOCKS: Final[OperationDeclaration] = OperationDeclaration(
    "get_num_tile_blocks",
    section="8.3.7",
    opcode=0x2E,
    summary="The extents of the grid",
    description=(
        "Returns the number of tile blocks of the launch along x, y and z.  A dimension the launch did not mention "
        "has extent 1."
    ),
    example="%x, %y, %z = get_num_tile_blocks : tile<i32>",
    results=(
        result("gridSize_x", SCALAR_I32, "tile blocks along x"),
        result("gridSize_y", SCALAR_I32, "tile blocks along y"),
        result("gridSize_z", SCALAR_I32, "tile blocks along z"),
    ),
    traits=PURE,
    fixed_types={"gridSize_y": _SCALAR_I32_TYPE, "gridSize_z": _SCALAR_I32_TYPE},
    name_hints=("gridSize_x", "gridSize_y", "gridSize_z"),
    syntax="attr-dict grid-type",
)
GET_TILE_BLOCK_ID: Final[OperationDeclaration] = OperationDeclaration(
    "get_tile_block_id",
    section="8.3.8",
    opcode=0x30,
    summary="The coordinates of this tile block",
    description=(
        "Returns the position of the executing tile block in the grid.  Each coordinate runs from 0 to one less than "
        "what `get_num_tile_blocks` returns for that dimension; it is 0 in a dimension the launch did not mention."
    ),
    example="%x, %y, %z = get_tile_block_id : tile<i32>",
    results=(
        result("blockId_x", SCALAR_I32, "the coordinate along x"),
        result("blockId_y", SCALAR_I32, "the coordinate along y"),
        result("blockId_z", SCALAR_I32, "the coordinate along z"),
    ),
    traits=PURE,
    fixed_types={"blockId_y": _SCALAR_I32_TYPE, "blockId_z": _SCALAR_I32_TYPE},
    name_hints=("blockId_x", "blockId_y", "blockId_z"),
    syntax="attr-dict grid-type",
)


def _verify_builtin_module(operation: Operation, context: VerifyContext) -> None:
    for name in operation.attributes:
        if "." not in name and name not in operation.declaration.inherent:
            raise Invalid(f"can only contain attributes with dialect-prefixed names, found: '{name}'")


BUILTIN_MODULE: Final[OperationDeclaration] = OperationDeclaration(
    "module",
    dialect="builtin",
    chapter="Builtin",
    summary="The module MLIR puts around a program",
    description=(
        "Holds whatever a text holds at its outermost level.  Reading a text puts one around it unless it has one; "
        "it is written out only where requested.  Like `cuda_tile.module` it is a symbol table."
    ),
    example="builtin.module {\n}",
    attributes=(
        attribute("sym_name", SYMBOL_NAME, "the name; usually absent", optional=True),
        attribute("sym_visibility", STRING, "the visibility of the name", optional=True),
    ),
    regions=(RegionDeclaration("bodyRegion", 1, "the contents"),),
    traits=ISOLATED | SYMBOL_TABLE | GRAPH_REGION | NO_TERMINATOR | SINGLE_BLOCK,
    verify=_verify_builtin_module,
    syntax="module-wrapper",
)
