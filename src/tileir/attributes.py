"""The attributes and locations of a program, for people who read or build one in Python.

`operation.attribute("name")` gives one of these classes; `operation.set_attribute`, the builder and
`Rewriter.create` take them.  There is one object for each: compare with `is`.

>>> from tileir.attributes import *
>>> from tileir.types import f32, i32, i64, tile
>>> array_attribute((integer_attribute(i32, 1), bool_attribute(True), float_attribute(f32, 0), string_attribute("x")))
[1 : i32, true, 0.000000e+00 : f32, "x"]
>>> dictionary_attribute({"type": type_attribute(f32), "kernel": symbol_attribute("k")})
{kernel = @k, type = f32}
>>> dense_array_attribute(i64, (1, 2))
array<i64: 1, 2>
>>> dense_attribute(tile((2,), i32), (2,), i32, numpy.array([1, 2], "i4").tobytes())
dense<[1, 2]> : !cuda_tile.tile<2xi32>
>>> bounded(0, 8), div_by(16), same_elements((1, 2)), unit_attribute
(#cuda_tile.bounded<0, 8>, #cuda_tile.div_by<16>, #cuda_tile.same_elements<[1, 2]>, unit)
>>> optimization_hints(dictionary_attribute({"sm_90": dictionary_attribute({"latency": integer_attribute(i32, 2)})}))
#cuda_tile.optimization_hints<sm_90 = {latency = 2 : i32}>
>>> here = file_location("k.py", 1, 2)
>>> fused_location((here, call_site_location(here, unknown_location), name_location("x", here)))
loc(fused["k.py":1:2, callsite("k.py":1:2 at unknown), "x"("k.py":1:2)])
>>> file = di_file("k.py", ".")
>>> kernel = di_subprogram(file, 1, "k", "k", di_compile_unit(file))
>>> di_location(here, di_lexical_block(kernel, file, 1, 1)).text[:40]
'#cuda_tile.di_loc<loc("k.py":1:2) in #cu'
"""

from __future__ import annotations

from tileir import interface as _interface  # noqa: F401  (gives attributes their pickled form)
from tileir.dialect.attributes import (
    BoundedAttribute,
    DivByAttribute,
    OptimizationHintsAttribute,
    PredicateAttribute,
    SameElementsAttribute,
    bounded,
    div_by,
    optimization_hints,
    same_elements,
)
from tileir.dialect.debug_info import (
    DebugScope,
    DICompileUnit,
    DIFile,
    DILexicalBlock,
    DILocation,
    DISubprogram,
    LocalScope,
    di_compile_unit,
    di_file,
    di_lexical_block,
    di_location,
    di_subprogram,
)
from tileir.ir.attributes import UNIT as unit_attribute
from tileir.ir.attributes import (
    ArrayAttribute,
    Attribute,
    DenseArrayAttribute,
    DictionaryAttribute,
    EnumAttribute,
    EnumKind,
    FloatAttribute,
    IntegerAttribute,
    OpaqueAttribute,
    StringAttribute,
    SymbolAttribute,
    TypeAttribute,
    UnitAttribute,
    array_attribute,
    bool_attribute,
    dense_array_attribute,
    dictionary_attribute,
    float_attribute,
    integer_attribute,
    string_attribute,
    symbol_attribute,
    type_attribute,
)
from tileir.ir.dense import DenseAttribute, dense_attribute
from tileir.ir.location import UNKNOWN as unknown_location
from tileir.ir.location import (
    CallSiteLocation,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    OpaqueLocation,
    SourceText,
    TextLocation,
    UnknownLocation,
    call_site_location,
    file_location,
    fused_location,
    name_location,
)

__all__ = [
    "ArrayAttribute", "Attribute", "BoundedAttribute", "CallSiteLocation", "DICompileUnit", "DIFile",
    "DILexicalBlock", "DILocation", "DISubprogram", "DebugScope", "DenseArrayAttribute", "DenseAttribute",
    "DictionaryAttribute", "DivByAttribute", "EnumAttribute", "EnumKind", "FileLocation", "FloatAttribute",
    "FusedLocation", "IntegerAttribute", "LocalScope", "Location", "NameLocation", "OpaqueAttribute",
    "OpaqueLocation", "OptimizationHintsAttribute", "PredicateAttribute", "SameElementsAttribute", "SourceText",
    "StringAttribute", "SymbolAttribute", "TextLocation", "TypeAttribute", "UnitAttribute", "UnknownLocation",
    "array_attribute", "bool_attribute", "bounded", "call_site_location", "dense_array_attribute",
    "dense_attribute", "di_compile_unit", "di_file", "di_lexical_block", "di_location", "di_subprogram",
    "dictionary_attribute", "div_by", "file_location", "float_attribute", "fused_location", "integer_attribute",
    "name_location", "optimization_hints", "same_elements", "string_attribute", "symbol_attribute",
    "type_attribute", "unit_attribute", "unknown_location",
]  # fmt: skip
