"""Checks a program: structure first, then each operation's declaration, then its own rule, then dominance.

The order within one operation is MLIR's, because the first broken rule is the one NVIDIA's tools report: counts,
attributes, operand types, result types, regions, declared type rules, the operation's own verifier, then (after the
operations inside) the rules about its regions.  One error is reported per operation; the others are still checked.
"""

from __future__ import annotations

from tileir.annotations import Final
from tileir.ir.core import Block, Operation
from tileir.ir.declaration import (
    ISOLATED,
    NEWEST,
    NO_TERMINATOR,
    SINGLE_BLOCK,
    SYMBOL_TABLE,
    TERMINATOR,
    OperationDeclaration,
    Version,
)
from tileir.ir.declared_rules import verify_declaration
from tileir.ir.diagnostics import Diagnostic, Invalid, note
from tileir.ir.location import Location
from tileir.ir.symbols import Symbols
from tileir.ir.values import Scope

# After this many characters of findings verification stops: messages spell types out, hostile files have long types in
# every operation, and nobody reads on here.
_MAXIMUM_TEXT: Final = 1 << 24

# For the first operations, comparing structural keys costs more than it saves.
_FEW: Final = 64

# What may happen to hints nobody knows.
HINT_MODES: Final = ("ignore", "warn", "error")


class VerifyContext:
    """Settings and findings of one verification.

    `hints` says what happens to optimization hints nobody knows: "ignore", "warn" or "error" (docs/conflicts.md E).
    `first_only` stops at the first error, as NVIDIA's tools do.  `subjects` has for each finding the operation it is
    about, where it is about one.  `symbols` knows what references mean.
    """

    __slots__ = (
        "diagnostics",
        "errors",
        "first_only",
        "hints",
        "stopped",
        "subjects",
        "symbols",
        "text_left",
        "version",
    )

    def __init__(
        self,
        version: Version = NEWEST,
        hints: str = "ignore",
        first_only: bool = False,
        symbols: Symbols | None = None,
    ) -> None:
        self.version: Version = version
        self.hints: str = hints
        self.first_only: bool = first_only
        self.diagnostics: list[Diagnostic] = []
        self.subjects: list[Operation | None] = []
        self.errors: int = 0
        self.stopped: bool = False
        self.text_left: int = _MAXIMUM_TEXT
        self.symbols: Symbols = symbols if symbols is not None else Symbols()

    def report(
        self,
        severity: str,
        message: str,
        location: Location,
        notes: list[Diagnostic] | None = None,
        subject: Operation | None = None,
    ) -> None:
        """Report a finding at a location, with the text as it stands."""
        self.subjects.append(subject)
        self.diagnostics.append(Diagnostic(severity, message, location, notes))
        self.text_left -= len(message)
        if severity == "error":
            self.errors += 1
            if self.first_only or self.text_left < 0:
                self.stopped = True

    def error(self, operation: Operation, message: str, notes: list[Diagnostic] | None = None) -> None:
        """Report an error of an operation, with its name in front."""
        words = f"'{operation_name(operation, self.version)}' op {message}"
        self.report("error", words, operation.location, notes, operation)

    def warn(self, operation: Operation, message: str) -> None:
        words = f"'{operation_name(operation, self.version)}' op {message}"
        self.report("warning", words, operation.location, None, operation)


def operation_name(operation: Operation, version: Version) -> str:
    """The full name as the text of a dialect version spells it."""
    declaration = operation.declaration
    if declaration.newer_mnemonic is None:
        return declaration.name
    return declaration.name[: -len(declaration.mnemonic)] + declaration.spelled_name(version)


def verify_operation(root: Operation, context: VerifyContext) -> None:
    """Verify an operation and all it contains; findings go to `context.diagnostics`."""
    in_order = _verify_tree(root, context)
    # Dominance of a program with broken structure only repeats what was said.
    if not context.errors and not in_order:
        # Few programs need it.
        from tileir.ir.dominance import verify_dominance

        verify_dominance(root, context.report)


class _Open:
    """An operation whose regions are being verified: the blocks still to come, and where the one at hand goes on.

    `area` is where what the blocks define is visible, and `scope` that of the block at hand.
    """

    __slots__ = ("area", "block", "blocks", "errors", "next", "operation", "scope", "sound")

    def __init__(self, operation: Operation, sound: bool, errors: int, area: object) -> None:
        self.operation: Operation = operation
        self.sound: bool = sound
        self.errors: int = errors
        self.area: object = object() if operation.declaration.traits & ISOLATED else area
        self.scope: Scope = Scope(self.area)
        self.blocks: list[Block] = [block for region in operation.regions for block in region.blocks]
        self.blocks.reverse()
        self.block: Block | None = None
        self.next: Operation | None = None

    def enter_block(self) -> None:
        """Begin with the next block."""
        block = self.block = self.blocks.pop()
        self.next = block.first
        self.scope = Scope(self.area)
        for argument in block.arguments:
            argument.scope = self.scope

    def leave_block(self) -> None:
        self.scope.is_open = False
        self.block = None


