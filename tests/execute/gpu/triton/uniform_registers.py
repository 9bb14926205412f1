"""Finds uniform registers that machine code reads before it writes them, in what `nvdisasm` prints of a kernel."""

from __future__ import annotations

import re

_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(@!?\w+\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_LABEL = re.compile(r"(\.L_x_\d+):")
_TARGET = re.compile(r"`\((\.L_x_\d+)\)")
_REGISTER = re.compile(r"\bUR(\d+)\b")
_DESCRIPTOR = re.compile(r"gdesc\[UR(\d+)\]")
_WRITES = frozenset(
    ["R2UR", "REDUX", "S2UR", "UIADD3", "UIMAD", "ULDC", "ULEA", "ULOP3", "UMOV", "UPRMT", "USEL", "USGXT", "USHF"]
)


def undefined_reads(sass: str) -> list[str]:
    """The instructions that some path reaches before a uniform register that they read has a value."""
    instructions: list[tuple[str, str, str]] = []
    labels: dict[str, int] = {}
    for line in sass.splitlines():
        if label := _LABEL.match(line.strip()):
            labels[label[1]] = len(instructions)
        elif found := _INSTRUCTION.match(line.strip()):
            instructions.append((found[1] or "", found[2], found[3]))
    defined: dict[int, frozenset[int]] = {0: frozenset()}
    work = [0]
    while work:
        at = work.pop()
        after = defined[at] | _written(*instructions[at][1:])
        for following in _following(at, instructions, labels):
            known = defined[following] & after if following in defined else after
            if defined.get(following) != known:
                defined[following] = known
                work.append(following)
    return [
        f"{name} {operands}"
        for at, (_, name, operands) in enumerate(instructions)
        if at in defined and _read(name, operands) - defined[at]
    ]


def _following(at: int, instructions: list[tuple[str, str, str]], labels: dict[str, int]) -> list[int]:
    predicate, name, operands = instructions[at]
    kind = name.split(".")[0]
    found = [labels[_TARGET.search(operands)[1]]] if kind == "BRA" else []
    goes_on = kind not in ("BRA", "EXIT", "RET") or predicate or re.search(r"!?U?P\d", operands)
    return [*found, at + 1] if goes_on and at + 1 < len(instructions) else found


def _width(name: str) -> int:
    return 2 if ".64" in name or ".WIDE" in name else 1


def _written(name: str, operands: str) -> frozenset[int]:
    found = re.match(r"UR(\d+)\b", operands)
    if found is None or name.split(".")[0] not in _WRITES:
        return frozenset()
    return frozenset(range(int(found[1]), int(found[1]) + _width(name)))


def _read(name: str, operands: str) -> set[int]:
    found: set[int] = set()
    for descriptor in map(int, _DESCRIPTOR.findall(operands)):
        # A left operand in registers leaves the first half of the descriptors unused.
        in_registers = re.match(r"R\d+, R\d+", operands) is not None
        found.update(range(descriptor + 2 * in_registers, descriptor + 4))
    rest = _DESCRIPTOR.sub("", operands)
    if _written(name, operands):
        rest = rest.partition(",")[2]
    for register in map(int, _REGISTER.findall(rest)):
        found.update(range(register, register + (2 if ".64" in name and name.startswith("U") else 1)))
    return found
