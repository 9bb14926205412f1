"""Blocks, regions and names of operations: the parser as directives see it.

`text/reading.py` adds the operations themselves, which directives parse.
"""

from __future__ import annotations

from tileir.annotations import Final, NoReturn
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Operation, Region
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.diagnostics import Code, Diagnostic
from tileir.ir.location import Location, TextLocation
from tileir.ir.registry import REGISTRY
from tileir.ir.traversal import DEEPEST_REGION
from tileir.ir.types import Type
from tileir.ir.versions import Version
from tileir.text.cursor import SyntaxFailure
from tileir.text.state import ParseState, on_fresh_stack
from tileir.text.types import DIALECT_TYPES
from tileir.text.values import ValueCursor

# Regions that fit into one stack, with everything that may surround them.
_REGIONS_PER_STACK: Final = 60
# The modules and the function, which DEEPEST_REGION does not count.
_AROUND: Final = 4


class Parser(ValueCursor):
    """Adds blocks, regions and names of operations to the cursor."""

    def __init__(self, text: str, name: str, version: Version, first_line: int = 1) -> None:
        super().__init__(text, name, version, first_line)
        self.block: Block = Block()
        self.blocks: dict[str, Block] = {}
        self.waiting_blocks: dict[str, int] = {}
        self.end_is_missing: bool = False
        # Whether there may be operations without a declaration, in the generic form.
        self.allow_unregistered: bool = False
        # Whether operations of the test dialect have names.
        self.testing: bool = False
        # The dialects whose prefix may be left out, the innermost last.
        self.dialects: list[str] = ["cuda_tile"]

    def parse_operations(self, block: Block) -> None:
        """Operations up to the end, a closing brace or a block label."""
        raise NotImplementedError

    def parse_as(self, declaration: OperationDeclaration, state: ParseState) -> None:
        """Continue as another operation: the text is a draft spelling of it."""
        raise NotImplementedError

    def parse_module_body(self) -> Region:
        """The region of a module of the dialect, in which the names of operations need no prefix."""
        raise NotImplementedError

    def append_before(self, operation: Operation) -> None:
        """Put an operation in front of the one being read."""
        self.block.append(operation)

    def parse_region(self, arguments: list[tuple[str, int, Type, Location]] | None, isolated: bool = False) -> Region:
        """region ::= `{` operation* (block-label operation*)* `}`; `arguments` are those of the first block."""
        region = Region()
        if not isolated:
            self._enter_region(region, arguments)
            return region
        outer = (self.values, self.forward, self.defined, self.poisoned)
        self.values, self.forward, self.defined, self.poisoned = {}, {}, [], set()
        try:
            self._enter_region(region, arguments)
            self.close_scope()
        except SyntaxFailure:
            if self.recover:
                self.close_scope()
            raise
        finally:
            self.values, self.forward, self.defined, self.poisoned = outer
        return region

    def _enter_region(self, region: Region, arguments: list[tuple[str, int, Type, Location]] | None) -> None:
        """Read a region, on another stack where this one is near its end."""
        if self.nesting >= DEEPEST_REGION + _AROUND:
            self.fail(f"nesting is too deep (more than {DEEPEST_REGION} levels)")
        outer = self.stack_base
        if self.nesting - outer < _REGIONS_PER_STACK:
            self._parse_region_body(region, arguments)
            return
        self.stack_base = self.nesting
        try:
            if not on_fresh_stack(lambda: self._parse_region_body(region, arguments)):
                self.fail(f"nesting is too deep (more than {self.nesting} levels)")
        finally:
            self.stack_base = outer

    def _parse_region_body(self, region: Region, arguments: list[tuple[str, int, Type, Location]] | None) -> None:
        self.expect("{")
        self.enter()
        nesting = self.nesting
        outer_defined, outer_blocks, outer_waiting = self.defined, self.blocks, self.waiting_blocks
        self.defined, self.blocks, self.waiting_blocks = [], {}, {}
        try:
            self._parse_blocks(region, arguments)
            self.nesting = nesting
            if self.waiting_blocks:
                name, token = next(iter(self.waiting_blocks.items()))
                self.fail(f"reference to an undefined block '{name}'", token)
        finally:
            for name in self.defined:
                self.values.pop(name, None)
            self.defined, self.blocks, self.waiting_blocks = outer_defined, outer_blocks, outer_waiting
        if self.at_end() and self.recover:
            # The part that was read is kept for editors.
            self.note_missing_end()
        else:
            self.expect("}")
        self.leave()

    def _parse_blocks(self, region: Region, arguments: list[tuple[str, int, Type, Location]] | None) -> None:
        first = Block()
        if arguments is not None:
            for name, token, type, location in arguments:
                self.define(name, first.add_argument(type, location), token)
        if arguments is not None and self._skip_entry_label():
            region.append(first)
            self.parse_operations(first)
        elif self.peek()[:1] == "^":
            if arguments:
                self.fail("invalid block name in region with named arguments")
        elif self.peek() == "}":
            # An empty region has no block unless its arguments are given.
            if arguments is not None:
                region.append(first)
        else:
            region.append(first)
            self.parse_operations(first)
        while self.peek()[:1] == "^":
            self._parse_labeled_block(region)

    def _skip_entry_label(self) -> bool:
        """Skip the label of the first block of a region whose arguments are known, a draft spelling (A9)."""
        label = self.peek()
        if label[:1] != "^" or not self.draft_spellings or self.tokens[self.position + 1] != ":":
            return False
        self.remark(f"the label '{label}' of the first block is left out", self.position)
        self.position += 2
        return True

    def _parse_labeled_block(self, region: Region) -> None:
        """block-label ::= `^`name (`(` (value `:` type location?) (`,` ...)* `)`)? `:`"""
        start = self.position
        name = self.tokens[start]
        self.position += 1
        block = self.block_named(name, start)
        if self.waiting_blocks.pop(name, None) is None and block.parent is not None:
            self.fail(f"redefinition of block '{name}'", start)
        if self.peek() == "(":
            opening = self.position
            self.parse_items("(", ")", lambda: self._parse_block_argument(block))
            self.require_prefixes(opening)
        self.expect(":")
        region.append(block)
        self.parse_operations(block)

    def _parse_block_argument(self, block: Block) -> None:
        for name, token, type, location in self.parse_arguments(1):
            self.define(name, block.add_argument(type, location), token)

    def block_named(self, name: str, token: int) -> Block:
        found = self.blocks.get(name)
        if found is None:
            found = self.blocks[name] = Block()
            self.waiting_blocks[name] = token
        return found

    def parse_arguments(self, limit: int = -1) -> list[tuple[str, int, Type, Location]]:
        """arguments ::= value `:` type attribute-dictionary? location? (`,` ...)*"""
        found: list[tuple[str, int, Type, Location]] = []
        while True:
            token = self.position
            name = self.tokens[token]
            if name[:1] != "%":
                self.fail("expected SSA operand")
            self.position += 1
            self.expect(":")
            type = self.parse_type()
            location: Location = TextLocation(self.source, token)
            if self.tokens[self.position] == "loc":
                location = self.parse_trailing_location()
            found.append((name, token, type, location))
            if len(found) == limit or self.tokens[self.position] != ",":
                return found
            self.position += 1

    def require_prefixes(self, start: int) -> None:
        """Refuse dialect types without `!cuda_tile.`, as MLIR's own syntax does; for the drop-ins."""
        if self.draft_spellings:
            return
        for position in range(start, self.position):
            if self.tokens[position].partition("<")[0].strip() in DIALECT_TYPES:
                self.fail("expected non-function type", position)

    def ensure_terminator(self, region: Region, implied: OperationDeclaration, location: Location) -> None:
        """Add the terminator the text may leave out (MLIR's implicit terminators)."""
        if not region.blocks:
            region.append(Block())
        block = region.blocks[-1]
        last = block.last
        if last is None or not (last.declaration.is_terminator or last.declaration.unregistered):
            block.append(Operation(implied, [], [], NO_ATTRIBUTES, NO_REGIONS, location))

    def note_missing_end(self) -> None:
        """Report once that the text ends within a region."""
        if not self.end_is_missing:
            self.end_is_missing = True
            self.note_failure(Diagnostic("error", "expected '}'", self.gap(), None, Code("expected-token", token="}")))

    def find_declaration(self, name: str) -> OperationDeclaration:
        """The declaration that an unquoted name means here."""
        if not (name[:1].isalpha() or name[:1] == "_"):
            self.fail("expected operation name in quotes")
        # Outside of everything a bare `module` is MLIR's own, as its printer writes it.
        dialect = "builtin" if name == "module" and self.nesting == 0 else self.dialects[-1]
        found = self.lookup(name if "." in name else f"{dialect}.{name}")
        if found is None and "." not in name:
            found = self.lookup(f"builtin.{name}")
        if found is None:
            tried = "" if "." in name else f" (tried '{self.dialects[-1]}.{name}' as well)"
            self.fail(f"custom op '{name}' is unknown{tried}", code=Code("unknown-operation", name=name))
        if found.syntax == "":
            self.fail(f"custom op '{name}' has no custom assembly form")
        return found

    def remark_alias(self, name: str, found: OperationDeclaration, token: int) -> bool:
        """Whether a draft alone has this name for an operation (docs/reference/conflicts.md A16, A17): a remark."""
        mnemonic = name.rpartition(".")[2]
        if mnemonic not in found.aliases:
            return False
        self.remark(f"'{mnemonic}' is read as '{found.spelled_name(self.version)}'", token)
        return True

    def lookup(self, name: str) -> OperationDeclaration | None:
        """The declaration of a full name, if the dialect version has it."""
        found = REGISTRY.find(name)
        if found is None or (found.testing and not self.testing):
            return None
        if found.testing:
            return found
        if found.since is not None and found.since > self.version:
            return None
        return found if self._is_name_known(found, name) else None

    def _is_name_known(self, declaration: OperationDeclaration, name: str) -> bool:
        """Whether an operation goes by a name: some operations and names are in the drafts only."""
        if self.draft_spellings:
            return True
        word = name.rpartition(".")[2]
        too_new = word == declaration.newer_mnemonic and word != declaration.spelled_name(self.version)
        return declaration.since is not None and word not in declaration.aliases and not too_new

    def fail_unregistered(self, name: str, token: int) -> NoReturn:
        if name.startswith("cuda_tile."):
            self.fail(
                f"unregistered operation '{name}' found in dialect ('cuda_tile') that does not allow unknown "
                "operations",
                token,
                Code("unknown-operation", name=name),
            )
        self.fail(
            "operation being parsed with an unregistered dialect. If this is intended, please use "
            "-allow-unregistered-dialect with the MLIR opt tool used",
            token,
        )
