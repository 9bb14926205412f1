"""The declaration of an operation: everything the toolkit knows about it.

The parser, the printer, the verifier, the bytecode layouts, the builder and the documentation all read the same
declaration (one per operation, in `dialect/ops/`, one file per chapter of the operations draft).
"""

from __future__ import annotations

from tileir.annotations import Callable, Final
from tileir.ir.accessors import plain_attributes
from tileir.ir.attributes import Attribute, EnumKind
from tileir.ir.core import Operation
from tileir.ir.diagnostics import Code, Diagnostic
from tileir.ir.interning import forget_with
from tileir.ir.location import Location
from tileir.ir.symbols import Symbols
from tileir.ir.traits import ADDITION_COST, CONTROL_FLOW, ELEMENTWISE, LOOP_LIKE, SYMBOL_TABLE, TERMINATOR, ElementCost
from tileir.ir.types import Type
from tileir.ir.versions import NEWEST, V13_1, V13_4, Version

# How many operands or results a declared name stands for.
ONE: Final = 0
OPTIONAL: Final = 1
VARIADIC: Final = 2

# Verification stops after this many characters of messages: hostile files have long types in every operation.
_MAXIMUM_TEXT: Final = 1 << 24

# How unknown hints are treated.
HINT_MODES: Final = ("ignore", "warn", "error")


