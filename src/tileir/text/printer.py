"""Operations into text, byte for byte what NVIDIA's printers write (docs/reference/printing.md)."""

from __future__ import annotations

from tileir.annotations import Callable, Final
from tileir.collector import CollectorPaused
from tileir.ir.attributes import EnumAttribute, StringAttribute, entry_text
from tileir.ir.core import NO_REGIONS, Block, Operation
from tileir.ir.declaration import OperationDeclaration
from tileir.ir.dense import DenseAttribute
from tileir.ir.diagnostics import OptionError
from tileir.ir.interning import HOOKS
from tileir.ir.quoting import quote
from tileir.ir.traits import ISOLATED, SEGMENTS
from tileir.ir.traversal import is_function, structural_key
from tileir.ir.types import FunctionType, type_list
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, PREVIEW, Version, version_named
from tileir.text.names import Numbering
from tileir.text.output import Aliases, TextOutput
from tileir.text.syntax.format import Assembly, assembly_of

# Directives print regions by calling the printer, and programs may nest deeper than Python's stack.  So many blocks in
# one another are printed on one stack.
_BLOCKS_PER_STACK: Final = 32

# Whose rules name the values: those of NVIDIA's printers, or the printer draft's for constants.
NAMES: Final = ("public", "draft")

# Encloses the number of an operand in the line that a template is made from.  Strings are quoted, so that only
# attributes and types of other dialects, which are kept as written, can contain this character.
MARK: Final = "\0"
_NUMBERS: Final = [str(number) for number in range(16)]
_MARKS: Final = [f"{MARK}{number}{MARK}" for number in _NUMBERS]

# With so many templates there are none for further operations without operands: a program may have as many constants.
_MANY_TEMPLATES: Final = 2000


class LineTemplate:
    """The text that operations with one structural key share, after the names of their results.

    Directives print an operation, its attributes and its types, and of its values only the names.  So the text between
    these names is made once.  `texts` has the text in front of each operand that is printed, `end` is the text after
    the last.  `order` has the numbers of these operands, unless each of `count` is printed once and in order.
    """

    def __init__(self, text: str, count: int) -> None:
        parts = text.split(MARK)
        numbers = parts[1::2]
        self.order: list[int] | None = None
        if numbers != _NUMBERS[:count]:
            self.order = [int(number) for number in numbers]
        self.texts: list[str] = parts[:-1:2]
        self.end: str = parts[-1]


