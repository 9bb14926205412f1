"""Operations, and whole texts: `read_text` and `parse_text` are the entry points of the parser.

The grammar of each operation comes from its declaration.  `text/statement_form.py` reads statements of regular syntax,
the directives of the assembly format (`text/syntax/format.py`) all others.  An error ends one operation and parsing
goes on at the next, so all errors of a file are reported; uses of what the broken operation would have defined are no
errors.
"""

from __future__ import annotations

from tileir.collector import CollectorPaused
from tileir.dialect.ops import BUILTIN_MODULE, ENTRY, GLOBAL, MODULE
from tileir.ir.attributes import string_attribute
from tileir.ir.core import NO_ATTRIBUTES, NO_REGIONS, Block, Module, Operation, Region, as_module
from tileir.ir.declaration import ONE, OperationDeclaration
from tileir.ir.diagnostics import Code, Diagnostic, ParseError, has_errors
from tileir.ir.interning import HOOKS
from tileir.ir.location import CharacterLocation, SourceText, TextLocation, file_location
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, Version
from tileir.text.cursor import SyntaxFailure
from tileir.text.lexer import TOKEN
from tileir.text.parser import Parser
from tileir.text.state import ParseState
from tileir.text.statement_form import StatementForm, form_of, parse_generic
from tileir.text.syntax.format import assembly_of
from tileir.text.values import StopParsing, ValueCursor


class OperationParser(Parser):
    """Parses operations, with the regular form, the directives or the generic form of each."""

    def __init__(self, text: str, name: str, version: Version, first_line: int = 1) -> None:
        super().__init__(text, name, version, first_line)
        # What the names of operations mean in the module at hand.
        self.forms: dict[str, StatementForm] = {}
        self.collect_aliases()

    def parse_top_level(self, block: Block) -> None:
        """top-level ::= (operation | alias-definition)*"""
        self.parse_operations(block)
        if not self.at_end():
            location = self.location(self.position)
            self.note_failure(Diagnostic("error", "unbalanced '}'", location, None, Code("unwanted-token")))
        self.close_scope()

    def parse_operations(self, block: Block) -> None:
        """operations ::= (operation | alias-definition)*, up to the end, a closing brace or a block label"""
        tokens = self.tokens
        outer = self.block
        nesting = self.nesting
        self.block = block
        while True:
            start = self.position
            token = tokens[start]
            first = token[:1]
            # The end of the text is an empty token.
            if first in "}^":
                self.block = outer
                return
            try:
                if first in "#!" and tokens[start + 1] == "=":
                    self.parse_alias_definition()
                else:
                    self.parse_operation(block)
            except SyntaxFailure as failure:
                self._leave_broken(failure, start, nesting)
                self.recover_after(start)

    def parse_operation(self, block: Block) -> None:
        """operation ::= (results `=`)? (custom-operation | generic-operation) location?"""
        tokens = self.tokens
        start = name_token = self.position
        token = tokens[start]
        names: list[tuple[str, int, int]] | None = None
        if token[:1] == "%":
            if tokens[start + 1] == "=" and "#" not in token:
                name_token = start + 2
            else:
                names = self._parse_result_names()
                name_token = self.position
        name = tokens[name_token]
        form = self.forms.get(name)
        operation = form.parse(self, name_token, block) if form is not None and form.is_plain else None
        if operation is None:
            self.position = name_token
            form = form or self._find_form(name)
            operation = parse_generic(self, block) if form is None else self.parse_custom(form, block)
        if tokens[self.position] == "loc" and tokens[self.position + 1] == "(":
            self._parse_location(operation)
        results = operation.results
        if names is not None:
            self._bind_results(operation, names, start)
        elif name_token != start:
            if len(results) != 1:
                self._bind_results(operation, [(token, 1, start)], start)
            elif token in self.values:
                self.define(token, results[0], start)
            else:
                self.values[token] = results[0]
                self.defined.append(token)

    def parse_custom(self, form: StatementForm, block: Block) -> Operation:
        """custom-operation ::= name, then the assembly format of the operation"""
        state = ParseState(form.declaration, form.assembly, self.position, self.source)
        self.position += 1
        for directive in form.assembly.directives:
            directive.parse(self, state)
        return _build_operation(self, state, block)

    def _parse_location(self, operation: Operation) -> None:
        """Give an operation the location after it, and with it the terminators that the text leaves out."""
        try:
            location = self.parse_trailing_location()
        except SyntaxFailure:
            operation.detach()
            raise
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
        while True:
            token = self.position
            name = tokens[token]
            if name[:1] != "%":
                self.fail("expected valid ssa identifier")
            if "#" in name:
                self.fail_inside("expected '=' after SSA name", token, name.index("#"))
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
            names.append((name, count, token))
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
            self.fail("cannot name an operation with no results", token, Code("no-results"))
        if total != len(results):
            code = Code("result-count", defined=str(len(results)), bound=str(total))
            self.fail(f"operation defines {len(results)} results but was provided {total} to bind", token, code)
        index = 0
        for name, count, position in names:
            self.define(name, results[index], position)
            if count > 1:
                self.values[f"{name}#0"] = results[index]
                self.defined.append(f"{name}#0")
                for number in range(1, count):
                    self.define(f"{name}#{number}", results[index + number], position)
            index += count

    def _find_form(self, name: str) -> StatementForm | None:
        """The form of the operation that a name means here; None for a quoted one, in front of the generic form."""
        if name[:1] == '"':
            return None
        declaration = self.find_declaration(name)
        form = form_of(declaration)
        # A draft spelling is not kept: every use of it gets a remark.
        if not self.remark_alias(name, declaration, self.position):
            self.forms[name] = form
        return form

    def parse_module_body(self) -> Region:
        outer, self.forms = self.forms, {}
        self.dialects.append("cuda_tile")
        try:
            return self.parse_region([], isolated=True)
        finally:
            self.dialects.pop()
            self.forms = outer

    def parse_as(self, declaration: OperationDeclaration, state: ParseState) -> None:
        assembly = assembly_of(declaration)
        state.switch(declaration, assembly)
        for directive in assembly.directives:
            directive.parse(self, state)

    def _leave_broken(self, failure: SyntaxFailure, start: int, nesting: int) -> None:
        """Report the error in the statement that starts at a token, and leave all that it has entered."""
        diagnostic = failure.diagnostic
        if failure.wants_name:
            index = start
            if self.tokens[start][:1] == "%":
                while self.tokens[index] not in ("=", ""):
                    index += 1
                index += 1
            form = self.forms.get(self.tokens[index])
            if form is not None:
                diagnostic.message = f"custom op '{form.declaration.name}' {diagnostic.message}"
        self.note_failure(diagnostic)
        self.nesting = nesting
        self.open_aliases.clear()
        self.locating = 0