class VerifyContext:
    """Settings and findings of one verification.

    `hints` is the treatment of unknown optimization hints: "ignore", "warn" or "error" (docs/reference/conflicts.md E).
    `first_only` stops at the first error, as NVIDIA's tools do.  `subjects` has for each finding the operation it is
    about, where it is about one.  `symbols` resolves references.
    `verified` has the structural keys of operations that broke no rule; verifications with the same settings share it.
    """

    def __init__(
        self, version: Version = NEWEST, hints: str = "ignore", first_only: bool = False, symbols: Symbols | None = None
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
        self.verified: set[tuple[object, ...]] = _verified.setdefault((version, hints), set())

    def report(
        self,
        severity: str,
        message: str,
        location: Location,
        notes: list[Diagnostic] | None = None,
        subject: Operation | None = None,
        code: Code | None = None,
    ) -> None:
        """Report a finding at a location; the message is used as it is."""
        self.subjects.append(subject)
        self.diagnostics.append(Diagnostic(severity, message, location, notes, code))
        self.text_left -= len(message)
        if severity == "error":
            self.errors += 1
            if self.first_only or self.text_left < 0:
                self.stopped = True

    def error(
        self,
        operation: Operation,
        message: str,
        notes: list[Diagnostic] | None = None,
        code: Code | None = None,
    ) -> None:
        """Report an error of an operation, with its name in front."""
        named = f"'{operation_name(operation, self.version)}' op {message}"
        self.report("error", named, operation.location, notes, operation, code)

    def warn(self, operation: Operation, message: str) -> None:
        named = f"'{operation_name(operation, self.version)}' op {message}"
        self.report("warning", named, operation.location, None, operation)


_verified: Final[dict[tuple[Version, str], set[tuple[object, ...]]]] = {}
forget_with(_verified.clear)


def operation_name(operation: Operation, version: Version) -> str:
    """The full name as the text of a dialect version spells it."""
    declaration = operation.declaration
    if declaration.newer_mnemonic is None:
        return declaration.name
    return declaration.name[: -len(declaration.mnemonic)] + declaration.spelled_name(version)


Verifier = Callable[[Operation, VerifyContext], None]


class TypeRule:
    """A constraint between the types of an operation's operands and results, with its exact diagnostic.

    `check` depends only on the types of the operation, so its result holds for every operation with the same types.
    `same_type_names` are the operands and results that must share one type, if that is the rule.
    """

    def __init__(self, check: Callable[[Operation], bool], message: str, same_type_names: tuple[str, ...] = ()) -> None:
        self.check: Callable[[Operation], bool] = check
        self.message: str = message
        self.same_type_names: tuple[str, ...] = same_type_names


def named_types(operation: Operation, name: str) -> list[Type]:
    declaration = operation.declaration
    for index, declared in enumerate(declaration.operands):
        if declared.name == name:
            if declaration.plain_operands:
                return [value.type for value in operation.operands[index : index + 1]]
            return [value.type for value in operation.operand_group(name)]
    for index, declared in enumerate(declaration.results):
        if declared.name == name:
            if declared.is_one:
                return [operation.results[index].type]
            return [value.type for value in operation.results[index:]]
    raise KeyError(name)


def same_type(*names: str) -> TypeRule:
    """All operands and results of these names have one type, with MLIR's message."""
    found = _same_type_rules.get(names)
    if found is None:
        message = f"failed to verify that all of {{{', '.join(names)}}} have same type"
        found = _same_type_rules[names] = TypeRule(lambda operation: _all_equal(operation, names), message, names)
    return found


def _all_equal(operation: Operation, names: tuple[str, ...]) -> bool:
    first = named_types(operation, names[0])
    for index in range(1, len(names)):
        if named_types(operation, names[index]) != first:
            return False
    return True


_same_type_rules: Final[dict[tuple[str, ...], TypeRule]] = {}


class TypeConstraint:
    """The types that satisfy `accepts`, with their description in diagnostics (`tile of i1 values`).

    13.4 added an element type to some of them, and so a `newer_description`.
    """

    def __init__(self, description: str, accepts: Callable[[Type], bool], newer_description: str | None = None) -> None:
        self.description: str = description
        self.newer_description: str | None = newer_description
        self.accepts: Callable[[Type], bool] = accepts

    def wording(self, version: Version) -> str:
        if self.newer_description is not None and version >= V13_4:
            return self.newer_description
        return self.description


class AttributeConstraint:
    """The attributes that satisfy `predicate`, with their description in diagnostics.

    `kind` names the way they are written in custom syntax; keywords are those of `enumeration`.
    """

    def __init__(
        self,
        description: str,
        predicate: Callable[[Attribute], bool],
        kind: str,
        enumeration: EnumKind | None = None,
    ) -> None:
        self.description: str = description
        self.predicate: Callable[[Attribute], bool] = predicate
        self.kind: str = kind
        self.enumeration: EnumKind | None = enumeration


class OperandDeclaration:
    """An operand or result: its name, its types, how many values it represents, its first version."""

    def __init__(
        self, name: str, constraint: TypeConstraint, documentation: str, count: int = ONE, since: Version | None = None
    ) -> None:
        self.name: str = name
        self.constraint: TypeConstraint = constraint
        self.count: int = count
        self.documentation: str = documentation
        self.since: Version | None = since

    @property
    def is_one(self) -> bool:
        """Whether it stands for one value, never for none or several."""
        return self.count == ONE


class AttributeDeclaration:
    """An inherent attribute.  With a `default` it is never absent; with `optional` it may be."""

    def __init__(
        self,
        name: str,
        constraint: AttributeConstraint,
        documentation: str,
        default: Attribute | None = None,
        optional: bool = False,
        since: Version | None = None,
    ) -> None:
        self.name: str = name
        self.constraint: AttributeConstraint = constraint
        self.default: Attribute | None = default
        self.optional: bool = optional
        self.documentation: str = documentation
        self.since: Version | None = since

    def attribute_of(self, value: object) -> Attribute | None:
        """The attribute that a Python value stands for here; None where there is none."""
        enumeration = self.constraint.enumeration
        if enumeration is not None and isinstance(value, str):
            return enumeration.cases.get(enumeration.aliases.get(value, value))
        for candidate in plain_attributes(value):
            if self.constraint.predicate(candidate):
                return candidate
        return None


class RegionDeclaration:
    """A region: `blocks` is the exact number of blocks it must have, -1 for at most one, -2 for any number.

    `implicit_terminator` is the operation at its end when the text leaves it out.
    `arguments` names its block arguments for the printer: "arg", "for" or "reduce".
    """

    def __init__(
        self,
        name: str,
        blocks: int = 1,
        documentation: str = "",
        implicit_terminator: OperationDeclaration | None = None,
        arguments: str = "arg",
        optional: bool = False,
    ) -> None:
        self.name: str = name
        self.blocks: int = blocks
        self.documentation: str = documentation
        self.implicit_terminator: OperationDeclaration | None = implicit_terminator
        self.arguments: str = arguments
        self.optional: bool = optional


# Declarations read better with the short names.
attribute = AttributeDeclaration
operand = OperandDeclaration
result = OperandDeclaration


class OperationDeclaration:
    """Everything known about one operation.

    `class_name` is NVIDIA's C++ class without its `Op`, where it is not the mnemonic in capitals.  `syntax` is its
    assembly format (described in `text/syntax/format.py`).  `same_types` lists groups of operand and result
    names that share one type; with `fixed_types` they imply the types the text leaves out.  `rules` are the declared
    type constraints that NVIDIA's verifier checks in order.  Those that follow from `same_types` come first and need
    not be written; where NVIDIA's verifier checks another one before, they are.  Then come `verify_attributes`, which
    is called for operations that have attributes, and `verify`.  They read the attributes and types of the operation;
    with `reads_program` they also read what is around it, or what defines its operands.
    `inference` finds the types that the builder is not given and these do not imply (an `Inference` of
    `dialect/inference.py`, which this layer cannot import).
    `cost` is the cost of an element, `reference` the exact function of one real number that an operation approximates.
    `reads` and `writes` name the operand that leads to the memory the operation reads and writes: pointers or a view.
    `name_hints` are what the printer calls the results: one hint for all or one for each, an empty one where they are
    numbered but `assume` of them is named; with `computes_names` the printer derives them (`text/names.py`).
    """

    def __init__(
        self,
        name: str,
        *,
        summary: str,
        chapter: str = "",
        description: str = "",
        example: str = "",
        syntax: str = "",
        opcode: int | None = None,
        class_name: str = "",
        since: Version | None = V13_1,
        section: str = "",
        operands: tuple[OperandDeclaration, ...] = (),
        attributes: tuple[AttributeDeclaration, ...] = (),
        results: tuple[OperandDeclaration, ...] = (),
        regions: tuple[RegionDeclaration, ...] = (),
        traits: int = 0,
        cost: ElementCost = ADDITION_COST,
        reference: Callable[[float], float] | None = None,
        reads: str | None = None,
        writes: str | None = None,
        same_types: tuple[tuple[str, ...], ...] = (),
        fixed_types: dict[str, Type] | None = None,
        rules: tuple[TypeRule, ...] = (),
        verify_attributes: Verifier | None = None,
        verify: Verifier | None = None,
        verify_regions: Verifier | None = None,
        reads_program: bool = False,
        inference: object = None,
        name_hints: tuple[str, ...] = (),
        computes_names: bool = False,
        aliases: tuple[str, ...] = (),
        newer_mnemonic: str | None = None,
        legalization: str = "",
        testing: bool = False,
        dialect: str = "cuda_tile",
    ) -> None:
        self.name: str = f"{dialect}.{name}"
        self.mnemonic: str = name
        self.newer_mnemonic: str | None = newer_mnemonic
        self.chapter: str = chapter
        self.summary: str = summary
        self.description: str = description
        self.example: str = example
        self.syntax: str = syntax
        self.opcode: int | None = opcode
        self._class_name: str = class_name
        self.since: Version | None = since
        self.section: str = section
        self.draft_only: bool = since is None
        self.operands: tuple[OperandDeclaration, ...] = operands
        self.attributes: tuple[AttributeDeclaration, ...] = attributes
        self.results: tuple[OperandDeclaration, ...] = results
        self.regions: tuple[RegionDeclaration, ...] = regions
        self.traits: int = traits
        self.cost: ElementCost = cost
        self.reference: Callable[[float], float] | None = reference
        self.reads: str | None = reads
        self.writes: str | None = writes
        self.accesses_memory: bool = reads is not None or writes is not None
        self.same_types: tuple[tuple[str, ...], ...] = same_types
        self.fixed_types: dict[str, Type] = fixed_types if fixed_types is not None else {}
        self.rules: tuple[TypeRule, ...] = rules
        if same_types:
            stated = [rule.same_type_names for rule in rules]
            self.rules = (*[same_type(*group) for group in same_types if group not in stated], *rules)
        self.verify_attributes: Verifier | None = verify_attributes
        self.verify: Verifier | None = verify
        self.verify_regions: Verifier | None = verify_regions
        self.inference: object = inference
        self.name_hints: tuple[str, ...] = name_hints
        # Whether the printer numbers the results: no hint is declared and none is computed from the operation.
        self.is_numbered: bool = not any(name_hints) and not computes_names
        self.aliases: tuple[str, ...] = aliases
        self.legalization: str = legalization
        self.testing: bool = testing
        self.unregistered: bool = False
        self.is_builtin: bool = dialect == "builtin"
        self.is_control_flow: bool = bool(traits & CONTROL_FLOW)
        self.is_loop: bool = bool(traits & LOOP_LIKE)
        self.is_symbol_table: bool = bool(traits & SYMBOL_TABLE)
        self.is_terminator: bool = bool(traits & TERMINATOR)
        # Whether equal structural keys do not imply that both operations are sound.
        self.reads_program: bool = reads_program or bool(regions) or self.is_terminator
        self.defaults: dict[str, Attribute] = {}
        self.inherent: dict[str, AttributeDeclaration] = {}
        for declared in attributes:
            self.inherent[declared.name] = declared
            if declared.default is not None:
                self.defaults[declared.name] = declared.default
        self.plain_operands: bool = True
        self._operand_index: dict[str, int] = {}
        for index, each in enumerate(operands):
            self._operand_index[each.name] = index
            if each.count != ONE:
                self.plain_operands = False
        # Filled on first use by the text layer; kept here so that a look-up is one attribute.
        self.assembly: object = None

    @property
    def class_name(self) -> str:
        """NVIDIA's C++ class without its `Op`; of element-wise operations the letter of the type is a capital."""
        if self._class_name:
            return self._class_name
        found = "".join([part.capitalize() for part in self.mnemonic.split("_")])
        return found[:-1] + found[-1].upper() if self.traits & ELEMENTWISE and found[-1] in "fi" else found

    def operand_number(self, name: str) -> int:
        """The position of a declared operand."""
        return self._operand_index[name]

    def spelled_name(self, version: Version) -> str:
        """The mnemonic in the text of a dialect version; 13.4 renamed one (docs/reference/conflicts.md A16)."""
        if self.newer_mnemonic is not None and version >= V13_4:
            return self.newer_mnemonic
        return self.mnemonic

    def has_trait(self, trait: int) -> bool:
        return bool(self.traits & trait)

    def __repr__(self) -> str:
        return f"<OperationDeclaration {self.name}>"