class Printer(TextOutput):
    """Prints operations; `generic` in the quoted form."""

    def __init__(
        self,
        generic: bool = False,
        draft_names: bool = False,
        version: Version = NEWEST,
        aliases: Aliases | None = None,
        lossless: bool = True,
    ) -> None:
        super().__init__(draft_names, version, aliases, lossless)
        self.generic: bool = generic
        self.depth: int = 0
        self.templates: dict[tuple[object, ...], LineTemplate] = {}
        self.elided_templates: dict[tuple[object, ...], LineTemplate] = {}
        self.uses_templates: bool = True
        # Whether each function is named when it is printed: few names at a time, which the processor's cache holds.
        self.names_functions: bool = False

    # --- operations ---

    def print_operation(self, operation: Operation) -> None:
        """One operation on lines of its own, without the line end."""
        if self.names_functions and is_function(operation):
            self.names_functions = False
            self.naming.name_regions(operation)
            self.print_operation(operation)
            self.names.clear()
            self.names_functions = True
            return
        self.out.append(self.indent)
        if operation.results:
            self.out.append(f"{self.result_names(operation)} = ")
        self.print_rest(operation)
        if self.aliases is not None:
            self.out.append(self.aliases.suffix(operation.location))

    def result_names(self, operation: Operation) -> str:
        results = operation.results
        first = self.names[results[0]]
        if len(results) == 1:
            return first
        if "#" in first:
            return f"{first.partition('#')[0]}:{len(results)}"
        return ", ".join([self.names[result] for result in results])

    def print_rest(self, operation: Operation) -> None:
        declaration = operation.declaration
        assembly = declaration.assembly
        if assembly is None and declaration.syntax:
            assembly = assembly_of(declaration)
        if self.generic or not isinstance(assembly, Assembly) or self._is_ambiguous(assembly, operation):
            self._print_generic(operation)
            return
        self.out.append(self._custom_name(declaration))
        for directive in assembly.directives:
            directive.print(self, operation)

    def _is_ambiguous(self, assembly: Assembly, operation: Operation) -> bool:
        """Whether the custom form could be read as another program; NVIDIA prints it all the same."""
        return self.lossless and assembly.doubtful is not None and assembly.doubtful.is_ambiguous(operation)

    def _custom_name(self, declaration: OperationDeclaration) -> str:
        name = declaration.spelled_name(self.version)
        # MLIR's own operations go without their prefix exactly where the others need theirs.
        if self.elide != declaration.is_builtin:
            return name
        return declaration.name[: -len(declaration.mnemonic)] + name

    # --- blocks ---

    def print_block_body(self, block: Block, omit: Operation | None = None) -> None:
        if self.names_functions and block.arguments:
            raise KeyError(block.arguments[0])
        outer_indent, outer_depth = self.indent, self.depth
        self.indent = outer_indent + "  "
        if outer_depth < _BLOCKS_PER_STACK:
            self.depth = outer_depth + 1
            self._print_operations(block, omit)
        else:
            from tileir.text.state import on_fresh_stack

            self.depth = 0
            if not on_fresh_stack(lambda: self._print_operations(block, omit)):
                # Where there are no threads, as in a browser, Python's own limit holds.
                self._print_operations(block, omit)
        self.indent, self.depth = outer_indent, outer_depth

    def _print_operations(self, block: Block, omit: Operation | None) -> None:
        out = self.out
        names = self.names
        line_start = "\n" + self.indent
        aliases = self.aliases
        templates = self.elided_templates if self.elide else self.templates
        operation = block.first
        while operation is not None:
            if operation is omit:
                operation = operation.next
                continue
            template = None
            if (
                self.uses_templates
                and not operation.regions
                and operation.successors is None
                and (operation.operands or len(templates) < _MANY_TEMPLATES)
            ):
                key = structural_key(operation)
                template = templates.get(key)
                if template is None and not _has_mark(operation):
                    template = templates[key] = self._new_template(operation)
            if template is None:
                out.append("\n")
                self.print_operation(operation)
                operation = operation.next
                continue
            out.append(line_start)
            results = operation.results
            if len(results) == 1:
                out.append(names[results[0]])
            elif results:
                out.append(self.result_names(operation))
            operands = operation.operands
            if template.order is not None:
                operands = [operands[number] for number in template.order]
            texts = template.texts
            for index, operand in enumerate(operands):
                out.append(texts[index])
                out.append(names[operand])
            out.append(template.end)
            if aliases is not None:
                out.append(aliases.suffix(operation.location))
            operation = operation.next

    def _new_template(self, operation: Operation) -> LineTemplate:
        out, self.out = self.out, []
        names, self.names = self.names, {}
        try:
            example = _with_marks(operation, self.names)
            self.out.append(" = " if operation.results else "")
            self.print_rest(example)
            return LineTemplate("".join(self.out), len(operation.operands))
        finally:
            self.out, self.names = out, names

    # --- the generic form ---

    def _print_generic(self, operation: Operation) -> None:
        """`"name"(operands) <{properties}> (regions) {attributes} : (types) -> types`"""
        out = self.out
        declaration = operation.declaration
        name = declaration.name[: -len(declaration.mnemonic)] + declaration.spelled_name(self.version)
        if declaration.unregistered:
            name = declaration.name
        out.append(f"{quote(name)}({self.value_list(operation.operands)})")
        if operation.successors:
            out.append("[" + ", ".join([_block_label(block) for block in operation.successors]) + "]")
        properties = _properties(operation)
        if properties:
            out.append(f" <{{{', '.join(properties)}}}>")
        if operation.regions:
            out.append(" (")
            for index, region in enumerate(operation.regions):
                if index:
                    out.append(", ")
                self.print_generic_region(region)
            out.append(")")
        self.attribute_dictionary(operation, frozenset(declaration.inherent))
        inputs = type_list(tuple([value.type for value in operation.operands]))
        outputs = tuple([result.type for result in operation.results])
        # The arrow of a function type would be taken for the next one of this list.
        single = len(outputs) == 1 and not isinstance(outputs[0], FunctionType)
        out.append(f" : ({inputs}) -> {outputs[0].text if single else f'({type_list(outputs)})'}")


def _properties(operation: Operation) -> list[str]:
    """Inherent attributes, defaults spelled out, sorted by name."""
    declaration = operation.declaration
    values: dict[str, str] = {}
    for declared in declaration.attributes:
        value = operation.attributes.get(declared.name, declared.default)
        if value is not None:
            values[declared.name] = entry_text(declared.name, value)
    segments = operation.segments
    if segments is None and declaration.traits & SEGMENTS:
        segments = tuple(operation.segment_lengths())
    if segments is not None:
        sizes = ", ".join([str(size) for size in segments])
        values["operandSegmentSizes"] = f"operandSegmentSizes = array<i32: {sizes}>"
    return [values[name] for name in sorted(values)]


def _block_label(block: Block) -> str:
    region = block.parent
    return f"^bb{region.blocks.index(block)}" if region is not None else "^bb?"


def _has_mark(operation: Operation) -> bool:
    for operand in operation.operands:
        if MARK in operand.type.text:
            return True
    for result in operation.results:
        if MARK in result.type.text:
            return True
    for attribute in operation.attributes.values():
        if not isinstance(attribute, (EnumAttribute, DenseAttribute)) and MARK in attribute.text:
            return True
    return False


def _mark(values: list[Value], names: dict[Value, str]) -> None:
    for number, value in enumerate(values):
        names[value] = _MARKS[number] if number < len(_MARKS) else f"{MARK}{number}{MARK}"