def _build_operation(cursor: ValueCursor, state: ParseState, block: Block) -> Operation:
    """Look the operands up, and append the operation to a block."""
    assembly = state.assembly
    names, values = cursor.tokens, cursor.values
    operands: list[Value] = []
    slots = assembly.operand_slots
    for index, tokens in enumerate(state.operands):
        if tokens is None:
            continue
        slot = slots[index]
        types = state.types[slot] if slot >= 0 else None
        if state.made_operand is not None and index == state.made_index:
            operands.append(state.made_operand)
        elif types is None or len(types) != len(tokens):
            _resolve_group(cursor, state, index, tokens, types, operands)
        else:
            for position, token in enumerate(tokens):
                value = values.get(names[token])
                if value is None or value.type is not types[position]:
                    value = cursor.resolve(token, types[position])
                operands.append(value)
    result_types: list[Type] = []
    for index, slot in enumerate(assembly.result_slots):
        types = state.types[slot] if slot >= 0 else None
        is_single = assembly.result_counts[index] == ONE
        if types is not None:
            result_types += types[:1] if is_single else types
            continue
        fixed = assembly.result_fixed[index]
        if fixed is not None:
            result_types.append(fixed)
        elif is_single:
            result_types.append(_inferred_result(cursor, state, operands, index))
    segments: tuple[int, ...] | None = None
    if assembly.segmented:
        segments = tuple([0 if tokens is None else len(tokens) for tokens in state.operands])
    attributes = state.attributes
    regions = state.regions
    return Operation(
        state.declaration,
        operands,
        result_types,
        NO_ATTRIBUTES if attributes is None else attributes,
        NO_REGIONS if regions is None else regions,
        TextLocation(state.source, state.name_token),
        segments,
        None,
        block,
    )


def _resolve_group(
    cursor: ValueCursor,
    state: ParseState,
    index: int,
    tokens: list[int],
    types: list[Type] | None,
    operands: list[Value],
) -> None:
    """Look values up whose types the text does not show one by one."""
    if types is not None:
        cursor.fail(
            f"custom op '{state.declaration.name}' number of operands and types do not match: got "
            f"{len(tokens)} operands and {len(types)} types",
            tokens[0] if tokens else state.name_token,
        )
    fixed = state.assembly.fixed[index]
    for token in tokens:
        type = fixed if fixed is not None else cursor.value_type(token)
        if type is None:
            name = cursor.tokens[token]
            cursor.fail(f"use of undeclared SSA value name '{name}'", token, Code("undeclared-value", name=name))
        operands.append(cursor.resolve(token, type))


