"""Operations into text, byte for byte what NVIDIA's printers write (docs/printing.md)."""

from __future__ import annotations

from tileir.annotations import TYPE_CHECKING, Final
from tileir.dialect.attributes import OptimizationHintsAttribute
from tileir.ir.attributes import Attribute, StringAttribute, entry_text
from tileir.ir.core import Block, Operation, Region
from tileir.ir.declaration import ISOLATED, SYMBOL_TABLE, OperationDeclaration
from tileir.ir.diagnostics import OptionError
from tileir.ir.hooks import HOOKS
from tileir.ir.types import Type
from tileir.ir.values import Value
from tileir.ir.versions import NEWEST, Version, version_named
from tileir.text.aliases import Aliases, implied_terminator
from tileir.text.directive import Doubtful
from tileir.text.format import Assembly, assembly_of
from tileir.text.lines import Lines, print_lines
from tileir.text.names import Naming, Numbering

if TYPE_CHECKING:
    from tileir.text.asides import Aside

# Directives print regions by calling the printer: natural, but programs may nest deeper than Python's stack.  So many
# blocks in one another are printed in one go; what is deeper is put aside and printed when the stack is empty again.
_DEEPEST: Final = 32

# Whose rules name the values: those of NVIDIA's printers, or the printer draft's for constants.
NAMES: Final = ("public", "draft")