def _with_marks(operation: Operation, names: dict[Value, str]) -> Operation:
    """An operation like another one that takes different values, whose names are marks around their numbers."""
    _mark(operation.operands, names)
    if len(names) == len(operation.operands):
        return operation
    names.clear()
    operands: list[Value] = [Value(value.type) for value in operation.operands]
    _mark(operands, names)
    types = [result.type for result in operation.results]
    attributes, location, segments = operation.attributes, operation.location, operation.segments
    return Operation(operation.declaration, operands, types, attributes, NO_REGIONS, location, segments)


# --- whole programs ---


def print_operation(
    operation: Operation,
    *,
    generic: bool = False,
    debug_info: bool = False,
    names: str = "public",
    version: Version = NEWEST,
    lossless: bool = True,
) -> str:
    """The text of an operation and all it contains; `names="draft"` takes the printer draft's constant names.

    Parsing the text returns an equal operation.  Without `lossless` the text is NVIDIA's to the byte even where that
    loses something: a promise about no dimension, the types of unusual hints, the location of an implied terminator.
    """
    if names not in NAMES:
        raise OptionError(f"'{names}' are no names of values: {', '.join(NAMES)}")
    aliases = Aliases(operation, implied=not generic, lossless=lossless) if debug_info else None
    printer = Printer(generic, names == "draft", version, aliases, lossless)
    scope = _isolated_scope(operation) if generic else None
    if operation.declaration.traits & ISOLATED:
        _print_isolated(operation, printer, lambda: printer.print_operation(operation))
    elif scope is not None:
        numbering = Numbering()
        numbering.name_regions(scope)
        printer.names.update(numbering.names)
        _name_outside(operation, printer)
        printer.print_operation(operation)
    else:
        values: list[Value] = [*operation.operands, *operation.results]
        for index, value in enumerate(values):
            if value not in printer.names:
                printer.names[value] = f"%{index}"
        _name_outside(operation, printer)
        printer.naming.name_regions(operation)
        printer.print_operation(operation)
    if aliases is not None:
        printer.out.append("\n" + aliases.definitions().rstrip("\n"))
    return printer.text()


def _isolated_scope(operation: Operation) -> Operation | None:
    """What a diagnostic numbers values by when it shows an operation: the isolated operation around it."""
    scope = operation.parent_operation
    while scope is not None and not scope.declaration.traits & ISOLATED:
        scope = scope.parent_operation
    return scope


def _print_isolated(operation: Operation, printer: Printer, print_all: Callable[[], None]) -> None:
    """Name what is in an isolated operation, and print it."""
    for step in range(3):
        printer.out.clear()
        printer.indent, printer.depth, printer.elide = "", 0, False
        printer.names_functions = step == 0
        if step == 1:
            # There are values outside of functions, or a function uses those of another one.
            printer.naming.name_regions(operation)
        elif step == 2:
            # Before it is verified, it may use values from outside.
            _name_outside(operation, printer)
        try:
            return print_all()
        except KeyError:
            if step == 2:
                raise


def _name_outside(operation: Operation, printer: Printer) -> None:
    """Name the values that an operation and those in it use and that are defined outside of it."""
    inside = set(operation.walk())
    for inner in operation.walk():
        for value in inner.operands:
            owner = value.defining_operation
            if value not in printer.names and (owner is None or owner not in inside):
                printer.names[value] = f"%outer{len(printer.names)}"


def print_disassembly(module: Operation, debug_info: bool = False, version: Version = NEWEST) -> str:
    """A module as NVIDIA's disassembler prints it: its contents without a wrapper, aliases at the end.

    A module of a public preview keeps its wrapper, whose attribute marks it as one.
    """
    if PREVIEW in module.attributes:
        return print_operation(module, debug_info=debug_info, version=version)
    aliases = Aliases(module, contents_only=True) if debug_info else None
    printer = Printer(False, False, version, aliases, lossless=False)
    with CollectorPaused():
        _print_isolated(module, printer, lambda: _print_contents(module, printer))
        return printer.text()


def _print_contents(module: Operation, printer: Printer) -> None:
    printer.elide = True
    out = printer.out
    aliases = printer.aliases
    producer = module.attributes.get("producer")
    if isinstance(producer, StringAttribute) and producer.value:
        out.append(f"// Producer: {producer.value}\n")
    blocks = [block for region in module.regions for block in region.blocks]
    if all(block.first is None for block in blocks):
        # What the disassembler makes of nothing.
        out.append("\n#loc = loc(unknown)\n" if aliases is not None else "\n")
        return
    for block in blocks:
        for operation in block:
            printer.print_operation(operation)
            out.append("\n")
    if aliases is not None:
        out.append(aliases.definitions())


def print_for_core(operation: object, generic: bool, debug_info: bool, names: str, version: str | None) -> str:
    """The text for `Operation.text`."""
    assert isinstance(operation, Operation)
    number = NEWEST if version is None else version_named(version)
    with CollectorPaused():
        return print_operation(operation, generic=generic, debug_info=debug_info, names=names, version=number)


HOOKS.print_operation = print_for_core