def _inferred_result(cursor: ValueCursor, state: ParseState, operands: list[Value], index: int) -> Type:
    """A result whose type is that of an operand of the same group."""
    declaration = state.declaration
    name = declaration.results[index].name
    for group in declaration.same_types:
        if name in group:
            position = 0
            for number, declared in enumerate(declaration.operands):
                tokens = state.operands[number]
                if tokens and declared.name in group:
                    return operands[position].type
                position += 0 if tokens is None else len(tokens)
    cursor.fail(f"custom op '{declaration.name}' cannot infer the type of result '{name}'", state.name_token)


_PRODUCER = "// Producer: "
_BYTE_ORDER_MARK = "\ufeff"


def _print_operation(operation: object, generic: bool, debug_info: bool, names: str, version: str | None) -> str:
    # Imported here: reading needs no printer.
    from tileir.text.printer import print_for_core

    return print_for_core(operation, generic, debug_info, names, version)


HOOKS.print_operation = _print_operation


class ReadText:
    """The module of a text, if it could be read, and the diagnostics.

    `complete` is false where the module, read for an editor, lacks what is broken.
    """

    def __init__(self, module: Module | None, diagnostics: list[Diagnostic], complete: bool = True) -> None:
        self.module: Module | None = module
        self.diagnostics: list[Diagnostic] = diagnostics
        self.complete: bool = complete


def read_text(
    text: str,
    name: str = "-",
    *,
    version: Version = NEWEST,
    allow_unregistered: bool = False,
    first_line: int = 1,
    recover: bool = True,
    testing: bool = False,
    draft_spellings: bool = True,
    implicit_module: bool = False,
    partial: bool = False,
) -> ReadText:
    """Read a text; `implicit_module` always puts a builtin.module around it, as MLIR's tools do.

    Otherwise a text that is one module is that module, and bare entries and globals (what NVIDIA's disassembler
    prints) are put into a `cuda_tile.module @kernels`.  With `partial`, for editors, there is a module also where the
    text is broken: it lacks the operations with errors, and what they would have defined is a value of no operation.
    """
    if not text.isascii():
        # A byte order mark, as editors on Windows write it, is no column of the first line.
        text = text.removeprefix(_BYTE_ORDER_MARK)
        try:
            # Refused here, so that every string can be printed.
            text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        except UnicodeEncodeError as failure:
            location = CharacterLocation(SourceText(text, name, TOKEN, first_line), 0, failure.start)
            return ReadText(None, [Diagnostic("error", "text has half of a surrogate pair", location)])
    parser = OperationParser(text, name, version, first_line)
    parser.allow_unregistered, parser.recover = allow_unregistered, recover
    parser.testing, parser.draft_spellings = testing, draft_spellings
    if implicit_module:
        # As in MLIR's tools, only a cuda_tile module lets its contents leave the prefix out.
        parser.dialects = ["builtin"]
    block = Block()
    try:
        with CollectorPaused():
            parser.parse_top_level(block)
    except StopParsing:
        return ReadText(None, parser.diagnostics)
    if has_errors(parser.diagnostics):
        module = wrap_top_level(block, parser.source, implicit_module) if partial else None
        return ReadText(module, parser.diagnostics, False)
    return ReadText(wrap_top_level(block, parser.source, implicit_module), parser.diagnostics)


def wrap_top_level(block: Block, source: SourceText, implicit_module: bool) -> Module:
    first = block.first
    if first is not None and first.next is None:
        if first.declaration is BUILTIN_MODULE or (first.declaration is MODULE and not implicit_module):
            first.detach()
            return as_module(first)
    # The location of the module that MLIR adds is 0:0.
    location = file_location(source.name, 0, 0) if implicit_module else CharacterLocation(source, 0, 0)
    bare = all(operation.declaration in (ENTRY, GLOBAL) for operation in block)
    if bare and not implicit_module:
        attributes = {"sym_name": string_attribute("kernels")}
        text = source.text
        if text.startswith(_PRODUCER):
            line = text[len(_PRODUCER) : text.find("\n")] if "\n" in text else text[len(_PRODUCER) :]
            attributes["producer"] = string_attribute(line)
        return Module(MODULE, [], [], dict(attributes), [Region([block])], location)
    return Module(BUILTIN_MODULE, [], [], NO_ATTRIBUTES, [Region([block])], location)


def parse_text(text: str, name: str = "-", version: Version = NEWEST, allow_unregistered: bool = False) -> Module:
    """The module a text describes; all errors in it are in the `ParseError`."""
    found = read_text(text, name, version=version, allow_unregistered=allow_unregistered)
    if found.module is None:
        raise ParseError([d for d in found.diagnostics if d.severity == "error"])
    return found.module