class Printer:
    """Collects text in `out`; `text` gives it when all is printed.

    `in_scopes` tells that what is inside an isolated operation is named when that is printed, and forgotten behind it;
    with `in_pieces` what is printed is put together in `done` now and then.  So little memory is used over and over.

    `generic` prints the quoted form, `aliases` (with debug info) the locations, `elide` tells whether the
    `cuda_tile.` prefix of operations is left out where the printer stands: inside a cuda_tile module.  `lossless`
    says the little that NVIDIA's printers leave out although no reader could guess it.
    """

    __slots__ = (
        "aliases",
        "aside",
        "depth",
        "done",
        "elide",
        "elided_lines",
        "generic",
        "in_pieces",
        "in_scopes",
        "indent",
        "knows_lines",
        "lines",
        "lossless",
        "names",
        "naming",
        "out",
        "version",
    )

    def __init__(
        self,
        generic: bool = False,
        draft_names: bool = False,
        version: Version = NEWEST,
        aliases: Aliases | None = None,
        lossless: bool = True,
    ) -> None:
        self.done: list[str] = []
        self.out: list[str] = []
        self.aside: list[Aside] = []
        self.depth: int = 0
        self.in_pieces: bool = False
        self.in_scopes: bool = False
        self.generic: bool = generic
        self.version: Version = version
        self.naming: Naming = Naming(draft_names)
        self.names: dict[Value, str] = self.naming.names
        self.indent: str = ""
        self.elide: bool = False
        self.aliases: Aliases | None = aliases
        self.lossless: bool = lossless
        # Whether an operation says all of its line by itself, and what lines have in common then: where prefixes are
        # left out and where they are not.
        self.knows_lines: bool = True
        self.lines: Lines = Lines()
        self.elided_lines: Lines = Lines()

    # --- operations ---

    def print_operation(self, operation: Operation) -> None:
        """One operation on lines of its own, without the line end."""
        out = self.out
        results = operation.results
        if not results:
            out.append(self.indent)
        elif len(results) == 1:
            out.append(f"{self.indent}{self.names[results[0]]} = ")
        else:
            out.append(f"{self.indent}{self.result_names(operation)} = ")
        self.print_rest(operation)
        if self.aliases is not None:
            out.append(f" loc({self.aliases.use(operation.location)})")

    def print_rest(self, operation: Operation) -> None:
        """An operation from its name on."""
        declaration = operation.declaration
        assembly = declaration.assembly
        if assembly is None and declaration.syntax:
            assembly = assembly_of(declaration)
        if (
            self.generic
            or not isinstance(assembly, Assembly)
            or (assembly.doubtful is not None and self._is_ambiguous(assembly.doubtful, operation))
        ):
            # Few programs need it.
            from tileir.text.generic_form import print_generic

            print_generic(self, operation)
        elif (
            assembly.plain_middle is not None
            and len(operation.operands) != len(declaration.operands)
            and len(operation.results) == 1
            and not operation.attributes
        ):
            # Not verified yet: as it stands on a plain line, with the operands that there are.
            name, row = self.custom_name(declaration), self.value_list(operation.operands)
            self.out.append(f"{name} {row}{assembly.plain_middle} : {operation.results[0].type.spelling}")
        else:
            self.out.append(self.custom_name(declaration))
            for directive in assembly.directives:
                directive.print(self, operation)

    def custom_name(self, declaration: OperationDeclaration) -> str:
        """The name of an operation in custom form."""
        name = declaration.spelled_name(self.version)
        # MLIR's own operations go without their prefix exactly where the others need theirs.
        if self.elide != declaration.is_builtin:
            return name
        return declaration.name[: -len(declaration.mnemonic)] + name

    def _is_ambiguous(self, doubtful: Doubtful, operation: Operation) -> bool:
        """Whether the custom form could be read as another program; NVIDIA prints it all the same."""
        return self.lossless and doubtful.is_ambiguous(operation)

    def result_names(self, operation: Operation) -> str:
        names = [self.names[result] for result in operation.results]
        if "#" in names[0]:
            return f"{names[0].partition('#')[0]}:{len(names)}"
        return ", ".join(names)

    def print_block_body(self, block: Block, omit: Operation | None = None) -> None:
        """The operations of a block, one per line, leaving out an implied terminator."""
        if self.depth == _DEEPEST:
            from tileir.text.asides import Aside

            self.aside.append(Aside(block, omit, self.indent, self.elide, self.in_scopes, len(self.out)))
            return
        self.depth += 1
        outer = self.indent
        self.indent = outer + "  "
        if self.knows_lines:
            print_lines(self, block, omit, self.elided_lines if self.elide else self.lines)
        else:
            operation = block.first
            while operation is not None:
                if operation is not omit:
                    self.print_operation(operation)
                    self.out.append("\n")
                operation = operation.next
        self.indent = outer
        self.depth -= 1

    def print_scope(self, operation: Operation) -> None:
        """An operation with regions: if it is isolated, the names in it are needed nowhere else.

        A function is named while it is printed; a module with values of its own first, since functions depend on them.
        """
        if not self.in_scopes or not operation.declaration.traits & ISOLATED:
            self.print_operation(operation)
            return
        names = self.names
        naming = self.naming
        before = len(names)
        regions = operation.regions
        if (
            self.knows_lines
            and not operation.declaration.traits & SYMBOL_TABLE
            and len(regions) == 1 == len(regions[0].blocks)
        ):
            naming.begin(operation)
            self.in_scopes = False
            self.print_operation(operation)
            naming.end()
        else:
            complete = naming.name_regions(operation, isolated=False)
            if len(names) > before:
                # Names inside depend on those around: all are needed.
                self.in_scopes = False
                if not complete:
                    naming.name_regions(operation)
            self.print_operation(operation)
        self.in_scopes = True
        if not before and not self.aside:
            names.clear()

    def text(self) -> str:
        """All that was printed, with the blocks that were put aside in their places."""
        if not self.aside:
            return "".join([*self.done, *self.out])
        from tileir.text.asides import PartedText

        whole = PartedText(self.out, self.aside)
        waiting = list(whole.aside)
        # The texts of blocks have places of their own, before what comes next in `done`.
        self.in_pieces = False
        while waiting:
            piece = waiting.pop()
            self.out, self.aside, self.indent, self.elide = piece.text.out, piece.text.aside, piece.indent, piece.elide
            self.in_scopes = piece.in_scopes
            self.print_block_body(piece.block, piece.omit)
            waiting.extend(piece.text.aside)
        self.out, self.aside = [whole.joined()], []
        return "".join([*self.done, *self.out])

    def print_region(self, region: Region, implied: OperationDeclaration | None = None) -> None:
        """`{`, the single block of a region, `}`; the terminator `implied` is left out where it has no operands."""
        self.out.append("{\n")
        if len(region.blocks) == 1:
            omit: Operation | None = None
            if implied is not None:
                omit = implied_terminator(region, implied, self.lossless and self.aliases is not None)
            self.print_block_body(region.blocks[0], omit)
        elif region.blocks:
            self._print_blocks(region)
        self.out.append(self.indent + "}")

    def _print_blocks(self, region: Region) -> None:
        """Several blocks, with labels."""
        for index, block in enumerate(region.blocks):
            if index or block.arguments:
                arguments = ", ".join([f"{self.names[a]}: {a.type.text}" for a in block.arguments])
                label = f"^bb{index}" + (f"({arguments})" if arguments else "")
                self.out.append(f"{self.indent}{label}:\n")
            self.print_block_body(block)

    # --- pieces ---

    def value_list(self, values: list[Value]) -> str:
        names = self.names
        return ", ".join([names[value] for value in values])

    def type_names(self, types: list[Type]) -> str:
        return ", ".join([type.spelling for type in types])

    def attribute_dictionary(self, operation: Operation, elided: frozenset[str]) -> None:
        """` {name = value, ..}` of what the syntax does not show, sorted by name."""
        attributes = operation.attributes
        shown = [name for name in attributes if name not in elided]
        if shown:
            shown.sort()
            self.out.append(" {" + ", ".join([self.entry(name, attributes[name]) for name in shown]) + "}")

    def entry(self, name: str, value: Attribute) -> str:
        return entry_text(name, value)

    def hints(self, value: Attribute) -> str:
        """`<..>` of optimization hints."""
        if self.lossless and isinstance(value, OptimizationHintsAttribute):
            return value.exact_text
        return value.bare_text

    def print_generic_region(self, region: Region) -> None:
        """A region in the generic form."""
        self.out.append("{\n")
        for index, block in enumerate(region.blocks):
            # A block with nothing in it needs its label to be seen at all.
            if index or block.arguments or block.first is None:
                arguments = ", ".join([f"{self.names[a]}: {a.type.text}" for a in block.arguments])
                label = f"^bb{index}" + (f"({arguments})" if arguments else "")
                self.out.append(f"{self.indent}{label}:\n")
            self.print_block_body(block)
        self.out.append(self.indent + "}")


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

    Reading the text gives an equal operation.  Without `lossless` the text is NVIDIA's to the byte even where that
    loses something: a promise about no dimension, the types of odd hints, the location of an implied terminator.
    """
    if names not in NAMES:
        raise OptionError(f"'{names}' are no names of values: {', '.join(NAMES)}")
    aliases = Aliases(operation, implied=not generic, lossless=lossless) if debug_info else None
    isolated = bool(operation.declaration.traits & ISOLATED)
    printer = Printer(generic, names == "draft", version, aliases, lossless)
    if isolated:
        try:
            printer.in_scopes = printer.in_pieces = True
            printer.print_scope(operation)
            return _with_definitions(printer)
        except KeyError:
            # Before it is verified, a function may take what is another's.
            printer = Printer(generic, names == "draft", version, aliases, lossless)
            printer.naming.name_regions(operation)
            _name_outside(operation, printer)
            printer.print_operation(operation)
    else:
        scope = _isolated_scope(operation) if generic else None
        if scope is not None:
            numbering = Numbering()
            numbering.name_regions(scope)
            printer.names.update(numbering.names)
            _name_outside(operation, printer)
        else:
            values: list[Value] = [*operation.operands, *operation.results]
            for index, value in enumerate(values):
                if value not in printer.names:
                    printer.names[value] = f"%{index}"
            _name_outside(operation, printer)
            printer.naming.name_regions(operation)
        printer.print_operation(operation)
    return _with_definitions(printer)


def _with_definitions(printer: Printer) -> str:
    if printer.aliases is not None:
        printer.out.append("\n" + printer.aliases.definitions().rstrip("\n"))
    return printer.text()


def _isolated_scope(operation: Operation) -> Operation | None:
    """What a diagnostic numbers values by when it shows an operation: the isolated operation around it."""
    scope = operation.parent_operation
    while scope is not None and not scope.declaration.traits & ISOLATED:
        scope = scope.parent_operation
    return scope


def _name_outside(operation: Operation, printer: Printer) -> None:
    """Names for what an operation and those in it refer to and does not have one, since it is from elsewhere."""
    inside = set(operation.walk())
    for inner in operation.walk():
        for value in inner.operands:
            owner = value.defining_operation
            if value not in printer.names and (owner is None or owner not in inside):
                printer.names[value] = f"%outer{len(printer.names)}"


def print_disassembly(module: Operation, debug_info: bool = False, version: Version = NEWEST) -> str:
    """A module as NVIDIA's disassembler prints it: its contents without a wrapper, aliases at the end."""
    aliases = Aliases(module, contents_only=True) if debug_info else None
    printer = Printer(False, False, version, aliases, lossless=False)
    # Without names of its own, as it is nearly always, the module leaves naming to its functions.
    printer.in_scopes = not printer.naming.name_regions(module, isolated=False) and not printer.names
    if not printer.in_scopes:
        printer.naming.name_regions(module)
    try:
        return _disassembly(module, printer)
    except KeyError:
        # Before it is verified, a function may take what is another's.
        printer = Printer(False, False, version, aliases, lossless=False)
        printer.naming.name_regions(module)
        _name_outside(module, printer)
    return _disassembly(module, printer)


def _disassembly(module: Operation, printer: Printer) -> str:
    printer.elide = printer.in_pieces = True
    out = printer.out
    aliases = printer.aliases
    producer = module.attributes.get("producer")
    if isinstance(producer, StringAttribute) and producer.value:
        out.append(f"// Producer: {producer.value}\n")
    if all(block.first is None for region in module.regions for block in region.blocks):
        # What the disassembler makes of nothing.
        out.append("\n#loc = loc(unknown)\n" if aliases is not None else "\n")
        return printer.text()
    for region in module.regions:
        for block in region.blocks:
            for operation in block:
                printer.print_scope(operation)
                out.append("\n")
    if aliases is not None:
        out.append(aliases.definitions())
    return printer.text()


def print_for_core(operation: object, generic: bool, debug_info: bool, names: str, version: str | None) -> str:
    """The text as `Operation.text` asks for it."""
    assert isinstance(operation, Operation)
    number = NEWEST if version is None else version_named(version)
    return print_operation(operation, generic=generic, debug_info=debug_info, names=names, version=number)


HOOKS.print_operation = print_for_core
