"""The record of an operation in the notation of docs/reference/bytecode.md, to check what is derived from declarations."""

from __future__ import annotations

from tileir.bytecode.records import COUNTED, SEGMENTED, UNIT, Record
from tileir.ir.declaration import VARIADIC, OperationDeclaration
from tileir.ir.versions import Version


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