def _verify_tree(root: Operation, context: VerifyContext) -> bool:
    """Each operation before what it contains, with an explicit stack, because programs may nest deeply.

    Gives whether every value was come upon before its uses, and in a place from which it reaches them.  If not, it may
    still do so: in regions of several blocks and where order does not matter, or if another thread verifies as well.
    """
    path: list[_Open] = [_Open(root, _verify_own_rules(root, context), context.errors, object())]
    verified = _Verified()
    while path and not context.stopped:
        top = path[-1]
        block = top.block
        if block is not None:
            inner = _verify_row(top.next, context, verified, top.scope)
            if inner is not None:
                top.next = inner.next
                path.append(_Open(inner, _verify_own_rules(inner, context), context.errors, top.area))
                continue
            _verify_end(block, top.operation.declaration, context)
            top.leave_block()
        elif top.blocks:
            top.enter_block()
        else:
            path.pop()
            if path:
                # What an operation gives is visible behind it, not inside it.
                for result in top.operation.results:
                    result.scope = path[-1].scope
            # The rules about a region's contents take for granted that the contents are sound.
            if top.operation.regions and top.sound and context.errors == top.errors:
                _verify_region_rules(top.operation, context)
    return verified.in_order


def _verify_own_rules(operation: Operation, context: VerifyContext) -> bool:
    """What an operation must fulfil by itself; whether it does, and is known at all."""
    declaration = operation.declaration
    if declaration.unregistered:
        return False
    try:
        verify_declaration(operation, declaration, context.version)
        if declaration.verify is not None:
            declaration.verify(operation, context)
    except Invalid as failure:
        # What the operation contains is still checked: its mistakes are usually unrelated.
        _report(operation, failure, context)
        return False
    return True


def _verify_region_rules(operation: Operation, context: VerifyContext) -> None:
    declaration = operation.declaration
    try:
        if declaration.traits & SYMBOL_TABLE:
            _verify_symbols(operation)
        if declaration.verify_regions is not None:
            declaration.verify_regions(operation, context)
    except Invalid as failure:
        _report(operation, failure, context)


def _report(operation: Operation, failure: Invalid, context: VerifyContext) -> None:
    location = failure.location if failure.location is not None else operation.location
    prefix = "" if failure.bare else f"'{operation_name(operation, context.version)}' op "
    context.report("error", prefix + failure.message, location, failure.notes, operation)


class _Verified:
    """The structural keys of operations found correct in one context, and how many operations were verified.

    `in_order` tells whether all values were come upon before their uses.
    """

    __slots__ = ("count", "in_order", "known")

    def __init__(self) -> None:
        self.in_order: bool = True
        self.known: set[tuple[object, ...]] = set()
        self.count: int = 0


def _verify_row(
    operation: Operation | None, context: VerifyContext, verified: _Verified, scope: Scope
) -> Operation | None:
    """Verify an operation and those that follow it, up to the next one with regions, which is given back."""
    while operation is not None:
        for value in operation.operands:
            found = value.scope
            if found is not scope and (found is None or not found.is_open or found.area is not scope.area):
                verified.in_order = False
        if operation.regions:
            return operation
        for result in operation.results:
            result.scope = scope
        if operation.declaration.is_verified_alone:
            _verify_alone(operation, context, verified)
        else:
            _verify_own_rules(operation, context)
        if context.stopped:
            return None
        operation = operation.next
    return None


def _verify_alone(operation: Operation, context: VerifyContext, verified: _Verified) -> None:
    """Verify an operation that is correct if one like it is."""
    if verified.count < _FEW:
        verified.count += 1
        _verify_own_rules(operation, context)
        return
    key = operation.structural_key()
    if key not in verified.known:
        findings = len(context.diagnostics)
        if _verify_own_rules(operation, context) and len(context.diagnostics) == findings:
            verified.known.add(key)


def _verify_end(block: Block, parent: OperationDeclaration, context: VerifyContext) -> None:
    """A block has a terminator, where it needs one."""
    if context.stopped or parent.traits & NO_TERMINATOR or parent.unregistered:
        return
    last = block.last
    if last is None:
        # Single-block operations say this about themselves ("expects a non-empty block").
        if not parent.traits & SINGLE_BLOCK and block.parent_operation is not None:
            outer = block.parent_operation
            context.report("error", "empty block: expect at least a terminator", outer.location, None, outer)
    elif not (last.declaration.traits & TERMINATOR or last.declaration.unregistered):
        words = f"block with no terminator, has {last.text(generic=True)}"
        context.report("error", words, last.location, None, last)


def _verify_symbols(table: Operation) -> None:
    seen: dict[str, Operation] = {}
    for region in table.regions:
        for block in region.blocks:
            for operation in block:
                name = operation.symbol_name
                if name is None:
                    continue
                first = seen.get(name)
                if first is not None:
                    raise Invalid(
                        f"redefinition of symbol named '{name}'",
                        operation.location,
                        [note("see existing symbol definition here", first.location)],
                        bare=True,
                    )
                seen[name] = operation
