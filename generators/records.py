"""The record of each operation in bytecode: docs/reference/operations/records.md.

The notation is explained at the top of the page.
"""

from __future__ import annotations

from typing import Final

from tileir.bytecode.records import COUNTED, SEGMENTED, UNIT, Record, records_of
from tileir.ir.declaration import VARIADIC, OperationDeclaration
from tileir.ir.versions import VERSIONS, Version, version_text

_HEAD: Final = """\
# Records in bytecode

<!-- Written by `make docs` from the declarations; edit those. -->

What follows the opcode of each operation in the public layout ([bytecode](../bytecode.md#6-functions)). A record
applies until the version of the next row.

| notation | bytes |
|---|---|
| `R` | a result type |
| `R#(k)` | the number of results k, and their types |
| `F[0=x]` | flags and their bits |
| `e:` `u:` `b:` `s:` | an enumerator, an integer, a bool, a string |
| `const:` `i32[]:` `i8[]:` `arr:` `dict:` `tag:` | a constant, lists, an array, hints, a predicate |
| `?` in front | only if flagged |
| `N` | the number of operands |
| `%x` `%x?` `%x*` `#%x*` | an operand, one that is flagged, any number, any number preceded by their count |
| `G1` | one region |

| opcode | operation | from | record |
|---|---|---|---|
"""


def records() -> str:
    """The page: of each operation the record of its first version, and of each later one that changed it."""
    lines: list[str] = []
    for opcode in sorted({opcode for version in VERSIONS for opcode in records_of(version)}):
        before = ""
        for version in VERSIONS:
            record = records_of(version).get(opcode)
            text = notation(record.declaration, version) if record is not None else before
            if record is not None and text != before:
                head = "|  |  |" if before else f"| 0x{opcode:02X} | {record.declaration.mnemonic} |"
                lines.append(f"{head} {version_text(version)} | `{text}` |")
                before = text
    return _HEAD + "\n".join(lines) + "\n"


def notation(declaration: OperationDeclaration, version: Version) -> str:
    record = Record(declaration, version)
    parts: list[str] = []
    if record.counted_results:
        several = any(r.count == VARIADIC for r in declaration.results)
        parts.append("R#(n)" if several else f"R#({record.result_count})")
    else:
        parts.extend(["R"] * record.result_count)
    flags = [(f.bit, f.name) for f in record.attributes if f.bit >= 0]
    flags += [(b, o.name) for b, o in zip(record.operand_bits, declaration.operands, strict=True) if b >= 0]
    if record.has_flags:
        parts.append("F[" + ",".join([f"{bit}={name}" for bit, name in sorted(flags)]) + "]")
    words = ["e", "u", "b", "s", "s", "const", "i32[]", "i8[]", "arr", "dict", "tag"]
    for field in record.attributes:
        if not field.gated and field.codec != UNIT:
            parts.append(("?" if field.bit >= 0 else "") + f"{words[field.codec]}:{field.name}")
    if record.operand_mode == COUNTED:
        parts.append("N")
    for declared, bit in zip(declaration.operands, record.operand_bits, strict=True):
        if bit == -2:
            continue
        counted = "#" if record.operand_mode == SEGMENTED and declared.count == VARIADIC else ""
        parts.append(f"{counted}%{declared.name}" + ("", "?", "*")[declared.count])
    if record.region_count:
        parts.append(f"G{record.region_count}")
    return " ".join(parts)
