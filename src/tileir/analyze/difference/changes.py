"""What is different about two programs whose operations are matched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from tileir.analyze.difference.matching import Matching, blocks_of
from tileir.analyze.difference.programs import MatchedPrograms, stated_location
from tileir.analyze.runs import heaviest_run
from tileir.dialect.ops import IF
from tileir.execute.locations.wording import several
from tileir.ir.attributes import Attribute, EnumAttribute, SymbolAttribute
from tileir.ir.core import Operation
from tileir.ir.dense import DenseAttribute
from tileir.ir.traits import CONSTANT_LIKE
from tileir.ir.values import Value

Kind = Literal["removed", "added", "moved", "changed", "renamed"]
_LONGEST: Final = 80
"""The longest text of an attribute."""
_ABSENT: Final = "(none)"
_MOST_DETAILS: Final = 3
"""So many are in a summary, the most frequent first."""
_NO_NAME: Final = "kernels"


class ChangeDetail(NamedTuple):
    """One thing about an operation that is different."""

    what: str
    """operation, type, attribute, operand, argument, location or name."""
    name: str
    """The name of the attribute, operand or result; empty if there is one only."""
    before: str
    after: str

    def text(self) -> str:
        """As in `rounding_mode nearest_even -> zero`."""
        if self.what == "operation":
            return f"{self.before} -> {self.after}"
        if self.what == "argument":
            return f"argument {self.name} {'removed' if self.before else 'added'}"
        label = self.name or self.what
        if self.what == "type" and self.name:
            label = f"type of {self.name}"
        return f"{label} {self.before or _ABSENT} -> {self.after or _ABSENT}"


@dataclass(slots=True, eq=False, repr=False)
class ProgramChange:
    """One difference between two programs; an operation may have several."""

    kind: Kind
    left: Operation | None
    """The operation of the first program, None for one that was added."""
    right: Operation | None
    details: list[ChangeDetail] = field(default_factory=list)
    where: str = ""
    """Where it was moved, as in `out of a loop`."""
    count: int = 1
    """How many operations these are, with those inside that are only on this side."""

    @property
    def operation(self) -> Operation:
        return next(each for each in (self.left, self.right) if each is not None)

    def __repr__(self) -> str:
        details = "".join([f", {each.text()}" for each in self.details])
        return f"<ProgramChange {self.kind} {self.operation.name}{details}>"


class Changes:
    """Finds the changes of two programs."""

    def __init__(self, programs: MatchedPrograms) -> None:
        self._programs: MatchedPrograms = programs
        self._matching: Matching = programs.matching
        self._moved: dict[Operation, str] = {}
        self._symbols: dict[str, str] = {
            each.symbol_name: partner.symbol_name or ""
            for each, partner in programs.matching.operations.items()
            if each.symbol_name is not None
        }

    def found(self) -> list[ProgramChange]:
        """In the order of the first program; what was added comes where it stands in the second one."""
        self._find_moved()
        partners, back = self._matching.operations, self._matching.back
        added: dict[Operation | None, list[ProgramChange]] = {}
        last: Operation | None = None
        for operation in self._programs.right.walk():
            if operation in back:
                last = back[operation]
            elif operation.parent_operation is None or operation.parent_operation in back:
                change = ProgramChange("added", None, operation, count=_unpaired_count(operation, back))
                added.setdefault(last, []).append(change)
        found = added.get(None, [])
        for operation in self._programs.left.walk():
            partner = partners.get(operation)
            if partner is None:
                if operation.parent_operation is None or operation.parent_operation in partners:
                    count = _unpaired_count(operation, partners)
                    found.append(ProgramChange("removed", operation, None, count=count))
                continue
            if operation in self._moved:
                found.append(ProgramChange("moved", operation, partner, where=self._moved[operation]))
            details = list(self._details(operation, partner))
            if details:
                found.append(ProgramChange("changed", operation, partner, details))
            renamed = self._renamed(operation, partner) if self._programs.count_names else []
            if renamed:
                found.append(ProgramChange("renamed", operation, partner, renamed))
            found += added.get(operation, ())
        return found

    def _find_moved(self) -> None:
        partners, blocks = self._matching.operations, self._matching.blocks
        for operation, partner in partners.items():
            block = operation.parent
            if block is not None and operation is not self._programs.left and blocks.get(block) is not partner.parent:
                self._moved[operation] = self._way(operation, partner)
        for block, other in blocks.items():
            numbers = {operation: place for place, operation in enumerate(other)}
            places = {each: numbers[partners[each]] for each in block if partners.get(each) in numbers}
            order = list(places)
            # As few as possible have moved; of two that changed places, rather a constant than what it went past.
            weights = [len(order) + (not each.declaration.traits & CONSTANT_LIKE) for each in order]
            kept = {order[index] for index in heaviest_run(list(places.values()), weights)}
            for operation, following in zip(order, [*order[1:], None], strict=False):
                if operation not in kept:
                    down = following is not None and places[operation] > places[following]
                    self._moved[operation] = "down" if down else "up"

    def _way(self, operation: Operation, partner: Operation) -> str:
        """The way between two blocks."""
        around, beyond = operation.parent_operation, partner.parent_operation
        assert around is not None and beyond is not None
        source, target = self._matching.operations.get(around), self._matching.back.get(beyond)
        if source is beyond:
            return f"to another region of '{around.declaration.mnemonic}'"
        if target is not None and target.is_ancestor_of(around):
            return f"out of {_construct(around)}"
        if source is not None and source.is_ancestor_of(beyond):
            return f"into {_construct(beyond)}"
        return "to another block"

    def _details(self, left: Operation, right: Operation) -> Iterator[ChangeDetail]:
        name = self._programs.name
        if left.declaration is not right.declaration:
            yield ChangeDetail("operation", "", left.declaration.mnemonic, right.declaration.mnemonic)
        is_one_of_several = len(left.results) > 1 or len(right.results) > 1
        for result, other in zip(left.results, right.results, strict=False):
            if result.type is not other.type:
                called = name(result) if is_one_of_several else ""
                yield ChangeDetail("type", called, result.type.spelling, other.type.spelling)
        if len(left.results) != len(right.results):
            yield ChangeDetail("results", "", str(len(left.results)), str(len(right.results)))
        yield from self._attributes(left, right)
        if left.declaration is not right.declaration:
            yield from self._operands("operands", left.operands, right.operands)
        else:
            for declared in left.declaration.operands:
                groups = [operation.operand_group(declared.name) for operation in (left, right)]
                yield from self._operands(declared.name, *groups)
        yield from self._arguments(left, right)
        if self._programs.count_locations and left is not self._programs.left:
            before, after = stated_location(left.location), stated_location(right.location)
            if before != after:
                yield ChangeDetail("location", "", before, after)

    def _attributes(self, left: Operation, right: Operation) -> Iterator[ChangeDetail]:
        # The name of a symbol is a detail of its own, and so are parameters, which the type of a function repeats.
        for name in sorted({*left.attributes, *right.attributes} - {"sym_name", "function_type"}):
            before, after = left.attribute(name), right.attribute(name)
            if before is after or self._is_same_symbol(before, after):
                continue
            spelled, other = _spelled(before), _spelled(after)
            if spelled != other or not isinstance(before, DenseAttribute):
                yield ChangeDetail("attribute", name, spelled, other)

    def _is_same_symbol(self, before: Attribute | None, after: Attribute | None) -> bool:
        if not isinstance(before, SymbolAttribute) or not isinstance(after, SymbolAttribute):
            return False
        return tuple([self._symbols.get(name, name) for name in before.path]) == after.path

    def _operands(self, name: str, left: list[Value], right: list[Value]) -> Iterator[ChangeDetail]:
        if [self._matching.values.get(value) for value in left] != list(right):
            before, after = [", ".join([self._programs.name(value) for value in side]) for side in (left, right)]
            if before == after:
                # Two values of one name, of which one is gone.
                after = f"{after} (another one)"
            yield ChangeDetail("operand", name, before, after)

    def _arguments(self, left: Operation, right: Operation) -> Iterator[ChangeDetail]:
        """The arguments of blocks: parameters, and what loops carry."""
        for block, other in zip(blocks_of(left), blocks_of(right), strict=False):
            partners = {argument: self._matching.values.get(argument) for argument in block.arguments}
            for argument, partner in partners.items():
                before, after = argument.type.spelling, "" if partner is None else partner.type.spelling
                if before != after:
                    what = "argument" if partner is None else "type"
                    yield ChangeDetail(what, self._programs.name(argument), before, after)
            for argument in other.arguments:
                if argument not in partners.values():
                    yield ChangeDetail("argument", self._programs.name(argument), "", argument.type.spelling)

    def _renamed(self, left: Operation, right: Operation) -> list[ChangeDetail]:
        found: list[ChangeDetail] = []
        before, after = left.symbol_name, right.symbol_name
        # A module in bytecode has no name, and is given one when it is read.
        nameless = left is self._programs.left and _NO_NAME in (before, after)
        if before != after and not nameless:
            found.append(ChangeDetail("name", "", f"@{before}" if before else "", f"@{after}" if after else ""))
        pairs: list[tuple[Value, Value]] = list(zip(left.results, right.results, strict=False))
        for block in blocks_of(left):
            pairs += [(each, self._matching.values[each]) for each in block.arguments if each in self._matching.values]
        for value, other in pairs:
            if self._programs.is_renamed(value, other):
                names = self._programs.names
                found.append(ChangeDetail("name", "", names[0].shown(value), names[1].shown(other)))
        return found


def _unpaired_count(root: Operation, partners: dict[Operation, Operation]) -> int:
    """How many operations without a partner are in one, itself included; what is in one that has a partner counts on
    its own."""
    count, pending = 0, [root]
    while pending:
        operation = pending.pop()
        if operation not in partners:
            count += 1
            pending.extend([inner for block in blocks_of(operation) for inner in block])
    return count


def _construct(operation: Operation) -> str:
    """What somebody calls the operation around others."""
    if operation.declaration.is_loop:
        return "a loop"
    article = "an " if operation.declaration is IF else ""
    return f"{article}'{operation.declaration.mnemonic}'"


def _spelled(attribute: Attribute | None) -> str:
    if attribute is None:
        return ""
    text = attribute.keyword if isinstance(attribute, EnumAttribute) else attribute.text
    if isinstance(attribute, DenseAttribute):
        # Its type is that of the result, which is a detail of its own.
        text = text.rpartition(" : ")[0]
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def summary_of(changes: list[ProgramChange]) -> str:
    """As in `3 operations removed, 1 moved out of a loop, 2 changed: rounding_mode .. -> zero`."""
    parts: list[str] = []
    counts = Counter[str](removed=0, added=0)
    for each in changes:
        if each.kind in ("removed", "added") and each.operation.symbol_name is not None:
            parts.append(f"{_symbol(each.operation)} {each.kind}")
        elif each.kind in ("removed", "added"):
            counts[each.kind] += each.count
        elif each.kind == "moved":
            counts["moved" if each.where in ("up", "down") else f"moved {each.where}"] += 1
    renamed = [each for each in changes if each.kind == "renamed"]
    for each in renamed:
        if each.right is not None and each.right.symbol_name != each.operation.symbol_name:
            parts.append(f"{_symbol(each.operation)} renamed @{each.right.symbol_name}")
    changed = [each for each in changes if each.kind == "changed"]
    if changed:
        counts[f"changed: {_frequent_details(changed)}"] = len(changed)
    # Only the first count names the unit.
    counted = [f"{count} {what}" for what, count in counts.items() if count]
    if counted:
        count, _, what = counted[0].partition(" ")
        counted[0] = f"{several(int(count), 'operation')} {what}"
        parts.append(", ".join(counted))
    names = [detail for each in renamed for detail in each.details if not detail.before.startswith("@")]
    if names:
        shown = ", ".join([f"{each.before} -> {each.after}" for each in names[:_MOST_DETAILS]])
        more = ", .." if len(names) > _MOST_DETAILS else ""
        parts.append(f"{several(len(names), 'value')} renamed: {shown}{more}")
    return "; ".join(parts) or "no difference"


def _symbol(operation: Operation) -> str:
    return f"{operation.declaration.mnemonic} @{operation.symbol_name}"


def _frequent_details(changes: list[ProgramChange]) -> str:
    """The most frequent details; operands are counted together, since each has names of its own."""
    details = [detail for each in changes for detail in each.details]
    are_many = sum([detail.what == "operand" for detail in details]) > 1
    texts = Counter(["operands" if are_many and detail.what == "operand" else detail.text() for detail in details])
    found = [
        text if count == 1 or text == "operands" else f"{text} ({count} times)"
        for text, count in texts.most_common(_MOST_DETAILS)
    ]
    return ", ".join(found) + (", .." if len(texts) > _MOST_DETAILS else "")
