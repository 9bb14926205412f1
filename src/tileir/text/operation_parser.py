"""Text into operations.

The grammar of each operation comes from its declaration: `text/format.py` turns the assembly format into directives
once, and this file runs them.  A mistake ends one operation, is noted, and parsing goes on at the next one, so that a
file's mistakes are all reported; names the broken operation would have defined are remembered so that their uses do
not add noise.
"""

from __future__ import annotations

from tileir.annotations import Callable, NoReturn
from tileir.dialect.ops import CONSTANT
from tileir.ir.core import NO_REGIONS, Block, Operation
from tileir.ir.declaration import OperationDeclaration, Version
from tileir.ir.diagnostics import Diagnostic
from tileir.ir.location import Location, TextLocation
from tileir.ir.registry import REGISTRY
from tileir.text.building import build_operation
from tileir.text.constants import ConstantForm
from tileir.text.cursor import SyntaxFailure
from tileir.text.format import Assembly, assembly_of
from tileir.text.locations import TRAILING_LENGTH
from tileir.text.parser import Parser
from tileir.text.plain_form import PlainForm, plain_form_of
from tileir.text.state import ParseState


class OperationParser(Parser):
    """Parses operations.

    `allow_unregistered` accepts operations nobody declared, in generic form, which `parse_generic` reads.
    """

    def __init__(
        self,
        text: str,
        name: str,
        version: Version,
        allow_unregistered: bool,
        first_line: int,
        recover: bool,
        testing: bool,
        draft_spellings: bool,
        parse_generic: Callable[[OperationParser, str], Operation],
    ) -> None:
        super().__init__(text, name, version, first_line)
        self.allow_unregistered: bool = allow_unregistered
        self.recover = recover
        self.testing: bool = testing
        self.draft_spellings = draft_spellings
        self.parse_generic: Callable[[OperationParser, str], Operation] = parse_generic
        self.forms: dict[OperationDeclaration, PlainForm] = {}
        self.collect_aliases()

    # --- the whole text ---

    def parse_top_level(self, block: Block) -> None:
        """top-level ::= (operation | alias-definition)*"""
        self.parse_operations(block)
        if not self.at_end():
            self.note_failure(self.diagnostic("unbalanced '}'"))
        self.close_scope()

    def parse_operations(self, block: Block) -> None:
        tokens = self.tokens
        outer = self.block
        nesting = self.nesting
        self.block = block
        while True:
            self._read_plain(block)
            start = self.position
            token = tokens[start]
            if token == "}" or token == "" or token[:1] == "^":
                self.block = outer
                return
            try:
                if token[:1] in ("#", "!") and tokens[start + 1] == "=":
                    self.parse_alias_definition()
                    while tokens[self.position] in self.alias_lengths and tokens[self.position + 1] == "=":
                        start = self.position
                        self.parse_alias_definition()
                else:
                    self.parse_operation(block)
            except SyntaxFailure as failure:
                self.leave_broken(failure, start, nesting)
                self.recover_after(start)

    # --- operations ---

    def parse_operation(self, block: Block) -> None:
        """operation ::= (results `=`)? (custom-operation | generic-operation) location?"""
        tokens = self.tokens
        start = self.position
        token = tokens[start]
        names: list[tuple[str, int, int]] | None = None
        single = False
        if token[:1] == "%":
            if tokens[start + 1] == "=" and "#" not in token:
                single = True
                self.position = start + 2
            else:
                names = self._parse_result_names()
        name_position = self.position
        name = tokens[name_position]
        declaration = self.declarations.get(name)
        if declaration is None:
            declaration = self._find_declaration(name)
        if declaration is None:
            operation = self.parse_generic(self, name)
        else:
            form = self.forms.get(declaration)
            if form is None:
                form = self.forms[declaration] = self._form_of(declaration)
            operands = form.match(self, name_position)
            if operands is not None:
                operation = Operation(
                    declaration,
                    operands,
                    self.matched_types,
                    self.matched_attributes,
                    NO_REGIONS,
                    TextLocation(self.source, name_position),
                )
            else:
                operation = self._read_directives(declaration, name_position)
        if tokens[self.position] == "loc" and tokens[self.position + 1] == "(":
            self._place(operation, self.parse_trailing_location())
        block.append(operation)
        results = operation.results
        if single:
            if len(results) == 1:
                name = token
                # `define`, without the call, for the common case.
                if name in self.values:
                    self.define(name, results[0], start)
                else:
                    self.values[name] = results[0]
                    self.defined.append(name)
            else:
                self._bind_results(operation, [(token, 1, start)], start)
        elif names is not None:
            self._bind_results(operation, names, start)

    def _read_directives(self, declaration: OperationDeclaration, name_token: int) -> Operation:
        """An operation as the directives of its format read it."""
        assembly = declaration.assembly
        assert isinstance(assembly, Assembly)
        self.position = name_token + 1
        state = ParseState(declaration, assembly, name_token, self.source)
        for directive in assembly.directives:
            directive.parse(self, state)
        return build_operation(self, state)

    def _read_plain(self, block: Block) -> None:
        """Read statements as long as they define one value and have nothing but operands and types."""
        tokens = self.tokens
        declarations = self.declarations
        forms = self.forms
        values = self.values
        defined = self.defined
        source = self.source
        while True:
            start = self.position
            name = tokens[start]
            # Where an `=` follows there is a token.
            if tokens[start + 1] != "=" or name[0] != "%" or name in values or "#" in name:
                return
            declaration = declarations.get(tokens[start + 2])
            if declaration is None:
                return
            form = forms.get(declaration)
            operands = form.match(self, start + 2) if form is not None else None
            if operands is None:
                return
            location: Location
            if tokens[self.position] == "loc":
                known = self.trailing_alias(self.position)
                if known is None:
                    self.position = start
                    return
                self.position += TRAILING_LENGTH
                location = known
            else:
                location = TextLocation(source, start + 2)
            operation = Operation(
                declaration,
                operands,
                self.matched_types,
                self.matched_attributes,
                NO_REGIONS,
                location,
                None,
                None,
                block,
            )
            values[name] = operation.results[0]
            defined.append(name)

    def _form_of(self, declaration: OperationDeclaration) -> PlainForm:
        assembly = assembly_of(declaration)
        form = assembly.plain_form
        if form is None:
            form = ConstantForm() if declaration is CONSTANT else plain_form_of(declaration, assembly)
            assembly.plain_form = form
        assert isinstance(form, PlainForm)
        return form

    def _place(self, operation: Operation, location: Location) -> None:
        """Give an operation its location, and the terminators the text left out with it."""
        own = operation.location
        for region in operation.regions:
            last = region.blocks[-1].last if region.blocks else None
            if last is not None and isinstance(own, TextLocation) and isinstance(last.location, TextLocation):
                if last.location.token == own.token:
                    last.location = location
        operation.location = location

    def _parse_result_names(self) -> list[tuple[str, int, int]]:
        """results ::= value (`:` integer)? (`,` value (`:` integer)?)* `=`; name, count and token number of each"""
        names: list[tuple[str, int, int]] = []
        tokens = self.tokens
        # Names alone, with commas between them.
        place = self.position
        while tokens[place][:1] == "%" and "#" not in tokens[place]:
            names.append((tokens[place], 1, place))
            if tokens[place + 1] == "=":
                self.position = place + 2
                return names
            if tokens[place + 1] != ",":
                break
            place += 2
        names = []
        while True:
            place = self.position
            name = tokens[place]
            if name[:1] != "%":
                self.fail("expected valid ssa identifier")
            if "#" in name:
                self.fail_inside("expected '=' after SSA name", place, name.index("#"))
            self.position += 1
            count = 1
            if self.accept(":"):
                start = self.position
                number = self.integer_token(self.peek())
                if number is None:
                    self.fail("expected integer number of results")
                if not 0 < number <= 1 << 16:
                    self.fail("expected named operation to have at least 1 result", start)
                count = number
                self.position += 1
            names.append((name, count, place))
            if not self.accept(","):
                break
        if self.peek() != "=":
            self.fail("expected '=' after SSA name")
        self.position += 1
        return names

    def _bind_results(self, operation: Operation, names: list[tuple[str, int, int]], token: int) -> None:
        results = operation.results
        total = sum([count for _, count, _ in names])
        if not results:
            self.fail("cannot name an operation with no results", token)
        if total != len(results):
            self.fail(f"operation defines {len(results)} results but was provided {total} to bind", token)
        index = 0
        for name, count, place in names:
            if name in self.values:
                self.define(name, results[index], place)
            else:
                self.values[name] = results[index]
                self.defined.append(name)
            if count > 1:
                self.values[f"{name}#0"] = results[index]
                self.defined.append(f"{name}#0")
                for number in range(1, count):
                    self.define(f"{name}#{number}", results[index + number], place)
            index += count

    def _find_declaration(self, name: str) -> OperationDeclaration | None:
        """The declaration a custom operation's name means; None for a quoted name."""
        if name[:1] == '"':
            return None
        if not (name[:1].isalpha() or name[:1] == "_"):
            self.fail("expected operation name in quotes")
        # Outside of everything a bare `module` is MLIR's own, as its printer writes it.
        dialect = "builtin" if name == "module" and self.nesting == 0 else self.dialects[-1]
        found = self.lookup(name if "." in name else f"{dialect}.{name}")
        if found is None and "." not in name:
            found = self.lookup(f"builtin.{name}")
        if found is None:
            tried = "" if "." in name else f" (tried '{self.dialects[-1]}.{name}' as well)"
            self.fail(f"custom op '{name}' is unknown{tried}")
        if found.syntax == "":
            self.fail(f"custom op '{name}' has no custom assembly form")
        # A draft spelling is not remembered, so that each use of it is remarked upon.
        if not self.remark_alias(name, found, self.position):
            self.declarations[name] = found
        return found

    def remark_alias(self, name: str, found: OperationDeclaration, token: int) -> bool:
        """Whether a name is a draft's own for an operation (docs/conflicts.md A16, A17), which is remarked upon."""
        mnemonic = name.rpartition(".")[2]
        if mnemonic not in found.aliases:
            return False
        self.remark(f"'{mnemonic}' is read as '{found.spelled_name(self.version)}'", token)
        return True

    def parse_as(self, declaration: OperationDeclaration, state: ParseState) -> None:
        assembly = assembly_of(declaration)
        state.switch(declaration, assembly)
        for directive in assembly.directives:
            directive.parse(self, state)

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
            )
        self.fail(
            "operation being parsed with an unregistered dialect. If this is intended, please use "
            "-allow-unregistered-dialect with the MLIR opt tool used",
            token,
        )

    # --- failures ---

    def leave_broken(self, failure: SyntaxFailure, start: int, nesting: int) -> None:
        """Say what is wrong in the statement that starts at a token, and leave all that it was in the middle of."""
        self.note_failure(self.named_failure(failure, start))
        self.nesting = nesting
        self.open_aliases.clear()
        self.locating = 0

    def named_failure(self, failure: SyntaxFailure, start: int) -> Diagnostic:
        """The diagnostic of a failure in the operation that starts at a token."""
        diagnostic = failure.diagnostic
        if failure.wants_name:
            index = start
            if self.tokens[start][:1] == "%":
                while self.tokens[index] not in ("=", ""):
                    index += 1
                index += 1
            declaration = self.declarations.get(self.tokens[index])
            if declaration is not None:
                diagnostic.message = f"custom op '{declaration.name}' {diagnostic.message}"
        return diagnostic
