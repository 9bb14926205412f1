"""The attributes and locations of a program, for people who read or build one in Python.

`operation.attribute("name")` gives one of these classes; `operation.set_attribute`, the builder and
`Rewriter.create` take them.  There is one object for each: compare with `is`.
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
