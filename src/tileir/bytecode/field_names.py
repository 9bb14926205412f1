"""What the annotated dump calls a field: the reader's word for it, which is the line it would fail with, cleaned."""

from __future__ import annotations

import re

from tileir.annotations import Final

_CLEANING: Final = [
    (re.compile(r"^failed to (read|get|skip) "), ""),
    (re.compile(r"\.$"), ""),
    (re.compile(r" when parsing \w+$"), ""),
    (re.compile(r" for \w+Op$"), ""),
    (re.compile(r"^value for '(\w+)' in \w+$"), r"\1"),
    (re.compile(r"^(.*) for (?:DivBy|Bounded)Attr$"), r"\1"),
    (re.compile(r"^function location for '.*'$"), "location"),
    (re.compile(r"^DenseI64ArrayAttr(?: values)?(?: for \w+)?$"), "values"),
    (re.compile(r"^valid MLIR Type for .*$"), "type"),
    (re.compile(r"^(.*) attribute$"), r"\1"),
    (re.compile(r" data$"), ""),
    (re.compile(r"^(\w+)Type type$"), r"\1 type"),
    (re.compile(r"^global "), ""),
    (re.compile(r"^operand index for (\w+) segment, element (\d+)$"), r"operand \1[\2]"),
    (re.compile(r"^operand index (\d+)$"), r"operand \1"),
    (re.compile(r"^actual size for variadic ODS segment '(\w+)' of op '.*'$"), r"operand \1 count"),
    (re.compile(r"^block argument type: (\d+)$"), r"argument type \1"),
    (re.compile(r"^key for DictionaryAttr element (\d+)$"), r"key \1"),
    (re.compile(r"^VarInt for inline integer .*$"), "integer"),
    (re.compile(r"^valid (\w+) for (Integer|Float)Attr$"), "type"),
    (re.compile(r"^attribute '(.*)'$"), r"\1"),
    (re.compile(r"^(.*)_val$"), r"\1"),
    (re.compile(r"^number of (.*)s(?: for \w+)?$"), r"\1 count"),
]

# Where the reader's word says little to somebody who looks at bytes.
_NAMES: Final[dict[str, str]] = {
    "unexpected end of data while reading section header": "section id",
    "section length": "length",
    "operation opcode": "opcode",
    "flags field": "flags",
    "optional parameter flags": "flags",
    "result type count": "result count",
    "VarInt for enum": "enumerator",
    "number of regions to parse": "region count",
    "region block count": "block count",
    "block argument count": "argument count",
    "block operation count": "operation count",
    "AttributeTag for self-contained": "attribute tag",
    "AttributeTag for self-contained attribute": "attribute tag",
    "the size of the data buffer": "byte count",
    "the raw byte": "bytes",
    "total number of operations with debug info": "function count",
    "total number of debug info indices": "index count",
    "total number of debug info attributes": "attribute count",
    "debug info index offsets": "first entry",
    "debug info indices": "entry",
    "debug info offsets": "offset",
    "number of global": "global count",
    "symbol name string": "name",
    "value type": "type",
    "value constant index": "value",
    "symbol visibility": "visibility",
    "StringAttr": "string",
    "string for FlatSymbolRefAttr": "symbol",
    "referenced type for TypeAttr": "type",
    "byte for inline bool (i1)": "bool",
    "byte for APInt (<= 8 bits)": "bits",
    "signed varint for APInt (<= 64 bits)": "bits",
    "size for ArrayAttr": "element count",
    "size for DictionaryAttr": "entry count",
    "DenseI32ArrayAttr values": "values",
    "DenseBoolArrayAttr values": "values",
    "lb": "lower bound",
    "ub": "upper bound",
    "producer string index": "producer",
    "operation location": "location",
    "function body length": "body length",
    "function name": "name",
    "function signature": "signature",
    "function flags": "flags",
    "attribute dictionary": "dictionary",
    "attribute offset": "offset",
    "flags byte": "flags",
}

# The fields of a group that have no word of their own, in order.
UNNAMED: Final[dict[str, tuple[str, ...]]] = {
    "header": ("major version", "minor version", "tag"),
    "section header": ("alignment",),
    "String": ("string count",),
    "Type": ("type count",),
    "Constant": ("constant count",),
    "Func": ("function count",),
    "function": ("name", "signature", "flags", "location", "body length"),
    "type": ("tag", "has padding"),
    "debug attribute": ("tag",),
}


def field_name(what: str) -> str:
    """The name of a field from the line its reader would fail with."""
    found = _known.get(what)
    if found is None:
        found = what
        for pattern, replacement in _CLEANING:
            found = pattern.sub(replacement, found)
        if len(_known) > _MOST_KNOWN:
            # Some lines hold names of the file.
            _known.clear()
        found = _known[what] = _NAMES.get(found, found)
    return found


_known: Final[dict[str, str]] = {}
_MOST_KNOWN: Final = 4096
